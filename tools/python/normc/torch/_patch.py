# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replaces the norms of a model."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from . import _functions
from ._programs import DTYPES

#: None where the module's own forward is to run.
Run = Callable[[nn.Module, Tensor], Optional[Tensor]]


@dataclasses.dataclass
class PatchReport:
    """What `patch` did, by the names of modules."""
    replaced: dict[str, str] = dataclasses.field(default_factory=dict)
    left: dict[str, str] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"replaced {len(self.replaced)}, left {len(self.left)} alone"]
        lines += [f"  {name or '(model)'}: {what}"
                  for name, what in self.replaced.items()]
        lines += [f"  {name or '(model)'}: left alone, {why}"
                  for name, why in self.left.items()]
        return "\n".join(lines)


def _takes(x: Tensor, weight: Optional[Tensor],
           bias: Optional[Tensor] = None) -> bool:
    """Whether the ops do what PyTorch would: the same dtypes throughout, no
    autocast."""
    dtype = x.dtype
    if weight is None:
        if dtype not in DTYPES:
            return False
    elif weight.dtype != dtype or bias is not None and bias.dtype != dtype:
        return False
    return not torch.is_autocast_enabled("cuda" if x.is_cuda else "cpu")


# How a module runs. What torch.compile sees must be constants: of numbers it
# makes inputs where shapes are dynamic, but not of texts.

def _layer_norm(module: nn.Module, save: str) -> Run:
    axes, eps = len(module.normalized_shape), repr(float(module.eps))

    def run(module: nn.Module, x: Tensor) -> Optional[Tensor]:
        if (tuple(x.shape[-axes:]) != module.normalized_shape or
                not _takes(x, module.weight, module.bias)):
            return None
        return _functions.layer_norm(x, module.weight, module.bias, float(eps),
                                     axes=axes, save=save)
    return run


def _rms_norm(module: nn.Module, save: str) -> Run:
    eps = "" if module.eps is None else repr(float(module.eps))

    def run(module: nn.Module, x: Tensor) -> Optional[Tensor]:
        if (x.shape[-1:] != module.normalized_shape or
                not _takes(x, module.weight)):
            return None
        return _functions.rms_norm(x, module.weight, float(eps) if eps else
                                   torch.finfo(x.dtype).eps, save=save)
    return run


def _group_norm(module: nn.Module, save: str) -> Run:
    eps = repr(float(module.eps))

    def run(module: nn.Module, x: Tensor) -> Optional[Tensor]:
        if (x.dim() < 2 or x.shape[1] != module.num_channels or
                not _takes(x, module.weight, module.bias)):
            return None
        return _functions.group_norm(x, module.num_groups, module.weight,
                                     module.bias, float(eps), save=save)
    return run


def _weighted(given: float, more: float, save: str) -> Run:
    """An RMSNorm that isn't PyTorch's own class."""
    eps, offset = repr(given), repr(more)

    def run(module: nn.Module, x: Tensor) -> Optional[Tensor]:
        if (x.shape[-1] != module.weight.shape[0] or
                not _takes(x, module.weight)):
            return None
        return _functions.rms_norm(x, module.weight, float(eps),
                                   offset=float(offset), save=save)
    return run


def _eps_of(module: nn.Module) -> Optional[float]:
    for name in ("variance_epsilon", "eps", "epsilon"):
        value = getattr(module, name, None)
        if isinstance(value, float):
            return value
    return None


def _probe(module: nn.Module, eps: float) -> Optional[float]:
    """The offset of the weight with which the formula gives what the module's
    own forward does with two rows; None if there is none."""
    weight = module.weight.detach()
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, weight.shape[0], generator=generator)
    # Rows of small and large values tell where eps stands.
    x = (x * torch.tensor([[math.sqrt(eps)], [3.0]])).to(weight)
    try:
        with torch.no_grad():
            got = module.forward(x.clone()).double()
    except Exception:  # whatever an unknown module raises
        return None
    if got.shape != x.shape:
        return None
    wide = x.double()
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    near = 4 * torch.finfo(weight.dtype).eps
    for offset in (0.0, 1.0):
        want = normed * (weight.double() + offset)
        if torch.allclose(got, want, rtol=near,
                          atol=near * float(want.abs().max()) + 1e-30):
            return offset
    return None


def _plan(module: nn.Module, save: str) -> tuple[Optional[Run], str]:
    """How to run the module, and what that is; or why not."""
    kind = type(module)
    for base, make, what in ((nn.LayerNorm, _layer_norm, "layer_norm"),
                            (getattr(nn, "RMSNorm", None), _rms_norm,
                             "rms_norm"),
                            (nn.GroupNorm, _group_norm, "group_norm")):
        if base is None or not isinstance(module, base):
            continue
        if kind.forward is not base.forward:
            return None, f"{kind.__name__} has a forward of its own"
        if what == "rms_norm" and len(module.normalized_shape) != 1:
            return None, "it normalizes several axes"
        weight = module.weight
        if weight is not None and weight.dtype not in DTYPES:
            return None, f"its weight is {weight.dtype}"
        return make(module, save), what
    if not kind.__name__.endswith(("RMSNorm", "RmsNorm", "T5LayerNorm")):
        return None, f"{kind.__name__} isn't a norm that normc.torch has"
    parameters = dict(module.named_parameters(recurse=False))
    weight = parameters.get("weight")
    if list(parameters) != ["weight"] or weight.dim() != 1:
        return None, "it hasn't one weight alone"
    if weight.dtype not in DTYPES or weight.device.type not in ("cpu", "cuda"):
        return None, f"its weight is {weight.dtype} on {weight.device}"
    required = [p for p in
                inspect.signature(kind.forward).parameters.values()
                if p.default is p.empty and
                p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(required) != 2:
        return None, "its forward takes more than one tensor"
    eps = _eps_of(module)
    if eps is None:
        return None, "it has no variance_epsilon, eps or epsilon"
    offset = _probe(module, eps)
    if offset is None:
        return None, "its forward isn't x * rsqrt(mean(x^2) + eps) * weight"
    return _weighted(eps, offset, save), "rms_norm" + (
        " with the weight + 1" if offset else "")


def _replacement(kind: type, run: Run) -> type:
    """The module's class with another forward, which falls back to its own."""
    own = kind.forward

    def forward(self: nn.Module, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            y = run(self, x)
            if y is not None:
                return y
        return own(self, x, *args, **kwargs)

    return type(kind.__name__, (kind,),
                {"forward": forward, "_normc_own_class": kind,
                 "__module__": kind.__module__, "__doc__": kind.__doc__})


def patch(model: nn.Module, *, save: str = "statistics") -> PatchReport:
    """Lets the norms of a model run as normc's ops: nn.LayerNorm, nn.RMSNorm,
    nn.GroupNorm, and modules named ...RMSNorm whose forward a trial shows to
    be one. Parameters, names and hooks stay; gradients are normc's too. A call
    under autocast, or with dtypes that differ, runs the module's own forward.
    `save` is what is kept for gradients, as of `normc.torch.rms_norm`.
    Returns what was replaced, and what was left alone and why."""
    report = PatchReport()
    for name, module in model.named_modules():
        kind = type(module)
        is_norm = isinstance(module, (nn.LayerNorm, nn.GroupNorm)) or \
            "norm" in kind.__name__.lower()
        if not is_norm or next(module.children(), None) is not None:
            continue
        if hasattr(kind, "_normc_own_class"):
            report.left[name] = "it was replaced before"
            continue
        run, what = _plan(module, save)
        if run is None:
            report.left[name] = what
            continue
        module.__class__ = _replacement(kind, run)
        report.replaced[name] = f"{kind.__name__} by {what}"
    return report


def unpatch(model: nn.Module) -> int:
    """Undoes `patch`; the number of modules that have their own class again."""
    count = 0
    for module in model.modules():
        own = getattr(type(module), "_normc_own_class", None)
        if own is not None:
            module.__class__ = own
            count += 1
    return count
