#!/usr/bin/env python3
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks and times the named ops on a GPU; writes a table in Markdown.

For each op, dtype and number of columns, norm-run compares the result with the
float64 reference, compares every bit with the host, and times the kernel
against a device-to-device copy measured in the same run.

  test/GPU/measure.py --norm-run build-static/bin/norm-run --out docs/H200.md
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = [384, 1000, 1001, 4096, 8192, 16384, 65536]
ELEMENTS = 1 << 27

BODY = {
    "layer_norm": (
        "%x: {x}, %g: {w}, %b: {w}",
        "%y = norm.layer_norm %x scale(%g) bias(%b) axes = [1] eps = 1.0e-5"
        " : {x}, {w}, {w} -> {x}",
    ),
    "rms_norm": (
        "%x: {x}, %g: {w}",
        "%y = norm.rms_norm %x scale(%g) axes = [1] eps = 1.0e-6"
        " : {x}, {w} -> {x}",
    ),
    "softmax": ("%x: {x}", "%y = norm.softmax %x axes = [1] : {x} -> {x}"),
    "add_rms_norm": (
        "%x: {x}, %r: {x}, %g: {w}",
        "%s = arith.addf %x, %r : {x}\n"
        "  %y = norm.rms_norm %s scale(%g) axes = [1] eps = 1.0e-6"
        " : {x}, {w} -> {x}",
    ),
}


def program(op, dtype, columns):
    x = f"tensor<?x{columns}x{dtype}>"
    w = f"tensor<{columns}x{dtype}>"
    arguments, body = (part.format(x=x, w=w) for part in BODY[op])
    results = f"({x}, {x})" if op == "add_rms_norm" else x
    values = f"%y, %s : {x}, {x}" if op == "add_rms_norm" else f"%y : {x}"
    return (
        f"func.func @{op}({arguments}) -> {results} {{\n"
        f"  {body}\n  return {values}\n}}\n"
    )


def arguments(op, columns, rows):
    shaped = [f"{rows}x{columns}"]
    if op == "add_rms_norm":
        shaped *= 2
    if op in ("layer_norm", "rms_norm", "add_rms_norm"):
        shaped.append(f"{columns}")
    if op == "layer_norm":
        shaped.append(f"{columns}")
    result = []
    for i, shape in enumerate(shaped):
        result += ["--arg", f"{i}=random:{shape}:seed={i + 1}"]
    return result


def field(text, pattern, default="?"):
    match = re.search(pattern, text)
    return match.group(1) if match else default


def run_case(tool, op, dtype, columns, extra):
    rows = -(-ELEMENTS // columns)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{op}.mlir"
        source.write_text(program(op, dtype, columns))
        command = [tool, str(source), "--device=cuda:0", "--check", "--time"]
        command += ["--bits=host"] + arguments(op, columns, rows) + extra
        done = subprocess.run(command, capture_output=True, text=True)
    return rows, done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--norm-run", required=True)
    parser.add_argument("--out")
    parser.add_argument("--ops", default=",".join(BODY))
    parser.add_argument("--dtypes", default="bf16,f32")
    parser.add_argument("--columns", default=",".join(map(str, COLUMNS)))
    parser.add_argument("--schedule")
    options = parser.parse_args()
    extra = [f"--schedule={options.schedule}"] if options.schedule else []
    failures = 0
    log = []
    for op in options.ops.split(","):
        for dtype in options.dtypes.split(","):
            for columns in map(int, options.columns.split(",")):
                rows, done = run_case(
                    options.norm_run, op, dtype, columns, extra
                )
                failures += done.returncode != 0
                text = done.stdout + done.stderr
                log.append((op, dtype, columns, rows, done.returncode, text))
                print(f"== {op} {dtype} {rows}x{columns}: "
                      f"exit status {done.returncode}")
                print(text, flush=True)
    if options.out:
        Path(options.out).write_text(table(log))
    return 1 if failures else 0


def table(log):
    lines = [
        "| op | dtype | rows x columns | schedule | ms | GB/s | of copy |"
        " error, ulp | bits equal to host | status |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for op, dtype, columns, rows, status, text in log:
        lines.append(
            f"| {op} | {dtype} | {rows} x {columns} | "
            + " | ".join(
                [
                    field(text, r"schedule\s+(\S+)"),
                    field(text, r"median\s+([\d.]+)"),
                    field(text, r"([\d.]+) GB/s"),
                    field(text, r"([\d.]+)\s?%"),
                    field(text, r"([\d.]+) ulp"),
                    field(text, r"bits\s+(.*)"),
                    str(status),
                ]
            )
            + " |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
