//===- layer-norm-columns.mlir - A layer norm of some columns -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

func.func @f(%x: tensor<?xCOLUMNSxDTYPE>, %g: tensor<COLUMNSxDTYPE>, %b: tensor<COLUMNSxDTYPE>) -> tensor<?xCOLUMNSxDTYPE> {
  %y = norm.layer_norm %x scale(%g) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?xCOLUMNSxDTYPE>, tensor<COLUMNSxDTYPE>, tensor<COLUMNSxDTYPE> -> tensor<?xCOLUMNSxDTYPE>
  return %y : tensor<?xCOLUMNSxDTYPE>
}
