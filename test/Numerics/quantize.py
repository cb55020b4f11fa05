# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""norm.quantize and norm.dequantize against their definition, written here in
numpy: codes by a search among all values of the format, scales by float64 and
exactly rounded float32 arithmetic. Every code and scale must be the defined one on
the host, pass --check, and have the same bits on the emulated device. The cases
are drawn from a seed: types, groups, layouts, ranks, given and computed scales,
and in every group another kind of data. Then norms with a quantization behind them,
drawn as well: the bits are those of the norm alone, quantized here, from one kernel.
Prints a line for each failure and a count; exits 1 if any.

  quantize.py NORM_RUN [--seed=1] [--cases=60] [--fused=30] [--only=TEXT]
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

F32 = np.float32
FLOAT_MAX = F32(np.finfo(F32).max)


# ---------------------------------------------------------------------------
# Formats
# ---------------------------------------------------------------------------

def magnitudes(exponent_bits, mantissa_bits, bias, count):
    """The values of the codes 0 to count - 1 of a small float, rising."""
    values = []
    for code in range(count):
        exponent, mantissa = code >> mantissa_bits, code % (1 << mantissa_bits)
        fraction = mantissa / 2.0**mantissa_bits
        values.append((1 + fraction) * 2.0**(exponent - bias) if exponent else
                      fraction * 2.0**(1 - bias))
    return np.array(values)


FORMATS = {  # all finite magnitudes, the sign bit, the NaN
    "f8E4M3FN": (magnitudes(4, 3, 7, 0x7F), 0x80, 0x7F),
    "f8E5M2": (magnitudes(5, 2, 15, 0x7C), 0x80, 0x7F),
    "f4E2M1FN": (magnitudes(2, 1, 1, 8), 8, None),
}
LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0, "f4E2M1FN": 6.0, "i8": 127.0}


def encode(values, kind, saturate=True):
    """Codes of f32 values, one a byte: the nearest, ties to even."""
    values = np.asarray(values, np.float64)
    isnan = np.isnan(values)
    if kind == "i8":
        clamped = np.where(isnan, 0, np.clip(values, -128, 127))
        return np.rint(clamped).astype(np.int8).view(np.uint8)
    table, sign, nan = FORMATS[kind]
    size = np.where(isnan, 0, np.abs(values))
    capped = np.minimum(size, table[-1])
    above = np.clip(np.searchsorted(table, capped), 1, len(table) - 1)
    below = above - 1
    middle = (table[below] + table[above]) / 2
    up = (capped > middle) | ((capped == middle) & (above % 2 == 0))
    codes = np.where(up, above, below)
    if not saturate and nan is not None:
        # Half a step beyond the largest, where a further number would be even.
        step = table[-1] - table[-2]
        limit = table[-1] + step / 2
        beyond = size > limit if kind == "f8E4M3FN" else size >= limit
        codes = np.where(beyond, nan if kind == "f8E4M3FN" else 0x7C, codes)
        # A NaN has no sign.
        sign = np.where(beyond & (kind == "f8E4M3FN"), 0, sign)
    codes = np.where(np.signbit(values), codes | sign, codes)
    return np.where(isnan, nan or 0, codes).astype(np.uint8)


def decode(codes, kind):
    """The f32 values of codes."""
    codes = np.asarray(codes, np.uint8)
    if kind == "i8":
        return codes.view(np.int8).astype(F32)
    if kind == "f8E8M0FNU":
        with np.errstate(invalid="ignore"):
            values = np.ldexp(1.0, codes.astype(np.int64) - 127)
        return np.where(codes == 0xFF, np.nan, values).astype(F32)
    table, sign, _ = FORMATS[kind]
    size = np.full(sign, np.nan)
    size[:len(table)] = table
    if kind == "f8E5M2":
        size[0x7C] = np.inf
    values = size[codes & (sign - 1)]
    return np.where(codes & sign, -values, values).astype(F32)


def to_bf16(values):
    """f32 to the bits of bf16, to nearest even."""
    bits = np.asarray(values, F32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def store(values, kind):
    """f32 values as an array of a type that norm-run reads."""
    with np.errstate(over="ignore"):
        return (to_bf16(values) if kind == "bf16" else
                np.asarray(values, F32).astype(
                    {"f16": np.float16, "f32": F32}[kind]))


def load(array, kind):
    """f32 values of an array of a float type."""
    if kind == "bf16":
        return (array.astype(np.uint32) << 16).view(F32)
    return array.astype(F32)


def pack(codes, kind):
    """Codes as they lie in memory: of f4E2M1FN two in a byte, the first low."""
    if kind == "i8":
        return codes.view(np.int8)
    if kind != "f4E2M1FN":
        return codes
    return (codes[..., 0::2] | codes[..., 1::2] << 4).astype(np.uint8)


# ---------------------------------------------------------------------------
# The definition
# ---------------------------------------------------------------------------

def grid_of(shape, group):
    return tuple(1 if count < 0 else extent // count
                 for extent, count in zip(shape, group))


def group_numbers(shape, group):
    """Of each element the index of its group, an array for each axis."""
    return np.meshgrid(*[np.zeros(extent, int) if count < 0 else
                         np.arange(extent) // count
                         for extent, count in zip(shape, group)],
                       indexing="ij")


def place(scales, layout):
    """Scales [m, k] as the layout stores them."""
    if layout == "row_major":
        return scales
    rows, groups = scales.shape
    if layout == "column_major":
        stored = np.empty((groups, rows), scales.dtype)
    elif layout == "packed":
        stored = np.empty((groups // 4, rows, 4), scales.dtype)
    else:
        stored = np.empty((rows // 128, groups // 4, 32, 4, 4), scales.dtype)
    for m in range(rows):
        for k in range(groups):
            at = {"column_major": (k, m), "packed": (k // 4, m, k % 4),
                  "swizzle_128x4": (m // 128, k // 4, m % 32, m % 128 // 32,
                                    k % 4)}[layout]
            stored[at] = scales[m, k]
    return stored


def scales_of(amax, case, tensor_scale):
    """What is stored of the scales of the largest magnitudes, and as f32."""
    largest = LARGEST[case.q]
    if tensor_scale is not None:
        amax = finite(case, amax / tensor_scale)
    # float64 has more than twice the digits: the quotient is rounded once.
    quotient = (amax.astype(np.float64) / largest).astype(F32)
    least = case.least
    if case.scale == "f8E8M0FNU":
        if case.rounding == "floor":
            mantissa, exponent = np.frexp(amax.astype(np.float64))
            power = exponent - 1 - int(np.floor(np.log2(largest)))
            zero = amax == 0
        else:
            mantissa, exponent = np.frexp(quotient.astype(np.float64))
            power = exponent - (mantissa == 0.5)
            zero = quotient == 0
        power = np.where(zero, -1000, power)
        power = np.maximum(power, int(np.floor(np.log2(least))))
        codes = np.where(np.isnan(amax), 0xFF, power + 127).astype(np.uint8)
        return codes, decode(codes, "f8E8M0FNU")
    scale = np.maximum(quotient, F32(least))
    if case.scale == "f32":
        return scale, scale
    codes = encode(scale, "f8E4M3FN")
    return codes, decode(codes, "f8E4M3FN")


def finite(case, values):
    """Magnitudes as they are taken on: not negative, and not infinite."""
    least, most = ((np.fmax, np.fmin) if case.nan == "element" else
                   (np.maximum, np.minimum))
    return most(least(values, F32(0)), FLOAT_MAX)


def largest_magnitudes(case, x, numbers, grid):
    amax = np.zeros(grid, F32)
    if x.size:
        largest = np.fmax if case.nan == "element" else np.maximum
        largest.at(amax, tuple(numbers), np.abs(x))
    return finite(case, amax)


def quantize(case, x, given, tensor_scale):
    """The arrays norm-run has to return: codes, scales, amax."""
    grid = grid_of(x.shape, case.group)
    numbers = tuple(group_numbers(x.shape, case.group))
    amax = largest_magnitudes(case, x, numbers, grid)
    results = []
    if given is None:
        stored, scale = scales_of(amax, case, tensor_scale)
        results.append(place(stored, case.layout))
    else:
        scale = np.broadcast_to(given, grid)
    if tensor_scale is not None:
        scale = scale * tensor_scale
    # At most finite, so that zero is zero.
    inverse = np.minimum(F32(1) / scale, FLOAT_MAX)
    results.insert(0, pack(encode(x * inverse[numbers], case.q, case.saturate),
                           case.q))
    return results + ([amax] if case.amax else [])


def dequantize(case, codes, given, tensor_scale):
    scale = np.broadcast_to(given, grid_of(codes.shape, case.group))
    if tensor_scale is not None:
        scale = scale * tensor_scale
    numbers = tuple(group_numbers(codes.shape, case.group))
    return store(decode(codes, case.q) * scale[numbers], case.x)


# ---------------------------------------------------------------------------
# Cases
# ---------------------------------------------------------------------------

class Case:
    """What an op says; fields that a test doesn't draw have the defaults."""
    x, q, scale = "bf16", "f8E4M3FN", "f32"
    shape, group, dynamic = (5, 256), (1, 128), (0,)
    layout, rounding, min_scale = "row_major", "floor", None
    given = None  # None, "tensor" or "groups"
    tensor_scale, amax, saturate, nan = False, False, True, "element"

    def __init__(self, **fields):
        for name, value in fields.items():
            assert hasattr(Case, name), name
            setattr(self, name, value)

    @property
    def least(self):
        if self.min_scale is not None:
            return self.min_scale
        return 2.0**-6 if (self.scale == "f8E4M3FN" and
                           self.given is None) else 2.0**-126

    def tensor(self, shape, kind, axes=()):
        extents = ["?" if axis in axes else str(extent)
                   for axis, extent in enumerate(shape)]
        return f"tensor<{'x'.join(extents + [kind])}>"

    def scale_tensor(self):
        if self.given == "tensor":
            return self.tensor((), self.scale)
        grid = grid_of(self.shape, self.group)
        shape = place(np.zeros(grid, np.uint8), self.layout).shape
        # The axes of the stored scales that are those of dynamic extents.
        at = {"row_major": list(range(len(grid))), "column_major": [1, 0],
              "packed": [1], "swizzle_128x4": [0]}[self.layout]
        axes = [at[axis] for axis in self.dynamic
                if self.group[axis] == 1 and axis < len(at)]
        return self.tensor(shape, self.scale, axes)

    def amax_tensor(self):
        return self.tensor(grid_of(self.shape, self.group), "f32",
                           [axis for axis in self.dynamic
                            if self.group[axis] == 1])

    def clauses(self, stats=False):
        """Text behind the first operand, and the types of further operands."""
        text, types = "", []
        if self.given:
            text += " scale(%s)"
            types.append(("%s", self.scale_tensor()))
        if self.tensor_scale:
            text += " tensor_scale(%t)"
            types.append(("%t", "tensor<f32>"))
        if stats and self.amax:
            text += " stats(amax)"
        text += f" group = [{', '.join(map(str, self.group))}]"
        if self.layout != "row_major":
            text += f" scale_layout = {self.layout}"
        return text, types

    def quantize_op(self, value="%x"):
        """The op, further operands and the results, as (name, type)."""
        text, types = self.clauses(stats=True)
        if self.rounding != "floor":
            text += f" scale_rounding = {self.rounding}"
        if self.min_scale is not None:
            text += f" min_scale = {self.min_scale:.17e}"
        if not self.saturate:
            text += " saturate = false"
        if self.nan != "element":
            text += f" nan = {self.nan}"
        results = [("%q", self.tensor(self.shape, self.q, self.dynamic))]
        if not self.given:
            results.append(("%c", self.scale_tensor()))
        if self.amax:
            results.append(("%a", self.amax_tensor()))
        x = self.tensor(self.shape, self.x, self.dynamic)
        op = (f"  {', '.join(name for name, _ in results)} = norm.quantize"
              f" {value}{text} : {', '.join([x] + [t for _, t in types])} ->"
              f" {', '.join(t for _, t in results)}\n")
        return op, types, results

    def dequantize_op(self, result="%y"):
        text, types = self.clauses()
        q = self.tensor(self.shape, self.q, self.dynamic)
        y = self.tensor(self.shape, self.x, self.dynamic)
        op = (f"  {result} = norm.dequantize %q{text} :"
              f" {', '.join([q] + [t for _, t in types])} -> {y}\n")
        return op, [("%q", q)] + types, [(result, y)]

    def name(self):
        return " ".join(f"{k}={v}" for k, v in vars(self).items())


def function(arguments, body, results):
    kinds = ", ".join(kind for _, kind in results)
    names = ", ".join(name for name, _ in results)
    head = ", ".join(f"{name}: {kind}" for name, kind in arguments)
    return (f"func.func @f({head}) -> ({kinds}) {{\n{body}"
            f"  return {names} : {kinds}\n}}\n")


# ---------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------

KINDS = ["normal", "normal", "zeros", "huge", "tiny", "subnormal", "nan", "inf",
         "one", "constant", "ties", "ties", "outlier", "nans", "wide"]


def group_data(kind, size, code, rng):
    """f32 values of one kind."""
    normal = rng.standard_normal(size)
    if kind == "zeros":
        return normal * 0
    if kind == "huge":
        return normal * 2.0**126
    if kind == "tiny":
        return normal * 2.0**-120
    if kind == "subnormal":
        return rng.integers(-100, 100, size) * 2.0**-149
    if kind in ("nan", "inf"):
        value = np.nan if kind == "nan" else rng.choice([np.inf, -np.inf])
        return np.where(rng.random(size) < 0.1, value, normal)
    if kind == "nans":
        return np.full(size, np.nan)
    if kind == "one":
        return np.where(np.arange(size) == rng.integers(size), 3.0, -0.0)
    if kind == "constant":
        return np.full(size, rng.choice([1.0, -1e-3, 448.0, 57344.0, 6.0]))
    if kind == "outlier":
        return np.where(np.arange(size) == rng.integers(size), 1e4, normal)
    if kind == "wide":
        return normal * 2.0**rng.integers(-30, 30, size)
    if kind == "ties":
        # Halfway between codes, under a scale that is a power of two.
        if code == "i8":
            values = rng.integers(-127, 127, size) + 0.5
        else:
            table = FORMATS[code][0]
            at = rng.integers(0, len(table) - 1, size)
            values = (table[at] + table[at + 1]) / 2
            values *= rng.choice([-1, 1], size)
        values[rng.integers(size)] = LARGEST[code]
        return values * 2.0**rng.integers(-8, 8)
    return normal


def data_of(case, rng):
    """x, its scale if given (f32, of groups) and as stored, tensor scale."""
    x = np.empty(case.shape, F32)
    grid = grid_of(case.shape, case.group)
    with np.errstate(over="ignore", invalid="ignore"):
        for at in np.ndindex(grid if x.size else 0):
            part = tuple(slice(None) if count < 0 else
                         slice(i * count, (i + 1) * count)
                         for i, count in zip(at, case.group))
            size = x[part].size
            kind = KINDS[rng.integers(len(KINDS))]
            x[part] = group_data(kind, size, case.q, rng).reshape(x[part].shape)
        x = store(x, case.x)
    scale = stored = None
    if case.given:
        shape = () if case.given == "tensor" else grid
        powers = 2.0**rng.integers(-3, 4, shape)
        if case.scale == "f32" and rng.random() < 0.2:
            powers = powers * 2.0**-149
        scale = powers * rng.choice([1, 1, 1.3125, 0.0371], shape)
        if case.scale == "f32":
            stored = scale = np.asarray(scale, F32)
        elif case.scale == "f8E8M0FNU":
            stored = (np.log2(powers) + 127).astype(np.uint8)
            scale = decode(stored, case.scale)
        else:
            stored = encode(scale, case.scale)
            scale = decode(stored, case.scale)
        if case.given == "groups":
            stored = place(stored, case.layout)
    tensor_scale = None
    if case.tensor_scale:
        tensor_scale = F32(rng.choice([1.0, 0.01, 3.7e-4, 900.0, 1e-37]))
    return x, scale, stored, tensor_scale


# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------

class Runner:
    def __init__(self, options, folder):
        self.tool, self.folder = options.tool, Path(folder)
        self.only, self.keep = options.only, options.keep
        self.runs = self.failures = 0

    def fail(self, name, text):
        self.failures += 1
        print(f"failed: {name}: {text}")
        if self.keep:
            source = Path(self.keep) / f"failed{self.failures}.mlir"
            source.write_text((self.folder / "case.mlir").read_text())

    def run(self, name, text, arrays, results, options):
        """Results as arrays; None, and a line, where the tool fails."""
        self.runs += 1
        source = self.folder / "case.mlir"
        source.write_text(text)
        command = [self.tool, str(source), *options]
        for i, array in enumerate(arrays):
            if isinstance(array, str):
                command += ["--arg", f"{i}={array}"]
                continue
            np.save(self.folder / f"in{i}.npy", array)
            command += ["--arg", f"{i}={self.folder / f'in{i}.npy'}"]
        files = [self.folder / f"out{i}.npy" for i in range(results)]
        for i, file in enumerate(files):
            command += ["--out", f"{i}={file}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            self.fail(f"{name} {options}", done.stdout + done.stderr)
            return None
        return [np.load(file) for file in files]

    def everywhere(self, name, text, arrays, expected, schedule=None,
                   further=0, kernels=None, options=()):
        """Compares every bit with what is expected, on all targets; of `further`
        results, those of the targets with each other. `kernels` is their number."""
        if self.only not in name:
            return
        count = len(expected) + further
        report = self.folder / "report.json"
        host = self.run(name, text, arrays, count, [
            "--device=host", "--check", "--json", str(report), *options])
        if host is None:
            return
        names = [kernel["program"]
                 for kernel in json.loads(report.read_text())["kernels"]]
        if kernels is not None and len(names) != kernels:
            self.fail(name, f"{len(names)} kernels: {names}")
        for number, (got, wanted) in enumerate(zip(host, expected)):
            wanted = np.asarray(wanted)
            if got.dtype != wanted.dtype or got.shape != wanted.shape:
                self.fail(name, f"result {number} is {got.dtype} {got.shape}, not"
                          f" {wanted.dtype} {wanted.shape}")
                continue
            differ = bits(got) != bits(wanted)
            if differ.any():
                at = tuple(int(i) for i in np.argwhere(differ)[0])
                self.fail(name, f"{differ.sum()} of {differ.size} elements of"
                          f" result {number} are others than defined, the first"
                          f" at {at}: {got[at]!r}, not {wanted[at]!r}")
        options = ["--device=emulated", "--target=sm_90", "--bits=host", *options]
        if schedule:
            options.append("--schedule=" + schedule)
        self.run(name, text, arrays, count, options)


def bits(array):
    """What is compared: all NaNs of wider floats are one."""
    if array.dtype.kind != "f":
        return array
    unsigned = array.view(f"u{array.dtype.itemsize}")
    return np.where(np.isnan(array), -1, unsigned.astype(np.int64))


def check_quantize(runner, case, rng):
    x, scale, stored, tensor_scale = data_of(case, rng)
    op, types, results = case.quantize_op()
    text = function([("%x", case.tensor(case.shape, case.x, case.dynamic))] +
                    types, op, results)
    arrays = [x] + [array for array in (stored, tensor_scale)
                    if array is not None]
    with np.errstate(all="ignore"):
        expected = quantize(case, load(x, case.x), scale, tensor_scale)
    runner.everywhere(case.name(), text, arrays, expected)


def check_dequantize(runner, case, rng):
    """All codes, in any order."""
    assert case.given
    _, scale, stored, tensor_scale = data_of(case, rng)
    count = 16 if case.q == "f4E2M1FN" else 256
    codes = rng.integers(0, count, case.shape).astype(np.uint8)
    op, types, results = case.dequantize_op()
    text = function(types, op, results)
    arrays = [pack(codes, case.q)] + [array for array in (stored, tensor_scale)
                                      if array is not None]
    with np.errstate(all="ignore"):
        expected = [dequantize(case, codes, scale, tensor_scale)]
    if case.x == "bf16":
        # One code of NaN for a type that numpy doesn't know.
        expected[0][np.isnan(load(expected[0], "bf16"))] = 0x7FC0
    runner.everywhere("dequantize " + case.name(), text, arrays, expected)


# ---------------------------------------------------------------------------
# Fused with norms
# ---------------------------------------------------------------------------

SCHEDULES = [None, None, None, "threads=64,residency=stream",
             "threads=128,residency=shared", "threads=128,residency=registers"]
NORMS = ["rms_norm", "layer_norm", "softmax", "l2_normalize", "add_rms_norm",
         "add_layer_norm", "gate", "gelu"]


def norm_of(kind, x, y, weight):
    """Arguments, operations that make %y, and what else they may return."""
    head, body, value, others = [("%x", x)], "", "%x", []
    if kind.startswith("add_"):
        head.append(("%r", x))
        body, value, others = f"  %h = arith.addf %x, %r : {x}\n", "%h", [("%h", x)]
        kind = kind.removeprefix("add_")
    if kind == "gate":
        return [("%x", y), ("%u", y)], (
            f"  %g = norm.silu %x : {y}\n  %y = arith.mulf %g, %u : {y}\n"), []
    if kind == "gelu":
        return [("%x", y), ("%w", weight)], (
            f"  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : {y},"
            f" {weight} -> {y}\n  %y = norm.gelu %n : {y}\n"), []
    operands, types, eps = "", x, "" if kind == "softmax" else " eps = 1.0e-6"
    if kind in ("rms_norm", "layer_norm"):
        head.append(("%w", weight))
        operands, types = " scale(%w)", f"{types}, {weight}"
    if kind == "layer_norm":
        head.append(("%b", weight))
        operands, types = operands + " bias(%b)", f"{types}, {weight}"
    return head, body + (f"  %y = norm.{kind} {value}{operands} axes = [1]{eps} :"
                         f" {types} -> {y}\n"), others


def draw_fused(draws):
    """A norm, its type and a case on its result; kernels, and a schedule."""
    pick = draws.choice
    case = Case(x=pick(["bf16", "bf16", "f16", "f32"]), q=pick(list(LARGEST)))
    form = pick(["row", "16", "32", "64", "128", "128", "tensor", "static"])
    columns = pick([64, 96, 128, 384, 1024, 1536, 2048, 3072, 4096, 5120, 8192]
                   if form != "row" else [6, 96, 384, 1000, 4096, 5120, 7168])
    rows = pick([1, 3, 5])
    case.shape, case.dynamic = (rows, columns), pick([(0,), (0,), ()])
    if form == "row":
        case.group = (1, -1)
    elif form in ("tensor", "static"):
        case.group = (-1, -1)
    else:
        width = int(form)
        while columns % width:
            width //= 2
        case.group = (1, width)
        case.scale = pick(["f32", "f8E8M0FNU", "f8E4M3FN"])
        case.tensor_scale = case.scale == "f8E4M3FN"
        case.layout = pick(["row_major", "column_major"])
        if columns // width % 4 == 0:
            case.layout = pick(["row_major", "column_major", "packed"])
            if draws.random() < 0.1:
                case.layout, case.shape = "swizzle_128x4", (128, columns)
                case.dynamic = ()
        if case.scale == "f8E8M0FNU":
            case.rounding = pick(["floor", "ceil"])
    case.given = "tensor" if form == "static" else None
    case.amax = draws.random() < 0.25
    case.nan = pick(["element", "element", "group"])
    norm, kernels, schedule = pick(NORMS), 1, pick(SCHEDULES)
    if form in ("tensor", "static") and case.dynamic:
        # Rows of any number: an amax of rows is found, and then that of all.
        kernels = 3 if form == "tensor" else 1 + case.amax
        schedule = None
    elif form in ("tensor", "static") and rows > 1 and not (
            norm == "gate" or form == "static" and not case.amax):
        kernels, schedule = 2, None
    # Groups of f64 are at most 64 columns in a norm's kernel.
    wide = ["f64"] if case.group[1] <= 64 else []
    return norm, pick(["bf16", "bf16", "f16", "f32"] + wide), case, kernels, schedule


def check_fused(runner, number, drawn, rng):
    norm, x_type, case, kernels, schedule = drawn
    _, scale, stored, tensor_scale = data_of(case, rng)
    weight = f"tensor<{case.shape[1]}xf32>"
    head, body, results = norm_of(
        norm, case.tensor(case.shape, x_type, case.dynamic),
        case.tensor(case.shape, case.x, case.dynamic), weight)
    op, types, quantized = case.quantize_op("%y")
    if number % 2:
        results = results + [("%y", case.tensor(case.shape, case.x, case.dynamic))]
    extents = "x".join(map(str, case.shape))
    data = [f"random:{case.shape[1] if kind == weight else extents}:seed={seed}"
            for seed, (_, kind) in enumerate(head, 10 * number)]
    name = f"fused {number} {norm} of {x_type}, {case.name()}"
    if runner.only not in name:
        return
    alone = runner.run(name, function(head, body, [
        ("%y", case.tensor(case.shape, case.x, case.dynamic))]), data, 1,
        ["--device=host"])
    if alone is None:
        return
    with np.errstate(all="ignore"):
        expected = quantize(case, load(alone[0], case.x), scale, tensor_scale)
    text = function(head + types, body + op, quantized + results)
    arrays = data + [array for array in (stored, tensor_scale)
                     if array is not None]
    runner.everywhere(name, text, arrays, expected, schedule, len(results),
                      kernels)


def check_prologues(runner, rng):
    """Dequantization in front of a norm is a part of its kernel."""
    cases = [Case(q="i8", group=(1, -1), shape=(5, 1000), given="groups",
                  tensor_scale=True),
             Case(shape=(5, 1024), given="groups", layout="column_major"),
             Case(q="f8E5M2", shape=(3, 512), group=(1, 32), given="groups",
                  scale="f8E8M0FNU", layout="packed"),
             Case(q="f4E2M1FN", shape=(256, 512), group=(1, 16), dynamic=(),
                  scale="f8E4M3FN", given="groups", layout="swizzle_128x4",
                  tensor_scale=True),
             Case(q="i8", shape=(5, 300), group=(-1, -1), given="tensor")]
    for case in cases:
        x, scale, stored, tensor_scale = data_of(case, rng)
        codes = rng.integers(0, 7, case.shape).astype(np.uint8)
        op, types, _ = case.dequantize_op("%x")
        kind = case.tensor(case.shape, case.x, case.dynamic)
        body = f"  %y = norm.rms_norm %x axes = [1] eps = 1.0e-6 : {kind} -> {kind}\n"
        scales = [array for array in (stored, tensor_scale) if array is not None]
        name = "prologue " + case.name()
        expected = runner.run(name, function([("%x", kind)], body, [("%y", kind)]),
                              [dequantize(case, codes, scale, tensor_scale)], 1,
                              ["--device=host"])
        if expected:
            runner.everywhere(name, function(types, op + body, [("%y", kind)]),
                              [pack(codes, case.q)] + scales, expected, kernels=1)


def check_padding(runner, rng):
    """Scales in column-major order, whose columns are padded to 16 bytes."""
    for rows in [1, 5, 37]:
        case = Case(shape=(rows, 512), layout="column_major")
        x, _, _, _ = data_of(case, rng)
        op, _, results = case.quantize_op()
        text = function([("%x", case.tensor(case.shape, case.x, case.dynamic))],
                        op, results).replace(
            f"{results[1][1]}) {{",
            f"{results[1][1]} {{norm.layout = strided<[?, 1]>}}) {{")
        with np.errstate(all="ignore"):
            expected = quantize(case, load(x, case.x), None, None)
        runner.everywhere(
            f"padded columns, {rows} rows", text, [x], expected,
            options=["--place", f"out1:pitch={(rows + 3) // 4 * 4}"])


# ---------------------------------------------------------------------------
# Drawing
# ---------------------------------------------------------------------------

def draw(draws):
    """A case that the op's constraints allow."""
    pick = draws.choice
    case = Case()
    case.x, case.q = pick(["bf16", "f16", "f32"]), pick(list(LARGEST))
    case.scale = pick(["f32", "f32", "f8E8M0FNU", "f8E4M3FN"])
    case.given = pick([None, None, None, "tensor", "groups"])
    case.amax = draws.random() < 0.3
    case.tensor_scale = draws.random() < 0.3
    width = pick([16, 32, 64, 128])
    rows, groups = pick([0, 1, 3, 5, 37, 130]), pick([1, 2, 3, 4, 8, 12, 40])
    form = pick(["row", "width", "width", "width", "tensor", "block", "cube",
                 "column", "columns", "line"])
    columns = width * groups
    any_columns = pick([2, 6, 34, 100, 1000, 4096])
    case.dynamic = (0,) if draws.random() < 0.7 else ()
    if form == "row":
        case.shape, case.group = (rows, any_columns), (1, -1)
        if draws.random() < 0.3:
            case.dynamic = (0, 1)
    elif form == "width":
        case.shape, case.group = (rows, columns), (1, width)
        layouts = ["row_major", "column_major"]
        if groups % 4 == 0:
            layouts += ["packed", "swizzle_128x4"]
        case.layout = pick(layouts)
        if case.layout == "swizzle_128x4":
            case.shape = (pick([128, 256]), columns)
            case.dynamic = ()
    elif form == "tensor":
        case.shape, case.group = (rows, any_columns), (-1, -1)
    elif form == "block":
        side = pick([32, 128])
        case.shape = (side * pick([1, 2, 3]), side * pick([1, 2, 3]))
        case.group, case.dynamic = (side, side), ()
        case.layout = pick(["row_major", "column_major"])
    elif form == "cube":
        case.shape = (pick([1, 3]), pick([1, 4, 6]), columns)
        case.group = pick([(1, 1, width), (1, 1, -1), (1, -1, -1), (-1, -1, -1),
                           (-1, 1, 1), (1, 2 - case.shape[1] % 2, width)])
        case.dynamic = pick([(0,), (), (0,)])
    elif form == "column":
        case.shape, case.group = (max(rows, 1), any_columns), (-1, 1)
    elif form == "columns":
        case.shape, case.group = (width * 3, any_columns), (width, 1)
        case.dynamic = ()
    else:
        case.shape, case.group = (columns,), pick([(width,), (-1,)])
        case.dynamic = ()
    if not case.given and case.scale == "f8E8M0FNU":
        case.rounding = pick(["floor", "ceil"])
    if not case.given and draws.random() < 0.2:
        case.min_scale = pick([2.0**-6, 2.0**-9, 1.0, 3e-3] if
                              case.scale == "f8E4M3FN" else
                              [2.0**-10, 2.0**-100, 1e-4 / 448, 1e-5])
    case.saturate = "8E" not in case.q or draws.random() < 0.8
    case.nan = pick(["element", "element", "element", "group"])
    return case


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--fused", type=int, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="a folder for the programs that fail")
    options = parser.parse_args()
    draws = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        for number in range(options.cases):
            case = draw(draws)
            rng = np.random.default_rng([options.seed, number])
            if case.given and number % 2:
                check_dequantize(runner, case, rng)
            else:
                check_quantize(runner, case, rng)
        for number in range(options.fused):
            drawn = draw_fused(draws)
            check_fused(runner, number, drawn,
                        np.random.default_rng([options.seed, number, 1]))
        check_prologues(runner, np.random.default_rng(options.seed))
        check_padding(runner, np.random.default_rng(options.seed))
        print(f"quantize: {runner.runs} runs, {runner.failures} failures")
        return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
