//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All tools in one executable: the name it is called by, or else its first
// argument, chooses the tool.
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/Tools.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using ToolMain = int (*)(int, char **);

static ToolMain findTool(llvm::StringRef name) {
  return llvm::StringSwitch<ToolMain>(name)
      .Case("norm-bench", norm::tools::normBenchMain)
      .Case("norm-fuzz", norm::tools::normFuzzMain)
      .Case("norm-opt", norm::tools::normOptMain)
      .Case("norm-cache", norm::tools::normCacheMain)
      .Case("norm-compile", norm::tools::normCompileMain)
      .Case("norm-run", norm::tools::normRunMain)
      .Default(nullptr);
}

int main(int argc, char **argv) {
  if (argc > 0)
    if (ToolMain tool = findTool(llvm::sys::path::filename(argv[0])))
      return tool(argc, argv);
  if (argc > 1)
    if (ToolMain tool = findTool(argv[1]))
      return tool(argc - 1, argv + 1);
  llvm::errs()
      << "error: expects norm-opt, norm-compile, norm-run, norm-cache, "
         "norm-bench or norm-fuzz as the first argument but got "
      << (argc > 1 ? argv[1] : "none") << "\n";
  return norm::tools::ExitBadInput;
}
