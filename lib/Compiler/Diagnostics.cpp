//===- Diagnostics.cpp - Diagnostics as text ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ::norm;

/// `file:line:col` of the first place in a text that `location` knows.
static std::string printPlace(mlir::Location location,
                              llvm::StringRef fileName) {
  if (auto place = location->findInstanceOf<mlir::FileLineColLoc>())
    return llvm::formatv("{0}:{1}:{2}", place.getFilename().getValue(),
                         place.getLine(), place.getColumn());
  return fileName.str();
}

static llvm::StringRef printSeverity(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return "error";
  case mlir::DiagnosticSeverity::Warning:
    return "warning";
  case mlir::DiagnosticSeverity::Note:
    return "note";
  case mlir::DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("covered switch");
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext *context,
                                         llvm::StringRef fileName)
    : fileName(fileName),
      handler(context, [this](mlir::Diagnostic &diagnostic) {
        collect(diagnostic);
        return mlir::success();
      }) {}

void DiagnosticCollector::collect(mlir::Diagnostic &diagnostic) {
  bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
  std::vector<std::string> &list = isError ? errors : remarks;
  auto add = [&](mlir::Diagnostic &one) {
    list.push_back(llvm::formatv("{0}: {1}: {2}",
                                 printPlace(one.getLocation(), fileName),
                                 printSeverity(one.getSeverity()), one.str()));
  };
  add(diagnostic);
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    add(note);
}

llvm::Error DiagnosticCollector::takeError(llvm::StringRef fallback) {
  std::vector<std::string> texts = std::move(errors);
  errors.clear();
  if (texts.empty())
    texts.push_back(fileName + ": error: " + fallback.str());
  return llvm::createStringError(llvm::join(texts, "\n"));
}
