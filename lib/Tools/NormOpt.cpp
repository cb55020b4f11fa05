//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// norm-opt: MLIR's optimizer driver with the project's dialects and passes.
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/Tools.h"

#include "norm/Pipelines/Pipelines.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

/// The passes of upstream that a pipeline of norm is built of or that bring IR
/// to it. Registering all of upstream's would make the executable several times
/// as large.
static void registerUpstreamPasses() {
  mlir::registerTransformsPasses();
  mlir::registerConvertElementwiseToLinalgPass();
  mlir::registerLinalgGeneralizeNamedOpsPass();
  mlir::registerConvertGpuOpsToNVVMOps();
  mlir::registerConvertToLLVMPass();
  mlir::registerReconcileUnrealizedCastsPass();
  mlir::registerSCFToControlFlowPass();
}

int norm::tools::normOptMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::norm::registerDialects(registry);
  registerUpstreamPasses();
  mlir::norm::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "norm optimizer driver\n", registry));
}
