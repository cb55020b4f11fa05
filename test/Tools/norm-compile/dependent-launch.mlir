//===- dependent-launch.mlir - The schedule's field pdl -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Both variants wait before their first access, and the manifest says so.

// RUN: norm-compile %s --target=sm_90 -o %t.ptx --manifest %t.json
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: FileCheck %s --check-prefix=JSON < %t.json

// PTX-LABEL: .entry main_0(
// PTX-NOT: {{(ld|st)\.global}}
// PTX: griddepcontrol.launch_dependents
// PTX-NOT: {{(ld|st)\.global}}
// PTX: griddepcontrol.wait
// PTX-NOT: .nc
// PTX: ld.global
// PTX-LABEL: .entry main_0_unaligned(
// PTX-NOT: {{(ld|st)\.global}}
// PTX: griddepcontrol.launch_dependents
// PTX-NOT: {{(ld|st)\.global}}
// PTX: griddepcontrol.wait
// PTX-NOT: .nc
// PTX: ld.global
// PTX-NOT: {{\.nc|\.entry}}
// JSON-COUNT-2: "waits": 32

// Not where nobody wants it, or the target has none.

// RUN: norm-compile %s --target=sm_90 --schedule=pdl=false -o %t.ptx --manifest %t.json
// RUN: cat %t.ptx %t.json | FileCheck %s --check-prefix=OFF
// RUN: norm-compile %s --target=sm_89 -o %t.ptx --manifest %t.json
// RUN: cat %t.ptx %t.json | FileCheck %s --check-prefix=OLD
// OFF-NOT: griddepcontrol
// OFF-NOT: "waits"
// OFF: pdl = false
// OFF-NOT: "waits"
// OLD-NOT: griddepcontrol
// OLD-NOT: "waits"
// OLD: "variants"
// OLD-NOT: "waits"

// Nor where there are more rows than a few, or where nobody knows: constant loads
// are worth more there, which nothing holds behind the wait.

// RUN: sed 's/16x4096/64x4096/g' %s > %t.more.mlir
// RUN: norm-compile %t.more.mlir --target=sm_90 -o %t.ptx --manifest %t.json
// RUN: cat %t.ptx %t.json | FileCheck %s --check-prefix=MORE
// RUN: sed 's/16x4096/?x4096/g' %s > %t.more.mlir
// RUN: norm-compile %t.more.mlir --target=sm_90 -o %t.ptx --manifest %t.json
// RUN: cat %t.ptx %t.json | FileCheck %s --check-prefix=MORE
// MORE-NOT: griddepcontrol
// MORE: ld.global.nc
// MORE-NOT: griddepcontrol
// MORE-NOT: "waits"

// Nor may a constant load come from LLVM, which finds out by itself that an argument
// is only read.

// RUN: sed 's/16x4096/127x7/g' %s > %t.short.mlir
// RUN: norm-compile %t.short.mlir --target=sm_90 -o %t.ptx
// RUN: FileCheck %s --check-prefix=SHORT < %t.ptx
// SHORT-NOT: .nc
// SHORT: griddepcontrol.wait
// SHORT-NOT: .nc
// SHORT: ld.global
// SHORT-NOT: .nc

// RUN: not norm-compile %s --target=sm_90 --schedule=pdl=maybe 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: {{.*}}maybe

func.func @main(%x: tensor<16x4096xbf16>) -> tensor<16x4096xbf16> {
  %y = norm.rms_norm %x axes = [1] eps = 1.0e-6 : tensor<16x4096xbf16> -> tensor<16x4096xbf16>
  return %y : tensor<16x4096xbf16>
}
