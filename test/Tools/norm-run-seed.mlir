//===- norm-run-seed.mlir - Integers as arguments ---------------*- mlir -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A seed and an offset are numbers, negative ones as well.
// RUN: norm-run %s --device=host --arg 0=random:5x100 --arg 1=9007199254740992 --arg 2=-3 --check | FileCheck %s
// RUN: norm-run %s --device=emulated --arg 0=random:5x100 --arg 1=9007199254740992 --arg 2=-3 --check --bits=host | FileCheck %s
// CHECK: ok result 0 reference

// One that would be rounded is refused.
// RUN: sh -c 'norm-run %s --device=host --arg 0=random:5x100 --arg 1=9007199254740993 --arg 2=0 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=ROUNDED --input-file=%t
// ROUNDED: norm-run: error: --arg: 1=9007199254740993: expects an integer of at most 2^53 in magnitude but got '9007199254740993'

// So is a fraction.
// RUN: sh -c 'norm-run %s --device=host --arg 0=random:5x100 --arg 1=0.5 --arg 2=0 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=FRACTION --input-file=%t
// FRACTION: norm-run: error: {{.*}}expects a number of type i64 but got 0.5

func.func @drop(%x: tensor<?x100xf32>, %seed: i64, %offset: i64) -> tensor<?x100xf32> {
  %y = norm.dropout %x seed(%seed) offset(%offset) p = 0.3 : tensor<?x100xf32>, i64, i64 -> tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}
