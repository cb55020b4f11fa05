# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the ops, compiled once for each device, and their launches."""

from __future__ import annotations

import functools
import re
import threading
from typing import Any, Callable, NamedTuple, Optional, Union

import torch
from torch import Tensor

from .._builder import _dtype as mlir_dtype
from .._derivative import Derivative, differentiate
from .._normc import NormError
from .._norms import Builder
from .._runtime import Session, fail

#: What the rows of an op are of: a key into the compiled programs.
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
FP8_GROUP_ROW = -1


class RowNorm(NamedTuple):
    """A norm of rows, with what is around it."""
    kind: str  #: rms_norm or layer_norm
    columns: int
    dtype: torch.dtype
    weight: Optional[torch.dtype]
    bias: Optional[torch.dtype]
    eps: float
    offset: float = 0.0
    #: `new` or `in_place`: the sum is a result; `through`: x is one itself
    residual: str = ""
    group: int = 0  #: columns to a scale of fp8 codes, -1: all; 0: no codes

    def text(self) -> str:
        b = Builder(self.kind)
        shape = (None, self.columns)
        x = b.input("x", shape, self.dtype)
        results = 2 if self.group else 1
        if self.residual in ("new", "in_place"):
            x = x + b.input("residual", shape, self.dtype, in_place=results
                            if self.residual == "in_place" else None)
        weight, bias = (dtype and b.input(name, (self.columns,), dtype)
                        for name, dtype in (("weight", self.weight),
                                            ("bias", self.bias)))
        if self.kind == "rms_norm":
            y = b.rms_norm(x, weight, offset=self.offset, eps=self.eps)
        else:
            y = b.layer_norm(x, weight, bias, offset=self.offset, eps=self.eps)
        if self.group:
            b.output(*b.quantize(y, "f8E4M3FN", (1, self.group)))
        else:
            b.output(y)
        if self.residual:
            b.output(x)
        return b.text


class Softmax(NamedTuple):
    """A softmax along the middle of three axes, or the last of two."""
    extent: int
    dtype: torch.dtype
    is_last: bool

    def text(self) -> str:
        b = Builder("softmax")
        shape = (None, self.extent) + (() if self.is_last else (None,))
        b.output(b.softmax(b.input("x", shape, self.dtype), axes=1))
        return b.text


_SOFTMAX_OF_OUTPUT = """
func.func @softmax_backward(%y: KIND, %dy: KIND) -> KIND {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant LAST : index
  %n0 = tensor.dim %y, %c0 : KIND
  %n2 = tensor.dim %y, %c2 : KIND
  %e = tensor.empty(SIZES) : KIND
  %dx = norm.generic (DIMS)
      ins(%y_ = %y[DIMS] : KIND, %dy_ = %dy[DIMS] : KIND)
      outs(%o = %e[DIMS] : KIND) attributes {name = "softmax_backward"} {
    %a = EXTEND %y_ : OWN to WIDE
    %b = EXTEND %dy_ : OWN to WIDE
    %p = arith.mulf %a, %b : WIDE
    %s = norm.reduce add %p over [col] : WIDE
    %d = arith.subf %b, %s : WIDE
    %g = arith.mulf %a, %d : WIDE
    %r = ROUND %g : WIDE to OWN
    norm.yield %r : OWN
  }
  return %dx : KIND
}
"""


class SoftmaxOfOutput(NamedTuple):
    """The gradient of a softmax from its output: y (dy - sum(y dy))."""
    extent: int
    dtype: torch.dtype
    is_last: bool
    what: str = "gradient"  #: so that it equals no `Softmax`

    def text(self) -> str:
        own = mlir_dtype(self.dtype)
        wide = "f64" if own == "f64" else "f32"
        text = _SOFTMAX_OF_OUTPUT
        if own == wide:  # nothing to convert
            text = re.sub(r"^.*(EXTEND|ROUND).*\n", "", text,
                          flags=re.MULTILINE)
            for name, given in (("%a", "%y_"), ("%b", "%dy_"), ("%r", "%g")):
                text = re.sub(rf"{name}\b", given, text)
        for word, value in (
                ("KIND", f"tensor<?x{self.extent}x"
                 f"{'' if self.is_last else '?x'}OWN>"),
                ("LAST", "0" if self.is_last else "2"),
                ("SIZES", "%n0" if self.is_last else "%n0, %n2"),
                ("DIMS", "row, col" if self.is_last else "row, col, row1"),
                ("EXTEND", "arith.extf"), ("ROUND", "arith.truncf"),
                ("OWN", own), ("WIDE", wide)):
            text = text.replace(word, value)
        return text


class GroupNorm(NamedTuple):
    """Of samples by channels by space, or with the channels last."""
    channels: int
    space: int
    groups: int
    dtype: torch.dtype
    weight: Optional[torch.dtype]
    bias: Optional[torch.dtype]
    eps: float
    is_last: bool

    def text(self) -> str:
        b = Builder("group_norm")
        rest = ((self.space, self.channels) if self.is_last
                else (self.channels, self.space))
        x = b.input("x", (None, *rest), self.dtype)
        weight, bias = (dtype and b.input(name, (self.channels,), dtype)
                        for name, dtype in (("weight", self.weight),
                                            ("bias", self.bias)))
        b.output(b.group_norm(x, self.groups, weight, bias, eps=self.eps,
                              channel_axis=2 if self.is_last else 1))
        return b.text


Key = Union[RowNorm, Softmax, GroupNorm]


@functools.lru_cache(maxsize=None)
def derivative(key: Key, wrt: tuple[int, ...], saves: bool) -> Derivative:
    """The backward of an op for some of its operands, by their numbers in the
    program; with `saves` it reads what the forward of all of them keeps."""
    return differentiate(key.text(), wrt=wrt,
                         save="statistics" if saves else "none")


class Training(NamedTuple):
    """An op that keeps statistics for its backward: they are further results."""
    of: Key
    wrt: tuple[int, ...]

    def text(self) -> str:
        return derivative(self.of, self.wrt, True).text

    @property
    def entry(self) -> str:
        return derivative(self.of, self.wrt, True).forward.entry


class Backward(NamedTuple):
    """The gradients of an op."""
    of: Key
    wrt: tuple[int, ...]
    saves: bool

    def text(self) -> str:
        return derivative(*self).text

    @property
    def entry(self) -> str:
        return derivative(*self).backward.entry

    def takes(self) -> list[tuple[str, int]]:
        """What the arguments are: `input`, `saved` or `cotangent`, and which."""
        return [(value.role, value.number)
                for value in derivative(*self).backward.arguments]


class _Program:
    """A program on a device."""

    def __init__(self, device: str, text: str, entry: Optional[str] = None):
        executable = session(device).get(text, entry=entry)
        if executable is None:
            raise fail("the program is being compiled, and normc.torch has no "
                       "other way to run it", "pending")
        manifest = executable.manifest
        self.raw = executable._loaded
        self.needs_workspace = (
            manifest["workspace"]["bytes"] > 0 or bool(manifest["temporaries"])
            or any(k.get("counter_bytes") or k.get("unit_bytes")
                   for k in manifest["kernels"]))

    def __call__(self, arguments: tuple[Any, ...], device: torch.device,
                 ) -> None:
        if device.type == "cpu":
            self.raw.launch(arguments)
            return
        stream = _raw_stream(device.index)
        if self.needs_workspace and torch.cuda.is_current_stream_capturing():
            # From the graph's pool, so that no other work has it.
            workspace = torch.empty(self.raw.workspace_size(arguments),
                                    dtype=torch.uint8, device=device)
            self.raw.launch(arguments, stream, workspace.data_ptr(),
                            workspace.numel())
        else:
            self.raw.launch(arguments, stream)


def _public_raw_stream(index: int) -> int:
    return torch.cuda.current_stream(index).cuda_stream


_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _public_raw_stream)
_programs: dict[tuple[Any, Any], _Program] = {}
_quick: dict[tuple[Any, ...], _Program] = {}
_sessions: dict[str, Session] = {}
_lock = threading.Lock()


@functools.lru_cache(maxsize=None)
def _device_name(device: torch.device) -> str:
    if device.type == "cpu":
        return "host"
    if device.type == "cuda":
        return f"cuda:{device.index}"
    raise fail(f"expects tensors on cpu or cuda but got {device}")


def session(device: str = "host") -> Session:
    """The session that the ops compile with, on the device of a name, to
    prewarm it, count compilations or set `on_miss`."""
    with _lock:
        if device not in _sessions:
            _sessions[device] = Session(device)
        return _sessions[device]


def use_session(session: Session) -> None:
    """Compiles the programs of its device with the given session from now on, for
    example one with a cache on disk."""
    with _lock:
        _sessions[session.device.name] = session
        _programs.clear()
        _quick.clear()


def _find(key: Any, device: torch.device) -> _Program:
    program = _programs.get((key, device))
    if program is None:
        program = _Program(_device_name(device), key.text(),
                           getattr(key, "entry", None))
        _programs[key, device] = program
    return program


def _plain(fields: tuple[Any, ...]) -> Key:
    return RowNorm(*fields) if len(fields) == 9 else Softmax(*fields)


def launch_rows(key: tuple[Any, ...], arguments: tuple[Tensor, ...],
                make: Callable[[tuple[Any, ...]], Any] = _plain) -> bool:
    """The short way for tensors of any rank: `key` has the fields of a program,
    from which `make` makes it, and the number of the device. False where the
    long way is to be taken, to copy what doesn't fit or to say what is wrong."""
    try:
        program = _quick.get(key)
        if program is None:
            program = _find(make(key[:-1]), arguments[0].device)
            _quick[key] = program
        if key[-1] < 0:
            return program.raw.launch_rows(arguments, 0)
        if (program.needs_workspace and
                torch.cuda.is_current_stream_capturing()):
            return False
        return program.raw.launch_rows(arguments, _raw_stream(key[-1]))
    except NormError:
        return False


def launch(key: Any, *arguments: Any) -> None:
    """Runs the program of the key on the arguments, results last."""
    device = arguments[0].device
    _find(key, device)(arguments, device)
