# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops of fused programs, by their texts: rows of one shape, and vectors.

With gradients there are two texts: that of the whole, which runs, and that of the
rest, which is differentiated. They are the same, or the whole begins with a sum of
its first two operands that is its first result: then this sum is the rest's first
operand, so that it is kept in the place of two."""

from __future__ import annotations

import functools
from typing import NamedTuple, Optional

import torch
from torch import Tensor

from .._derivative import Derivative, differentiate
from .._runtime import fail
from ._ops import _library, _op, _rows
from ._programs import launch


class _Text(NamedTuple):
    """A program by its text."""
    source: str

    def text(self) -> str:
        return self.source


@functools.lru_cache(maxsize=None)
def _derivative(source: str, wrt: tuple[int, ...]) -> Derivative:
    return differentiate(source, wrt=wrt, save="statistics")


class _Training(NamedTuple):
    """The program with statistics as further results."""
    source: str
    count: int  #: of its operands

    def text(self) -> str:
        return self._derivative.text

    @property
    def entry(self) -> str:
        return self._derivative.forward.entry

    @property
    def _derivative(self) -> Derivative:
        return _derivative(self.source, tuple(range(self.count)))

    def saved(self) -> list[torch.dtype]:
        return [torch.float64 if value.type.endswith("f64>") else torch.float32
                for value in self._derivative.forward.results
                if value.role == "saved"]


class _Backward(NamedTuple):
    source: str
    wrt: tuple[int, ...]

    def text(self) -> str:
        return _derivative(*self).text

    @property
    def entry(self) -> str:
        return _derivative(*self).backward.entry

    def takes(self) -> list[tuple[str, int]]:
        return [(value.role, value.number)
                for value in _derivative(*self).backward.arguments]


def statistics_of(whole: str, rest: str, count: int) -> Optional[int]:
    """How many statistics the whole of `count` operands keeps; None where the
    rest would read others."""
    fewer = count - (whole != rest)
    kept = _Training(whole, count).saved()
    if kept != _Training(rest, fewer).saved():
        return None
    return len(kept)


def _results(x: Tensor, dtypes: list[str]) -> list[Tensor]:
    return [torch.empty(x.shape, dtype=getattr(torch, dtype), device=x.device)
            for dtype in dtypes]


def _flat(vectors: list[Tensor]) -> list[Tensor]:
    return [vector.reshape(-1).contiguous() for vector in vectors]


@_op("program(str text, Tensor[] rows, Tensor[] vectors, int columns, "
     "str[] dtypes) -> Tensor[]",
     lambda text, rows, vectors, columns, dtypes: _results(rows[0], dtypes))
def _program(text, rows, vectors, columns, dtypes):
    results = _results(rows[0], dtypes)
    if rows[0].numel():
        launch(_Text(text), *(_rows(row, columns) for row in rows),
               *_flat(vectors), *(result.view(-1, columns)
                                  for result in results))
    return results


def _training_results(whole: str, rows: list[Tensor], vectors: list[Tensor],
                      dtypes: list[str]) -> list[Tensor]:
    saved = _Training(whole, len(rows) + len(vectors)).saved()
    return [*_results(rows[0], dtypes), *(
        torch.empty(rows[0].shape[:-1], dtype=dtype, device=rows[0].device)
        for dtype in saved)]


@_op("program_training(str whole, str rest, Tensor[] rows, Tensor[] vectors, "
     "int columns, str[] dtypes) -> Tensor[]",
     lambda whole, rest, rows, vectors, columns, dtypes:
     _training_results(whole, rows, vectors, dtypes))
def _program_training(whole, rest, rows, vectors, columns, dtypes):
    results = _training_results(whole, rows, vectors, dtypes)
    if rows[0].numel():
        launch(_Training(whole, len(rows) + len(vectors)),
               *(_rows(row, columns).contiguous() for row in rows),
               *_flat(vectors),
               *(result.view(-1, columns) for result in results[:len(dtypes)]),
               *(saved.view(-1) for saved in results[len(dtypes):]))
    return results


def _gradients(rows: list[Tensor], vectors: list[Tensor],
               wrt: list[int]) -> list[Tensor]:
    operands = [*rows, *vectors]
    return [torch.empty(operands[i].shape, dtype=operands[i].dtype,
                        device=operands[i].device) for i in wrt]


@_op("program_backward(str rest, Tensor[] rows, Tensor[] vectors, "
     "Tensor[] saved, Tensor[] cotangents, int columns, int[] wrt) -> Tensor[]",
     lambda rest, rows, vectors, saved, cotangents, columns, wrt:
     _gradients(rows, vectors, wrt))
def _program_backward(rest, rows, vectors, saved, cotangents, columns, wrt):
    gradients = _gradients(rows, vectors, wrt)
    if not rows[0].numel():
        return [gradient.zero_() for gradient in gradients]
    program = _Backward(rest, tuple(wrt))
    operands = {
        "input": [*(_rows(row, columns).contiguous() for row in rows),
                  *_flat(vectors)],
        "saved": [t.reshape(-1).contiguous() for t in saved],
        "cotangent": [_rows(dy, columns).contiguous() for dy in cotangents]}
    launch(program, *(operands[role][number]
                      for role, number in program.takes()),
           *(gradient.view(-1, columns) if i < len(rows) else gradient.view(-1)
             for i, gradient in zip(wrt, gradients)))
    return gradients


def _setup(ctx, inputs, output):
    whole, rest, rows, vectors, columns, dtypes = inputs
    shown, saved = output[:len(dtypes)], output[len(dtypes):]
    ctx.mark_non_differentiable(*saved)
    ctx.set_materialize_grads(False)
    kept = rows if whole == rest else [shown[0], *rows[2:]]
    ctx.save_for_backward(*kept, *vectors, *saved)
    ctx.given = (rest, len(rows) - len(kept), len(kept), len(vectors), columns,
                 [(result.shape, result.dtype) for result in shown])


def _backward(ctx, gradients):
    rest, cut, num_rows, num_vectors, columns, shown = ctx.given
    tensors = list(ctx.saved_tensors)
    rows, vectors, saved = (tensors[:num_rows],
                            tensors[num_rows:num_rows + num_vectors],
                            tensors[num_rows + num_vectors:])
    _, _, of_rows, of_vectors, _, _ = ctx.needs_input_grad
    wanted = [any(of_rows[:2]), *of_rows[2:]] if cut else list(of_rows)
    wanted += of_vectors
    wrt = [i for i, is_wanted in enumerate(wanted) if is_wanted]
    found: list[Optional[Tensor]] = [None] * len(wanted)
    if wrt and any(dy is not None for dy in gradients):
        cotangents = [
            rows[0].new_zeros(shape, dtype=dtype) if dy is None else dy
            for dy, (shape, dtype) in zip(gradients, shown)]
        for i, gradient in zip(wrt, torch.ops.normc.program_backward(
                rest, rows, vectors, saved, cotangents, columns, wrt)):
            found[i] = gradient
    first = [found[0] if is_wanted else None
             for is_wanted in of_rows[:2]] if cut else [found[0]]
    return (None, None, [*first, *found[1:num_rows]], found[num_rows:], None,
            None)


torch.library.register_autograd("normc::program_training", _backward,
                                setup_context=_setup, lib=_library)


def _no_second(ctx, *_):
    raise fail("the gradients of normc.torch have none of their own: expects one "
               "backward but got two")


def _no_first(ctx, *_):
    raise fail("a program that was fused for no gradients has none; call fuse "
               "with training=True")


torch.library.register_autograd("normc::program_backward", _no_second,
                                lib=_library)
torch.library.register_autograd("normc::program", _no_first, lib=_library)
