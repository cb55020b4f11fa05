// y = w * tanh(alpha * x / sqrt(mean(x^2) + 1e-6))
func.func @dynamic_tanh_rms_norm(%x: tensor<?x1024xf32>, %w: tensor<1024xf32>,
                                 %alpha: f32) -> tensor<?x1024xf32> {
  %y = norm.generic (row, col) ins(%g = %w[col] : tensor<1024xf32>, %a = %alpha : f32)
      outs(%v = %x[row, col] : tensor<?x1024xf32>) {
    %sq = arith.mulf %v, %v : f32           %sum = norm.reduce add %sq over [col] : f32
    %n = norm.extent col : f32              %mean = arith.divf %sum, %n : f32
    %eps = arith.constant 1.0e-6 : f32      %m = arith.addf %mean, %eps : f32
    %rstd = math.rsqrt %m : f32             %u = arith.mulf %v, %rstd : f32
    %au = arith.mulf %a, %u : f32           %t = math.tanh %au : f32
    %r = arith.mulf %t, %g : f32            norm.yield %r : f32
  }
  return %y : tensor<?x1024xf32>
}
