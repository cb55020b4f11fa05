//===- options.mlir - A wrong command line --------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: not norm-compile 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not norm-compile %s %s 2>&1 | FileCheck %s --check-prefix=INPUTS
// RUN: not norm-compile %t.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not norm-compile %s --fast 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not norm-compile %s --emit=spirv 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not norm-compile %s --emit 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not norm-compile %s --target=sm_999 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not norm-compile %s --emit=ptx --target=host 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not norm-compile %s --emit=object --target=sm_90 2>&1 | FileCheck %s --check-prefix=OBJECT
// RUN: not norm-compile %s --emit=nvvm --target=host 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not norm-compile %s --emit=tiled --manifest=%t.json 2>&1 | FileCheck %s --check-prefix=MANIFEST
// RUN: not norm-compile %s --ptx-version=new 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not norm-compile %s --ptx-version=79 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not norm-compile %s --ptx-version=80 --target=sm_120 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not norm-compile %s --schedule=threads=77 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not norm-compile %s -o %t.missing/out 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: norm-compile --help | FileCheck %s --check-prefix=HELP
// RUN: norm-compile --version | FileCheck %s --check-prefix=NAME

// INPUT: {{^}}error: expects an input but got none, see --help
// INPUTS: {{^}}error: expects one input but got '{{.*}}' and '{{.*}}'
// MISSING: {{^}}error: can't read '{{.*}}.missing': No such file or directory
// UNKNOWN: {{^}}error: unknown option '--fast', see --help
// FORM: {{^}}error: option --emit expects norm, program, scheduled, tiled, gpu, nvvm, llvm, ptx, cubin, object or c-header but got 'spirv'
// VALUE: {{^}}error: option --emit expects a value but got none
// TARGET: {{^}}error: unknown target 'sm_999', expects host or one of sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, sm_103, sm_120, sm_121
// HOST: {{^}}error: ptx and cubin expect a GPU target but got host
// OBJECT: {{^}}error: object expects target host but got sm_90
// LEVEL: {{^}}error: expects a GPU target for this level but got host
// MANIFEST: {{^}}error: --manifest expects --emit=ptx, cubin or object
// NUMBER: {{^}}error: option --ptx-version expects a number such as 80 but got 'new'
// VERSION: {{^}}error: unknown PTX version 7.9
// OLD: {{^}}error: target sm_120 expects PTX 8.7 or newer but got 8.0
// SCHEDULE: error: {{.*}}77
// OUTPUT: {{^}}error: can't write '{{.*}}': {{.*}}
// HELP: usage: norm-compile INPUT
// NAME: norm
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
