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
import json
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


def run_case(tool, op, dtype, columns, extra):
    rows = -(-ELEMENTS // columns)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{op}.mlir"
        source.write_text(program(op, dtype, columns))
        report = Path(folder) / "report.json"
        command = [tool, str(source), "--device=cuda:0", "--check", "--time"]
        command += ["--bits=host", f"--json={report}"]
        command += arguments(op, columns, rows) + extra
        done = subprocess.run(command, capture_output=True, text=True)
        text = report.read_text() if report.exists() else "{}"
    return rows, done, json.loads(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--norm-run", required=True)
    parser.add_argument("--out", help="the table, Markdown")
    parser.add_argument("--json", help="norm-run's reports")
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
                rows, done, report = run_case(
                    options.norm_run, op, dtype, columns, extra
                )
                failures += done.returncode != 0
                log.append((op, dtype, columns, rows, done.returncode, report))
                print(line(*log[-1]), flush=True)
                if done.returncode != 0:
                    print(done.stdout + done.stderr, flush=True)
    if options.out:
        Path(options.out).write_text(table(log))
    if options.json:
        Path(options.json).write_text(
            json.dumps([entry[-1] for entry in log], indent=1)
        )
    return 1 if failures else 0


def line(op, dtype, columns, rows, status, report):
    kernel = report.get("kernels", [{}])[0]
    checks = report.get("checks", [])
    bits = [c["passed"] for c in checks if c["kind"] != "reference"]
    ulps = [c.get("ulps", 0) for c in checks if c["kind"] == "reference"]
    schedule = kernel.get("schedule", "?")
    return (
        f"| {op} | {dtype} | {rows} x {columns} | "
        f"{schedule.replace('#norm.schedule', '').strip('<>')} | "
        f"{kernel.get('median', 0):.4f} | {kernel.get('rate', 0):.0f} | "
        f"{100 * kernel.get('share_of_copy', 0):.1f} | "
        f"{max(ulps, default=0):.3g} | "
        f"{'yes' if bits and all(bits) else 'no'} | {status} |"
    )


def table(log):
    head = (
        "| op | dtype | rows x columns | schedule | ms | GB/s | % of copy |"
        " error, ulp | bits equal to host | status |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
    )
    return head + "".join(line(*entry) + "\n" for entry in log)


if __name__ == "__main__":
    sys.exit(main())
