//===- widths.mlir - Elements of one and of eight bytes -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-compile %s --entry=eight_bit --target=sm_90 --emit=ptx | FileCheck %s --check-prefix=BYTE
// RUN: norm-compile %s --entry=eight_bit --target=sm_89 --emit=ptx | FileCheck %s --check-prefixes=SM89
// RUN: not norm-compile %s --entry=eight_bit --target=sm_89 --ptx-version=80 --emit=ptx 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not norm-compile %s --entry=eight_bit --target=sm_80 --emit=ptx 2>&1 | FileCheck %s --check-prefix=SM80
// RUN: norm-compile %s --entry=double --target=sm_90 --emit=ptx | FileCheck %s --check-prefix=DOUBLE

// An access is 16 elements; conversions are by pairs.
// BYTE: .visible .entry eight_bit_0(
// BYTE: ld.global.nc.L2::cache_hint.v4.b32
// BYTE: cvt.rn.f16x2.e5m2x2
// BYTE-NOT: ld.global.nc.b8
// BYTE: cvt.rn.satfinite.e4m3x2.f32
// BYTE: st.global.v4.b32
// BYTE: .visible .entry eight_bit_0_unaligned(
// BYTE: ld.global.nc.b8

// The first PTX version that has the conversions for the target.
// SM89: .version 8.1
// SM89: .target sm_89
// OLD: error: target sm_89 expects PTX 8.1 or newer but got 8.0
// SM80: widths.mlir:[[#@LINE+2]]:8: error: 'f8E5M2' operand needs sm_89 or newer but target is sm_80
func.func @eight_bit(%x: tensor<?x4096xf8E5M2>) -> tensor<?x4096xf8E4M3FN> {
  %y = norm.softmax %x axes = [1] : tensor<?x4096xf8E5M2> -> tensor<?x4096xf8E4M3FN>
  return %y : tensor<?x4096xf8E4M3FN>
}

// An access is two elements; all functions are arithmetic.
// DOUBLE: .visible .entry double_0(
// DOUBLE: ld.global.nc.L2::cache_hint.v4.b32
// DOUBLE: fma.rn.f64
// DOUBLE: div.rn.f64
// DOUBLE: st.global.v2.b64
func.func @double(%x: tensor<?x1024xf64>) -> tensor<?x1024xf64> {
  %s = norm.softmax %x axes = [1] : tensor<?x1024xf64> -> tensor<?x1024xf64>
  %l = math.log %s : tensor<?x1024xf64>
  %t = math.tanh %l : tensor<?x1024xf64>
  return %t : tensor<?x1024xf64>
}
