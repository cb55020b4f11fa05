//===- Diagnostics.h - Diagnostics as text ----------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_COMPILER_DIAGNOSTICS_H
#define NORM_LIB_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace norm {

/// Collects what is reported in a context while it exists.
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext *context, llvm::StringRef fileName);

  /// The errors so far, one a line. `fallback` where none was reported.
  llvm::Error takeError(llvm::StringRef fallback);

  /// Warnings and remarks so far.
  std::vector<std::string> takeRemarks() { return std::move(remarks); }

private:
  void collect(mlir::Diagnostic &diagnostic);

  std::string fileName;
  std::vector<std::string> errors;
  std::vector<std::string> remarks;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace norm

#endif // NORM_LIB_COMPILER_DIAGNOSTICS_H
