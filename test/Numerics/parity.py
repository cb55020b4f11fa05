#!/usr/bin/env python3
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the named ops with PyTorch's on the same device and the same inputs.

For each op, layout, element type and kind of data: the largest error of norm's
result and of PyTorch's, each against the result in extended precision, in units
of the last place of the result's type. Exits 1 where norm's is larger by more
than one unit, or where norm-run fails.

Errors are given twice. "At the result", the unit is that of the exact result.
It is of little use where a result is badly conditioned: where x and the mean are
large and close, the mean's own last place is thousands of units, and which of two
implementations is nearer is chance. So what is judged has, where that is more, the
unit of f32 (of f64 for f64) at the largest magnitude that the formula rounds on the
way: `floor` in the references below. With --strict the unit at the result is judged.

  parity.py --norm-run=build/bin/norm-run --device=cuda:0 --peer=torch
  parity.py --norm-run=build/bin/norm-run --device=host --peer=numpy

`--peer=numpy` takes plain NumPy in f32 (f64 for f64) for PyTorch where that isn't
installed. Needs NumPy; extended precision is its longdouble, on x86-64.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

EPS = 1.0e-5
L2_EPS = 1.0e-12
MOMENTUM = 0.1
ROWS = 16  # of each kind of data
# Bits of the significand, exponent of the least normal number, largest number.
FORMAT = {
    "f16": (11, -14, 65504.0),
    "bf16": (8, -126, float.fromhex("0x1.fep127")),
    "f32": (24, -126, float(np.finfo(np.float32).max)),
    "f64": (53, -1022, float(np.finfo(np.float64).max)),
}
STORAGE = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32,
           "f64": np.float64}


# --- Element types ----------------------------------------------------------

def store(dtype, values):
    """Values rounded to the element type, in the form that files have."""
    with np.errstate(over="ignore"):
        if dtype != "bf16":
            return np.asarray(values).astype(STORAGE[dtype])
        single = np.asarray(values).astype(np.float32)
    bits = single.view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(single), 0x7FC0, rounded).astype(np.uint16)


def load(dtype, stored, form=np.longdouble):
    """The exact values of what a file has."""
    if dtype == "bf16":
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(form)


def last_place(dtype, size):
    """The unit in the last place of numbers of the magnitude `size`."""
    digits, least, _ = FORMAT[dtype]
    exponent = np.frexp(np.where(np.isfinite(size), size, 1))[1] - 1
    exponent = np.where(size == 0, least, np.maximum(exponent, least))
    return np.ldexp(np.longdouble(1), exponent - digits + 1)


def units(dtype, exact, got, floor):
    """The error of each element in units of the last place: of the result's type
    at the result or, if that is more, of the arithmetic's type at `floor`."""
    exact, got, floor = np.broadcast_arrays(
        *(np.asarray(a, dtype=np.longdouble) for a in (exact, got, floor)))
    unit = last_place(dtype, abs(exact))
    arithmetic = "f64" if dtype == "f64" else "f32"
    unit = np.where(floor > 0,
                    np.maximum(unit, last_place(arithmetic, floor)), unit)
    # All from half a unit beyond the largest number on is infinite.
    digits, _, largest = FORMAT[dtype]
    limit = largest * (1 + np.longdouble(2) ** -digits)
    rounded = np.where(np.abs(exact) >= limit, np.copysign(np.inf, exact),
                       exact)
    same = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
    error = np.abs(exact - got) / unit
    error = np.where(np.isfinite(error), error, np.inf)
    return np.where(same, 0, error)


# --- Data -------------------------------------------------------------------

def ordinary(random, shape, dtype):
    return random.standard_normal(shape)


def large_mean(random, shape, dtype):
    mean, deviation = {"f16": (1000, 2), "bf16": (256, 2), "f32": (1e4, 1),
                       "f64": (1e8, 1)}[dtype]
    return mean + deviation * random.standard_normal(shape)


def constant(random, shape, dtype):
    one = random.standard_normal((shape[0],) + (1,) * (len(shape) - 1))
    return np.broadcast_to(one, shape)


def huge(random, shape, dtype):
    size = {"f16": 1e4, "bf16": 1e15, "f32": 1e15, "f64": 1e140}[dtype]
    return size * random.standard_normal(shape)


def tiny(random, shape, dtype):
    size = {"f16": 1e-6, "bf16": 1e-30, "f32": 1e-30, "f64": 1e-200}[dtype]
    return size * random.standard_normal(shape)


def spread(random, shape, dtype):
    return 20 * random.standard_normal(shape)


def with_infinities(random, shape, dtype):
    """A third of the elements is -inf; the last row is nothing else."""
    values = random.standard_normal(shape)
    values = np.where(random.random(shape) < 1 / 3, -np.inf, values)
    values[-1] = -np.inf
    return values


CENTRED = [ordinary, large_mean, constant, huge, tiny]
EXPONENTIAL = [ordinary, spread, large_mean, constant, huge, tiny,
               with_infinities]


# --- Ops --------------------------------------------------------------------
#
# Each has `program` (func.func of its arguments, given as (name, type)), `exact`
# (results as (dtype, values, floor of the unit), in any NumPy type), and `torch`
# (the same results by PyTorch). `axis` is that along which kinds of data differ.

def tensor(shape, dtype):
    return "tensor<" + "".join(f"{e}x" for e in shape) + dtype + ">"


class Op:
    layout = ""
    axis = 0
    kinds = CENTRED
    columns = 1000
    results = 1

    def param_type(self, dtype):
        return dtype

    def shape(self, kinds):
        return (ROWS * kinds, self.columns)

    def params(self, random, shape):
        return []

    def text(self, dtype, shapes, results):
        """The function; `results` are types."""
        names = ["x", "g", "b", "m", "v"][:len(shapes)]
        types = [tensor(s, dtype if i == 0 else self.param_type(dtype))
                 for i, s in enumerate(shapes)]
        arguments = ", ".join(f"%{n}: {t}" for n, t in zip(names, types))
        values = ", ".join(f"%r{i}" for i in range(len(results)))
        joined = ", ".join(results)
        return (f"func.func @f({arguments}) -> ({joined}) {{\n"
                f"  {values} = {self.syntax()}\n      : {', '.join(types)}"
                f" -> {joined}\n  return {values} : {joined}\n}}\n")


def centred(T, x, axes, eps):
    mean = x.mean(axis=axes, keepdims=True, dtype=T)
    c = x - mean
    variance = (c * c).mean(axis=axes, keepdims=True, dtype=T)
    rstd = T(1) / np.sqrt(variance + T(eps))
    return c * rstd, x * rstd, mean, variance


def affine(n, scaled, g, b):
    """n * g + b, with the magnitudes of one deviation and of each term."""
    floor = np.maximum(np.maximum(abs(g), abs(b)), abs(scaled * g))
    return n * g + b, floor


class LayerNorm(Op):
    name = "layer_norm"

    def syntax(self):
        return f"norm.layer_norm %x scale(%g) bias(%b) axes = [1] eps = {EPS:.1e}"

    def params(self, random, shape):
        c = shape[-1]
        return [1 + 0.1 * random.standard_normal(c),
                0.1 * random.standard_normal(c)]

    def exact(self, T, dtype, x, g, b):
        n, scaled, _, _ = centred(T, x, (1,), EPS)
        return [(dtype,) + affine(n, scaled, g, b)]

    def torch(self, F, x, g, b):
        return [F.layer_norm(x, x.shape[1:], g, b, EPS)]


class RmsNorm(Op):
    name = "rms_norm"

    def syntax(self):
        return f"norm.rms_norm %x scale(%g) axes = [1] eps = {EPS:.1e}"

    def params(self, random, shape):
        return [1 + 0.1 * random.standard_normal(shape[-1])]

    def exact(self, T, dtype, x, g):
        square = (x * x).mean(axis=1, keepdims=True, dtype=T)
        return [(dtype, x * (T(1) / np.sqrt(square + T(EPS))) * g, 0)]

    def torch(self, F, x, g):
        return [F.rms_norm(x, x.shape[1:], g, EPS)]


class L2Normalize(Op):
    name = "l2_normalize"

    def syntax(self):
        return f"norm.l2_normalize %x axes = [1] eps = {L2_EPS:.1e}"

    def exact(self, T, dtype, x):
        length = np.sqrt((x * x).sum(axis=1, keepdims=True, dtype=T))
        return [(dtype, x / np.maximum(length, T(L2_EPS)), 0)]

    def torch(self, F, x):
        return [F.normalize(x, dim=1, eps=L2_EPS)]


class Softmax(Op):
    name = "softmax"
    kinds = EXPONENTIAL

    def syntax(self):
        return "norm.softmax %x axes = [1]"

    def exact(self, T, dtype, x):
        c = x - x.max(axis=1, keepdims=True)
        e = np.exp(c)
        y = e / e.sum(axis=1, keepdims=True, dtype=T)
        # The exponential passes on the rounding of the difference.
        return [(dtype, y, np.where(y > 0, y * abs(c), 0))]

    def torch(self, F, x):
        return [F.softmax(x, dim=1)]


class LogSoftmax(Softmax):
    name = "log_softmax"

    def syntax(self):
        return "norm.log_softmax %x axes = [1]"

    def exact(self, T, dtype, x):
        c = x - x.max(axis=1, keepdims=True)
        total = np.exp(c).sum(axis=1, keepdims=True, dtype=T)
        return [(dtype, c - np.log(total), 1)]

    def torch(self, F, x):
        return [F.log_softmax(x, dim=1)]


class LogSumExp(Softmax):
    name = "logsumexp"

    def syntax(self):
        return "norm.logsumexp %x axes = [1]"

    def exact(self, T, dtype, x):
        m = x.max(axis=1, keepdims=True)
        total = np.exp(x - m).sum(axis=1, keepdims=True, dtype=T)
        y = np.where(np.isfinite(m), m + np.log(total), m)
        return [(dtype, y[:, 0], 1)]

    def torch(self, F, x):
        return [x.logsumexp(dim=1)]


class Channels(Op):
    """Over samples, channels and space; `layout` nchw or nhwc."""
    channels, space, samples = 32, (7, 9), 4

    def __init__(self, layout):
        self.layout = layout
        self.channel_axis = 1 if layout == "nchw" else 3

    def shape(self, kinds):
        n, c = self.samples * kinds, self.channels
        return (n, c) + self.space if self.layout == "nchw" else (
            (n,) + self.space + (c,))

    def params(self, random, shape):
        c = shape[self.channel_axis]
        return [1 + 0.1 * random.standard_normal(c),
                0.1 * random.standard_normal(c)]

    def first(self, x):
        """The layout with channels after samples, of an array or a tensor."""
        if self.layout == "nchw":
            return x
        return (x.transpose(0, 3, 1, 2) if isinstance(x, np.ndarray)
                else x.permute(0, 3, 1, 2))

    def last(self, x):
        if self.layout == "nchw":
            return x
        return (x.transpose(0, 2, 3, 1) if isinstance(x, np.ndarray)
                else x.permute(0, 2, 3, 1).contiguous())

    def finish(self, n, scaled, g, b):
        g, b = (p.reshape(1, -1, 1, 1) for p in (g, b))
        return tuple(map(self.last, affine(n, scaled, g, b)))


class GroupNorm(Channels):
    name = "group_norm"
    groups = 8

    def syntax(self):
        return (f"norm.group_norm %x scale(%g) bias(%b) groups = {self.groups}"
                f" channel_axis = {self.channel_axis} eps = {EPS:.1e}")

    def exact(self, T, dtype, x, g, b):
        x = self.first(x)
        split = x.reshape(x.shape[0], self.groups, -1)
        n, scaled, _, _ = centred(T, split, (2,), EPS)
        return [(dtype,) + self.finish(n.reshape(x.shape),
                                       scaled.reshape(x.shape), g, b)]

    def torch(self, F, x, g, b):
        return [self.last(F.group_norm(self.first(x), self.groups, g, b, EPS))]


class InstanceNorm(Channels):
    name = "instance_norm"

    def syntax(self):
        return ("norm.instance_norm %x scale(%g) bias(%b)"
                f" channel_axis = {self.channel_axis} eps = {EPS:.1e}")

    def exact(self, T, dtype, x, g, b):
        n, scaled, _, _ = centred(T, self.first(x), (2, 3), EPS)
        return [(dtype,) + self.finish(n, scaled, g, b)]

    def torch(self, F, x, g, b):
        return [self.last(F.instance_norm(self.first(x), weight=g, bias=b,
                                          eps=EPS))]


class BatchNorm(Channels):
    """Kinds of data differ by channel."""
    channels, samples = 4, 8

    def __init__(self, layout, training):
        super().__init__(layout)
        self.training = training
        self.name = "batch_norm " + ("training" if training else "inference")
        self.axis = self.channel_axis
        self.results = 3 if training else 1

    def param_type(self, dtype):
        return "f64" if dtype == "f64" else "f32"

    def shape(self, kinds):
        c = self.channels * kinds
        return ((self.samples, c) + self.space if self.layout == "nchw" else
                (self.samples,) + self.space + (c,))

    def params(self, random, shape):
        c = shape[self.channel_axis]
        return super().params(random, shape) + [
            random.standard_normal(c), 0.5 + random.random(c)]

    def syntax(self):
        mode = f" training momentum = {MOMENTUM}" if self.training else ""
        return ("norm.batch_norm %x scale(%g) bias(%b) running(%m, %v)"
                f" channel_axis = {self.channel_axis} eps = {EPS:.1e}{mode}")

    def exact(self, T, dtype, x, g, b, m, v):
        x = self.first(x)
        if not self.training:
            mean, variance = (p.reshape(1, -1, 1, 1) for p in (m, v))
            rstd = T(1) / np.sqrt(variance + T(EPS))
            return [(dtype,) + self.finish((x - mean) * rstd, x * rstd, g, b)]
        n, scaled, mean, variance = centred(T, x, (0, 2, 3), EPS)
        y, floor = self.finish(n, scaled, g, b)
        count = x.size // x.shape[1]
        mean = mean.ravel()
        variance = variance.ravel() * T(count) / T(max(count - 1, 1))
        new, old = T(MOMENTUM), T(1 - MOMENTUM)
        stat = self.param_type(dtype)
        return [(dtype, y, floor),
                (stat, new * mean + old * m,
                 np.maximum(abs(new * mean), abs(old * m))),
                (stat, new * variance + old * v, 0)]

    def torch(self, F, x, g, b, m, v):
        m, v = m.clone(), v.clone()
        y = self.last(F.batch_norm(self.first(x), m, v, g, b, self.training,
                                   MOMENTUM, EPS))
        return [y, m, v] if self.training else [y]


def all_ops():
    yield from (LayerNorm(), RmsNorm(), L2Normalize(), Softmax(), LogSoftmax(),
                LogSumExp())
    for layout in ("nchw", "nhwc"):
        yield from (GroupNorm(layout), InstanceNorm(layout),
                    BatchNorm(layout, True), BatchNorm(layout, False))


# --- Who computes -----------------------------------------------------------

def by_norm(options, folder, op, dtype, stored, results):
    """The stored results, or what norm-run said."""
    source = folder / "op.mlir"
    source.write_text(op.text(dtype, [s.shape for s in stored], results))
    command = [options.norm_run, str(source), f"--device={options.device}"]
    for i, array in enumerate(stored):
        np.save(folder / f"in{i}.npy", np.ascontiguousarray(array))
        command += ["--arg", f"{i}={folder / f'in{i}.npy'}"]
    for i in range(len(results)):
        command += ["--out", f"{i}={folder / f'out{i}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip().splitlines()
        return None, text[0] if text else f"exit status {done.returncode}"
    return [np.load(folder / f"out{i}.npy") for i in range(len(results))], ""


class Torch:
    def __init__(self, device):
        import torch
        self.torch = torch
        self.device = torch.device("cuda" if device.startswith("cuda")
                                   else "cpu")

    def describe(self):
        name = "CPU"
        if self.device.type == "cuda":
            name = self.torch.cuda.get_device_name()
        return f"PyTorch {self.torch.__version__} on {name}"

    def run(self, op, dtype, stored):
        tensors = []
        for array in stored:
            array = np.ascontiguousarray(array)
            if array.dtype == np.uint16:
                t = self.torch.from_numpy(array.view(np.int16))
                t = t.view(self.torch.bfloat16)
            else:
                t = self.torch.from_numpy(array)
            tensors.append(t.to(self.device))
        with self.torch.no_grad():
            results = op.torch(self.torch.nn.functional, *tensors)
        back = []
        for t in results:
            t = t.cpu().contiguous()
            if t.dtype == self.torch.bfloat16:
                back.append(t.view(self.torch.int16).numpy().view(np.uint16))
            else:
                back.append(t.numpy())
        return back


class Numpy:
    def describe(self):
        return f"NumPy {np.__version__} in f32 and f64"

    def run(self, op, dtype, stored):
        T = np.float64 if dtype == "f64" else np.float32
        values = op_values(op, dtype, stored, T)
        return [store(d, y) for d, y, _ in op.exact(T, dtype, *values)]


def op_values(op, dtype, stored, form):
    types = [dtype] + [op.param_type(dtype)] * (len(stored) - 1)
    return [load(t, s, form) for t, s in zip(types, stored)]


# --- Comparison -------------------------------------------------------------

def inputs_of(op, dtype, seed):
    """Stored inputs, kinds of data side by side along the op's axis."""
    random = np.random.default_rng(seed)
    shape = op.shape(1)
    parts = []
    for kind in op.kinds:
        # Constant along all but the axis by which kinds differ.
        moved = (shape[op.axis],) + shape[:op.axis] + shape[op.axis + 1:]
        parts.append(np.moveaxis(kind(random, moved, dtype), 0, op.axis))
    x = np.concatenate(parts, axis=op.axis)
    params = op.params(random, x.shape)
    return [store(dtype, x)] + [store(op.param_type(dtype), p) for p in params]


def largest_by_kind(op, error):
    """The largest error in the part of each kind."""
    axis = op.axis if error.ndim > op.axis else 0
    parts = np.split(error, len(op.kinds), axis=axis)
    return [float(part.max()) for part in parts]


def compare(options, folder, peer, op, dtype):
    """Rows (result, kind, errors: norm's and the peer's, and both at the result)
    and what went wrong."""
    stored = inputs_of(op, dtype, seed=len(op.name))
    values = op_values(op, dtype, stored, np.longdouble)
    exact = op.exact(np.longdouble, dtype, *values)
    results = [tensor(np.shape(y), d) for d, y, _ in exact]
    ours, message = by_norm(options, folder, op, dtype, stored, results)
    if ours is None:
        return [], message
    theirs = peer.run(op, dtype, stored)
    rows = []
    names = ("y", "running_mean", "running_var")
    for name, (d, y, floor), a, b in zip(names, exact, ours, theirs):
        errors = (largest_by_kind(op, units(d, y, load(d, np.asarray(r)), f))
                  for f in (floor, 0) for r in (a, b))
        for kind, *numbers in zip(op.kinds, *errors):
            rows.append((name, kind.__name__.replace("_", " "), numbers))
    return rows, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--norm-run", default="build/bin/norm-run")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--peer", choices=["torch", "numpy"], default="torch")
    parser.add_argument("--ops", default="", help="names, by commas")
    parser.add_argument("--dtypes", default="f16,bf16,f32,f64")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--out", help="a file for the table")
    options = parser.parse_args()
    if np.finfo(np.longdouble).nmant < 63:
        raise SystemExit("parity.py: expects a longdouble of 64 bits or more")
    chosen = [name for name in options.ops.split(",") if name]
    peer = Torch(options.device) if options.peer == "torch" else Numpy()

    lines = [f"norm on {options.device} beside {peer.describe()}: largest error"
             " in units of the last place", "",
             "| op | layout | dtype | result | data | norm | peer |"
             " norm at the result | peer at the result | |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    larger = failed = count = 0
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as name:
        for op in all_ops():
            if chosen and op.name.split()[0] not in chosen:
                continue
            for dtype in options.dtypes.split(","):
                rows, message = compare(options, Path(name), peer, op, dtype)
                if message:
                    failed += 1
                    print(f"FAILED {op.name} {op.layout} {dtype}: {message}")
                for result, kind, errors in rows:
                    ours, theirs = errors[2:] if options.strict else errors[:2]
                    worse = not ours <= theirs + 1
                    larger += worse
                    count += 1
                    numbers = " | ".join(f"{error:.2f}" for error in errors)
                    lines.append(
                        f"| {op.name} | {op.layout} | {dtype} | {result} |"
                        f" {kind} | {numbers} | {'LARGER' if worse else 'ok'} |")
    print("\n".join(lines))
    if options.out:
        Path(options.out).write_text("\n".join(lines) + "\n")
    print(f"\n{count} comparisons: {larger} larger by more than a unit;"
          f" {failed} programs failed")
    return 1 if larger or failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
