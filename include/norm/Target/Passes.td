//===- Passes.td - Passes just before code generation ------*- tablegen -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TARGET_PASSES_TD
#define NORM_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def NormLegalizeMathPass : Pass<"norm-legalize-math"> {
  let summary = "leave only exactly rounded math that the target has";
  let description = [{
    Runs on kernels, after all math is made of exactly rounded functions. On
    every target, `math` ops on smaller floats than f32 are computed in f32 and
    rounded, integers reach such types in one rounding, classifications become
    comparisons, and an op that has no exactly rounded
    form (`math.exp`, `math.rsqrt`) is an error that names op, type and target:
    nothing may become a library call here. A hardware approximation is made only of
    what asks for it, in f32, by `fastmath<afn>` and no other flag: `math.exp2`, and
    `arith.divf` of 1, become `ex2.approx.ftz` and `rcp.approx.ftz`. They take and
    give 0 for subnormal numbers. On the host they are exactly rounded arithmetic.

    On a GPU the remaining `math` ops, `vector.fma`, `arith.maxnumf` and
    `arith.minnumf` become calls of LLVM intrinsics, since upstream's conversion
    to NVVM would make device library calls of them. On the host `vector.fma`
    becomes `math.fma`, arithmetic on bf16 is done in f32 and rounded, and
    roundings to bf16 are written with integers: conversions in hardware flush
    subnormals. Roundings from f64 to f16 and bf16 pass through f32 by rounding
    to odd, so that there is one rounding only.

    Values of f8E4M3FN and f8E5M2 become i8. Their conversions are integer
    arithmetic on the host, instructions for pairs on a GPU from sm_89 on, and an
    error for older ones. Values of f8E8M0FNU become i8 too, and those of f4E2M1FN
    the low half of one; their conversions are integer arithmetic on every target,
    and other arithmetic on them is an error. Other ops on all four must only move
    them; function arguments and memory must hold bytes already. Further float types
    are an error.

    Example, for `target=sm_90`:

    ```mlir
    %s = math.sqrt %x : vector<8xf32>
    // becomes
    %s = llvm.call_intrinsic "llvm.sqrt"(%x) : (vector<8xf32>) -> vector<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::vector::VectorDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host\"",
           "target of the code: host or sm_80 to sm_121">
  ];
}

def NormHintCachesPass : Pass<"norm-hint-caches"> {
  let summary = "give streamed loads a priority in the L2 cache";
  let description = [{
    Runs on kernels in the LLVM and NVVM dialects. Their loads from global memory
    that are marked `nontemporal`, of 4, 8 or 16 aligned bytes, become loads with
    a cache policy: `evict_last` where the launch's CTAs, each moving the bytes of
    the attribute `norm_tile.cta_bytes`, move at least what the L2 cache of the
    target holds, else `evict_normal`. What is read then stays, and what is
    written leaves for memory sooner. Values don't depend on it.

    Memory that nobody writes (an `llvm.noalias` and `llvm.readonly` argument) is
    read by `ld.global.nc`. The loads keep their order.

    Example:

    ```mlir
    %x = llvm.load %p {alignment = 4, nontemporal} : !llvm.ptr<1> -> vector<2xbf16>
    // becomes, with %policy chosen at the kernel's start
    %w = llvm.inline_asm has_side_effects "ld.global.nc.L2::cache_hint.b32 $0, [$1], $2;",
        "=r,l,l" %p, %policy : (!llvm.ptr<1>, i64) -> i32
    %x = llvm.bitcast %w : i32 to vector<2xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"",
           "GPU that the code is for: sm_80 to sm_121">
  ];
}

def NormWaitForGridsPass : Pass<"norm-wait-for-grids"> {
  let summary = "let kernels start while those before them end";
  let description = [{
    Kernels in the LLVM dialect with the attribute `norm_tile.dependent_launch` let
    the next grid in and wait for those before, where their grid has no more CTAs
    than the attribute says and the target has programmatic dependent launch (sm_90
    and newer). A launch of such a grid may then allow it, and may not.

    Example:

    ```mlir
    llvm.func @sum(...) attributes {norm_tile.dependent_launch = 32, nvvm.kernel} {
      // inserted:
      %ctas = nvvm.read.ptx.sreg.nctaid.x : i32
      %few = llvm.icmp "ule" %ctas, %c32 : i32
      llvm.cond_br %few, ^bb1, ^bb2
    ^bb1:
      nvvm.griddepcontrol launch_dependents
      nvvm.griddepcontrol wait
      llvm.br ^bb2
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"",
           "GPU that the code is for: sm_80 to sm_121">
  ];
}

def NormTranslateToPTXPass : Pass<"norm-translate-to-ptx", "::mlir::ModuleOp"> {
  let summary = "replace each gpu.module by a gpu.binary with its PTX";
  let description = [{
    Each `gpu.module` must be in the LLVM and NVVM dialects. Its place is taken
    by a `gpu.binary` of the same name with the PTX text as its one object.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
    "::mlir::NVVM::NVVMDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"",
           "GPU to generate code for: sm_80 to sm_121">,
    Option<"ptxVersion", "ptx-version", "unsigned", /*default=*/"0",
           "PTX version, 80 is 8.0; 0 for the first one that has the target">
  ];
}

#endif // NORM_TARGET_PASSES_TD
