func.func @across(%x: tensor<16384x?xf32>) -> tensor<16384x?xf32> {
  %y = norm.softmax %x axes = [0] : tensor<16384x?xf32> -> tensor<16384x?xf32>
  return %y : tensor<16384x?xf32>
}
