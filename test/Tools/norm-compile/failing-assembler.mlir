//===- failing-assembler.mlir - An assembler that fails -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: rm -rf %t && mkdir %t
// RUN: printf '#!/bin/sh\necho "ptxas fatal : no licence"\nexit 3\n' > %t/ptxas
// RUN: chmod +x %t/ptxas
// RUN: env PATH=%t:/usr/bin:/bin not norm-compile %s --emit=cubin -o %t/out 2>&1 | FileCheck %s
// RUN: not ls %t/out

// CHECK: {{^}}error: {{.*}}/ptxas failed: ptxas fatal : no licence
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
