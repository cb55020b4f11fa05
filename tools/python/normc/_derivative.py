# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backward of a program."""

from __future__ import annotations

import json
from typing import Iterable, Mapping, NamedTuple, Optional, Union

from ._runtime import Source, _bytes, compiler


class DerivedValue(NamedTuple):
    """An argument or result of a derived function."""
    role: str  #: input, saved, cotangent or previous; gradient, result or saved
    number: int  #: of the argument or result of the function, or what was saved
    type: str  #: as MLIR, `tensor<?x64xf32>`


class DerivedFunction(NamedTuple):
    """A function that was added; `entry` of `normc.compile` is its name."""
    entry: str
    arguments: tuple[DerivedValue, ...]
    results: tuple[DerivedValue, ...]


class Derivative(NamedTuple):
    """A program with the functions that were added."""
    text: str
    backward: DerivedFunction
    forward: Optional[DerivedFunction]  #: with save="statistics"


def _function(given: Mapping) -> DerivedFunction:
    def values(which: str) -> tuple[DerivedValue, ...]:
        return tuple(
            DerivedValue(role, int(number), value["type"])
            for value in given[which]
            for role, number in (value["name"].split(" "),))

    return DerivedFunction(given["entry"], values("arguments"),
                           values("results"))


def differentiate(
        text: Source, *, function: Optional[str] = None,
        wrt: Iterable[int] = (), save: str = "none",
        gradient_type: Union[str, Mapping[int, str], None] = None,
        accumulate: Iterable[int] = (), name: str = "program") -> Derivative:
    """The program with its backward, as docs/Backward.md describes it.

        d = normc.differentiate(text, wrt=(0, 1))
        backward = normc.compile(d, entry=d.backward.entry)

    `wrt` are the numbers of arguments of which gradients are wanted, by default
    all tensors of floats of 16 bits or more. With `save="statistics"` there is
    also a forward that returns, after the results, what the backward reads.
    `gradient_type` is that of all gradients, or of some by number. Gradients of
    `accumulate` are added to the content of their destinations. Raises a
    `NormError` with the diagnostics."""
    options = [f"save={save}"]
    if function is not None:
        options.append(f"function={function}")
    for option, given in (("wrt", wrt), ("accumulate", accumulate)):
        numbers = ",".join(str(int(number)) for number in given)
        if numbers:
            options.append(f"{option}={numbers}")
    if isinstance(gradient_type, str):
        options.append(f"gradient-type={gradient_type}")
    elif gradient_type:
        options.append("gradient-type=" + ",".join(
            f"{int(number)}:{kind}" for number, kind in gradient_type.items()))
    derived, description = compiler().differentiate(_bytes(text), name,
                                                    " ".join(options))
    functions = json.loads(description)
    forward = functions.get("forward")
    return Derivative(derived, _function(functions["backward"]),
                      forward and _function(forward))
