//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of an execution.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_FUZZ_INPUTS_H
#define NORM_LIB_FUZZ_INPUTS_H

#include "norm/Fuzz/Oracles.h"
#include "norm/Tools/NormRunData.h"

namespace norm::fuzz {

/// The shape of argument or result `index`, arguments first.
llvm::SmallVector<int64_t, 5> shapeOf(const Execution &execution,
                                      unsigned index);

Placement placementOf(const Execution &execution, unsigned index);

/// The data of argument `index`, which isn't a scalar.
llvm::Expected<HostTensor> makeArgument(const Execution &execution,
                                        unsigned index, Workers &workers);

double scalarOf(const Execution &execution, unsigned index);

/// Arguments and poisoned results.
llvm::Expected<tools::CallData> makeCall(const Execution &execution,
                                         Workers &workers);

} // namespace norm::fuzz

#endif // NORM_LIB_FUZZ_INPUTS_H
