//===- SupportRoutines.cpp - Routines that host code may call -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SupportRoutines.h"
#include "norm/Support/DType.h"
#include "llvm/ADT/bit.h"
#include <cstring>

using namespace norm;

// On x86-64 and AArch64 a 16-bit floating point value is passed and returned
// in the low bits of a vector register, as a float is. So a float whose low
// bits are those of the value stands for it here, whatever compiler builds
// this file.

static float pack(DType type, double value) {
  uint32_t bits = 0;
  encode(type, value, &bits);
  return llvm::bit_cast<float>(bits);
}

static double unpack(DType type, float packed) {
  uint32_t bits = llvm::bit_cast<uint32_t>(packed);
  return decode(type, &bits);
}

static float floatToBrain(float value) { return pack(DType::BF16, value); }
static float doubleToBrain(double value) { return pack(DType::BF16, value); }
static float floatToHalf(float value) { return pack(DType::F16, value); }
static float doubleToHalf(double value) { return pack(DType::F16, value); }
static float halfToFloat(float packed) {
  return float(unpack(DType::F16, packed));
}
static double halfToDouble(float packed) { return unpack(DType::F16, packed); }

llvm::ArrayRef<SupportRoutine> norm::supportRoutines() {
  static const SupportRoutine routines[] = {
      {"memcpy", reinterpret_cast<void *>(&std::memcpy)},
      {"memmove", reinterpret_cast<void *>(&std::memmove)},
      {"memset", reinterpret_cast<void *>(&std::memset)},
      {"__truncsfbf2", reinterpret_cast<void *>(&floatToBrain)},
      {"__truncdfbf2", reinterpret_cast<void *>(&doubleToBrain)},
      {"__truncsfhf2", reinterpret_cast<void *>(&floatToHalf)},
      {"__truncdfhf2", reinterpret_cast<void *>(&doubleToHalf)},
      {"__extendhfsf2", reinterpret_cast<void *>(&halfToFloat)},
      {"__extendhfdf2", reinterpret_cast<void *>(&halfToDouble)},
  };
  return routines;
}
