//===- entry.mlir - Which function is compiled ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-compile %s --entry=first -o %t --manifest - | FileCheck %s --check-prefix=FIRST
// RUN: norm-compile %s -o %t --manifest - | FileCheck %s --check-prefix=MAIN
// RUN: not norm-compile %s --entry=third -o - 2>&1 | FileCheck %s --check-prefix=THIRD
// RUN: sed s/@main/@second/ %s | not norm-compile - 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed "s/func @first/func private @first/; s/@main/@second/" %s | norm-compile - -o %t --manifest - | FileCheck %s --check-prefix=PUBLIC
// RUN: echo "module {}" | not norm-compile - 2>&1 | FileCheck %s --check-prefix=EMPTY

// FIRST: "entry": "first"
// MAIN: "entry": "main"
// THIRD: error: expects an entry named 'third' but found first, main
// NONE: error: expects one public function, one named 'main', or a named entry but found first, second
// PUBLIC: "entry": "second"
// EMPTY: error: expects one public function, one named 'main', or a named entry but found none
func.func @first(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.rms_norm %x axes = [1] eps = 1.0e-6 : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
