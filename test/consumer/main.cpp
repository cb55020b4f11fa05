//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the norm dialect, parses a function with one of its ops and prints it.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

static constexpr const char *source = R"mlir(
func.func @f(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
         : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
)mlir";

int main() {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, mlir::norm::NormDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module)
    return 1;
  int count = 0;
  module->walk([&](mlir::norm::RmsNormOp op) {
    llvm::outs() << op << "\n";
    ++count;
  });
  return count == 1 ? 0 : 1;
}
