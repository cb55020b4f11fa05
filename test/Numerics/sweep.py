# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one named op over element types, extents and layouts against the
float64 reference. Prints a line for each failure and a count; exits 1 if any.

  sweep.py NORM_RUN OP [--device=host] [--bits=host] [--columns=1,2,3]
"""

import itertools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = [1, 2, 3, 7, 8, 9, 31, 33, 127, 384, 1000, 1001, 2047, 4097, 8193,
           12289]
LONG = [65537, 1048576]
DTYPES = ["f16", "bf16", "f32", "f64"]
# Element types of scale and bias beside that of x.
PARAMS = {"f16": "f32", "bf16": "bf16", "f32": "bf16", "f64": "f64"}
RESULTS = {"f16": "f16", "bf16": "f32", "f32": "f16", "f64": "f64"}


def program(op, dtype, columns, mixed):
    x = f"tensor<?x{columns}x{dtype}>"
    y = f"tensor<?x{columns}x{RESULTS[dtype] if mixed else dtype}>"
    w = f"tensor<{columns}x{PARAMS[dtype] if mixed else dtype}>"
    s = f"tensor<?x{'f64' if dtype == 'f64' else 'f32'}>"
    if op == "layer_norm":
        return (
            f"func.func @f(%x: {x}, %g: {w}, %b: {w}) -> ({y}, {s}, {s}) {{\n"
            "  %y, %m, %r = norm.layer_norm %x scale(%g) bias(%b)"
            " stats(mean, rstd) axes = [1] eps = 1.0e-5 :"
            f" {x}, {w}, {w} -> {y}, {s}, {s}\n"
            f"  return %y, %m, %r : {y}, {s}, {s}\n}}\n"
        )
    if op == "rms_norm":
        return (
            f"func.func @f(%x: {x}, %g: {w}) -> ({y}, {s}) {{\n"
            "  %y, %r = norm.rms_norm %x scale(%g, offset = 1.0) stats(rstd)"
            f" axes = [1] eps = 1.0e-6 : {x}, {w} -> {y}, {s}\n"
            f"  return %y, %r : {y}, {s}\n}}\n"
        )
    if op == "softmax":
        return (
            f"func.func @f(%x: {x}) -> {y} {{\n"
            f"  %y = norm.softmax %x axes = [1] : {x} -> {y}\n"
            f"  return %y : {y}\n}}\n"
        )
    if op == "masked_softmax":
        # Scores of one batch item, causal, of a length of its own.
        return (
            f"func.func @f(%x: {x}, %n: tensor<?xi32>) -> ({y}, {s}) {{\n"
            "  %y, %l = norm.softmax %x lengths(%n) stats(logsumexp)"
            " axes = [1] scale = 0.125 causal diagonal = 2"
            f" : {x}, tensor<?xi32> -> {y}, {s}\n"
            f"  return %y, %l : {y}, {s}\n}}\n"
        )
    if op == "log_softmax":
        return (
            f"func.func @f(%x: {x}) -> ({y}, {s}) {{\n"
            f"  %y = norm.log_softmax %x axes = [1] : {x} -> {y}\n"
            f"  %l = norm.logsumexp %x axes = [1] : {x} -> {s}\n"
            f"  return %y, %l : {y}, {s}\n}}\n"
        )
    if op == "l2_normalize":
        return (
            f"func.func @f(%x: {x}) -> {y} {{\n"
            "  %y = norm.l2_normalize %x axes = [1] eps = 1.0e-12"
            f" : {x} -> {y}\n  return %y : {y}\n}}\n"
        )
    if op == "add_rms_norm":
        return (
            f"func.func @f(%x: {x}, %r: {x}, %g: {w}) -> ({y}, {x}) {{\n"
            f"  %s = arith.addf %x, %r : {x}\n"
            "  %y = norm.rms_norm %s scale(%g) axes = [1] eps = 1.0e-6"
            f" : {x}, {w} -> {y}\n"
            f"  return %y, %s : {y}, {x}\n}}\n"
        )
    raise SystemExit(f"unknown op '{op}'")


def case_arguments(op, rows, columns, layout):
    extra = ""
    if layout == "pitched":
        extra = f":pitch={columns + 3}"
    elif layout == "offset":
        extra = ":offset=1"
    arguments = ["--arg", f"0=random:{rows}x{columns}:seed=1:mean=3{extra}"]
    if op == "masked_softmax":
        arguments += ["--arg", f"1=full:{rows}:value={columns * 2 // 3}"]
    if op == "add_rms_norm":
        arguments += ["--arg", f"1=random:{rows}x{columns}:seed=2"]
    return arguments


def main():
    tool, op = sys.argv[1:3]
    options = [a for a in sys.argv[3:] if not a.startswith("--columns=")]
    chosen = [a for a in sys.argv[3:] if a.startswith("--columns=")]
    columns_list = COLUMNS
    if chosen:
        columns_list = list(map(int, chosen[-1].split("=")[1].split(",")))
    cases = list(
        itertools.product(
            DTYPES, columns_list, [False, True], ["plain"]
        )
    )
    cases += [(d, c, False, l) for d in ("bf16", "f32") for c in (33, 1001)
              for l in ("pitched", "offset")]
    if not chosen:
        cases += [("bf16", c, False, "plain") for c in LONG]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "case.mlir"
        for dtype, columns, mixed, layout in cases:
            rows = 2 if columns > 10000 else 5
            source.write_text(program(op, dtype, columns, mixed))
            command = [tool, str(source), "--check"] + options
            command += case_arguments(op, rows, columns, layout)
            done = subprocess.run(command, capture_output=True, text=True)
            wanted = len(re.findall(r"^ok ", done.stdout, re.M))
            if done.returncode != 0 or wanted == 0:
                failures += 1
                print(f"FAILED {op} {dtype} columns={columns} mixed={mixed} "
                      f"{layout}: exit status {done.returncode}")
                print(done.stdout + done.stderr)
    print(f"{op}: {len(cases)} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
