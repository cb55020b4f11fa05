//===- DType.cpp - Element types at the boundary --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/DType.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace norm;

namespace {

/// What the conversions need to know of a binary floating point format.
struct FloatFormat {
  unsigned exponentBits;
  unsigned mantissaBits; // stored ones, without the implicit bit
  int bias;
  bool hasInfinity;
};

constexpr FloatFormat kHalf{5, 10, 15, true};
constexpr FloatFormat kBrain{8, 7, 127, true};
constexpr FloatFormat kE4M3{4, 3, 7, false};
constexpr FloatFormat kE5M2{5, 2, 15, true};

template <typename T>
T loadAs(const void *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void storeAs(T value, void *bytes) {
  std::memcpy(bytes, &value, sizeof(T));
}

/// The value of the low bits of `bits` in `format`.
double decodeSmall(const FloatFormat &format, uint32_t bits) {
  uint32_t mantissa = bits & ((1u << format.mantissaBits) - 1);
  uint32_t top = (1u << format.exponentBits) - 1;
  uint32_t exponent = (bits >> format.mantissaBits) & top;
  bool negative = (bits >> (format.mantissaBits + format.exponentBits)) & 1;
  uint32_t allOnes = (1u << format.mantissaBits) - 1;
  double magnitude;
  if (format.hasInfinity && exponent == top)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (!format.hasInfinity && exponent == top && mantissa == allOnes)
    magnitude = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(double(mantissa),
                           1 - format.bias - int(format.mantissaBits));
  else
    magnitude =
        std::ldexp(double(mantissa | (1u << format.mantissaBits)),
                   int(exponent) - format.bias - int(format.mantissaBits));
  return negative ? -magnitude : magnitude;
}

/// The bits of `value` rounded to nearest even in `format`.
uint32_t encodeSmall(const FloatFormat &format, double value) {
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  unsigned signShift = format.exponentBits + format.mantissaBits;
  uint32_t sign = uint32_t(bits >> 63) << signShift;
  uint32_t top = (1u << format.exponentBits) - 1;
  uint32_t allOnes = (1u << format.mantissaBits) - 1;
  uint32_t nan = format.hasInfinity ? (top << format.mantissaBits) |
                                          (1u << (format.mantissaBits - 1))
                                    : (top << format.mantissaBits) | allOnes;
  uint32_t infinity = format.hasInfinity ? top << format.mantissaBits : nan;
  if (std::isnan(value))
    return sign | nan;
  if (std::isinf(value))
    return sign | infinity;
  int exponent = int((bits >> 52) & 0x7ff);
  // A subnormal double is below half of every format's smallest subnormal.
  if (exponent == 0)
    return sign;
  exponent -= 1023;
  uint64_t significand = (bits & ((1ull << 52) - 1)) | (1ull << 52);
  int smallest = 1 - format.bias;
  unsigned drop = 52 - format.mantissaBits;
  if (exponent < smallest)
    drop += std::min(smallest - exponent, 64);
  if (drop > 63)
    return sign;
  uint64_t kept = significand >> drop;
  uint64_t rest = significand & ((1ull << drop) - 1);
  uint64_t half = 1ull << (drop - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  // `kept` holds the implicit bit for normals; adding it to the exponent field
  // below it also carries a round-up into the next binade.
  uint64_t field = exponent < smallest ? 0 : uint64_t(exponent - smallest);
  uint64_t result = (field << format.mantissaBits) + kept;
  uint64_t largest = format.hasInfinity
                         ? (uint64_t(top) << format.mantissaBits) - 1
                         : (uint64_t(top) << format.mantissaBits) + allOnes - 1;
  return sign | (result > largest ? infinity : uint32_t(result));
}

double decodePower(uint8_t code) {
  return code == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, int(code) - 127);
}

/// The exponent of f32, were its range of exponents without an end.
uint8_t encodePower(double value) {
  if (!std::isfinite(value))
    return 0xff;
  if (value == 0.0)
    return 0;
  return uint8_t(std::clamp(std::ilogb(value), -127, 127) + 127);
}

constexpr double kMagnitudesE2M1[] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};

double decodeE2M1(uint8_t code) {
  double magnitude = kMagnitudesE2M1[code & 7];
  return code & 8 ? -magnitude : magnitude;
}

uint8_t encodeE2M1(double value) {
  if (std::isnan(value))
    return 7;
  double magnitude = std::fabs(value);
  uint8_t code = 0;
  for (; code < 7; ++code) {
    double middle = (kMagnitudesE2M1[code] + kMagnitudesE2M1[code + 1]) / 2;
    // A tie goes to the even code, as that has the even significand.
    if (magnitude < middle || (magnitude == middle && code % 2 == 0))
      break;
  }
  return std::signbit(value) ? code | 8 : code;
}

template <typename T>
T saturate(double value) {
  if (std::isnan(value))
    return 0;
  value = std::nearbyint(value);
  // The bounds are powers of two (one past the top), exact in double.
  double bound = std::ldexp(1.0, int(sizeof(T)) * 8 - 1);
  if (value >= bound)
    return std::numeric_limits<T>::max();
  if (value < -bound)
    return std::numeric_limits<T>::min();
  return T(value);
}

struct TypeInfo {
  DType type;
  llvm::StringLiteral name;
  uint8_t bits;
  uint8_t precision;
  int16_t minExponent;
  int16_t maxExponent;
};

constexpr TypeInfo kTypes[] = {
    {DType::F64, "f64", 64, 53, -1022, 1023},
    {DType::F32, "f32", 32, 24, -126, 127},
    {DType::F16, "f16", 16, 11, -14, 15},
    {DType::BF16, "bf16", 16, 8, -126, 127},
    {DType::F8E4M3FN, "f8E4M3FN", 8, 4, -6, 8},
    {DType::F8E5M2, "f8E5M2", 8, 3, -14, 15},
    {DType::F8E8M0FNU, "f8E8M0FNU", 8, 1, -127, 127},
    {DType::F4E2M1FN, "f4E2M1FN", 4, 2, 0, 2},
    {DType::I1, "i1", 8, 0, 0, 0},
    {DType::I8, "i8", 8, 0, 0, 0},
    {DType::I16, "i16", 16, 0, 0, 0},
    {DType::I32, "i32", 32, 0, 0, 0},
    {DType::I64, "i64", 64, 0, 0, 0},
};

const TypeInfo &info(DType type) { return kTypes[unsigned(type)]; }

} // namespace

llvm::ArrayRef<DType> norm::allDTypes() {
  static constexpr DType kAll[] = {
      DType::F64,      DType::F32,    DType::F16,       DType::BF16,
      DType::F8E4M3FN, DType::F8E5M2, DType::F8E8M0FNU, DType::F4E2M1FN,
      DType::I1,       DType::I8,     DType::I16,       DType::I32,
      DType::I64};
  return kAll;
}

llvm::StringRef norm::name(DType type) { return info(type).name; }

std::optional<DType> norm::parseDType(llvm::StringRef text) {
  for (const TypeInfo &candidate : kTypes)
    if (candidate.name == text)
      return candidate.type;
  return std::nullopt;
}

unsigned norm::bitSize(DType type) { return info(type).bits; }

unsigned norm::byteSize(DType type) { return (info(type).bits + 7) / 8; }

bool norm::isFloat(DType type) { return info(type).precision != 0; }

unsigned norm::precision(DType type) { return info(type).precision; }

int norm::minExponent(DType type) { return info(type).minExponent; }

int norm::maxExponent(DType type) { return info(type).maxExponent; }

double norm::maxFinite(DType type) {
  switch (type) {
  case DType::F8E4M3FN:
    // The all-ones significand of the last binade is the NaN.
    return 448.0;
  case DType::I1:
    return 1.0;
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
    return std::ldexp(1.0, int(byteSize(type)) * 8 - 1) -
           (type == DType::I64 ? 0.0 : 1.0);
  default:
    return std::ldexp(2.0 - std::ldexp(1.0, 1 - int(precision(type))),
                      maxExponent(type));
  }
}

double norm::decode(DType type, const void *bytes) {
  switch (type) {
  case DType::F64:
    return loadAs<double>(bytes);
  case DType::F32:
    return loadAs<float>(bytes);
  case DType::F16:
    return decodeSmall(kHalf, loadAs<uint16_t>(bytes));
  case DType::BF16:
    return llvm::bit_cast<float>(uint32_t(loadAs<uint16_t>(bytes)) << 16);
  case DType::F8E4M3FN:
    return decodeSmall(kE4M3, loadAs<uint8_t>(bytes));
  case DType::F8E5M2:
    return decodeSmall(kE5M2, loadAs<uint8_t>(bytes));
  case DType::F8E8M0FNU:
    return decodePower(loadAs<uint8_t>(bytes));
  case DType::F4E2M1FN:
    return decodeE2M1(loadAs<uint8_t>(bytes));
  case DType::I1:
    return loadAs<uint8_t>(bytes) != 0;
  case DType::I8:
    return loadAs<int8_t>(bytes);
  case DType::I16:
    return loadAs<int16_t>(bytes);
  case DType::I32:
    return loadAs<int32_t>(bytes);
  case DType::I64:
    return double(loadAs<int64_t>(bytes));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void norm::encode(DType type, double value, void *bytes) {
  switch (type) {
  case DType::F64:
    return storeAs(value, bytes);
  case DType::F32:
    return storeAs(float(value), bytes);
  case DType::F16:
    return storeAs(uint16_t(encodeSmall(kHalf, value)), bytes);
  case DType::BF16:
    return storeAs(uint16_t(encodeSmall(kBrain, value)), bytes);
  case DType::F8E4M3FN:
    return storeAs(uint8_t(encodeSmall(kE4M3, value)), bytes);
  case DType::F8E5M2:
    return storeAs(uint8_t(encodeSmall(kE5M2, value)), bytes);
  case DType::F8E8M0FNU:
    return storeAs(encodePower(value), bytes);
  case DType::F4E2M1FN:
    return storeAs(encodeE2M1(value), bytes);
  case DType::I1:
    return storeAs(uint8_t(!std::isnan(value) && value != 0.0), bytes);
  case DType::I8:
    return storeAs(saturate<int8_t>(value), bytes);
  case DType::I16:
    return storeAs(saturate<int16_t>(value), bytes);
  case DType::I32:
    return storeAs(saturate<int32_t>(value), bytes);
  case DType::I64:
    return storeAs(saturate<int64_t>(value), bytes);
  }
}

double norm::decodeAt(DType type, const void *bytes, uint64_t index) {
  auto *first = static_cast<const uint8_t *>(bytes);
  if (!isPacked(type))
    return decode(type, first + index * byteSize(type));
  uint8_t code = first[index / 2] >> (index % 2 * 4);
  return decode(type, &code);
}

void norm::encodeAt(DType type, double value, void *bytes, uint64_t index) {
  auto *first = static_cast<uint8_t *>(bytes);
  if (!isPacked(type))
    return encode(type, value, first + index * byteSize(type));
  uint8_t code = 0;
  encode(type, value, &code);
  uint8_t &pair = first[index / 2];
  pair = index % 2 ? (pair & 0x0f) | code << 4 : (pair & 0xf0) | code;
}

double norm::roundTo(DType type, double value) {
  uint64_t storage = 0;
  encode(type, value, &storage);
  return decode(type, &storage);
}

double norm::ulp(DType type, double value) {
  if (!isFloat(type))
    return 1.0;
  if (std::isnan(value))
    return value;
  int exponent = maxExponent(type);
  double magnitude = std::fabs(value);
  if (magnitude == 0.0)
    exponent = minExponent(type);
  else if (std::isfinite(magnitude))
    exponent = std::clamp(std::ilogb(magnitude), minExponent(type), exponent);
  return std::ldexp(1.0, exponent - int(precision(type)) + 1);
}
