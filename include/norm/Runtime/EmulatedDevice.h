//===- EmulatedDevice.h - GPU kernels on the host, checked ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs kernels of a GPU target that were compiled for the emulated device:
// each GPU thread is a fiber, CTAs are spread over the host's cores, and every
// access of memory, barrier and shuffle is checked. `docs/Emulated.md` says
// what is checked and how.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_EMULATEDDEVICE_H
#define NORM_RUNTIME_EMULATEDDEVICE_H

#include "norm/Runtime/Device.h"

namespace norm {

struct EmulatedOptions {
  /// The GPU to stand for, `sm_80` to `sm_121`: its limits hold.
  std::string target = "sm_90";
  /// Chooses the order in which threads run between synchronization points.
  uint64_t seed = 1;
  /// Host threads over which CTAs are spread; 0 for all cores, 16 at most.
  /// Results and findings do not depend on it.
  unsigned threads = 0;
  /// CTAs that the GPU holds at once, which limits how many may share a row;
  /// fewer where they have more than 256 threads.
  unsigned residentCtas = 64;
};

/// Opens the emulated device. An error for a target that isn't a GPU.
llvm::Expected<std::unique_ptr<Device>>
openEmulatedDevice(const EmulatedOptions &options = {});

/// What is wrong with a kernel.
enum class FindingKind : uint8_t {
  OutOfBounds,         ///< an access outside the buffer it's derived from
  Misaligned,          ///< an address that the access isn't aligned for
  ReadOnly,            ///< a write into a buffer that isn't an output
  UndeclaredRead,      ///< a read of a buffer that the manifest doesn't list
  UninitializedShared, ///< a read of shared memory that nothing was written to
  UnwrittenOutput,     ///< a read of an output before it was written
  SharedRace,          ///< accesses with no barrier between them
  GlobalRace,          ///< the same in global memory, or by different CTAs
  BarrierDivergence,   ///< not all threads of a CTA at the same barrier
  UnitBarrier,         ///< CTAs that don't meet as a GPU needs them to
  Deadlock,            ///< threads that wait for each other forever
  Mbarrier,            ///< an mbarrier, or a copy, used as it can't be
  Ticket,              ///< numbers drawn otherwise than each of them once
  MissingFence,        ///< a copy of what was written without a proxy fence
  InactiveLane,        ///< a shuffle that reads from, or in, no active lane
  IncompleteOutput,    ///< elements of an output that nothing wrote
  Traffic,             ///< less read than the manifest says
};

/// `out-of-bounds`, ...
llvm::StringRef name(FindingKind kind);

/// One fault at one place of a kernel, by the first CTA that showed it.
struct Finding {
  FindingKind kind = FindingKind::OutOfBounds;
  std::string kernel;   ///< the variant's symbol
  std::string location; ///< `file:line:column`; empty for none
  int64_t block = -1;   ///< -1 for the kernel as a whole
  int64_t thread = -1;  ///< in the CTA; -1 for no single one
  std::string text;     ///< what happened
  uint64_t count = 1;   ///< how often it was seen

  /// `x.mlir:3:4: error: race in kernel 'main_0', CTA 2, thread 7: ...`
  std::string print() const;
};

/// A launch in which checks failed. The text is one line per finding.
class EmulationError : public llvm::ErrorInfo<EmulationError> {
public:
  static char ID;

  explicit EmulationError(std::vector<Finding> findings)
      : list(std::move(findings)) {}
  llvm::ArrayRef<Finding> findings() const { return list; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::vector<Finding> list;
};

} // namespace norm

#endif // NORM_RUNTIME_EMULATEDDEVICE_H
