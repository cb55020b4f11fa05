func.func @two_kernels(%x: tensor<?x64x96xf32>) -> tensor<?x64x96xf32> {
  %a = norm.softmax %x axes = [2] : tensor<?x64x96xf32> -> tensor<?x64x96xf32>
  %b = norm.softmax %a axes = [1] : tensor<?x64x96xf32> -> tensor<?x64x96xf32>
  return %b : tensor<?x64x96xf32>
}
