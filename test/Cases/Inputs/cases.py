# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cases share: tensors with exact data, programs, runs on every
device with a comparison of their bits, float64 references, and the limits.

A case is started as `case.test DEVICES NORM_RUN [NORM_COMPILE]`, collects its
failures, and ends with `finish()`.
"""

import array
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

DESCRIPTION = {"f16": "<f2", "bf16": "<u2", "f32": "<f4", "f64": "<f8"}
WIDTH = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
CODE = {"f16": "e", "f32": "f", "f64": "d"}
# Bits of the significand, and the exponent of the least normal number.
FORMAT = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126),
          "f64": (53, -1022)}
NAN = float("nan")
INF = float("inf")

devices = sys.argv[1].split(",") if len(sys.argv) > 1 else []
norm_run = sys.argv[2] if len(sys.argv) > 2 else None
norm_compile = sys.argv[3] if len(sys.argv) > 3 else None
scratch = tempfile.TemporaryDirectory()
checks = 0
failures = 0


def to_bf16(value):
    """The bits of a float64 rounded once to bf16, to nearest even."""
    if math.isnan(value):
        return 0x7FC0
    try:
        bits, = struct.unpack("<I", struct.pack("<f", value))
    except OverflowError:
        return 0xFF80 if value < 0 else 0x7F80
    if bits & 0xFFFF == 0x8000:
        # Exactly between two: which side the float64 lies on decides.
        single, = struct.unpack("<f", struct.pack("<I", bits))
        bits += (abs(value) > abs(single)) - (abs(value) < abs(single))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def encode(dtype, values):
    if dtype == "bf16":
        return array.array("H", map(to_bf16, values)).tobytes()
    if dtype == "f16":
        return struct.pack(f"<{len(values)}e", *values)
    return array.array(CODE[dtype], values).tobytes()


def decode(dtype, data):
    if dtype == "bf16":
        wide = array.array("I", (b << 16 for b in array.array("H", data)))
        return array.array("f", wide.tobytes()).tolist()
    if dtype == "f16":
        return list(struct.unpack(f"<{len(data) // 2}e", data))
    return array.array(CODE[dtype], data).tolist()


class Tensor:
    """Elements in C order, as bytes of the element type."""

    def __init__(self, dtype, shape, data):
        self.dtype, self.shape = dtype, tuple(shape)
        self.data = data if isinstance(data, bytes) else encode(dtype, data)
        count = math.prod(self.shape)
        assert len(self.data) == count * WIDTH[dtype], (shape, len(self.data))

    def values(self):
        return decode(self.dtype, self.data)

    def rows(self):
        values, width = self.values(), self.shape[-1]
        return [values[i:i + width] for i in range(0, len(values), width)]

    def row_bytes(self, row):
        pitch = self.shape[-1] * WIDTH[self.dtype]
        return self.data[row * pitch:(row + 1) * pitch]

    def write(self, path):
        shape = "".join(f"{extent}, " for extent in self.shape)
        header = (f"{{'descr': '{DESCRIPTION[self.dtype]}', "
                  f"'fortran_order': False, 'shape': ({shape}), }}")
        header += " " * (-(len(header) + 11) % 64) + "\n"
        with open(path, "wb") as out:
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
            out.write(header.encode() + self.data)

    @staticmethod
    def read(path, dtype):
        with open(path, "rb") as file:
            content = file.read()
        assert content[:7] == b"\x93NUMPY\x01", path
        size, = struct.unpack("<H", content[8:10])
        header = eval(content[10:10 + size].decode(), {"__builtins__": {}})
        assert header["descr"] == DESCRIPTION[dtype], (header, dtype)
        assert not header["fortran_order"]
        return Tensor(dtype, header["shape"], content[10 + size:])


def tensor(dtype, rows):
    """A matrix of rows, or a vector."""
    if rows and isinstance(rows[0], (list, tuple)):
        return Tensor(dtype, (len(rows), len(rows[0])),
                      [v for row in rows for v in row])
    return Tensor(dtype, (len(rows),), rows)


def normal(seed, count, mean=0.0, std=1.0):
    numbers = random.Random(seed)
    return [mean + std * numbers.gauss(0, 1) for _ in range(count)]


def same_bits(a, b):
    """Equal bits; a NaN equals any NaN."""
    if a.data == b.data and a.shape == b.shape:
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    width = WIDTH[a.dtype]
    return all(
        u != u and v != v or a.data[i * width:][:width]
        == b.data[i * width:][:width]
        for i, (u, v) in enumerate(zip(a.values(), b.values())))


# --- Programs ---------------------------------------------------------------

def kind(dtype, *shape):
    return "tensor<" + "".join(f"{e}x" for e in shape) + dtype + ">"


def norm_program(op, columns, x, y=None, scale=None, bias=None, offset=None,
                 eps=1e-5, stats=(), residual=False, rows="?", arithmetic=None):
    """func @f(x [, residual] [, scale] [, bias]) -> (y [, sum] [, stats]).
    `scale` and `bias` are element types."""
    y = y or x
    xt, yt = kind(x, rows, columns), kind(y, rows, columns)
    arguments = [("x", xt)]
    if residual:
        arguments.append(("res", xt))
    operands, types, input_name = "", [xt], "%x"
    if scale:
        arguments.append(("w", kind(scale, columns)))
        more = f", offset = {offset}" if offset is not None else ""
        operands += f" scale(%w{more})"
        types.append(kind(scale, columns))
    if bias:
        arguments.append(("b", kind(bias, columns)))
        operands += " bias(%b)"
        types.append(kind(bias, columns))
    if stats:
        operands += f" stats({', '.join(stats)})"
    operands += " axes = [1]"
    if op not in ("softmax", "log_softmax"):
        operands += f" eps = {eps:e}"
    statistic = kind(arithmetic or
                     ("f64" if "f64" in (x, y, scale, bias) else "f32"), rows)
    body = ""
    if residual:
        body += f"  %sum = arith.addf %x, %res : {xt}\n"
        input_name = "%sum"
    results = [("%y", yt)] + [(f"%s{i}", statistic) for i in range(len(stats))]
    body += (f"  {', '.join(n for n, _ in results)} = norm.{op} {input_name}"
             f"{operands} : {', '.join(types)} -> "
             f"{', '.join(t for _, t in results)}\n")
    if residual:
        results.insert(1, ("%sum", xt))
    signature = ", ".join(f"%{n}: {t}" for n, t in arguments)
    returned = ", ".join(t for _, t in results)
    return (f"func.func @f({signature}) -> ({returned}) {{\n{body}"
            f"  return {', '.join(n for n, _ in results)} : {returned}\n}}\n")


def channel_program(op, shape, axis, dtype, scale=None, bias=None, groups=None,
                    running=False, training=False, stats=(), eps=1e-5,
                    attributes=""):
    """func @f(x [, scale] [, bias] [, mean, var]) -> (y [, mean', var'] [,
    stats]) of an op over channels along `axis` of `shape`, whose extent is
    static. `attributes` are those of x and y."""
    channels = kind("f32", shape[axis])
    arguments, types = [f"%x: {kind(dtype, *shape)}{attributes}"], []
    operands = ""
    for name, short, given in (("scale", "w", scale), ("bias", "b", bias)):
        if given:
            arguments.append(f"%{short}: {kind(given, shape[axis])}")
            types.append(kind(given, shape[axis]))
            operands += f" {name}(%{short})"
    if running:
        arguments += [f"%m: {channels}", f"%v: {channels}"]
        types += [channels] * 2
        operands += " running(%m, %v)"
    if stats:
        operands += f" stats({', '.join(stats)})"
    if groups:
        operands += f" groups = {groups}"
    operands += f" channel_axis = {axis} eps = {eps:e}"
    if training:
        operands += " training" + (" momentum = 0.1" if running else "")
    statistic = (channels if op == "batch_norm" else
                 kind("f32", shape[0], groups or shape[axis]))
    results = [kind(dtype, *shape)]
    results += [channels] * (2 if running and training else 0)
    results += [statistic] * len(stats)
    names = [f"%r{i}" for i in range(len(results))]
    returned = [results[0] + attributes] + results[1:]
    types = ", ".join([kind(dtype, *shape)] + types)
    return (f"func.func @f({', '.join(arguments)}) -> ({', '.join(returned)}) "
            f"{{\n  {', '.join(names)} = norm.{op} %x{operands} : {types} -> "
            f"{', '.join(results)}\n  return {', '.join(names)} : "
            f"{', '.join(results)}\n}}\n")


# --- Runs -------------------------------------------------------------------

def command(tool, program, options):
    path = os.path.join(scratch.name, "case.mlir")
    with open(path, "w") as out:
        out.write(program)
    done = subprocess.run([tool, path] + options, capture_output=True,
                          text=True)
    return done.returncode, done.stdout, done.stderr


def run_on(device, program, arguments, results, place=(), options=()):
    """The results of one run, `results` being their element types. Arguments
    are tensors, `(tensor, layout)` such as ":offset=1", or norm-run's text."""
    line = [f"--device={device}", *options]
    for i, argument in enumerate(arguments):
        layout = ""
        if isinstance(argument, tuple):
            argument, layout = argument
        if isinstance(argument, Tensor):
            path = os.path.join(scratch.name, f"arg{i}.npy")
            argument.write(path)
            argument = path
        line += ["--arg", f"{i}={argument}{layout}"]
    for text in place:
        line += ["--place", text]
    paths = [os.path.join(scratch.name, f"out{i}.npy")
             for i in range(len(results))]
    for i, path in enumerate(paths):
        line += ["--out", f"{i}={path}"]
    status, out, err = command(norm_run, program, line)
    if status != 0:
        fail(f"{device}: status {status}\n{program}{' '.join(line)}\n"
             f"{out}{err}")
        return None
    return [Tensor.read(path, dtype) for path, dtype in zip(paths, results)]


def run(what, program, arguments, results, on=None, **more):
    """Runs on all devices, which must agree in every bit. The first one's
    results; the case ends here if there are none."""
    first = None
    for device in on or devices:
        got = run_on(device, program, arguments, results, **more)
        if got is None:
            finish()
        if first is None:
            first = got
            continue
        for i, (a, b) in enumerate(zip(first, got)):
            check(same_bits(a, b), f"{what}: result {i} of {device} differs "
                                   f"from that of {(on or devices)[0]}")
    return first


# --- Float64 references, on lists of the rounded inputs -----------------------

def mean_of(row):
    return math.fsum(row) / len(row)


def variance_of(row):
    mean = mean_of(row)
    return math.fsum((v - mean) * (v - mean) for v in row) / len(row)


def affine(row, scale, bias, offset=0.0):
    if scale is not None:
        row = [v * (s + offset) for v, s in zip(row, scale)]
    if bias is not None:
        row = [v + b for v, b in zip(row, bias)]
    return row


def layer_norm(row, eps=1e-5, scale=None, bias=None, offset=0.0):
    mean, rstd = mean_of(row), 1 / math.sqrt(variance_of(row) + eps)
    return affine([(v - mean) * rstd for v in row], scale, bias, offset)


def rms_norm(row, eps=1e-5, scale=None, offset=0.0):
    square = math.fsum(v * v for v in row) / len(row)
    rstd = 1 / math.sqrt(square + eps)
    return affine([v * rstd for v in row], scale, None, offset)


def softmax(row):
    """All NaN beside a NaN, +inf, or where all is -inf."""
    top = max(row) if not any(math.isnan(v) for v in row) else NAN
    if math.isnan(top) or math.isinf(top):
        return [NAN] * len(row)
    parts = [math.exp(v - top) if v != -INF else 0.0 for v in row]
    total = math.fsum(parts)
    return [p / total for p in parts]


# --- Limits -------------------------------------------------------------------

def ulp(dtype, value):
    bits, least = FORMAT[dtype]
    if value == 0:
        return 2.0 ** (least - bits + 1)
    return 2.0 ** (max(math.frexp(abs(value))[1] - 1, least) - bits + 1)


def limit32(ref, row=None):
    """5e-6 relative to the row's largest result (or 1), and what an error of
    half an ulp in a large mean amounts to."""
    limit = 5e-6 * max(1.0, max(map(abs, ref), default=0.0))
    if row is not None and variance_of(row) > 0:
        limit += 2.0 ** -23 * abs(mean_of(row)) / math.sqrt(variance_of(row))
    return limit


def check_row(what, got, ref, dtype, row=None):
    """T32 for f32 (and for f64), else one ulp and 2^-14. A NaN is expected
    where the reference is NaN, an infinity likewise."""
    wide = limit32(ref, row) if dtype in ("f32", "f64") else None
    worst = None
    for i, (y, r) in enumerate(zip(got, ref)):
        if math.isnan(r):
            good, limit = math.isnan(y), 0.0
        elif math.isinf(r):
            good, limit = y == r, 0.0
        else:
            limit = wide if wide is not None else ulp(dtype, r) + 2.0 ** -14
            good = abs(y - r) <= limit
        if not good and worst is None:
            worst = f"[{i}] is {y!r}, expected {r!r} within {limit:.3g}"
    check(len(got) == len(ref) and worst is None,
          f"{what}: {len(got)} elements, {worst}")


def check_rows(what, got, refs, inputs=None):
    rows = got.rows()
    check(len(rows) == len(refs), f"{what}: {len(rows)} rows")
    for i, (row, ref) in enumerate(zip(rows, refs)):
        check_row(f"{what}, row {i}", row, ref, got.dtype,
                  inputs[i] if inputs else None)


# --- The end --------------------------------------------------------------------

def fail(message):
    global failures
    failures += 1
    if failures <= 20:
        print("FAILED " + message)


def check(good, message):
    global checks
    checks += 1
    if not good:
        fail(message)


def check_refused(what, program, options, *texts, tool=None, lines=1):
    """A diagnostic that holds the texts, and status 1."""
    status, out, err = command(tool or norm_run, program, options)
    errors = [l for l in err.splitlines() if "error:" in l]
    check(status == 1, f"{what}: status {status}\n{out}{err}")
    check(len(errors) == lines, f"{what}: {len(errors)} errors\n{err}")
    for text in texts:
        check(text in err, f"{what}: expected '{text}' in\n{err}")


def finish():
    print(f"{checks} checks, {failures} failures")
    sys.exit(1 if failures or not checks else 0)
