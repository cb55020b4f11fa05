# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops that keep statistics for the backward, and those of the backward."""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from .._runtime import fail
from ._ops import (_check, _dtype, _flat, _is_channels_last, _is_eager, _like,
                   _new, _op, _rms_key, _rows)
from ._programs import (Backward, GroupNorm, Key, RowNorm, Softmax, Training,
                        launch, launch_rows)

Gradients = tuple[Tensor, ...]


def _wide(x: Tensor) -> torch.dtype:
    """Of statistics."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _lead(x: Tensor, columns: int) -> Sequence[int]:
    """The extents of the axes before those that are normalized."""
    axis, count = len(x.shape), 1
    while axis and count < columns:
        axis -= 1
        count *= x.shape[axis]
    return x.shape[:axis]


def _statistics(x: Tensor, shape: Sequence[int], count: int) -> Gradients:
    return tuple(torch.empty(shape, dtype=_wide(x), device=x.device)
                 for _ in range(count))


# How tensors become operands of a program: matrices whose rows are one after
# the other, channels by space, ...

class _Layout(NamedTuple):
    operand: Callable[[Tensor], Tensor]  #: of a tensor of x's shape
    statistic: Sequence[int]             #: shape of a statistic
    like: Callable[[Tensor], Tensor] = _new
    is_rows: bool = False                #: whether `launch_rows` can do it


def _row_layout(columns: int) -> _Layout:
    return _Layout(lambda t: _rows(t, columns).contiguous(), (-1,),
                   is_rows=True)


def _softmax_layout(x: Tensor, dim: int) -> _Layout:
    if dim == -1:
        return _row_layout(x.shape[-1])
    inner = math.prod(x.shape[dim:][1:])
    return _Layout(lambda t: t.contiguous().view(-1, x.shape[dim], inner),
                   (-1, inner))


def _group_layout(x: Tensor, groups: int) -> _Layout:
    samples, channels, space = x.shape[0], x.shape[1], math.prod(x.shape[2:])

    def operand(tensor: Tensor) -> Tensor:
        if not _is_channels_last(x):
            return tensor.contiguous().view(samples, channels, space)
        if not _is_channels_last(tensor):
            tensor = tensor.contiguous(
                memory_format=torch.channels_last if x.dim() == 4 else
                torch.channels_last_3d)
        return tensor.movedim(1, -1).reshape(samples, space, channels)

    return _Layout(operand, (samples, groups), _like)


def _training(key: Key, inputs: tuple[Tensor, ...],
              results: tuple[Tensor, ...], layout: _Layout, count: int,
              num_rows: int) -> None:
    """Runs an op that returns `count` statistics too. Of the inputs the first
    `num_rows` are of x's shape, the others are vectors."""
    if not inputs[0].numel():
        return
    arguments = (*inputs, *results)
    wrt = tuple(range(len(inputs)))
    if layout.is_rows and _is_eager(*arguments) and launch_rows(
            (key, wrt, inputs[0].get_device()), arguments,
            lambda fields: Training(*fields)):
        return
    rows, vectors = inputs[:num_rows], inputs[num_rows:]
    shown = results[:len(results) - count]
    launch(Training(key, wrt), *(layout.operand(t) for t in rows),
           *(_flat(vector)[0] for vector in vectors),
           *(layout.operand(t) for t in shown),
           *(t.view(layout.statistic) for t in results[len(shown):]))


# Which gradients are wanted is a number with a bit for each, since DTensor takes
# account of numbers only.

def _gradients(op: str, key: Key, x: Tensor, vectors: tuple[
        Optional[Tensor], ...], saved: tuple[Optional[Tensor], ...],
        cotangents: tuple[Tensor, ...], wanted: int,
        layout: _Layout) -> Gradients:
    """The gradients of x and the vectors: an empty tensor for one that isn't
    wanted, or whose vector there isn't."""
    for i, dy in enumerate(cotangents):
        if dy.shape != x.shape or dy.device != x.device:
            raise fail(f"the cotangent of {op} expects {tuple(x.shape)} on "
                       f"{x.device} but got {tuple(dy.shape)} on {dy.device}",
                       "invalid launch")
    cotangents = tuple(dy if dy.dtype == x.dtype else dy.to(x.dtype)
                       for dy in cotangents)
    given = [x, *(vector for vector in vectors if vector is not None)]
    places = [place for place, t in enumerate((x, *vectors)) if t is not None]
    gradients = [
        torch.empty(0, dtype=x.dtype if t is None else t.dtype, device=x.device)
        if t is None or not wanted >> place & 1 else
        layout.like(x) if t is x else
        torch.empty(t.shape, dtype=t.dtype, device=x.device)
        for place, t in enumerate((x, *vectors))]
    wrt = tuple(number for number, place in enumerate(places)
                if wanted >> place & 1)
    if not wrt:
        return tuple(gradients)
    if not x.numel():
        return tuple(gradient.zero_() for gradient in gradients)
    kept = tuple(t for t in saved if t is not None)
    results = tuple(gradients[places[number]] for number in wrt)
    program = Backward(key, wrt, bool(kept))
    operands = {"input": given, "saved": kept, "cotangent": cotangents}
    takes = program.takes()
    arguments = tuple(operands[role][number] for role, number in takes)
    if layout.is_rows and _is_eager(*arguments) and launch_rows(
            (*program, x.get_device()), (*arguments, *results),
            lambda fields: Backward(*fields)):
        return tuple(gradients)

    def fit(role: str, number: int) -> Tensor:
        tensor = operands[role][number]
        if role == "saved":
            return tensor.reshape(layout.statistic).contiguous()
        return layout.operand(tensor) if role == "cotangent" or not number \
            else _flat(tensor)[0]

    launch(program, *(fit(*which) for which in takes),
           *(gradient.view(-1) if number else layout.operand(gradient)
             for number, gradient in zip(wrt, results)))
    return tuple(gradients)


def _fake_gradients(x: Tensor, vectors: tuple[Optional[Tensor], ...],
              wanted: int,
              like: Callable[[Tensor], Tensor] = _new) -> Gradients:
    """What the fakes give."""
    return tuple(
        x.new_empty(0, dtype=x.dtype if t is None else t.dtype)
        if t is None or not wanted >> place & 1 else
        like(x) if t is x else x.new_empty(t.shape, dtype=t.dtype)
        for place, t in enumerate((x, *vectors)))


# Norms of rows.

def _fake_rows(op: str, x: Tensor, columns: int, shown: int, kept: int,
               **others: Optional[Tensor]) -> Gradients:
    _check(op, x, columns, **others)
    return (*(_new(x) for _ in range(shown)),
            *_statistics(x, _lead(x, columns), kept))


@_op("rms_norm_training(Tensor x, Tensor? weight, float eps, float offset) "
     "-> (Tensor, Tensor)", lambda x, weight, eps, offset:
     _fake_rows("rms_norm", x, x.shape[-1], 1, 1, weight=weight))
def rms_norm_training(x, weight, eps, offset):
    columns = x.shape[-1]
    results = _fake_rows("rms_norm", x, columns, 1, 1, weight=weight)
    _training(_rms_key(x, weight, eps, offset),
              (x,) if weight is None else (x, weight), results,
              _row_layout(columns), 1, 1)
    return results


@_op("add_rms_norm_training(Tensor x, Tensor residual, Tensor? weight, "
     "float eps, float offset) -> (Tensor, Tensor, Tensor)",
     lambda x, residual, weight, eps, offset:
     _fake_rows("add_rms_norm", x, x.shape[-1], 2, 1, residual=residual,
                weight=weight))
def add_rms_norm_training(x, residual, weight, eps, offset):
    columns = x.shape[-1]
    results = _fake_rows("add_rms_norm", x, columns, 2, 1, residual=residual,
                         weight=weight)
    _training(_rms_key(x, weight, eps, offset, "new"),
              (x, residual) if weight is None else (x, residual, weight),
              results, _row_layout(columns), 1, 2)
    return results


@_op("layer_norm_training(Tensor x, int columns, Tensor? weight, "
     "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     lambda x, columns, weight, bias, eps:
     _fake_rows("layer_norm", x, columns, 1, 2, weight=weight, bias=bias))
def layer_norm_training(x, columns, weight, bias, eps):
    results = _fake_rows("layer_norm", x, columns, 1, 2, weight=weight,
                         bias=bias)
    key = RowNorm("layer_norm", columns, x.dtype, _dtype(weight), _dtype(bias),
                  eps)
    _training(key, tuple(t for t in (x, weight, bias) if t is not None),
              results, _row_layout(columns), 2, 1)
    return results


@_op("rms_norm_backward(Tensor dy, Tensor? dsum, Tensor x, Tensor? weight, "
     "Tensor? rstd, float eps, float offset, int wanted) "
     "-> (Tensor, Tensor)",
     lambda dy, dsum, x, weight, rstd, eps, offset, wanted:
     _fake_gradients(x, (weight,), wanted))
def rms_norm_backward(dy, dsum, x, weight, rstd, eps, offset, wanted):
    """With `dsum`, the cotangent of x itself, which is added."""
    key = _rms_key(x, weight, eps, offset, "" if dsum is None else "through")
    return _gradients("rms_norm", key, x, (weight,), (rstd,),
                      (dy,) if dsum is None else (dy, dsum), wanted,
                      _row_layout(key.columns))


@_op("layer_norm_backward(Tensor dy, Tensor x, int columns, Tensor? weight, "
     "Tensor? bias, Tensor? mean, Tensor? rstd, float eps, int wanted) "
     "-> (Tensor, Tensor, Tensor)",
     lambda dy, x, columns, weight, bias, mean, rstd, eps, wanted:
     _fake_gradients(x, (weight, bias), wanted))
def layer_norm_backward(dy, x, columns, weight, bias, mean, rstd, eps, wanted):
    key = RowNorm("layer_norm", columns, x.dtype, _dtype(weight), _dtype(bias),
                  eps)
    return _gradients("layer_norm", key, x, (weight, bias), (mean, rstd),
                      (dy,), wanted, _row_layout(columns))


# Softmax and group norm.

def _softmax_key(x: Tensor, dim: int) -> Softmax:
    return Softmax(x.shape[dim], x.dtype, dim == -1)


def _fake_softmax(x: Tensor, dim: int) -> Gradients:
    return (_new(x), *_statistics(
        x, [n for axis, n in enumerate(x.shape) if axis != dim % x.dim()], 2))


@_op("softmax_training(Tensor x, int dim) -> (Tensor, Tensor, Tensor)",
     _fake_softmax)
def softmax_training(x, dim):
    _check("softmax", x, x.shape[dim])
    results = _fake_softmax(x, dim)
    _training(_softmax_key(x, dim), (x,), results, _softmax_layout(x, dim), 2,
              1)
    return results


@_op("softmax_backward(Tensor dy, Tensor x, int dim, Tensor? maximum, "
     "Tensor? scale) -> Tensor",
     lambda dy, x, dim, maximum, scale: _new(x))
def softmax_backward(dy, x, dim, maximum, scale):
    """`scale` is 1 / the sum of the exponentials."""
    return _gradients("softmax", _softmax_key(x, dim), x, (),
                      (maximum, scale), (dy,), 1,
                      _softmax_layout(x, dim))[0]


def _group_key(x: Tensor, groups: int, weight: Optional[Tensor],
               bias: Optional[Tensor], eps: float) -> GroupNorm:
    return GroupNorm(x.shape[1], math.prod(x.shape[2:]), groups, x.dtype,
                     _dtype(weight), _dtype(bias), eps, _is_channels_last(x))


def _fake_group(x: Tensor, groups: int, weight: Optional[Tensor],
                bias: Optional[Tensor], eps: float) -> Gradients:
    channels = x.shape[1]
    _check("group_norm", x, channels, weight=weight, bias=bias)
    if groups < 1 or channels % groups:
        raise fail(f"groups of group_norm expects a divisor of {channels} "
                   f"channels but got {groups}", "invalid launch")
    return (_like(x), *_statistics(x, (x.shape[0], groups), 2))


@_op("group_norm_training(Tensor x, int groups, Tensor? weight, Tensor? bias, "
     "float eps) -> (Tensor, Tensor, Tensor)", _fake_group)
def group_norm_training(x, groups, weight, bias, eps):
    results = _fake_group(x, groups, weight, bias, eps)
    if not _is_channels_last(x):
        x = x.contiguous()
    _training(_group_key(x, groups, weight, bias, eps),
              tuple(t for t in (x, weight, bias) if t is not None), results,
              _group_layout(x, groups), 2, 1)
    return results


@_op("group_norm_backward(Tensor dy, Tensor x, int groups, Tensor? weight, "
     "Tensor? bias, Tensor? mean, Tensor? rstd, float eps, int wanted) "
     "-> (Tensor, Tensor, Tensor)",
     lambda dy, x, groups, weight, bias, mean, rstd, eps, wanted:
     _fake_gradients(x, (weight, bias), wanted, _like))
def group_norm_backward(dy, x, groups, weight, bias, mean, rstd, eps, wanted):
    return _gradients("group_norm", _group_key(x, groups, weight, bias, eps),
                      x, (weight, bias), (mean, rstd), (dy,), wanted,
                      _group_layout(x, groups))
