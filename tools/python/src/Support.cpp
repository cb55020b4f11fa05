//===- Support.cpp - Handles and errors of the C API ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

using namespace normpy;

const char *normpy::statusName(NormcStatus status) {
  static const char *const names[] = {"success",         "invalid argument",
                                      "invalid program", "no device",
                                      "invalid launch",  "miss",
                                      "pending",         "device error",
                                      "out of memory",   "internal error"};
  if (status < 0 || status > NORMC_INTERNAL_ERROR)
    return "unknown";
  return names[status];
}

void normpy::check(NormcStatus status, char *message) {
  Handle<char> owned(message);
  if (status != NORMC_SUCCESS)
    throw Error(status, message ? message : statusName(status));
}
