//===- NormTileOps.td - tiled kernels -*- tablegen -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORMTILE_IR_NORMTILEOPS_TD
#define NORM_DIALECT_NORMTILE_IR_NORMTILEOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "norm/Dialect/Norm/IR/NormAttrs.td"

def NormTile_Dialect : Dialect {
  let name = "norm_tile";
  let cppNamespace = "::mlir::norm_tile";
  let summary = "Kernels over rows, cut into phases and chunks";
  let description = [{
    A kernel works on rows. Each row is walked in *phases*; a phase runs its
    body for every *chunk* of columns that a thread owns. Between phases,
    partial reductions are *exchanged* among the threads of a row. The bodies
    are ordinary vector code; where data comes from and how threads meet is
    said by the ops of this dialect, and is the same for every target.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class NormTile_Op<string mnemonic, list<Trait> traits = []>
    : Op<NormTile_Dialect, mnemonic, traits>;

def NormTile_Partial : TypeDef<NormTile_Dialect, "Partial"> {
  let mnemonic = "partial";
  let summary = "lane states of one reduction, before the exchange";
  let parameters = (ins "::mlir::norm::ReduceKind":$kind, "::mlir::Type":$type);
  let assemblyFormat = "`<` $kind `,` $type `>`";
  let genVerifyDecl = 1;
}

def NormTile_Token : TypeDef<NormTile_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "an exchange in flight";
}

def NormTile_VariantAttr : AttrDef<NormTile_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "one compiled form of a kernel";
  let description = [{
    `symbol` is launched where every buffer's address and row pitch is a
    multiple of `alignment` bytes (or of its access width, if that is less).
    For buffers that all rows have in common it is `column_alignment` bytes, if
    that isn't 0.
    `block` threads work on `rows_per_cta` rows (across memory: elements);
    `shared` bytes of dynamic shared memory are needed. `split` CTAs share them,
    as many as fit where it is 0, by way of `counters` bytes of counters and
    `workspace` bytes of other memory. With `persistent`, clusters of `cluster`
    CTAs do one group of `rows_per_cta` rows after the other, as many clusters
    as are resident.
  }];
  let parameters = (ins "::mlir::StringAttr":$symbol, "int64_t":$alignment,
    "int64_t":$block, "int64_t":$rows_per_cta, "int64_t":$shared,
    DefaultValuedParameter<"int64_t", "1">:$split,
    DefaultValuedParameter<"int64_t", "0">:$counters,
    DefaultValuedParameter<"int64_t", "0">:$workspace,
    DefaultValuedParameter<"int64_t", "0">:$column_alignment,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"bool", "false">:$persistent);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NormTile_SpaceAttr : AttrDef<NormTile_Dialect, "Space"> {
  let mnemonic = "space";
  let summary = "rows, columns and where operands have them";
  let description = [{
    `rows` and `columns` are the extents of the row and the column dims, -1
    where known at launch only. `axes` has a list for each operand, with one
    entry for each of these dims, rows first: the axis of the operand's memref
    that a step along the dim walks, `_` where the operand doesn't vary on it.
    A dim may stand for several axes of the memref, up to and including that
    one, which lie in memory like a single one.

    Example, of a matrix and a vector of columns:
    `#norm_tile.space<rows = [-1], columns = [4096], axes = [[0, 1], [_, 0]]>`

    Where the kernel sums over rows, there are `workers` of `strands` strands
    each, which share the rows as `norm.accumulate` says; else both are 0.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$rows,
    ArrayRefParameter<"int64_t">:$columns,
    ArrayRefParameter<"::mlir::DenseI64ArrayAttr">:$axes,
    DefaultValuedParameter<"int64_t", "0">:$workers,
    DefaultValuedParameter<"int64_t", "0">:$strands);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned getNumRowDims() const { return getRows().size(); }
    unsigned getNumDims() const {
      return getRows().size() + getColumns().size();
    }
    int64_t getExtent(unsigned dim) const {
      return dim < getNumRowDims() ? getRows()[dim]
                                   : getColumns()[dim - getNumRowDims()];
    }
    /// Axis of an operand for a dim, -1 for none.
    int64_t getAxis(unsigned operand, unsigned dim) const {
      return getAxes()[operand].asArrayRef()[dim];
    }
    /// Whether an operand varies on a row dim (on a column dim).
    bool hasRows(unsigned operand) const;
    bool hasColumns(unsigned operand) const;
    /// Product of the column extents, -1 where known at launch only, INT64_MAX
    /// where it is more.
    int64_t countColumns() const;
    int64_t countRows() const;
    /// The axes of an operand that a dim stands for, the last one included.
    ::llvm::SmallVector<unsigned> getAxesOf(unsigned operand,
                                            unsigned dim) const;
    /// An operand that varies on a dim, -1 if none does.
    int64_t findOperand(unsigned dim) const;
  }];
}

def NormTile_KernelOp : NormTile_Op<"kernel", [Symbol, IsolatedFromAbove,
    SingleBlock, NoTerminator]> {
  let summary = "a kernel over rows";
  let description = [{
    Block arguments are the operands: memrefs, which `space` says the dims of,
    or scalars. The body is one `norm_tile.work`; buffers are accessed by the
    loads and stores of this dialect only, at the row and the chunk that are
    being worked on.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$program,
    NormTile_SpaceAttr:$space, Norm_OrderAttr:$order,
    Norm_ScheduleAttr:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
    /// Number of columns, -1 where known at launch only.
    int64_t getColumns() { return getSpace().countColumns(); }
    /// Elements per chunk of a thread: leaf times lanes per step; across
    /// memory, neighbouring elements.
    int64_t getChunkSize() {
      return getOrder().isAcross()
                 ? getSchedule().getVector()
                 : getOrder().getLeaf() * getSchedule().getVector();
    }
  }];
}

def NormTile_LaunchOp : NormTile_Op<"launch", []> {
  let summary = "run a kernel on buffers";
  let description = [{
    Repeats what a launcher needs to know of the kernel, which is gone once it
    has been converted; `variants` are then its forms. `unread` are the inputs of
    which the kernel uses the extents only: not a byte of them is loaded.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$operands,
    StrAttr:$program, NormTile_SpaceAttr:$space, I64Attr:$num_outputs,
    Norm_OrderAttr:$order, Norm_ScheduleAttr:$schedule,
    OptionalAttr<DenseI64ArrayAttr>:$unread,
    OptionalAttr<ArrayAttr>:$variants);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $kernel `(` $operands `)` attr-dict `:` type($operands)
  }];
  let extraClassDeclaration = [{
    /// Whether the kernel loads elements of the input.
    bool isRead(int64_t operand) {
      return !::llvm::is_contained(
          getUnread().value_or(::llvm::ArrayRef<int64_t>()), operand);
    }
    int64_t getColumns() { return getSpace().countColumns(); }
  }];
}

def NormTile_WorkOp : NormTile_Op<"work", [HasParent<"KernelOp">, SingleBlock,
    NoTerminator]> {
  let summary = "the rows of this group";
  let description = [{
    The region is run once for each row; its argument is the row. On a GPU each
    group of threads takes one row of the grid; on the host a loop takes a
    range.
  }];
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
  }];
}

def NormTile_PhaseOp : NormTile_Op<"phase", [HasParent<"WorkOp">]> {
  let summary = "one walk over the columns of a row";
  let description = [{
    Runs the region for every chunk; its argument is the chunk's first column.
    Yields one vector for each of the reductions `kinds`. Elements beyond the
    last column are left out where values are lifted into the reduction.
  }];
  let arguments = (ins TypedArrayAttrBase<Norm_ReduceKindAttr, "kinds">:$kinds);
  let results = (outs Variadic<NormTile_Partial>:$partials);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
  }];
}

def NormTile_YieldOp : NormTile_Op<"yield", [Terminator, ReturnLike,
    HasParent<"PhaseOp">]> {
  let summary = "the values that a phase reduces";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def NormTile_LoadOp : NormTile_Op<"load", [HasParent<"PhaseOp">]> {
  let summary = "load a chunk of an operand";
  let description = [{
    Reads the chunk at `column` of `row` (of the only row, where the operand has
    none). Elements beyond the last column have any value. Across memory,
    `column` is a walked column and the chunk holds neighbouring rows' elements.
  }];
  let arguments = (ins AnyMemRef:$source, Optional<Index>:$row, Index:$column);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $source `[` custom<Position>($row, $column) `]` attr-dict
      `:` type($source) `->` type($result)
  }];
}

def NormTile_StoreOp : NormTile_Op<"store", [HasParent<"PhaseOp">]> {
  let summary = "store a chunk of an output";
  let description = [{
    Elements beyond the last column are not written. With `group`, the
    destination has one element for every so many neighbouring columns, for
    which all of these have the same value.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value, AnyMemRef:$destination,
    Optional<Index>:$row, Index:$column,
    DefaultValuedAttr<I64Attr, "1">:$group);
  let assemblyFormat = [{
    $value `,` $destination `[` custom<Position>($row, $column) `]`
      (`group` $group^)? attr-dict `:` type($value) `,` type($destination)
  }];
}

def NormTile_SumRowsOp : NormTile_Op<"sum_rows", [HasParent<"PhaseOp">]> {
  let summary = "add a chunk to the sums of its columns over rows";
  let description = [{
    Each strand of a worker adds what its rows have in the chunk, in rising
    order. When it is through with them, the worker's sum is stored:
    `destination` is contiguous, has workers on its first axis and columns on
    the others.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value, AnyMemRef:$destination,
    Index:$column);
  let assemblyFormat = [{
    $value `,` $destination `[` $column `]` attr-dict
      `:` type($value) `,` type($destination)
  }];
}

def NormTile_LoadRowOp : NormTile_Op<"load_row", [HasParent<"WorkOp">]> {
  let summary = "load the element of a row; across memory, those of a chunk";
  let arguments = (ins AnyMemRef:$source, Index:$row);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $source `[` $row `]` attr-dict `:` type($source) `->` type($result)
  }];
}

def NormTile_StoreRowOp : NormTile_Op<"store_row", [HasParent<"WorkOp">]> {
  let summary = "store the element of a row, by one thread of its group";
  let arguments = (ins AnyType:$value, AnyMemRef:$destination, Index:$row);
  let assemblyFormat = [{
    $value `,` $destination `[` $row `]` attr-dict
      `:` type($value) `,` type($destination)
  }];
}

def NormTile_HoldOp : NormTile_Op<"hold", [HasParent<"PhaseOp">]> {
  let summary = "keep a chunk's value for a later phase";
  let description = [{
    The value is kept packed, in its own type, in registers or shared memory as
    the schedule's `residency` says. Slots are numbered per kernel, and each is
    filled once. With residency `stream`, or a column extent that is known at
    launch only, nothing can be kept.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value, I64Attr:$slot);
  let assemblyFormat = "$value `in` $slot attr-dict `:` type($value)";
}

def NormTile_HeldOp : NormTile_Op<"held", [HasParent<"PhaseOp">]> {
  let summary = "a chunk's value kept by an earlier phase";
  let arguments = (ins I64Attr:$slot);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$slot attr-dict `:` type($result)";
}

def NormTile_GroupReduceOp : NormTile_Op<"group_reduce", [Pure,
    HasParent<"PhaseOp">, SameOperandsAndResultType]> {
  let summary = "reduce groups of neighbouring columns";
  let description = [{
    Each element becomes the reduction of the `group` neighbouring columns that
    it is one of, the first of which is a multiple of `group`. Its kind gives
    the same bits in any order. Groups end where rows do. A group lies within
    the chunks of 32 neighbouring threads.

    Example: `%m = norm_tile.group_reduce maxnum %v group 128 : vector<8xf32>`
  }];
  let arguments = (ins Norm_ReduceKindAttr:$kind, AnyVectorOfNonZeroRank:$value,
    I64Attr:$group);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$kind $value `group` $group attr-dict `:` type($value)";
}

def NormTile_ExchangeStartOp : NormTile_Op<"exchange_start",
    [HasParent<"WorkOp">]> {
  let summary = "combine partial reductions over the threads of a row";
  let description = [{
    All partials of one exchange meet at one barrier. Between the start and the
    wait, other work hides its latency.
  }];
  let arguments = (ins Variadic<NormTile_Partial>:$partials);
  let results = (outs NormTile_Token:$token);
  let assemblyFormat = "$partials attr-dict `:` type($partials)";
  let hasVerifier = 1;
}

def NormTile_ExchangeWaitOp : NormTile_Op<"exchange_wait",
    [HasParent<"WorkOp">]> {
  let summary = "the results of an exchange";
  let arguments = (ins NormTile_Token:$token);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$token attr-dict `:` type($results)";
  let hasVerifier = 1;
}

def NormTile_ColumnsOp : NormTile_Op<"columns", [Pure, HasParent<"WorkOp">]> {
  let summary = "the column extent, where it is known at launch only";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def NormTile_ExtentOp : NormTile_Op<"extent", [Pure, HasParent<"WorkOp">]> {
  let summary = "the extent of one of several dims, known at launch only";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
}

def NormTile_IndexOp : NormTile_Op<"index", [Pure]> {
  let summary = "where a row or chunk lies on one dim of the kernel's space";
  let description = [{
    A scalar at the level of rows for a row dim, otherwise a chunk's elements.
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
}

def NormTile_RowsOp : NormTile_Op<"rows", [Pure, HasParent<"WorkOp">]> {
  let summary = "the row extent";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def NormTile_GlobalAddress : Type<CPred<"isGlobalAddress($_self)">,
    "address in global memory">;

def NormTile_UnitBarrierOp : NormTile_Op<"unit_barrier", []> {
  let summary = "all CTAs that share a row meet";
  let description = [{
    For kernels already written as `gpu.func`. Every thread of each of the
    `arrivals` CTAs calls it; none goes on before all have. What any of them
    wrote to global or shared memory before is seen by those that may see it
    afterwards. With one arrival it is a barrier of the CTA.

    `counter` is the address of two 32-bit words in global memory, the same for
    the CTAs that meet and for no others: arrivals and departures, both zero
    before the kernel. `phase` numbers the barriers with one counter in the order
    in which they are passed, from 0 on. Exactly one of them is `last`, which
    makes both words zero again; no barrier with the counter comes after it. The
    launch must keep all CTAs that meet resident at once.

    An argument through which one CTA reads what another wrote must not be
    `llvm.noalias`, since that says that nobody else writes there.

    Example:

    ```mlir
    norm_tile.unit_barrier %counter, %split phase 0 last : !llvm.ptr<1>
    ```
  }];
  let arguments = (ins NormTile_GlobalAddress:$counter, I32:$arrivals,
    ConfinedAttr<I32Attr, [IntNonNegative]>:$phase, UnitAttr:$last);
  let assemblyFormat = [{
    $counter `,` $arrivals `phase` $phase (`last` $last^)? attr-dict
      `:` type($counter)
  }];
}

include "norm/Dialect/NormTile/IR/NormTileClusterOps.td"

#endif // NORM_DIALECT_NORMTILE_IR_NORMTILEOPS_TD
