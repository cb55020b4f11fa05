//===- Passes.td - Passes of the norm dialect --------------*- tablegen -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_TRANSFORMS_PASSES_TD
#define NORM_DIALECT_NORM_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NormGeneralizePass : Pass<"norm-generalize"> {
  let summary = "write named ops and elementwise ops as norm.generic";
  let dependentDialects = ["::mlir::norm::NormDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def NormFusePass : Pass<"norm-fuse"> {
  let summary = "inline programs that agree on their dims into one";
  let dependentDialects = ["::mlir::norm::NormDialect"];
  let options = [
    Option<"explain", "explain", "bool", /*default=*/"false",
           "remark on each producer that was not fused, with the reason">
  ];
}

def NormRewriteWelfordPass : Pass<"norm-rewrite-welford"> {
  let summary = "merge dependent reductions into one collective";
  let dependentDialects = ["::mlir::norm::NormDialect"];
}

def NormExpandMathPass : Pass<"norm-expand-math"> {
  let summary = "write transcendental functions as exactly rounded arithmetic";
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def NormSchedulePass : Pass<"norm-schedule"> {
  let summary = "give each program an order and a schedule";
  let dependentDialects = ["::mlir::norm::NormDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host\"",
           "target to schedule for: host or sm_80 to sm_121">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"\"",
           "fields that override the model, as in 'threads=256,residency=stream'">
  ];
}

def NormResultsToDestinationsPass : Pass<"norm-results-to-destinations", "::mlir::ModuleOp"> {
  let summary = "turn tensor results of functions into destination arguments";
  let description = [{
    Each result of a function becomes a memref argument after the others, in
    order, into which the value is materialized. A tensor of rank 2 may have any
    distance between rows there; others are contiguous. A result that is an
    argument, is returned twice, or isn't made by a program is copied by one. An
    output operand of a program whose previous content counts is copied first,
    so that no argument is ever written.

    Attributes of results are dropped. Results that aren't ranked tensors,
    functions of several blocks and calls are errors.

    Example:

    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      ...
      return %y : tensor<?x64xf32>
    }
    // becomes
    func.func @f(%x: tensor<?x64xf32>, %d: memref<?x64xf32, strided<[?, 1]>>) {
      ...
      bufferization.materialize_in_destination %y in restrict writable %d
          : (tensor<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
    "::mlir::norm::NormDialect", "::mlir::tensor::TensorDialect"];
}

def NormBufferizePass : Pass<"norm-bufferize", "::mlir::ModuleOp"> {
  let summary = "turn programs on tensors into programs on buffers";
  let description = [{
    One-shot bufferization across function boundaries, with outputs computed
    right in their destinations. Tensor arguments become memrefs: of rank 2 with
    any distance between rows, others contiguous. They are not written. A
    temporary is a `memref.alloc`; nothing frees it, since whoever launches the
    kernels provides the memory. A copy that would be needed is an error: no
    kernel makes it.

    Example:

    ```mlir
    %e = tensor.empty(%n) : tensor<?x64xf32>
    %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x64xf32>)
        outs(%b = %e[row, col] : tensor<?x64xf32>) { ... }
    bufferization.materialize_in_destination %y in restrict writable %d
        : (tensor<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>) -> ()
    // becomes
    norm.generic (row, col)
        ins(%a = %x[row, col] : memref<?x64xf32, strided<[?, 1]>>)
        outs(%b = %d[row, col] : memref<?x64xf32, strided<[?, 1]>>) { ... }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
    "::mlir::memref::MemRefDialect", "::mlir::norm::NormDialect"];
}

def NormTilePass : Pass<"norm-tile", "::mlir::ModuleOp"> {
  let summary = "write each scheduled program on buffers as a tiled kernel";
  let dependentDialects = ["::mlir::norm_tile::NormTileDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
    "::mlir::arith::ArithDialect"];
}

#endif // NORM_DIALECT_NORM_TRANSFORMS_PASSES_TD
