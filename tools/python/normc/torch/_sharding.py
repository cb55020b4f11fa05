# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which placements of a DTensor the ops take: rows are anywhere, and what is
normalized is whole. Gradients of parameters are then sums to be added."""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterable, Optional

import torch

from ._backward import _lead

_ops = torch.ops.normc


@functools.lru_cache(maxsize=None)
def declare_shardings() -> None:
    """Tells DTensor about the ops. Happens by itself where
    `torch.distributed.tensor` was imported before `normc.torch`, and when a
    function of it is first called with a DTensor."""
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    def rows_of(x: Any, columns: Optional[int]) -> int:
        return len(_lead(x, x.shape[-1] if columns is None else columns))

    def declare(op: str, axes: Callable[..., Iterable[int]], kinds: str,
                results: str) -> None:
        """`axes` are those along which x may be cut. `kinds` and `results` have
        a letter for each argument and result: x for one that is cut as x is, s
        for a statistic that has no axis `dim`, w for a vector, - for a number;
        of a gradient p, to be added."""
        def shardings(*given: Any) -> list[tuple[list[Any], list[Any]]]:
            x = given[kinds.index("X") if "X" in kinds else kinds.index("x")]
            dim = given[kinds.index("d")] % x.ndim if "d" in kinds else x.ndim

            def places(letters: str, axis: Optional[int]) -> list[Any]:
                return [None if letter in "-d" else
                        Replicate() if axis is None or letter == "w" else
                        Partial() if letter == "p" else
                        Shard(axis - (letter == "s" and axis > dim))
                        for letter in letters]

            found = []
            for axis in (None, *axes(*given)):
                inputs = [None if argument is None else place for argument, place
                          in zip(given, places(kinds, axis))]
                found.append((places(results, axis), inputs))
            return found

        register_sharding(getattr(_ops, op).default)(shardings)

    def along_rows(x, *_):
        return range(rows_of(x, None))

    def layer_rows(x, columns, *_):
        return range(rows_of(x, columns))

    def others(x, dim):
        return (axis for axis in range(x.ndim) if axis != dim % x.ndim)

    def samples(*_):
        return (0,)

    declare("rms_norm", along_rows, "xw--", "x")
    declare("rms_norm_training", along_rows, "xw--", "xx")
    declare("rms_norm_fp8", along_rows, "xw---", "xx")
    declare("add_rms_norm", along_rows, "xxw--", "xx")
    declare("add_rms_norm_training", along_rows, "xxw--", "xxx")
    declare("add_rms_norm_fp8", along_rows, "xxw---", "xxx")
    declare("rms_norm_backward", along_rows, "xxXwx---", "xp")
    declare("layer_norm", layer_rows, "x-ww-", "x")
    declare("layer_norm_training", layer_rows, "x-ww-", "xxx")
    declare("layer_norm_backward", lambda dy, x, columns, *_: range(
        rows_of(x, columns)), "xX-wwxx--", "xpp")
    declare("softmax", others, "xd", "x")
    declare("softmax_training", others, "xd", "xss")
    declare("softmax_of_output_backward", lambda dy, y, dim: others(y, dim),
            "xXd", "x")
    declare("softmax_backward", lambda dy, x, dim, *_: others(x, dim), "xXdss",
            "x")
    declare("group_norm", samples, "x-ww-", "x")
    declare("group_norm_training", samples, "x-ww-", "xxx")
    declare("group_norm_backward", samples, "xX-wwxx--", "xpp")
