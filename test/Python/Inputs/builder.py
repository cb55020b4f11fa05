# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs written in Python."""

import unittest

import ml_dtypes
import normc
import numpy as np


def rms(x, eps=1e-6):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)


class Programs(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(3)

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def run_on_host(self, builder, *arrays):
        return normc.compile(builder, device="host")(*arrays)

    def test_add_rms_norm(self):
        with normc.Builder("add_rms_norm") as b:
            x = b.input("x", (None, 512), "bf16")
            r = b.input("r", (None, 512), "bf16", in_place=1)
            w = b.input("w", (512,), "bf16")
            s = x + r
            b.output(b.rms_norm(s, scale=w, eps=1e-6), s)
        arrays = [a.astype(ml_dtypes.bfloat16) for a in (
            self.normal(5, 512), self.normal(5, 512), self.normal(512))]
        total = arrays[0] + arrays[1]
        y, s = self.run_on_host(b, *arrays)
        np.testing.assert_array_equal(s, total)
        np.testing.assert_allclose(
            y.astype(np.float64), rms(total.astype(np.float64)) * arrays[2],
            rtol=2**-8)

    def test_repeats_as_numpy(self):
        b = normc.Builder("modulate")
        x = b.input("x", (None, None, 96), "f32")
        scale = b.input("scale", (None, 1, 96), "f32")
        shift = b.input("shift", (96,), "f32")
        factor = b.input("factor", (), "f32")
        b.output(b.layer_norm(x) * (1.0 + scale) * factor - shift / 2)
        arrays = (self.normal(2, 3, 96), self.normal(2, 1, 96),
                  self.normal(96), np.array(3, np.float32))
        x64, scale64, shift64, _ = (a.astype(np.float64) for a in arrays)
        c = x64 - x64.mean(-1, keepdims=True)
        want = (c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-5)
                * (1 + scale64) * 3 - shift64 / 2)
        np.testing.assert_allclose(self.run_on_host(b, *arrays), want,
                                   atol=2e-5)

    def test_functions(self):
        x = self.normal(4, 64)
        x64 = x.astype(np.float64)
        sigmoid = 1 / (1 + np.exp(-x64))
        for make, want in (
                (lambda b, x: b.silu(x), x64 * sigmoid),
                (lambda b, x: b.sigmoid(x), sigmoid),
                (lambda b, x: b.relu(x), np.maximum(x64, 0)),
                (lambda b, x: b.tanh(x), np.tanh(x64)),
                (lambda b, x: b.exp(-x), np.exp(-x64)),
                (lambda b, x: b.softmax(x, scale=0.5),
                 np.exp(x64 / 2) / np.exp(x64 / 2).sum(-1, keepdims=True)),
                (lambda b, x: b.log_softmax(x),
                 x64 - np.log(np.exp(x64).sum(-1, keepdims=True))),
                (lambda b, x: b.l2_normalize(x),
                 x64 / np.sqrt((x64**2).sum(-1, keepdims=True))),
                (lambda b, x: b.cast(b.cast(x, "f16"), "bf16"), x64)):
            b = normc.Builder()
            y = make(b, b.input("x", (None, 64), "f32"))
            b.output(y)
            near = 2**-7 if y.dtype == "bf16" else 1e-5
            np.testing.assert_allclose(
                self.run_on_host(b, x).astype(np.float64), want, rtol=near,
                atol=1e-6)

    def test_group_norm_and_quantize(self):
        b = normc.Builder("gn")
        x = b.input("x", (None, 8, None), "f32")
        y = b.group_norm(x, 2, scale=b.input("w", (8,), "f32"),
                         bias=b.input("c", (8,), "f32"))
        b.output(b.gelu(y, tanh=True))
        a = self.normal(3, 8, 10)
        got = self.run_on_host(b, a, np.ones(8, np.float32),
                               np.zeros(8, np.float32))
        g = a.astype(np.float64).reshape(3, 2, 40)
        g = g - g.mean(-1, keepdims=True)
        g = (g / np.sqrt((g**2).mean(-1, keepdims=True) + 1e-5)).reshape(
            3, 8, 10)
        want = g / 2 * (1 + np.tanh(np.sqrt(2 / np.pi)
                                    * (g + 0.044715 * g**3)))
        np.testing.assert_allclose(got, want, atol=1e-5)

        b = normc.Builder("q")
        x = b.input("x", (None, 256), "f32")
        b.output(*b.quantize(b.rms_norm(x), "f8E4M3FN", (1, 128)))
        a = self.normal(3, 256)
        codes, scales = self.run_on_host(b, a)
        self.assertEqual(scales.shape, (3, 2))
        np.testing.assert_allclose(
            codes.astype(np.float64) * np.repeat(scales, 128, 1),
            rms(a.astype(np.float64)), rtol=2**-4, atol=1e-3)

    def refuses(self, text, call, *arguments, **named):
        with self.assertRaises(normc.NormError) as caught:
            call(*arguments, **named)
        self.assertIn(text, str(caught.exception))

    def test_errors(self):
        b = normc.Builder()
        x = b.input("x", (None, 64), "bf16")
        w = b.input("w", (64,), "f32")
        short = b.input("short", (32,), "bf16")
        self.refuses("operand 1 'w' of arith.mulf expects bf16 but got f32",
                     lambda: x * w)
        self.refuses("operand 'short' of arith.addf expects extent 64 in axis "
                     "1 but got 32", lambda: x + short)
        self.refuses("expects a dtype of", b.input, "z", (1,), "f12")
        self.refuses("input expects a name of its own but got 'x'", b.input,
                     "x", (1,), "f32")
        self.refuses("axes of 'x' expect numbers of -2 to 1 but got 2",
                     b.rms_norm, x, axes=2)
        self.refuses("expects a value of this program", b.output,
                     normc.Builder().input("x", (1,), "f32"))
        self.refuses("scale of norm.rms_norm expects a value of this program "
                     "but got 3", b.rms_norm, x, scale=3)
        self.refuses("expects an output but got none", lambda: b.text)
        self.refuses("expects a divisor of 64 in axis 1 but got 48",
                     b.quantize, x, "i8", (1, 48))
        self.refuses("expects a finite number but got inf",
                     lambda: x * float("inf"))


if __name__ == "__main__":
    unittest.main()
