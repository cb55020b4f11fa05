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

def NormSchedulePass : InterfacePass<"norm-schedule", "::mlir::FunctionOpInterface"> {
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
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
    "::mlir::tensor::TensorDialect"];
}

def NormTilePass : Pass<"norm-tile", "::mlir::ModuleOp"> {
  let summary = "write each scheduled program on buffers as a tiled kernel";
  let dependentDialects = ["::mlir::norm_tile::NormTileDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
    "::mlir::arith::ArithDialect"];
}

#endif // NORM_DIALECT_NORM_TRANSFORMS_PASSES_TD
