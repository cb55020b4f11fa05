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

#include "norm/Conversion/Passes.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Pipelines/Pipelines.h"
#include "norm/Target/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int norm::tools::normOptMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  mlir::norm::registerDialects(registry);
  mlir::norm::registerNormTransformsPasses();
  mlir::norm::registerNormConversionPasses();
  mlir::norm::registerNormTargetPasses();
  mlir::norm::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "norm optimizer driver\n", registry));
}
