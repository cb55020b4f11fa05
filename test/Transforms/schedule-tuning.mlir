//===- schedule-tuning.mlir - Schedules of a tuning file ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The file is made for the first program.
// RUN: norm-opt %s --norm-schedule="target=sm_90 explain=true" -o %t.ir 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: norm-opt %s --norm-schedule="target=sm_90 explain=true" -o %t.ir 2>&1 \
// RUN:   | %python %inputs/make_tuning.py %src_root/CMakeLists.txt threads=256,residency=stream > %t.json
// RUN: norm-opt %s --norm-schedule="target=sm_90 explain=true" -o %t.ir 2>&1 \
// RUN:   | %python %inputs/make_tuning.py %src_root/CMakeLists.txt threads=2048 > %t.wrong.json
// RUN: norm-opt %s --norm-schedule="target=sm_90 explain=true" -o %t.ir 2>&1 \
// RUN:   | %python %inputs/make_tuning.py %src_root/CMakeLists.txt threads=256 order=leaf=4,lanes=64 > %t.order.json
// EXPLAIN: schedule-tuning.mlir:[[#]]:8: remark: program {{[0-9a-f]+}}, schedule by the model: threads=128,
// EXPLAIN: remark: program {{[0-9a-f]+}}, schedule by the model: threads=
// EXPLAIN: remark: program {{[0-9a-f]+}}, schedule by the input: threads=32,

// RUN: norm-opt %s --norm-schedule="target=sm_90 tuning=%t.json" | FileCheck %s --check-prefixes=TUNED,ALL
// RUN: norm-opt %s --norm-schedule="target=sm_90 tuning=%t.json explain=true" -o %t.ir 2>&1 | FileCheck %s --check-prefix=SOURCE
// SOURCE: remark: program {{[0-9a-f]+}}, schedule by the tuning file: threads=256,rows_per_cta=1,residency=stream,

// The device it was measured on, and another one.
// RUN: norm-opt %s --norm-schedule="target=sm_90 tuning=%t.json device='NVIDIA H200'" | FileCheck %s --check-prefixes=TUNED,ALL
// RUN: norm-opt %s --norm-schedule="target=sm_90 tuning=%t.json device='NVIDIA H100'" | FileCheck %s --check-prefixes=MODEL,ALL
// RUN: norm-opt %s --norm-schedule="target=sm_100 tuning=%t.json" | FileCheck %s --check-prefixes=MODEL,ALL
// RUN: norm-opt %s --norm-schedule="target=sm_90 tuning=none" | FileCheck %s --check-prefixes=MODEL,ALL

// Fields that are named go before the file's.
// RUN: norm-opt %s --norm-schedule="target=sm_90 tuning=%t.json schedule=threads=512" | FileCheck %s --check-prefix=FIELDS

// What can't be used is passed over.
// RUN: norm-opt %s --norm-schedule="target=sm_90 tuning=%t.wrong.json" -o %t.ir 2>%t.remarks
// RUN: FileCheck %s --check-prefix=WRONG --input-file=%t.remarks
// RUN: FileCheck %s --check-prefixes=MODEL,ALL --input-file=%t.ir
// WRONG: schedule-tuning.mlir:[[#]]:8: remark: passes over 'threads=2048' of the tuning file: expects 'threads' to be a power of two from 1 to 1024 but got 2048
// RUN: norm-opt %s --norm-schedule="target=sm_90 tuning=%t.order.json" -o %t.ir 2>%t.remarks
// RUN: FileCheck %s --check-prefix=ORDER --input-file=%t.remarks
// RUN: FileCheck %s --check-prefixes=MODEL,ALL --input-file=%t.ir
// ORDER: remark: passes over 'threads=256' of the tuning file: expects order leaf=8,lanes=1024 but got leaf=4,lanes=64

// The pipelines have the options as well.
// RUN: norm-opt %s --norm-to-gpu-pipeline="target=sm_90 tuning=%t.json device='NVIDIA H200'" | FileCheck %s --check-prefix=GPU
// RUN: norm-opt %s --norm-to-gpu-pipeline="target=sm_90 tuning=%t.wrong.json" -o %t.ir 2>&1 | FileCheck %s --check-prefix=ONCE
// GPU: gpu.func @tuned{{.*}}known_block_size = array<i32: 256, 1, 1>
// ONCE: remark: passes over
// ONCE-NOT: remark: passes over

// What can't be read is one diagnostic.
// RUN: not norm-opt %s --norm-schedule="target=sm_90 tuning=%t.none" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not norm-opt %s --norm-schedule="target=sm_90 tuning=%s" 2>&1 | FileCheck %s --check-prefix=DAMAGED
// RUN: sed 's/"version": 1/"version": 2/' %t.json > %t.foreign.json
// RUN: not norm-opt %s --norm-schedule="target=sm_90 tuning=%t.foreign.json" 2>&1 | FileCheck %s --check-prefix=FOREIGN
// NONE: error: {{.*}}.none: cannot read: No such file or directory
// NONE-NOT: error:
// DAMAGED: error: {{.*}}schedule-tuning.mlir: expects JSON but got
// DAMAGED-NOT: error:
// FOREIGN: error: {{.*}}.foreign.json: version: expects 1 but got 2
// FOREIGN-NOT: error:

// ALL-LABEL: func.func @tuned
// FIELDS-LABEL: func.func @tuned
func.func @tuned(%x: tensor<?x2048xbf16>, %y: tensor<?x2048xf32>) -> tensor<?x2048xf32> {
  // TUNED: schedule = #norm.schedule<threads = 256, residency = stream>
  // MODEL: schedule = #norm.schedule<threads = 128>
  // FIELDS: schedule = #norm.schedule<threads = 512, residency = stream>
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x2048xbf16>)
      outs(%o = %y[row, col] : tensor<?x2048xf32>) {
    %f = arith.extf %a : bf16 to f32
    %m = norm.reduce max %f over [col] : f32
    %d = arith.subf %f, %m : f32
    norm.yield %d : f32
  }
  return %0 : tensor<?x2048xf32>
}

// Of another extent.
// ALL-LABEL: func.func @other
func.func @other(%x: tensor<?x2040xbf16>, %y: tensor<?x2040xf32>) -> tensor<?x2040xf32> {
  // ALL-NOT: threads = 256
  // ALL: schedule = #norm.schedule<threads =
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x2040xbf16>)
      outs(%o = %y[row, col] : tensor<?x2040xf32>) {
    %f = arith.extf %a : bf16 to f32
    %m = norm.reduce max %f over [col] : f32
    %d = arith.subf %f, %m : f32
    norm.yield %d : f32
  }
  return %0 : tensor<?x2040xf32>
}

// The same program, but with a schedule of its own.
// ALL-LABEL: func.func @given
func.func @given(%in: tensor<?x2048xbf16>, %y: tensor<?x2048xf32>) -> tensor<?x2048xf32> {
  // ALL: schedule = #norm.schedule<threads = 32>
  %0 = norm.generic (r, c)
      ins(%a = %in[r, c] : tensor<?x2048xbf16>)
      outs(%o = %y[r, c] : tensor<?x2048xf32>)
      attributes {schedule = #norm.schedule<threads = 32>} {
    %f = arith.extf %a : bf16 to f32
    %m = norm.reduce max %f over [c] : f32
    %d = arith.subf %f, %m : f32
    norm.yield %d : f32
  }
  return %0 : tensor<?x2048xf32>
}
