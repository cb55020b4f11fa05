#!/usr/bin/env python3
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times norms with what is fused around them on a GPU, bf16, 2^28 elements.

Each is one kernel of norm's, beside a copy with the same mix of bytes read and
written, and beside torch.compile of the same expression. All run in turns in one
process, on buffers far larger than the L2 cache; a time is the median of the
durations of single launches between two events. Results are compared with
float64 on some rows first, and only what is right is timed.

  test/GPU/fused.py --norm-compile build-static/bin/norm-compile
"""

import argparse
import statistics
from pathlib import Path

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from launching import Driver, Program

ELEMENTS = 1 << 28
COLUMNS = [2048, 4096, 5120, 8192]
EPS = 1e-6


# ---------------------------------------------------------------------------
# The ceiling: a copy with the same mix


@triton.jit
def copy_kernel(source, target, words, READS: tl.constexpr, WRITES: tl.constexpr,
                BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + at, mask=at < words, other=0)
    for i in tl.static_range(1, READS):
        value = value ^ tl.load(source + at + i * words, mask=at < words, other=0)
    for i in tl.static_range(WRITES):
        tl.store(target + at + i * words, value, mask=at < words)


class Copy:
    """Reads and writes so many bytes an element; the best of some shapes."""

    def __init__(self, reads, writes):
        self.reads, self.writes = reads, writes
        self.words = ELEMENTS // 4
        self.source = torch.zeros(reads * self.words, dtype=torch.int32, device="cuda")
        self.target = torch.empty(writes * self.words, dtype=torch.int32, device="cuda")
        shapes = [(1024, 4), (1024, 8), (2048, 8), (4096, 8)]
        times = {shape: milliseconds([lambda: self(*shape)], 8)[0] for shape in shapes}
        self.shape = min(times, key=times.get)

    def __call__(self, block=None, warps=None):
        block, warps = (block, warps) if block else self.shape
        copy_kernel[(triton.cdiv(self.words, block),)](
            self.source, self.target, self.words, self.reads, self.writes, block,
            num_warps=warps)


def milliseconds(functions, repeats):
    """Medians, the functions taking turns."""
    for function in functions:
        function()
    durations = [[] for _ in functions]
    for _ in range(repeats):
        for function, times in zip(functions, durations):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            function()
            end.record()
            times.append((begin, end))
    torch.cuda.synchronize()
    return [statistics.median(b.elapsed_time(e) for b, e in times)
            for times in durations]


# ---------------------------------------------------------------------------
# The fusions


def rms(x, w):
    return F.rms_norm(x, (x.shape[-1],), w, EPS)


def layer(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b, EPS)


def to_fp8(y, group):
    z = y.float().unflatten(1, (-1, group))
    scale = z.abs().amax(-1, keepdim=True).clamp(min=2.0**-126) / 448
    return (z / scale).to(torch.float8_e4m3fn).flatten(1), scale.squeeze(-1)


def to_int8(y):
    z = y.float()
    scale = z.abs().amax(-1, keepdim=True).clamp(min=2.0**-126) / 127
    return (z / scale).round().to(torch.int8), scale


RMS = "norm.rms_norm %{} scale(%w) axes = [1] eps = 1.0e-6 : {x}, {w} -> {x}"
LAYER = ("norm.layer_norm %{} scale(%w) bias(%b) axes = [1] eps = 1.0e-6"
         " : {x}, {w}, {w} -> {x}")
ADD = "  %h = arith.addf %x, %r : {x}\n"

# name: arguments, results, body, expression, bytes read and written, and which
# result is a code with the scales behind it.
FUSIONS = {
    "add + rms_norm": (
        "xrw", ["x", "x"], ADD + "  %y = " + RMS.format("h", x="{x}", w="{w}"), "%y, %h",
        lambda x, r, w: (rms(x + r, w), x + r), (4, 4)),
    "add + layer_norm": (
        "xrwb", ["x", "x"], ADD + "  %y = " + LAYER.format("h", x="{x}", w="{w}"), "%y, %h",
        lambda x, r, w, b: (layer(x + r, w, b), x + r), (4, 4)),
    "rms_norm x silu(gate)": (
        "xrw", ["x"], "  %n = " + RMS.format("x", x="{x}", w="{w}") +
        "\n  %s = norm.silu %r : {x}\n  %y = arith.mulf %n, %s : {x}", "%y",
        lambda x, g, w: (rms(x, w) * F.silu(g),), (4, 2)),
    "layer_norm + gelu": (
        "xwb", ["x"], "  %n = " + LAYER.format("x", x="{x}", w="{w}") +
        "\n  %y = norm.gelu %n : {x}", "%y",
        lambda x, w, b: (F.gelu(layer(x, w, b)),), (2, 2)),
    "add + rms_norm + fp8 per row": (
        "xrw", ["q", "t", "x"], ADD + "  %n = " + RMS.format("h", x="{x}", w="{w}") +
        "\n  %q, %t = norm.quantize %n group = [1, -1] : {x} -> {q}, {t}", "%q, %t, %h",
        lambda x, r, w: (*to_fp8(rms(x + r, w), x.shape[1]), x + r), (4, 3)),
    "rms_norm + fp8 1x128": (
        "xw", ["q", "g"], "  %n = " + RMS.format("x", x="{x}", w="{w}") +
        "\n  %q, %t = norm.quantize %n group = [1, 128] : {x} -> {q}, {g}", "%q, %t",
        lambda x, w: to_fp8(rms(x, w), 128), (2, 1)),
    "rms_norm + int8 per row": (
        "xw", ["i", "t"], "  %n = " + RMS.format("x", x="{x}", w="{w}") +
        "\n  %q, %t = norm.quantize %n group = [1, -1] : {x} -> {i}, {t}", "%q, %t",
        lambda x, w: to_int8(rms(x, w)), (2, 1)),
}


def program(name, rows, columns):
    arguments, results, body, values, _, _ = FUSIONS[name]
    types = {
        "x": f"tensor<{rows}x{columns}xbf16>", "w": f"tensor<{columns}xbf16>",
        "q": f"tensor<{rows}x{columns}xf8E4M3FN>", "i": f"tensor<{rows}x{columns}xi8>",
        "t": f"tensor<{rows}x1xf32>", "g": f"tensor<{rows}x{columns // 128}xf32>"}
    types["r"], types["b"] = types["x"], types["w"]
    signature = ", ".join(f"%{a}: {types[a]}" for a in arguments)
    outputs = ", ".join(types[r] for r in results)
    return (f"func.func @main({signature}) -> ({outputs}) {{\n" +
            body.format(**types) + f"\n  return {values} : {outputs}\n}}\n")


def make(kind, rows, columns):
    dtype = {"q": torch.float8_e4m3fn, "i": torch.int8, "t": torch.float32,
             "g": torch.float32}.get(kind, torch.bfloat16)
    shape = {"t": (rows, 1), "g": (rows, columns // 128)}.get(kind, (rows, columns))
    return torch.full(shape, 7, dtype=torch.float32, device="cuda").to(dtype) \
        if kind in "qitg" else torch.full(shape, float("nan"), dtype=dtype, device="cuda")


def error(name, results, inputs, columns):
    """The largest error over some rows, in units of what rounding may do: the last
    place of the result's largest magnitude, or half a code's."""
    rows = torch.tensor([0, 1, 17, len(results[0]) // 2, len(results[0]) - 1],
                        device="cuda")
    some = [t[rows].double() if len(t) == len(results[0]) else t.double()
            for t in inputs]
    if "add" in name:  # the sum is rounded
        some[0] = (some[0] + some[1]).bfloat16().double()
        some[1] = torch.zeros_like(some[1])
    kinds = FUSIONS[name][1]
    expression = FUSIONS[name][4]
    if kinds[0] in "qi":
        normed = rms(some[0], some[-1])
        scale = results[1][rows].double().repeat_interleave(
            columns // results[1].shape[1], 1)
        got = results[0][rows].double() * scale
        amax = normed.abs().unflatten(1, (results[1].shape[1], -1)).amax(-1)
        most = 448 if kinds[0] == "q" else 127
        off = (results[1][rows].double() / (amax / most) - 1).abs().max()
        # A code, and the norm's own rounding.
        unit = torch.maximum(normed.abs() / 8, scale * 2.0**-6) \
            if kinds[0] == "q" else scale
        worst = ((got - normed).abs() / (unit / 2 + normed.abs() * 2.0**-8)).max()
        return max(worst.item(), off.item() * 2**8)
    exact = expression(*some)[0]
    unit = 2.0 ** (torch.floor(torch.log2(exact.abs().clamp(min=2.0**-10))) - 7)
    if "gelu" in name:  # what rounding before it does in its tail
        unit = unit + layer(*some).abs() * 2.0**-8
    return ((results[0][rows].double() - exact).abs() / unit).max().item()


def measure(driver, options, name, columns):
    torch.manual_seed(1)
    rows = ELEMENTS // columns
    arguments, kinds, _, _, expression, mix = FUSIONS[name]
    inputs = [torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
              if a in "xr" else torch.randn(columns, device="cuda", dtype=torch.bfloat16)
              for a in arguments]
    outputs = [make(kind, rows, columns) for kind in kinds]
    kernel = Program(driver, options.norm_compile, program(name, rows, columns),
                     options.schedule, options.flags)
    kernel(*inputs, *outputs)
    worst = error(name, outputs, inputs, columns)
    assert worst < 3, f"{name}, {columns}: error {worst}"
    functions = [lambda: kernel(*inputs, *outputs), Copy(*mix)]
    if not options.quick:
        torch._dynamo.reset()
        compiled = torch.compile(expression)
        functions.append(lambda: compiled(*inputs))
    times = milliseconds(functions, options.repeats)
    text = (f"| {name} | {rows} x {columns} | {times[0]:.4f} | {times[1]:.4f} | "
            f"{times[1] / times[0] * 100:.1f}% | ")
    text += "| | " if options.quick else f"{times[2]:.4f} | {times[2] / times[0]:.2f} | "
    schedule = kernel.kernel["schedule"].removeprefix("#norm.schedule<").rstrip(">")
    return text + f"{worst:.2f} | {schedule} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--norm-compile", required=True)
    parser.add_argument("--schedule")
    parser.add_argument("--flags", nargs="*", default=[], help="of norm-compile")
    parser.add_argument("--quick", action="store_true", help="leave torch.compile out")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--columns", type=int, nargs="*", default=COLUMNS)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    driver = Driver()
    lines = ["| fusion | rows x columns | norm ms | copy ms | % of copy | "
             "torch.compile ms | ahead by | error | schedule |",
             "|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines))
    for name in FUSIONS:
        if options.only and not any(part in name for part in options.only):
            continue
        for columns in options.columns:
            try:
                lines.append(measure(driver, options, name, columns))
            except (AssertionError, RuntimeError) as failure:
                lines.append(f"| {name} | {columns} | {failure} |")
            print(lines[-1], flush=True)
            torch.cuda.empty_cache()
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
