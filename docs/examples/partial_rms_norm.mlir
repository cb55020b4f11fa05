// The first k columns: y = x / sqrt(mean(x^2) + 1e-6). The others: y = x.
func.func @partial_rms_norm(%x: tensor<?x?xbf16>, %k: i32) -> tensor<?x?xbf16> {
  %y = norm.generic (row, col) ins(%count = %k : i32) outs(%b = %x[row, col] : tensor<?x?xbf16>) {
    %v = arith.extf %b : bf16 to f32        %sq = arith.mulf %v, %v : f32
    %j = norm.index col : i32               %is = arith.cmpi slt, %j, %count : i32
    %zero = arith.constant 0.0 : f32        %part = arith.select %is, %sq, %zero : f32
    %n = arith.sitofp %count : i32 to f32   %sum = norm.reduce add %part over [col] : f32
    %mean = arith.divf %sum, %n : f32       %eps = arith.constant 1.0e-6 : f32
    %m = arith.addf %mean, %eps : f32       %rstd = math.rsqrt %m : f32
    %u = arith.mulf %v, %rstd : f32         %rounded = arith.truncf %u : f32 to bf16
    %r = arith.select %is, %rounded, %b : bf16
    norm.yield %r : bf16
  }
  return %y : tensor<?x?xbf16>
}
