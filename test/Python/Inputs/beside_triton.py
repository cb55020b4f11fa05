# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two LLVMs in a process; the argument says whose library is loaded first."""

import sys


def load_triton():
    from triton._C.libtriton import ir, llvm
    llvm.init_targets()
    context = ir.context()
    ir.load_dialects(context)
    return str(ir.builder(context).create_module())


def load_normc():
    import normc
    import numpy as np
    run = normc.compile(normc.op("softmax", columns=64, dtype="f32"),
                        device="host")
    np.testing.assert_allclose(run(np.ones((3, 64), np.float32)), 1 / 64)
    return normc.compile(normc.op("rms_norm", columns=64), target="sm_90").ptx


order = [load_triton, load_normc]
if sys.argv[1] == "normc":
    order.reverse()
for load in order * 2:
    print(load())
