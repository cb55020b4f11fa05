// y = x / max(sum(|x|^p)^(1/p), 1e-6), with |x|^p = exp(p * log(|x|))
func.func @p_norm(%x: tensor<?x777xf32>, %p: tensor<1xf32>) -> tensor<?x777xf32> {
  %y = norm.generic (row, col) ins(%e = %p[0] : tensor<1xf32>)
      outs(%v = %x[row, col] : tensor<?x777xf32>) {
    %a = math.absf %v : f32                 %log = math.log %a : f32
    %plog = arith.mulf %e, %log : f32       %power = math.exp %plog : f32
    %sum = norm.reduce add %power over [col] : f32
    %logsum = math.log %sum : f32           %root = arith.divf %logsum, %e : f32
    %norm = math.exp %root : f32            %eps = arith.constant 1.0e-6 : f32
    %d = arith.maximumf %norm, %eps : f32   %r = arith.divf %v, %d : f32
    norm.yield %r : f32
  }
  return %y : tensor<?x777xf32>
}
