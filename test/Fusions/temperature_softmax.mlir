//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax of logits divided by a temperature for each row.
//
// Group: Softmax
// One kernel: FlashInfer sampling.softmax with temperature
// Data: --arg 0=random:7x32000 --arg 1=random:7:dist=uniform:low=0.5:high=2
//
//===----------------------------------------------------------------------===//

func.func @temperature_softmax(%x: tensor<?x32000xf32>,
                               %temperature: tensor<?xf32>)
    -> tensor<?x32000xf32> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x32000xf32>
  %e = tensor.empty(%d0) : tensor<?x32000xf32>
  %ts = linalg.broadcast ins(%temperature : tensor<?xf32>)
      outs(%e : tensor<?x32000xf32>) dimensions = [1]
  %v = arith.divf %x, %ts : tensor<?x32000xf32>
  %y = norm.softmax %v axes = [1] : tensor<?x32000xf32> -> tensor<?x32000xf32>
  return %y : tensor<?x32000xf32>
}
