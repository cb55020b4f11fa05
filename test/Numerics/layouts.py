# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs norms over any axes, in any layout: against the float64 reference, and
with the same bits on the host and on the emulated device under several schedules.
Prints a line for each failure and a count; exits 1 if any.

  layouts.py NORM_RUN [--count=N] [--seed=S] [--only=OP] [--verbose]

Runs the cases that are written out below, then N ones that are drawn at random.
"""

import argparse
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

# Extents around what slices and steps of lanes are multiples of.
WALKED = [1, 2, 3, 7, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000]
POSITIONS = [1, 2, 3, 5, 7, 8, 9, 10, 12, 16, 24, 33, 48]
ELEMENTS = 20000
AXES_OPS = ["layer_norm", "rms_norm", "softmax", "log_softmax", "logsumexp",
            "l2_normalize"]
CHANNEL_OPS = ["group_norm", "instance_norm", "batch_norm"]
# What is drawn is streamed unless it says otherwise.
SCHEDULES = [
    "threads=1,vector=1,rows_per_cta=32,residency=stream,split=1",
    "threads=2,vector=1,rows_per_cta=48,residency=stream,split=2",
    "threads=4,vector=1,rows_per_cta=240,residency=stream,split=0",
    "threads=32,vector=1,rows_per_cta=30,residency=stream,split=4",
    "threads=8,vector=4,rows_per_cta=240,residency=stream,split=0",
    "threads=32,vector=1,rows_per_cta=12,residency=registers,split=1",
    "threads=32,vector=2,rows_per_cta=30,residency=registers,split=2",
    "threads=16,vector=1,rows_per_cta=12,residency=shared,split=1",
    "threads=8,vector=1,rows_per_cta=30,residency=shared,split=2",
    # Along memory.
    "threads=64,rows_per_cta=3,residency=stream",
    "threads=128,rows_per_cta=1,residency=registers",
    "threads=256,rows_per_cta=1,residency=shared",
]


class Case:
    """A program and the shapes of its arguments."""

    def __init__(self, name, shapes, text, inner, inputs=None):
        self.name = name
        self.shapes = shapes
        self.text = text
        self.inner = inner
        self.inputs = inputs or [None] * len(shapes)

    def schedule(self, number):
        """One that the case allows, of many."""
        if self.inner == 0:
            return ["threads=64,rows_per_cta=3,residency=stream",
                    "threads=256,rows_per_cta=1,residency=stream"][number % 2]
        threads = 4 << number % 4
        rows = math.lcm(self.inner, 32 // threads)
        return (f"threads={threads},vector=1,rows_per_cta={rows},"
                f"residency=stream,split={number % 2}")

    def arguments(self):
        result = []
        for i, (shape, spec) in enumerate(zip(self.shapes, self.inputs)):
            extents = "x".join(map(str, shape)) or "scalar"
            spec = spec or f"random:{extents}:seed={i + 1}:mean=1"
            result += ["--arg", f"{i}={spec}"]
        return result


def tensor(shape, dtype, dynamic=()):
    extents = ["?" if i in dynamic else str(n) for i, n in enumerate(shape)]
    return f"tensor<{'x'.join(extents + [dtype])}>"


def wide(dtype):
    return "f64" if dtype == "f64" else "f32"


def inner_columns(shape, axes):
    """Neighbouring columns of an order across memory, 0 for one along it."""
    dims = [i for i, extent in enumerate(shape) if extent != 1]
    columns = [i for i in dims if i in axes]
    if not columns or columns == dims[-len(columns):]:
        return 0
    if dims[-1] not in axes:
        return 1
    if dims[-2] not in axes and shape[dims[-1]] <= 48:
        return shape[dims[-1]]
    return 0


def function(arguments, results, body):
    """arguments, results: (name, type) each."""
    heads = ", ".join(f"%{name}: {kind}" for name, kind in arguments)
    kinds = ", ".join(kind for _, kind in results)
    names = ", ".join(f"%{name}" for name, _ in results)
    return (f"func.func @f({heads}) -> ({kinds}) {{\n  {body}\n"
            f"  return {names} : {kinds}\n}}\n")


def axes_case(op, shape, axes, dtype, dynamic=(), params=True):
    """A norm over `axes`; scale and bias have the extents of these."""
    kept = [i for i in range(len(shape)) if i not in axes]
    x = tensor(shape, dtype, dynamic)
    rows = tensor([shape[i] for i in kept], wide(dtype),
                  [kept.index(i) for i in dynamic if i in kept])
    columns = [shape[i] for i in axes]
    w = tensor(columns, dtype, [axes.index(i) for i in dynamic if i in axes])
    arguments, shapes = [("x", x)], [shape]
    clauses, kinds, outs = "", [x], [("y", x)]
    if op in ("layer_norm", "rms_norm") and params:
        clauses += " scale(%g)"
        kinds.append(w)
        arguments.append(("g", w))
        shapes.append(columns)
        if op == "layer_norm":
            clauses += " bias(%b)"
            kinds.append(w)
            arguments.append(("b", w))
            shapes.append(columns)
    if op == "layer_norm":
        clauses += " stats(mean, rstd)"
        outs += [("m", rows), ("r", rows)]
    elif op == "rms_norm":
        clauses += " stats(rstd)"
        outs += [("r", rows)]
    elif op == "logsumexp":
        outs = [("y", rows)]
    eps = {"layer_norm": " eps = 1.0e-5", "rms_norm": " eps = 1.0e-6",
           "l2_normalize": " eps = 1.0e-12"}.get(op, "")
    names = ", ".join(f"%{name}" for name, _ in outs)
    results = ", ".join(kind for _, kind in outs)
    body = (f"{names} = norm.{op} %x{clauses} axes = {axes}{eps} :"
            f" {', '.join(kinds)} -> {results}")
    name = f"{op} {x} axes={axes}"
    return Case(name, shapes, function(arguments, outs, body),
                inner_columns(shape, axes))


def channel_case(op, shape, axis, groups, dtype, dynamic=(), params=True):
    channels = shape[axis]
    x = tensor(shape, dtype, dynamic)
    isDynamic = axis in dynamic
    c = tensor([channels], wide(dtype), [0] if isDynamic else [])
    arguments, shapes = [("x", x)], [shape]
    clauses, kinds, outs = "", [x], [("y", x)]
    inputs = [None]
    if params:
        clauses += " scale(%g) bias(%b)"
        arguments += [("g", c), ("b", c)]
        kinds += [c, c]
        shapes += [[channels], [channels]]
        inputs += [None, None]
    batch = [0] if 0 in dynamic else []
    if op == "batch_norm":
        clauses += " running(%m, %v) stats(rstd)"
        arguments += [("m", c), ("v", c)]
        kinds += [c, c]
        shapes += [[channels], [channels]]
        inputs += [None, f"random:{channels}:seed=9:dist=uniform:low=0.5:high=2"]
        outs += [("m1", c), ("v1", c), ("r", c)]
    elif op == "group_norm":
        clauses += " stats(mean, rstd)"
        stats = tensor([shape[0], groups], wide(dtype), batch)
        outs += [("m1", stats), ("r", stats)]
    else:
        clauses += " stats(rstd)"
        outs += [("r", tensor([shape[0], channels], wide(dtype),
                              batch + ([1] if isDynamic else [])))]
    names = ", ".join(f"%{name}" for name, _ in outs)
    results = ", ".join(kind for _, kind in outs)
    of_groups = f" groups = {groups}" if op == "group_norm" else ""
    more = " training momentum = 0.1" if op == "batch_norm" else ""
    body = (f"{names} = norm.{op} %x{clauses}{of_groups} channel_axis = {axis}"
            f" eps = 1.0e-5{more} : {', '.join(kinds)} -> {results}")
    name = f"{op} {x} axis={axis} groups={groups}"
    inner = 0
    if axis == len(shape) - 1:
        inner = channels // groups if op == "group_norm" else 1
    return Case(name, shapes, function(arguments, outs, body), inner, inputs)


def generic_cases():
    """Maps that no named op has; reductions of integers, whose bits don't depend
    on an order at all; positions and extents."""
    yield Case("transposed", [[130, 3, 8]], """
func.func @f(%x: tensor<130x3x8xf32>) -> (tensor<8x130x3xf16>, tensor<8x3xf32>) {
  %e = tensor.empty() : tensor<8x130x3xf16>
  %q = tensor.empty() : tensor<8x3xf32>
  %y, %r = norm.generic (c, a, b) ins(%v = %x[c, a, b] : tensor<130x3x8xf32>)
      outs(%o = %e[b, c, a] : tensor<8x130x3xf16>,
           %p = %q[b, a] : tensor<8x3xf32>) {
    %s = norm.reduce add %v over [c] : f32
    %d = arith.subf %v, %s : f32
    %t = arith.truncf %d : f32 to f16
    norm.yield %t, %s : f16, f32
  }
  return %y, %r : tensor<8x130x3xf16>, tensor<8x3xf32>
}
""", 1)
    yield Case("maps", [[4, 65, 6], [6, 65], [4], [65], [4, 1, 6]], """
func.func @f(%x: tensor<4x?x6xf32>, %u: tensor<6x?xf32>, %v: tensor<4xf32>,
             %w: tensor<?xf32>, %z: tensor<4x1x6xf32>) -> tensor<4x?x6xf32> {
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %one : tensor<4x?x6xf32>
  %e = tensor.empty(%n) : tensor<4x?x6xf32>
  %y = norm.generic (a, c, b)
      ins(%xv = %x[a, c, b] : tensor<4x?x6xf32>, %uv = %u[b, c] : tensor<6x?xf32>,
          %vv = %v[a] : tensor<4xf32>, %wv = %w[c] : tensor<?xf32>,
          %zv = %z[a, 0, b] : tensor<4x1x6xf32>)
      outs(%o = %e[a, c, b] : tensor<4x?x6xf32>) {
    %p = arith.mulf %xv, %uv : f32
    %m = norm.reduce max %p over [c] : f32
    %q = arith.addf %m, %vv : f32
    %r = arith.addf %q, %zv : f32
    %s = arith.mulf %xv, %wv : f32
    %t = arith.subf %s, %r : f32
    norm.yield %t : f32
  }
  return %y : tensor<4x?x6xf32>
}
""", 1)
    for shape, over in (([257, 24], "a"), ([3, 65, 4, 5], "b, d")):
        dims = "abcd"[:len(shape)]
        kept = [d for d in dims if d not in over]
        x = tensor(shape, "i32")
        r = tensor([shape[dims.index(d)] for d in kept], "i32")
        listed, rows = ", ".join(dims), ", ".join(kept)
        yield Case(f"integers {x} over {over}", [shape], f"""
func.func @f(%x: {x}) -> ({x}, {r}) {{
  %e = tensor.empty() : {x}
  %q = tensor.empty() : {r}
  %y, %r = norm.generic ({listed}) ins(%v = %x[{listed}] : {x})
      outs(%o = %e[{listed}] : {x}, %p = %q[{rows}] : {r}) {{
    %i = norm.index {over[0]} : i32
    %j = norm.index {kept[-1]} : i32
    %n = norm.extent {over[0]} : i32
    %k = arith.muli %i, %j : i32
    %l = arith.addi %k, %v : i32
    %s = norm.reduce add %l over [{over}] : i32
    %t = arith.subi %l, %s : i32
    %u = arith.addi %t, %n : i32
    norm.yield %u, %s : i32, i32
  }}
  return %y, %r : {x}, {r}
}}
""", inner_columns(shape, [dims.index(d) for d in over.split(", ")]),
                   [f"iota:{'x'.join(map(str, shape))}"])
    yield Case("extents", [[70, 3, 8]], """
func.func @f(%x: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %n0 = tensor.dim %x, %i0 : tensor<?x?x?xf32>
  %n1 = tensor.dim %x, %i1 : tensor<?x?x?xf32>
  %n2 = tensor.dim %x, %i2 : tensor<?x?x?xf32>
  %init = tensor.empty(%n0, %n1, %n2) : tensor<?x?x?xf32>
  %y = norm.generic (c, a, b) ins(%v = %x[c, a, b] : tensor<?x?x?xf32>)
      outs(%o = %init[c, a, b] : tensor<?x?x?xf32>) {
    %s = norm.reduce add %v over [c] : f32
    %n = norm.extent c : f32
    %m = arith.divf %s, %n : f32
    %k = norm.extent b : f32
    %i = norm.index a : i32
    %f = arith.sitofp %i : i32 to f32
    %p = arith.mulf %k, %f : f32
    %d = arith.subf %v, %m : f32
    %e = arith.addf %d, %p : f32
    norm.yield %e : f32
  }
  return %y : tensor<?x?x?xf32>
}
""", 1)


def run(tool, case, options, folder):
    source = Path(folder) / "case.mlir"
    source.write_text(case.text)
    return subprocess.run([tool, str(source)] + case.arguments() + options,
                          capture_output=True, text=True)


def written_out():
    """What is known to be delicate."""
    yield from generic_cases()
    for walked in (1, 63, 65, 256, 257, 1000):
        yield axes_case("layer_norm", [walked, 9], [0], "f32")
    for positions in (1, 2, 7, 8, 24):
        yield axes_case("softmax", [130, positions], [0], "bf16")
    yield axes_case("rms_norm", [300, 2, 8], [0, 1], "f16")
    yield axes_case("log_softmax", [3, 40, 5, 8], [1], "f32")
    yield axes_case("logsumexp", [3, 33, 2, 9], [1, 2], "f64")
    yield axes_case("layer_norm", [5, 6, 7, 4], [1, 3], "f32")
    yield axes_case("layer_norm", [5, 6, 7, 4], [0, 2], "f32")
    yield axes_case("l2_normalize", [17, 3, 16], [0, 2], "bf16")
    yield axes_case("softmax", [70, 12], [0], "f32", dynamic=(0,))
    yield axes_case("softmax", [300, 12], [0], "f16", dynamic=(0, 1))
    yield axes_case("layer_norm", [2, 65, 3, 8], [1], "f32", dynamic=(0, 2))
    yield axes_case("softmax", [0, 12], [0], "f32", params=False)
    yield axes_case("softmax", [12, 0], [0], "f32", dynamic=(0, 1))
    yield axes_case("layer_norm", [12, 0], [0, 1], "f32", dynamic=(0,))
    yield channel_case("group_norm", [2, 12, 0, 7], 1, 4, "f16")
    # Held in registers, by several CTAs.
    yield axes_case("softmax", [512, 32], [0], "f32")
    yield channel_case("group_norm", [1, 16, 16, 40], 3, 4, "f16")
    for groups, channels in ((4, 4), (2, 6), (3, 15)):
        yield channel_case("group_norm", [2, 5, 7, channels], 3, groups, "f16")
        yield channel_case("group_norm", [2, channels, 5, 7], 1, groups, "f32")
    yield channel_case("group_norm", [2, 20, 15, 20], 3, 2, "f16")
    yield channel_case("group_norm", [1, 9, 31, 96], 3, 2, "bf16")
    yield channel_case("group_norm", [2, 5, 3, 30], 3, 3, "f16",
                       dynamic=(0, 1, 2))
    yield channel_case("group_norm", [2, 30, 5, 3], 1, 3, "f16",
                       dynamic=(0, 2, 3))
    yield channel_case("instance_norm", [2, 5, 7, 12], 3, 1, "f32")
    yield channel_case("instance_norm", [2, 12, 5, 7], 1, 1, "f32")
    yield channel_case("instance_norm", [2, 12, 3], 1, 1, "f32",
                       dynamic=(0, 1, 2))
    yield channel_case("batch_norm", [3, 5, 7, 12], 3, 1, "bf16")
    yield channel_case("batch_norm", [3, 12, 5, 7], 1, 1, "f32")
    yield channel_case("batch_norm", [3, 12, 5, 7], 1, 1, "f16",
                       dynamic=(0, 1, 2, 3))
    yield channel_case("batch_norm", [3, 5, 7, 12], 3, 1, "f32",
                       dynamic=(0, 1, 2))


def drawn(rng, op):
    """One at random."""
    dtype = rng.choice(["f16", "bf16", "f32", "f32", "f64"])
    rank = rng.choice([2, 2, 3, 3, 4])
    shape = [1] * rank
    while True:
        at = rng.randrange(rank)
        extent = rng.choice(WALKED + POSITIONS)
        product = 1
        for i, n in enumerate(shape):
            product *= extent if i == at else n
        if product > ELEMENTS:
            break
        shape[at] = extent
        if rng.random() < 0.2:
            break
    dynamic = [i for i in range(rank) if rng.random() < 0.25]
    if op in AXES_OPS:
        axes = sorted(rng.sample(range(rank), rng.randint(1, rank)))
        return axes_case(op, shape, axes, dtype, dynamic, rng.random() < 0.7)
    if op == "instance_norm" and rank == 2:
        shape.append(rng.choice([1, 3, 8]))
        rank = 3
    axis = rng.choice([1, rank - 1])
    if op == "group_norm":
        shape[axis] = rng.choice([1, 2, 3, 5, 8, 10, 12]) * rng.choice(
            [1, 2, 3, 4])
        groups = rng.choice([g for g in range(1, shape[axis] + 1)
                             if shape[axis] % g == 0])
        dynamic = [i for i in dynamic if i != axis]
        return channel_case(op, shape, axis, groups, dtype, dynamic,
                            rng.random() < 0.7)
    return channel_case(op, shape, axis, 1, dtype, dynamic,
                        rng.random() < 0.7)


class Counts:
    cases = failures = schedules = 0


def check(tool, case, schedules, folder, verbose, counts):
    """Runs a case under the model's schedule and others that it allows."""
    counts.cases += 1

    def fails(what, done):
        counts.failures += 1
        print(f"FAILED {case.name}, {what}: exit status {done.returncode}")
        print(case.text + " ".join(case.arguments()))
        print(done.stdout + done.stderr, flush=True)

    emulated = ["--device=emulated", "--target=sm_90", "--bits=host"]
    done = run(tool, case, emulated + ["--check"], folder)
    if verbose:
        print(case.name)
        print("\n".join(done.stdout.split("\n")[1:3]), flush=True)
    if done.returncode or "ok " not in done.stdout:
        return fails("the model's schedule", done)
    for schedule in schedules:
        done = run(tool, case, emulated + ["--schedule=" + schedule], folder)
        # Not every row allows every schedule.
        is_refusal = done.returncode == 1 and any(
            text in done.stderr
            for text in ("error: expects", "error: schedule needs"))
        if len(schedules) > 1 and is_refusal:
            continue
        counts.schedules += 1
        if done.returncode or "ok " not in done.stdout:
            fails(schedule, done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    counts = Counts()
    ops = [op for op in AXES_OPS + CHANNEL_OPS if options.only in op]
    with tempfile.TemporaryDirectory() as folder:
        cases = [case for case in written_out() if options.only in case.name]
        if options.count:
            cases = [drawn(rng, rng.choice(ops)) for _ in range(options.count)]
        for number, case in enumerate(cases):
            schedules = [case.schedule(number)]
            if options.count:
                schedules = SCHEDULES
            check(options.tool, case, schedules, folder, options.verbose,
                  counts)
    print(f"layouts: {counts.cases} cases, {counts.schedules} schedules, "
          f"{counts.failures} failures")
    return 1 if counts.failures else 0


if __name__ == "__main__":
    sys.exit(main())
