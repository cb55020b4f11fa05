// Residual sum and RMSNorm.
func.func @add_rms_norm(%x: tensor<?x256xbf16>, %r: tensor<?x256xbf16>,
                        %w: tensor<256xbf16>) -> tensor<?x256xbf16> {
  %sum = arith.addf %x, %r : tensor<?x256xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x256xbf16>, tensor<256xbf16> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
