//===- Compiler.h - From text to code and manifest --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler as one call. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_COMPILER_COMPILER_H
#define NORM_COMPILER_COMPILER_H

#include "norm/Compiler/Derivative.h"
#include "norm/Analysis/ScheduleChoice.h"
#include "norm/Support/Manifest.h"
#include "norm/Support/MathMode.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace norm {

/// What the caller says of one argument of a kernel that the text doesn't
/// describe.
struct KernelArgument {
  /// None: an output if the kernel writes it, and it isn't `llvm.readonly`.
  std::optional<ArgumentRole> role;
  /// None: that of the memref, or of what is loaded and stored.
  std::optional<DType> dtype;
  /// Dims of the tensor; needed where the type is an address.
  std::optional<unsigned> rank;
};

/// The launch of a kernel that nothing in the text launches: a `gpu.func` that
/// was written by hand.
struct KernelLaunchOptions {
  std::optional<uint64_t> grid;  ///< CTAs
  std::optional<unsigned> block; ///< threads of a CTA; else known_block_size
  uint64_t dynamicShared = 0;    ///< bytes of a CTA
  std::map<unsigned, KernelArgument> arguments; ///< by number
};

struct CompileOptions {
  /// `host`, or `sm_80` to `sm_121`.
  std::string target = "host";
  /// The function to compile. Empty: the only public function, else `main`; of
  /// a text with kernels the function that launches them, else the only kernel.
  std::string entry;
  /// Fields of the schedule that override the model's, as in
  /// `threads=256,residency=stream`.
  std::string schedule;
  /// Schedules that were found by measuring, which go before the model's, and
  /// whether those that are a part of the library do so too. A schedule in the
  /// text, and the fields of `schedule`, go before both.
  std::shared_ptr<const TuningFile> tuning;
  bool usesShippedTuning = true;
  /// The product that they are looked up by (`NVIDIA H200`); empty for any of
  /// the target.
  std::string device;
  /// 80 is PTX 8.0; 0 for the first one that has the target.
  unsigned ptxVersion = 0;
  /// For a GPU target: its kernels as host code for the emulated device.
  bool emulate = false;
  /// For a kernel that nothing launches; of no meaning for other texts, but
  /// naming a grid, a block or shared memory is an error there.
  KernelLaunchOptions launch;
  /// How functions of f16 and bf16 are computed. In the manifest.
  MathMode math = MathMode::Exact;
  /// What the code must load on, as `cuDriverGetVersion` counts; 0 for any.
  unsigned driverVersion = 0;
  /// Whether to remark on what was fused and what wasn't, and why.
  bool explain = false;
  /// Whether to compile the programs of an entry that has other ops as well, on
  /// tensors, as functions of their own, and to remark on the ops that are left.
  /// Else such an op is an error.
  bool outline = false;
};

/// What a compilation took, in milliseconds.
struct CompileTimes {
  double passes = 0;  ///< reading the text, all passes up to the LLVM dialect
  double codegen = 0; ///< LLVM: optimization, PTX or object code
};

/// A compiled function, or several that were cut out of one.
struct Artifact {
  /// Of the function; without kernels where some were cut out of it.
  Manifest manifest;
  /// PTX text; an ELF object on the host and for the emulated device.
  std::string code;
  /// What the passes remarked, `file:line:col: remark: ...`.
  std::vector<std::string> remarks;
  /// The schedules of the programs, in order; none of kernels.
  std::vector<ScheduleDecision> schedules;
  /// Whether the text was a program rather than kernels, so that the reference
  /// and other targets can take it as well.
  bool isProgram = true;
  /// Of the functions that were cut out, all of them in `code`.
  std::vector<Manifest> outlined;
  CompileTimes times;
};

/// Sets the fields of the options that a tuning file's name stands for: the file
/// is read; `none` is none, the library's own neither. An error where it can't
/// be read.
llvm::Error setTuning(CompileOptions &options, llvm::StringRef file);

/// The levels at which a compilation can be looked at, in order. A text with
/// `gpu.func`s is at their level from the start.
enum class Level {
  Norm,      ///< the entry as it was written
  Program,   ///< fused programs on tensors
  Scheduled, ///< the same with order and schedule
  Tiled,     ///< tiled kernels and their launches
  GPU,       ///< `gpu.func`s; GPU targets only
  NVVM,      ///< the LLVM and NVVM dialects; GPU targets only
  LLVM,      ///< optimized LLVM IR
};

/// Compiles one text after the other; keeps what can be kept between them. Not
/// to be used by two threads at once; any number can be used at the same time.
class Compiler {
public:
  Compiler();
  ~Compiler();

  /// Compiles the text of an MLIR module, known as `fileName` in messages. On
  /// wrong input the error's text is the diagnostics, one a line, each
  /// `file:line:col: error: ...`.
  llvm::Expected<Artifact> compile(llvm::StringRef text,
                                   llvm::StringRef fileName,
                                   const CompileOptions &options);

  /// The IR of the entry at a level, as text; in `remarks`, what the passes
  /// remarked.
  llvm::Expected<std::string>
  print(llvm::StringRef text, llvm::StringRef fileName,
        const CompileOptions &options, Level level,
        std::vector<std::string> *remarks = nullptr);

  /// The text with the backward of one of its functions, which can be compiled
  /// as its entry. Errors as of `compile`.
  llvm::Expected<Derivative> differentiate(llvm::StringRef text,
                                           llvm::StringRef fileName,
                                           const DerivativeOptions &options);

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace norm

#endif // NORM_COMPILER_COMPILER_H
