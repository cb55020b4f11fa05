// RUN: norm-opt %s --norm-differentiate=function=rms_norm | FileCheck %s --check-prefix=RMS
// RUN: norm-opt %s --norm-differentiate=function=activations | FileCheck %s --check-prefix=ACT
// RUN: norm-opt %s --norm-differentiate='function=maximum wrt=0' | FileCheck %s --check-prefix=MAX
// RUN: norm-opt %s --norm-differentiate='function=masked wrt=0' | FileCheck %s --check-prefix=MASK
// RUN: norm-opt %s --norm-differentiate='function=linear wrt=1 name=slope' | FileCheck %s --check-prefix=LIN
// RUN: norm-opt %s --norm-differentiate=function=dropout | FileCheck %s --check-prefix=DROP
// RUN: norm-opt %s --norm-differentiate='function=codes wrt=0' | FileCheck %s --check-prefix=CODES
// RUN: norm-opt %s --norm-differentiate='function=groups wrt=0' | FileCheck %s --check-prefix=GROUP
// RUN: norm-opt %s --norm-differentiate=function=twice | FileCheck %s --check-prefix=TWICE
// RUN: norm-opt %s --norm-differentiate='function=unused wrt=1' | FileCheck %s --check-prefix=ZERO
// RUN: norm-opt %s --norm-differentiate='function=rms_norm save=statistics' | FileCheck %s --check-prefix=SAVE
// RUN: norm-opt %s --norm-differentiate='function=rms_norm gradient-type=1:f32' | FileCheck %s --check-prefix=WIDE
// RUN: norm-opt %s --norm-differentiate='function=rms_norm gradient-type=f16' | FileCheck %s --check-prefix=ALL
// RUN: norm-opt %s --norm-differentiate='function=rms_norm accumulate=0,1 gradient-type=1:f32' | FileCheck %s --check-prefix=ADD
// RUN: norm-opt %s --norm-differentiate='function=rms_norm accumulate=1' --norm-fuse | FileCheck %s --check-prefix=ADDED
// RUN: norm-opt %s --norm-differentiate='function=unused wrt=1 accumulate=1' | FileCheck %s --check-prefix=HELD

// A gradient in another type is rounded to that, once.
// WIDE-LABEL: func.func @rms_norm_backward(
// WIDE-SAME: -> (tensor<?x64xbf16>, tensor<64xf32>)
// WIDE: %[[S:.*]] = norm.reduce add %{{.*}} over [row] : f32
// WIDE-NEXT: norm.yield %[[S]] : f32
// ALL-LABEL: func.func @rms_norm_backward(
// ALL-SAME: -> (tensor<?x64xf16>, tensor<64xf16>)

// What is there comes last, and is added before the rounding.
// ADD-LABEL: func.func @rms_norm_backward(
// ADD-SAME: %{{.*}}: tensor<?x64xbf16>, %{{.*}}: tensor<64xbf16>, %{{.*}}: tensor<?x64xbf16>, %[[PX:.*]]: tensor<?x64xbf16> {norm.in_place = 0 : i64}, %[[PW:.*]]: tensor<64xf32> {norm.in_place = 1 : i64}) -> (tensor<?x64xbf16>, tensor<64xf32>)
// ADD-SAME: ["input 0", "input 1", "cotangent 0", "previous 0", "previous 1"]
// ADD: ins(%[[A:.*]] = %{{.*}} : tensor<?x64xf32>, %[[B:.*]] = %[[PX]][row, col] : tensor<?x64xbf16>)
// ADD: %[[W:.*]] = arith.extf %[[B]] : bf16 to f32
// ADD-NEXT: %[[T:.*]] = arith.addf %[[A]], %[[W]] : f32
// ADD-NEXT: arith.truncf %[[T]] : f32 to bf16
// ADD: norm.generic (col)
// ADD-NEXT: ins(%{{.*}} = %{{.*}} : tensor<64xf32>, %{{.*}} = %[[PW]][col] : tensor<64xf32>)
// ADD-NEXT: outs({{.*}} : tensor<64xf32>)
// ADD-NEXT: %[[U:.*]] = arith.addf
// ADD-NEXT: norm.yield %[[U]] : f32

// The sum over rows does it.
// ADDED-LABEL: func.func @rms_norm_backward(
// ADDED-NOT: norm.generic (col)
// ADDED: %[[S:.*]] = norm.reduce add %{{.*}} over [{{row|worker}}] : f32
// ADDED-NEXT: %[[P:.*]] = arith.extf %{{.*}} : bf16 to f32
// ADDED-NEXT: %[[T:.*]] = arith.addf %[[S]], %[[P]] : f32
// ADDED-NEXT: arith.truncf %[[T]] : f32 to bf16
// ADDED-NOT: norm.generic (col)

// HELD-LABEL: func.func @unused_backward(
// HELD-SAME: %[[P:.*]]: tensor<{{.*}}> {norm.in_place = 0 : i64})
// HELD: norm.generic
// HELD: ins(%[[V:.*]] = %[[P]]
// HELD: norm.yield %[[V]]

// Statistics are computed once, and read by the program that sums over rows.
// RMS-LABEL: func.func @rms_norm_backward(
// RMS-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<64xbf16>, %[[DY:.*]]: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<64xbf16>)
// RMS-SAME: norm.backward = {arguments = ["input 0", "input 1", "cotangent 0"], of = @rms_norm, results = ["gradient 0", "gradient 1"]}
// RMS: %[[DX:.*]]:2 = norm.generic (row, col)
// RMS: %[[R:.*]] = math.rsqrt
// RMS: %[[DYF:.*]] = arith.extf %{{.*}} : bf16 to f32
// RMS-NEXT: %[[WF:.*]] = arith.extf %{{.*}} : bf16 to f32
// RMS-NEXT: %[[G:.*]] = arith.mulf %[[DYF]], %[[WF]] : f32
// RMS-NEXT: %[[GX:.*]] = arith.mulf %[[G]],
// RMS-NEXT: norm.reduce add %[[GX]] over [col] : f32
// RMS: %[[RG:.*]] = arith.mulf %[[G]], %[[R]] : f32
// RMS-NEXT: %[[D:.*]] = math.fma %{{.*}}, %{{.*}}, %[[RG]] : f32
// RMS-NEXT: %[[T:.*]] = arith.truncf %[[D]] : f32 to bf16
// RMS-NEXT: norm.yield %[[T]], %[[R]] : bf16, f32
// RMS: %[[DW:.*]] = norm.generic (row, col)
// RMS-NEXT: ins(%{{.*}} = %[[DY]][row, col] {{.*}}, %{{.*}} = %[[X]][row, col] {{.*}}, %{{.*}} = %[[DX]]#1[row] : tensor<?xf32>)
// RMS: %[[S:.*]] = norm.reduce add %{{.*}} over [row] : f32
// RMS-NEXT: arith.truncf %[[S]] : f32 to bf16
// RMS: return %[[DX]]#0, %[[DW]]

// SAVE-LABEL: func.func @rms_norm_forward(
// SAVE-SAME: -> (tensor<?x64xbf16>, tensor<?xf32>) attributes {norm.forward = {of = @rms_norm, results = ["result 0", "saved 0"]}}
// SAVE: %[[R:.*]] = math.rsqrt
// SAVE: norm.yield %{{.*}}, %[[R]] : bf16, f32
// SAVE-LABEL: func.func @rms_norm_backward(
// SAVE-SAME: tensor<?x64xbf16>, %{{.*}}: tensor<64xbf16>, %{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?x64xbf16>)
// SAVE-SAME: ["input 0", "input 1", "saved 0", "cotangent 0"]
// SAVE-NOT: math.rsqrt
func.func @rms_norm(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>)
    -> tensor<?x64xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// Of a narrow type the derivative is taken in f32.
// ACT-LABEL: func.func @activations_backward(
// ACT: %[[DY:.*]] = arith.extf %{{.*}} : f16 to f32
// ACT: %[[X:.*]] = arith.extf %{{.*}} : f16 to f32
// ACT: %[[S:.*]] = norm.sigmoid %[[X]] : f32
// ACT: %[[D:.*]] = arith.mulf %[[DY]], %[[S]] : f32
// ACT: %[[Q:.*]] = arith.subf %{{.*}}, %[[S]] : f32
// ACT: %[[F:.*]] = math.fma %[[X]], %[[Q]], %{{.*}} : f32
// ACT: arith.mulf %[[D]], %[[F]] : f32
// ACT: arith.truncf %{{.*}} : f32 to f16
func.func @activations(%x: tensor<?x64xf16>) -> tensor<?x64xf16> {
  %y = norm.silu %x : tensor<?x64xf16>
  return %y : tensor<?x64xf16>
}

// Elements that are equal to the maximum share its cotangent.
// MAX-LABEL: func.func @maximum_backward(
// MAX: %[[M:.*]] = norm.reduce max %[[A:.*]] over [col] : f32
// MAX: %[[C:.*]] = arith.cmpf oeq, %[[A]], %[[M]] : f32
// MAX: %[[ONE:.*]] = arith.select %[[C]], %{{.*}}, %{{.*}} : f32
// MAX: %[[N:.*]] = norm.reduce add %[[ONE]] over [col] : f32
// MAX: %[[I:.*]] = arith.divf %{{.*}}, %[[N]] : f32
// MAX: %[[D:.*]] = arith.mulf %{{.*}}, %[[I]] : f32
// MAX: arith.select %[[C]], %[[D]], %{{.*}} : f32
func.func @maximum(%x: tensor<4x64xf32>) -> tensor<4xf32> {
  %d = tensor.empty() : tensor<4xf32>
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<4x64xf32>)
      outs(%o = %d[row] : tensor<4xf32>) {
    %m = norm.reduce max %a over [col] : f32
    norm.yield %m : f32
  }
  return %y : tensor<4xf32>
}

// A mask that is computed is computed again; nothing goes through it. The
// condition is applied last, so that what isn't finite where it is false
// doesn't matter.
// MASK-LABEL: func.func @masked_backward(
// MASK: %[[KEEP:.*]] = arith.cmpi sle
// MASK: math.fma
// MASK-NEXT: %[[P:.*]] = arith.mulf
// MASK-NEXT: %[[E:.*]] = arith.select %{{.*}}, %{{.*}}, %[[P]] : f32
// MASK-NEXT: %[[D:.*]] = arith.select %[[KEEP]], %[[E]], %{{.*}} : f32
// MASK-NEXT: norm.yield %[[D]] : f32
func.func @masked(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = norm.softmax %x axes = [1] causal
      : tensor<64x64xf32> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// Inputs that aren't needed are no arguments.
// LIN-LABEL: func.func @slope(
// LIN-SAME: %[[DY:.*]]: tensor<4x64xf32>) -> tensor<64xf32>
// LIN-SAME: arguments = ["cotangent 0"], of = @linear, results = ["gradient 1"]
// LIN: norm.reduce add %{{.*}} over [row] : f32
// LIN-NOT: norm.generic
func.func @linear(%x: tensor<4x64xf32>, %b: tensor<64xf32>)
    -> tensor<4x64xf32> {
  %e = tensor.empty() : tensor<4x64xf32>
  %y = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<4x64xf32>, %c = %b[col] : tensor<64xf32>)
      outs(%o = %e[row, col] : tensor<4x64xf32>) {
    %s = arith.addf %a, %c : f32
    norm.yield %s : f32
  }
  return %y : tensor<4x64xf32>
}

// The same elements are kept.
// DROP-LABEL: func.func @dropout_backward(
// DROP-SAME: ["input 1", "cotangent 0"]
// DROP: %[[U:.*]] = norm.random
// DROP: %[[KEPT:.*]] = arith.cmpi uge, %[[U]],
// DROP: %[[D:.*]] = arith.mulf
// DROP: arith.select %[[KEPT]], %[[D]],
func.func @dropout(%x: tensor<?x64xf32>, %s: i64) -> tensor<?x64xf32> {
  %y = norm.dropout %x seed(%s) offset(%s) p = 0.25
      : tensor<?x64xf32>, i64, i64 -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Straight through the codes; their cotangent is of f32.
// CODES-LABEL: func.func @codes_backward(
// CODES-SAME: tensor<?x64xf32>) -> tensor<?x64xbf16>
// CODES: arith.cmpf
// CODES-NOT: roundeven
// CODES: return
func.func @codes(%x: tensor<?x64xbf16>, %s: tensor<f32>)
    -> tensor<?x64xf8E4M3FN> {
  %q = norm.quantize %x scale(%s) group = [-1, -1]
      : tensor<?x64xbf16>, tensor<f32> -> tensor<?x64xf8E4M3FN>
  return %q : tensor<?x64xf8E4M3FN>
}

// A gradient is reshaped as its argument was, the other way round.
// GROUP-LABEL: func.func @groups_backward(
// GROUP: %[[X:.*]] = tensor.expand_shape %{{.*}} into tensor<?x4x4x16xf32>
// GROUP: %[[DY:.*]] = tensor.expand_shape %{{.*}} into tensor<?x4x4x16xf32>
// GROUP: %[[D:.*]] = norm.generic
// GROUP: %[[DX:.*]] = tensor.collapse_shape %[[D]]
// GROUP: return %[[DX]]
func.func @groups(%x: tensor<?x16x16xf32>) -> tensor<?x16x16xf32> {
  %y = norm.group_norm %x groups = 4 channel_axis = 1 eps = 1.0e-5
      : tensor<?x16x16xf32> -> tensor<?x16x16xf32>
  return %y : tensor<?x16x16xf32>
}

// What comes from two programs is added in f32, and rounded once.
// TWICE-LABEL: func.func @twice_backward(
// TWICE: norm.yield %{{.*}} : f32
// TWICE: norm.yield %{{.*}} : f32
// TWICE: %[[S:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// TWICE-NEXT: arith.truncf %[[S]] : f32 to bf16
func.func @twice(%x: tensor<8x64xbf16>)
    -> (tensor<8x64xbf16>, tensor<8x64xbf16>) {
  %y = norm.softmax %x axes = [0] : tensor<8x64xbf16> -> tensor<8x64xbf16>
  %z = norm.softmax %x axes = [1] : tensor<8x64xbf16> -> tensor<8x64xbf16>
  return %y, %z : tensor<8x64xbf16>, tensor<8x64xbf16>
}

// ZERO-LABEL: func.func @unused_backward(
// ZERO: %[[Z:.*]] = arith.constant 0.0
// ZERO: norm.yield %[[Z]] : f32
func.func @unused(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>)
    -> tensor<?x64xf32> {
  %y = math.tanh %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
