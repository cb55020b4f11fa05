# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms with their elementwise neighbours, in graphs of torch.compile."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, NamedTuple, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, fx

from .._builder import Value
from .._norms import Builder
from ._fused import statistics_of
from ._programs import DTYPES

_BINARY = {
    operator.add: "arith.addf", torch.add: "arith.addf", "add": "arith.addf",
    operator.sub: "arith.subf", torch.sub: "arith.subf", "sub": "arith.subf",
    operator.mul: "arith.mulf", torch.mul: "arith.mulf", "mul": "arith.mulf",
    operator.truediv: "arith.divf", torch.div: "arith.divf",
}
_UNARY: dict[Any, Callable[[Builder, Value], Value]] = {
    operator.neg: lambda b, x: -x, F.silu: Builder.silu,
    torch.sigmoid: Builder.sigmoid, "sigmoid": Builder.sigmoid,
    torch.tanh: Builder.tanh, "tanh": Builder.tanh, F.relu: Builder.relu,
    torch.relu: Builder.relu,
}


_RMS_NORMS = tuple(op for op in (getattr(F, "rms_norm", None),
                                 getattr(torch, "rms_norm", None)) if op)


class _Norm(NamedTuple):
    """A norm of rows in a graph, whatever op it is."""
    kind: str
    x: fx.Node
    columns: int
    weight: Optional[fx.Node]
    bias: Optional[fx.Node]
    eps: float
    offset: float


def _value(node: Any) -> Optional[Tensor]:
    """What is known of a node's result, where that is one tensor."""
    if not isinstance(node, fx.Node):
        return None
    value = node.meta.get("example_value", node.meta.get("val"))
    return value if isinstance(value, Tensor) else None


def _fixed(extent: Any) -> Optional[int]:
    """An extent that is known: a number, or a symbol that is one by now."""
    text = str(extent)
    return int(text) if text.isdigit() else None


def _norm_of(node: fx.Node) -> Optional[_Norm]:
    """The norm that a node is, over the last axis."""
    if node.op != "call_function":
        return None
    given = dict(enumerate(node.args))

    def get(index: int, name: str, default: Any = None) -> Any:
        return node.kwargs.get(name, given.get(index, default))

    o, target, x = torch.ops.normc, node.target, get(0, "x", get(0, "input"))
    value = _value(x)
    columns = None if value is None or not value.dim() else _fixed(
        value.shape[-1])
    if columns is None:
        return None
    if target in (o.rms_norm, o.rms_norm.default):
        norm = _Norm("rms_norm", x, columns, get(1, "weight"), None,
                     get(2, "eps"), get(3, "offset"))
    elif target in (o.layer_norm, o.layer_norm.default):
        if get(1, "columns") != columns:
            return None
        norm = _Norm("layer_norm", x, columns, get(2, "weight"),
                     get(3, "bias"), get(4, "eps"), 0.0)
    elif target in (F.layer_norm, torch.layer_norm, *_RMS_NORMS):
        if [str(n) for n in get(1, "normalized_shape")] != [str(columns)]:
            return None
        is_rms = target in _RMS_NORMS
        eps = get(3, "eps") if is_rms else get(4, "eps", 1e-5)
        if is_rms and eps is None:
            eps = torch.finfo(value.dtype).eps
        norm = _Norm("rms_norm" if is_rms else "layer_norm", x, columns,
                     get(2, "weight"), None if is_rms else get(3, "bias"),
                     eps, 0.0)
    else:
        return None
    if not isinstance(norm.eps, float) or not isinstance(norm.offset, float):
        return None  # known at run time only
    for operand in (norm.weight, norm.bias):
        if operand is not None and not _is_vector(operand, value):
            return None
    return norm if _is_rows(node, value) and _is_rows(x, value) else None


def _is_rows(node: Any, like: Tensor) -> bool:
    """Whether a node is a tensor of the norm's shape."""
    value = _value(node)
    return (value is not None and value.dtype in DTYPES and
            value.device == like.device and value.dim() == like.dim() and
            all(str(a) == str(b) for a, b in zip(value.shape, like.shape)))


def _is_vector(node: Any, like: Tensor) -> bool:
    value = _value(node)
    return (value is not None and value.dtype in DTYPES and
            value.device == like.device and
            value.dim() == 1 and str(value.shape[0]) == str(like.shape[-1]))


def _is_elementwise(node: fx.Node, like: Tensor) -> bool:
    """Whether a node can be a part of the norm's program."""
    if node.op not in ("call_function", "call_method") or not _is_rows(
            node, like) or not _value(node).is_contiguous():
        return False  # results of programs are contiguous
    if node.target in _UNARY:
        return (_is_rows(node.args[0], like) and
                not node.kwargs.get("inplace", False) and len(node.args) == 1)
    if node.target is F.gelu:
        return _is_rows(node.args[0], like) and len(node.args) == 1
    if node.target not in _BINARY or node.kwargs or len(node.args) != 2:
        return False
    dtype = _value(node).dtype
    for operand in node.args:
        if isinstance(operand, (int, float)):
            if not math.isfinite(operand):
                return False
        elif not (_is_rows(operand, like) or _is_vector(operand, like)) or \
                _value(operand).dtype != dtype:
            return False
    return True


def _mutates(node: fx.Node) -> bool:
    """Whether a node may write to memory that others read."""
    target = node.target
    if node.op == "call_method":
        return str(target).endswith("_") and not str(target).endswith("__")
    if node.op == "call_function":
        schema = getattr(target, "_schema", None) or getattr(
            getattr(target, "default", None), "_schema", None)
        name = getattr(target, "__name__", "")
        return (schema is not None and schema.is_mutable or
                name == "setitem" or name.endswith("_") or
                "out" in node.kwargs or
                name[:1] == "i" and target is getattr(operator, name, None)
                and name[1:] in ("add", "sub", "mul", "truediv"))
    return node.op == "call_module"


class _Cluster:
    """A norm, and what is computed with it. For `training` the only producer is
    the sum of two rows, which then is kept for the backward."""

    def __init__(self, norm: fx.Node, place: dict[fx.Node, int],
                 taken: set[fx.Node], training: bool):
        self.norm, self.place, self.taken = norm, place, taken
        self.training = training
        self.like = _value(norm)
        self.nodes = {norm}
        self._grow_back(_norm_of(norm).x)
        self._grow_on()

    def _grow_back(self, node: fx.Node) -> None:
        """Producers whose other users come after the norm."""
        if (node in self.taken or node in self.nodes or
                not _is_elementwise(node, self.like) or
                any(self.place[user] < self.place[self.norm] and
                    user not in self.nodes for user in node.users)):
            return
        if self.training:
            if (_BINARY.get(node.target) == "arith.addf" and
                    len(node.all_input_nodes) == 2 and all(
                        _is_rows(a, self.like) for a in node.args)):
                self.nodes.add(node)
            return
        self.nodes.add(node)
        for operand in node.all_input_nodes:
            self._grow_back(operand)

    def _grow_on(self) -> None:
        """Consumers of the norm before which nobody needs a result."""
        node = self.norm
        while True:
            users = [user for user in node.users if user not in self.nodes]
            if len(users) != 1 or not _is_elementwise(users[0], self.like):
                return
            user = users[0]
            if user in self.taken or any(
                    self.place[other] < self.place[user]
                    for member in self.nodes for other in member.users
                    if other is not user and other not in self.nodes):
                return
            self.nodes.add(user)
            node = user

    def is_safe(self, order: list[fx.Node]) -> bool:
        """Whether nothing is written while the members wait for the last."""
        places = [self.place[node] for node in self.nodes]
        between = order[min(places):max(places)]
        return not any(_mutates(node) for node in between
                       if node not in self.nodes)

    def replace(self, graph: fx.Graph) -> str:
        """Puts one node there; its program's text."""
        members = sorted(self.nodes, key=self.place.__getitem__)
        total = _norm_of(self.norm).x if self.training else None
        if total not in self.nodes:
            total = None
        outside = list(dict.fromkeys(
            operand for node in members for operand in node.all_input_nodes
            if operand not in self.nodes))
        rows = [node for node in outside if _is_rows(node, self.like)]
        vectors = [node for node in outside if node not in rows]
        if total is not None:
            # Its operands first, and again where others need them.
            rows = [*total.args, *(row for row in rows if any(
                user in self.nodes and user is not total
                for user in row.users))]
        results = [node for node in members if node is total or any(
            user not in self.nodes for user in node.users)]
        columns = _norm_of(self.norm).columns
        dtypes = [str(_value(node).dtype).removeprefix("torch.")
                  for node in results]
        whole = self._text(members, rows, vectors, results)
        arguments: tuple[Any, ...] = (rows, vectors, columns, dtypes)
        target = torch.ops.normc.program.default
        if not self.training:
            arguments = (whole, *arguments)
        else:
            target = torch.ops.normc.program_training.default
            arguments = (whole, self._rest(whole, members, rows, vectors,
                                           results, total), *arguments)
        with graph.inserting_after(members[-1]):
            call = graph.call_function(target, arguments)
        call.meta["example_value"] = [_value(node) for node in results]
        after = call
        for i, node in enumerate(results):
            with graph.inserting_after(after):
                after = graph.call_function(operator.getitem, (call, i))
            after.meta = dict(node.meta)
            node.replace_all_uses_with(
                after, lambda user: user not in self.nodes)
        for node in reversed(members):
            graph.erase_node(node)
        return whole

    def _rest(self, whole: str, members: list[fx.Node], rows: list[fx.Node],
              vectors: list[fx.Node], results: list[fx.Node],
              total: Optional[fx.Node]) -> str:
        """The text of what is differentiated: without the sum, which it is
        given."""
        if total is None:
            return whole
        rest = self._text([node for node in members if node is not total],
                          [total, *rows[2:]], vectors, results)
        known = statistics_of(whole, rest, len(rows) + len(vectors))
        return whole if known is None else rest

    def _text(self, members: list[fx.Node], rows: list[fx.Node],
              vectors: list[fx.Node], results: list[fx.Node]) -> str:
        columns = _norm_of(self.norm).columns
        b = Builder("norm")
        values: dict[fx.Node, Value] = {}
        for i, node in enumerate(rows):
            values[node] = b.input(f"x{i}", (None, columns),
                                   _value(node).dtype)
        for i, node in enumerate(vectors):
            values[node] = b.input(f"w{i}", (columns,), _value(node).dtype)
        for node in members:
            values[node] = _emit(b, node, values)
        b.output(*(values[node] for node in results))
        return b.text


def _emit(b: Builder, node: fx.Node, values: dict[fx.Node, Value]) -> Value:
    norm = _norm_of(node)
    if norm is not None:
        weight, bias = (operand and values[operand]
                        for operand in (norm.weight, norm.bias))
        dtype = _value(node).dtype
        if norm.kind == "rms_norm":
            return b.rms_norm(values[norm.x], weight, offset=norm.offset,
                              eps=norm.eps, dtype=dtype)
        return b.layer_norm(values[norm.x], weight, bias, eps=norm.eps,
                            dtype=dtype)
    operands = [values[a] if isinstance(a, fx.Node) else a for a in node.args]
    if node.target in _UNARY:
        return _UNARY[node.target](b, operands[0])
    if node.target is F.gelu:
        return b.gelu(operands[0],
                      node.kwargs.get("approximate", "none") == "tanh")
    # A number isn't rounded to 16 bits before it's used, in PyTorch.
    dtype = _value(node).dtype
    is_narrow = dtype.itemsize == 2 and any(
        not isinstance(operand, Value) for operand in operands)
    if is_narrow:
        operands = [b.cast(operand, "f32") if isinstance(operand, Value)
                    else operand for operand in operands]
    result = b.elementwise(_BINARY[node.target], *operands)
    return b.cast(result, dtype) if is_narrow else result


def _is_first(node: fx.Node) -> bool:
    return node.target is operator.getitem and node.args[1] == 0


def _forget_statistics(graph: fx.Graph) -> dict[fx.Node, Any]:
    """Writes norms that keep statistics as those that don't, so that they can be
    fused; by the new node, the op that it was."""
    o = torch.ops.normc
    plain = {}
    for name in ("rms_norm", "layer_norm"):
        packet = getattr(o, f"{name}_training")
        plain[packet] = plain[packet.default] = getattr(o, name).default
    were = {}
    for node in list(graph.nodes):
        if node.target not in plain or not node.users or not all(
                map(_is_first, node.users)):
            continue
        first = next(iter(node.users))
        with graph.inserting_after(node):
            norm = graph.call_function(plain[node.target], node.args,
                                       node.kwargs)
        norm.meta = dict(first.meta)
        were[norm] = node.target
        for user in list(node.users):
            user.replace_all_uses_with(norm)
            graph.erase_node(user)
        graph.erase_node(node)
    return were


def _remember_statistics(graph: fx.Graph, were: dict[fx.Node, Any]) -> None:
    """The other way, for those that are still there."""
    for norm in list(graph.nodes):
        if norm not in were:
            continue
        with graph.inserting_after(norm):
            node = graph.call_function(were[norm], norm.args, norm.kwargs)
        with graph.inserting_after(node):
            first = graph.call_function(operator.getitem, (node, 0))
        first.meta = dict(norm.meta)
        norm.replace_all_uses_with(first)
        graph.erase_node(norm)


def fuse(module: fx.GraphModule, *, training: bool = False) -> list[str]:
    """Replaces each norm of the last axis in a graph (of normc or PyTorch),
    with the residual sums, factors and activations before and after it, by one
    program. Roundings stay as they were. Returns the texts of the programs.
    With `training` they have gradients, and of what is before a norm only a sum
    is taken in."""
    texts = []
    were = _forget_statistics(module.graph) if training else {}
    while True:
        order = list(module.graph.nodes)
        place = {node: i for i, node in enumerate(order)}
        taken = {node for node in order if _norm_of(node) is not None}
        for node in order:
            if node not in taken:
                continue
            cluster = _Cluster(node, place, taken, training)
            if len(cluster.nodes) > 1 and cluster.is_safe(order):
                texts.append(cluster.replace(module.graph))
                break
        else:
            break
    _remember_statistics(module.graph, were)
    if texts or were:
        module.graph.lint()
        module.recompile()
    return texts


def compile_backend(module: fx.GraphModule, inputs: list[Any],
                    **options: Any) -> Callable[..., Any]:
    """The backend `normc` of torch.compile: `fuse`, then Inductor."""
    from torch._inductor.compile_fx import compile_fx
    fuse(module, training=torch.is_grad_enabled() and any(
        isinstance(t, Tensor) and t.requires_grad
        for t in (*inputs, *module.parameters())))
    return compile_fx(module, inputs, **options)
