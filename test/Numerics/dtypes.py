# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an op on every element type in and out, and on integers that a prologue
dequantizes, against the float64 reference; on another device than the host also
against the host's bits. Or assembles the PTX of each. Prints a line for each
failure and a count; exits 1 if there is any.

  dtypes.py NORM_RUN OP --device=DEVICE
  dtypes.py NORM_COMPILE OP --target=sm_90 PTXAS
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

FLOATS = ["f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64"]
INTEGERS = ["i8", "i16", "i32", "i64"]
ROWS = 3


def norm(op, x, y, w):
    """The op on %v of type `x`, as %r of type `y`."""
    if op == "layer_norm":
        return (f"  %r = norm.layer_norm %v scale(%g) bias(%b) axes = [1]"
                f" eps = 1.0e-5 : {x}, {w[0]}, {w[1]} -> {y}\n")
    if op == "rms_norm":
        return (f"  %r = norm.rms_norm %v scale(%g) axes = [1] eps = 1.0e-6"
                f" : {x}, {w[0]} -> {y}\n")
    if op == "softmax":
        return f"  %r = norm.softmax %v axes = [1] : {x} -> {y}\n"
    raise SystemExit(f"unknown op '{op}'")


def program(op, columns, source, prologue, x, result, params):
    """`source` is the element type in memory, `x` the one the op gets."""
    def rows(dtype):
        return f"tensor<?x{columns}x{dtype}>"
    w = [f"tensor<{columns}x{p}>" for p in params]
    arguments = [f"%x: {rows(source)}"]
    if op != "softmax":
        arguments.append(f"%g: {w[0]}")
    if op == "layer_norm":
        arguments.append(f"%b: {w[1]}")
    body = prologue.replace("$S", rows(source)).replace("$X", rows(x))
    return (f"func.func @f({', '.join(arguments)}) -> {rows(result)} {{\n"
            f"{body}{norm(op, rows(x), rows(result), w)}"
            f"  return %r : {rows(result)}\n}}\n")


def cases(op):
    """(name, program, data of argument 0)"""
    moves = "  %v = arith.bitcast %x : $S to $X\n"
    for i, x in enumerate(FLOATS):
        for j, y in enumerate(FLOATS):
            params = [FLOATS[(i + j) % 6], FLOATS[(i + 2 * j + 1) % 6]]
            columns = (1000, 17, 16, 250, 1, 1001)[(i + j) % 6]
            text = program(op, columns, x, "", x, y, params)
            yield (f"{x} -> {y} by {params}", text.replace("%v", "%x"),
                   f"0=random:{ROWS}x{columns}:seed=3")
    for source in INTEGERS:
        for conversion in ("sitofp", "uitofp"):
            columns = 1000 if source == "i8" else 123
            prologue = f"  %v = arith.{conversion} %x : $S to $X\n"
            # Read without a sign, negative ones are the upper half; of i64 the
            # reference doesn't know it.
            data = f"0=random:{ROWS}x{columns}:seed=5:std=40"
            if conversion == "uitofp":
                top = {"i8": 127, "i16": 30000, "i32": 2e9, "i64": 4e9}[source]
                low = 0 if source == "i64" else -top
                data = (f"0=random:{ROWS}x{columns}:seed=5:dist=uniform"
                        f":low={low}:high={top}")
            for x in ("f32", "f64", "bf16"):
                yield (f"{source} {conversion} {x}",
                       program(op, columns, source, prologue, x, "f32",
                               ["f32", "bf16"]), data)
    # The bytes of an 8-bit float that came as an integer.
    yield ("i8 as f8E4M3FN",
           program(op, 160, "i8", moves, "f8E4M3FN", "f32", ["f32", "f32"]),
           f"0=random:{ROWS}x160:seed=5:std=20")


def run(tool, device, source, data):
    """What went wrong, as text; empty if nothing did."""
    command = [tool, "--check", device, str(source), "--arg", data]
    checks = 1
    if device != "--device=host":
        command.append("--bits=host")
        checks = 2
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        if len(re.findall(r"^ok ", done.stdout, re.M)) == checks:
            return ""
    return f"exit status {done.returncode}\n{done.stdout}{done.stderr}"


def assemble(tool, target, ptxas, source):
    ptx = source.with_suffix(".ptx")
    # -O1 selects and checks all instructions, and is faster.
    for command in ([tool, "--emit=ptx", target, str(source), "-o", str(ptx)],
                    [ptxas, "-O1", target.replace("--target", "-arch"),
                     str(ptx), "-o", str(source.with_suffix(".cubin"))]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return f"exit status {done.returncode}\n{done.stderr}"
    return ""


def main():
    tool, op, where = sys.argv[1:4]
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "case.mlir"
        for name, text, data in cases(op):
            source.write_text(text)
            if where.startswith("--device="):
                wrong = run(tool, where, source, data)
            else:
                wrong = assemble(tool, where, sys.argv[4], source)
            count += 1
            if wrong:
                failures += 1
                print(f"FAILED {op} {name}: {wrong}\n{text}")
    print(f"{op}: {count} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
