// Groups of channels that come last, as many as there are at launch: a group
// begins wherever its channels do, whatever the strides of the dims are.
func.func @groups(%x: tensor<?x16x?xf16>) -> tensor<?x16x?xf16> {
  %y = norm.group_norm %x groups = 8 channel_axis = 2 eps = 1.0e-5 : tensor<?x16x?xf16> -> tensor<?x16x?xf16>
  return %y : tensor<?x16x?xf16>
}
