# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every function of Numerics.md, and arithmetic, on one element type
against the float64 reference, on positive numbers, on all, and on those where
activations have their tails; on another device than the host also against the host's bits.

  functions.py NORM_RUN DTYPE --device=DEVICE
"""

import subprocess
import sys
import tempfile
from pathlib import Path

FUNCTIONS = ["exp", "exp2", "expm1", "log", "log1p", "tanh", "sqrt", "rsqrt",
             "absf", "floor", "erf"]
ACTIVATIONS = {"sigmoid": "norm.sigmoid %x", "silu": "norm.silu %x",
               "gelu": "norm.gelu %x",
               "gelu_tanh": "norm.gelu %x approximate = tanh"}
ARITHMETIC = ["addf", "subf", "mulf", "divf", "maximumf", "minnumf"]


def main():
    tool, dtype, device = sys.argv[1:4]
    t = f"tensor<?x250x{dtype}>"
    names = [f for f in FUNCTIONS if (f, dtype) != ("erf", "f64")]
    body = "".join(f"  %{f} = math.{f} %x : {t}\n" for f in names)
    body += "".join(f"  %{a} = arith.{a} %x, %w : {t}\n" for a in ARITHMETIC)
    names += ARITHMETIC
    body += "".join(f"  %{n} = {op} : {t}\n" for n, op in ACTIVATIONS.items())
    names += list(ACTIVATIONS)
    text = (f"func.func @f(%x: {t}, %w: {t}) -> ({', '.join([t] * len(names))})"
            f" {{\n{body}  return {', '.join('%' + n for n in names)} :"
            f" {', '.join([t] * len(names))}\n}}\n")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "functions.mlir"
        source.write_text(text)
        for low, high in (("0.01", "3"), ("-3", "3"), ("-120", "30")):
            data = (f"random:8x250:dist=uniform:low={low}:high={high}"
                    ":seed=")
            command = [tool, str(source), device, "--check", "--arg",
                       "0=" + data + "1", "--arg", "1=" + data + "2"]
            if device != "--device=host":
                command.append("--bits=host")
            done = subprocess.run(command, capture_output=True, text=True)
            oks = done.stdout.count("\nok ")
            checks = len(names) * (1 if device == "--device=host" else 2)
            if done.returncode != 0 or oks != checks:
                wrong += 1
                print(f"from {low}: exit status {done.returncode}\n"
                      f"{done.stdout}{done.stderr}")
    print(f"{dtype}: {len(names)} functions, {wrong} of 3 runs wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
