//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_IR_NORMATTRS_TD
#define NORM_DIALECT_NORM_IR_NORMATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "norm/Dialect/Norm/IR/NormDialect.td"

class Norm_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Norm_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// The kinds of norm.reduce. What a kind does (state, identity, lift, combine,
// project) is written once, in Analysis/ReduceKind.
def Norm_ReduceKindAttr : I32EnumAttr<"ReduceKind", "kind of a reduction", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Mul", 1, "mul">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"MaxNum", 4, "maxnum">,
    I32EnumAttrCase<"MinNum", 5, "minnum">,
    I32EnumAttrCase<"Welford", 6, "welford">,
    I32EnumAttrCase<"MaxExpSum", 7, "max_expsum">,
    I32EnumAttrCase<"WelfordExact", 8, "welford_exact">]> {
  let cppNamespace = "::mlir::norm";
}

// Which keys a causal softmax's queries take.
def Norm_CausalAttr : I32EnumAttr<"Causal",
    "corner of the scores at which a causal diagonal starts", [
    I32EnumAttrCase<"UpperLeft", 0, "upper_left">,
    I32EnumAttrCase<"LowerRight", 1, "lower_right">]> {
  let cppNamespace = "::mlir::norm";
}

// Which formula norm.gelu has.
def Norm_GeluFormAttr : I32EnumAttr<"GeluForm", "formula of GELU", [
    I32EnumAttrCase<"Erf", 0, "erf">,
    I32EnumAttrCase<"Tanh", 1, "tanh">]> {
  let cppNamespace = "::mlir::norm";
}

// Where the scales of quantized groups lie.
def Norm_ScaleLayoutAttr : I32EnumAttr<"ScaleLayout",
    "order of the scales of groups", [
    I32EnumAttrCase<"RowMajor", 0, "row_major">,
    I32EnumAttrCase<"ColumnMajor", 1, "column_major">,
    I32EnumAttrCase<"Packed", 2, "packed">,
    I32EnumAttrCase<"Swizzle128x4", 3, "swizzle_128x4">]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_ScaleRoundingAttr : I32EnumAttr<"ScaleRounding",
    "direction in which a scale becomes a power of two", [
    I32EnumAttrCase<"Floor", 0, "floor">,
    I32EnumAttrCase<"Ceil", 1, "ceil">]> {
  let cppNamespace = "::mlir::norm";
}

// How far a NaN spreads in what is quantized.
def Norm_NaNScopeAttr : I32EnumAttr<"NaNScope",
    "what a NaN among quantized elements spoils", [
    I32EnumAttrCase<"Element", 0, "element">,
    I32EnumAttrCase<"Group", 1, "group">]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_ResidencyAttr : I32EnumAttr<"Residency",
    "where a streamed input stays between two phases", [
    I32EnumAttrCase<"Registers", 0, "registers">,
    I32EnumAttrCase<"Shared", 1, "shared">,
    I32EnumAttrCase<"Stream", 2, "stream">]> {
  let cppNamespace = "::mlir::norm";
}

def Norm_OrderAttr : Norm_Attr<"Order", "order"> {
  let summary = "association of a row's reductions";
  let description = [{
    Fixes in which tree the elements of a row are combined, and with that the
    bits of every reduction. Leaf `k` is the `leaf` neighbouring columns from
    `k * leaf`; it is combined by halving (element `j` with `j + leaf/2`, then
    `leaf/4`, ...). Leaf `k` belongs to virtual lane `k mod lanes`; a lane
    combines its leaves in rising order. The lanes are combined by halving.
    Lanes without a leaf hold the identity, which changes no bit, so the order
    doesn't depend on the extent. It is a function of the program and of how
    its streamed input lies in memory, never of the schedule.

    With `inner` 0, the order is *along* memory: columns follow each other.
    Otherwise it is *across* memory: neighbours in memory belong to different
    rows, but for the last `inner` columns of a row (1: all columns are apart).
    The columns before those, the *walked* ones, are first cut into slices (how
    many is a function of their number), each with lanes of its own. Within a
    slice each of the `inner` columns is combined over its lanes; then the
    `inner` columns are combined by halving, and so are the slices.

    Examples: `#norm.order<leaf = 8, lanes = 1024>`,
    `#norm.order<leaf = 4, lanes = 32, inner = 10>`
  }];
  let parameters = (ins "int64_t":$leaf, "int64_t":$lanes,
    DefaultValuedParameter<"int64_t", "0">:$inner);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether neighbours in memory belong to different rows.
    bool isAcross() const { return getInner() != 0; }
  }];
}

def Norm_ScheduleAttr : Norm_Attr<"Schedule", "schedule"> {
  let summary = "mapping of a program onto a target";
  let description = [{
    How the order is mapped onto hardware; never changes a bit.
    `threads`: threads that share a row (a power of two up to 1024).
    `rows_per_cta`: rows a CTA works on at a time; across memory, neighbouring
    elements of rows.
    `residency`: where streamed inputs stay between phases.
    `prefetch`: per-column operands are loaded while the reduction is in
    flight.
    `vector`: virtual lanes that a thread computes in one step (SIMD; 1 on a
    GPU); across memory, neighbouring elements that a thread works on.
    `max_registers`: register cap per thread, 0 for none.
    `split`: CTAs that share the rows of one CTA, across memory; 0 where it is
    chosen at launch.
    `pdl`: the kernel may be launched while what precedes it in its stream still
    runs, and waits by itself (programmatic dependent launch); of no effect where
    the target has none, or where CTAs meet.
    `stages`: rows of a worker whose inputs are copied to shared memory ahead of
    use, where the kernel sums over rows; 0 where they are loaded when needed.
    `cluster`: CTAs of a cluster that share the `threads` of a row, along memory.
    With more than one, streamed inputs come by bulk copies into a ring of
    shared memory, from which later phases read them again.

    Example: `#norm.schedule<threads = 128, residency = registers>`
  }];
  let parameters = (ins
    "int64_t":$threads,
    DefaultValuedParameter<"int64_t", "1">:$rows_per_cta,
    DefaultValuedParameter<"::mlir::norm::Residency", "::mlir::norm::Residency::Registers">:$residency,
    DefaultValuedParameter<"bool", "true">:$prefetch,
    DefaultValuedParameter<"int64_t", "1">:$vector,
    DefaultValuedParameter<"int64_t", "0">:$max_registers,
    DefaultValuedParameter<"int64_t", "1">:$split,
    DefaultValuedParameter<"bool", "true">:$pdl,
    DefaultValuedParameter<"int64_t", "0">:$stages,
    DefaultValuedParameter<"int64_t", "1">:$cluster);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // NORM_DIALECT_NORM_IR_NORMATTRS_TD
