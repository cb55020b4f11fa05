//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Another compiler's own module goes through the passes of norm: its function
// scales and takes a softmax, built op by op; what comes back are gpu.funcs and
// their launches.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"
#include "norm/Dialect/NormTile/IR/NormTile.h"
#include "norm/Pipelines/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// `softmax(x * scale)` of rows of 1000 columns, built op by op.
static OwningOpRef<ModuleOp> build(MLIRContext &context) {
  Location location = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, 1000}, builder.getF32Type());
  auto function =
      func::FuncOp::create(builder, location, "scaled_softmax",
                           builder.getFunctionType({type, type}, {type}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value scaled = arith::MulFOp::create(
      builder, location, function.getArgument(0), function.getArgument(1));
  auto softmax = mlir::norm::SoftmaxOp::create(
      builder, location, type, /*logsumexp=*/Type(), scaled, /*scale=*/Value(),
      /*mask=*/Value(), /*lengths=*/Value(), builder.getDenseI64ArrayAttr({1}),
      /*scale_value=*/FloatAttr(), /*causal=*/{});
  func::ReturnOp::create(builder, location, softmax.getY());
  return module;
}

int main() {
  DialectRegistry registry;
  mlir::norm::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      mlir::norm::NormDialect>();
  OwningOpRef<ModuleOp> module = build(context);
  if (failed(verify(*module)))
    return 1;

  PassManager pm(&context);
  mlir::norm::PipelineOptions options;
  options.target = "sm_90";
  mlir::norm::buildNormToGPUPipeline(pm, options);
  if (failed(pm.run(*module)))
    return 1;

  unsigned kernels = 0, launches = 0;
  module->walk([&](gpu::GPUFuncOp function) {
    llvm::outs() << "gpu.func @" << function.getName() << " with "
                 << function.getNumArguments() << " parameters\n";
    ++kernels;
  });
  module->walk([&](norm_tile::LaunchOp) { ++launches; });
  llvm::outs() << launches << " launch\n";
  return kernels > 0 && launches == 1 ? 0 : 1;
}
