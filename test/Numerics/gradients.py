# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derives the backward of the programs of test/Fusions and docs/examples, and runs it:
each gradient against the float64 reference of the derived function, on the host and on
the emulated device, there with the host's bits. That the derived function is the
gradient is tested by differences, in test/unit/Gradients.

  gradients.py NORM_OPT NORM_RUN [--share=6] [--only=NAME] [--device=host]...
      [--save=statistics] [--accumulate]

--share=N runs one in N programs. With --accumulate the gradients are of f32, and added
to what their destinations hold. Prints a line for each failure and a count; exits 1
if there is any.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FUNCTION = re.compile(r"func\.func @(\w+_backward)\((.*?)\) -> (.*?) attributes "
                      r"\{norm\.backward = \{arguments = \[(.*?)\]")
# Extents that no other argument tells.
SHAPES = {("rms_norm_fp8_1x128_packed_backward", "cotangent 1"): "8x37x4"}


def dims_of(kind):
    """?x64 of tensor<?x64xf32>."""
    return kind[len("tensor<"):-1].rpartition("x")[0]


def forward_data(text):
    """The data of the forward's arguments by number, and by type."""
    data = dict(re.findall(r"--arg (\d+)=(\S+)", text))
    signature = re.search(r"func\.func @\w+\((.*?)\)\s*->", text, re.S).group(1)
    types = re.findall(r":\s*(tensor<[^>]*>|\w+)", re.sub(r"\{.*?\}", "", signature))
    shapes = {}
    for number, value in data.items():
        parts = value.split(":")
        if len(parts) > 1 and re.fullmatch(r"[\dx]+", parts[1]):
            shapes[dims_of(types[int(number)])] = parts[1]
    return data, shapes


def arguments(text, derived):
    """The options that give the derived function its data."""
    data, shapes = forward_data(text)
    match = FUNCTION.search(derived)
    types = re.findall(r"%\w+: (tensor<[^>]*>|\w+)", match.group(2))
    pitches = {int(number): pitch for number, pitch in re.findall(
        r"%arg(\d+): [^:]*norm\.layout = strided<\[(\d+), 1\]", match.group(2))}
    options = [f"--entry={match.group(1)}"]
    has_shape = False
    for number, (kind, name) in enumerate(
            zip(types, re.findall(r'"(\w+ \d+)"', match.group(4)))):
        role, index = name.split()
        if role == "input" and index in data:
            given = data[index]
            if number not in pitches:  # reductions over rows want none
                given = re.sub(r":pitch=\d+", "", given)
            options += ["--arg", f"{number}={given}"]
            has_shape |= "random" in data[index]
        elif not kind.startswith("tensor"):
            options += ["--arg", f"{number}={5 if kind[0] == 'i' else 0.75}"]
        elif "?" in kind:
            dims = dims_of(kind)
            shape = SHAPES.get((match.group(1), name), shapes.get(dims))
            if shape is None and not has_shape:
                shape = dims.replace("?", "37")
            has_shape = True
            if shape:
                pitch = f":pitch={pitches[number]}" if number in pitches else ""
                options += ["--arg",
                            f"{number}=random:{shape}:seed={number + 50}{pitch}"]
    return options


def derive_text(path, args):
    """The derived functions."""
    options = [f"save={args.save}"]
    while True:
        derive = subprocess.run(
            [args.norm_opt, f"--norm-differentiate={' '.join(options)}", path],
            capture_output=True, text=True)
        if derive.returncode or not args.accumulate or len(options) > 1:
            return derive
        wanted = re.findall(r'"gradient (\d+)"', derive.stdout)
        options += ["gradient-type=f32", f"accumulate={','.join(wanted)}"]


def run(path, args):
    """What is wrong with a program."""
    text = path.read_text()
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as out:
        derive = derive_text(path, args)
        if derive.returncode:
            return [f"norm-differentiate: {derive.stderr.strip()[:300]}"]
        out.write(derive.stdout)
        out.flush()
        options = arguments(text, derive.stdout)
        failures = []
        for device in args.device:
            command = [args.norm_run, out.name, *options, f"--device={device}",
                       "--check"]
            if device == "emulated":
                command.append("--bits=host")
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                lines = (done.stderr + done.stdout).strip().split("\n")
                wrong = [line for line in lines if line.startswith("WRONG")]
                failures.append(f"{device}: {(wrong or lines)[0][:300]}")
        return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("norm_opt")
    parser.add_argument("norm_run")
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--save", default="none")
    parser.add_argument("--accumulate", action="store_true")
    parser.add_argument("--device", action="append")
    args = parser.parse_args()
    args.device = args.device or ["host", "emulated"]
    paths = sorted((ROOT / "test/Fusions").glob("*.mlir")) + sorted(
        (ROOT / "docs/examples").glob("*.mlir"))
    paths = [path for path in paths if args.only in (None, path.stem)][::args.share]
    count = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, failures in zip(paths, pool.map(lambda p: run(p, args), paths)):
            for failure in failures:
                print(f"{path.stem}: {failure}", flush=True)
            count += len(failures)
    print(f"gradients: {len(paths)} programs, {', '.join(args.device)}, "
          f"{count} failures")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
