# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalization kernels, compiled: see docs/Python.md.

`normc.torch` has PyTorch's ops; this module needs neither PyTorch nor a GPU.
"""

from ._normc import Device, NormError
from ._derivative import (Derivative, DerivedFunction, DerivedValue,
                          differentiate)
from ._normc import version as _version
from ._norms import Builder, Value
from ._runtime import (Executable, Session, compile, device, devices, list_ops,
                       op, stream_handle)
from ._tune import Tuned, tune

version: str = _version()
__version__ = version

__all__ = [
    "Builder", "Derivative", "DerivedFunction", "DerivedValue", "Device",
    "Executable", "NormError", "Session", "Tuned", "Value", "compile", "device",
    "devices", "differentiate", "list_ops", "op", "stream_handle", "tune",
    "version",
]
