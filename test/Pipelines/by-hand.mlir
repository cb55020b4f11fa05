// Passes named one by one, from tensors to gpu.func: tiling brings programs on
// tensors to buffers by itself.

// RUN: norm-opt %s --norm-generalize --norm-fuse --norm-rewrite-welford --norm-schedule=target=sm_90 --norm-tile --convert-norm-tile-to-gpu | FileCheck %s

// CHECK: gpu.func @add_layer_norm_0(
// CHECK-NOT: tensor<
// CHECK: norm_tile.launch @add_layer_norm_0
func.func @add_layer_norm(%x: tensor<?x384xf32>, %r: tensor<?x384xf32>) -> tensor<?x384xf32> {
  %s = arith.addf %x, %r : tensor<?x384xf32>
  %y = norm.layer_norm %s axes = [1] eps = 1.0e-12 : tensor<?x384xf32> -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}
