func.func @few_rows(
    %x: tensor<3x4096xbf16>,
    %residual: tensor<3x4096xbf16> {norm.in_place = 1}, %w: tensor<4096xbf16>)
    -> (tensor<3x4096xbf16>, tensor<3x4096xbf16>) {
  %sum = arith.addf %x, %residual : tensor<3x4096xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<3x4096xbf16>, tensor<4096xbf16> -> tensor<3x4096xbf16>
  return %y, %sum : tensor<3x4096xbf16>, tensor<3x4096xbf16>
}
