# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of conformance as a document, and its comparison with a run."""

import re

from conformance_cells import (AXES_LAYOUTS, CHANNEL_LAYOUTS, ON_TARGETS, OPS,
                               REASONS, TARGETS, TYPES, Cell, target_cells,
                               type_name)

NOT_RUN = "–"
DEVICES = ["host", "emulated", "cuda"]
ENTRIES = re.compile(rf"(\d+\.\d = [={NOT_RUN}]|=)$")

HEAD = """\
<!--
Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-->
# Conformance

Every op with every combination of element types in every layout on every target.
`test/Numerics/conformance.py` runs the cells and writes this document; the test
`conformance.test` runs one in 13 of them, each op with each combination of types and
in each layout, and compares what happens with what stands here.

A cell has three entries: the host, the emulated device for sm_90, and a GPU of
sm_90.

| entry | meaning |
|---|---|
| a number | On the host every element of every result is within its bound of the float64 reference ([Numerics.md](Numerics.md#bounds)). The number is the largest error in units of the last place of the result's type, at the expected value: next to 0 that unit is tiny, and a harmless error is many of them. 0.0: all are the reference's, rounded to that type. In f64 the reference's own error counts as well. |
| = | On this target, too, every element is within its bound, and all have the bits of the host's. |
| a label | The compiler refuses the program, with the diagnostic given under [Refused](#refused). |
| – | Not run on this target: {not_run}. |

The first type is that of `x`, the second that of `y`. Integers are converted and
scaled in front of the op (i8 to f16, i32 to f32). Scale, bias, mask and running
statistics have the type of `x` where that is the type of `y`, else f32.
"""


def layouts_text(title, layouts, what):
    lines = [f"\n## Layouts of ops over {title}\n",
             f"| layout | shape of `x` | {what} | in memory |", "|---|---|---|---|"]
    for layout in layouts:
        extents = [str(n) if not layout.is_dynamic or n in layout.fixed + (1,)
                   else f"? ({n})" for n in layout.shape]
        memory = "contiguous"
        if layout.stored:
            memory = "`linalg.transpose` of " + " x ".join(
                str(layout.shape[i]) for i in layout.stored)
        elif layout.strides:
            memory = (f"strides {', '.join(map(str, layout.strides))}, from element"
                      f" {layout.offset}; of `y` "
                      f"{', '.join(map(str, layout.out_strides))}")
        elif layout.pitch:
            memory = f"{layout.pitch[0]} from row to row; of `y` {layout.pitch[1]}"
        lines.append(f"| {layout.name} | {' x '.join(extents)} | "
                     f"{', '.join(map(str, layout.axes))} | {memory} |")
    return "\n".join(lines) + "\n"


def entry(columns, target, key):
    if target not in columns:
        return NOT_RUN
    value = columns[target].get(key, NOT_RUN)
    if isinstance(value, str):
        return value
    return f"{value:.1f}" if target == "host" else "="


def cell_text(columns, cell):
    """The entries of the targets; one label where all of them refuse."""
    if cell.target:
        return entry(columns, "targets", cell.key)
    entries = [entry(columns, device, cell.key) for device in DEVICES]
    if cell.reason and all(e in (cell.reason, NOT_RUN) for e in entries):
        return cell.reason
    return " ".join(entries)


def render(columns):
    """`columns`: of each target the value of each key of a cell, an error in units
    of the last place or a label of REASONS."""
    not_run = ("none" if "cuda" in columns else
               "there was no GPU where this document was written")
    parts = [HEAD.format(not_run=not_run),
             layouts_text("axes", AXES_LAYOUTS, "normalized axes"),
             layouts_text("channels", CHANNEL_LAYOUTS, "channel axis"),
             "\n## Refused\n\n| label | diagnostic | reason |\n|---|---|---|\n"]
    for label, (diagnostic, reason) in REASONS.items():
        parts.append(f"| {label} | `{diagnostic}` | {reason} |\n")
    parts.append("\n## Cells\n")
    for op in OPS:
        names = [layout.name for layout in op.layouts()]
        parts.append(f"\n### {op.name}\n\n| types | {' | '.join(names)} |\n"
                     f"|---|{'---|' * len(names)}\n")
        for types in TYPES:
            row = [cell_text(columns, Cell(op, types, layout))
                   for layout in op.layouts()]
            parts.append(f"| {type_name(types)} | {' | '.join(row)} |\n")
    parts.append(f"\n### {ON_TARGETS}\n\nEmulated; the layout is the first one.\n"
                 f"\n| types | {' | '.join(TARGETS)} |\n"
                 f"|---|{'---|' * len(TARGETS)}\n")
    on_targets = target_cells()
    for types in TYPES:
        row = [cell_text(columns, c) for c in on_targets if c.types == types]
        parts.append(f"| {type_name(types)} | {' | '.join(row)} |\n")
    return "".join(parts)


def parse(text):
    """The text of each cell by its key."""
    cells, op, names = {}, "", []
    for line in text.split("## Cells\n")[-1].split("\n"):
        if line.startswith("### "):
            op, names = line[4:], []
        elif line.startswith("| "):
            row = [part.strip() for part in line.strip("|").split("|")]
            if not names:
                names = row[1:]
                continue
            for name, value in zip(names, row[1:]):
                cells[f"{op} | {row[0]} | {name}"] = value
    return cells


def compare(there, columns, cells):
    """Prints each of `cells` whose outcome isn't what the document says, for the
    targets in `columns`, and whatever else of the document isn't as written now or
    has no result; returns how many. Sizes of errors don't count."""
    def statuses(cell, text):
        """By device; one entry is for all of them."""
        entries = text.split(" ")
        devices = ["targets"] if cell.target else DEVICES
        if len(entries) == 1:
            entries = entries * len(devices)
        entries = [re.sub(r"^\d+\.\d$", "right", e) for e in entries]
        return dict(zip(devices, entries))

    differences = []
    written = parse(there)
    for cell in cells:
        got = statuses(cell, cell_text(columns, cell))
        wanted = statuses(cell, written.get(cell.key, ""))
        for device, what in got.items():
            if device in columns and what != wanted.get(device):
                differences.append(f"{device}: {cell.key}: expects "
                                   f"'{wanted.get(device)}' but got '{what}'")
    differences += [f"{key}: expects a result or a reason but got '{text}'"
                    for key, text in written.items()
                    if text not in REASONS and not ENTRIES.match(text)]
    if written.keys() != parse(render(columns)).keys():
        differences.append("other ops, types, layouts or targets")
    # All but the rows of tables, of which the first column counts.
    shape = re.compile(r"^(\| [^|]* )\|.*$", re.M)
    if shape.sub(r"\1", there) != shape.sub(r"\1", render(columns)):
        differences.append("other text")
    for difference in differences:
        print(f"DIFFERS {difference}")
    return len(differences)
