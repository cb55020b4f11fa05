# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs written in Python, as MLIR text."""

from __future__ import annotations

import math
from typing import Callable, Optional, Sequence, Union

from ._runtime import fail

Extent = Optional[int]  #: None is any
Number = Union[int, float]

_FLOATS = {"f64": 64, "f32": 32, "bf16": 16, "f16": 16, "f8E4M3FN": 8,
           "f8E5M2": 8}
_INTEGERS = ("i1", "i8", "i16", "i32", "i64")
_ALIASES = {"float64": "f64", "float32": "f32", "float16": "f16",
            "bfloat16": "bf16", "float8_e4m3fn": "f8E4M3FN",
            "float8_e5m2": "f8E5M2", "int8": "i8", "int32": "i32",
            "int64": "i64", "bool": "i1"}
_OTHERS = ("f8E8M0FNU", "f4E2M1FN")


def _dtype(name: str) -> str:
    """MLIR's name of a dtype, also for NumPy's and PyTorch's."""
    bare = str(name).removeprefix("torch.")
    known = _ALIASES.get(bare, bare)
    if known not in _FLOATS and known not in _INTEGERS + _OTHERS:
        raise fail(f"expects a dtype of {', '.join(_FLOATS)}, "
                   f"{', '.join(_INTEGERS + _OTHERS)} but got '{name}'")
    return known


def _literal(value: Number) -> str:
    if not math.isfinite(value):
        raise fail(f"expects a finite number but got {value}")
    return f"{value:.16e}"


class Value:
    """A tensor of a program, or a scalar where `shape` is None."""

    def __init__(self, builder: Builder, name: str,
                 shape: Optional[tuple[Extent, ...]], dtype: str):
        self.builder, self.name = builder, name
        self.shape, self.dtype = shape, dtype

    @property
    def type(self) -> str:
        if self.shape is None:
            return self.dtype
        extents = "".join(f"{'?' if n is None else n}x" for n in self.shape)
        return f"tensor<{extents}{self.dtype}>"

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"

    def __add__(self, other: Operand) -> Value:
        return self.builder.elementwise("arith.addf", self, other)

    def __radd__(self, other: Number) -> Value:
        return self.builder.elementwise("arith.addf", other, self)

    def __sub__(self, other: Operand) -> Value:
        return self.builder.elementwise("arith.subf", self, other)

    def __rsub__(self, other: Number) -> Value:
        return self.builder.elementwise("arith.subf", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.builder.elementwise("arith.mulf", self, other)

    def __rmul__(self, other: Number) -> Value:
        return self.builder.elementwise("arith.mulf", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self.builder.elementwise("arith.divf", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.builder.elementwise("arith.divf", other, self)

    def __neg__(self) -> Value:
        return self.builder.elementwise("arith.negf", self)


Operand = Union[Value, Number]


class Builder:
    """Writes one function. Operators of values and the methods of this class
    add ops; operands of different shapes are repeated as in NumPy, and their
    dtypes must agree (`cast` changes one).

        with normc.Builder("add_rms_norm") as b:
            x = b.input("x", (None, 4096), "bf16")
            r = b.input("r", (None, 4096), "bf16")
            w = b.input("w", (4096,), "bf16")
            s = x + r
            b.output(b.rms_norm(s, scale=w, eps=1e-6), s)
        run = normc.compile(b, device="host")
    """

    def __init__(self, name: str = "main"):
        self.name = name
        self._inputs: list[str] = []
        self._names: set[str] = set()
        self._lines: list[str] = []
        self._outputs: list[Value] = []

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def text(self) -> str:
        """The program as MLIR."""
        if not self._outputs:
            raise fail(f"program '{self.name}' expects an output but got none")
        types = ", ".join(value.type for value in self._outputs)
        names = ", ".join(f"%{value.name}" for value in self._outputs)
        body = "\n".join(f"  {line}" for line in self._lines)
        return (f"func.func @{self.name}({', '.join(self._inputs)})\n"
                f"    -> ({types}) {{\n{body}\n"
                f"  return {names} : {types}\n}}\n")

    def input(self, name: str, shape: Sequence[Extent], dtype: str, *,
              in_place: Optional[int] = None) -> Value:
        """An argument; result number `in_place` is written over it."""
        return self._input(name, tuple(shape), dtype,
                           "" if in_place is None else
                           f" {{norm.in_place = {in_place}}}")

    def scalar(self, name: str, dtype: str) -> Value:
        """An argument that is passed by value."""
        return self._input(name, None, dtype, "")

    def output(self, *values: Value) -> None:
        """The next results."""
        for value in values:
            self._own("output", value)
            self._outputs.append(value)

    def _input(self, name: str, shape: Optional[tuple[Extent, ...]],
               dtype: str, more: str) -> Value:
        if not name.isidentifier() or name in self._names:
            raise fail(f"input expects a name of its own but got '{name}'")
        for extent in shape or ():
            if extent is not None and extent < 0:
                raise fail(f"input '{name}' expects extents of 0 or more, or "
                           f"None, but got {extent}")
        self._names.add(name)
        value = Value(self, name, shape, _dtype(dtype))
        self._inputs.append(f"%{name}: {value.type}{more}")
        return value

    def _new(self, shape: Optional[Sequence[Extent]], dtype: str) -> Value:
        name = f"v{len(self._names)}"
        while name in self._names:
            name += "_"
        self._names.add(name)
        return Value(self, name, None if shape is None else tuple(shape), dtype)

    def _own(self, what: str, value: object) -> Value:
        if not isinstance(value, Value) or value.builder is not self:
            raise fail(f"{what} expects a value of this program but got "
                       f"{value!r}")
        return value

    def _op(self, head: str, tail: str, operands: Sequence[Value],
            results: Sequence[Value]) -> None:
        self._lines.append(
            f"{', '.join(f'%{r.name}' for r in results)} = {head}{tail} : "
            f"{', '.join(o.type for o in operands)} -> "
            f"{', '.join(r.type for r in results)}")

    # Elementwise ops.

    def elementwise(self, op: str, *operands: Operand) -> Value:
        """An op of `arith`, `math` or `norm` on floats of one dtype."""
        values = [self._own(f"operand {i} of {op}", o)
                  for i, o in enumerate(operands)
                  if not isinstance(o, (int, float))]
        dtype = values[0].dtype
        for i, operand in enumerate(operands):
            if isinstance(operand, Value) and operand.dtype != dtype:
                raise fail(f"operand {i} '{operand.name}' of {op} expects "
                           f"{dtype} but got {operand.dtype}")
        if len(values) == len(operands) and all(
                v.shape == values[0].shape for v in values):
            result = self._new(values[0].shape, dtype)
            self._lines.append(
                f"%{result.name} = {op} "
                f"{', '.join(f'%{v.name}' for v in values)} : {result.type}")
            return result
        return self._repeat(op, operands, dtype, lambda names: (
            f"{op} {', '.join(names)} : {dtype}", dtype))

    def cast(self, x: Value, dtype: str) -> Value:
        """The float in another dtype, rounded to nearest even."""
        self._own("cast", x)
        dtype = _dtype(dtype)
        if x.dtype not in _FLOATS or dtype not in _FLOATS:
            raise fail(f"cast of '{x.name}' expects floats but got {x.dtype} "
                       f"to {dtype}")
        if x.dtype == dtype:
            return x
        if _FLOATS[x.dtype] == _FLOATS[dtype]:
            return self.cast(self.cast(x, "f32"), dtype)
        op = "extf" if _FLOATS[dtype] > _FLOATS[x.dtype] else "truncf"
        result = self._new(x.shape, dtype)
        self._lines.append(f"%{result.name} = arith.{op} %{x.name} : {x.type} "
                           f"to {result.type}")
        return result

    def _extents(self, op: str, values: Sequence[Value]) -> list[Extent]:
        """The common shape, after NumPy's rules."""
        rank = max(len(v.shape or ()) for v in values)
        shape: list[Extent] = [1] * rank
        for value in values:
            own = value.shape or ()
            for axis, extent in enumerate(own, rank - len(own)):
                if extent == 1 or extent == shape[axis]:
                    continue
                if shape[axis] != 1:
                    raise fail(f"operand '{value.name}' of {op} expects extent "
                               f"{shape[axis]} in axis {axis} but got {extent}")
                shape[axis] = extent
        return shape

    def _repeat(self, op: str, operands: Sequence[Operand], dtype: str,
                body: Callable[[list[str]], tuple[str, str]]) -> Value:
        """An elementwise op on operands of several shapes, and numbers."""
        values = [o for o in operands if isinstance(o, Value)]
        shape = self._extents(op, values)
        rank = len(shape)
        dims = ", ".join(f"d{i}" for i in range(rank))
        maps, names, constants, arguments = [], [], [], []
        for i, operand in enumerate(operands):
            names.append(f"%a{i}")
            if not isinstance(operand, Value):
                constants.append(f"%a{i} = arith.constant {_literal(operand)} "
                                 f": {dtype}")
                continue
            own = operand.shape or ()
            where = (f"d{axis}" if extent != 1 or shape[axis] == 1 else "0"
                     for axis, extent in enumerate(own, rank - len(own)))
            maps.append(f"affine_map<({dims}) -> ({', '.join(where)})>")
            arguments.append(f"%a{i}: {operand.dtype}")
        line, dtype = body(names)
        sizes = [self._size(axis, rank, values)
                 for axis, extent in enumerate(shape) if extent is None]
        result, empty = self._new(shape, dtype), self._new(shape, dtype)
        self._lines.append(f"%{empty.name} = tensor.empty({', '.join(sizes)})"
                           f" : {empty.type}")
        maps.append(f"affine_map<({dims}) -> ({dims})>")
        kinds = ", ".join(['"parallel"'] * rank)
        self._lines += [
            f"%{result.name} = linalg.generic {{indexing_maps = "
            f"[{', '.join(maps)}], iterator_types = [{kinds}]}}",
            f"    ins({', '.join(f'%{v.name}' for v in values)} : "
            f"{', '.join(v.type for v in values)}) "
            f"outs(%{empty.name} : {empty.type}) {{",
            f"^bb0({', '.join(arguments)}, %_: {dtype}):",
            *(f"  {constant}" for constant in constants),
            f"  %y = {line}", f"  linalg.yield %y : {dtype}",
            f"}} -> {result.type}"]
        return result

    def _size(self, axis: int, rank: int, values: Sequence[Value]) -> str:
        """The name of a dynamic extent."""
        source, own = next((v, axis - rank + len(v.shape)) for v in values
                           if v.shape and axis - rank + len(v.shape) >= 0
                           and v.shape[axis - rank + len(v.shape)] is None)
        index, size = self._new(None, "index"), self._new(None, "index")
        self._lines += [
            f"%{index.name} = arith.constant {own} : index",
            f"%{size.name} = tensor.dim %{source.name}, %{index.name} : "
            f"{source.type}"]
        return f"%{size.name}"
