//===- NormTileClusterOps.td - Clusters, mbarriers, bulk copies -*- tablegen -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For kernels already written as `gpu.func`, on targets with clusters. Each op
// says what orders what, so that the emulated device can check it; the pass
// `norm-expand-cluster-ops` writes it in PTX. Included by NormTileOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORMTILE_IR_NORMTILECLUSTEROPS_TD
#define NORM_DIALECT_NORMTILE_IR_NORMTILECLUSTEROPS_TD

def NormTile_SharedAddress : Type<CPred<"isSharedAddress($_self)">,
    "address in shared memory">;

def NormTile_ClusterBarrierOp : NormTile_Op<"cluster_barrier", []> {
  let summary = "all threads of a cluster meet";
  let description = [{
    None goes on before all that haven't exited are there. What any of them did
    before, mbarriers that it made included, is seen by all afterwards.
  }];
  let assemblyFormat = "attr-dict";
}

def NormTile_WarpBarrierOp : NormTile_Op<"warp_barrier", []> {
  let summary = "the lanes of a warp meet";
  let description = [{
    All lanes call it. What any of them did before is seen by all afterwards.
  }];
  let assemblyFormat = "attr-dict";
}

def NormTile_MbarrierInitOp : NormTile_Op<"mbarrier_init", []> {
  let summary = "make an mbarrier";
  let description = [{
    The 8 bytes at `barrier` become an mbarrier, each phase of which is complete
    when `count` arrivals and all bytes that were announced have come.
  }];
  let arguments = (ins NormTile_SharedAddress:$barrier,
    ConfinedAttr<I32Attr, [IntPositive]>:$count);
  let assemblyFormat = "$barrier `count` $count attr-dict `:` type($barrier)";
}

def NormTile_MbarrierExpectOp : NormTile_Op<"mbarrier_expect", []> {
  let summary = "announce bytes and arrive";
  let description = [{
    The present phase waits for `bytes` more bytes, and has one more arrival.
  }];
  let arguments = (ins NormTile_SharedAddress:$barrier, I32:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict `:` type($barrier)";
}

def NormTile_MbarrierArriveOp : NormTile_Op<"mbarrier_arrive", []> {
  let summary = "a warp arrives";
  let description = [{
    All lanes of the warp call it with one barrier. When all of them are there,
    that is one arrival, after all that they did before.
  }];
  let arguments = (ins NormTile_SharedAddress:$barrier);
  let assemblyFormat = "$barrier attr-dict `:` type($barrier)";
}

def NormTile_MbarrierWaitOp : NormTile_Op<"mbarrier_wait", []> {
  let summary = "wait for a phase of an mbarrier";
  let description = [{
    Phases are numbered from 0 on; `parity` is the last bit of the number of the
    one to wait for, which is the present one or the one before. What arrived at
    it, bytes included, is seen afterwards.
  }];
  let arguments = (ins NormTile_SharedAddress:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict `:` type($barrier)";
}

def NormTile_BulkLoadOp : NormTile_Op<"bulk_load", []> {
  let summary = "start a copy from global to shared memory";
  let description = [{
    One thread calls it. `bytes` and both addresses are multiples of 16. The
    bytes come at the present phase of `barrier`, in any order with all else.
  }];
  let arguments = (ins NormTile_SharedAddress:$destination,
    NormTile_GlobalAddress:$source, I32:$bytes,
    NormTile_SharedAddress:$barrier);
  let assemblyFormat = [{
    $destination `,` $source `,` $bytes `,` $barrier attr-dict
      `:` type($destination) `,` type($source) `,` type($barrier)
  }];
}

def NormTile_BulkStoreOp : NormTile_Op<"bulk_store", []> {
  let summary = "start a copy from shared to global memory";
  let description = [{
    One thread calls it. `bytes` and both addresses are multiples of 16. What is
    copied was written before a `proxy_fence` by the thread that wrote it, or by
    other copies.
  }];
  let arguments = (ins NormTile_GlobalAddress:$destination,
    NormTile_SharedAddress:$source, I32:$bytes);
  let assemblyFormat = [{
    $destination `,` $source `,` $bytes attr-dict
      `:` type($destination) `,` type($source)
  }];
}

def NormTile_BulkCommitOp : NormTile_Op<"bulk_commit", []> {
  let summary = "make the thread's stores since the last one a group";
  let assemblyFormat = "attr-dict";
}

def NormTile_BulkWaitOp : NormTile_Op<"bulk_wait", []> {
  let summary = "wait for groups of the thread's bulk stores";
  let description = [{
    All but the last `pending` groups of the calling thread have been read from
    shared memory, or unless `read`, are complete.
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$pending,
    UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

def NormTile_ProxyFenceOp : NormTile_Op<"proxy_fence", []> {
  let summary = "order accesses of shared memory before copies";
  let description = [{
    Copies that start after the thread's next arrival find what it wrote.
  }];
  let assemblyFormat = "attr-dict";
}

def NormTile_SendOp : NormTile_Op<"send", []> {
  let summary = "store a word in another CTA of the cluster";
  let description = [{
    `value`, of 32 or 64 bits, is stored where CTA `rank` of the cluster has
    what `destination` is in this one. Its bytes come at the present phase of
    that CTA's `barrier`.
  }];
  let arguments = (ins AnyTypeOf<[I32, I64, F32, F64]>:$value,
    NormTile_SharedAddress:$destination, NormTile_SharedAddress:$barrier,
    I32:$rank);
  let assemblyFormat = [{
    $value `,` $destination `,` $barrier `to` $rank attr-dict
      `:` type($value) `,` type($destination) `,` type($barrier)
  }];
}

def NormTile_TicketOp : NormTile_Op<"ticket", []> {
  let summary = "draw the next of some numbers";
  let description = [{
    Each of the numbers from 0 to `rows - 1` is given once to some cluster of the
    launch, the lower ones first. `counter` is the address of 8 bytes in global
    memory, zero before the kernel, and zero again when all have been given.
    Each of the `clusters` draws until it gets one from `rows - clusters` on, and
    no further: so that the clusters, which do that many rows without drawing,
    draw as often as there are rows.
  }];
  let arguments = (ins NormTile_GlobalAddress:$counter, I64:$rows,
    I64:$clusters);
  let results = (outs I64:$result);
  let assemblyFormat = [{
    $counter `,` $rows `of` $clusters attr-dict `:` type($counter)
  }];
}

#endif // NORM_DIALECT_NORMTILE_IR_NORMTILECLUSTEROPS_TD
