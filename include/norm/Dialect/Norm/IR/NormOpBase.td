//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_IR_NORMOPBASE_TD
#define NORM_DIALECT_NORM_IR_NORMOPBASE_TD

include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/IndexingMapOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "norm/Dialect/Norm/IR/NormAttrs.td"

class Norm_Op<string mnemonic, list<Trait> traits = []>
    : Op<Norm_Dialect, mnemonic, traits>;

def Norm_Float : AnyTypeOf<[F8E4M3FN, F8E5M2, F16, BF16, F32, F64],
    "a float of at most 64 bits">;
def Norm_FloatTensor : RankedTensorOf<[F8E4M3FN, F8E5M2, F16, BF16, F32, F64]>;
def Norm_LengthTensor : RankedTensorOf<[I32, I64]>;
def Norm_StatTensor : RankedTensorOf<[F32, F64]>;
def Norm_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger, Index]>;

#endif // NORM_DIALECT_NORM_IR_NORMOPBASE_TD
