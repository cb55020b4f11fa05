// Runs the backward of a function directly.
//
// RUN: norm-run %s --backward --arg 0=random:37x96 --device=host --check --explain | FileCheck %s
// RUN: norm-run %s --entry=norm --backward=wrt=1 --arg 0=random:37x96 --arg 1=random:37x96 --device=emulated --check --bits=host | FileCheck %s --check-prefix=ONE
// RUN: norm-run %s --entry=norm --backward='accumulate=1 gradient-type=1:f32' --arg 0=random:37x96 --device=emulated --check --bits=host | FileCheck %s --check-prefix=ADD
// RUN: not norm-run %s --backward=wrt=0,x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not norm-run %s --backward=with=0 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not norm-run %s --backward=save=all 2>&1 | FileCheck %s --check-prefix=SAVE
// RUN: not norm-run %s --entry=norm --backward=wrt=2 2>&1 | FileCheck %s --check-prefix=WRT
// RUN: not norm-run %s --entry=other --backward 2>&1 | FileCheck %s --check-prefix=ENTRY
//
// CHECK: {{^}}norm_backward{{$}}
// CHECK-NEXT: argument 0 is input 0, tensor<?x96xbf16>
// CHECK-NEXT: argument 1 is input 1, tensor<96xbf16>
// CHECK-NEXT: argument 2 is cotangent 0, tensor<?x96xbf16>
// CHECK-NEXT: result 0 is gradient 0, tensor<?x96xbf16>
// CHECK-NEXT: result 1 is gradient 1, tensor<96xbf16>
// CHECK: ok{{ +}}result 0 reference: bf16 37x96
// CHECK: ok{{ +}}result 1 reference: bf16 96
//
// ONE: ok{{ +}}result 0 reference: bf16 96
// ONE-NOT: result 1
//
// ADD: ok{{ +}}result 0 reference: bf16 37x96
// ADD: ok{{ +}}result 1 reference: f32 96
// ADD: ok{{ +}}result 1 bits: f32 96: 0 of 96 elements differ
//
// NUMBER: --backward: option 'wrt' expects numbers of arguments, as in 0,1, but got '0,x'
// OPTION: --backward: expects an option of wrt, save, gradient-type, accumulate, function for the backward but got 'with'
// SAVE: --backward: option 'save' expects none or statistics but got 'all'
// WRT: error: 'func.func' op expects one of 2 arguments in option 'wrt' but got 2
// ENTRY: expects an entry named 'other' but found norm
func.func @norm(%x: tensor<?x96xbf16>, %w: tensor<96xbf16>)
    -> tensor<?x96xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x96xbf16>, tensor<96xbf16> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
