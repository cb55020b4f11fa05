//===- Ceiling.h - What a device copies at most -----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_CEILING_H
#define NORM_BENCH_CEILING_H

#include "norm/Bench/ByteModel.h"
#include "norm/Bench/Operands.h"

namespace norm::bench {

/// How a copy kernel is written.
struct CopyShape {
  Mix mix;
  unsigned threads = 256; ///< of a CTA
  unsigned vectors = 1;   ///< of 16 bytes, of each stream, for each thread
  /// Whether what is read stays in the L2 cache longer than what is written.
  bool isStreaming = false;
  /// Stores a value for each vector of the target, of which there are fewer
  /// than of the source: all of the source is read.
  bool isReduction = false;

  /// `256 threads, 1 vector each`
  std::string toString() const;
};

/// PTX of a kernel `norm_bench_copy(source, target, words, targetWords)`. Of
/// each of the `reads` streams of `words` 4-byte words in `source`, and
/// `writes` streams of `targetWords` in `target`, one after the other, it reads
/// and writes each 16-byte vector once; what is written is the exclusive or of
/// what was read. Words are multiples of 4.
std::string copyKernelPtx(const CopyShape &shape);

/// How copies follow each other, which is how the fastest is found.
enum class CopyUse : uint8_t {
  Single, ///< between two events, on a cold cache
  Graph,  ///< many in a graph, on one set after the other
};

/// A copy that is ready to run.
struct Copy {
  /// Work on memory of its own for each set.
  std::vector<DeviceWork> sets;
  uint64_t bytes = 0; ///< that one of them reads and writes
  std::string shape;
};

/// Copies with the mix and the size of a call. On a CUDA device kernels of
/// several shapes are tried, and the fastest is taken; on another device it is
/// a loop over all cores.
class Ceiling {
public:
  explicit Ceiling(Operands &operands) : operands(operands) {}

  /// A copy of about `traffic`, within 16 bytes for each stream, with the mix
  /// `mixOf(traffic)`.
  llvm::Expected<Copy> make(const Traffic &traffic, unsigned sets, CopyUse use);

  /// Work that reads `traffic.read` bytes of memory of its own and writes
  /// `traffic.written` bytes to `target`: what a product of matrices does to
  /// memory. With several sets, each reads other memory.
  llvm::Expected<Copy> makeReduction(const Traffic &traffic, uint64_t target,
                                     unsigned sets);

private:
  struct Kernel {
    CopyShape shape;
    std::unique_ptr<Executable> executable;
  };
  llvm::Expected<Kernel *> load(const CopyShape &shape);
  llvm::Expected<Copy> bind(Kernel &kernel, const Traffic &traffic,
                            std::optional<uint64_t> target, unsigned sets);
  llvm::Expected<Copy> makeHostCopy(const Traffic &traffic,
                                    std::optional<uint64_t> target,
                                    unsigned sets);
  llvm::Expected<CopyShape> choose(const Traffic &traffic, unsigned sets,
                                   CopyUse use);

  Operands &operands;
  std::map<std::string, Kernel> kernels;
  /// The best shape by mix and size.
  std::map<std::string, CopyShape> chosen;
};

} // namespace norm::bench

#endif // NORM_BENCH_CEILING_H
