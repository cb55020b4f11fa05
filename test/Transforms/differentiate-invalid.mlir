// RUN: norm-opt %s --split-input-file --verify-diagnostics --norm-differentiate
// RUN: not norm-opt %s --split-input-file --norm-differentiate=function=g 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not norm-opt %s --split-input-file --norm-differentiate=wrt=7 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not norm-opt %s --split-input-file --norm-differentiate=wrt=0,0 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not norm-opt %s --split-input-file --norm-differentiate=save=all 2>&1 | FileCheck %s --check-prefix=SAVE

// NAME: error: expects a function 'g' with a body but got none
// RANGE: error: 'func.func' op expects one of 1 arguments in option 'wrt' but got 7
// TWICE: error: 'func.func' op expects distinct arguments in option 'wrt' but got 0 twice
// SAVE: error: 'func.func' op expects none or statistics as option 'save' but got all

func.func @no_rule(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{'math.atan2' op has no derivative that norm-differentiate knows of}}
  %y = math.atan2 %x, %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @other_op(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
  // expected-error @+1 {{'linalg.matmul' op has no derivative that norm-differentiate knows of}}
  %y = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>)
      outs(%x : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// expected-error @+1 {{'func.func' op expects an argument that is a ranked tensor of floats but got none}}
func.func @integers(%x: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %y = arith.addi %x, %x : tensor<8x8xi32>
  return %y : tensor<8x8xi32>
}

// -----

// expected-error @+1 {{'func.func' op expects one block but got 2}}
func.func @blocks(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<8x8xf32>
}

// -----

// expected-error @+1 {{'func.func' op expects no 'f_backward', which is the name of a new function, but got one}}
func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  return %x : tensor<8x8xf32>
}
func.func private @f_backward()
