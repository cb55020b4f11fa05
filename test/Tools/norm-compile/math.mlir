//===- math.mlir - Approximations as an option ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-compile %s --math=hardware --manifest=%t.json | FileCheck %s --check-prefix=PTX
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.json
// RUN: norm-compile %s --manifest=%t.exact.json | FileCheck %s --check-prefix=EXACT
// RUN: FileCheck %s --check-prefix=DEFAULT --input-file=%t.exact.json
// RUN: norm-compile %s > %t.default
// RUN: norm-compile %s --math exact | cmp - %t.default
// RUN: norm-opt %s --norm-to-ptx-pipeline="target=sm_90 math=hardware" | FileCheck %s --check-prefix=PTX
// RUN: norm-compile %s --math=hardware --emit=program > %t.program
// RUN: norm-compile %t.program --math=hardware | FileCheck %s --check-prefix=PTX
// RUN: norm-run %s --device=host --math=hardware --arg 0=random:8x64 --check | FileCheck %s --check-prefix=RAN
// RUN: norm-run %s --device=emulated --math=hardware --arg 0=random:8x64 --check --bits=host | FileCheck %s --check-prefix=RAN
// RUN: not norm-compile %s --math=fast 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not norm-compile %s --math 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not norm-run %s --device=host --math=fast --arg 0=ones:8x64 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not norm-opt %s --norm-to-gpu-pipeline="target=sm_90 math=fast" 2>&1 | FileCheck %s --check-prefix=NO-OPTION

// PTX-NOT: rcp.rn
// PTX: ex2.approx.ftz.f32
// PTX-NOT: rcp.rn
// PTX: rcp.approx.ftz.f32
// MANIFEST: "math": "hardware"
// EXACT-NOT: approx
// DEFAULT-NOT: "math"
// RAN: ok {{.*}}reference
// WRONG: {{^}}error: option --math expects exact or hardware but got 'fast'
// VALUE: {{^}}error: option --math expects a value but got none
// REFUSED: error: --math: expects exact or hardware but got 'fast'
// NO-OPTION: Cannot find option named 'fast'
func.func @main(%x: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %y = norm.gelu %x : tensor<?x64xbf16>
  %z = norm.silu %x : tensor<?x64xbf16>
  return %y, %z : tensor<?x64xbf16>, tensor<?x64xbf16>
}
