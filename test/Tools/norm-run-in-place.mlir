//===- norm-run-in-place.mlir - Results in the memory of arguments --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The same bits as out of place, whatever is held between phases.

// RUN: norm-run %s --entry=apart --device=host --arg 0=random:37x264:seed=1 --arg 1=random:37x264:seed=2 --out 0=%t.y.npy --out 1=%t.s.npy
// RUN: norm-run %s --entry=add_norm --device=host --arg 0=random:37x264:seed=1 --arg 1=random:37x264:seed=2 --check --expect 0=%t.y.npy:ulp=0 --expect 1=%t.s.npy:ulp=0 | FileCheck %s
// RUN: norm-run %s --entry=add_norm --device=emulated --arg 0=random:37x264:seed=1 --arg 1=random:37x264:seed=2 --check --expect 0=%t.y.npy:ulp=0 --expect 1=%t.s.npy:ulp=0 | FileCheck %s --check-prefixes=CHECK,TRAFFIC
// RUN: norm-run %s --entry=add_norm --device=emulated:3 --schedule=residency=stream --arg 0=random:37x264:seed=1 --arg 1=random:37x264:seed=2:pitch=272 --check --expect 0=%t.y.npy:ulp=0 --expect 1=%t.s.npy:ulp=0 | FileCheck %s
// RUN: norm-run %s --entry=add_norm --device=emulated:3 --schedule=residency=shared --arg 0=random:37x264:seed=1 --arg 1=random:37x264:seed=2:offset=1 --check --expect 0=%t.y.npy:ulp=0 --expect 1=%t.s.npy:ulp=0 | FileCheck %s
// RUN: norm-run %s --entry=columns --device=host --check --bits=host | FileCheck %s --check-prefix=COLUMNS
// RUN: norm-run %s --entry=columns --device=emulated:5 --check --bits=host | FileCheck %s --check-prefix=COLUMNS
// RUN: norm-run %s --entry=statistic --device=host --check --bits=host | FileCheck %s --check-prefix=STATISTIC
// RUN: norm-run %s --entry=statistic --device=emulated:5 --check --bits=host | FileCheck %s --check-prefix=STATISTIC
// RUN: norm-run %s --entry=statistic --device=emulated:9 --schedule=threads=128 --check --bits=host | FileCheck %s --check-prefix=STATISTIC

// A result elsewhere than in the argument is refused, and so is another one in
// its memory.
// RUN: sh -c 'norm-run %s --entry=add_norm --device=host --arg 0=ones:3x264 --arg 1=ones:3x264 --place out1:pitch=300 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=ELSEWHERE --input-file=%t
// ELSEWHERE: norm-run: error: argument 3 'result1': expects the memory of argument 1 'res', in place of which it is written, but got another address or other strides
// RUN: sh -c 'norm-run %s --entry=add_norm --device=host --arg 0=ones:3x264 --arg 1=ones:3x264 --place out0:alias=0 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=OTHER --input-file=%t
// OTHER: norm-run: error: argument 2 'result0': expects memory of its own but overlaps argument 0 'x'

// RUN: norm-compile %s --entry=add_norm -o %t.ptx --manifest %t.json
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.json
// MANIFEST: "aliases": [
// MANIFEST: 1
// MANIFEST: "in_place": 1,
// MANIFEST: "name": "result1",
// MANIFEST: "role": "output"

// TRAFFIC: traffic add_rms_norm, argument 3 'result1': 19536 of 19536 bytes read, {{.*}}; 19536 of 19536 bytes written
// CHECK: ok    result 0 reference: {{.*}} 0.000 ulp
// CHECK: ok    result 1 reference: {{.*}} 0.000 ulp
// CHECK: ok    result 0 file
// CHECK: ok    result 1 file
func.func @add_norm(%x: tensor<?x264xbf16>, %res: tensor<?x264xbf16> {norm.in_place = 1})
    -> (tensor<?x264xbf16>, tensor<?x264xbf16>) {
  %s = arith.addf %x, %res : tensor<?x264xbf16>
  %y = norm.rms_norm %s axes = [1] eps = 1.0e-6 : tensor<?x264xbf16> -> tensor<?x264xbf16>
  return %y, %s : tensor<?x264xbf16>, tensor<?x264xbf16>
}

func.func @apart(%x: tensor<?x264xbf16>, %res: tensor<?x264xbf16>)
    -> (tensor<?x264xbf16>, tensor<?x264xbf16>) {
  %s = arith.addf %x, %res : tensor<?x264xbf16>
  %y = norm.rms_norm %s axes = [1] eps = 1.0e-6 : tensor<?x264xbf16> -> tensor<?x264xbf16>
  return %y, %s : tensor<?x264xbf16>, tensor<?x264xbf16>
}

// Across memory.
// COLUMNS: ok {{ *}}result 0 reference
// COLUMNS: ok {{ *}}result 0 bits
func.func @columns(%x: tensor<300x24xf32> {norm.in_place = 0}) -> tensor<300x24xf32> {
  %y = norm.softmax %x axes = [0] : tensor<300x24xf32> -> tensor<300x24xf32>
  return %y : tensor<300x24xf32>
}

// One value per row, read by all threads of the row and written by one.
// STATISTIC: ok {{ *}}result 0 reference
// STATISTIC: ok {{ *}}result 1 reference
// STATISTIC: ok {{ *}}result 0 bits
// STATISTIC: ok {{ *}}result 1 bits
func.func @statistic(%x: tensor<19x520xf32>, %m: tensor<19xf32> {norm.in_place = 0})
    -> (tensor<19xf32>, tensor<19x520xf32>) {
  %d = tensor.empty() : tensor<19xf32>
  %e = tensor.empty() : tensor<19x520xf32>
  %n, %y = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<19x520xf32>, %o = %m[row] : tensor<19xf32>)
      outs(%p = %d[row] : tensor<19xf32>, %q = %e[row, col] : tensor<19x520xf32>) {
    %f = arith.addf %a, %o : f32
    %s = norm.reduce max %f over [col] : f32
    %t = arith.addf %s, %o : f32
    %u = arith.mulf %a, %t : f32
    norm.yield %t, %u : f32, f32
  }
  return %n, %y : tensor<19xf32>, tensor<19x520xf32>
}
