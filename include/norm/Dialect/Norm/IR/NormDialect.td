//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_IR_NORMDIALECT_TD
#define NORM_DIALECT_NORM_IR_NORMDIALECT_TD

include "mlir/IR/OpBase.td"

def Norm_Dialect : Dialect {
  let name = "norm";
  let cppNamespace = "::mlir::norm";
  let summary = "Normalizations and the elementwise work around them";
  let description = [{
    The dialect has two levels. The *named* ops (`norm.layer_norm`,
    `norm.softmax`, `norm.group_norm`, ...) say what to compute on tensors. The
    *program* op `norm.generic` says it as a scalar program over a space of
    named dims, in which `norm.reduce` is a collective over some of the dims.
    Passes turn the first into the second, fuse, and give a program an order
    (`#norm.order`, which fixes its bits) and a schedule (`#norm.schedule`,
    which does not).

    A tensor that is an argument or a result of a function may have the
    attribute `norm.layout`, a `strided<[..]>` without an offset that says how
    it lies in memory: one stride of 0 or more for each axis, in elements, `?`
    where any is taken, and 1 along the last axis. A slice of memory that holds
    queries, keys and values side by side is

    ```mlir
    func.func @heads(%q: tensor<?x?x32x128xbf16>
        {norm.layout = strided<[?, ?, ?, 1]>}) -> ...
    ```

    Without the attribute the rows of a matrix may have any distance, and other
    tensors are contiguous. An axis of size 1 may have any stride at launch.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The layout of a function's argument or result: a StridedLayoutAttr.
    static constexpr ::llvm::StringLiteral kLayoutAttrName = "norm.layout";
    /// Of an argument: the number of the result that is written to its memory.
    static constexpr ::llvm::StringLiteral kInPlaceAttrName = "norm.in_place";
    /// Marks the module that norm-outline makes.
    static constexpr ::llvm::StringLiteral kKernelsAttrName = "norm.kernels";
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // NORM_DIALECT_NORM_IR_NORMDIALECT_TD
