# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms as ops of PyTorch: see docs/Python.md."""

import sys

from ._fuse import compile_backend, fuse
from ._functions import (add_rms_norm, add_rms_norm_, add_rms_norm_fp8,
                         add_rms_norm_fp8_, group_norm, layer_norm, rms_norm,
                         rms_norm_fp8, softmax)
from ._patch import PatchReport, patch, unpatch
from ._programs import session, use_session
from ._sharding import declare_shardings

if "torch.distributed.tensor" in sys.modules:
    declare_shardings()

__all__ = [
    "PatchReport", "add_rms_norm", "add_rms_norm_", "add_rms_norm_fp8",
    "add_rms_norm_fp8_", "compile_backend", "declare_shardings", "fuse",
    "group_norm", "layer_norm",
    "patch", "rms_norm", "rms_norm_fp8", "session", "softmax", "unpatch",
    "use_session",
]
