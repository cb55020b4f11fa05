//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantization. docs/Dialects/NormSpec.md numbers what each op requires.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_IR_NORMQUANTOPS_TD
#define NORM_DIALECT_NORM_IR_NORMQUANTOPS_TD

include "norm/Dialect/Norm/IR/NormNamedOps.td"

// The types of operands and results enforce [QTYPE-C1].
def Norm_CodeTensor : RankedTensorOf<[F8E4M3FN, F8E5M2, F4E2M1FN, I8]>;
def Norm_GroupScaleTensor : RankedTensorOf<[F32, F8E8M0FNU, F8E4M3FN]>;

def Norm_QuantizeOp : Norm_NamedOp<"quantize", [AttrSizedOperandSegments,
    AttrSizedResultSegments]> {
  let summary = "quantization by groups, with dynamic or given scales";
  let description = [{
    `group` gives, for each axis of `x`, the extent of a group along it, -1 for
    the whole axis. `[1, -1]` is one scale for a row, `[1, 128]` one for 128
    neighbouring columns, `[-1, -1]` one for a matrix. Arithmetic is f32; `x` of
    f64 is not taken. With Q the largest magnitude of a code (448 for f8E4M3FN,
    57344 for f8E5M2, 6 for f4E2M1FN, 127 for i8), for each group:

        amax  = min(max(|x|), largest finite number), NaN left out
        scale = round(max(amax / tensor_scale / Q, min_scale))
        q     = round(clamp(x * (1 / (scale * tensor_scale))))

    `scale` is returned, in an element type that says how it is rounded: f32
    isn't; f8E4M3FN is rounded to nearest even, and at most 448 (NVFP4);
    f8E8M0FNU is a power of two, with `scale_rounding`

        floor   2^floor(log2(amax / 2^floor(log2(Q)))), as in the OCP
                Microscaling Formats 1.0
        ceil    2^ceil(log2(amax / Q)), with which no value is clamped

    With `scale(%s)` the scales are given and none is returned; one of rank 0 is
    that of the whole tensor. `tensor_scale(%t)`, of rank 0, is a second level
    (1 if absent). A group of zeros has the scale `min_scale` and codes of zero.
    `stats(amax)` returns `amax` of each group too, row-major, as delayed scaling
    records it.

    Codes are rounded to nearest even, and clamped to what the code type holds
    ([-128, 127] for i8) before that: an infinity becomes the largest code of
    its sign. With `saturate = false` an 8-bit float isn't clamped, and what is
    beyond the largest becomes what `arith.truncf` makes of it: NaN, or an
    infinity in f8E5M2.

    A NaN becomes the code type's NaN or, where it has none, zero; `amax` leaves
    it out. With `nan = group` it is a part of the largest magnitude as well:
    `amax`, a computed scale and with it all values of the group are NaN.

    `x` is quantized as its type has it: who wants the unrounded value quantized
    gives the f32 result of the norm.

    `scale_layout` says where the scale of row `m` and group `k` of a matrix of
    R rows and K groups in each is; `x` of more axes than two takes `row_major`.
    `packed` and `swizzle_128x4` take multiples of 4 groups, the latter also of 128
    rows, whose number is static. docs/Quantization.md has pictures.

    | layout | type | index |
    |---|---|---|
    | `row_major` | `R x K` | `[m, k]` |
    | `column_major` | `K x R` | `[k, m]` |
    | `packed` | `K/4 x R x 4` | `[k / 4, m, k % 4]` |
    | `swizzle_128x4` | `R/128 x K/4 x 32 x 4 x 4` | `[m / 128, k / 4, m % 32, m % 128 / 32, k % 4]` |

    Example:

    ```mlir
    %q, %scale = norm.quantize %y group = [1, 128]
        : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
    %c = norm.quantize %y scale(%s) group = [-1, -1]
        : tensor<?x4096xbf16>, tensor<f32> -> tensor<?x4096xi8>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x,
    Optional<Norm_GroupScaleTensor>:$given_scale,
    Optional<RankedTensorOf<[F32]>>:$tensor_scale, DenseI64ArrayAttr:$group,
    DefaultValuedAttr<Norm_ScaleLayoutAttr,
        "::mlir::norm::ScaleLayout::RowMajor">:$scale_layout,
    DefaultValuedAttr<Norm_ScaleRoundingAttr,
        "::mlir::norm::ScaleRounding::Floor">:$scale_rounding,
    OptionalAttr<F64Attr>:$min_scale,
    DefaultValuedAttr<BoolAttr, "true">:$saturate,
    DefaultValuedAttr<Norm_NaNScopeAttr,
        "::mlir::norm::NaNScope::Element">:$nan);
  let results = (outs Norm_CodeTensor:$q,
    Optional<Norm_GroupScaleTensor>:$scale, Optional<Norm_StatTensor>:$amax);
  let extraClassDeclaration = [{
    /// The extents of the grid of groups: of each axis, how many there are.
    ::llvm::SmallVector<int64_t> getGridShape();
    /// `min_scale`, or the smallest that the type of the scale and of the
    /// arithmetic have a finite inverse of: 2^-126, 2^-6 for f8E4M3FN.
    double getLeastScale();
  }];
}

def Norm_DequantizeOp : Norm_NamedOp<"dequantize"> {
  let summary = "the values that codes and scales stand for";
  let description = [{
    `y = q * (scale * tensor_scale)`, with `scale` that of the element's group, in
    f32 (f64 where `y` is that), rounded once more to the element type of `y`.
    `group`, `scale_layout` and `tensor_scale` are those of `norm.quantize`.

    Example:

    ```mlir
    %x = norm.dequantize %q scale(%s) group = [1, 128]
        : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32> -> tensor<?x4096xbf16>
    ```
  }];
  let arguments = (ins Norm_CodeTensor:$q, Norm_GroupScaleTensor:$given_scale,
    Optional<RankedTensorOf<[F32]>>:$tensor_scale, DenseI64ArrayAttr:$group,
    DefaultValuedAttr<Norm_ScaleLayoutAttr,
        "::mlir::norm::ScaleLayout::RowMajor">:$scale_layout);
  let results = (outs Norm_FloatTensor:$y);
  let extraClassDeclaration = [{
    ::llvm::SmallVector<int64_t> getGridShape();
  }];
}

// The types of `seed` and `offset` enforce [DROP-C3].
def Norm_DropoutOp : Norm_NamedOp<"dropout"> {
  let summary = "zeroes elements at random, reproducibly";
  let description = [{
        y = x * (1 / (1 - p)) where the element is kept, else 0

    in the type of the arithmetic, and rounded once to the element type of `y`;
    1 / (1 - p) is rounded once to the type of the arithmetic. An element is
    kept where its random number (`norm.random` of `seed` and `offset` at all
    axes) is at least `p * 2^32`, rounded to the nearest integer below 2^32: the
    same for the same shape, seed and offset whatever the schedule, the target
    and what is fused around it. A backward applies the op, with the same
    numbers, to the gradient. A dropped element is 0 also where `x` is NaN or
    infinite.

    `p` is at least 0 and less than 1.

    Example:

    ```mlir
    %y = norm.dropout %x seed(%seed) offset(%offset) p = 0.1
        : tensor<?x4096xbf16>, i64, i64 -> tensor<?x4096xbf16>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, I64:$seed, I64:$offset, F64Attr:$p);
  let results = (outs Norm_FloatTensor:$y);
}

#endif // NORM_DIALECT_NORM_IR_NORMQUANTOPS_TD
