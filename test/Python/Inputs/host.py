# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs on the host with NumPy."""

import threading
import unittest

import ml_dtypes
import normc
import numpy as np

LAYER_NORM = """
func.func @layer_norm(%x: tensor<?x384xf32>, %g: tensor<384xf32>,
                      %b: tensor<384xf32>) -> tensor<?x384xf32> {
  %y = norm.layer_norm %x scale(%g) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x384xf32>, tensor<384xf32>, tensor<384xf32>
        -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}
"""


def layer_norm(x, g, b, eps=1e-5):
    x, g, b = (a.astype(np.float64) for a in (x, g, b))
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * g + b


def rms_norm(x, w, eps=1e-6):
    x, w = x.astype(np.float64), w.astype(np.float64)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * w


def bf16_bits(array):
    return array.astype(ml_dtypes.bfloat16).view(np.uint16)


class Host(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(7)

    def normal(self, *shape, dtype=np.float32):
        return self.random.standard_normal(shape).astype(dtype)

    def refuses(self, text, status, call, *arguments, **named):
        with self.assertRaises(normc.NormError) as caught:
            call(*arguments, **named)
        self.assertIn(text, str(caught.exception))
        self.assertEqual(caught.exception.status, status)

    def test_differentiate(self):
        d = normc.differentiate(LAYER_NORM, save="statistics")
        self.assertEqual([a[:2] for a in d.backward.arguments],
                         [("input", 0), ("input", 1), ("saved", 0),
                          ("saved", 1), ("cotangent", 0)])
        self.assertEqual(d.forward.results[1].type, "tensor<?xf32>")
        forward = normc.compile(d, entry=d.forward.entry, device="host")
        backward = normc.compile(d, entry=d.backward.entry, device="host")
        x, g, b = self.normal(9, 384), self.normal(384), self.normal(384)
        dy = self.normal(9, 384)
        y, mean, rstd = forward(x, g, b)
        np.testing.assert_allclose(y, layer_norm(x, g, b), atol=2e-6)
        dx, dg, db = backward(x, g, mean, rstd, dy)
        wide = x.astype(np.float64)
        centred = (wide - wide.mean(-1, keepdims=True)) * rstd[:, None]
        t = dy.astype(np.float64) * g
        want = rstd[:, None] * (
            t - t.mean(-1, keepdims=True)
            - centred * (t * centred).mean(-1, keepdims=True))
        np.testing.assert_allclose(dx, want, atol=2e-5)
        np.testing.assert_allclose(dg, (dy * centred).sum(0), atol=2e-5)
        np.testing.assert_allclose(db, dy.sum(0, dtype=np.float64), atol=2e-5)

        # Added to what is there, with one rounding.
        added = normc.differentiate(LAYER_NORM, wrt=(0, 1, 2),
                                    gradient_type={2: "f64"},
                                    accumulate=(0, 2))
        run = normc.compile(added, entry=added.backward.entry, device="host")
        before = self.normal(9, 384), np.full(384, 1e6 + 1e-7)
        got = [a.copy() for a in before]
        results = run(x, g, dy, *got)
        self.assertIs(results[0], got[0])
        np.testing.assert_allclose(got[0], before[0] + dx, atol=1e-6)
        np.testing.assert_allclose(results[1], dg, atol=2e-5)
        np.testing.assert_allclose(got[1] - before[1], db, atol=2e-5)
        self.refuses("expects one of 3 arguments in option 'wrt' but got 5",
                     "invalid program", normc.differentiate, LAYER_NORM,
                     wrt=[5])
        self.refuses("option 'save' expects none or statistics",
                     "invalid argument", normc.differentiate, LAYER_NORM,
                     save="some")

    def test_layer_norm(self):
        run = normc.compile(LAYER_NORM, device="host")
        g, b = self.normal(384), self.normal(384)
        # Any number of rows by one compilation, none too.
        for rows in (1, 7, 0, 64):
            x = self.normal(rows, 384)
            y = run(x, g, b)
            self.assertEqual((y.shape, y.dtype), ((rows, 384), np.float32))
            np.testing.assert_allclose(y, layer_norm(x, g, b), atol=2e-6)
        # Rows that lie apart.
        wide = self.normal(7, 400)
        np.testing.assert_allclose(run(wide[:, :384], g, b),
                                   layer_norm(wide[:, :384], g, b), atol=2e-6)

    def test_manifest_and_code(self):
        run = normc.compile(LAYER_NORM, device="host")
        self.assertEqual(run.manifest["entry"], "layer_norm")
        self.assertEqual(run.manifest["target"], "host")
        self.assertTrue(run.code.startswith(b"\x7fELF"))
        self.refuses("expects code of a GPU target", "invalid argument",
                     getattr, run, "ptx")
        gpu = normc.compile(LAYER_NORM, target="sm_90", schedule="threads=64")
        self.assertIsNone(gpu.device)
        self.assertIn(".target sm_90", gpu.ptx)
        self.assertIn("threads = 64",
                      gpu.manifest["kernels"][0]["schedule"])
        x = self.normal(2, 384)
        self.refuses("compiled for sm_90 without a device", "invalid argument",
                     gpu, x, x[0], x[0])

    def test_out(self):
        run = normc.compile(LAYER_NORM, device="host")
        x, g, b = self.normal(3, 384), self.normal(384), self.normal(384)
        y = np.full((3, 384), np.nan, np.float32)
        self.assertIs(run(x, g, b, out=y), y)
        np.testing.assert_allclose(y, layer_norm(x, g, b), atol=2e-6)
        y.flags.writeable = False
        self.refuses("argument 3 'result': expects an array that can be "
                     "written but got a read-only one", "invalid launch",
                     run, x, g, b, out=y)
        self.refuses("out expects 1 arrays but got 2", "invalid launch",
                     run, x, g, b, out=(y, y))

    def test_mixed_types(self):
        text = normc.op("rms_norm", columns=1000, dtype="bf16",
                        param_dtype="f32")
        run = normc.compile(text, device="host")
        x = self.normal(5, 1000, dtype=ml_dtypes.bfloat16)
        w = self.normal(1000)
        y = run(x, w)
        self.assertEqual(y.dtype, ml_dtypes.bfloat16)
        want = rms_norm(x, w)
        np.testing.assert_allclose(y.astype(np.float64), want, rtol=2**-8)
        # The same bits, given as bits.
        z = np.zeros((5, 1000), np.uint16)
        run(x.view(np.uint16), w, out=z)
        np.testing.assert_array_equal(z, y.view(np.uint16))
        half = normc.compile(normc.op("rms_norm", columns=1000, dtype="f16"),
                             device="host")
        x, w = x.astype(np.float16), w.astype(np.float16)
        np.testing.assert_allclose(half(x, w).astype(np.float64),
                                   rms_norm(x, w), rtol=2**-10, atol=1e-7)

    def test_quantized(self):
        run = normc.compile(
            normc.op("rms_norm", columns=512, dtype="f32",
                     quantize="f8E4M3FN:128"), device="host")
        x, w = self.normal(9, 512), self.normal(512)
        codes, scales = run(x, w)
        self.assertEqual(codes.dtype, ml_dtypes.float8_e4m3fn)
        self.assertEqual((codes.shape, scales.shape), ((9, 512), (9, 4)))
        got = codes.astype(np.float64) * np.repeat(scales, 128, axis=1)
        np.testing.assert_allclose(
            got, rms_norm(x, w), rtol=2**-4,
            atol=float(scales.max()) * 2**-10)
        four = normc.compile(
            normc.op("rms_norm", columns=512, dtype="f32", quantize="nvfp4"),
            device="host")
        codes, scales = four(x, w, np.array(0.01, np.float32))
        self.assertEqual((codes.shape, codes.dtype), ((9, 256), np.uint8))
        self.assertEqual(scales.shape, (9, 32))
        values = np.stack([codes & 15, codes >> 4], -1).reshape(9, 512)
        values = values.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
        got = values * np.repeat(scales.astype(np.float64), 16, 1) * 0.01
        # Half a step of 0.5 near zero.
        step = float(scales.astype(np.float64).max()) * 0.01 * 0.5
        np.testing.assert_allclose(got, rms_norm(x, w), rtol=0.3,
                                   atol=step / 2)

    def test_in_place(self):
        text = normc.op("add_rms_norm", columns=256, dtype="f32",
                        in_place=True)
        run = normc.compile(text, device="host")
        x, r, w = self.normal(4, 256), self.normal(4, 256), self.normal(256)
        total = x + r
        y, s = run(x, r, w)
        self.assertIs(s, r)
        np.testing.assert_array_equal(r, total)
        np.testing.assert_allclose(y, rms_norm(total, w), rtol=1e-5, atol=1e-6)
        self.refuses("result1", "invalid launch", run, x, r, w,
                     out=(None, np.empty_like(r)))

    def test_scalars(self):
        run = normc.compile("""
            func.func @drop(%x: tensor<?x64xf32>, %seed: i64, %offset: i64)
                -> tensor<?x64xf32> {
              %y = norm.dropout %x seed(%seed) offset(%offset) p = 0.5
                  : tensor<?x64xf32>, i64, i64 -> tensor<?x64xf32>
              return %y : tensor<?x64xf32>
            }""", device="host")
        x = np.ones((8, 64), np.float32)
        y = run(x, 5, 0)
        self.assertEqual(set(np.unique(y)), {0, 2})
        np.testing.assert_array_equal(y, run(x, np.int64(5), 0))
        self.assertTrue((y != run(x, 6, 0)).any())
        self.refuses("argument 1 'seed': expects a number for i64 but got a "
                     "float", "invalid launch", run, x, 0.5, 0)

    def test_errors(self):
        self.refuses("mine.mlir:1:1: error", "invalid program", normc.compile,
                     "func.fun @f", device="host", name="mine.mlir")
        self.refuses("expects exact or hardware but got 'sloppy'", "invalid argument",
                     normc.compile, LAYER_NORM, device="host", math="sloppy")
        self.refuses("device", "invalid argument", normc.device, "abacus")
        self.refuses("'columns'", "invalid argument", normc.op, "rms_norm")
        self.refuses("expects a program as str", "invalid argument",
                     normc.compile, 7, device="host")
        run = normc.compile(LAYER_NORM, device="host")
        x, g, b = self.normal(3, 384), self.normal(384), self.normal(384)
        self.refuses("layer_norm expects 3 arguments (x, g, b) but got 2",
                     "invalid launch", run, x, g)
        self.refuses("argument 1 'g': expects f32 but got float64",
                     "invalid launch", run, x, g.astype(np.float64), b)
        self.refuses("argument 0 'x': expects f32 but got complex64",
                     "invalid launch", run, x.astype(np.complex64), g, b)
        self.refuses("argument 2 'b'", "invalid launch", run, x, g, b[:100])
        self.refuses("argument 0 'x'", "invalid launch", run, x[:, ::2], g, b)
        self.refuses("argument 0 'x'", "invalid launch", run, x[0], g, b)
        self.refuses("argument 0 'x': expects an array but got a list",
                     "invalid launch", run, [[1.0]], g, b,
                     out=np.empty_like(x))
        self.refuses("argument 1 'g': expects an array but got None",
                     "invalid launch", run, x, None, b)

    def test_remarks(self):
        text = normc.op("add_rms_norm", columns=128, dtype="f32")
        self.assertEqual(normc.compile(text, device="host").remarks, [])
        remarks = normc.compile(text, device="host", explain=True).remarks
        self.assertTrue(any("fused" in remark for remark in remarks), remarks)

    def test_emulated(self):
        run = normc.compile(LAYER_NORM, device="emulated")
        x, g, b = self.normal(5, 384), self.normal(384), self.normal(384)
        host = normc.compile(LAYER_NORM, device="host")
        np.testing.assert_array_equal(run(x, g, b), host(x, g, b))

    def test_dlpack(self):
        class Exported:
            """What a library that only knows DLPack hands out."""

            def __init__(self, array):
                self.array, self.shape = array, array.shape

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        run = normc.compile(LAYER_NORM, device="host")
        x, g, b = self.normal(5, 400), self.normal(384), self.normal(384)
        y = run(Exported(x[:, :384]), Exported(g), Exported(b))
        np.testing.assert_array_equal(y, run(x[:, :384], g, b))
        z = np.empty_like(y)
        run(Exported(x[:, :384]), g, b, out=Exported(z))
        np.testing.assert_array_equal(y, z)
        self.refuses("argument 1 'g': expects f32 but got int32",
                     "invalid launch", run, x[:, :384],
                     Exported(g.astype(np.int32)), b)

    def test_threads(self):
        failures = []

        def work(columns):
            try:
                text = normc.op("rms_norm", columns=columns, dtype="f32")
                run = normc.compile(text, device="host")
                random = np.random.default_rng(columns)
                for _ in range(4):
                    x = random.standard_normal((6, columns), np.float32)
                    w = random.standard_normal(columns, np.float32)
                    np.testing.assert_allclose(run(x, w), rms_norm(x, w),
                                               rtol=1e-5, atol=1e-6)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(64 + 3 * i,))
                   for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_names(self):
        self.assertIn("host", normc.devices())
        self.assertRegex(normc.version, r"^\d+\.\d+\.\d+$")
        self.assertIn("add_rms_norm", normc.list_ops())
        self.assertEqual(normc.device("host").target, "host")
        self.assertIs(normc.device("host"), normc.device("host"))


if __name__ == "__main__":
    unittest.main()
