# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules that are faster than the model's."""

from __future__ import annotations

import json
import os
from typing import NamedTuple, Optional, Sequence, Union

from . import _runtime
from ._normc import Device
from ._normc import tune as _search
from ._runtime import Source, _bytes, _options

Shapes = Sequence[Sequence[int]]


class Tuned(NamedTuple):
    """A program for which a faster schedule was found."""
    program: str  #: its hash
    what: str  #: the program, for people
    model: str  #: the schedule that the model had
    schedule: str  #: the one that was found
    times: tuple[tuple[str, float, float], ...]
    #: of each call: its shapes, and microseconds of the model's and of this one


def _call(shapes: Shapes) -> str:
    return ",".join("x".join(str(int(extent)) for extent in shape) or "scalar"
                    for shape in shapes)


def tune(text: Source, calls: Sequence[Shapes], *,
         device: Union[str, Device, None] = None, seconds: float = 30,
         file: Union[str, "os.PathLike[str]", None] = None,
         tuning: Union[str, "os.PathLike[str]", None] = None,
         entry: Optional[str] = None, schedule: Optional[str] = None,
         math: Optional[str] = None, name: str = "program") -> list[Tuned]:
    """Searches for schedules that are faster on the device, as docs/Tuning.md
    describes it; they give the same bits.

        normc.tune(text, [[(16, 4096), (4096,), (16, 4096)]], file="mine.json")
        fast = normc.compile(text, tuning="mine.json")

    `calls` are the calls that count: of each the shapes of all arguments and
    results, in order, `()` for scalars. They are made on random numbers. What is
    found is added to `file`, a tuning file. Fields of `schedule` stay; schedules
    of `tuning` are tried too. The device, by default the first GPU, should have
    nothing else to do. The GIL is released meanwhile."""
    where = _runtime.device("auto" if device is None else device)
    found = _search(
        where, _bytes(text), name,
        _options(entry=entry, schedule=schedule, math=math, tuning=tuning),
        ";".join(_call(shapes) for shapes in calls), float(seconds),
        "" if file is None else os.fspath(file))
    return [Tuned(entry["program"], entry["what"], entry["model"],
                  entry["schedule"],
                  tuple((time["call"], time["model_us"], time["tuned_us"])
                        for time in entry["times"]))
            for entry in json.loads(found)["entries"]]
