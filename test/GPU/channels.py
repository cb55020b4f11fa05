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
import ctypes
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

GROUP_NORM = [(8, 64, 64, 320), (2, 128, 128, 128), (8, 32, 32, 640), (8, 16, 16, 1280)]
BATCH_NORM = [(32, 56, 56, 64), (32, 28, 28, 256), (32, 14, 14, 1024), (64, 7, 7, 2048)]

SILU = """
  %f = arith.extf %y : {x} to {f}
  %n = arith.negf %f : {f}
  %e = math.exp %n : {f}
  %one = arith.constant dense<1.0> : {f}
  %d = arith.addf %e, %one : {f}
  %s = arith.divf %f, %d : {f}
  %o = arith.truncf %s : {f} to {x}"""


def group_norm(shape):
    dims = "x".join(map(str, shape))
    x, w, f = f"tensor<{dims}xf16>", f"tensor<{shape[3]}xf16>", f"tensor<{dims}xf32>"
    return (
        f"func.func @main(%x: {x}, %g: {w}, %b: {w}) -> {x} {{\n"
        f"  %y = norm.group_norm %x scale(%g) bias(%b) groups = 32 channel_axis = 3"
        f" eps = 1.0e-5 : {x}, {w}, {w} -> {x}" + SILU.format(x=x, f=f) +
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
# Launching what the manifest describes


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")

    def __call__(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} gave {status}")


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int),
                ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)]


class Program:
    """A program of static shapes with one kernel, on contiguous tensors."""

    def __init__(self, driver, norm_compile, text, schedule=None):
        self.driver = driver
        with tempfile.TemporaryDirectory() as folder:
            source, ptx, manifest = (
                Path(folder) / name for name in ("a.mlir", "a.ptx", "a.json"))
            source.write_text(text)
            command = [norm_compile, source, "--emit=ptx", "--target=sm_90",
                       "-o", ptx, "--manifest", manifest]
            if schedule:
                command.append(f"--schedule={schedule}")
            subprocess.run(command, check=True)
            self.manifest = json.loads(manifest.read_text())
            image = ptx.read_bytes() + b"\0"
        module = ctypes.c_void_p()
        driver("cuModuleLoadData", ctypes.byref(module), image)
        (self.kernel,) = self.manifest["kernels"]
        self.choose(module)

    def choose(self, module):
        kernel = self.kernel
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        for variant in kernel["variants"]:
            function = ctypes.c_void_p()
            self.driver("cuModuleGetFunction", ctypes.byref(function), module,
                        variant["symbol"].encode())
            shared = variant.get("dynamic_shared", 0)
            if shared > 48 << 10:
                self.driver("cuFuncSetAttribute", function, 8, shared)
            ctas = ctypes.c_int()
            self.driver("cuOccupancyMaxActiveBlocksPerMultiprocessor",
                        ctypes.byref(ctas), function, variant["block"],
                        ctypes.c_size_t(shared))
            resident = ctas.value * sms
            units = -(-kernel["rows"]["factor"] // variant["rows_per_cta"])
            split = variant.get("split", 1)
            if split == 0:
                split = 1
                while (split * 2 <= kernel.get("slices", 1)
                       and units * split * 2 <= resident):
                    split *= 2
            elif split > 1 and units * split > resident:
                continue
            self.variant, self.function = variant, function
            self.units, self.split = units, split
            break
        counters = -(-self.units * kernel.get("counter_bytes", 0) // 256) * 256
        size = counters + self.units * kernel.get("unit_bytes", 0)
        self.workspace = torch.zeros(max(size, 1), dtype=torch.uint8,
                                     device="cuda")

    def __call__(self, *tensors):
        slots = []
        for param in self.kernel["params"]:
            kind = param["kind"]
            if kind == "pointer":
                slots.append(tensors[param["buffer"]].data_ptr())
            elif kind == "extent":
                slots.append(param["factor"])
            elif kind == "split":
                slots.append(self.split)
            elif kind == "workspace":
                slots.append(self.workspace.data_ptr())
            else:
                raise RuntimeError(f"no {kind} expected")
        values = [ctypes.c_uint64(slot) for slot in slots]
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.addressof(value) for value in values))
        cooperative = Attribute(2, 0, 1, b"")
        config = Config(
            (self.units * self.split, 1, 1), (self.variant["block"], 1, 1),
            self.variant.get("dynamic_shared", 0),
            torch.cuda.current_stream().cuda_stream,
            ctypes.addressof(cooperative) if self.split > 1 else None,
            int(self.split > 1))
        self.driver("cuLaunchKernelEx", ctypes.byref(config), self.function,
                    pointers, None)


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
