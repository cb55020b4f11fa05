#!/usr/bin/env python3
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times norms over channels, channels last, beside PyTorch on a GPU.

GroupNorm with SiLU in f16, and BatchNorm in training, both NHWC: norm's kernel,
PyTorch as it is and under torch.compile, and a copy of the same size. All of
them are captured into CUDA graphs and replayed with a cold L2 cache; the median
of the durations between two events is given. Results are compared with float64
first, and a run is only timed where they are right.

  test/GPU/channels.py --norm-compile build-static/bin/norm-compile
"""

import argparse
import statistics
from pathlib import Path

import torch
import torch.nn.functional as F

from launching import Driver, Program

GROUP_NORM = [(8, 64, 64, 320), (2, 128, 128, 128), (8, 32, 32, 640), (8, 16, 16, 1280)]
BATCH_NORM = [(32, 56, 56, 64), (32, 28, 28, 256), (32, 14, 14, 1024), (64, 7, 7, 2048)]

SILU = "\n  %o = norm.silu %y : {x}"


def group_norm(shape):
    dims = "x".join(map(str, shape))
    x, w = f"tensor<{dims}xf16>", f"tensor<{shape[3]}xf16>"
    return (
        f"func.func @main(%x: {x}, %g: {w}, %b: {w}) -> {x} {{\n"
        f"  %y = norm.group_norm %x scale(%g) bias(%b) groups = 32 channel_axis = 3"
        f" eps = 1.0e-5 : {x}, {w}, {w} -> {x}" + SILU.format(x=x) +
        f"\n  return %o : {x}\n}}\n"
    )


def batch_norm(shape):
    dims = "x".join(map(str, shape))
    x, w = f"tensor<{dims}xf16>", f"tensor<{shape[3]}xf32>"
    return (
        f"func.func @main(%x: {x}, %g: {w}, %b: {w}, %m: {w}, %v: {w})"
        f" -> ({x}, {w}, {w}) {{\n"
        f"  %y, %m1, %v1 = norm.batch_norm %x scale(%g) bias(%b) running(%m, %v)"
        f" channel_axis = 3 eps = 1.0e-5 training momentum = 0.1"
        f" : {x}, {w}, {w}, {w}, {w} -> {x}, {w}, {w}\n"
        f"  return %y, %m1, %v1 : {x}, {w}, {w}\n}}\n"
    )


# ---------------------------------------------------------------------------
# Timing


FLUSH = None


def microseconds(function, repeats=60):
    """Median with a cold L2 cache, of a CUDA graph of the function."""
    global FLUSH
    if FLUSH is None:
        FLUSH = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    durations = []
    for _ in range(repeats):
        FLUSH.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        durations.append(begin.elapsed_time(end) * 1000)
    return statistics.median(durations)


def ulps(result, exact):
    """Largest error in units of the last place, of the largest magnitude."""
    error = (result.double() - exact).abs().max().item()
    unit = 2.0 ** (torch.floor(torch.log2(exact.abs().max())).item() -
                   (10 if result.dtype == torch.float16 else 23))
    return error / unit


def nhwc(shape):
    n, h, w, c = shape
    x = torch.randn(n, h, w, c, device="cuda").half()
    return x, x.permute(0, 3, 1, 2)


def measure_group_norm(driver, options, shape):
    torch.manual_seed(1)
    x, nchw = nhwc(shape)
    g, b = (torch.randn(shape[3], device="cuda").half() for _ in range(2))
    y = torch.full_like(x, float("nan"))
    program = Program(driver, options.norm_compile, group_norm(shape),
                      options.schedule)
    program(x, g, b, y)
    exact = F.silu(F.group_norm(nchw.double(), 32, g.double(), b.double()))
    ours = ulps(y.permute(0, 3, 1, 2), exact)
    first = y.clone()

    def eager():
        return F.silu(F.group_norm(nchw, 32, g, b))

    torch._dynamo.reset()
    compiled = eager if options.quick else torch.compile(
        eager, mode="max-autotune-no-cudagraphs" if options.autotune else None)
    compiled()
    theirs = ulps(eager(), exact)
    row = [microseconds(f) for f in (
        lambda: program(x, g, b, y), eager, compiled, lambda: y.copy_(x))]
    program(x, g, b, y)
    assert torch.equal(y, first), "other bits in another launch"
    return program, row, ours, theirs


def measure_batch_norm(driver, options, shape):
    torch.manual_seed(2)
    x, nchw = nhwc(shape)
    c = shape[3]
    g, b, m = (torch.randn(c, device="cuda") for _ in range(3))
    v = torch.rand(c, device="cuda") + 0.5
    y, m1, v1 = torch.full_like(x, float("nan")), torch.empty_like(m), torch.empty_like(v)
    program = Program(driver, options.norm_compile, batch_norm(shape),
                      options.schedule)
    program(x, g, b, m, v, y, m1, v1)
    exact = F.batch_norm(nchw.double(), m.double(), v.double(), g.double(),
                         b.double(), training=True)
    ours = ulps(y.permute(0, 3, 1, 2), exact)
    em, ev = m.double(), v.double()
    F.batch_norm(nchw.double(), em, ev, g.double(), b.double(), training=True)
    torch.testing.assert_close(m1.double(), em, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(v1.double(), ev, rtol=1e-5, atol=1e-6)

    def eager():
        return F.batch_norm(nchw, m, v, g, b, training=True)

    torch._dynamo.reset()
    compiled = eager if options.quick else torch.compile(eager)
    compiled()
    theirs = ulps(eager(), exact)
    row = [microseconds(f) for f in (
        lambda: program(x, g, b, m, v, y, m1, v1), eager, compiled,
        lambda: y.copy_(x))]
    return program, row, ours, theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--norm-compile", required=True)
    parser.add_argument("--schedule")
    parser.add_argument("--autotune", action="store_true")
    parser.add_argument("--quick", action="store_true",
                        help="leave torch.compile out")
    parser.add_argument("--only", choices=["group_norm", "batch_norm"])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    driver = Driver()
    lines = ["| op | N, H, W, C | norm us | PyTorch us | torch.compile us | "
             "copy us | ahead of PyTorch | of torch.compile | of the copy | "
             "error, PyTorch's (ulp) | schedule |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    cases = [("group_norm + silu", measure_group_norm, s) for s in GROUP_NORM]
    cases += [("batch_norm", measure_batch_norm, s) for s in BATCH_NORM]
    for name, function, shape in cases:
        if options.only and not name.startswith(options.only):
            continue
        program, row, ours, theirs = function(driver, options, shape)
        us, eager, compiled, copy = row
        lines.append(
            f"| {name} | {', '.join(map(str, shape))} | {us:.1f} | {eager:.1f} | "
            f"{compiled:.1f} | {copy:.1f} | {eager / us:.2f} | "
            f"{compiled / us:.2f} | {copy / us * 100:.0f}% | "
            f"{ours:.2f}, {theirs:.2f} | {program.variant['symbol']}, "
            f"split {program.split} of {program.units} |")
        print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
