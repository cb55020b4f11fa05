//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The named ops. docs/Dialects/NormSpec.md numbers what each of them requires;
// the types here enforce [TYPE-C1], [TYPE-C2] and [TYPE-C3].
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_IR_NORMNAMEDOPS_TD
#define NORM_DIALECT_NORM_IR_NORMNAMEDOPS_TD

include "norm/Dialect/Norm/IR/NormOpBase.td"

class Norm_NamedOp<string mnemonic, list<Trait> traits = []>
    : Norm_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
            ["reifyResultShapes"]>], traits)> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Over axes
//===----------------------------------------------------------------------===//

def Norm_LayerNormOp : Norm_NamedOp<"layer_norm", [AttrSizedOperandSegments,
    AttrSizedResultSegments]> {
  let summary = "layer normalization over any axes";
  let description = [{
    A *row* is what the elements over `axes` make up; with `N` their number, for
    every row:

        mean = sum(x) / N
        rstd = 1 / sqrt(sum((x - mean)^2) / N + eps)
        y    = (x - mean) * rstd * (scale + offset) + bias

    `axes` are any axes of `x`, adjacent or not, in rising order. Statistics and
    arithmetic are f32 (f64 when an operand or `y` is f64); `y` is rounded once,
    to its own element type. The variance is biased and `eps` stands under the
    root.

    `scale` and `bias` each have an element type of their own; without them they
    are 1 and 0. One of at most as many axes as are normalized is aligned with
    the last of these; one of more axes, with the last axes of `x`. As in NumPy,
    an axis of static extent 1 is repeated. `offset = 1.0` is the zero-centred
    form `1 + scale`, summed in the type of the arithmetic.

    `stats(mean, rstd)` returns the statistics, with the extents of the other
    axes, in the type of the arithmetic. Every extent may be dynamic. No row:
    nothing is computed. Rows of no element give empty rows of `y`, and NaN
    statistics. A NaN or an infinity stays in its own row.

    Example:

    ```mlir
    %y, %mean, %rstd = norm.layer_norm %x scale(%g) bias(%b) stats(mean, rstd)
        axes = [1] eps = 1.0e-5
        : tensor<?x384xf32>, tensor<384xf32>, tensor<384xf32>
          -> tensor<?x384xf32>, tensor<?xf32>, tensor<?xf32>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, Optional<Norm_FloatTensor>:$scale,
    Optional<Norm_FloatTensor>:$bias, DenseI64ArrayAttr:$axes, F64Attr:$eps,
    DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs Norm_FloatTensor:$y, Optional<Norm_StatTensor>:$mean,
    Optional<Norm_StatTensor>:$rstd);
}

def Norm_RmsNormOp : Norm_NamedOp<"rms_norm"> {
  let summary = "root-mean-square normalization over any axes";
  let description = [{
    With `N` the number of elements over `axes`, for every row:

        rstd = 1 / sqrt(sum(x^2) / N + eps)
        y    = x * rstd * (scale + offset)

    Axes, types, rounding, `eps`, `offset`, the shape of `scale` and extents are
    those of `norm.layer_norm`; `stats(rstd)` returns `rstd`.

    Example, the second for the queries of an attention, by head:

    ```mlir
    %y = norm.rms_norm %x scale(%w, offset = 1.0) axes = [1] eps = 1.0e-6
        : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
    %q = norm.rms_norm %p scale(%u) axes = [3] eps = 1.0e-6
        : tensor<?x?x32x128xbf16>, tensor<32x128xbf16>
          -> tensor<?x?x32x128xbf16>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, Optional<Norm_FloatTensor>:$scale,
    DenseI64ArrayAttr:$axes, F64Attr:$eps,
    DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs Norm_FloatTensor:$y, Optional<Norm_StatTensor>:$rstd);
}

def Norm_L2NormalizeOp : Norm_NamedOp<"l2_normalize"> {
  let summary = "division by the Euclidean norm over any axes";
  let description = [{
    For every row over `axes`:

        y = x * (1 / max(sqrt(sum(x^2)), eps))

    `eps` is the least norm that is divided by: it stands under no root, and is
    a normal number of the arithmetic, so that a row of zeros gives zeros.
    Types, rounding, axes and extents are those of `norm.layer_norm`.

    Example:

    ```mlir
    %y = norm.l2_normalize %x axes = [1] eps = 1.0e-12
        : tensor<?x768xf16> -> tensor<?x768xf16>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, DenseI64ArrayAttr:$axes,
    F64Attr:$eps);
  let results = (outs Norm_FloatTensor:$y);
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

def Norm_SoftmaxOp : Norm_NamedOp<"softmax", [AttrSizedOperandSegments]> {
  let summary = "softmax over any axes, with scale and masks";
  let description = [{
    For every row over `axes`:

        v = x * scale + mask, or -inf where `causal` or `lengths` leave x out
        m = max(v)
        y = exp(v - m) * (1 / sum(exp(v - m)))

    Arithmetic is f32 (f64 when an operand or `y` is f64), with one rounding to
    the element type of `y`. A row of `v` that holds a NaN or +inf is NaN
    throughout; -inf beside a finite value gives 0. A row of nothing but -inf is
    **0 throughout if the op has a mask, `causal` or `lengths`**, else NaN.

    The scale is an attribute, `scale = 0.125`, or a scalar operand,
    `scale(%s)`. `mask(%m)` is added; it is aligned with the last axes of `x`,
    and an axis of static extent 1 is repeated. With both, `v` is one fused
    multiply-add.

    `causal` takes one normalized axis, that of the keys; the axis before it is
    that of the queries. Of S keys, query `q` takes those with `k <= q + d`. `d`
    is `diagonal` (0 if not given) with `causal` or `causal = upper_left`, as in
    `torch.tril(diagonal = d)`, whatever the extents; and `S - Q + diagonal`,
    for Q queries, with `causal = lower_right`, so that the last query takes all
    keys.

    `lengths(%n)` takes one normalized axis too: of the row at a position of the
    leading axes, the first `n` elements there. `%n` has the extents of one or
    more leading axes of `x`. A length below 0 counts as 0, one beyond the
    extent leaves nothing out.

    `stats(logsumexp)` returns `log(sum(exp(v)))` by row, as `norm.logsumexp`.

    Example:

    ```mlir
    %p, %l = norm.softmax %s mask(%m) lengths(%n) stats(logsumexp) axes = [3]
        scale = 0.125 causal
        : tensor<?x8x?x?xf16>, tensor<?x?xf32>, tensor<?xi32>
          -> tensor<?x8x?x?xf16>, tensor<?x8x?xf32>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, Optional<Norm_Float>:$scale,
    Optional<Norm_FloatTensor>:$mask, Optional<Norm_LengthTensor>:$lengths,
    DenseI64ArrayAttr:$axes, OptionalAttr<F64Attr>:$scale_value,
    OptionalAttr<Norm_CausalAttr>:$causal,
    DefaultValuedAttr<I64Attr, "0">:$diagonal);
  let results = (outs Norm_FloatTensor:$y,
    Optional<Norm_StatTensor>:$logsumexp);
  let extraClassDeclaration = [{
    /// Whether a row may be left without an element, and is 0 then.
    bool isMasked() { return getMask() || getLengths() || getCausal(); }
  }];
}

def Norm_LogSoftmaxOp : Norm_NamedOp<"log_softmax"> {
  let summary = "logarithm of the softmax over any axes";
  let description = [{
    For every row over `axes`:

        m = max(x)
        y = (x - m) - log(sum(exp(x - m)))

    Types, rounding and axes are those of `norm.softmax`. A row that holds a NaN
    or +inf, or nothing but -inf, is NaN throughout; -inf beside a finite value
    gives -inf.

    Example:

    ```mlir
    %l = norm.log_softmax %x axes = [1]
        : tensor<?x50257xbf16> -> tensor<?x50257xf32>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Norm_FloatTensor:$y);
}

def Norm_LogSumExpOp : Norm_NamedOp<"logsumexp"> {
  let summary = "logarithm of the sum of exponentials over any axes";
  let description = [{
    For every row over `axes`:

        m = max(x)
        y = m + log(sum(exp(x - m))), or m if that is infinite

    `y` has the extents of the other axes. Types and rounding are those of
    `norm.softmax`. A row that holds a NaN gives NaN; one that holds +inf, +inf;
    one of nothing but -inf, or of no element, -inf.

    Example:

    ```mlir
    %z = norm.logsumexp %x axes = [1] : tensor<?x1000xf32> -> tensor<?xf32>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Norm_FloatTensor:$y);
}

//===----------------------------------------------------------------------===//
// Over channels
//===----------------------------------------------------------------------===//

def Norm_GroupNormOp : Norm_NamedOp<"group_norm", [AttrSizedOperandSegments,
    AttrSizedResultSegments]> {
  let summary = "group normalization";
  let description = [{
    Axis 0 of `x` is that of the samples, `channel_axis` that of the C channels,
    which `groups` divides; the rest is spatial. NCHW has `channel_axis = 1`,
    NHWC `channel_axis = 3`. A row is the elements of one sample over the
    `C / groups` neighbouring channels of a group and all of space; for every
    row, and the channel `c` of an element:

        mean = sum(x) / N
        rstd = 1 / sqrt(sum((x - mean)^2) / N + eps)
        y    = (x - mean) * rstd * (scale[c] + offset) + bias[c]

    `scale` and `bias` have the extent C. `stats(mean, rstd)` returns the
    statistics, of samples by groups. All else is as in `norm.layer_norm`. The
    layout of `x` is that of `y`.

    Example:

    ```mlir
    %y = norm.group_norm %x scale(%g) bias(%b) groups = 32 channel_axis = 3
        eps = 1.0e-5
        : tensor<?x64x64x320xf16>, tensor<320xf32>, tensor<320xf32>
          -> tensor<?x64x64x320xf16>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, Optional<Norm_FloatTensor>:$scale,
    Optional<Norm_FloatTensor>:$bias, I64Attr:$groups, I64Attr:$channel_axis,
    F64Attr:$eps, DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs Norm_FloatTensor:$y, Optional<Norm_StatTensor>:$mean,
    Optional<Norm_StatTensor>:$rstd);
}

def Norm_InstanceNormOp : Norm_NamedOp<"instance_norm",
    [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "instance normalization";
  let description = [{
    A row is the elements of one sample and one channel over all of space:
    `norm.group_norm` with one channel per group. `stats(mean, rstd)` returns
    the statistics, of samples by channels.

    Example:

    ```mlir
    %y, %mean, %rstd = norm.instance_norm %x scale(%g) bias(%b)
        stats(mean, rstd) channel_axis = 1 eps = 1.0e-5
        : tensor<?x64x?x?xf32>, tensor<64xf32>, tensor<64xf32>
          -> tensor<?x64x?x?xf32>, tensor<?x64xf32>, tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, Optional<Norm_FloatTensor>:$scale,
    Optional<Norm_FloatTensor>:$bias, I64Attr:$channel_axis, F64Attr:$eps,
    DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs Norm_FloatTensor:$y, Optional<Norm_StatTensor>:$mean,
    Optional<Norm_StatTensor>:$rstd);
}

def Norm_BatchNormOp : Norm_NamedOp<"batch_norm", [AttrSizedOperandSegments,
    AttrSizedResultSegments]> {
  let summary = "batch normalization, inference and training";
  let description = [{
    `channel_axis` is the axis of the C channels, and may be any. In inference,
    for every element of a channel,

        rstd = 1 / sqrt(running_var + eps)
        y    = (x - running_mean) * rstd * (scale + offset) + bias

    With `training`, a row is the N elements of a channel, and `y` is that of
    `norm.layer_norm` over all other axes. The running statistics, if given, are
    returned updated:

        running_mean' = momentum * mean + (1 - momentum) * running_mean
        running_var'  = momentum * M2 / max(N - 1, 1)
                        + (1 - momentum) * running_var

    with `M2 = sum((x - mean)^2)`. `momentum` and `1 - momentum` are rounded
    once to the type of the arithmetic, and a sum is one fused multiply-add.
    Without
    elements, the running statistics are returned as they are. Results come in
    the order `y`, running mean, running variance, `stats(mean, rstd)` of the
    batch; all but `y` have the extent C.

    Example:

    ```mlir
    %y = norm.batch_norm %x scale(%g) bias(%b) running(%m, %v) channel_axis = 1
        eps = 1.0e-5
        : tensor<?x64x56x56xf16>, tensor<64xf32>, tensor<64xf32>,
          tensor<64xf32>, tensor<64xf32> -> tensor<?x64x56x56xf16>
    %z, %m1, %v1, %mean, %rstd = norm.batch_norm %x running(%m, %v)
        stats(mean, rstd) channel_axis = 1 eps = 1.0e-5 training momentum = 0.1
        : tensor<?x64x56x56xf16>, tensor<64xf32>, tensor<64xf32>
          -> tensor<?x64x56x56xf16>, tensor<64xf32>, tensor<64xf32>,
             tensor<64xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Norm_FloatTensor:$x, Optional<Norm_FloatTensor>:$scale,
    Optional<Norm_FloatTensor>:$bias, Optional<Norm_FloatTensor>:$running_mean,
    Optional<Norm_FloatTensor>:$running_var, I64Attr:$channel_axis,
    F64Attr:$eps, UnitAttr:$training, OptionalAttr<F64Attr>:$momentum,
    DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs Norm_FloatTensor:$y,
    Optional<Norm_FloatTensor>:$new_running_mean,
    Optional<Norm_FloatTensor>:$new_running_var,
    Optional<Norm_StatTensor>:$mean, Optional<Norm_StatTensor>:$rstd);
}

#endif // NORM_DIALECT_NORM_IR_NORMNAMEDOPS_TD
