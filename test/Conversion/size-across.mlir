//===- size-across.mlir - Code for the leaves there are -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A thread has code for the lanes and leaves that a row can have, not for all
// that an order could: four columns are one leaf of one lane, however many lanes
// a thread is given. 128 columns are one leaf of each of 32.

// RUN: sed -e 's/EXTENT/4/g' %s > %t.mlir
// RUN: norm-compile %t.mlir --target=sm_90 --schedule=threads=1,vector=8,rows_per_cta=64,residency=stream --emit=gpu -o - | grep -c " = \| llvm.store" > %t.one
// RUN: norm-compile %t.mlir --target=sm_90 --schedule=threads=32,vector=8,rows_per_cta=64,residency=stream --emit=gpu -o - | grep -c " = \| llvm.store" > %t.many
// RUN: %python -c "one, many = (int(open(f'%t.{n}').read()) for n in ('one', 'many')); assert one < many, (one, many)"
// RUN: norm-run %t.mlir --device=emulated --schedule=threads=1,vector=8,rows_per_cta=64,residency=stream --check --bits=host
// RUN: sed -e 's/EXTENT/260/g' %s > %t.mlir
// RUN: norm-run %t.mlir --device=emulated --schedule=threads=4,vector=2,rows_per_cta=64,residency=stream --check --bits=host
// RUN: norm-run %t.mlir --device=emulated --schedule=threads=8,vector=2,rows_per_cta=64,residency=shared,split=1 --check --bits=host

func.func @sum(%x: tensor<EXTENTx64xf32>) -> tensor<EXTENTx64xf32> {
  %y = norm.layer_norm %x axes = [0] eps = 1.0e-5 : tensor<EXTENTx64xf32> -> tensor<EXTENTx64xf32>
  return %y : tensor<EXTENTx64xf32>
}
