#!/usr/bin/env python3
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times PyTorch, torch.compile and Triton on cells of norm-bench, and writes the
times as a baseline that `norm-bench --against=FILE.json` reads.

  norm-bench --list --suite=forward --dtype=bf16 > cells.txt
  tools/norm-bench/peers.py --cells=cells.txt --out=peers.json

Conditions are norm-bench's: forward and fused cells are single launches between
two events on tensors larger than the L2 cache, other cells are replays of CUDA
graphs, on tensors that together exceed the cache (`cold`), or on the same ones.
Peers of a cell take turns. Results are compared with float64 on some rows, and
only what is right is timed.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
ARGUMENTS = {"layer_norm": "xwb", "rms_norm": "xw", "softmax": "x",
             "add_rms_norm": "xrw", "add_layer_norm": "xrwb",
             "rms_norm_silu_gate": "xrw", "layer_norm_gelu": "xwb",
             "add_rms_norm_fp8_row": "xrw", "layer_norm_bwd": "xwmvd",
             "rms_norm_bwd": "xwvd", "softmax_bwd": "yd"}


def rms(x, w):
    return F.rms_norm(x, (x.shape[-1],), w, 1e-6)


def layer(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b, 1e-5)


def fp8_row(y):
    z = y.float()
    scale = z.abs().amax(-1, keepdim=True).clamp(min=2.0**-126) / 448
    return (z / scale).to(torch.float8_e4m3fn), scale


def rows_gradient(n, g, v):
    """Of a row that was normalized to `n`, given that of `n` is `g`."""
    return v * (g - n * (g * n).mean(-1, keepdim=True))


def layer_backward(x, w, m, v, d):
    x, w, d = x.to(v.dtype), w.to(v.dtype), d.to(v.dtype)
    n, g = (x - m) * v, d * w
    return rows_gradient(n, g - g.mean(-1, keepdim=True), v), (d * n).sum(0), d.sum(0)


def rms_backward(x, w, v, d):
    x, w, d = x.to(v.dtype), w.to(v.dtype), d.to(v.dtype)
    n = x * v
    return rows_gradient(n, d * w, v), (d * n).sum(0)


def softmax_backward(y, d):
    wide = torch.promote_types(y.dtype, torch.float32)
    y, d = y.to(wide), d.to(wide)
    return (y * (d - (y * d).sum(-1, keepdim=True)),)


def narrow(backward):
    return lambda *a: tuple(g.to(a[0].dtype) for g in backward(*a))


EAGER = {
    "layer_norm_bwd": narrow(layer_backward),
    "rms_norm_bwd": narrow(rms_backward),
    "softmax_bwd": narrow(softmax_backward),
    "layer_norm": lambda x, w, b: (layer(x, w, b),),
    "rms_norm": lambda x, w: (rms(x, w),),
    "softmax": lambda x: (F.softmax(x, -1),),
    "add_rms_norm": lambda x, r, w: (rms(x + r, w), x + r),
    "add_layer_norm": lambda x, r, w, b: (layer(x + r, w, b), x + r),
    "rms_norm_silu_gate": lambda x, g, w: (rms(x, w) * F.silu(g),),
    "layer_norm_gelu": lambda x, w, b: (F.gelu(layer(x, w, b)),),
    "add_rms_norm_fp8_row": lambda x, r, w: (*fp8_row(rms(x + r, w)), x + r),
}


# What autograd calls, where that isn't the function above.
NATIVE = {
    "layer_norm_bwd": lambda x, w, m, v, d: torch.ops.aten.native_layer_norm_backward(
        d, x, [x.shape[-1]], m, v, w, w, [True] * 3),
    "softmax_bwd": lambda y, d: (torch.ops.aten._softmax_backward_data(
        d, y, -1, y.dtype),),
}
if hasattr(torch.ops.aten, "_fused_rms_norm_backward"):
    NATIVE["rms_norm_bwd"] = (
        lambda x, w, v, d: torch.ops.aten._fused_rms_norm_backward(
            d, x, [x.shape[-1]], v, w, [True] * 2))


@triton.jit
def rows_kernel(x, w, b, y, columns, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < columns
    row = tl.program_id(0).to(tl.int64) * columns
    v = tl.load(x + row + at, mask=mask, other=float("-inf") if OP == 2 else 0.0)
    v = v.to(tl.float32)
    if OP == 0:  # rms_norm
        scale = 1 / tl.sqrt(tl.sum(v * v, 0) / columns + 1e-6)
        v = v * scale * tl.load(w + at, mask=mask).to(tl.float32)
    elif OP == 1:  # layer_norm
        centred = tl.where(mask, v - tl.sum(v, 0) / columns, 0.0)
        scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + 1e-5)
        v = centred * scale * tl.load(w + at, mask=mask).to(tl.float32)
        v += tl.load(b + at, mask=mask).to(tl.float32)
    else:  # softmax
        v = tl.exp(v - tl.max(v, 0))
        v = v / tl.sum(v, 0)
    tl.store(y + row + at, v.to(y.dtype.element_ty), mask=mask)


def triton_of(op):
    """One program for each row; nothing for what has no such kernel here."""
    kind = {"rms_norm": 0, "layer_norm": 1, "softmax": 2}.get(op)
    def call(x, w=None, b=None):
        y = torch.empty_like(x)
        block = triton.next_power_of_2(x.shape[1])
        warps = min(max(block // 512, 1), 32)
        rows_kernel[(x.shape[0],)](x, w, b, y, x.shape[1], kind, block,
                                   num_warps=warps)
        return (y,)
    return None if kind is None else call


def peers_of(op, names):
    torch._dynamo.reset()
    made = {"eager": NATIVE.get(op, EAGER[op]), "triton": triton_of(op),
            "compile": torch.compile(EAGER[op], dynamic=False),
            "compile_max": torch.compile(EAGER[op], dynamic=False,
                                         mode="max-autotune-no-cudagraphs")}
    return {name: made[name] for name in names if made[name]}


def make_inputs(op, dtype, rows, columns, sets):
    moments = {"x": (1.5, 0.25), "r": (1, 0), "w": (0.02, 1), "b": (0.02, 0)}
    def one(letter):
        if letter in "mv":  # of rows
            n = torch.randn((rows, 1), device="cuda") * 0.02
            return n + (0.25 if letter == "m" else 0.66)
        if letter == "y":
            return F.softmax(one("x"), -1)
        if letter == "d":
            letter = "r"
        shape = (rows, columns) if letter in "xr" else (columns,)
        deviation, mean = moments[letter]
        return torch.randn(shape, device="cuda", dtype=dtype) * deviation + mean
    return [[one(letter) for letter in ARGUMENTS[op]] for _ in range(sets)]


def is_right(op, results, inputs):
    rows = torch.tensor([0, inputs[0].shape[0] // 2, inputs[0].shape[0] - 1])
    some = [t[rows.cuda()] if t.dim() == 2 else t for t in inputs]
    if op.startswith("add"):  # the sum is rounded
        some[0], some[1] = some[0] + some[1], torch.zeros_like(some[1])
    exact = EAGER[op.removesuffix("_fp8_row")](*(t.double() for t in some))[0]
    got = results[0][rows.cuda()].double()
    bound = {torch.float32: 1e-4, torch.float16: 4e-3}.get(inputs[0].dtype, 2e-2)
    if op.endswith("fp8_row"):
        got, bound = got * results[1][rows.cuda()].double(), 7e-2
    return ((got - exact).abs() / (exact.abs() + exact.std())).max() < bound


def record(function, inputs, calls, in_chain):
    """A CUDA graph of so many calls, on the inputs in turns, or each on what the one
    before made, where that has the type."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for arguments in inputs:
            function(*arguments)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        arguments = inputs[0]
        for i in range(calls):
            made = function(*(arguments if in_chain else inputs[i % len(inputs)]))
            arguments = list(arguments)
            if made[0].dtype == arguments[0].dtype:
                arguments[0] = made[0]
            if len(made) > 1:  # the sum
                arguments[1] = made[-1]
    return graph.replay


def times(functions, calls, repeats):
    """Microseconds of a call, the functions taking turns."""
    for function in functions:
        function()
    events = [[] for _ in functions]
    torch.cuda._sleep(2_000_000)  # the host runs ahead of the device
    for _ in range(repeats):
        for function, pairs in zip(functions, events):
            pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            pair[0].record()
            function()
            pair[1].record()
            pairs.append(pair)
    torch.cuda.synchronize()
    return [sorted(a.elapsed_time(b) * 1e3 / calls for a, b in pairs)
            for pairs in events]


def measure(cell, names, repeats):
    suite, op, dtype, shape, *variant = cell.split("/")
    rows, columns = map(int, shape.split("x"))
    if op not in EAGER or (suite == "decode" and variant != ["chain"]):
        return
    size = 4 * rows * columns * sum(a in "xryd" for a in ARGUMENTS[op])
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    in_graph = suite not in ("forward", "fused", "backward") or (
        suite == "backward" and size < 4 * cache)
    cold = suite in ("published", "backward") or variant == ["cold"]
    sets = min(max(-(-3 * cache // size), 1), 64) if cold else 1
    calls = 1 if not in_graph else 200 if suite == "decode" else -(-16 // sets) * sets
    inputs = make_inputs(op, DTYPES[dtype], rows, columns, sets)
    good, works = [], []
    for name, function in peers_of(op, names).items():
        try:
            if not is_right(op, function(*inputs[0]), inputs[0]):
                raise RuntimeError("wrong")
            works.append(record(function, inputs, calls, suite == "decode") if in_graph
                         else lambda f=function: f(*inputs[0]))
            good.append(name)
        except Exception as failure:  # of any library, for any reason
            print(f"{cell}: {name}: {str(failure)[:100]}", file=sys.stderr)
    for name, sample in zip(good, times(works, calls, repeats) if works else []):
        quantiles = statistics.quantiles(sample, n=10, method="inclusive")
        entry = {"name": name, "suite": suite, "op": op, "dtype": dtype,
                 "rows": rows, "columns": columns,
                 "microseconds": {"p10": quantiles[0], "p90": quantiles[8],
                                  "median": statistics.median(sample),
                                  "count": len(sample)}}
        yield {**entry, "variant": variant[0]} if variant else entry


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cells", type=Path, required=True,
                        help="names of cells, as norm-bench --list prints them")
    parser.add_argument("--peers", default="eager,compile,triton",
                        help="of eager, compile, compile_max and triton")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    results = []
    for cell in options.cells.read_text().split():
        for entry in measure(cell, options.peers.split(","), options.repeats):
            results.append(entry)
            print(cell, entry["name"], f"{entry['microseconds']['median']:.3f} us",
                  flush=True)
        torch.cuda.empty_cache()
    options.out.write_text(json.dumps(
        {"name": "peers", "torch": torch.__version__, "triton": triton.__version__,
         "gpu": torch.cuda.get_device_name(), "results": results}, indent=1))


if __name__ == "__main__":
    main()
