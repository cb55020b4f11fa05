//===- invalid-quant.mlir - Quantization refused --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

// Groups.

// [QGROUP-C1]
func.func @few_entries(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects an entry of 'group' for each of 2 axes but got 1}}
  %q, %s = norm.quantize %x group = [32] : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>
  return
}

// -----

// [QGROUP-C2]
func.func @empty_group(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects a positive extent, or -1, of a group along axis 1 but got 0}}
  %q, %s = norm.quantize %x group = [1, 0] : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>
  return
}

// -----

// [QGROUP-C3]
func.func @dynamic_groups(%x: tensor<?x?xf32>) {
  // expected-error@+1 {{expects a static extent of axis 1, which is cut into groups of 32}}
  %q, %s = norm.quantize %x group = [1, 32] : tensor<?x?xf32> -> tensor<?x?xi8>, tensor<?x?xf32>
  return
}

// -----

// [QGROUP-C4]
func.func @part_of_a_group(%q: tensor<4x100xi8>, %s: tensor<4x3xf32>) {
  // expected-error@+1 {{expects an extent of axis 1 that is a multiple of the group's 32 but got 100}}
  %x = norm.dequantize %q scale(%s) group = [1, 32] : tensor<4x100xi8>, tensor<4x3xf32> -> tensor<4x100xf32>
  return
}

// -----

// Layouts.

// [LAYOUT-C1]
func.func @not_a_matrix(%x: tensor<2x4x128xf32>) {
  // expected-error@+1 {{expects a matrix for 'scale_layout = packed' but got 3 axes}}
  %q, %s = norm.quantize %x group = [1, 1, 32] scale_layout = packed : tensor<2x4x128xf32> -> tensor<2x4x128xi8>, tensor<1x4x4xf32>
  return
}

// -----

// [LAYOUT-C2]
func.func @three_groups(%x: tensor<?x96xf32>) {
  // expected-error@+1 {{expects a multiple of 4 groups in a row for 'scale_layout = packed' but got 3}}
  %q, %s = norm.quantize %x group = [1, 32] scale_layout = packed : tensor<?x96xf32> -> tensor<?x96xi8>, tensor<1x?x4xf32>
  return
}

// -----

// [LAYOUT-C2]
func.func @any_groups(%x: tensor<128x?xf32>, %s: tensor<1x?x32x4x4xf32>) {
  // expected-error@+1 {{expects a multiple of 4 groups in a row for 'scale_layout = swizzle_128x4' but got any number}}
  %q = norm.quantize %x scale(%s) group = [1, 1] scale_layout = swizzle_128x4 : tensor<128x?xf32>, tensor<1x?x32x4x4xf32> -> tensor<128x?xi8>
  return
}

// -----

// [LAYOUT-C3]
func.func @few_rows(%x: tensor<64x128xf32>) {
  // expected-error@+1 {{expects a static multiple of 128 rows of scales for 'scale_layout = swizzle_128x4' but got 64}}
  %q, %s = norm.quantize %x group = [1, 32] scale_layout = swizzle_128x4 : tensor<64x128xf32> -> tensor<64x128xi8>, tensor<1x1x32x4x4xf32>
  return
}

// -----

// [LAYOUT-C3]
func.func @any_rows(%q: tensor<?x128xi8>, %s: tensor<?x1x32x4x4xf32>) {
  // expected-error@+1 {{expects a static multiple of 128 rows of scales for 'scale_layout = swizzle_128x4' but got any number}}
  %x = norm.dequantize %q scale(%s) group = [1, 32] scale_layout = swizzle_128x4 : tensor<?x128xi8>, tensor<?x1x32x4x4xf32> -> tensor<?x128xf32>
  return
}

// -----

func.func @layout(%x: tensor<64x128xf32>) {
  // expected-error@+1 {{expects a known 'scale_layout' but got 'diagonal'}}
  %q, %s = norm.quantize %x group = [1, 32] scale_layout = diagonal : tensor<64x128xf32> -> tensor<64x128xi8>, tensor<64x4xf32>
  return
}

// -----

// Scales.

// [QUANT-C1]
func.func @no_scale(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects a scale as an operand or as a result but got neither}}
  %q = "norm.quantize"(%x) <{group = array<i64: 1, -1>, operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<?x64xf32>) -> tensor<?x64xi8>
  return
}

// -----

// [QUANT-C1]
func.func @two_scales(%x: tensor<?x64xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{expects a scale as an operand or as a result but got both}}
  %q, %r = "norm.quantize"(%x, %s) <{group = array<i64: 1, -1>, operandSegmentSizes = array<i32: 1, 1, 0>, resultSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<?x64xf32>, tensor<f32>) -> (tensor<?x64xi8>, tensor<?x1xf32>)
  return
}

// -----

func.func @dequantize_without(%q: tensor<?x64xi8>) {
  // expected-error@+1 {{expects 'scale(..)'}}
  %x = norm.dequantize %q group = [1, -1] : tensor<?x64xi8> -> tensor<?x64xf32>
  return
}

// -----

// [QUANT-C2]
func.func @other_groups(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects 'scale' of shape 'tensor<?x2xf32>' but got 'tensor<?x4xf32>'}}
  %q, %s = norm.quantize %x group = [1, 32] : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x4xf32>
  return
}

// -----

// [QUANT-C2]
func.func @without_axes_of_groups(%x: tensor<?x64xf32>, %s: tensor<?xf32>) {
  // expected-error@+1 {{expects 'scale' of shape 'tensor<?x1xf32>' but got 'tensor<?xf32>'}}
  %q = norm.quantize %x scale(%s) group = [1, -1] : tensor<?x64xf32>, tensor<?xf32> -> tensor<?x64xi8>
  return
}

// -----

// [QUANT-C2]
func.func @swizzled(%q: tensor<256x128xf4E2M1FN>, %s: tensor<256x8xf8E4M3FN>) {
  // expected-error@+1 {{expects 'scale' of shape 'tensor<2x2x32x4x4xf8E4M3FN>' but got 'tensor<256x8xf8E4M3FN>'}}
  %x = norm.dequantize %q scale(%s) group = [1, 16] scale_layout = swizzle_128x4 : tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN> -> tensor<256x128xf32>
  return
}

// -----

// [QUANT-C3]
func.func @tensor_scales(%x: tensor<?x64xf32>, %t: tensor<1xf32>) {
  // expected-error@+1 {{expects 'tensor_scale' of rank 0 but got 'tensor<1xf32>'}}
  %q, %s = norm.quantize %x tensor_scale(%t) group = [1, 16] : tensor<?x64xf32>, tensor<1xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return
}

// -----

// [QUANT-C4]
func.func @least_of_a_given_scale(%x: tensor<?x64xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{expects 'min_scale' only beside a result 'scale'}}
  %q = norm.quantize %x scale(%s) group = [1, -1] min_scale = 1.0e-5 : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xi8>
  return
}

// -----

// [QUANT-C5]
func.func @zero(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects 'min_scale' from 2^-126 to 1 but got 0}}
  %q, %s = norm.quantize %x group = [1, -1] min_scale = 0.0 : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x1xf32>
  return
}

// -----

// [QUANT-C5]
func.func @rounds_to_zero(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects 'min_scale' from 2^-9 to 1 but got 9.765625E-4}}
  %q, %s = norm.quantize %x group = [1, 16] min_scale = 0.0009765625 : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return
}

// -----

// [QUANT-C5]
func.func @not_a_number(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects 'min_scale' from 2^-126 to 1 but got NaN}}
  %q, %s = norm.quantize %x group = [1, -1] min_scale = 0x7FF8000000000000 : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x1xf32>
  return
}

// -----

// [QUANT-C6]
func.func @rounded_up(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects 'scale_rounding' only beside a result 'scale' of f8E8M0FNU}}
  %q, %s = norm.quantize %x group = [1, 32] scale_rounding = ceil : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>
  return
}

// -----

// [QUANT-C7]
func.func @unsaturated(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects codes of f8E4M3FN or f8E5M2 for 'saturate = false' but got 'i8'}}
  %q, %s = norm.quantize %x group = [1, 32] saturate = false : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>
  return
}

// -----

func.func @saturate(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects 'saturate' to be true or false but got 'never'}}
  %q, %s = norm.quantize %x group = [1, 32] saturate = never : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>
  return
}

// -----

func.func @nan(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects a known 'nan' but got 'row'}}
  %q, %s = norm.quantize %x group = [1, 32] nan = row : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>
  return
}

// -----

// Types and shapes.

// [QTYPE-C1]
func.func @wide_codes(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{result #0 must be ranked tensor of f8E4M3FN type or f8E5M2 type or f4E2M1FN type or 8-bit signless integer values, but got 'tensor<?x64xi16>'}}
  %q, %s = norm.quantize %x group = [1, 32] : tensor<?x64xf32> -> tensor<?x64xi16>, tensor<?x2xf32>
  return
}

// -----

// [QTYPE-C1]
func.func @narrow_scales(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{result #1 must be ranked tensor of 32-bit float or f8E8M0FNU type or f8E4M3FN type values, but got 'tensor<?x2xbf16>'}}
  %q, %s = norm.quantize %x group = [1, 32] : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xbf16>
  return
}

// -----

// [QTYPE-C2]
func.func @wide(%x: tensor<?x64xf64>) {
  // expected-error@+1 {{expects 'x' of at most 32 bits but got f64}}
  %q, %s = norm.quantize %x group = [1, 32] : tensor<?x64xf64> -> tensor<?x64xi8>, tensor<?x2xf32>
  return
}

// -----

// [SHAPE-C1]
func.func @codes(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{expects 'q' of shape 'tensor<?x64xi8>' but got 'tensor<?x32xi8>'}}
  %q, %s = norm.quantize %x group = [1, 32] : tensor<?x64xf32> -> tensor<?x32xi8>, tensor<?x2xf32>
  return
}

// -----

// [STAT-C4]
func.func @amax(%x: tensor<?x64xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{expects 'amax' of shape 'tensor<1x1xf32>' but got 'tensor<f32>'}}
  %q, %a = norm.quantize %x scale(%s) stats(amax) group = [-1, -1] : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xi8>, tensor<f32>
  return
}
