//===- Operands.h - Device memory of measured calls -------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_OPERANDS_H
#define NORM_BENCH_OPERANDS_H

#include "norm/Bench/Ops.h"
#include "norm/Runtime/Device.h"
#include "norm/Runtime/Workers.h"
#include "norm/Tools/NormRunCheck.h"
#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace norm::bench {

/// Random numbers of which a tensor's elements are taken in turns. Their count
/// is a prime, so that rows differ whatever their length is.
struct Pattern {
  /// Numbers of a pattern, unless fewer elements are needed.
  static constexpr uint64_t kLength = 4194301;

  DType dtype = DType::BF16;
  uint64_t length = 0;
  std::vector<uint8_t> bytes;

  /// Copies elements `first` to `first + count` to `to`.
  void copy(uint64_t first, uint64_t count, uint8_t *to) const;
};

/// Memory of a device that is kept from one measurement to the next, by what it
/// holds. Memory that is asked for again, in a larger size, is another one: who
/// holds an address of the old one must not use it any more.
class Operands {
public:
  Operands(Device &device, Workers &workers)
      : device(device), workers(workers) {}

  /// A tensor's elements of `role`, at least `elements` of them. Those of
  /// another `owner` are other memory.
  llvm::Expected<Buffer *> input(Role role, DType dtype, uint64_t elements,
                                 llvm::StringRef owner = "");
  /// Memory of any content, told from others by `name`.
  llvm::Expected<Buffer *> scratch(llvm::StringRef name, uint64_t bytes);
  /// The numbers that `input` gave, without an owner.
  const Pattern &pattern(Role role, DType dtype) const;

  Device &getDevice() { return device; }
  Workers &getWorkers() { return workers; }

private:
  struct Input {
    Pattern pattern;
    std::unique_ptr<Buffer> buffer;
  };
  llvm::Error fill(Input &input, Role role, DType dtype, uint64_t elements);

  Device &device;
  Workers &workers;
  std::map<std::tuple<std::string, Role, DType>, Input> inputs;
  std::map<std::string, std::unique_ptr<Buffer>> others;
};

/// The arguments of calls of one program with so many rows, in several sets:
/// each has the tensors of rows to itself, and shares those of columns.
class CallSets {
public:
  /// Makes the memory. The program's arguments have `roles`, rows are the
  /// dynamic leading dim.
  static llvm::Expected<CallSets> create(Operands &operands,
                                         const Manifest &manifest,
                                         llvm::ArrayRef<Role> roles,
                                         int64_t rows, unsigned sets);

  /// Arguments, then results.
  llvm::ArrayRef<BoundArgument> arguments(unsigned set) const {
    return bound[set];
  }
  unsigned count() const { return unsigned(bound.size()); }

  /// Fills the results with bytes that no result has.
  llvm::Error poisonResults();

  /// The bytes of the results of a set, one result after the other.
  llvm::Expected<std::vector<uint8_t>> readResults(unsigned set);

  /// Compares rows of the results of set `set` with the reference, spread from
  /// the first to the last. Results and inputs of so many rows are copied from
  /// the device.
  llvm::Expected<std::vector<tools::ResultCheck>> check(llvm::StringRef text,
                                                        unsigned set);
  /// Whether there are results of columns alone, which all rows have a part in.
  /// `check` compares them where there are at most `kWholeRows` rows.
  bool hasSums() const;
  static constexpr int64_t kWholeRows = 1100;
  /// How many rows `check` looks at.
  int64_t checkedRows() const { return int64_t(samples().size()); }

private:
  std::vector<int64_t> samples() const;
  llvm::Expected<HostTensor> makeSample(unsigned argument, unsigned set,
                                        llvm::ArrayRef<int64_t> samples);
  bool isByRow(unsigned argument) const;

  Operands *operands = nullptr;
  const Manifest *manifest = nullptr;
  std::vector<Role> roles;
  int64_t rows = 0;
  int64_t columns = 0;
  /// By argument: its memory, and elements from one set to the next.
  std::vector<Buffer *> buffers;
  std::vector<uint64_t> steps;
  std::vector<std::vector<BoundArgument>> bound;
};

} // namespace norm::bench

#endif // NORM_BENCH_OPERANDS_H
