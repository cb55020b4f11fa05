//===- NormDialect.cpp - Norm dialect -------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

#include "norm/Dialect/Norm/IR/NormDialect.cpp.inc"
#include "norm/Dialect/Norm/IR/NormEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "norm/Dialect/Norm/IR/NormAttrs.cpp.inc"

void NormDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "norm/Dialect/Norm/IR/NormOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "norm/Dialect/Norm/IR/NormAttrs.cpp.inc"
      >();
}

Operation *NormDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// norm.layout
//===----------------------------------------------------------------------===//

/// Checks the layout of `what`, an argument or a result of a function.
static LogicalResult verifyLayout(Operation *op, Type type, Attribute attr,
                                  const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError("expects a ranked tensor for 'norm.layout' of ")
           << what << " but got " << type;
  auto layout = dyn_cast<StridedLayoutAttr>(attr);
  if (!layout)
    return op->emitOpError("expects a strided layout as 'norm.layout' of ")
           << what << " but got " << attr;
  ArrayRef<int64_t> strides = layout.getStrides();
  if (static_cast<int64_t>(strides.size()) != tensor.getRank())
    return op->emitOpError("expects ")
           << tensor.getRank() << " strides in 'norm.layout' of " << what
           << " but got " << strides.size();
  if (layout.getOffset() != 0)
    return op->emitOpError("expects no offset in 'norm.layout' of ")
           << what << " but got " << layout;
  for (auto [axis, stride] : llvm::enumerate(strides))
    if (stride < 0 && ShapedType::isStatic(stride))
      return op->emitOpError("expects a stride of 0 or more along axis ")
             << axis << " in 'norm.layout' of " << what << " but got "
             << stride;
  if (!strides.empty() && strides.back() != 1) {
    InFlightDiagnostic diag = op->emitOpError("expects stride 1 along axis ")
                              << strides.size() - 1 << " in 'norm.layout' of "
                              << what << " but got ";
    return ShapedType::isDynamic(strides.back()) ? diag << "any"
                                                 : diag << strides.back();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// norm.in_place, norm.kernels
//===----------------------------------------------------------------------===//

/// Checks that a result of a function can be written to the memory of argument
/// `index`.
static LogicalResult verifyInPlace(FunctionOpInterface function, unsigned index,
                                   Attribute attr) {
  auto number = dyn_cast<IntegerAttr>(attr);
  if (!number || !number.getType().isSignlessInteger(64))
    return function->emitOpError("expects the number of a result as "
                                 "'norm.in_place' of argument ")
           << index << " but got " << attr;
  int64_t result = number.getInt();
  if (result < 0 || result >= int64_t(function.getResultTypes().size()))
    return function->emitOpError("expects one of ")
           << function.getResultTypes().size()
           << " results in 'norm.in_place' of argument " << index << " but got "
           << result;
  Type from = function.getArgumentTypes()[index];
  Type to = function.getResultTypes()[result];
  if (from != to || !isa<RankedTensorType>(from))
    return function->emitOpError("expects argument ")
           << index << " and result " << result
           << ", written in place of it, to be ranked tensors of one type but "
              "got "
           << from << " and " << to;
  StringRef layout = NormDialect::kLayoutAttrName;
  Attribute fromLayout = function.getArgAttr(index, layout);
  Attribute toLayout = function.getResultAttr(result, layout);
  if (fromLayout != toLayout) {
    InFlightDiagnostic diag =
        function->emitOpError("expects argument ")
        << index << " and result " << result
        << ", written in place of it, to have one layout but got ";
    auto print = [&](Attribute attr) {
      if (attr)
        diag << attr;
      else
        diag << "none";
    };
    print(fromLayout);
    diag << " and ";
    print(toLayout);
    return diag;
  }
  for (unsigned other = 0; other < index; ++other)
    if (function.getArgAttr(other, NormDialect::kInPlaceAttrName) == attr)
      return function->emitOpError("expects result ")
             << result << " to be written in place of one argument but got "
             << other << " and " << index;
  return success();
}

LogicalResult NormDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  if (attr.getName() == kKernelsAttrName &&
      (!isa<ModuleOp>(op) || !isa<UnitAttr>(attr.getValue())))
    return op->emitOpError("expects attribute 'norm.kernels' on modules, "
                           "without a value, but got ")
           << attr.getValue();
  return success();
}

static LogicalResult refuseAttribute(Operation *op, NamedAttribute attr) {
  return op->emitOpError("expects no attribute '")
         << attr.getName().getValue() << "' of an argument or a result";
}

LogicalResult NormDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned index,
                                                    NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (function && attr.getName() == kInPlaceAttrName)
    return verifyInPlace(function, index, attr.getValue());
  if (!function || attr.getName() != kLayoutAttrName)
    return refuseAttribute(op, attr);
  return verifyLayout(op, function.getArgumentTypes()[index], attr.getValue(),
                      "argument " + Twine(index));
}

LogicalResult NormDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned index,
                                                       NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || attr.getName() != kLayoutAttrName)
    return refuseAttribute(op, attr);
  return verifyLayout(op, function.getResultTypes()[index], attr.getValue(),
                      "result " + Twine(index));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult OrderAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t leaf, int64_t lanes, int64_t inner) {
  if (leaf < 1 || leaf > 64 || !llvm::isPowerOf2_64(leaf))
    return emitError()
           << "expects 'leaf' to be a power of two from 1 to 64 but got "
           << leaf;
  if (lanes < 1 || lanes > 1024 || !llvm::isPowerOf2_64(lanes))
    return emitError()
           << "expects 'lanes' to be a power of two from 1 to 1024 but got "
           << lanes;
  if (inner < 0 || inner > 1024)
    return emitError() << "expects 'inner' from 0 to 1024 but got " << inner;
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t threads, int64_t rowsPerCta,
                                   Residency, bool, int64_t vector,
                                   int64_t maxRegisters, int64_t split, bool,
                                   int64_t stages, int64_t cluster) {
  if (threads < 1 || threads > 1024 || !llvm::isPowerOf2_64(threads))
    return emitError()
           << "expects 'threads' to be a power of two from 1 to 1024 but got "
           << threads;
  if (rowsPerCta < 1 || rowsPerCta > 1024)
    return emitError() << "expects 'rows_per_cta' from 1 to 1024 but got "
                       << rowsPerCta;
  if (vector < 1 || vector > 1024 || threads * vector > 1024)
    return emitError() << "expects 'vector' from 1 on with at most 1024 lanes "
                          "per step but got "
                       << threads << " x " << vector;
  if (maxRegisters < 0 || maxRegisters > 255)
    return emitError() << "expects 'max_registers' from 0 to 255 but got "
                       << maxRegisters;
  // Across memory, a thread works on `vector` of them.
  if (threads * rowsPerCta > 1024 * vector)
    return emitError() << "expects at most 1024 threads per CTA but got "
                       << threads << " x " << rowsPerCta;
  if (cluster < 1 || cluster > 16 || !llvm::isPowerOf2_64(cluster))
    return emitError()
           << "expects 'cluster' to be a power of two from 1 to 16 but got "
           << cluster;
  if (split < 0 || split > 256 || (split && !llvm::isPowerOf2_64(split)))
    return emitError()
           << "expects 'split' to be 0 or a power of two up to 256 but got "
           << split;
  if (stages < 0 || stages > 16)
    return emitError() << "expects 'stages' from 0 to 16 but got " << stages;
  return success();
}
