# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that people call. Where nothing traces, wraps or transforms, they
launch without PyTorch's dispatcher, which takes longer than a small kernel."""

from __future__ import annotations

import math
from typing import Any, Optional

import torch
from torch import Tensor

from .._runtime import fail
from ._autograd import forward_only, is_training, train
from ._ops import _codes, _group_norm_out, _is_eager, _like
from ._programs import launch_rows

_ops = torch.ops.normc
_NO_CODES = "call it under torch.no_grad(), or the norm without fp8"


def _key(kind: str, columns: int, x: Tensor, weight: Optional[Tensor],
         bias: Optional[Tensor], eps: float, offset: float = 0.0,
         residual: str = "", group: int = 0) -> tuple[Any, ...]:
    return (kind, columns, x.dtype, weight if weight is None else weight.dtype,
            bias if bias is None else bias.dtype, eps, offset, residual, group,
            x.get_device())


def rms_norm(x: Tensor, weight: Optional[Tensor] = None, eps: float = 1e-6, *,
             offset: float = 0.0, out: Optional[Tensor] = None,
             save: str = "statistics") -> Tensor:
    """x / sqrt(mean(x^2) + eps) * (weight + offset) over the last axis, with
    one rounding. `offset` is 1 in Gemma. With gradients, `save="none"` keeps no
    statistics of rows for the backward, which then computes them again."""
    if is_training(x, weight):
        return train("rms_norm", save, out, x, weight, eps, offset)
    if _is_eager(x, weight, out):
        y = torch.empty_like(x) if out is None else out
        if y.shape == x.shape and launch_rows(
                _key("rms_norm", x.shape[-1], x, weight, None, eps, offset),
                (x, y) if weight is None else (x, weight, y)):
            return y
    if out is None:
        return _ops.rms_norm(x, weight, eps, offset)
    _ops.rms_norm_out(x, weight, eps, offset, out)
    return out


def layer_norm(x: Tensor, weight: Optional[Tensor] = None,
               bias: Optional[Tensor] = None, eps: float = 1e-5, *,
               axes: int = 1, out: Optional[Tensor] = None,
               save: str = "statistics") -> Tensor:
    """LayerNorm over the last `axes` axes, with one rounding; `save` as of
    `rms_norm`."""
    columns = x.shape[-1] if axes == 1 else math.prod(x.shape[-axes:])
    if is_training(x, weight, bias):
        return train("layer_norm", save, out, x, columns, weight, bias, eps)
    if _is_eager(x, weight, bias, out):
        y = torch.empty_like(x) if out is None else out
        given = tuple(t for t in (x, weight, bias, y) if t is not None)
        if y.shape == x.shape and launch_rows(
                _key("layer_norm", columns, x, weight, bias, eps), given):
            return y
    if out is None:
        return _ops.layer_norm(x, columns, weight, bias, eps)
    _ops.layer_norm_out(x, columns, weight, bias, eps, out)
    return out


def add_rms_norm(x: Tensor, residual: Tensor, weight: Optional[Tensor] = None,
                 eps: float = 1e-6, *, offset: float = 0.0,
                 out: Optional[tuple[Tensor, Tensor]] = None,
                 save: str = "statistics") -> tuple[Tensor, Tensor]:
    """The RMSNorm of x + residual, and that sum; `save` as of `rms_norm`."""
    if is_training(x, residual, weight):
        return train("add_rms_norm", save, out, x, residual, weight, eps,
                     offset)
    if _is_eager(x, residual, weight) and out is None:
        y, total = torch.empty_like(x), torch.empty_like(x)
        if residual.shape == x.shape and launch_rows(
                _key("rms_norm", x.shape[-1], x, weight, None, eps, offset,
                     "new"),
                (x, residual, y, total) if weight is None else
                (x, residual, weight, y, total)):
            return y, total
    if out is None:
        return _ops.add_rms_norm(x, residual, weight, eps, offset)
    _ops.add_rms_norm_out(x, residual, weight, eps, offset, *out)
    return tuple(out)


def add_rms_norm_(x: Tensor, residual: Tensor,
                  weight: Optional[Tensor] = None, eps: float = 1e-6, *,
                  offset: float = 0.0) -> Tensor:
    """The RMSNorm of x + residual, which is written over residual."""
    forward_only("add_rms_norm_", "call add_rms_norm", x, residual, weight)
    if _is_eager(x, residual, weight):
        y = torch.empty_like(x)
        if residual.shape == x.shape and launch_rows(
                _key("rms_norm", x.shape[-1], x, weight, None, eps, offset,
                     "in_place"),
                (x, residual, y, residual) if weight is None else
                (x, residual, weight, y, residual)):
            return y
    return _ops.add_rms_norm_(x, residual, weight, eps, offset)


def rms_norm_fp8(x: Tensor, weight: Optional[Tensor] = None, eps: float = 1e-6,
                 *, offset: float = 0.0, group: int = -1,
                 ) -> tuple[Tensor, Tensor]:
    """The RMSNorm as codes of float8_e4m3fn and f32 scales, one to a row or to
    `group` columns: codes * scales is the norm."""
    forward_only("rms_norm_fp8", _NO_CODES, x, weight)
    if _is_eager(x, weight):
        codes, scales = _codes(x, group)
        if launch_rows(
                _key("rms_norm", x.shape[-1], x, weight, None, eps, offset, "",
                     group),
                (x, codes, scales) if weight is None else
                (x, weight, codes, scales)):
            return codes, scales
    return _ops.rms_norm_fp8(x, weight, eps, offset, group)


def add_rms_norm_fp8(x: Tensor, residual: Tensor,
                     weight: Optional[Tensor] = None, eps: float = 1e-6, *,
                     offset: float = 0.0, group: int = -1,
                     ) -> tuple[Tensor, Tensor, Tensor]:
    """Codes and scales of the RMSNorm of x + residual, and that sum."""
    forward_only("add_rms_norm_fp8", _NO_CODES, x, residual, weight)
    return _ops.add_rms_norm_fp8(x, residual, weight, eps, offset, group)


def add_rms_norm_fp8_(x: Tensor, residual: Tensor,
                      weight: Optional[Tensor] = None, eps: float = 1e-6, *,
                      offset: float = 0.0, group: int = -1,
                      ) -> tuple[Tensor, Tensor]:
    """Likewise, with the sum written over residual."""
    forward_only("add_rms_norm_fp8_", _NO_CODES, x, residual, weight)
    if _is_eager(x, residual, weight):
        codes, scales = _codes(x, group)
        if residual.shape == x.shape and launch_rows(
                _key("rms_norm", x.shape[-1], x, weight, None, eps, offset,
                     "in_place", group),
                (x, residual, codes, scales, residual) if weight is None else
                (x, residual, weight, codes, scales, residual)):
            return codes, scales
    return _ops.add_rms_norm_fp8_(x, residual, weight, eps, offset, group)


def softmax(x: Tensor, dim: int = -1, *,
            out: Optional[Tensor] = None,
            save: str = "output") -> Tensor:
    """exp(x) / sum(exp(x)) along one axis, with one rounding. The backward has
    the rounded output, as PyTorch's; with `save="statistics"` x, and so an
    unrounded one."""
    if not -x.dim() <= dim < x.dim():
        raise fail(f"dim of softmax expects {-x.dim()} to {x.dim() - 1} but "
                   f"got {dim}")
    dim = -1 if dim in (-1, x.dim() - 1) else dim % x.dim()
    if is_training(x):
        return train("softmax", save, out, x, dim)
    if dim == -1 and _is_eager(x, out):
        y = torch.empty_like(x) if out is None else out
        if y.shape == x.shape and launch_rows(
                (x.shape[-1], x.dtype, True, x.get_device()), (x, y)):
            return y
    if out is None:
        return _ops.softmax(x, dim)
    _ops.softmax_out(x, dim, out)
    return out


def group_norm(x: Tensor, groups: int, weight: Optional[Tensor] = None,
               bias: Optional[Tensor] = None, eps: float = 1e-5, *,
               out: Optional[Tensor] = None,
               save: str = "statistics") -> Tensor:
    """GroupNorm of samples by channels by space; the channels may be last in
    memory; `save` as of `rms_norm`."""
    if is_training(x, weight, bias):
        return train("group_norm", save, out, x, groups, weight, bias, eps)
    if _is_eager(x, weight, bias, out):
        y = _like(x) if out is None else out
        _group_norm_out(x, groups, weight, bias, eps, y)
        return y
    if out is None:
        return _ops.group_norm(x, groups, weight, bias, eps)
    _ops.group_norm_out(x, groups, weight, bias, eps, out)
    return out
