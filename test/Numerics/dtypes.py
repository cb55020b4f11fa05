# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an op on every element type in and out, and on integers that a prologue
dequantizes, against the float64 reference; on another device than the host also
against the host's bits. Or assembles the PTX of each. Prints a line for each
failure and a count; exits 1 if there is any. With `codes` as OP, the conversions
to and from the types of codes and scales, of all codes and around all values and
ties.

  dtypes.py NORM_RUN OP --device=DEVICE
  dtypes.py NORM_COMPILE OP --target=sm_90 PTXAS
"""

import itertools
import math
import re
import struct
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


def npy(folder, name, descr, shape, data):
    """Writes a .npy file; returns its path."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path = Path(folder) / f"{name}.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) +
                     header.encode() + data)
    return path


def around(values, ties):
    """The floats at and next to numbers, of both signs, zero and the like."""
    numbers = []
    for value in itertools.chain(values, ties):
        bits, = struct.unpack("<I", struct.pack("<f", value))
        numbers += [bits, bits + 1, max(bits - 1, 0)]
    numbers += [0x7f800000, 0x7fc00000, 0x7f7fffff, 1, 0x7f800001, 0x41100000]
    numbers += [bits | 0x80000000 for bits in numbers]
    return numbers


def code_cases(folder):
    """(name, program, data of argument 0)"""
    powers = [math.ldexp(1.0, e) for e in range(-127, 128)]
    middles = [1.5 * power for power in powers]
    fours = [0.5, 1, 1.5, 2, 3, 4, 6]
    ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5]
    for code, floats, rows in (("f8E8M0FNU", around(powers, middles), 6),
                               ("f4E2M1FN", around(fours, ties), 2)):
        columns = (len(floats) + rows - 1) // rows
        columns += columns % 2
        floats += [0x3f800000] * (rows * columns - len(floats))
        data = npy(folder, f"floats_{code}", "<f4", (rows, columns),
                   struct.pack(f"<{len(floats)}I", *floats))
        for shape, extent in (("fixed", columns), ("any", "?")):
            x, y = (f"tensor<?x{extent}x{t}>" for t in ("f32", code))
            yield (f"f32 -> {code}, {shape} columns",
                   f"func.func @f(%x: {x}) -> {y} {{\n"
                   f"  %r = arith.truncf %x : {x} to {y}\n"
                   f"  return %r : {y}\n}}\n", f"0={data}")
        # An odd number of rows, each of all codes.
        rows = 3
        bytes_ = (bytes(range(256)) if code == "f8E8M0FNU" else
                  bytes(2 * i % 16 + (2 * i + 1) % 16 * 16 for i in range(8)))
        data = npy(folder, f"codes_{code}", "|u1", (rows, len(bytes_)),
                   bytes_ * rows)
        columns = 256 if code == "f8E8M0FNU" else 16
        for result, shape in itertools.product(("f32", "bf16", "f64"),
                                               (columns, "?")):
            x, y = (f"tensor<?x{shape}x{t}>" for t in (code, result))
            yield (f"{code} -> {result}, {shape} columns",
                   f"func.func @f(%x: {x}) -> {y} {{\n"
                   f"  %r = arith.extf %x : {x} to {y}\n"
                   f"  return %r : {y}\n}}\n", f"0={data}")
        for source in ("f16", "bf16", "f64", "f8E5M2"):
            x, y = (f"tensor<?x34x{t}>" for t in (source, code))
            yield (f"{source} -> {code}",
                   f"func.func @f(%x: {x}) -> {y} {{\n"
                   f"  %r = arith.truncf %x : {x} to {y}\n"
                   f"  return %r : {y}\n}}\n".replace(
                       "truncf", "truncf" if source != "f8E5M2" or
                       code == "f4E2M1FN" else "bitcast"),
                   f"0=random:5x34:seed=4:std=3")
    # Bits, and scales that multiply.
    x, y = "tensor<?x256xi8>", "tensor<?x256xf8E8M0FNU>"
    yield ("i8 as f8E8M0FNU", f"func.func @f(%x: {x}) -> {y} {{\n"
           f"  %r = arith.bitcast %x : {x} to {y}\n  return %r : {y}\n}}\n",
           "0=iota:3x256")
    yield ("f8E8M0FNU as i8", f"func.func @f(%x: {y}) -> {x} {{\n"
           f"  %r = arith.bitcast %x : {y} to {x}\n  return %r : {x}\n}}\n",
           "0=random:3x256:std=8")


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
        selected = code_cases(folder) if op == "codes" else cases(op)
        if where == "--target=sm_80":
            selected = (case for case in selected if "f8E5M2" not in case[0])
        for name, text, data in selected:
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
