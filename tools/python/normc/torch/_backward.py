# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops that keep statistics for the backward, and those of the backward."""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from .._runtime import fail
from ._ops import (_check, _dtype, _flat, _is_channels_last, _like, _new, _op,
                   _rms_key, _rows)
from ._programs import (Backward, GroupNorm, Key, RowNorm, Softmax,
                        SoftmaxOfOutput, Training, launch, launch_rows)

Gradients = tuple[Tensor, ...]
_NUMBERS = tuple(tuple(range(count)) for count in range(4))


def _wide(*operands: Optional[Tensor]) -> torch.dtype:
    """The dtype of statistics."""
    for operand in operands:
        if operand is not None and operand.dtype == torch.float64:
            return torch.float64
    return torch.float32


def _lead(x: Tensor, columns: int) -> Sequence[int]:
    """The extents of the axes before those that are normalized."""
    axis, count = len(x.shape), 1
    while axis and count < columns:
        axis -= 1
        count *= x.shape[axis]
    return x.shape[:axis]


def _statistics(x: Tensor, shape: Sequence[int], count: int,
                *vectors: Optional[Tensor]) -> Gradients:
    dtype, device = _wide(x, *vectors), x.device
    return tuple([torch.empty(shape, dtype=dtype, device=device)
                  for _ in range(count)])


# How tensors become operands of a program: matrices whose rows are one after
# the other, channels by space, ...

class _Layout(NamedTuple):
    operand: Callable[[Tensor], Tensor]  #: of a tensor of x's shape
    statistic: Sequence[int]             #: shape of a statistic
    like: Callable[[Tensor], Tensor] = _new
    is_rows: bool = False                #: whether `launch_rows` can do it


@functools.lru_cache(maxsize=None)
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


def _make_training(fields: tuple[Any, ...]) -> Training:
    return Training(*fields)


def _make_backward(fields: tuple[Any, ...]) -> Backward:
    return Backward(*fields)


def _training(key: Key, inputs: tuple[Tensor, ...],
              results: tuple[Tensor, ...], layout: _Layout, count: int,
              num_rows: int) -> None:
    """Runs an op that returns `count` statistics too. Of the inputs the first
    `num_rows` are of x's shape, the others are vectors."""
    if not inputs[0].numel():
        return
    wrt = _NUMBERS[len(inputs)]
    if layout.is_rows and launch_rows((key, wrt, inputs[0].get_device()),
                                      (*inputs, *results), _make_training):
        return
    rows, vectors = inputs[:num_rows], inputs[num_rows:]
    shown = results[:len(results) - count]
    launch(Training(key, wrt), *(layout.operand(t) for t in rows),
           *(_flat(vector)[0] for vector in vectors),
           *(layout.operand(t) for t in shown),
           *(t.view(layout.statistic) for t in results[len(shown):]))


def _make_own(fields: tuple[Any, ...]) -> Any:
    return fields[0]


def _fit_cotangents(op: str, like: Tensor, cotangents: tuple[Tensor, ...],
                    ) -> tuple[Tensor, ...]:
    for dy in cotangents:
        if dy.shape != like.shape or dy.device != like.device:
            raise fail(f"the cotangent of {op} expects {tuple(like.shape)} on "
                       f"{like.device} but got {tuple(dy.shape)} on "
                       f"{dy.device}", "invalid launch")
        if dy.dtype != like.dtype:
            return tuple(dy.to(like.dtype) for dy in cotangents)
    return cotangents


# Which gradients are wanted is a number with a bit for each, since DTensor takes
# account of numbers only.

@functools.lru_cache(maxsize=None)
def _plan(key: Key, present: tuple[bool, ...], wanted: int, saves: bool,
          ) -> tuple[Optional[Backward], list[int], list[tuple[str, int]]]:
    """The program for the wanted gradients of operands that are present, the
    places of these gradients, and what the program takes."""
    places = [place for place, is_present in enumerate(present) if is_present]
    wrt = tuple(number for number, place in enumerate(places)
                if wanted >> place & 1)
    if not wrt:
        return None, [], []
    program = Backward(key, wrt, saves)
    return program, [places[number] for number in wrt], program.takes()


def _gradients(op: str, key: Key, x: Tensor, vectors: tuple[
        Optional[Tensor], ...], saved: tuple[Optional[Tensor], ...],
        cotangents: tuple[Tensor, ...], wanted: int,
        layout: _Layout) -> Gradients:
    """The gradients of x and the vectors: an empty tensor for one that isn't
    wanted, or whose vector there isn't."""
    cotangents = _fit_cotangents(op, x, cotangents)
    operands = (x, *vectors)
    kept = tuple([t for t in saved if t is not None])
    program, places, takes = _plan(
        key, tuple([t is not None for t in operands]), wanted, bool(kept))
    gradients = [
        layout.like(x) if place == 0 and 0 in places else
        torch.empty_like(t, memory_format=torch.contiguous_format)
        if place in places else
        torch.empty(0, dtype=x.dtype if t is None else t.dtype, device=x.device)
        for place, t in enumerate(operands)]
    if program is None:
        return tuple(gradients)
    if not x.numel():
        return tuple(gradient.zero_() for gradient in gradients)
    given = {"input": [t for t in operands if t is not None], "saved": kept,
             "cotangent": cotangents}
    arguments = tuple([given[role][number] for role, number in takes])
    results = tuple([gradients[place] for place in places])
    if layout.is_rows and launch_rows((*program, x.get_device()),
                                      (*arguments, *results), _make_backward):
        return tuple(gradients)

    def fit(role: str, number: int) -> Tensor:
        tensor = given[role][number]
        if role == "saved":
            return tensor.reshape(layout.statistic).contiguous()
        return layout.operand(tensor) if role == "cotangent" or not number \
            else _flat(tensor)[0]

    launch(program, *(fit(*which) for which in takes),
           *(gradient.view(-1) if place else layout.operand(gradient)
             for place, gradient in zip(places, results)))
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
    return (*[_new(x) for _ in range(shown)],
            *_statistics(x, _lead(x, columns), kept, *others.values()))


def _train_rows(op: str, key: RowNorm, x: Tensor, residual: Optional[Tensor],
                weight: Optional[Tensor], bias: Optional[Tensor],
                kept: int) -> Gradients:
    """A norm of rows with its statistics. What doesn't fit the short way is
    checked and copied on the long one."""
    columns = key.columns
    inputs = tuple([t for t in (x, residual, weight, bias) if t is not None])
    results = (*[_new(x) for _ in range(1 if residual is None else 2)],
               *_statistics(x, _lead(x, columns), kept, weight, bias))
    if (residual is None or residual.shape == x.shape) and launch_rows(
            (key, _NUMBERS[len(inputs)], x.get_device()), (*inputs, *results),
            _make_training):
        return results
    _check(op, x, columns, residual=residual, weight=weight, bias=bias)
    _training(key, inputs, results, _row_layout(columns), kept,
              1 if residual is None else 2)
    return results


@_op("rms_norm_training(Tensor x, Tensor? weight, float eps, float offset) "
     "-> (Tensor, Tensor)", lambda x, weight, eps, offset:
     _fake_rows("rms_norm", x, x.shape[-1], 1, 1, weight=weight))
def rms_norm_training(x, weight, eps, offset):
    key = _rms_key(x, weight, eps, offset)
    return _train_rows("rms_norm", key, x, None, weight, None, 1)


@_op("add_rms_norm_training(Tensor x, Tensor residual, Tensor? weight, "
     "float eps, float offset) -> (Tensor, Tensor, Tensor)",
     lambda x, residual, weight, eps, offset:
     _fake_rows("add_rms_norm", x, x.shape[-1], 2, 1, residual=residual,
                weight=weight))
def add_rms_norm_training(x, residual, weight, eps, offset):
    key = _rms_key(x, weight, eps, offset, "new")
    return _train_rows("add_rms_norm", key, x, residual, weight, None, 1)


@_op("layer_norm_training(Tensor x, int columns, Tensor? weight, "
     "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     lambda x, columns, weight, bias, eps:
     _fake_rows("layer_norm", x, columns, 1, 2, weight=weight, bias=bias))
def layer_norm_training(x, columns, weight, bias, eps):
    key = RowNorm("layer_norm", columns, x.dtype, _dtype(weight), _dtype(bias),
                  eps)
    return _train_rows("layer_norm", key, x, None, weight, bias, 2)


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


@_op("softmax_of_output_backward(Tensor dy, Tensor y, int dim) -> Tensor",
     lambda dy, y, dim: _new(y))
def softmax_of_output_backward(dy, y, dim):
    dx = _new(y)
    dy, = _fit_cotangents("softmax", y, (dy,))
    if not y.numel():
        return dx
    key = SoftmaxOfOutput(y.shape[dim], y.dtype, dim == -1)
    layout = _softmax_layout(y, dim)
    if not layout.is_rows or not launch_rows((key, y.get_device()),
                                             (y, dy, dx), _make_own):
        launch(key, *(layout.operand(t) for t in (y, dy, dx)))
    return dx


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
    return (_like(x), *_statistics(x, (x.shape[0], groups), 2, weight, bias))


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
