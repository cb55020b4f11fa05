# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formulas of autograd.

Each is there twice: for the dispatcher, which is what traces and transforms see,
and as a function of autograd that launches at once. The op ..._training keeps
statistics; the one without computes them again in the backward, but for softmax,
of which it keeps the output."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import torch
from torch import Tensor

from .._runtime import fail
from . import _backward
from . import _ops as _forward
from ._ops import _is_eager, _library

_ops = torch.ops.normc
Given = Optional[Tensor]


def _call(name: str, *arguments: Any) -> Any:
    """An op of the backward, without the dispatcher where nobody looks on."""
    if not torch.is_grad_enabled() and _is_eager(
            *[a for a in arguments if isinstance(a, Tensor)]):
        return getattr(_backward, name)(*arguments)
    return getattr(_ops, name)(*arguments)


def _keep(ctx: Any, tensors: tuple[Given, ...], *given: Any) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors)
    ctx.given = given


def _bits(wanted: list[bool]) -> int:
    return sum(is_wanted << place for place, is_wanted in enumerate(wanted))


def _wanted(wanted: list[bool], gradients: tuple[Tensor, ...]) -> list[Given]:
    return [gradient if is_wanted else None
            for is_wanted, gradient in zip(wanted, gradients)]


# Of each op what is kept, given inputs, results and statistics; and the
# gradients of the inputs.

def _rms_setup(ctx, inputs, results, statistics):
    x, weight, eps, offset = inputs
    _keep(ctx, (x, weight, *statistics), eps, offset)


def _rms_backward(ctx, dy=None, *_):
    if dy is None:
        return None, None, None, None
    x, weight, rstd = (*ctx.saved_tensors, None)[:3]
    wanted = list(ctx.needs_input_grad[:2])
    return (*_wanted(wanted, _call("rms_norm_backward", dy, None, x, weight,
                                   rstd, *ctx.given, _bits(wanted))), None,
            None)


def _add_rms_setup(ctx, inputs, results, statistics):
    _, _, weight, eps, offset = inputs
    _keep(ctx, (results[1], weight, *statistics), eps, offset)


def _add_rms_backward(ctx, dy=None, dsum=None, *_):
    total, weight, rstd = (*ctx.saved_tensors, None)[:3]
    is_x, is_residual, is_weight = ctx.needs_input_grad[:3]
    wanted = [is_x or is_residual, is_weight]
    dx, dweight = dsum, None
    if dy is not None:
        dx, dweight = _wanted(wanted, _call(
            "rms_norm_backward", dy, dsum if wanted[0] else None, total, weight,
            rstd, *ctx.given, _bits(wanted)))
    return (dx if is_x else None, dx if is_residual else None, dweight, None,
            None)


def _layer_setup(ctx, inputs, results, statistics):
    x, columns, weight, bias, eps = inputs
    _keep(ctx, (x, weight, bias, *statistics), columns, eps)


def _layer_backward(ctx, dy=None, *_):
    if dy is None:
        return None, None, None, None, None
    x, weight, bias, mean, rstd = (*ctx.saved_tensors, None, None)[:5]
    columns, eps = ctx.given
    is_x, _, is_weight, is_bias = ctx.needs_input_grad[:4]
    wanted = [is_x, is_weight, is_bias]
    dx, dweight, dbias = _wanted(wanted, _call(
        "layer_norm_backward", dy, x, columns, weight, bias, mean, rstd, eps,
        _bits(wanted)))
    return dx, None, dweight, dbias, None


def _softmax_setup(ctx, inputs, results, statistics):
    x, dim = inputs
    _keep(ctx, (x, *statistics), dim)


def _softmax_output_setup(ctx, inputs, results, statistics):
    _keep(ctx, (results[0],), inputs[1])


def _softmax_output_backward(ctx, dy=None, *_):
    if dy is None:
        return None, None
    y, = ctx.saved_tensors
    return _call("softmax_of_output_backward", dy, y, *ctx.given), None


def _softmax_backward(ctx, dy=None, *_):
    if dy is None:
        return None, None
    x, maximum, scale = (*ctx.saved_tensors, None, None)[:3]
    return _call("softmax_backward", dy, x, *ctx.given, maximum, scale), None


def _group_setup(ctx, inputs, results, statistics):
    x, groups, weight, bias, eps = inputs
    _keep(ctx, (x, weight, bias, *statistics), groups, eps)


def _group_backward(ctx, dy=None, *_):
    if dy is None:
        return None, None, None, None, None
    x, weight, bias, mean, rstd = (*ctx.saved_tensors, None, None)[:5]
    groups, eps = ctx.given
    is_x, _, is_weight, is_bias = ctx.needs_input_grad[:4]
    wanted = [is_x, is_weight, is_bias]
    dx, dweight, dbias = _wanted(wanted, _call(
        "group_norm_backward", dy, x, groups, weight, bias, mean, rstd, eps,
        _bits(wanted)))
    return dx, None, dweight, dbias, None


def _refuse(text: str) -> None:
    """Has an op that autograd comes to raise an error."""
    def backward(ctx, *_):
        raise fail(text)

    for name in _refused[text]:
        torch.library.register_autograd(f"normc::{name}", backward,
                                        lib=_library)


_refused = {
    "the gradients of normc.torch have none of their own: expects one backward "
    "but got two": ("rms_norm_backward", "layer_norm_backward",
                    "softmax_backward", "softmax_of_output_backward",
                    "group_norm_backward"),
    "codes of fp8 have no backward, since PyTorch would round their gradient to "
    "fp8 as well": ("rms_norm_fp8", "add_rms_norm_fp8"),
}
for _text in _refused:
    _refuse(_text)


def _register(name: str, run: Callable[..., Any], shown: int,
              setup: Callable[..., None], backward: Callable[..., Any]) -> Any:
    """Teaches the op of a name its formula. Gives what `run`s it as a function of
    autograd, and returns what is `shown` without the statistics."""
    def setup_context(ctx, inputs, output):
        results = output if isinstance(output, tuple) else (output,)
        ctx.mark_non_differentiable(*results[shown:])
        setup(ctx, inputs, results, results[shown:])

    torch.library.register_autograd(f"normc::{name}", backward,
                                    setup_context=setup_context, lib=_library)

    class Direct(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            output = run(*inputs)
            results = output if isinstance(output, tuple) else (output,)
            setup(ctx, inputs, results, results[shown:])
            return results[0] if shown == 1 else results[:shown]

    Direct.backward = staticmethod(backward)
    Direct.__name__ = Direct.__qualname__ = name
    # Without what Function.apply does for transforms, of which there are none.
    return super(torch.autograd.Function, Direct).apply


_direct: dict[str, Any] = {}
for _name, _shown, *_formulas in (
        ("rms_norm", 1, _rms_setup, _rms_backward),
        ("add_rms_norm", 2, _add_rms_setup, _add_rms_backward),
        ("layer_norm", 1, _layer_setup, _layer_backward),
        ("softmax", 1, _softmax_output_setup, _softmax_output_backward,
         _softmax_setup, _softmax_backward),
        ("group_norm", 1, _group_setup, _group_backward)):
    _direct[_name] = _register(_name, getattr(_forward, f"_{_name}"), _shown,
                               *_formulas[:2])
    _direct[f"{_name}_training"] = _register(
        f"{_name}_training", getattr(_backward, f"{_name}_training"), _shown,
        *_formulas[-2:])


def is_training(*tensors: Given) -> bool:
    """Whether somebody wants gradients."""
    if torch.is_grad_enabled():
        for tensor in tensors:
            if tensor is not None and tensor.requires_grad:
                return True
    return False


def train(op: str, save: str, out: Any,
          *inputs: Any) -> Union[Tensor, tuple[Tensor, ...]]:
    """An op on its inputs, with gradients."""
    if out is not None:
        raise fail(f"{op} with out= has no backward; leave it out, or call "
                   f"{op} under torch.no_grad()")
    other = "output" if op == "softmax" else "none"
    if save not in ("statistics", other):
        raise fail(f"save of {op} expects statistics or {other} but got "
                   f"{save!r}")
    name = f"{op}_training" if save == "statistics" else op
    if _is_eager(*[t for t in inputs if isinstance(t, Tensor)]):
        return _direct[name](*inputs)
    results = getattr(_ops, name)(*inputs)
    if op == "add_rms_norm":
        return results[0], results[1]
    return results[0] if save == "statistics" else results


def forward_only(op: str, instead: str, *tensors: Given) -> None:
    """Refuses gradients."""
    if is_training(*tensors):
        raise fail(f"{op} has no backward; {instead}")
