//===- ptx-invalid.mlir - What has no PTX ---------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Each of these would end the process if LLVM's errors weren't caught.
//
// RUN: norm-opt %s --split-input-file --verify-diagnostics --norm-translate-to-ptx=target=sm_90

module {
  // expected-error@below {{expects all functions to be defined but found a call of '__nv_expf'}}
  gpu.module @library {
    llvm.func @__nv_expf(f32) -> f32
    llvm.func @k(%p: !llvm.ptr<1>, %x: f32) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.call @__nv_expf(%x) : (f32) -> f32
      llvm.store %0, %p : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}

// -----

module {
  // expected-error@below {{code generation failed: }}
  gpu.module @unselectable {
    llvm.func @k(%p: !llvm.ptr<1>, %x: f64) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.call_intrinsic "llvm.exp"(%x) : (f64) -> f64
      llvm.store %0, %p : f64, !llvm.ptr<1>
      llvm.return
    }
  }
}

// -----

module {
  // expected-error@below {{code generation failed: }}
  gpu.module @assembly {
    llvm.func @k(%p: !llvm.ptr<1>, %x: f32) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.inline_asm "mov.f32 $0, $1;", "=f,?" %x : (f32) -> f32
      llvm.store %0, %p : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}
