//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_IR_NORMOPS_TD
#define NORM_DIALECT_NORM_IR_NORMOPS_TD

include "norm/Dialect/Norm/IR/NormFunctionOps.td"
include "norm/Dialect/Norm/IR/NormNamedOps.td"
include "norm/Dialect/Norm/IR/NormQuantOps.td"

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

def Norm_GenericOp : Norm_Op<"generic", [
    AttrSizedOperandSegments, IsolatedFromAbove, DestinationStyleOpInterface,
    SingleBlockImplicitTerminator<"::mlir::norm::YieldOp">,
    DeclareOpInterfaceMethods<IndexingMapOpInterface,
        ["getMatchingIndexingMap", "getStaticLoopRanges"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
            ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<BufferizableOpInterface,
        ["bufferizesToMemoryRead", "bufferizesToMemoryWrite",
         "getAliasingValues", "bufferize", "bufferizesToElementwiseAccess"]>]> {
  let summary = "a scalar program over a space of named dims";
  let description = [{
    The body is run for every point of the space spanned by `dims`. Each `ins`
    operand is a tensor, a strided memref or a scalar; each `outs` operand a
    tensor or memref (all shaped operands tensors, or all memrefs). An operand's
    map names, for each of its axes, one dim, or `0` for a static axis of size
    1. A block argument is the operand's element at the point; for an `outs`
    operand, its previous content.

    A value's *support* is the set of dims it varies on: those of an operand's
    map; the union, for an elementwise op; a `norm.reduce` drops its dims. A
    yielded value's support lies within the dims of its `outs` map.

    `dims` are listed in the order of the space; reductions follow
    `#norm.order`, which the attribute `order` fixes once scheduled.

    Example:

    ```mlir
    %y, %r = norm.generic (row, col)
        ins(%a = %x[row, col] : tensor<?x4096xbf16>)
        outs(%_0 = %y0[row, col] : tensor<?x4096xbf16>,
             %_1 = %r0[row] : tensor<?xf32>) {
      %f = arith.extf %a : bf16 to f32
      %sq = arith.mulf %f, %f : f32
      %ss = norm.reduce add %sq over [col] : f32
      norm.yield %a, %ss : bf16, f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Variadic<AnyShaped>:$outputs,
    StrArrayAttr:$dims, AffineMapArrayAttr:$indexing_maps,
    OptionalAttr<Norm_OrderAttr>:$order,
    OptionalAttr<Norm_ScheduleAttr>:$schedule,
    OptionalAttr<StrAttr>:$name);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs,
    "::mlir::ValueRange":$outputs, "::llvm::ArrayRef<::llvm::StringRef>":$dims,
    "::llvm::ArrayRef<::mlir::AffineMap>":$maps)>];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    ::mlir::Block *getBlock() { return &getBody().front(); }
    /// The shape of an operand; empty for a scalar.
    ::llvm::ArrayRef<int64_t> getShape(::mlir::OpOperand *operand);
    ::mlir::AffineMap getMap(unsigned operandNumber) {
      return ::llvm::cast<::mlir::AffineMapAttr>(
                 getIndexingMaps()[operandNumber]).getValue();
    }
    unsigned getNumDims() { return getDims().size(); }
    ::llvm::StringRef getDimName(unsigned dim) {
      return ::llvm::cast<::mlir::StringAttr>(getDims()[dim]).getValue();
    }
    /// Position of a dim by name.
    std::optional<unsigned> getDimNumber(::llvm::StringRef name);
    /// The static extent of each dim, kDynamic where no operand fixes it.
    ::llvm::SmallVector<int64_t> getExtents();
    /// An operand number and axis from which a dim's extent can be read.
    std::pair<unsigned, unsigned> getExtentSource(unsigned dim);
    bool hasTensorSemantics() { return getNumResults() != 0; }
    /// The dims a value of the body varies on, as a bit set. Computes all of
    /// them in one walk.
    ::llvm::DenseMap<::mlir::Value, uint64_t> computeSupports();
    /// The dims, as a bit set, on which sums of workers vary.
    uint64_t getWorkerDims();
  }];
}

class Norm_BodyOp<string mnemonic, list<Trait> traits = []>
    : Norm_Op<mnemonic, !listconcat([Pure, HasParent<"GenericOp">], traits)>;

def Norm_ReduceOp : Norm_BodyOp<"reduce",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "collective reduction over dims of the space";
  let description = [{
    Combines the operand over all points of `dims`; every point of the other
    dims gets the result. Kinds: `add`, `mul`; `max`, `min` (NaN if any operand
    is); `maxnum`, `minnum` (ignore NaN); `welford` (mean, and the sum of the
    squares of the centred values) and `welford_exact` (the same, the mean being
    a sum of two numbers until the end); `max_expsum` (`m = max(v)`, and
    `sum(exp(v - m))`). Over no points: the identity, which is -0.0 for `add`.

    Example: `%mean, %m2 = norm.reduce welford %v over [col] : f32`
  }];
  let arguments = (ins Norm_ReduceKindAttr:$kind, Norm_Scalar:$value,
    StrArrayAttr:$dims);
  let results = (outs Variadic<Norm_Scalar>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Norm_AccumulateOp : Norm_BodyOp<"accumulate",
    [AllTypesMatch<["value", "result"]>]> {
  let summary = "sums over dims, by workers";
  let description = [{
    Adds the operand up over `dims`, of which each *worker* takes its share; the
    result varies on the dim `worker`. With `W` workers of `strands` strands
    each, point `q` of `dims` in row-major order belongs to worker
    `q / strands mod W` and there to strand `q mod strands`. A strand adds its
    points in rising order, beginning with -0.0; the strands of a worker are
    combined by halving.

    That is the part of a sum over rows which a kernel over rows can do beside
    its other work, whatever order rows come in on a device: each CTA is a
    worker. The sums of the workers are added by another program. So the result
    can only be yielded, to an output with the dim of workers, on which nothing
    else varies and whose extent is static.

    Example: `%p = norm.accumulate %v over [row] by worker strands 4 : f32`
  }];
  let arguments = (ins AnyTypeOf<[F32, F64]>:$value, StrArrayAttr:$dims,
    StrAttr:$worker,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$strands);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Norm_ExtentOp : Norm_BodyOp<"extent"> {
  let summary = "number of points along a dim";
  let description = [{
    The extent of a dim as a number, rounded to nearest even where the type is
    a float. A static extent folds to a constant.

    Example: `%n = norm.extent col : f32`
  }];
  let arguments = (ins StrAttr:$dim);
  let results = (outs Norm_Scalar:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def Norm_IndexOp : Norm_BodyOp<"index"> {
  let summary = "position of the point along a dim";
  let description = [{
    Example: `%j = norm.index col : index`
  }];
  let arguments = (ins StrAttr:$dim);
  let results = (outs AnyTypeOf<[Index, I32, I64]>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasCustomAssemblyFormat = 1;
}

def Norm_RandomOp : Norm_BodyOp<"random"> {
  let summary = "random number of the point, by a counter";
  let description = [{
    A uniform number of 32 bits, a function of the seed, the offset and the
    point's position on `dims` alone. With `j` the position on the last of
    `dims` and `i` the row-major position on the others, it is word `j % 4` of
    Philox 4x32 with 10 rounds, of

        counter = (j / 4 mod 2^32, i mod 2^32, offset mod 2^32, offset / 2^32)
        key     = (seed mod 2^32, (seed / 2^32) xor (i / 2^32))

    so that four neighbours take one evaluation. Several last dims in
    parentheses stand for a dim that was split into them: `j` is the row-major
    position on those. Splitting any dim, and merging neighbours of one group,
    leaves every number as it was.

    Example:

    ```mlir
    %u = norm.random %seed, %offset at [row, col] : i32
    %v = norm.random %seed, %offset at [row, (col, col1)] : i32
    ```

    Reference: J. Salmon, M. Moraes, R. Dror and D. Shaw, Parallel Random
    Numbers: As Easy as 1, 2, 3, SC 2011.
  }];
  let arguments = (ins I64:$seed, I64:$offset, StrArrayAttr:$dims,
    DefaultValuedAttr<I64Attr, "1">:$inner);
  let results = (outs I32:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dims of `i`, and those of `j`.
    ::llvm::ArrayRef<::mlir::Attribute> getOuterDims() {
      return getDims().getValue().drop_back(getInner());
    }
    ::llvm::ArrayRef<::mlir::Attribute> getInnerDims() {
      return getDims().getValue().take_back(getInner());
    }
  }];
}

def Norm_YieldOp : Norm_BodyOp<"yield", [Terminator, ReturnLike]> {
  let summary = "the values of the results at a point";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
}

#endif // NORM_DIALECT_NORM_IR_NORMOPS_TD
