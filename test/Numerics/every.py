# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions on all 65536 values of a 16-bit float, and prints the largest
errors in units of the last place, the rounding to the type in them.

  every.py NORM_RUN DTYPE MODE DEVICE [LIMIT]

True values are computed in long double, from a series where this is not precise
enough. Exits with 1 where an error is above LIMIT (0.65), or 0.92 for GELU with
erf in bf16; where a NaN, an infinity or the sign of a zero is wrong; or where
norm-run's own check fails.
"""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

WIDE = np.longdouble


def logistic(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, WIDE(1)) / (1 + e)


def tail(x):
    """The normal distribution function of x; beyond -5 a continued fraction."""
    near = 0.5 * np.array([math.erfc(-v / math.sqrt(2))
                           for v in np.nan_to_num(x).astype(float)], WIDE)
    u = np.where(x < -5, -x, WIDE(5))
    fraction = u
    for k in range(120, 0, -1):
        fraction = u + k / fraction
    far = np.exp(-u * u / 2) / fraction / np.sqrt(2 * np.arccos(WIDE(-1)))
    return np.where(x < -5, far, near)


def times(x, y):
    """x y, and -0 for x = -inf."""
    return np.where(np.isneginf(x), WIDE(-0.0), x * y)


def gelu_tanh(x):
    root = np.sqrt(2 / np.arccos(WIDE(-1)))
    return times(x, logistic(2 * root * (x + WIDE("0.044715") * x * x * x)))


FUNCTIONS = {
    "exp": ("math.exp %x", np.exp),
    "exp2": ("math.exp2 %x", np.exp2),
    "tanh": ("math.tanh %x", np.tanh),
    "sigmoid": ("norm.sigmoid %x", logistic),
    "silu": ("norm.silu %x", lambda x: times(x, logistic(x))),
    "gelu": ("norm.gelu %x", lambda x: times(x, tail(x))),
    "gelu_tanh": ("norm.gelu %x approximate = tanh", gelu_tanh),
}


def widen(bits, dtype):
    if dtype == "f16":
        return bits.view(np.float16).astype(WIDE)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(WIDE)


def largest_error(got, true, dtype):
    """In ulps, subnormal ones below the least normal number; infinity where a
    special value is wrong."""
    precision, least, most = (11, -14, 16) if dtype == "f16" else (8, -126, 128)
    nan, one = np.isnan(true), WIDE(1)
    if not (np.isnan(got) == nan).all():
        return math.inf
    got, true = got[~nan], true[~nan]
    zero = true == 0
    if not (np.signbit(got[zero]) == np.signbit(true[zero])).all():
        return math.inf
    size = np.abs(true)
    # What rounds to the infinity is as far from it as from its own size.
    top = np.ldexp(one, most)
    over = size >= top * (1 - one * 2.0**(-precision - 1))
    if not (np.isinf(got[over]) & (np.sign(got[over]) ==
                                   np.sign(true[over]))).all():
        return math.inf
    got, true, size = got[~over], true[~over], size[~over]
    got = np.where(np.isinf(got), np.sign(got) * top, got)
    exponent = np.frexp(np.maximum(size, np.ldexp(one, least)))[1] - 1
    return float((np.abs(got - true) / np.ldexp(
        one, exponent - (precision - 1))).max())


def main():
    np.seterr(all="ignore")
    tool, dtype, mode, device = sys.argv[1:5]
    limit = float(sys.argv[5]) if len(sys.argv) > 5 else 0.65
    t = f"tensor<64x1024x{dtype}>"
    types = ", ".join([t] * len(FUNCTIONS))
    body = "".join(f"  %{n} = {op} : {t}\n" for n, (op, _) in FUNCTIONS.items())
    bits = np.arange(65536, dtype=np.uint16).reshape(64, 1024)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        source = folder / "every.mlir"
        source.write_text(
            f"func.func @f(%x: {t}) -> ({types}) {{\n{body}"
            f"  return {', '.join('%' + n for n in FUNCTIONS)} : {types}\n}}\n")
        np.save(folder / "x.npy",
                bits.view(np.float16) if dtype == "f16" else bits)
        command = [tool, str(source), f"--device={device}", f"--math={mode}",
                   "--check", "--arg", f"0={folder}/x.npy"]
        if device != "host":
            command.append("--bits=host")
        for k in range(len(FUNCTIONS)):
            command += ["--out", f"{k}={folder}/y{k}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stdout + done.stderr)
            return 1
        x = widen(bits.reshape(-1), dtype)
        for k, (name, (_, function)) in enumerate(FUNCTIONS.items()):
            got = np.load(folder / f"y{k}.npy").reshape(-1).view(np.uint16)
            error = largest_error(widen(got, dtype), function(x), dtype)
            print(f"{dtype} {mode} {name}: {error:.3f} ulp")
            allowed = limit
            if (name, dtype, mode) == ("gelu", "bf16", "hardware"):
                allowed = max(limit, 0.92)
            wrong += error > allowed
    print(f"{dtype} {mode}: {len(FUNCTIONS)} functions of every value, "
          f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
