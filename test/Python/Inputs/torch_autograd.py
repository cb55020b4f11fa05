# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of normc.torch against PyTorch's in float64; NORMC_TEST_DEVICE is cpu
or cuda."""

import copy
import itertools
import os
import unittest

import normc
import normc.torch as nt
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

DEVICE = torch.device(os.environ.get("NORMC_TEST_DEVICE", "cpu"))
IS_CUDA = DEVICE.type == "cuda"
SESSION = "cuda:0" if IS_CUDA else "host"
# Compiling with code generation takes long on a CPU and tests no more.
BACKEND = "inductor" if IS_CUDA else "aot_eager"
SAVES = ("statistics", "none")


def softmax(x, dim=-1, save="statistics"):
    return nt.softmax(x, dim, save="output" if save == "none" else save)


def rms(x, w=None, eps=1e-6, offset=0.0):
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return y if w is None else y * (w + offset)


class Case:
    """An op of normc.torch, the same of PyTorch, and shapes of its operands: the
    first is x, the others are optional."""

    def __init__(self, name, mine, theirs, *shapes):
        self.name, self.mine, self.theirs = name, mine, theirs
        self.shapes = shapes


def cases():
    for shape in ((5, 64), (3, 2, 37), (1, 1), (7, 1), (2, 300)):
        n = shape[-1:]
        yield Case(f"rms_norm {shape}", lambda x, w=None, **k: nt.rms_norm(
            x, w, 1e-5, offset=0.5, **k),
            lambda x, w=None: rms(x, w, 1e-5, 0.5), shape, n)
        yield Case(f"layer_norm {shape}", nt.layer_norm,
                   lambda x, w=None, b=None, n=n: F.layer_norm(x, n, w, b),
                   shape, n, n)
        yield Case(f"softmax {shape}", softmax, lambda x: x.softmax(-1),
                   shape)
    yield Case("layer_norm of two axes",
               lambda x, w=None, b=None, **k: nt.layer_norm(
                   x, w, b, axes=2, **k),
               lambda x, w=None, b=None: F.layer_norm(x, (6, 9), w, b),
               (2, 3, 6, 9), (6, 9), (6, 9))
    for dim in (0, 1):
        yield Case(f"softmax along {dim}",
                   lambda x, dim=dim, **k: softmax(x, dim, **k),
                   lambda x, dim=dim: x.softmax(dim), (4, 33, 10))
    for shape in ((3, 12, 5, 7), (2, 12, 40), (2, 12, 3, 4, 2)):
        yield Case(f"group_norm {shape}",
                   lambda x, w=None, b=None, **k: nt.group_norm(
                       x, 4, w, b, **k),
                   lambda x, w=None, b=None: F.group_norm(x, 4, w, b),
                   shape, (12,), (12,))


class Gradients(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(11)

    def normal(self, *shape, dtype=torch.float32):
        return torch.randn(shape, device=DEVICE, dtype=torch.float64).to(dtype)

    def near(self, got, want, what="", scale=0.1):
        """Within the rounding of the result, and of f32 on the way, where
        numbers of `scale` cancel. The gradient of a softmax comes from its
        rounded output."""
        self.assertEqual(got.shape, want.shape, what)
        if not want.numel():
            return
        eps = torch.finfo(got.dtype).eps
        on_the_way = 1e-11 if got.dtype == torch.float64 else 2e-5
        if what.startswith("softmax") and "bfloat16 none" in what:
            on_the_way = eps
        bound = eps * want.abs() + on_the_way * (want.abs().max() + scale)
        excess = ((got.double() - want).abs() - bound).max()
        self.assertLessEqual(float(excess), 0.0, what)

    def both(self, mine, theirs, tensors, wanted, weigh, what):
        """Gradients of `wanted` tensors, as of PyTorch in float64; `weigh`
        makes a number of results and random factors."""
        given = [t.detach().requires_grad_(i in wanted)
                 for i, t in enumerate(tensors)]
        wide = [t.detach().double().requires_grad_(i in wanted)
                for i, t in enumerate(tensors)]
        got, want = mine(*given), theirs(*wide)
        got, want = ((r if isinstance(r, tuple) else (r,))
                     for r in (got, want))
        factors = [torch.randn_like(r) for r in got]
        weigh(got, factors).backward()
        weigh(want, [f.double() for f in factors]).backward()
        for i, (a, b) in enumerate(zip(given, wide)):
            if i not in wanted:
                self.assertIsNone(a.grad, what)
                continue
            self.assertEqual(a.grad.dtype, a.dtype, what)
            # The norm of one column is that of eps.
            self.near(a.grad, b.grad, f"{what}, gradient {i}",
                      10 if a.shape[-1:] == (1,) else 0.1)
        return [t.grad for t in given]

    @staticmethod
    def dot(results, factors):
        return sum((r * f).sum() for r, f in zip(results, factors))

    def test_ops(self):
        for case in cases():
            for dtype, save in ((torch.float32, "statistics"),
                                (torch.float64, "statistics"),
                                (torch.bfloat16, "none"),
                                (torch.float64, "none")):
                tensors = [self.normal(*shape, dtype=dtype)
                           for shape in case.shapes]
                self.both(lambda *t: case.mine(*t, save=save), case.theirs,
                          tensors, range(len(tensors)), self.dot,
                          f"{case.name} {dtype} {save}")

    def test_every_subset(self):
        x, w, b = self.normal(6, 48), self.normal(48), self.normal(48)
        image = self.normal(2, 48, 5)
        for save in SAVES:
            for count in (1, 2, 3):
                for wanted in itertools.combinations(range(3), count):
                    self.both(lambda *t: nt.layer_norm(*t, save=save),
                              lambda x, w, b: F.layer_norm(x, (48,), w, b),
                              (x, w, b), wanted, self.dot, f"{save} {wanted}")
                    self.both(
                        lambda x, w, b: nt.group_norm(x, 8, w, b, save=save),
                        lambda x, w, b: F.group_norm(x, 8, w, b),
                        (image, w, b), wanted, self.dot, f"{save} {wanted}")
                    self.both(
                        lambda x, r, w: nt.add_rms_norm(x, r, w, save=save),
                        lambda x, r, w: (rms(x + r, w), x + r),
                        (x, x.flip(0), w), wanted, self.dot, f"{save} {wanted}")
            for wanted in ((0,), (1,)):
                self.both(lambda x, w: nt.rms_norm(x, w, save=save), rms,
                          (x, w), wanted, self.dot, f"{save} {wanted}")

    def test_only_what_is_wanted_is_computed(self):
        x, w = self.normal(6, 80), self.normal(80)
        results = torch.ops.normc.rms_norm_backward(
            x, None, x, w, None, 1e-6, 0.0, 0b10)
        self.assertEqual([r.numel() for r in results], [0, 80])
        results = torch.ops.normc.layer_norm_backward(
            x, x, 80, w, None, None, None, 1e-5, 0b101)
        self.assertEqual([r.numel() for r in results], [480, 0, 0])

    def test_residual(self):
        """Results that nobody uses, either of them, and both."""
        x, r, w = self.normal(2, 9, 96), self.normal(2, 9, 96), self.normal(96)
        for save in SAVES:
            for weigh in (lambda t, f: (t[0] * f[0]).sum(),
                          lambda t, f: (t[1] * f[1]).sum(), self.dot):
                wanted = (0, 1) if weigh is not self.dot and save == "none" \
                    else (0, 1, 2)
                given = [t.clone().requires_grad_() for t in (x, r, w)]
                wide = [t.double().requires_grad_() for t in (x, r, w)]
                got = nt.add_rms_norm(*given, save=save)
                total = wide[0] + wide[1]
                want = rms(total, wide[2]), total
                factors = [torch.randn_like(t) for t in got]
                weigh(got, factors).backward()
                weigh(want, [f.double() for f in factors]).backward()
                for i in wanted:
                    if wide[i].grad is None:
                        self.assertIsNone(given[i].grad)
                    else:
                        self.near(given[i].grad, wide[i].grad)

    def test_layouts_of_cotangents(self):
        """Expanded, transposed and pitched ones; rows of x that lie apart."""
        x, w, b = self.normal(6, 10, 40), self.normal(40), self.normal(40)
        wide = self.normal(6, 10, 64)
        for weigh in (lambda t, f: t[0].sum(),
                      lambda t, f: t[0].transpose(0, 2).pow(2).sum(),
                      lambda t, f: t[0].mean(0).exp().sum(),
                      lambda t, f: F.pad(t[0], (8, 16)).exp().sum()):
            for x_ in (x, x.transpose(0, 1), wide[..., 8:48]):
                self.both(nt.layer_norm,
                          lambda x, w, b: F.layer_norm(x, (40,), w, b),
                          (x_, w, b), (0, 1, 2), weigh, "layout")
        image = self.normal(2, 8, 6, 5)
        for x_ in (image, image.to(memory_format=torch.channels_last),
                   image.transpose(2, 3)):
            for weigh in (lambda t, f: t[0].sum(), lambda t, f: t[0].pow(3).sum(),
                          lambda t, f: t[0].transpose(1, 2).contiguous().mul(
                              f[0].transpose(1, 2)).sum()):
                gradients = self.both(
                    lambda x, w, b: nt.group_norm(x, 2, w, b),
                    lambda x, w, b: F.group_norm(x, 2, w, b),
                    (x_, self.normal(8), self.normal(8)), (0, 1, 2), weigh,
                    "layout")
            if x_.is_contiguous(memory_format=torch.channels_last):
                self.assertEqual(gradients[0].stride(), x_.stride())
        for dim in (0, 1, 2):
            self.both(lambda x, dim=dim: nt.softmax(x, dim),
                      lambda x, dim=dim: x.softmax(dim),
                      (x.transpose(1, 2),), (0,), lambda t, f: t[0].amax(),
                      f"{dim}")

    def test_dtypes(self):
        """A weight of another dtype has gradients of its own; a cotangent of
        another is rounded to the result's."""
        x, w = self.normal(9, 72, dtype=torch.bfloat16), self.normal(72)
        b = self.normal(72, dtype=torch.float16)
        self.both(nt.layer_norm, lambda x, w, b: F.layer_norm(x, (72,), w, b),
                  (x, w, b), (0, 1, 2), self.dot, "mixed")
        # f64 anywhere is f64 on the way.
        image = self.normal(2, 6, 12)
        for save in SAVES:
            for kinds in ((torch.float32, torch.float64),
                          (torch.float64, torch.float32),
                          (torch.float16, torch.float32)):
                x_, w_, b_ = (t.to(kind) for t, kind in zip(
                    (x, w, b), (kinds[0], *kinds[1:] * 2)))
                self.both(lambda *t: nt.layer_norm(*t, save=save),
                          lambda x, w, b: F.layer_norm(x, (72,), w, b),
                          (x_, w_, b_), (0, 1, 2), self.dot, f"{kinds}")
                self.both(
                    lambda x, w, b: nt.group_norm(x, 2, w, b, save=save),
                    lambda x, w, b: F.group_norm(x, 2, w, b),
                    (image.to(kinds[0]), w_[:6], b_[:6]), (0, 1, 2), self.dot,
                    f"{kinds}")
        o = torch.ops.normc
        dy = self.normal(9, 72)
        for one, other in zip(
                o.rms_norm_backward(dy, None, x, w, None, 1e-6, 0.0,
                                    0b11),
                o.rms_norm_backward(dy.bfloat16(), None, x, w, None, 1e-6, 0.0,
                                    0b11)):
            self.assertTrue(torch.equal(one, other))

    def test_no_rows(self):
        for shape, save in itertools.product(((0, 24), (3, 0, 24)), SAVES):
            x, w = self.normal(*shape), self.normal(24)
            self.both(lambda x, w: nt.layer_norm(x, w, save=save),
                      lambda x, w: F.layer_norm(x, (24,), w), (x, w), (0, 1),
                      self.dot, "no rows")
            self.both(lambda x, r, w: nt.add_rms_norm(x, r, w, save=save),
                      lambda x, r, w: (rms(x + r, w), x + r), (x, x, w),
                      (0, 1, 2), self.dot, "no rows")
            self.both(lambda x: softmax(x, save=save),
                      lambda x: x.softmax(-1), (x,), (0,), self.dot, "no rows")
        self.both(lambda x, w: nt.group_norm(x, 2, w),
                  lambda x, w: x * w[:, None],
                  (self.normal(0, 8, 3), self.normal(8)), (0, 1), self.dot,
                  "no samples")

    def test_gradcheck(self):
        x, w, b = (self.normal(*shape, dtype=torch.float64).requires_grad_()
                   for shape in ((3, 7), (7,), (7,)))
        r = self.normal(3, 7, dtype=torch.float64).requires_grad_()
        image = self.normal(2, 6, 5, dtype=torch.float64).requires_grad_()
        v = self.normal(6, dtype=torch.float64).requires_grad_()
        for call, tensors in (
                (lambda x, w: nt.rms_norm(x, w), (x, w)),
                (nt.layer_norm, (x, w, b)), (nt.add_rms_norm, (x, r, w)),
                (nt.softmax, (x,)), (lambda x: nt.softmax(x, 0), (x,)),
                (softmax, (x,)), (lambda x: softmax(x, 0), (x,)),
                (lambda x, w, b: nt.group_norm(x, 3, w, b), (image, v, v))):
            self.assertTrue(torch.autograd.gradcheck(
                call, tensors, check_undefined_grad=True,
                check_batched_grad=False, nondet_tol=0.0))

    def test_same_bits(self):
        x, w, b = (self.normal(*shape, dtype=torch.bfloat16).requires_grad_()
                   for shape in ((311, 1031), (1031,), (1031,)))
        dy = self.normal(311, 1031, dtype=torch.bfloat16)
        image = self.normal(3, 32, 31, 17).requires_grad_()
        dimage = self.normal(3, 32, 31, 17)
        v = self.normal(32).requires_grad_()

        def gradients():
            return (*torch.autograd.grad(nt.layer_norm(x, w, b), (x, w, b), dy),
                    *torch.autograd.grad(nt.rms_norm(x, w), (x, w), dy),
                    *torch.autograd.grad(nt.softmax(x), x, dy),
                    *torch.autograd.grad(nt.group_norm(image, 8, v), (image, v),
                                         dimage))

        first = gradients()
        for _ in range(19):
            for a, b_ in zip(gradients(), first):
                self.assertTrue(torch.equal(a, b_))
        # Recomputed statistics are the same numbers.
        for a, b_ in zip(torch.autograd.grad(
                nt.layer_norm(x, w, b, save="none"), (x, w, b), dy), first):
            self.near(a, b_.double())

    def test_one_compilation_for_all_rows(self):
        session = nt.session(SESSION)
        w = self.normal(656).requires_grad_()

        def step(rows):
            x = self.normal(rows, 656).requires_grad_()
            nt.rms_norm(x, w, 1e-4).sum().backward()

        before = session.compile_count
        for rows in (1, 2, 17, 64):
            step(rows)
        self.assertEqual(session.compile_count, before + 2)

    def test_errors(self):
        x = self.normal(3, 64).requires_grad_()
        w = self.normal(64).requires_grad_()

        def refuses(text, call, *arguments, **named):
            with self.assertRaises(normc.NormError) as caught:
                call(*arguments, **named)
            self.assertIn(text, str(caught.exception))

        refuses("rms_norm with out= has no backward", nt.rms_norm, x, w,
                out=torch.empty(3, 64, device=DEVICE))
        refuses("save of rms_norm expects statistics or none but got 'all'",
                nt.rms_norm, x, w, save="all")
        refuses("save of softmax expects statistics or output but got 'none'",
                nt.softmax, x, save="none")
        refuses("add_rms_norm_ has no backward; call add_rms_norm",
                nt.add_rms_norm_, x, self.normal(3, 64), w)
        refuses("rms_norm_fp8 has no backward", nt.rms_norm_fp8, x, w)
        refuses("weight of rms_norm expects 64 floats but got (32,)",
                nt.rms_norm, x, w[:32])
        refuses("residual of add_rms_norm expects (3, 64)", nt.add_rms_norm, x,
                x[:2], w)
        refuses("the cotangent of softmax expects (3, 64)",
                torch.ops.normc.softmax_backward, x[:2].detach(), x.detach(),
                -1, None, None)
        codes, _ = torch.ops.normc.rms_norm_fp8(x, w, 1e-6, 0.0, -1)
        refuses("codes of fp8 have no backward",
                codes.float().sum().backward)
        # No second derivative, but a graph of the first may be asked for.
        for save in SAVES:
            y = nt.rms_norm(x, w, save=save)
            dx, = torch.autograd.grad(y.square().sum(), x, create_graph=True)
            refuses("expects one backward but got two", dx.sum().backward)
        # What is overwritten before the backward is noticed.
        y = x * 2
        z = nt.rms_norm(y, w)
        y.add_(1)
        with self.assertRaisesRegex(RuntimeError, "inplace"):
            z.sum().backward()


class Block(nn.Module):
    """A transformer block with the norms of PyTorch."""

    def __init__(self, size):
        super().__init__()
        self.first, self.second = nn.RMSNorm(size, eps=1e-6), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x):
        q, k, v = self.qkv(self.first(x)).chunk(3, -1)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v))
        return x + self.down(F.silu(self.up(self.second(x))))


class Models(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        torch.compiler.reset()

    def step(self, model, x):
        """Gradients of a step, after the loss."""
        model.zero_grad()
        x = x.clone().requires_grad_()
        loss = model(x).square().mean()
        loss.backward()
        return [loss.detach(), x.grad,
                *(p.grad for p in model.parameters())]

    def near(self, got, want):
        for a, b in zip(got, want, strict=True):
            eps = torch.finfo(a.dtype).eps
            bound = 40 * eps * float(b.float().abs().max()) + 1e-12
            self.assertLessEqual(float((a.float() - b.float()).abs().max()),
                                 bound)

    def test_patched(self):
        for dtype in (torch.float32, torch.bfloat16):
            model = nn.Sequential(Block(48), Block(48)).to(DEVICE, dtype)
            x = torch.randn(3, 11, 48, device=DEVICE).to(dtype)
            want = self.step(model, x)
            count = nt.session(SESSION).compile_count
            self.assertEqual(len(nt.patch(model).replaced), 4)
            got = self.step(model, x)
            self.assertGreater(nt.session(SESSION).compile_count, count)
            self.near(got, want)
            # Statistics computed again.
            nt.unpatch(model)
            nt.patch(model, save="none")
            self.near(self.step(model, x), want)

    def test_images(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(),
                              nn.Conv2d(8, 8, 3)).to(DEVICE)
        x = torch.randn(2, 3, 9, 9, device=DEVICE)
        want = self.step(model, x)
        nt.patch(model)
        self.near(self.step(model, x), want)
        model = model.to(memory_format=torch.channels_last)
        self.near(self.step(model, x.to(memory_format=torch.channels_last)),
                  want)

    def test_checkpoint(self):
        model = Block(64).to(DEVICE)
        nt.patch(model)
        x = torch.randn(2, 9, 64, device=DEVICE)
        want = self.step(model, x)
        for reentrant in (False, True):
            got = self.step(
                lambda_module(model, lambda x: checkpoint(
                    model, x, use_reentrant=reentrant)), x)
            for a, b in zip(got, want, strict=True):
                self.assertTrue(torch.equal(a, b))

    def test_compiled(self):
        model = Block(64).to(DEVICE)
        patched = copy.deepcopy(model)
        nt.patch(patched)
        compiled = torch.compile(patched, fullgraph=True, dynamic=True,
                                 backend=BACKEND)
        for rows in (5, 8, 33):
            x = torch.randn(2, rows, 64, device=DEVICE)
            self.near(self.step(compiled, x), self.step(model, x))

    def test_compiled_checkpoint(self):
        model = Block(32).to(DEVICE)
        nt.patch(model)
        x = torch.randn(2, 6, 32, device=DEVICE)
        want = self.step(model, x)
        compiled = torch.compile(lambda x: checkpoint(
            model, x, use_reentrant=False), fullgraph=True, backend=BACKEND)
        self.near(self.step(lambda_module(model, compiled), x), want)

    def test_compiled_functions(self):
        """Each op, with what it doesn't need gradients of."""
        def work(x, r, w, b):
            y, s = nt.add_rms_norm(x, r, w)
            y = nt.layer_norm(y, w, b) + nt.softmax(s, 0, save="statistics")
            y = y + nt.group_norm(y.unsqueeze(0).transpose(1, 2), 4, w).squeeze(
                0).T
            return nt.rms_norm(y) + s

        w, b = (torch.randn(48, device=DEVICE).requires_grad_(i == 1)
                for i in range(2))
        compiled = torch.compile(work, fullgraph=True, dynamic=True,
                                 backend=BACKEND)
        for rows in (4, 7):
            gradients = []
            x, r = (torch.randn(rows, 48, device=DEVICE) for _ in range(2))
            for call in (work, compiled):
                given = [t.clone().requires_grad_() for t in (x, r)] + [w, b]
                b.grad = None
                call(*given).square().sum().backward()
                gradients.append([given[0].grad, given[1].grad, b.grad.clone()])
            self.near(*gradients)

    def test_optimizer(self):
        """Ten steps of a patched model are those of its own norms."""
        losses = []
        for is_patched in (False, True):
            torch.manual_seed(9)
            model = Block(32).to(DEVICE)
            if is_patched:
                nt.patch(model)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
            x = torch.randn(4, 8, 32, device=DEVICE)
            for _ in range(10):
                optimizer.zero_grad()
                loss = (model(x) - 1).square().mean()
                loss.backward()
                optimizer.step()
            losses.append(loss.detach())
        torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-6)

    def test_autocast(self):
        """The ops leave their operands as they are; patched modules run their
        own forward."""
        x = torch.randn(3, 32, device=DEVICE).bfloat16().requires_grad_()
        w = torch.randn(32, device=DEVICE).requires_grad_()
        with torch.autocast(DEVICE.type, torch.bfloat16):
            y = nt.rms_norm(x, w)
        self.assertEqual(y.dtype, torch.bfloat16)
        y.sum().backward()
        self.assertEqual((x.grad.dtype, w.grad.dtype),
                         (torch.bfloat16, torch.float32))
        norm = nn.LayerNorm(32).to(DEVICE)
        own = copy.deepcopy(norm)
        nt.patch(norm)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            self.assertTrue(torch.equal(norm(x), own(x)))

    def test_opcheck(self):
        x, w = (torch.randn(*shape, device=DEVICE, requires_grad=True)
                for shape in ((4, 64), (64,)))
        o = torch.ops.normc
        image = torch.randn(2, 64, 3, device=DEVICE, requires_grad=True)
        for op, arguments in (
                (o.rms_norm, (x, w, 1e-6, 0.0)),
                (o.rms_norm_training, (x, w, 1e-6, 0.0)),
                (o.add_rms_norm_training, (x, x + 1, w, 1e-6, 0.0)),
                (o.layer_norm_training, (x, 64, w, None, 1e-5)),
                (o.softmax_training, (x, 0)), (o.softmax_training, (x, -1)),
                (o.softmax, (x, 0)), (o.softmax, (x, -1)),
                (o.group_norm_training, (image, 4, w, None, 1e-5))):
            torch.library.opcheck(op.default, arguments)
        x, w = x.detach(), w.detach()
        rstd = torch.ones(4, device=DEVICE)
        for op, arguments in (
                (o.rms_norm_backward, (x, None, x, w, rstd, 1e-6, 0.0,
                                       0b11)),
                (o.rms_norm_backward, (x, x, x, w, None, 1e-6, 0.0,
                                       0b01)),
                (o.layer_norm_backward, (x, x, 64, w, None, rstd, rstd, 1e-5,
                                         0b110)),
                (o.softmax_backward, (x, x, -1, None, None)),
                (o.softmax_of_output_backward, (x, x.softmax(-1), -1))):
            torch.library.opcheck(
                op.default, arguments,
                test_utils=("test_schema", "test_faketensor"))

    @unittest.skipUnless(IS_CUDA, "graphs are CUDA's")
    def test_graph(self):
        """A captured step, replayed, has the bits of the step."""
        model = Block(256).to(DEVICE, torch.bfloat16)
        nt.patch(model)
        x = torch.randn(4, 128, 256, device=DEVICE).bfloat16()
        want = self.step(model, x)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.step(model, x)
        torch.cuda.current_stream().wait_stream(stream)
        model.zero_grad(set_to_none=True)
        static = x.clone().requires_grad_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = model(static).square().mean()
            loss.backward()
        for _ in range(3):
            graph.replay()
            torch.cuda.synchronize()
        got = [loss, static.grad, *(p.grad for p in model.parameters())]
        self.near(got, want)
        # Replays are the same bits.
        first = [t.clone() for t in got]
        graph.replay()
        torch.cuda.synchronize()
        for a, b in zip(got, first):
            self.assertTrue(torch.equal(a, b))

    @unittest.skipUnless(IS_CUDA, "streams are CUDA's")
    def test_stream_of_the_forward(self):
        """The backward runs where the forward ran."""
        stream = torch.cuda.Stream()
        x = torch.randn(4096, 4096, device=DEVICE).requires_grad_()
        w = torch.randn(4096, device=DEVICE).requires_grad_()
        want = torch.autograd.grad(nt.rms_norm(x, w).sum(), (x, w))
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            got = torch.autograd.grad(nt.rms_norm(x, w).sum(), (x, w))
        torch.cuda.synchronize()
        for a, b in zip(got, want):
            self.assertTrue(torch.equal(a, b))


class Residual(nn.Module):
    """A residual stream, with work before and after its norms."""

    def __init__(self, size):
        super().__init__()
        self.first, self.second = nn.RMSNorm(size, eps=1e-6), nn.LayerNorm(size)
        self.third = nn.LayerNorm(size, bias=False)
        # Squares of a norm have no gradient without weights.
        for norm in (self.first, self.second, self.third):
            nn.init.normal_(norm.weight)
        self.up, self.down = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x, residual):
        residual = x + residual
        h = self.up(self.first(residual))
        residual = residual + h
        y = F.silu(self.second(residual)) * h
        return self.third(self.down(y) * 0.5 + x), residual


class Fused(unittest.TestCase):
    """Norms with their neighbours in graphs with gradients."""

    def setUp(self):
        torch.manual_seed(2)
        self.texts = []
        torch.compiler.reset()

    def backend(self, module, inputs):
        from torch._dynamo.backends.debugging import aot_eager
        self.texts += nt.fuse(module, training=True)
        return aot_eager(module, inputs)

    def gradients(self, call, module, *tensors):
        module.zero_grad()
        given = [t.clone().requires_grad_() for t in tensors]
        results = call(*given)
        # The second result is used as well, and then it isn't.
        sum((r.float() * (i + 2)).square().sum()
            for i, r in enumerate(results)).backward()
        both = [t.grad for t in given] + [
            p.grad.clone() for p in module.parameters()]
        module.zero_grad()
        given = [t.clone().requires_grad_() for t in tensors]
        call(*given)[0].float().square().sum().backward()
        return both + [t.grad for t in given] + [
            p.grad for p in module.parameters()]

    def test_training(self):
        for dtype, near, is_patched in ((torch.float32, 2e-5, True),
                                        (torch.bfloat16, 0.05, True),
                                        (torch.float32, 2e-5, False)):
            self.texts.clear()
            torch.compiler.reset()
            model = Residual(96).to(DEVICE, dtype)
            if is_patched:
                nt.patch(model)
            # For 3 rows, and then for any number.
            compiled = torch.compile(model, fullgraph=True,
                                     backend=self.backend)
            for rows in (3, 8, 11):
                x, r = (torch.randn(2, rows, 96, device=DEVICE).to(dtype)
                        for _ in range(2))
                got = self.gradients(compiled, model, x, r)
                want = self.gradients(model, model, x, r)
                for a, b in zip(got, want, strict=True):
                    torch.testing.assert_close(
                        a, b, rtol=near, atol=near * float(b.abs().max()))
            self.assertEqual(len(self.texts), 6)
            # The sum is a result of the first two.
            for text in self.texts[:2]:
                self.assertRegex(text, r"(?s)arith.addf.*norm\.\w+_norm")
            self.assertRegex(self.texts[1], r"(?s)norm.silu.*arith.mulf")

    def test_one_gradient(self):
        """Of a vector alone, of a row alone."""
        def work(x, r, w, g):
            s = x + r
            return F.rms_norm(s, (64,), w, 1e-6) * g

        tensors = [torch.randn(*shape, device=DEVICE) for shape in (
            (5, 64), (5, 64), (64,), (5, 64))]
        for wanted in range(4):
            torch.compiler.reset()
            gradients = []
            for call in (work, torch.compile(work, fullgraph=True,
                                             backend=self.backend)):
                given = [t.clone().requires_grad_(i == wanted)
                         for i, t in enumerate(tensors)]
                call(*given).square().sum().backward()
                gradients.append(given[wanted].grad)
            torch.testing.assert_close(*gradients, rtol=2e-5, atol=2e-5)
        self.assertEqual(len(self.texts), 4)

    def test_alone(self):
        """A norm beside which nothing is keeps its statistics."""
        w = torch.randn(64, device=DEVICE).requires_grad_()
        x = torch.randn(4, 64, device=DEVICE)
        seen = []

        def backend(module, inputs):
            self.texts += nt.fuse(module, training=True)
            seen.extend(str(node.target) for node in module.graph.nodes)
            return module.forward

        compiled = torch.compile(lambda x: nt.rms_norm(x @ x.T @ x, w),
                                 fullgraph=True, backend=backend)
        compiled(x).sum().backward()
        self.assertEqual(self.texts, [])
        self.assertTrue(any("rms_norm_training" in name for name in seen), seen)

    @unittest.skipUnless(IS_CUDA, "generating code takes long on a CPU")
    def test_backend(self):
        model = Residual(256).to(DEVICE, torch.bfloat16)
        nt.patch(model)
        x, r = (torch.randn(4, 256, device=DEVICE).bfloat16()
                for _ in range(2))
        compiled = torch.compile(model, fullgraph=True, dynamic=True,
                                 backend=nt.compile_backend)
        for a, b in zip(self.gradients(compiled, model, x, r),
                        self.gradients(model, model, x, r), strict=True):
            torch.testing.assert_close(a, b, rtol=0.05,
                                       atol=0.05 * float(b.abs().max()))


def lambda_module(model, call):
    """`call` with the parameters of the model."""
    class Calls(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = model

        def forward(self, x):
            return call(x)
    return Calls()


if __name__ == "__main__":
    unittest.main()
