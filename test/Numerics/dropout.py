# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers and dropout: norm.random against Philox 4x32-10 written here in
numpy, and what dropout does fused with what is around it, against the float64
reference; on the host, and with the same bits on the emulated device under
several schedules. Prints a line for each failure and a count; exits 1 if any.

  dropout.py NORM_RUN [--only=TEXT]
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ALONG = ["threads=64,rows_per_cta=3,residency=stream",
         "threads=128,rows_per_cta=1,residency=registers",
         "threads=32,rows_per_cta=4,residency=shared"]
ACROSS = ["threads=4,vector=1,rows_per_cta=24,residency=stream,split=1",
          "threads=8,vector=4,rows_per_cta=24,residency=stream,split=0"]


def philox(counter, key):
    """The words of Philox 4x32 with 10 rounds, each an array of uint64."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [np.asarray(word, np.uint64) for word in key]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [b >> HALF ^ c[1] ^ k[0], b & MASK, a >> HALF ^ c[3] ^ k[1], a & MASK]
        k = [k[0] + np.uint64(0x9E3779B9) & MASK,
             k[1] + np.uint64(0xBB67AE85) & MASK]
    return c


def numbers(seed, offset, i, j):
    """What norm.random says for row-major positions i and j, arrays of uint64."""
    seed, offset = seed % 2**64, offset % 2**64
    words = philox([j // np.uint64(4) & MASK, i & MASK, offset % 2**32,
                    offset >> 32],
                   [seed % 2**32, np.uint64(seed >> 32) ^ i >> HALF])
    words = np.stack(np.broadcast_arrays(*words, i + j)[:4])
    at = np.broadcast_to((j % np.uint64(4)).astype(np.int64), words.shape[1:])
    return np.take_along_axis(words, at[None], 0)[0].astype(np.uint32)


def known_answers():
    """The vectors that are published with the generator."""
    ones = 0xFFFFFFFF
    cases = [([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
             ([ones] * 4, [ones] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
             ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
              [0xA4093822, 0x299F31D0], "d16cfe09 94fdcceb 5001e420 24126ea1")]
    return all(" ".join(f"{int(word):08x}" for word in philox(c, k)) == expected
               for c, k, expected in cases)


def positions(shape, outer, inner):
    """i and j over the space, for the axes that either goes over."""
    def linear(axes):
        at, stride = np.zeros((1,) * len(shape), np.uint64), 1
        for axis in reversed(axes):
            steps = [1] * len(shape)
            steps[axis] = shape[axis]
            along = np.arange(shape[axis], dtype=np.uint64).reshape(steps)
            at = at + along * np.uint64(stride)
            stride *= shape[axis]
        return at
    return linear(outer), linear(inner)


class Runner:
    def __init__(self, tool, folder, only):
        self.tool, self.folder, self.only = tool, Path(folder), only
        self.runs = self.failures = 0

    def fail(self, name, text):
        self.failures += 1
        print(f"failed: {name}: {text}")

    def run(self, name, text, arguments, results, options):
        """Results as arrays; None, and a line, where the tool fails."""
        self.runs += 1
        source = self.folder / "case.mlir"
        source.write_text(text)
        command = [self.tool, str(source), *options]
        for i, spec in enumerate(arguments):
            command += ["--arg", f"{i}={spec}"]
        files = [self.folder / f"out{i}.npy" for i in range(results)]
        for i, file in enumerate(files):
            command += ["--out", f"{i}={file}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            self.fail(f"{name} {options}", done.stdout + done.stderr)
            return None
        return [np.load(file) for file in files]

    def everywhere(self, name, text, arguments, results, schedules, check=True):
        """Results of the host; the same bits are asked of each schedule."""
        if self.only not in name:
            return None
        checks = ["--check"] if check else []
        host = self.run(name, text, arguments, results,
                        ["--device=host", *checks])
        if host is None:
            return None
        for schedule in schedules:
            options = ["--device=emulated", "--bits=host", *checks]
            if schedule:
                options.append("--schedule=" + schedule)
            self.run(name, text, arguments, results, options)
        return host


def program(shape, at, seed, dynamic=True):
    """A program that returns its random numbers."""
    names = [chr(ord("a") + i) for i in range(len(shape))]
    extents = [str(n) for n in shape]
    if dynamic:
        extents[0] = "?"
    x, y = (f"tensor<{'x'.join(extents + [t])}>" for t in ("f32", "i32"))
    empty = ("  %c0 = arith.constant 0 : index\n"
             f"  %n = tensor.dim %x, %c0 : {x}\n"
             f"  %e = tensor.empty(%n) : {y}\n" if dynamic else
             f"  %e = tensor.empty() : {y}\n")
    return (f"func.func @f(%x: {x}, %s: i64, %o: i64) -> {y} {{\n{empty}"
            f"  %y = norm.generic ({', '.join(names)})\n"
            f"      ins(%a = %x[{', '.join(names)}] : {x}, %k = {seed} : i64,"
            f" %t = %o : i64)\n"
            f"      outs(%b = %e[{', '.join(names)}] : {y}) {{\n"
            f"    %u = norm.random %k, %t at {at} : i32\n"
            f"    norm.yield %u : i32\n  }}\n  return %y : {y}\n}}\n")


def check_numbers(runner):
    """Each number is what its definition says."""
    cases = [((5, 1000), "[a, b]", [0], [1]), ((3, 1001), "[a, b]", [0], [1]),
             ((7, 127), "[a, b]", [0], [1]), ((9, 4), "[a, b]", [0], [1]),
             ((2, 1), "[a, b]", [0], [1]), ((1031,), "[a]", [], [0]),
             ((6, 130), "[b, a]", [1], [0]), ((6, 130), "[b]", [], [1]),
             ((130, 6), "[a]", [], [0]),
             ((2, 3, 5, 40), "[a, b, c, d]", [0, 1, 2], [3]),
             ((2, 3, 5, 7), "[a, (b, c, d)]", [0], [1, 2, 3]),
             ((4, 3, 8), "[(a, b, c)]", [], [0, 1, 2]),
             ((4, 6, 8), "[c, a, b]", [2, 0], [1]),
             ((4, 1, 8), "[a, b, c]", [0, 1], [2]),
             ((4, 9, 1), "[a, b, c]", [0, 1], [2])]
    for number, (shape, at, outer, inner) in enumerate(cases):
        extents = "x".join(map(str, shape))
        i, j = positions(shape, outer, inner)
        for seed, offset in [(0, 0), (12345 + number, -3 - number)]:
            name = f"numbers {extents} at {at} seed {seed}"
            text = program(shape, at, "%s", dynamic=number % 2 == 0)
            host = runner.everywhere(
                name, text, [f"random:{extents}", seed, offset], 1,
                [ALONG[number % len(ALONG)]] if seed else [])
            expected = np.broadcast_to(numbers(seed, offset, i, j), shape)
            if host and not np.array_equal(host[0].view(np.uint32), expected):
                runner.fail(name, "other numbers than defined")
    # A seed of more bits than a float64 holds, as a constant.
    seed = 0x243F6A8885A308D3
    text = program((3, 50), "[a, b]", "%s").replace(
        "    %u =", f"    %q = arith.constant {seed} : i64\n    %u =").replace(
        "norm.random %k", "norm.random %q")
    host = runner.everywhere("numbers of a large seed", text,
                             ["random:3x50", 0, 2**40 + 5], 1, [None],
                             check=False)
    i, j = positions((3, 50), [0], [1])
    if host and not np.array_equal(host[0].view(np.uint32),
                                   numbers(seed, 2**40 + 5, i, j)):
        runner.fail("numbers of a large seed", "other numbers than defined")


def dropout(x, y=None, p=0.25, value="%x", name="%y"):
    y = y or x
    return (f"  {name} = norm.dropout {value} seed(%s) offset(%o) p = {p:.17e} :"
            f" {x}, i64, i64 -> {y}\n")


def function(arguments, body, results):
    """results: (name, type) each."""
    kinds = ", ".join(kind for _, kind in results)
    names = ", ".join(name for name, _ in results)
    return (f"func.func @f({arguments}, %s: i64, %o: i64) -> ({kinds}) {{\n"
            f"{body}  return {names} : {kinds}\n}}\n")


def threshold(p):
    return min(round(p * 2**32), 2**32 - 1)


def check_dropout(runner):
    """Types, rates, what is dropped and what isn't."""
    for dtype in ["f64", "f32", "f16", "bf16", "f8E4M3FN"]:
        x = f"tensor<?x1001x{dtype}>"
        runner.everywhere(f"dropout {dtype}",
                          function(f"%x: {x}", dropout(x), [("%y", x)]),
                          ["random:6x1001:seed=2", 9, 4], 1, ALONG[:2])
    x, y = "tensor<?x130xf16>", "tensor<?x130xf32>"
    runner.everywhere("dropout to f32", function(
        f"%x: {x}", dropout(x, y), [("%y", y)]), ["random:6x130", 9, 4], 1,
        [None])
    x = "tensor<?x4096xf32>"
    shape = (64, 4096)
    i, j = positions(shape, [0], [1])
    for p in [0.0, 1e-9, 0.1, 0.5, 0.9, 0.9999999999]:
        for seed in [2**52 + 1] if p != 0.5 else [-1, 1]:
            host = runner.everywhere(f"rate {p}", function(
                f"%x: {x}", dropout(x, p=p), [("%y", x)]),
                ["ones:64x4096", seed, 77], 1, [None])
            if not host:
                continue
            kept = host[0] != 0
            drawn = numbers(seed, 77, i, j) >= threshold(p)
            if not np.array_equal(kept, drawn if p else np.ones(shape, bool)):
                runner.fail(f"rate {p}", "other elements are kept than drawn")
            # Four standard deviations of a binomial distribution.
            error = abs(kept.mean() - (1 - p))
            if error > 4 * (p * (1 - p) / kept.size) ** 0.5 + 1e-9:
                runner.fail(f"rate {p}", f"{kept.mean()} are kept")
            scale = np.float32(1 / (1 - p))
            if not (host[0][kept] == scale).all():
                runner.fail(f"rate {p}", f"isn't scaled by {scale}")
    for value in ["nan", "inf"]:
        host = runner.everywhere(f"dropout of {value}", function(
            f"%x: {x}", dropout(x, p=0.5), [("%y", x)]),
            [f"full:4x4096:value={value}", 3, 3], 1, [None])
        if host and not 0.4 < (host[0] == 0).mean() < 0.6:
            runner.fail(f"dropout of {value}", "is not 0 where dropped")


def check_fused(runner):
    """With a norm before or after, and reshapes between."""
    t, w = "tensor<?x1000xbf16>", "tensor<1000xf32>"
    post = (dropout(t, p=0.1, name="%d") +
            f"  %a = arith.addf %d, %r : {t}\n"
            "  %y = norm.layer_norm %a scale(%g) bias(%b) axes = [1]"
            f" eps = 1.0e-5 : {t}, {w}, {w} -> {t}\n")
    head = f"%x: {t}, %r: {t}, %g: {w}, %b: {w}"
    data = ["random:6x1000:seed=1", "random:6x1000:seed=2",
            "random:1000:seed=3", "random:1000:seed=4", 5, 6]
    fused = runner.everywhere("post-norm", function(
        head, post, [("%y", t), ("%a", t)]), data, 2, [None] + ALONG)
    # The same in two steps, and the mask of a backward.
    alone = runner.everywhere("alone", function(
        f"%x: {t}", dropout(t, p=0.1, name="%d") +
        dropout(t, p=0.1, name="%m", value="%d"), [("%d", t), ("%m", t)]),
        [data[0], 5, 6], 2, [None])
    if fused and alone:
        if not np.array_equal(alone[0] & 0x7FFF == 0, alone[1] & 0x7FFF == 0):
            runner.fail("backward", "another mask than the forward's")
        np.save(runner.folder / "dropped.npy", alone[0])
        apart = runner.everywhere("in steps", function(
            head, post.replace(dropout(t, p=0.1, name="%d"), "").replace(
                "%d", "%x"), [("%y", t), ("%a", t)]),
            [str(runner.folder / "dropped.npy")] + data[1:], 2, [])
        if apart and not all(map(np.array_equal, apart, fused)):
            runner.fail("post-norm", "other bits than in two steps")
    t = "tensor<?x1000xf32>"
    runner.everywhere("softmax", function(
        f"%x: {t}", f"  %p = norm.softmax %x axes = [1] : {t} -> {t}\n" +
        dropout(t, value="%p"), [("%y", t)]), ["random:6x1000", 5, 6], 1, ALONG)
    runner.everywhere("norm of dropped", function(
        f"%x: {t}", dropout(t, name="%d") +
        f"  %y = norm.rms_norm %d axes = [1] eps = 1.0e-6 : {t} -> {t}\n",
        [("%y", t)]), ["random:6x1000", 5, 6], 1, ALONG)
    for columns in [24, 48, 7]:
        t = f"tensor<?x{columns}xf32>"
        runner.everywhere(f"across {columns}", function(
            f"%x: {t}", dropout(t, name="%d") +
            f"  %y = norm.layer_norm %d axes = [0] eps = 1.0e-5 : {t} -> {t}\n",
            [("%y", t)]), [f"random:130x{columns}", 5, 6], 1,
            ACROSS[:1] if columns % 4 else ACROSS)
    x, y = "tensor<?x12x5x7xf32>", "tensor<?x12x35xf32>"
    reshaped = (f"  %z = tensor.collapse_shape %n [[0], [1], [2, 3]] : {x} into"
                f" {y}\n")
    runner.everywhere("reshaped", function(
        f"%x: {x}", "  %n = norm.group_norm %x groups = 3 channel_axis = 1"
        f" eps = 1.0e-5 : {x} -> {x}\n" + reshaped + dropout(y, value="%z"),
        [("%y", y)]), ["random:4x12x5x7", 5, 6], 1, [None])
    runner.everywhere("channels last", function(
        "%x: tensor<?x9x24xf32>", "  %n = norm.group_norm %x groups = 3 channel_axis = 2"
        " eps = 1.0e-5 : tensor<?x9x24xf32> -> tensor<?x9x24xf32>\n" +
        dropout("tensor<?x9x24xf32>", value="%n"),
        [("%y", "tensor<?x9x24xf32>")]), ["random:4x9x24", 5, 6], 1, [None])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.tool, folder, options.only)
        if not known_answers():
            runner.fail("known answers", "numpy's Philox isn't the published one")
        check_numbers(runner)
        check_dropout(runner)
        check_fused(runner)
        print(f"dropout: {runner.runs} runs, {runner.failures} failures")
        return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
