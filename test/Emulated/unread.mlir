//===- unread.mlir - Inputs that only tell an extent ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// No byte of the first argument is read, and the manifest doesn't say that one
// is: its traffic agrees with that of the emulated device.

// RUN: norm-run %s --device=emulated --arg 0=random:5x64:seed=1 --arg 1=random:64:seed=2 --check --bits=host | FileCheck %s
// RUN: norm-compile %s --target=sm_90 -o %t.ptx --manifest %t.json
// RUN: FileCheck %s --check-prefix=MANIFEST < %t.json
// RUN: norm-compile %s --target=host --emit=object -o %t.o --manifest %t.json
// RUN: FileCheck %s --check-prefix=MANIFEST < %t.json

// CHECK-NOT: traffic {{.*}}'x'
// CHECK: traffic {{.*}}'w': 256 of 256 bytes read
// CHECK: ok    result 0 reference
// CHECK: ok    result 0 bits: {{.*}}: 0 of
// MANIFEST: "reads": [
// MANIFEST-NEXT: 1
// MANIFEST-NEXT: ],

func.func @main(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%d) : tensor<?xf32>
  %y = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x64xf32>, %b = %w[col] : tensor<64xf32>)
      outs(%o = %e[row] : tensor<?xf32>) {
    %s = norm.reduce add %b over [col] : f32
    %n = norm.extent row : f32
    %q = arith.divf %s, %n : f32
    norm.yield %q : f32
  }
  return %y : tensor<?xf32>
}
