// RUN: norm-opt %s --split-input-file --verify-diagnostics --norm-differentiate
// RUN: not norm-opt %s --split-input-file --norm-differentiate=function=g 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not norm-opt %s --split-input-file --norm-differentiate=wrt=7 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not norm-opt %s --split-input-file --norm-differentiate=wrt=0,0 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not norm-opt %s --split-input-file --norm-differentiate=save=all 2>&1 | FileCheck %s --check-prefix=SAVE
// RUN: not norm-opt %s --split-input-file --norm-differentiate=accumulate=2 2>&1 | FileCheck %s --check-prefix=ADD
// RUN: not norm-opt %s --split-input-file --norm-differentiate=gradient-type=f8 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not norm-opt %s --split-input-file --norm-differentiate=gradient-type=3:f32 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not norm-opt %s --split-input-file --norm-differentiate=gradient-type=x:f32 2>&1 | FileCheck %s --check-prefix=NUMBER

// ADD: error: 'func.func' op expects an argument of which a gradient is wanted in option 'accumulate' but got 2
// TYPE: error: 'func.func' op expects f64, f32, f16 or bf16 in option 'gradient-type' but got 'f8'
// OTHER: error: 'func.func' op expects an argument of which a gradient is wanted in option 'gradient-type' but got 3
// NUMBER: error: 'func.func' op expects a type, or an argument's number, a colon and a type, in option 'gradient-type' but got 'x:f32'
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

// -----

func.func @constant_rows(%x: tensor<4x8xf32>, %s: tensor<f32>)
    -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<4x8xf32>, %b = %s[] : tensor<f32>)
      outs(%o = %e[row, col] : tensor<4x8xf32>) {
    %c = arith.constant 2.0 : f32
    // expected-error @+1 {{'norm.reduce' op is needed by a gradient over other dims, which norm-differentiate can't write as a program}}
    %m:2 = norm.reduce max_expsum %c over [col] : f32
    %u = arith.mulf %m#1, %b : f32
    %r = arith.mulf %u, %a : f32
    norm.yield %r : f32
  }
  return %y : tensor<4x8xf32>
}
