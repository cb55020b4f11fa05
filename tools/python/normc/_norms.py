# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The builder with the ops of the norm dialect."""

from __future__ import annotations

from typing import Optional, Sequence, Union

from ._builder import Builder as _Builder
from ._builder import Value, _dtype, _literal
from ._runtime import fail

Axes = Union[int, Sequence[int]]


class Builder(_Builder):
    __doc__ = _Builder.__doc__

    def silu(self, x: Value) -> Value:
        return self.elementwise("norm.silu", x)

    def sigmoid(self, x: Value) -> Value:
        return self.elementwise("norm.sigmoid", x)

    def gelu(self, x: Value, tanh: bool = False) -> Value:
        self._own("gelu", x)
        result = self._new(x.shape, x.dtype)
        self._lines.append(
            f"%{result.name} = norm.gelu %{x.name}"
            f"{' approximate = tanh' if tanh else ''} : {x.type}")
        return result

    def relu(self, x: Value) -> Value:
        return self.elementwise("arith.maximumf", x, 0.0)

    def tanh(self, x: Value) -> Value:
        return self.elementwise("math.tanh", x)

    def exp(self, x: Value) -> Value:
        return self.elementwise("math.exp", x)

    def rms_norm(self, x: Value, scale: Optional[Value] = None, *,
                 offset: float = 0.0, axes: Axes = -1, eps: float = 1e-6,
                 dtype: Optional[str] = None) -> Value:
        """x / sqrt(mean(x^2) + eps) * (scale + offset), in f32 with one
        rounding to `dtype`, by default that of x."""
        return self._norm("norm.rms_norm", x, scale, None, offset,
                          self._axes(x, axes), eps, dtype)

    def layer_norm(self, x: Value, scale: Optional[Value] = None,
                   bias: Optional[Value] = None, *, offset: float = 0.0,
                   axes: Axes = -1, eps: float = 1e-5,
                   dtype: Optional[str] = None) -> Value:
        """(x - mean) / sqrt(variance + eps) * (scale + offset) + bias."""
        return self._norm("norm.layer_norm", x, scale, bias, offset,
                          self._axes(x, axes), eps, dtype)

    def group_norm(self, x: Value, groups: int, scale: Optional[Value] = None,
                   bias: Optional[Value] = None, *, channel_axis: int = 1,
                   eps: float = 1e-5, dtype: Optional[str] = None) -> Value:
        """A LayerNorm over each group of channels and all of space."""
        return self._norm("norm.group_norm", x, scale, bias, 0.0,
                          f"groups = {groups} channel_axis = {channel_axis}",
                          eps, dtype)

    def l2_normalize(self, x: Value, *, axes: Axes = -1, eps: float = 1e-12,
                     dtype: Optional[str] = None) -> Value:
        """x / max(sqrt(sum(x^2)), eps)."""
        return self._norm("norm.l2_normalize", x, None, None, 0.0,
                          self._axes(x, axes), eps, dtype)

    def softmax(self, x: Value, *, axes: Axes = -1,
                scale: Optional[float] = None, mask: Optional[Value] = None,
                dtype: Optional[str] = None) -> Value:
        """Of x * scale + mask."""
        self._own("softmax", x)
        operands, head = [x], f"%{x.name}"
        if mask is not None:
            operands.append(self._own("mask of softmax", mask))
            head += f" mask(%{mask.name})"
        tail = f" {self._axes(x, axes)}"
        if scale is not None:
            tail += f" scale = {_literal(scale)}"
        result = self._new(x.shape, _dtype(dtype or x.dtype))
        self._op(f"norm.softmax {head}", tail, operands, [result])
        return result

    def log_softmax(self, x: Value, *, axes: Axes = -1,
                    dtype: Optional[str] = None) -> Value:
        self._own("log_softmax", x)
        result = self._new(x.shape, _dtype(dtype or x.dtype))
        self._op(f"norm.log_softmax %{x.name}", f" {self._axes(x, axes)}", [x],
                 [result])
        return result

    def quantize(self, x: Value, dtype: str, group: Sequence[int], *,
                 scale: Optional[Value] = None, scale_dtype: str = "f32",
                 ) -> Union[Value, tuple[Value, Value]]:
        """Codes, and a scale for each group of so many elements along each
        axis (-1: all); with a given `scale` the codes alone."""
        self._own("quantize", x)
        if len(group) != len(x.shape or ()):
            raise fail(f"group of quantize expects {len(x.shape or ())} "
                       f"extents but got {len(group)}")
        codes = self._new(x.shape, _dtype(dtype))
        tail = f" group = [{', '.join(map(str, group))}]"
        if scale is not None:
            self._own("scale of quantize", scale)
            self._op(f"norm.quantize %{x.name} scale(%{scale.name})", tail,
                     [x, scale], [codes])
            return codes
        shape = []
        for axis, (extent, part) in enumerate(zip(x.shape, group)):
            if part not in (1, -1) and (extent is None or extent % part):
                raise fail(f"group of quantize expects a divisor of "
                           f"{'?' if extent is None else extent} in axis "
                           f"{axis} but got {part}")
            shape.append(extent if part == 1 else
                         1 if part == -1 else extent // part)
        scales = self._new(shape, _dtype(scale_dtype))
        self._op(f"norm.quantize %{x.name}", tail, [x], [codes, scales])
        return codes, scales

    def dropout(self, x: Value, seed: Value, offset: Value,
                p: float) -> Value:
        """Elements are zero with probability p; `seed` and `offset` are
        scalars of i64."""
        for what, value in (("x", x), ("seed", seed), ("offset", offset)):
            self._own(f"{what} of dropout", value)
        result = self._new(x.shape, x.dtype)
        self._op(f"norm.dropout %{x.name} seed(%{seed.name}) "
                 f"offset(%{offset.name})", f" p = {_literal(p)}",
                 [x, seed, offset], [result])
        return result

    @staticmethod
    def _axes(x: Value, axes: Axes) -> str:
        rank = len(x.shape or ())
        given = [axes] if isinstance(axes, int) else list(axes)
        for axis in given:
            if not -rank <= axis < rank:
                raise fail(f"axes of '{x.name}' expect numbers of {-rank} to "
                           f"{rank - 1} but got {axis}")
        return f"axes = {sorted(axis % rank for axis in given)}"

    def _norm(self, op: str, x: Value, scale: Optional[Value],
              bias: Optional[Value], offset: float, place: str, eps: float,
              dtype: Optional[str]) -> Value:
        self._own(f"x of {op}", x)
        operands, head = [x], f"{op} %{x.name}"
        if scale is not None:
            operands.append(self._own(f"scale of {op}", scale))
            more = f", offset = {_literal(offset)}" if offset else ""
            head += f" scale(%{scale.name}{more})"
        if bias is not None:
            operands.append(self._own(f"bias of {op}", bias))
            head += f" bias(%{bias.name})"
        result = self._new(x.shape, _dtype(dtype or x.dtype))
        self._op(head, f" {place} eps = {_literal(eps)}", operands, [result])
        return result
