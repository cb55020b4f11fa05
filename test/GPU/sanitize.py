#!/usr/bin/env python3
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a kernel of every family and residency under compute-sanitizer's memcheck,
racecheck, initcheck and synccheck.

Rows along memory are kept in registers, in shared memory or read again, for aligned
and other buffers, one or several per CTA; rows across memory as well, by one CTA or
by several that meet in the workspace. Each kernel's results are compared with the
float64 reference and the host's bits at the same time, and --explain has to tell that
the schedule and the variant are those that the case is about. Prints a table and what
was reported; exits 1 where there is anything, or a check didn't run.

  sanitize.py --norm-run=NORM_RUN [--sanitizer=PATH] [--jobs=N] [--out=FILE]
  sanitize.py --norm-run=NORM_RUN --device=emulated      (the same kernels, no GPU)
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import measure

TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) ")


class Case:
    """A program, its arguments and a schedule, and what must come of these."""

    def __init__(self, name, text, shapes, schedule="", aligned=True,
                 inputs=(), residency="registers", split="1", any_first=False):
        self.name = name
        self.text = text
        self.aligned = aligned
        # Static rows of an odd number of columns have no aligned variant: the
        # first one takes them at any address, beside aligned parameters.
        self.first = aligned or any_first
        self.residency = residency
        self.split = split
        self.options = [f"--schedule={schedule}"] if schedule else []
        for i, shape in enumerate(shapes):
            spec = f"random:{shape}:seed={i + 1}"
            if i == 0 and not aligned:
                spec += ":offset=1"
            if i < len(inputs) and inputs[i]:
                spec = inputs[i]
            self.options += ["--arg", f"{i}={spec}"]
        if not aligned:
            self.options += ["--place", "out0:offset=1"]

    def mistake(self, output):
        """How the kernel isn't the one that was wanted, '' if it is."""
        variant = re.search(r"variant (\d+) of (\d+)", output)
        schedule = re.search(r"schedule #norm.schedule<(.*)>", output)
        if not variant or not schedule:
            return "expects --explain to tell variant and schedule"
        fields = dict(re.findall(r"(\w+) = (\w+)", schedule[1]))
        found = (fields.get("residency", "registers"), fields.get("split", "1"))
        if found != (self.residency, self.split):
            return (f"expects residency {self.residency}, split {self.split} "
                    f"but got {schedule[1]}")
        is_first = variant[1] == "1"
        if is_first != self.first and variant[2] != "1":
            return (f"expects {'the' if self.first else 'not the'} first "
                    f"variant but got {variant[0]}")
        return ""


# ---------------------------------------------------------------------------
# Along memory, and what the model chooses for other ops


def along():
    """Each op with each residency; of two of them other buffers as well."""
    rows = 6
    for op in measure.BODY:
        for dtype, columns, residency, more in (
                ("bf16", 4096, "registers", ""),
                ("bf16", 384, "registers", "threads=32,rows_per_cta=4"),
                ("bf16", 4096, "shared", ""),
                ("bf16", 4096, "stream", ""),
                ("f32", 1001, "registers", ""),
                ("f32", 1001, "shared", "rows_per_cta=2"),
                ("f32", 1001, "stream", "threads=64,rows_per_cta=3")):
            # Rows of an odd number of columns are aligned at no address.
            aligned = columns % 2 == 0
            if not aligned and op not in ("layer_norm", "softmax"):
                continue
            wide = f"{rows}x{columns}"
            shapes = {"layer_norm": [wide, columns, columns],
                      "rms_norm": [wide, columns], "softmax": [wide],
                      "add_rms_norm": [wide, wide, columns]}[op]
            schedule = ",".join(filter(None, [f"residency={residency}", more]))
            yield Case(f"{op} {dtype} {columns} {more}".strip(),
                       measure.program(op, dtype, columns), shapes,
                       schedule, aligned, residency=residency,
                       any_first=not aligned and op != "softmax")


def named(op, clauses, x, shape, results="", schedule="", residency="registers",
          aligned=True):
    """A norm of one argument."""
    y = results or x
    text = (f"func.func @f(%x: {x}) -> {y} {{\n  %y = norm.{op} %x {clauses} :"
            f" {x} -> {y}\n  return %y : {y}\n}}\n")
    return Case(f"{op} {x}", text, [shape], schedule, aligned,
                residency=residency)


def other_ops():
    dynamic = "tensor<?x?xf16>"
    for columns, aligned in ((4096, True), (1001, False)):
        yield named("log_softmax", "axes = [1]", dynamic, f"5x{columns}",
                    residency="stream", schedule="residency=stream",
                    aligned=aligned)
    yield named("logsumexp", "axes = [1]", "tensor<?x2048xf32>", "7x2048",
                "tensor<?xf32>")
    yield named("l2_normalize", "axes = [1] eps = 1.0e-12",
                "tensor<?x1000xf64>", "5x1000")
    yield named("softmax", "axes = [1]", "tensor<?x512xf8E4M3FN>", "9x512")
    x = "tensor<5x6x40xf16>"
    yield named("rms_norm", "axes = [0, 2] eps = 1.0e-6", x, "5x6x40",
                residency="stream")
    x = "tensor<2x12x5x8xf32>"
    yield named("group_norm", "groups = 3 channel_axis = 1 eps = 1.0e-5", x,
                "2x12x5x8")
    yield named("instance_norm", "channel_axis = 1 eps = 1.0e-5", x,
                "2x12x5x8")


# ---------------------------------------------------------------------------
# Across memory


def batch_norm(x, c):
    return (
        f"func.func @f(%x: {x}, %g: {c}, %b: {c}, %m: {c}, %v: {c})"
        f" -> ({x}, {c}, {c}) {{\n"
        f"  %y, %n, %w = norm.batch_norm %x scale(%g) bias(%b) running(%m, %v)"
        f" channel_axis = 3 eps = 1.0e-5 training momentum = 0.1"
        f" : {x}, {c}, {c}, {c}, {c} -> {x}, {c}, {c}\n"
        f"  return %y, %n, %w : {x}, {c}, {c}\n}}\n")


def group_norm(x, c):
    return (
        f"func.func @f(%x: {x}, %g: {c}, %b: {c}) -> {x} {{\n"
        f"  %y = norm.group_norm %x scale(%g) bias(%b) groups = 4"
        f" channel_axis = 3 eps = 1.0e-5 : {x}, {c}, {c} -> {x}\n"
        f"  return %y : {x}\n}}\n")


def softmax(x, c):
    return (f"func.func @f(%x: {x}) -> {x} {{\n"
            f"  %y = norm.softmax %x axes = [0] : {x} -> {x}\n"
            f"  return %y : {x}\n}}\n")


def across():
    # Name, program, shape of x, type, further arguments, positions of a CTA.
    positive = "random:24:dist=uniform:low=0.5:high=2"
    for name, program, shape, dtype, more, rows in (
            ("batch_norm NHWC", batch_norm, [4, 16, 16, 24], "f16",
             ["24"] * 4, 24),
            ("group_norm NHWC", group_norm, [2, 32, 16, 40], "f16",
             ["40"] * 2, 40),
            ("softmax of columns", softmax, [1000, 24], "f32", [], 24)):
        x = f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
        c = f"tensor<{shape[-1]}xf32>"
        shapes = ["x".join(map(str, shape))] + more
        for residency, split, aligned in (
                ("registers", "1", True), ("registers", "4", True),
                ("shared", "1", True), ("shared", "4", True),
                ("stream", "1", True), ("stream", "0", True),
                ("registers", "2", False), ("shared", "2", False),
                ("stream", "4", False)):
            schedule = (f"threads=32,vector=4,rows_per_cta={rows},"
                        f"residency={residency},split={split}")
            inputs = [None] * 4 + [positive] if len(more) == 4 else []
            yield Case(name, program(x, c), shapes, schedule, aligned, inputs,
                       residency, split)
        # What the model chooses, whatever it is.
        case = Case(f"{name}, the model's schedule", program(x, c), shapes)
        case.mistake = lambda output: ""
        yield case


def all_cases():
    yield from along()
    yield from other_ops()
    yield from across()


# ---------------------------------------------------------------------------
# Running


class Runner:
    def __init__(self, options, folder):
        self.tool = options.norm_run
        self.device = options.device
        self.sanitizer = options.sanitizer
        self.folder = Path(folder)

    def run(self, number, case, check):
        """'ok', or what is wrong."""
        source = self.folder / f"{number}-{check}.mlir"
        source.write_text(case.text)
        command = [self.tool, str(source), f"--device={self.device}", "--check",
                   "--bits=host", "--explain"] + case.options
        if check != "emulated":
            command = [self.sanitizer, "--tool", check] + command
        done = subprocess.run(command, capture_output=True, text=True)
        output = done.stdout + done.stderr
        summary = SUMMARY.search(output)
        if done.returncode == 0 and (check == "emulated" or
                                     (summary and summary[1] == "0")):
            return case.mistake(output) or "ok"
        return (f"exit status {done.returncode}\n{' '.join(command)}\n"
                f"{case.text}{output}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--norm-run", required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--sanitizer", default=shutil.which("compute-sanitizer")
                        or "/usr/local/cuda/bin/compute-sanitizer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="part of a case's name")
    parser.add_argument("--out", help="the table, Markdown")
    options = parser.parse_args()
    checks = TOOLS if options.device.startswith("cuda") else [options.device]
    cases = [case for case in all_cases() if options.only in case.name]
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            said = {(i, check): pool.submit(runner.run, i, case, check)
                    for i, case in enumerate(cases) for check in checks}
        said = {key: future.result() for key, future in said.items()}
    lines = [f"| kernel | residency | split | buffers | {' | '.join(checks)} |",
             "|---|---|---|---|" + "---|" * len(checks)]
    for i, case in enumerate(cases):
        cells = ["ok" if said[i, check] == "ok" else "REPORT" for check in checks]
        lines.append(f"| {case.name} | {case.residency} | {case.split} | "
                     f"{'aligned' if case.aligned else 'any'} | "
                     f"{' | '.join(cells)} |")
    print("\n".join(lines))
    if options.out:
        Path(options.out).write_text("\n".join(lines) + "\n")
    failures = {key: text for key, text in said.items() if text != "ok"}
    for (i, check), text in failures.items():
        print(f"FAILED {check}: {cases[i].name}: {text}")
    print(f"sanitize: {len(cases)} kernels, {', '.join(checks)}, "
          f"{len(failures)} with a report")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
