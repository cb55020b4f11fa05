# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops `torch.ops.normc.*`."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from .._runtime import fail
from ._programs import DTYPES, GroupNorm, RowNorm, Softmax, launch, launch_rows

_FP8 = torch.float8_e4m3fn
# Keeps the ops registered as long as this module is there.
_library = torch.library.Library("normc", "DEF")


def _op(schema: str, fake: Callable[..., Any]) -> Callable[..., Any]:
    """Registers what is decorated as an op of CPU and CUDA, with a fake."""
    def register(run: Callable[..., Any]) -> Callable[..., Any]:
        name = schema.split("(")[0]
        _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
        for key in ("CPU", "CUDA"):
            _library.impl(name, run, key)
        torch.library.register_fake(f"normc::{name}", fake, lib=_library)
        return run
    return register


# Checks, with messages that name the operand.

def _check(op: str, x: Tensor, columns: int, **others: Optional[Tensor],
           ) -> None:
    if x.dtype not in DTYPES:
        raise fail(f"x of {op} expects f64, f32, f16 or bf16 but got {x.dtype}",
                   "invalid launch")
    for name, other in others.items():
        if other is None:
            continue
        if name in ("residual", "out", "sum_out"):
            if other.shape != x.shape or other.dtype != x.dtype:
                raise fail(f"{name} of {op} expects {tuple(x.shape)} of "
                           f"{x.dtype} but got {tuple(other.shape)} of "
                           f"{other.dtype}", "invalid launch")
        elif other.numel() != columns or other.dtype not in DTYPES:
            raise fail(f"{name} of {op} expects {columns} floats but got "
                       f"{tuple(other.shape)} of {other.dtype}",
                       "invalid launch")
        if other.device != x.device:
            raise fail(f"{name} of {op} expects a tensor on {x.device} but got "
                       f"one on {other.device}", "invalid launch")


def _checked(op: str, x: Tensor, columns: int, result: Callable[[Tensor], Any],
             **others: Optional[Tensor]) -> Any:
    """What the fake of an op gives: the same checks, and results by `x`."""
    _check(op, x, columns, **others)
    return result(x)


def _rows(x: Tensor, columns: int) -> Tensor:
    """As a matrix, a view where the strides allow it."""
    if x.dim() != 2 or x.shape[1] != columns:
        x = x.reshape(x.numel() // columns if columns else 0, columns)
    return x if x.stride(1) == 1 or columns < 2 else x.contiguous()


def _flat(vector: Optional[Tensor]) -> tuple[Tensor, ...]:
    """An optional operand, as arguments."""
    if vector is None:
        return ()
    if vector.dim() != 1:
        vector = vector.reshape(-1)
    return (vector if vector.is_contiguous() else vector.contiguous(),)


def _dtype(tensor: Optional[Tensor]) -> Optional[torch.dtype]:
    return None if tensor is None else tensor.dtype


def _new(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _shares(out: Tensor, others: tuple[Tensor, ...]) -> bool:
    """Whether a result of the caller may overlap an operand. Programs take that
    only where they declare it."""
    memory = [t.untyped_storage().data_ptr() for t in (out, *others)]
    return memory[0] in memory[1:]


class _Result:
    """A tensor of the caller as a matrix: itself where its strides allow it,
    else one that is copied over it at the end."""

    def __init__(self, out: Tensor, columns: int, is_read: bool = False,
                 apart: tuple[Tensor, ...] = ()):
        self.out = out
        try:
            rows = out.view(-1, columns) if columns and out.numel() else \
                out.reshape(-1, max(columns, 1))
            fits = columns < 2 or rows.stride(1) == 1
        except RuntimeError:
            fits = False
        if fits and _shares(out, apart):
            fits = False
        if fits:
            self.rows = rows
        else:
            self.rows = (out.contiguous() if is_read else _new(out)).view(
                -1, columns)
        self.is_copy = not fits

    def finish(self) -> None:
        if self.is_copy:
            self.out.copy_(self.rows.view(self.out.shape))


# Norms of rows.

def _row_norm(op: str, key: RowNorm, x: Tensor, residual: Optional[Tensor],
              weight: Optional[Tensor], bias: Optional[Tensor],
              results: tuple[Tensor, ...], is_callers: bool = False) -> None:
    """`results` are y, or codes and scales, and then the sum; new ones, or the
    caller's."""
    columns = key.columns
    _check(op, x, columns, residual=residual, weight=weight, bias=bias)
    if not x.numel():
        return
    arguments = [_rows(x, columns)]
    apart = tuple(t for t in (x, residual, weight, bias)
                  if is_callers and t is not None)
    wrapped = [_Result(result, result.shape[-1] if key.group else columns,
                       apart=apart) for result in results]
    if key.residual == "in_place":
        wrapped[-1] = _Result(results[-1], columns, is_read=True)
        arguments.append(wrapped[-1].rows)
    elif residual is not None:
        arguments.append(_rows(residual, columns))
    launch(key, *arguments, *_flat(weight), *_flat(bias),
           *(result.rows for result in wrapped))
    for result in wrapped:
        result.finish()


def _rms_key(x: Tensor, weight: Optional[Tensor], eps: float, offset: float,
             residual: str = "", group: int = 0) -> RowNorm:
    return RowNorm("rms_norm", x.shape[-1], x.dtype, _dtype(weight), None, eps,
                   offset, residual, group)


def _nothing(*_: Any) -> None:
    return None


@_op("rms_norm(Tensor x, Tensor? weight, float eps, float offset) -> Tensor",
     lambda x, weight, eps, offset:
     _checked("rms_norm", x, x.shape[-1], _new, weight=weight))
def _rms_norm(x, weight, eps, offset):
    out = _new(x)
    _row_norm("rms_norm", _rms_key(x, weight, eps, offset), x, None, weight,
              None, (out,))
    return out


@_op("rms_norm_out(Tensor x, Tensor? weight, float eps, float offset, "
     "Tensor(a!) out) -> ()", lambda x, weight, eps, offset, out:
     _checked("rms_norm", x, x.shape[-1], _nothing, weight=weight, out=out))
def _rms_norm_out(x, weight, eps, offset, out):
    _check("rms_norm", x, x.shape[-1], out=out)
    _row_norm("rms_norm", _rms_key(x, weight, eps, offset), x, None, weight,
              None, (out,), is_callers=True)


@_op("layer_norm(Tensor x, int columns, Tensor? weight, Tensor? bias, "
     "float eps) -> Tensor", lambda x, columns, weight, bias, eps:
     _checked("layer_norm", x, columns, _new, weight=weight, bias=bias))
def _layer_norm(x, columns, weight, bias, eps):
    out = _new(x)
    _layer_norm_out(x, columns, weight, bias, eps, out)
    return out


@_op("layer_norm_out(Tensor x, int columns, Tensor? weight, Tensor? bias, "
     "float eps, Tensor(a!) out) -> ()",
     lambda x, columns, weight, bias, eps, out:
     _checked("layer_norm", x, columns, _nothing, weight=weight, bias=bias,
              out=out))
def _layer_norm_out(x, columns, weight, bias, eps, out):
    _check("layer_norm", x, columns, out=out)
    key = RowNorm("layer_norm", columns, x.dtype, _dtype(weight), _dtype(bias),
                  eps)
    _row_norm("layer_norm", key, x, None, weight, bias, (out,),
              is_callers=True)


@_op("add_rms_norm(Tensor x, Tensor residual, Tensor? weight, float eps, "
     "float offset) -> (Tensor, Tensor)",
     lambda x, residual, weight, eps, offset:
     _checked("add_rms_norm", x, x.shape[-1], lambda x: (_new(x), _new(x)),
              residual=residual, weight=weight))
def _add_rms_norm(x, residual, weight, eps, offset):
    out, total = _new(x), _new(x)
    _row_norm("add_rms_norm", _rms_key(x, weight, eps, offset, "new"), x,
              residual, weight, None, (out, total))
    return out, total


@_op("add_rms_norm_out(Tensor x, Tensor residual, Tensor? weight, float eps, "
     "float offset, Tensor(a!) out, Tensor(b!) sum_out) -> ()",
     lambda x, residual, weight, eps, offset, out, sum_out:
     _checked("add_rms_norm", x, x.shape[-1], _nothing, residual=residual,
              weight=weight, out=out, sum_out=sum_out))
def _add_rms_norm_out(x, residual, weight, eps, offset, out, sum_out):
    _check("add_rms_norm", x, x.shape[-1], out=out, sum_out=sum_out)
    _row_norm("add_rms_norm", _rms_key(x, weight, eps, offset, "new"), x,
              residual, weight, None, (out, sum_out), is_callers=True)


@_op("add_rms_norm_(Tensor x, Tensor(a!) residual, Tensor? weight, float eps, "
     "float offset) -> Tensor",
     lambda x, residual, weight, eps, offset:
     _checked("add_rms_norm_", x, x.shape[-1], _new, residual=residual,
              weight=weight))
def _add_rms_norm_in_place(x, residual, weight, eps, offset):
    out = _new(x)
    _row_norm("add_rms_norm_", _rms_key(x, weight, eps, offset, "in_place"), x,
              residual, weight, None, (out, residual))
    return out


# Quantizing forms.

def _codes(x: Tensor, group: int) -> tuple[Tensor, Tensor]:
    columns = x.shape[-1]
    if group != -1 and (group < 1 or columns % group):
        raise fail(f"group expects -1 or a divisor of {columns} columns but "
                   f"got {group}", "invalid launch")
    scales = 1 if group == -1 else columns // group
    return (torch.empty(x.shape, dtype=_FP8, device=x.device),
            torch.empty((*x.shape[:-1], scales), dtype=torch.float32,
                        device=x.device))


@_op("rms_norm_fp8(Tensor x, Tensor? weight, float eps, float offset, "
     "int group) -> (Tensor, Tensor)",
     lambda x, weight, eps, offset, group:
     _checked("rms_norm_fp8", x, x.shape[-1], lambda x: _codes(x, group),
              weight=weight))
def _rms_norm_fp8(x, weight, eps, offset, group):
    results = _codes(x, group)
    _row_norm("rms_norm_fp8", _rms_key(x, weight, eps, offset, "", group), x,
              None, weight, None, results)
    return results


@_op("add_rms_norm_fp8(Tensor x, Tensor residual, Tensor? weight, float eps, "
     "float offset, int group) -> (Tensor, Tensor, Tensor)",
     lambda x, residual, weight, eps, offset, group:
     _checked("add_rms_norm_fp8", x, x.shape[-1],
              lambda x: (*_codes(x, group), _new(x)), residual=residual,
              weight=weight))
def _add_rms_norm_fp8(x, residual, weight, eps, offset, group):
    results = (*_codes(x, group), _new(x))
    _row_norm("add_rms_norm_fp8", _rms_key(x, weight, eps, offset, "new",
                                           group),
              x, residual, weight, None, results)
    return results


@_op("add_rms_norm_fp8_(Tensor x, Tensor(a!) residual, Tensor? weight, "
     "float eps, float offset, int group) -> (Tensor, Tensor)",
     lambda x, residual, weight, eps, offset, group:
     _checked("add_rms_norm_fp8_", x, x.shape[-1], lambda x: _codes(x, group),
              residual=residual, weight=weight))
def _add_rms_norm_fp8_in_place(x, residual, weight, eps, offset, group):
    results = _codes(x, group)
    _row_norm("add_rms_norm_fp8_", _rms_key(x, weight, eps, offset, "in_place",
                                            group),
              x, residual, weight, None, (*results, residual))
    return results


# Softmax and group norm.

@_op("softmax(Tensor x, int dim) -> Tensor", lambda x, dim: _new(x))
def _softmax(x, dim):
    out = _new(x)
    if dim == -1 and launch_rows((x.shape[-1], x.dtype, True, x.get_device()),
                                 (x, out)):
        return out
    _softmax_out(x, dim, out)
    return out


@_op("softmax_out(Tensor x, int dim, Tensor(a!) out) -> ()", _nothing)
def _softmax_out(x, dim, out):
    extent = x.shape[dim]
    _check("softmax", x, extent, out=out)
    if not x.numel():
        return
    inner = math.prod(x.shape[dim:][1:]) if dim != -1 else 1
    key = Softmax(extent, x.dtype, inner == 1)
    if inner == 1:
        result = _Result(out, extent, apart=(x,))
        launch(key, _rows(x, extent), result.rows)
        result.finish()
        return
    fits = out.is_contiguous() and not _shares(out, (x,))
    result = out if fits else _new(out)
    shape = (-1, extent, inner)
    launch(key, x.contiguous().view(shape), result.view(shape))
    if result is not out:
        out.copy_(result)


def _is_channels_last(x: Tensor) -> bool:
    return not x.is_contiguous() and (
        x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) or
        x.dim() == 5 and x.is_contiguous(memory_format=torch.channels_last_3d))


def _like(x: Tensor) -> Tensor:
    """With the channels where `x` has them."""
    if not _is_channels_last(x):
        return _new(x)
    return torch.empty_like(x, memory_format=torch.channels_last
                            if x.dim() == 4 else torch.channels_last_3d)


@_op("group_norm(Tensor x, int groups, Tensor? weight, Tensor? bias, "
     "float eps) -> Tensor",
     lambda x, groups, weight, bias, eps:
     _checked("group_norm", x, x.shape[1], _like, weight=weight, bias=bias))
def _group_norm(x, groups, weight, bias, eps):
    out = _like(x)
    _group_norm_out(x, groups, weight, bias, eps, out)
    return out


@_op("group_norm_out(Tensor x, int groups, Tensor? weight, Tensor? bias, "
     "float eps, Tensor(a!) out) -> ()",
     lambda x, groups, weight, bias, eps, out:
     _checked("group_norm", x, x.shape[1], _nothing, weight=weight, bias=bias,
              out=out))
def _group_norm_out(x, groups, weight, bias, eps, out):
    channels = x.shape[1]
    _check("group_norm", x, channels, weight=weight, bias=bias, out=out)
    if groups < 1 or channels % groups:
        raise fail(f"groups of group_norm expects a divisor of {channels} "
                   f"channels but got {groups}", "invalid launch")
    if not x.numel():
        return
    samples, space = x.shape[0], math.prod(x.shape[2:])
    is_last = _is_channels_last(x)
    key = GroupNorm(channels, space, groups, x.dtype, _dtype(weight),
                    _dtype(bias), eps, is_last)
    fits = _is_channels_last(out) if is_last else out.is_contiguous()
    fits = fits and not _shares(out, (x,))
    result = out if fits else _like(x)

    def matrix(tensor: Tensor) -> Tensor:
        if is_last:
            return tensor.movedim(1, -1).reshape(samples, space, channels)
        return tensor.reshape(samples, channels, space)

    launch(key, matrix(x if is_last else x.contiguous()), *_flat(weight),
           *_flat(bias), matrix(result))
    if result is not out:
        out.copy_(result)


_PLAIN = frozenset((Tensor, torch.nn.Parameter, type(None)))


def _is_eager(*tensors: Optional[Tensor]) -> bool:
    if torch.compiler.is_compiling():
        return False
    for tensor in tensors:
        if type(tensor) not in _PLAIN:
            if type(tensor).__name__ == "DTensor":
                from ._sharding import declare_shardings
                declare_shardings()
            return False
    c = torch._C
    return not (c._len_torch_dispatch_stack() or c._len_torch_function_stack()
                or c._are_functorch_transforms_active()
                or c._get_tracing_state())
