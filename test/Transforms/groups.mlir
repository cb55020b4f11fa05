// Reductions over groups of neighbouring columns stay within a phase; their
// results are stored once for a group.
//
// RUN: norm-opt %s --norm-schedule=target=sm_90 --norm-tile | FileCheck %s
// RUN: norm-opt %s --norm-to-gpu-pipeline=target=sm_90 \
// RUN:   | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: norm_tile.kernel @groups_0
// CHECK-SAME: columns = [32, 128], axes = {{\[\[}}0, 1, 2], [0, 1, 2], [0, 1, _]]
// CHECK: %[[PART:.*]] = norm_tile.phase reduce [add]
// CHECK: %[[SQUARE:.*]] = arith.mulf
// CHECK: %[[MOST:.*]] = norm_tile.group_reduce maxnum %[[SQUARE]] group 128 : vector<8xf32>
// CHECK: norm_tile.store %[[MOST]], %{{.*}} group 128 : vector<8xf32>, memref<?x32xf32>
// CHECK: norm_tile.yield %[[SQUARE]]
// CHECK: norm_tile.exchange_start %[[PART]]
// CHECK: norm_tile.phase (
// CHECK: norm_tile.group_reduce maxnum
// CHECK-NOT: exchange_start

// A thread has 8 columns, 16 threads a group: 4 shuffles after 7 maxima.
// GPU-LABEL: gpu.func @groups_0
// GPU-COUNT-4: gpu.shuffle xor
func.func @groups(%x: tensor<?x32x128xbf16>)
    -> (tensor<?x32x128xf32>, tensor<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x32x128xbf16>
  %y0 = tensor.empty(%rows) : tensor<?x32x128xf32>
  %m0 = tensor.empty(%rows) : tensor<?x32xf32>
  %y, %m = norm.generic (row, cb, ci)
      ins(%a = %x[row, cb, ci] : tensor<?x32x128xbf16>)
      outs(%_0 = %y0[row, cb, ci] : tensor<?x32x128xf32>,
           %_1 = %m0[row, cb] : tensor<?x32xf32>) {
    %f = arith.extf %a : bf16 to f32
    %sq = arith.mulf %f, %f : f32
    %ss = norm.reduce add %sq over [cb, ci] : f32
    %most = norm.reduce maxnum %sq over [ci] : f32
    %z = arith.mulf %f, %ss : f32
    %w = arith.subf %z, %most : f32
    norm.yield %w, %most : f32, f32
  }
  return %y, %m : tensor<?x32x128xf32>, tensor<?x32xf32>
}
