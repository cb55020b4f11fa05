// Reductions over dims of one element: no operand has an axis for them, and all
// are read by chunks of columns. Pipelines verify what they make.
// RUN: norm-opt %s --norm-to-host-pipeline | FileCheck %s --check-prefix=HOST
// RUN: norm-opt %s --norm-to-gpu-pipeline=target=sm_90 | FileCheck %s --check-prefix=GPU
// RUN: norm-opt %s --norm-to-emulated-pipeline=target=sm_90 | FileCheck %s --check-prefix=EMULATED

// HOST-DAG: func.func @leading_0(
// GPU-DAG: gpu.func @leading_0(
// EMULATED-DAG: func.func @leading_0(
func.func @leading(%x: tensor<1x6xf32>) -> tensor<1x6xf32> {
  %y = norm.softmax %x axes = [0] : tensor<1x6xf32> -> tensor<1x6xf32>
  return %y : tensor<1x6xf32>
}

// HOST-DAG: func.func @trailing_0(
// GPU-DAG: gpu.func @trailing_0(
// EMULATED-DAG: func.func @trailing_0(
func.func @trailing(%x: tensor<?x1xf16>) -> tensor<?x1xf16> {
  %y = norm.layer_norm %x axes = [1] eps = 1.0e-5
     : tensor<?x1xf16> -> tensor<?x1xf16>
  return %y : tensor<?x1xf16>
}

// A scale that varies on dims of one element only, between others.
// HOST-DAG: func.func @between_0(
// GPU-DAG: gpu.func @between_0(
// EMULATED-DAG: func.func @between_0(
func.func @between(%x: tensor<2x1x6x1xf32>, %w: tensor<1x1xf32>)
    -> tensor<2x1x6x1xf32> {
  %y = norm.rms_norm %x scale(%w) axes = [1, 3] eps = 1.0e-5
     : tensor<2x1x6x1xf32>, tensor<1x1xf32> -> tensor<2x1x6x1xf32>
  return %y : tensor<2x1x6x1xf32>
}

// One of the columns' dims has more elements, and an operand is on the other.
// HOST-DAG: func.func @partly_0(
// GPU-DAG: gpu.func @partly_0(
// EMULATED-DAG: func.func @partly_0(
func.func @partly(%x: tensor<4x1x6xf32>, %w: tensor<1xf32>)
    -> tensor<4x1x6xf32> {
  %e = tensor.empty() : tensor<4x1x6xf32>
  %y = norm.generic (row, col, col1)
      ins(%a = %x[row, col, col1] : tensor<4x1x6xf32>,
          %g = %w[col] : tensor<1xf32>)
      outs(%_ = %e[row, col, col1] : tensor<4x1x6xf32>) {
    %m = norm.reduce max %a over [col, col1] : f32
    %d = arith.subf %a, %m : f32
    %s = arith.mulf %d, %g : f32
    norm.yield %s : f32
  }
  return %y : tensor<4x1x6xf32>
}
