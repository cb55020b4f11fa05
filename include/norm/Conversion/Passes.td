//===- Passes.td - Conversions of norm_tile -*- tablegen -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_CONVERSION_PASSES_TD
#define NORM_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNormTileToGPUPass : Pass<"convert-norm-tile-to-gpu", "::mlir::ModuleOp"> {
  let summary = "write tiled kernels as gpu.func";
  let description = [{
    Each `norm_tile.kernel` becomes one to three functions of a `gpu.module`:
    one whose accesses are as wide as the columns allow, one for rows at any
    address, and one where operands that all rows have in common aren't aligned
    either. At any address a chunk is loaded by the aligned words that cover it,
    which are shifted into place, and results reach memory by way of shared
    memory in aligned pieces of 16 bytes. Launches list the functions in
    `variants`. A group of `threads` threads takes a row; phases are unrolled
    where values are held in registers and are loops otherwise; an exchange goes
    through shared memory and shuffles in the order of `#norm.order`. Arguments are addresses, row strides in elements, scalars,
    the number of rows and, where it is dynamic, the number of columns.

    Kernels whose types or schedule no GPU can run, and launches that don't
    match their kernel, are errors.

    Example, shortened:

    ```mlir
    norm_tile.kernel @sum_0(%x: memref<?x4096xbf16, strided<[?, 1]>>, %y: ...)
        attributes {schedule = #norm.schedule<threads = 128>, ...} {
      norm_tile.work (%row) {
        %p = norm_tile.phase reduce [add] (%column) { ... }
            : !norm_tile.partial<add, f32>
        %t = norm_tile.exchange_start %p : !norm_tile.partial<add, f32>
        %s = norm_tile.exchange_wait %t : f32
        norm_tile.phase (%column) { ... }
      }
    }
    // becomes
    gpu.module @kernels {
      gpu.func @sum_0(%x: !llvm.ptr<1> {llvm.noalias, llvm.readonly},
                      %x_stride: i64, ..., %rows: i64)
          workgroup(%partials : memref<128xf32, #gpu.address_space<workgroup>>)
          kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
        ...
        %0 = llvm.load %address {alignment = 16 : i64}
            : !llvm.ptr<1> -> vector<8xbf16>
        ...
        memref.store %state, %partials[%thread]
            : memref<128xf32, #gpu.address_space<workgroup>>
        gpu.barrier
        ...
        %other, %valid = gpu.shuffle xor %sum, %c16, %c32 : f32
        ...
      }
      gpu.func @sum_0_unaligned(...) ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect"];
}

def ConvertNormTileToHostPass : Pass<"convert-norm-tile-to-host", "::mlir::ModuleOp"> {
  let summary = "write tiled kernels as host functions over a range of rows";
  let description = [{
    Each `norm_tile.kernel` becomes a function
    `(params: !llvm.ptr, begin: i64, end: i64)` that computes rows `begin` to
    `end` with vector code; `params` points to 8-byte slots that hold what the
    arguments of a GPU kernel are. A chunk is a vector; the states of the
    virtual lanes are in memory on the stack and are halved there. The columns
    after the last whole chunk go through a buffer of one chunk.

    Kernels whose types or schedule the host can't run, and launches that don't
    match their kernel, are errors.

    Example, shortened:

    ```mlir
    norm_tile.kernel @sum_0(%x: memref<?x4096xbf16, strided<[?, 1]>>, %y: ...)
        attributes {schedule = #norm.schedule<threads = 1, residency = stream,
                                              vector = 8>, ...} { ... }
    // becomes
    func.func @sum_0(%params: !llvm.ptr, %begin: i64, %end: i64) {
      %lanes = memref.alloca() {alignment = 64 : i64} : memref<512xf32>
      scf.for %row = %first to %last step %c1 {
        ...
        %0 = llvm.load %address {alignment = 2 : i64}
            : !llvm.ptr -> vector<64xbf16>
        ...
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertGPUToEmulatedPass : Pass<"convert-gpu-to-emulated", "::mlir::ModuleOp"> {
  let summary = "write gpu.func as functions for the emulated device";
  let description = [{
    Each `gpu.func` becomes a function `(thread: !llvm.ptr, params: !llvm.ptr)`
    of the module, which the emulated device runs once for every GPU thread;
    `params` points to 8-byte slots. What a thread knows of itself, barriers,
    shuffles and every access of global or shared memory become calls of the
    device's routines, all declared as functions with side effects; the access
    itself follows at the address that the routine returns. The places of these
    calls are numbered; the constant `norm_emulated_sites` lists for each, as
    NUL-terminated text, the parameter that the address comes from (-1 where
    that isn't known), the operation and its location, and ends with an empty
    text. `docs/Emulated.md` describes the routines.

    An operation without an emulation is an error.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

def NormUnpackKernelMemRefsPass : Pass<"norm-unpack-kernel-memrefs", "::mlir::gpu::GPUModuleOp"> {
  let summary = "pass memrefs of kernels as addresses, extents and strides";
  let description = [{
    For kernels that were written by hand. A memref argument of a `gpu.func`
    that is a kernel becomes an address in global memory, an i64 for each
    dynamic extent and then an i64 for each dynamic stride, in elements; a
    memref without a layout is row-major, so that its strides follow. Loads,
    stores and `memref.dim` are rewritten; other uses are errors. What is left
    has the form of the compiler's own kernels.

    Example:

    ```mlir
    gpu.func @k(%x: memref<?x64xf32>) kernel {
      %v = memref.load %x[%i, %j] : memref<?x64xf32>
      ...
    }
    // becomes
    gpu.func @k(%x: !llvm.ptr<1>, %rows: i64) kernel {
      %p = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr<1> -> f32
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
    "::mlir::arith::ArithDialect"];
}

def NormExpandUnitBarriersPass : Pass<"norm-expand-unit-barriers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "write norm_tile.unit_barrier as atomic accesses of its counter";
  let description = [{
    Around the meeting lie two barriers of the CTA. Between them, and where more
    than one CTA arrives, the first thread adds 1 to the arrivals after a release
    fence and loads them with acquire order until all CTAs have been there as
    often as this barrier's phase says. After the `last` barrier it adds 1 to the
    departures; the CTA that leaves last makes both words zero. All atomics have
    the scope of the device. The CTA's threads lie along x.

    Example:

    ```mlir
    norm_tile.unit_barrier %counter, %split phase 0 : !llvm.ptr<1>
    // becomes
    gpu.barrier
    scf.if %first_thread_of_several_ctas {
      llvm.fence syncscope("device") release
      llvm.atomicrmw add %counter, %c1 syncscope("device") monotonic ...
      scf.while : () -> () {
        %n = llvm.load %counter atomic syncscope("device") acquire ...
        %more = arith.cmpi ult, %n, %split : i32
        scf.condition(%more)
      } do {
        scf.yield
      }
    }
    gpu.barrier
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def NormExpandClusterOpsPass : Pass<"norm-expand-cluster-ops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "write ops of clusters, mbarriers and bulk copies in PTX";
  let description = [{
    Each becomes assembly with side effects that clobbers memory, but
    `norm_tile.ticket`, which is an atomic addition. It is PTX of version 8.1 for
    sm_90 and newer.

    Example:

    ```mlir
    norm_tile.mbarrier_expect %barrier, %bytes : !llvm.ptr<3>
    // becomes
    %0 = llvm.ptrtoint %barrier : !llvm.ptr<3> to i32
    llvm.inline_asm has_side_effects asm_dialect = att
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
        "r,r,~{memory}" %0, %bytes : (i32, i32) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif // NORM_CONVERSION_PASSES_TD
