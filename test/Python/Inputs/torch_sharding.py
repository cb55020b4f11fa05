# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DTensors on two processes: sharded rows give what whole tensors give, and
gradients of parameters are sums to be added."""

import os
import sys
import tempfile
import unittest

import normc.torch as nt
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

WORLD = 2


def check(mesh, name, call, tensors, axes, is_whole):
    """`call` on tensors of which the first `len(tensors) - is_whole` are cut."""
    from torch.distributed.tensor import (DTensor, Partial, Replicate, Shard,
                                          distribute_tensor)
    want_in = [t.clone().requires_grad_() for t in tensors]
    want = call(*want_in)
    factors = [torch.randn_like(r) for r in want]
    sum((r * f).sum() for r, f in zip(want, factors)).backward()
    for axis in axes:
        cut = len(tensors) - is_whole
        given = [distribute_tensor(
            t, mesh, [Shard(axis) if i < cut else Replicate()]
        ).requires_grad_() for i, t in enumerate(tensors)]
        got = call(*given)
        for a, b in zip(got, want, strict=True):
            assert isinstance(a, DTensor), name
            assert a.placements == (Shard(axis),), (name, a.placements)
            torch.testing.assert_close(a.full_tensor(), b, rtol=0, atol=0)
        sum((r * distribute_tensor(f, mesh, [Shard(axis)])).sum()
            for r, f in zip(got, factors)).full_tensor().backward()
        for i, (a, b) in enumerate(zip(given, want_in)):
            place = (Shard(axis),) if i < cut else (Partial(),)
            assert a.grad.placements == place, (name, i, a.grad.placements)
            torch.testing.assert_close(a.grad.full_tensor(), b.grad, rtol=2e-5,
                                       atol=2e-5)


def check_sequence_parallel(mesh, x):
    """A patched norm in PyTorch's own parallel style."""
    from torch.distributed.tensor.parallel import (SequenceParallel,
                                                   parallelize_module)
    for norm in (torch.nn.LayerNorm(48), torch.nn.RMSNorm(48, eps=1e-6)):
        model = torch.nn.ModuleDict({"norm": norm})
        assert len(nt.patch(model).replaced) == 1
        mine = x.clone().requires_grad_()
        model["norm"](mine).square().sum().backward()
        want = norm.weight.grad.clone()
        model.zero_grad()
        parallelize_module(model, mesh, {"norm": SequenceParallel()})
        piece = x.chunk(WORLD, 1)[mesh.get_local_rank()].clone()
        piece.requires_grad_()
        y = model["norm"](piece)
        y.to_local().square().sum().backward()
        torch.testing.assert_close(
            piece.grad, mine.grad.chunk(WORLD, 1)[mesh.get_local_rank()],
            rtol=2e-5, atol=2e-5)
        torch.testing.assert_close(norm.weight.grad.full_tensor(), want,
                                   rtol=2e-5, atol=2e-5)


def work(rank, address):
    dist.init_process_group("gloo", init_method=f"file://{address}", rank=rank,
                            world_size=WORLD)
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (WORLD,))
    torch.manual_seed(5)
    x, r, w, b = (torch.randn(4, 6, 48), torch.randn(4, 6, 48),
                  torch.randn(48), torch.randn(48))
    for save in ("statistics", "none"):
        check(mesh, "rms_norm", lambda x, w: (nt.rms_norm(x, w, save=save),),
              (x, w), (0, 1), 1)
        check(mesh, "layer_norm",
              lambda x, w, b: (nt.layer_norm(x, w, b, save=save),), (x, w, b),
              (0, 1), 2)
        check(mesh, "add_rms_norm",
              lambda x, r, w: nt.add_rms_norm(x, r, w, save=save), (x, r, w),
              (0, 1), 1)
        of_softmax = "output" if save == "none" else save
        check(mesh, "softmax",
              lambda x: (nt.softmax(x, 1, save=of_softmax),), (x,), (0, 2), 0)
        check(mesh, "group_norm",
              lambda x, w, b: (nt.group_norm(x, 3, w, b, save=save),),
              (x, w[:6].clone(), b[:6].clone()), (0,), 2)
    # One gradient alone, after both: results have other shapes.
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    given = distribute_tensor(x, mesh, [Shard(0)])
    weight = distribute_tensor(w, mesh, [Replicate()]).requires_grad_()
    nt.rms_norm(given, weight).sum().full_tensor().backward()
    want = w.clone().requires_grad_()
    nt.rms_norm(x, want).sum().backward()
    torch.testing.assert_close(weight.grad.full_tensor(), want.grad, rtol=2e-5,
                               atol=2e-5)
    # Cut columns are gathered first.
    columns = distribute_tensor(x, mesh, [Shard(2)])
    y = nt.rms_norm(columns, weight.detach())
    torch.testing.assert_close(y.full_tensor(), nt.rms_norm(x, w), rtol=0,
                               atol=0)
    check_sequence_parallel(mesh, x)
    dist.destroy_process_group()


class Sharding(unittest.TestCase):
    def test_two_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(work, (os.path.join(folder, "address"),), nprocs=WORLD)


if __name__ == "__main__":
    if not dist.is_available():
        sys.exit("PyTorch has no distributed package")
    unittest.main()
