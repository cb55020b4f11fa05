// y = w * (x - mean(x)) / (mean(|x - mean(x)|) + 1e-6)
func.func @mean_absolute_deviation(%x: tensor<?x1000xf32>, %w: tensor<1000xf32>)
    -> tensor<?x1000xf32> {
  %y = norm.generic (row, col) ins(%g = %w[col] : tensor<1000xf32>)
      outs(%v = %x[row, col] : tensor<?x1000xf32>) {
    %n = norm.extent col : f32              %sum = norm.reduce add %v over [col] : f32
    %mean = arith.divf %sum, %n : f32       %c = arith.subf %v, %mean : f32
    %a = math.absf %c : f32                 %total = norm.reduce add %a over [col] : f32
    %mad = arith.divf %total, %n : f32      %eps = arith.constant 1.0e-6 : f32
    %d = arith.addf %mad, %eps : f32        %u = arith.divf %c, %d : f32
    %r = arith.mulf %u, %g : f32            norm.yield %r : f32
  }
  return %y : tensor<?x1000xf32>
}
