//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activation functions, on tensors and on the scalars of a body.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_IR_NORMFUNCTIONOPS_TD
#define NORM_DIALECT_NORM_IR_NORMFUNCTIONOPS_TD

include "norm/Dialect/Norm/IR/NormOpBase.td"

def Norm_FloatLike : TypeConstraint<Or<[FloatLike.predicate]>,
    "a float, or a tensor or vector of floats">;

class Norm_FunctionOp<string mnemonic> : Norm_Op<mnemonic,
    !listconcat([Pure, SameOperandsAndResultType],
        ElementwiseMappable.traits)> {
  let arguments = (ins Norm_FloatLike:$x);
  let results = (outs Norm_FloatLike:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Norm_SigmoidOp : Norm_FunctionOp<"sigmoid"> {
  let summary = "1 / (1 + exp(-x))";
  let description = [{
    Elementwise, in the type of its operand, with one rounding to it. The result
    is between 0 and 1; 0 for -inf, 1 for +inf, NaN for NaN.

    Example: `%y = norm.sigmoid %x : tensor<?x4096xbf16>`
  }];
}

def Norm_SiluOp : Norm_FunctionOp<"silu"> {
  let summary = "x / (1 + exp(-x)), also known as swish";
  let description = [{
    Elementwise, in the type of its operand, with one rounding to it. -0.0 for
    -inf (the limit), +inf for +inf, NaN for NaN.

    Example, SwiGLU:

    ```mlir
    %s = norm.silu %gate : tensor<?x11008xbf16>
    %y = arith.mulf %s, %up : tensor<?x11008xbf16>
    ```
  }];
}

def Norm_GeluOp : Norm_FunctionOp<"gelu"> {
  let summary = "Gaussian error linear unit";
  let description = [{
    Elementwise, in the type of its operand, with one rounding to it:

        erf    x * Phi(x), Phi(x) = (1 + erf(x / sqrt(2))) / 2
        tanh   x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2

    -0.0 for -inf, +inf for +inf, NaN for NaN. The form with `erf` keeps its
    relative precision for large negative `x`, where the difference of the
    formula has none.

    Example:

    ```mlir
    %y = norm.gelu %x : tensor<?x4096xbf16>
    %z = norm.gelu %x approximate = tanh : tensor<?x4096xbf16>
    ```

    Reference: D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, 2016.
  }];
  let arguments = (ins Norm_FloatLike:$x,
    DefaultValuedAttr<Norm_GeluFormAttr, "::mlir::norm::GeluForm::Erf">
        :$approximate);
  let assemblyFormat = [{
    $x (`approximate` `=` $approximate^)? attr-dict `:` type($x)
  }];
}

#endif // NORM_DIALECT_NORM_IR_NORMFUNCTIONOPS_TD
