# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cells of the table of conformance: ops, element types and layouts, and the
program of each combination. Many of them make one function, a kernel each."""

from dataclasses import dataclass, field

FLOATS = ["f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64"]
# Integer inputs are dequantized to the type after the colon.
TYPES = [(t, t) for t in FLOATS] + [
    ("f8E4M3FN", "bf16"), ("f8E5M2", "f16"), ("f16", "f8E4M3FN"),
    ("f32", "f8E5M2"), ("bf16", "f64"), ("i8:f16", "f16"), ("i32:f32", "bf16")]


def type_name(types):
    x, y = types
    return f"{x.split(':')[0]} → {y}" if x != y else x


@dataclass(frozen=True)
class Layout:
    """`axes`: normalized ones, or that of the channels. `stored`: axis of `x` at
    each axis of its memory. Strides and offset are those of `x` and of `y`."""
    name: str
    shape: tuple
    axes: tuple
    stored: tuple = ()
    strides: tuple = ()
    out_strides: tuple = ()
    offset: int = 0
    pitch: tuple = ()
    is_dynamic: bool = False
    fixed: tuple = ()  # extents that stay static where others are dynamic
    groups: int = 4


AXES_LAYOUTS = [
    Layout("last axis", (3, 4, 64), (2,)),
    Layout("odd width", (5, 37), (1,)),
    Layout("row pitch", (5, 37), (1,), pitch=(41, 43)),
    Layout("slice of QKV", (2, 3, 4, 16), (3,), strides=(576, 192, 16, 1),
           out_strides=(192, 16, 48, 1), offset=64),
    Layout("transposed", (5, 37), (1,), stored=(1, 0)),
    Layout("axis 0", (37, 6), (0,)),
    Layout("middle axis", (3, 37, 6), (1,)),
    Layout("two leading", (5, 7, 9), (0, 1)),
    Layout("two trailing", (3, 5, 7), (1, 2)),
    Layout("0 and 2 of 3", (5, 3, 7), (0, 2)),
    Layout("0 and 2 of 4", (5, 3, 7, 4), (0, 2)),
    Layout("size 1", (1, 5, 1, 37), (3,), strides=(3, 37, 5, 1),
           out_strides=(0, 40, 7, 1)),
    Layout("dynamic", (3, 5, 37), (2,), is_dynamic=True),
    Layout("dynamic, axis 0", (37, 6), (0,), is_dynamic=True),
]
CHANNEL_LAYOUTS = [
    Layout("NCHW", (2, 12, 3, 5), (1,)),
    Layout("NHWC", (2, 3, 5, 12), (3,)),
    Layout("NHWC, odd", (3, 5, 7, 9), (3,), groups=3),
    Layout("NCHW, strided", (2, 12, 3, 5), (1,), strides=(300, 23, 6, 1),
           out_strides=(15, 30, 5, 1), offset=3),
    Layout("NHWC, strided", (2, 3, 5, 12), (3,), strides=(250, 80, 14, 1),
           out_strides=(60, 120, 12, 1), offset=1),
    Layout("NCHW of NHWC", (2, 12, 3, 5), (1,), stored=(0, 2, 3, 1)),
    Layout("NC", (5, 12), (1,)),
    Layout("NHCW", (2, 3, 12, 5), (2,)),
    Layout("CNHW", (12, 2, 3, 5), (0,)),
    Layout("size 1", (1, 12, 1, 5), (1,), strides=(7, 5, 2, 1),
           out_strides=(0, 6, 1, 1)),
    Layout("NCHW, dynamic", (2, 12, 3, 5), (1,), is_dynamic=True),
    Layout("NCHW, C static", (2, 12, 3, 5), (1,), is_dynamic=True,
           fixed=(12,)),
    Layout("NHWC, C static", (2, 3, 5, 12), (3,), is_dynamic=True,
           fixed=(12,)),
]


@dataclass(frozen=True)
class Op:
    """`clauses` are written behind `x`, `attributes` behind the axes; operands
    and results are made by `Cell`."""
    name: str
    op: str
    operands: tuple = ()
    stats: tuple = ()
    attributes: str = ""
    offset: str = ""
    is_training: bool = False

    @property
    def is_over_channels(self):
        return self.op in ("group_norm", "instance_norm", "batch_norm")

    def layouts(self):
        return CHANNEL_LAYOUTS if self.is_over_channels else AXES_LAYOUTS


# Programs that are refused: label, what the diagnostic says, and why.
REASONS = {
    "CAUSAL-C2": (
        "expects one normalized axis after an axis of queries for 'causal'",
        "`causal` relates one axis of keys to the axis of queries before it."),
    "LEN-C1": ("expects one normalized axis for 'lengths'",
               "A length counts elements along one axis."),
    "LEN-C2": ("expects 'lengths' of 1 to 0 axes",
               "A length belongs to a position of the axes before the normalized"
               " one, and axis 0 has none."),
    "CH-C1": ("expects 'x' of at least 3 axes",
              "Without an axis of space each row is one element."),
    "CH-C2": ("expects 'channel_axis' from 1 to 3 but got 0",
              "Axis 0 is that of the samples."),
    "SM-89": ("needs sm_89 or newer but target is sm_80",
              "These GPUs have no conversions of 8-bit floats."),
}
EPS = " eps = 1.0e-5"
OPS = [
    Op("layer_norm", "layer_norm", ("scale", "bias"), (), EPS),
    Op("layer_norm, zero-centred scale, statistics", "layer_norm",
       ("scale", "bias"), ("mean", "rstd"), EPS, ", offset = 1.0"),
    Op("rms_norm", "rms_norm", ("scale",), (), EPS),
    Op("rms_norm, zero-centred scale, statistics", "rms_norm", ("scale",),
       ("rstd",), EPS, ", offset = 1.0"),
    Op("rms_norm, a scale for each head", "rms_norm", ("head scale",), (), EPS),
    Op("l2_normalize", "l2_normalize", (), (), " eps = 1.0e-12"),
    Op("softmax", "softmax"),
    Op("softmax, scale and mask, statistics", "softmax",
       ("factor", "mask"), ("logsumexp",)),
    Op("softmax, causal", "softmax", (), (), " causal = lower_right"),
    Op("softmax, lengths, statistics", "softmax", ("lengths",),
       ("logsumexp",), " scale = 0.125"),
    Op("log_softmax", "log_softmax"),
    Op("logsumexp", "logsumexp"),
    Op("group_norm", "group_norm", ("scale", "bias"), (), EPS),
    Op("group_norm, zero-centred scale, statistics", "group_norm",
       ("scale", "bias"), ("mean", "rstd"), EPS, ", offset = 1.0"),
    Op("instance_norm, statistics", "instance_norm", ("scale", "bias"),
       ("mean", "rstd"), EPS),
    Op("batch_norm, inference", "batch_norm", ("scale", "bias", "running"), (),
       EPS),
    Op("batch_norm, training, statistics", "batch_norm",
       ("scale", "bias", "running"), ("mean", "rstd"),
       EPS + " training momentum = 0.1", is_training=True),
]


def extents_of(shape):
    return "x".join(map(str, shape))


def strided(strides):
    return (" {norm.layout = strided<["
            + ", ".join(["?"] * (len(strides) - 1) + ["1"]) + "]>}")


@dataclass
class Cell:
    """One op with one combination of element types in one layout. After `build`:
    `arguments` as (name, type, attribute, data), `results` as (value, type,
    attribute, place), `body` as lines."""
    op: Op
    types: tuple
    layout: Layout
    target: str = ""  # if it isn't sm_90
    prefix: str = "a"
    arguments: list = field(default_factory=list)
    results: list = field(default_factory=list)
    body: list = field(default_factory=list)

    @property
    def key(self):
        if self.target:
            return f"{ON_TARGETS} | {type_name(self.types)} | {self.target}"
        return f"{self.op.name} | {type_name(self.types)} | {self.layout.name}"

    @property
    def reason(self):
        """The label in REASONS if the program is to be refused."""
        axes, name = self.layout.axes, self.op.op
        if self.target == "sm_80" and any(t.startswith("f8") for t in self.types):
            return "SM-89"
        if "causal" in self.op.attributes and (len(axes) > 1 or axes[0] == 0):
            return "CAUSAL-C2"
        if "lengths" in self.op.operands:
            if len(axes) > 1:
                return "LEN-C1"
            return "LEN-C2" if axes[0] == 0 else ""
        if name == "instance_norm" and len(self.layout.shape) < 3:
            return "CH-C1"
        if name in ("instance_norm", "group_norm") and axes[0] == 0:
            return "CH-C2"
        return ""

    def tensor(self, shape, dtype):
        """Extents of 1 stay static: dynamic ones aren't repeated."""
        fixed = self.layout.fixed + (1,)
        extents = ["?" if self.layout.is_dynamic and n not in fixed else str(n)
                   for n in shape]
        return f"tensor<{'x'.join(extents + [dtype])}>"

    def argument(self, what, shape, dtype, data="random", more="",
                 attribute=""):
        name = f"%{self.prefix}_{what}"
        kind = self.tensor(shape, dtype)
        self.arguments.append((name, kind, attribute,
                               f"{data}:{extents_of(shape)}{more}"))
        return name, kind

    def result(self, what, kind, attribute="", place=""):
        name = f"%{self.prefix}_{what}"
        self.results.append((name, kind, attribute, place))
        return name, kind

    def build(self, prefix):
        self.prefix = prefix
        self.arguments, self.results, self.body = [], [], []
        x, y = self.types
        source, _, wanted = x.partition(":")
        x = wanted or source
        self.compute = "f64" if "f64" in self.types else "f32"
        self.param = x if x == y else "f32"
        value, kind = self.input(source, x)
        clauses, kinds = self.operands()
        outs = self.outputs(y)
        names = ", ".join(name for name, _ in outs)
        clauses += f" stats({', '.join(self.op.stats)})" if self.op.stats else ""
        self.body.append(
            f"{names} = norm.{self.op.op} {value}{clauses}{self.where()}"
            f"{self.op.attributes} : {', '.join([kind] + kinds)} -> "
            f"{', '.join(kind for _, kind in outs)}")
        return self

    def input(self, source, x):
        """`x` as the op gets it, and its type."""
        layout = self.layout
        shape = tuple(layout.shape[i] for i in layout.stored) or layout.shape
        more, attribute = ":seed=3", ""
        if source.startswith("i"):
            more += ":std=40"
        if layout.strides:
            attribute = strided(layout.strides)
            more += (f":strides={extents_of(layout.strides)}"
                     f":offset={layout.offset}")
        if layout.pitch:
            more += f":pitch={layout.pitch[0]}"
        value, kind = self.argument("x", shape, source, "random", more,
                                    attribute)

        def step(what, text, to):
            nonlocal value, kind
            name = f"%{self.prefix}_{what}"
            self.body.append(f"{name} = {text}")
            value, kind = name, to

        if source != x:
            to = self.tensor(shape, x)
            step("q", f"arith.sitofp {value} : {kind} to {to}", to)
            if not layout.is_dynamic:
                step("s", f"arith.constant dense<0.0625> : {to}", to)
                step("d", f"arith.mulf %{self.prefix}_q, {value} : {to}", to)
        if layout.stored:
            to = self.tensor(layout.shape, x)
            self.body.append(f"%{self.prefix}_e = tensor.empty() : {to}")
            order = [layout.stored.index(i) for i in range(len(shape))]
            step("t", f"linalg.transpose ins({value} : {kind}) "
                      f"outs(%{self.prefix}_e : {to}) permutation = {order}", to)
        return value, kind

    def operands(self):
        """Clauses and types of what stands beside `x`."""
        layout, text, kinds = self.layout, "", []
        axes, shape = layout.axes, layout.shape

        def add(form, *operands):
            nonlocal text
            text += form.format(*(name for name, _ in operands))
            kinds.extend(kind for _, kind in operands)

        # Of channels or of the normalized axes.
        along = tuple(shape[i] for i in axes)
        # The axis before the last one that is kept is that of the heads.
        kept = [i for i in range(len(shape)) if i not in axes]
        head = max(kept, key=lambda i: (shape[i] > 1, i), default=0)
        for operand in self.op.operands:
            if operand == "scale":
                add(" scale({}" + self.op.offset + ")",
                    self.argument("g", along, self.param, "random",
                                  ":seed=4:mean=1"))
            elif operand == "head scale":
                of_head = [n if i in axes or i == head else 1
                           for i, n in enumerate(shape)]
                add(" scale({})", self.argument("g", of_head, self.param,
                                                "random", ":seed=4:mean=1"))
            elif operand == "bias":
                add(" bias({})", self.argument("b", along, self.param))
            elif operand == "running":
                add(" running({}, {})",
                    self.argument("m", along, self.param, "random", ":seed=6"),
                    self.argument("v", along, self.param, "random",
                                  ":seed=7:dist=uniform:low=0.5:high=2"))
            elif operand == "factor":
                name = f"%{self.prefix}_f"
                self.arguments.append((name, self.param, "", "0.75"))
                add(" scale({})", (name, self.param))
            elif operand == "mask":
                one = [1 if i == kept[0] else n for i, n in enumerate(shape)]
                add(" mask({})", self.argument("k", one, self.param))
            elif operand == "lengths":
                leading = shape[:max(axes[0], 1)]
                add(" lengths({})", self.argument("n", leading, "i32", "iota"))
        return text, kinds

    def outputs(self, y):
        layout, op = self.layout, self.op
        shape, axes = layout.shape, layout.axes
        rows = tuple(n for i, n in enumerate(shape) if i not in axes)
        if op.op == "logsumexp":
            return [self.result("y", self.tensor(rows, y))]
        attribute = place = ""
        if layout.out_strides:
            attribute = strided(layout.out_strides)
            place = (f":strides={extents_of(layout.out_strides)}"
                     f":offset={layout.offset}")
        if layout.pitch:
            place = f":pitch={layout.pitch[1]}"
        outs = [self.result("y", self.tensor(shape, y), attribute, place)]
        channels = shape[axes[0]]
        stat = self.tensor(rows, self.compute)
        if op.op == "batch_norm":
            stat = self.tensor((channels,), self.compute)
        elif op.op == "instance_norm":
            stat = self.tensor((shape[0], channels), self.compute)
        elif op.op == "group_norm":
            samples = "?" if layout.is_dynamic else shape[0]
            stat = f"tensor<{samples}x{layout.groups}x{self.compute}>"
        if op.is_training:
            kind = self.tensor((channels,), self.param)
            outs += [self.result("m1", kind), self.result("v1", kind)]
        outs += [self.result(name, stat) for name in op.stats]
        return outs

    def where(self):
        if not self.op.is_over_channels:
            return f" axes = {list(self.layout.axes)}"
        of_groups = (f" groups = {self.layout.groups}"
                     if self.op.op == "group_norm" else "")
        return f"{of_groups} channel_axis = {self.layout.axes[0]}"


def program(cells):
    """The text of one function with all cells, arguments for the tool, and of
    each result the number of its cell."""
    arguments, results, body, options, owner = [], [], [], [], []
    for i, cell in enumerate(cells):
        cell.build(f"c{i}")
        for name, kind, attribute, data in cell.arguments:
            options += ["--arg", f"{len(arguments)}={data}"]
            arguments.append(f"{name}: {kind}{attribute}")
        for name, kind, attribute, place in cell.results:
            if place:
                options += ["--place", f"out{len(results)}{place}"]
            results.append((name, kind, attribute))
            owner.append(i)
        body += cell.body
    names = ", ".join(name for name, _, _ in results)
    kinds = ", ".join(kind for _, kind, _ in results)
    heads = ", ".join(kind + attribute for _, kind, attribute in results)
    lines = "\n".join("  " + line for line in body)
    text = (f"func.func @f({', '.join(arguments)}) -> ({heads}) {{\n{lines}\n"
            f"  return {names} : {kinds}\n}}\n")
    return text, options, owner


# The types on other targets than sm_90, emulated, by the first layout of one op.
TARGETS = ["sm_80", "sm_89", "sm_100", "sm_120"]
OP_ON_TARGETS = OPS[2]
ON_TARGETS = f"{OP_ON_TARGETS.name} on other targets"


def target_cells():
    return [Cell(OP_ON_TARGETS, types, AXES_LAYOUTS[0], target)
            for target in TARGETS for types in TYPES]


def all_cells():
    for op in OPS:
        for types in TYPES:
            for layout in op.layouts():
                yield Cell(op, types, layout)
