//===- norm-run-errors.mlir - Diagnostics and exit status of norm-run -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Wrong input is one diagnostic and status 1.

// RUN: sh -c 'norm-run %t.none.mlir --device=host 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=NO-INPUT --input-file=%t
// NO-INPUT: norm-run: error: {{.*}}.none.mlir: cannot read: No such file or directory
// NO-INPUT-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --argument 0=ones:4 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=OPTION --input-file=%t
// OPTION: norm-run: error: Unknown command line argument '--argument'
// OPTION-NOT: error

// RUN: sh -c 'norm-run %s --device=gpu 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=DEVICE --input-file=%t
// DEVICE: norm-run: error: expects device auto, host, emulated or cuda:N but got 'gpu'
// DEVICE-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --target=sm_90 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=OTHER --input-file=%t
// OTHER: norm-run: error: device host expects code for target host but got sm_90
// OTHER-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --target=sm_1 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=TARGET --input-file=%t
// TARGET: error: {{.*}}'sm_1'
// TARGET-NOT: error:

// RUN: sh -c 'norm-run %s --device=host --entry=none 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=ENTRY --input-file=%t
// ENTRY: error: {{.*}}'none'
// ENTRY-NOT: error:

// RUN: echo 'func.func @f(' > %t.bad.mlir
// RUN: sh -c 'norm-run %t.bad.mlir --device=host 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=PARSE --input-file=%t
// PARSE: .bad.mlir:1:{{[0-9]+}}: error:
// PARSE-NOT: error:

// RUN: sh -c 'norm-run %s --device=host --arg 0=%t.none.npy 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=NO-FILE --input-file=%t
// NO-FILE: norm-run: error: {{.*}}.none.npy: cannot read: No such file or directory
// NO-FILE-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=%s 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=FORM --input-file=%t
// FORM: norm-run: error: --arg: 0={{.*}}: expects a .npy file, random:, ones:, zeros:, full:, iota:, empty: or a number but got {{.*}}
// FORM-NOT: {{.}}

// The file holds f32; the function takes bf16.
// RUN: sh -c 'norm-run %s --device=host --arg 0=%inputs/minilm/embeddings_x.npy 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=DTYPE --input-file=%t
// DTYPE: norm-run: error: argument 0 'x': {{.*}}embeddings_x.npy: expects bf16 ('<u2') but got '<f4'
// DTYPE-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=random:4x383 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=SHAPE --input-file=%t
// SHAPE: norm-run: error: argument 0 'x': expects shape ?x384 but got 4x383
// SHAPE-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=random:384 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=RANK --input-file=%t
// RANK: norm-run: error: argument 0 'x': expects shape ?x384 but got 384
// RANK-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=2.5 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=NUMBER --input-file=%t
// NUMBER: norm-run: error: argument 0 'x': expects a tensor but got a number
// NUMBER-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=EXTENT --input-file=%t
// EXTENT: norm-run: error: argument 0 'x': expects data that tells the extent of dim 0 of ?x384 but got none
// EXTENT-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 2=ones:4 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=INDEX --input-file=%t
// INDEX: norm-run: error: --arg: expects an argument index below 2 but got 2
// INDEX-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --out 1=%t.npy 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=RESULT --input-file=%t
// RESULT: norm-run: error: --out: expects a result index below 1 but got 1
// RESULT-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=ones:2x384 --arg 0=ones:2x384 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=TWICE --input-file=%t
// TWICE: norm-run: error: --arg: expects each index once but got 0 again
// TWICE-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=ones:2x384:pitch=100 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=PITCH --input-file=%t
// PITCH: norm-run: error: argument 0 'x': expects a pitch of at least the row's 384 elements but got 100
// PITCH-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=ones:2x384 --place out0:alias=1 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=ALIAS --input-file=%t
// ALIAS: norm-run: error: --place: expects an argument of the type of result 0 for alias but got 1
// ALIAS-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=ones:2x384 --out 0=%t.no/y.npy 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=WRITE --input-file=%t
// WRITE: norm-run: error: {{.*}}.no/y.npy: cannot write: No such file or directory
// WRITE-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --arg 0=ones:2x384 --expect 0=%inputs/minilm/embeddings_x.npy 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=EXPECT-SHAPE --input-file=%t
// EXPECT-SHAPE: norm-run: error: {{.*}}embeddings_x.npy: expects shape 2x384 but got 138x384
// EXPECT-SHAPE-NOT: {{.}}

// RUN: sh -c 'norm-run %s --device=host --bits=cuda 2>%t; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=BITS --input-file=%t
// BITS: norm-run: error: --bits: expects host but got 'cuda'
// BITS-NOT: {{.}}

func.func @f(%x: tensor<?x384xbf16>, %w: tensor<384xbf16>)
    -> tensor<?x384xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
         : tensor<?x384xbf16>, tensor<384xbf16> -> tensor<?x384xbf16>
  return %y : tensor<?x384xbf16>
}
