# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""normc.torch against PyTorch in float64; NORMC_TEST_DEVICE is cpu or cuda."""

import copy
import os
import threading
import unittest

import normc
import normc.torch as nt
import torch
from torch import nn

DEVICE = torch.device(os.environ.get("NORMC_TEST_DEVICE", "cpu"))
IS_CUDA = DEVICE.type == "cuda"
SESSION = "cuda:0" if IS_CUDA else "host"
# Compiling with code generation takes long on a CPU and tests no more.
BACKEND = "inductor" if IS_CUDA else "aot_eager"


def rms(x, w=None, eps=1e-6, offset=0.0):
    x = x.double()
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return y if w is None else y * (w.double() + offset)


class Ops(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(11)
        self.enterContext(torch.no_grad())

    def normal(self, *shape, dtype=torch.bfloat16):
        return torch.randn(shape, device=DEVICE).to(dtype)

    def near(self, got, want, ulps=1.0):
        """Within the rounding of the result, and of f32 on the way."""
        eps = torch.finfo(got.dtype).eps
        bound = ulps * eps * want.abs() + 2e-6 * want.abs().max()
        self.assertEqual(got.shape, want.shape)
        self.assertTrue(bool(((got.double() - want).abs() <= bound).all()),
                        (got.double() - want).abs().max())

    def test_rms_norm(self):
        for dtype in (torch.bfloat16, torch.float16, torch.float32,
                      torch.float64):
            x, w = self.normal(3, 5, 512, dtype=dtype), self.normal(
                512, dtype=dtype)
            self.near(nt.rms_norm(x, w), rms(x, w))
            self.near(nt.rms_norm(x), rms(x))
            self.near(nt.rms_norm(x, w, 1e-5, offset=1.0),
                      rms(x, w, 1e-5, 1.0))
        # A weight of another dtype, rows that lie apart, columns that do.
        x, w = self.normal(7, 1024), self.normal(512, dtype=torch.float32)
        self.near(nt.rms_norm(x[:, :512], w), rms(x[:, :512], w))
        self.near(nt.rms_norm(x[:, ::2], w), rms(x[:, ::2], w))
        self.assertEqual(nt.rms_norm(x[:0]).shape, (0, 1024))

    def test_out(self):
        x, w = self.normal(6, 256), self.normal(256)
        out = torch.empty_like(x)
        self.assertIs(nt.rms_norm(x, w, out=out), out)
        self.near(out, rms(x, w))
        wide = self.normal(6, 300)
        nt.rms_norm(x, w, out=wide[:, :256])
        self.near(wide[:, :256], rms(x, w))
        turned = torch.empty(256, 6, device=DEVICE, dtype=x.dtype).T
        nt.rms_norm(x, w, out=turned)
        self.near(turned, rms(x, w))
        # Over its own input.
        y = x.clone()
        nt.rms_norm(y, w, out=y)
        self.assertTrue(torch.equal(y, out))
        y = x.clone()
        nt.softmax(y, 0, out=y)
        self.assertTrue(torch.equal(y, nt.softmax(x, 0)))
        r = x.clone()
        nt.add_rms_norm(x, r, w, out=(torch.empty_like(x), r))
        self.assertTrue(torch.equal(r, x + x))

    def test_layer_norm(self):
        x, w, b = self.normal(4, 6, 8, 32), self.normal(32), self.normal(32)
        self.near(nt.layer_norm(x, w, b), nn.functional.layer_norm(
            x.double(), (32,), w.double(), b.double()), ulps=4)
        self.near(nt.layer_norm(x), nn.functional.layer_norm(
            x.double(), (32,)), ulps=1)
        w = self.normal(8, 32)
        self.near(nt.layer_norm(x, w, None, axes=2),
                  nn.functional.layer_norm(x.double(), (8, 32), w.double()))
        out = torch.empty_like(x)
        self.near(nt.layer_norm(x, out=out),
                  nn.functional.layer_norm(x.double(), (32,)))

    def test_add_rms_norm(self):
        x, r, w = self.normal(2, 9, 384), self.normal(2, 9, 384), \
            self.normal(384)
        y, s = nt.add_rms_norm(x, r, w)
        self.assertTrue(torch.equal(s, x + r))
        self.near(y, rms(s, w))
        out = torch.empty_like(x), torch.empty_like(x)
        nt.add_rms_norm(x, r, w, out=out)
        self.assertTrue(torch.equal(out[0], y) and torch.equal(out[1], s))
        residual = r.clone()
        self.assertTrue(torch.equal(nt.add_rms_norm_(x, residual, w), y))
        self.assertTrue(torch.equal(residual, s))
        # A residual whose columns lie apart.
        residual = r.transpose(0, 2).contiguous().transpose(0, 2)
        self.assertTrue(torch.equal(nt.add_rms_norm_(x, residual, w), y))
        self.assertTrue(torch.equal(residual, s))

    def test_fp8(self):
        x, r, w = self.normal(9, 512), self.normal(9, 512), self.normal(512)
        for group, scales in ((-1, 1), (128, 4)):
            width = 512 // scales

            def values(codes, s):
                self.assertEqual(codes.dtype, torch.float8_e4m3fn)
                self.assertEqual(s.shape, (9, scales))
                return codes.double() * s.double().repeat_interleave(width, 1)

            codes, s = nt.rms_norm_fp8(x, w, group=group)
            y = nt.rms_norm(x, w).double()
            # A scale is that of the largest of its group.
            amax = y.abs().view(9, scales, width).amax(-1)
            torch.testing.assert_close(s.double(), amax / 448, rtol=1e-6,
                                       atol=0)
            torch.testing.assert_close(values(codes, s), y, rtol=2**-4,
                                       atol=float(s.max()) * 2**-9)
            codes, s, total = nt.add_rms_norm_fp8(x, r, w, group=group)
            self.assertTrue(torch.equal(total, x + r))
            y = nt.rms_norm(total, w).double()
            torch.testing.assert_close(values(codes, s), y, rtol=2**-4,
                                       atol=float(s.max()) * 2**-9)
            residual = r.clone()
            again, scale = nt.add_rms_norm_fp8_(x, residual, w, group=group)
            self.assertTrue(torch.equal(again.view(torch.uint8),
                                        codes.view(torch.uint8)))
            self.assertTrue(torch.equal(scale, s))
            self.assertTrue(torch.equal(residual, total))

    def test_softmax(self):
        x = self.normal(4, 33, 10, dtype=torch.float32)
        for dim in (-1, 0, 1, 2):
            self.near(nt.softmax(x, dim), x.double().softmax(dim), ulps=16)
        out = torch.empty_like(x)
        self.near(nt.softmax(x, 1, out=out), x.double().softmax(1), ulps=16)

    def test_group_norm(self):
        for dtype in (torch.float32, torch.float16):
            x, w, b = self.normal(3, 16, 6, 5, dtype=dtype), self.normal(
                16, dtype=dtype), self.normal(16, dtype=dtype)
            want = nn.functional.group_norm(x.double(), 4, w.double(),
                                            b.double())
            y = nt.group_norm(x, 4, w, b)
            self.near(y, want, ulps=8)
            last = x.to(memory_format=torch.channels_last)
            z = nt.group_norm(last, 4, w, b)
            self.assertEqual(z.stride(), last.stride())
            self.near(z, want, ulps=8)
            out = torch.empty_like(x)
            nt.group_norm(last, 4, w, b, out=out)
            self.near(out, want, ulps=8)

    def test_one_compilation_for_all_rows(self):
        session = nt.session(SESSION)
        w = self.normal(640)
        before = session.compile_count
        for rows in (1, 2, 17, 64):
            nt.rms_norm(self.normal(rows, 640), w, 1e-4)
        self.assertEqual(session.compile_count, before + 1)

    def test_threads(self):
        failures = []

        def work(seed):
            try:
                generator = torch.Generator(DEVICE).manual_seed(seed)
                for i in range(12):
                    columns = 32 * (1 + (seed + i) % 5)
                    x = torch.randn(3, columns, device=DEVICE,
                                    generator=generator)
                    self.near(nt.rms_norm(x), rms(x))
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_errors(self):
        def refuses(text, call, *arguments, **named):
            with self.assertRaises(normc.NormError) as caught:
                call(*arguments, **named)
            self.assertIn(text, str(caught.exception))

        x, w = self.normal(3, 64), self.normal(64)
        refuses("weight of rms_norm expects 64 floats but got (32,)",
                nt.rms_norm, x, w[:32])
        refuses("x of rms_norm expects f64, f32, f16 or bf16 but got "
                "torch.int32", nt.rms_norm, x.int(), w)
        refuses("residual of add_rms_norm expects (3, 64) of torch.bfloat16 "
                "but got (2, 64)", nt.add_rms_norm, x, x[:2], w)
        refuses("group expects -1 or a divisor of 64 columns but got 48",
                nt.rms_norm_fp8, x, w, group=48)
        # Without memory there is only a shape to tell.
        self.assertEqual(nt.rms_norm(x.to("meta")).shape, x.shape)
        refuses("weight of rms_norm expects a tensor on", nt.rms_norm, x,
                w.to("meta"))
        with torch.enable_grad():
            refuses("add_rms_norm_ has no backward", nt.add_rms_norm_,
                    x.clone().requires_grad_(), x.clone(), w)

    def test_compile(self):
        w = self.normal(256)

        def block(x, residual):
            y = nt.add_rms_norm_(x * 2, residual, w)
            codes, scales = nt.rms_norm_fp8(y + 1, w, group=128)
            z = nt.layer_norm(y) + nt.softmax(y)
            out = torch.empty_like(y)
            nt.rms_norm(z, out=out)
            return out, codes.float(), scales

        compiled = torch.compile(block, fullgraph=True, dynamic=True,
                                 backend=BACKEND)
        before = nt.session(SESSION).compile_count
        for rows in (4, 9, 33):
            x, r = self.normal(rows, 256), self.normal(rows, 256)
            mine, theirs = r.clone(), r.clone()
            got, want = compiled(x, mine), block(x, theirs)
            for a, b in zip((*got, mine), (*want, theirs)):
                if IS_CUDA:  # the sums between may be fused, unrounded
                    torch.testing.assert_close(a, b, rtol=0.07, atol=0.02)
                else:
                    self.assertTrue(torch.equal(a, b))
        self.assertLessEqual(nt.session(SESSION).compile_count, before + 5)

    def test_opcheck(self):
        x, w = self.normal(4, 64), self.normal(64)
        o = torch.ops.normc
        for op, arguments in (
                (o.rms_norm, (x, w, 1e-6, 0.0)),
                (o.rms_norm_out, (x, w, 1e-6, 0.0, torch.empty_like(x))),
                (o.layer_norm, (x, 64, w, None, 1e-5)),
                (o.add_rms_norm, (x, x + 1, w, 1e-6, 0.0)),
                (o.add_rms_norm_, (x, x + 1, w, 1e-6, 0.0)),
                (o.rms_norm_fp8, (x, w, 1e-6, 0.0, -1)),
                (o.add_rms_norm_fp8_, (x, x + 1, w, 1e-6, 0.0, 32)),
                (o.softmax, (x, 0)),
                (o.group_norm, (x, 4, w, None, 1e-5))):
            torch.library.opcheck(
                op.default, arguments,
                test_utils=("test_schema", "test_faketensor"))

    @unittest.skipUnless(IS_CUDA, "graphs are CUDA's")
    def test_graph(self):
        x, r, w = self.normal(64, 4096), self.normal(64, 4096), \
            self.normal(4096)
        image = self.normal(2, 320, 64, 64, dtype=torch.float16)

        def work():
            y = nt.add_rms_norm_(x, r, w)
            return y, *nt.rms_norm_fp8(y, w, group=128), \
                nt.group_norm(image, 32)

        kept = r.clone()
        want = work()  # compiles and loads
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            work()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = work()
        for _ in range(3):
            r.copy_(kept)
            graph.replay()
            torch.cuda.synchronize()
            for a, b in zip(got, want):
                self.assertTrue(torch.equal(a.float(), b.float()))

    @unittest.skipUnless(IS_CUDA, "streams are CUDA's")
    def test_streams(self):
        run = normc.compile(normc.op("rms_norm", columns=1024), device="cuda:0")
        x, w = self.normal(512, 1024), self.normal(1024)
        stream = torch.cuda.Stream()
        for which in (None, stream, stream.cuda_stream,
                      torch.cuda.current_stream()):
            stream.wait_stream(torch.cuda.current_stream())
            y = run(x, w, stream=which)
            torch.cuda.synchronize()
            self.near(y, rms(x, w))


class LlamaRMSNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        dtype = hidden_states.dtype
        wide = hidden_states.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        wide = wide * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * wide.to(dtype)


class GemmaRMSNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.eps = eps

    def forward(self, x):
        y = x.float() * torch.rsqrt(
            x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (y * (1.0 + self.weight.float())).type_as(x)


class OddRMSNorm(LlamaRMSNorm):
    def forward(self, x):
        return super().forward(x) + 1


class GatedRMSNorm(LlamaRMSNorm):
    def forward(self, x, gate):
        return super().forward(x) * gate


class Patch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)

    def test_replaces(self):
        model = nn.Sequential(
            LlamaRMSNorm(64), nn.Linear(64, 64), nn.LayerNorm(64),
            GemmaRMSNorm(64), nn.RMSNorm(64), nn.LayerNorm(64, bias=False),
            nn.LayerNorm((64,), elementwise_affine=False))
        model = model.to(DEVICE, torch.bfloat16)
        before = copy.deepcopy(model)
        report = nt.patch(model)
        self.assertEqual(report.left, {})
        self.assertEqual(report.replaced["0"], "LlamaRMSNorm by rms_norm")
        self.assertEqual(report.replaced["3"],
                         "GemmaRMSNorm by rms_norm with the weight + 1")
        self.assertEqual(len(report.replaced), 6)
        self.assertIsInstance(model[2], nn.LayerNorm)
        self.assertEqual(list(model.state_dict()), list(before.state_dict()))
        x = torch.randn(3, 7, 64, device=DEVICE).to(torch.bfloat16)
        count = nt.session(SESSION).compile_count
        with torch.no_grad():
            torch.testing.assert_close(model(x), before(x), rtol=0.05,
                                       atol=0.05)
            self.assertGreater(nt.session(SESSION).compile_count, count)
            compiled = torch.compile(model, fullgraph=True, backend=BACKEND)
            torch.testing.assert_close(compiled(x), before(x), rtol=0.05,
                                       atol=0.05)
        factors = torch.randn(3, 7, 64, device=DEVICE)
        for one in (model, before):
            (one(x) * factors).sum().backward()
        for mine, theirs in zip(model.parameters(), before.parameters()):
            torch.testing.assert_close(mine.grad, theirs.grad, rtol=0.05,
                                       atol=0.05 * float(theirs.grad.abs().max()))
        self.assertEqual(nt.unpatch(model), 6)
        self.assertIs(type(model[2]), nn.LayerNorm)
        self.assertTrue(torch.equal(model(x), before(x)))

    def test_images(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8),
                              nn.BatchNorm2d(8)).to(DEVICE).eval()
        before = copy.deepcopy(model)
        report = nt.patch(model)
        self.assertEqual(report.replaced, {"1": "GroupNorm by group_norm"})
        self.assertEqual(
            report.left,
            {"2": "BatchNorm2d isn't a norm that normc.torch has"})
        x = torch.randn(2, 3, 9, 9, device=DEVICE)
        with torch.no_grad():
            torch.testing.assert_close(model(x), before(x), rtol=1e-4,
                                       atol=1e-5)

    def test_leaves_alone(self):
        model = nn.ModuleDict({
            "odd": OddRMSNorm(32), "gated": GatedRMSNorm(32),
            "far": LlamaRMSNorm(32).to("meta"), "good": LlamaRMSNorm(32)})
        report = nt.patch(model)
        self.assertEqual(list(report.replaced), ["good"])
        self.assertIn("isn't x * rsqrt", report.left["odd"])
        self.assertIn("more than one tensor", report.left["gated"])
        self.assertIn("on meta", report.left["far"])
        self.assertIn("good: LlamaRMSNorm by rms_norm", str(report))
        self.assertIn("replaced before", nt.patch(model).left["good"])

    def test_other_dtypes(self):
        norm = LlamaRMSNorm(32).to(DEVICE)
        want = copy.deepcopy(norm)
        nt.patch(norm)
        x = torch.randn(2, 32, device=DEVICE).bfloat16()
        with torch.no_grad():
            # A weight of f32 makes the result f32, as before.
            self.assertTrue(torch.equal(norm(x), want(x)))


class Block(nn.Module):
    """A residual stream with norms of this package and of PyTorch."""

    def __init__(self, size):
        super().__init__()
        self.first, self.second = LlamaRMSNorm(size), nn.LayerNorm(size)
        self.up, self.down = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x, residual):
        residual = x + residual
        h = self.up(self.first(residual))
        residual = residual + h * 0.3
        y = nn.functional.silu(self.second(residual)) * h
        return self.down(y), residual


class Fuse(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.texts = []
        torch.compiler.reset()

    def backend(self, module, inputs):
        self.texts += nt.fuse(module)
        return module.forward

    def test_neighbours(self):
        block = Block(96).to(DEVICE, torch.bfloat16)
        nt.patch(block)
        compiled = torch.compile(block, fullgraph=True, dynamic=True,
                                 backend=self.backend)
        with torch.no_grad():
            for rows in (3, 8):
                x, r = (torch.randn(2, rows, 96, device=DEVICE).bfloat16()
                        for _ in range(2))
                got, want = compiled(x, r), block(x, r)
                for a, b in zip(got, want):
                    torch.testing.assert_close(a, b, rtol=0.02, atol=0.02)
        self.assertEqual(len(self.texts), 2)
        first, second = self.texts
        # The sum is a result beside the norm of it.
        self.assertRegex(first, r"(?s)arith.addf.*norm.rms_norm.*return %\w+, %")
        self.assertRegex(second, r"(?s)arith.extf.*arith.mulf.*arith.truncf.*"
                         r"arith.addf.*norm.layer_norm.*norm.silu.*arith.mulf")

    def test_same_bits(self):
        w = torch.randn(128, device=DEVICE).bfloat16()

        def work(x, r):
            s = x * 0.1 + r
            return nt.rms_norm(s, w) - x, s

        x, r = (torch.randn(5, 128, device=DEVICE).bfloat16()
                for _ in range(2))
        with torch.no_grad():
            got = torch.compile(work, fullgraph=True,
                                backend=self.backend)(x, r)
            for a, b in zip(got, work(x, r)):
                self.assertTrue(torch.equal(a, b))
        self.assertEqual(len(self.texts), 1)

    def test_writes_stay_in_order(self):
        def work(x, r):
            s = x + r
            r.add_(1)
            return nn.functional.layer_norm(s, (64,)), s

        x, r = (torch.randn(4, 64, device=DEVICE) for _ in range(2))
        with torch.no_grad():
            mine = r.clone()
            got = torch.compile(work, fullgraph=True,
                                backend=self.backend)(x, mine)
            want = work(x, r)
            torch.testing.assert_close(got, want)
            torch.testing.assert_close(mine, r)
        self.assertEqual(self.texts, [])

    def test_results_of_the_caller_stay_in_order(self):
        def work(x, r):
            s = x + r
            nt.rms_norm(x, out=r)
            return nn.functional.layer_norm(s, (64,)), s

        x, r = (torch.randn(4, 64, device=DEVICE) for _ in range(2))
        with torch.no_grad():
            mine = r.clone()
            got = torch.compile(work, fullgraph=True,
                                backend=self.backend)(x, mine)
            torch.testing.assert_close(got, work(x, r))
            torch.testing.assert_close(mine, r)
        self.assertEqual(self.texts, [])

    def test_layouts_stay(self):
        def work(x, r):
            return nn.functional.layer_norm(x + r, (8,)) * 2

        x, r = (torch.randn(3, 4, 8, device=DEVICE).transpose(0, 1)
                for _ in range(2))
        with torch.no_grad():
            got = torch.compile(work, fullgraph=True,
                                backend=self.backend)(x, r)
            torch.testing.assert_close(got, work(x, r))
            self.assertEqual(got.stride(), work(x, r).stride())

    def test_nothing_beside(self):
        def work(x):
            return nn.functional.rms_norm(x @ x, (64,), eps=1e-6).T

        x = torch.randn(64, 64, device=DEVICE)
        with torch.no_grad():
            torch.compile(work, fullgraph=True, backend=self.backend)(x)
        self.assertEqual(self.texts, [])

    @unittest.skipUnless(IS_CUDA, "generating code takes long on a CPU")
    def test_backend(self):
        block = Block(256).to(DEVICE, torch.bfloat16)
        nt.patch(block)
        x, r = (torch.randn(4, 256, device=DEVICE).bfloat16()
                for _ in range(2))
        compiled = torch.compile(block, fullgraph=True, dynamic=True,
                                 backend=nt.compile_backend)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x, r), block(x, r), rtol=0.02,
                                       atol=0.02)
        compiled(x, r)[0].float().sum().backward()


if __name__ == "__main__":
    unittest.main()
