//===- Programs.h - Common fusions as text ----------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the MLIR text of common fusions from a name and a few fields, for
// those who don't write MLIR. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_PROGRAMS_PROGRAMS_H
#define NORM_PROGRAMS_PROGRAMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>
#include <vector>

namespace norm {

/// What a program is made from, by name: `{"columns", "4096"}`. `listPrograms`
/// tells the names, values and defaults.
using ProgramFields = std::vector<std::pair<std::string, std::string>>;

/// The text of a module with one function, named as the program is: arguments
/// and results are tensors of rows by columns, as `listPrograms` tells. An error
/// for a name that isn't known, a field that isn't known or that this program
/// doesn't have, a value that isn't possible, and a missing field.
llvm::Expected<std::string>
buildProgram(llvm::StringRef program,
             llvm::ArrayRef<std::pair<std::string, std::string>> fields);

/// Takes `columns=4096,dtype=bf16` apart. An error for a field without `=`, and
/// for one that is there twice.
llvm::Expected<ProgramFields> parseProgramFields(llvm::StringRef text);

/// All programs with their arguments and results, and all fields, for people.
std::string listPrograms();

/// Whether some program has a field of this name.
bool isProgramField(llvm::StringRef name);

/// The names of all programs.
std::vector<llvm::StringRef> programNames();

} // namespace norm

#endif // NORM_PROGRAMS_PROGRAMS_H
