# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/Fusions.md: written, and compared with."""

HEAD = """<!--
Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-->
# Fusions

{count} combinations of norms, softmaxes and activations with what stands before and
after them. {shipped} of them are one kernel in at least one library; the others take
several kernels there, or are in none of those that were looked at. Here each is a
function of a few lines in `test/Fusions`, which becomes one kernel.
`test/Numerics/fusions.py` runs them and writes this document; the test `fusions.test`
runs one in 6 of them and compares what happens with what stands here. The names of
libraries are those of functions, classes or enumerators in their source.

| column | meaning |
|---|---|
| launches | kernels of the whole function |
| bytes | The least traffic of the run: each element of each argument read once, each of each result written once. The emulated device counts the same distinct bytes. It also finds that the operands of all dims, the ones that grow with the work, are loaded once, and results stored once; operands by column, row or batch item may be loaded again by each row, from a cache. |
| per element | The part of those bytes that grows with the rows (of static shapes: all), by elements of the largest argument |
| host | Every element of every result is within its bound of the float64 reference ([Numerics.md](Numerics.md#bounds)). The number is the largest error in units of the last place of the result's type, at the expected value. |
| emulated | = : sm_90 emulated; within its bounds, with the bits of the host, launches and bytes as said above |
| H200 | = : within its bounds, with the bits of the host, one launch.{not_run} |

Loads once means: fewer bytes in all than twice the distinct ones. Threads that lie
beyond the end of a row, and rows beyond the last one of a CTA, load what another
thread loads at the same time, and throw it away.

Norms over axes that don't lie innermost (channels of NCHW, space of NHWC) have static
shapes here: with a dynamic batch their rows aren't kept on the chip, and are read
again, if possible from the L2 cache.
"""


def entry(columns, device, name):
    found = columns.get(device, {}).get(name, "–")
    if isinstance(found, str):
        return found if found in ("=", "–") else "WRONG"
    return f"{found['ulps']:.1f}" if device == "host" else "="


def cells(program, columns):
    """The texts of the columns."""
    traffic = columns.get("emulated", {}).get(program.name, "")
    if isinstance(traffic, str):
        traffic = {"bytes": "WRONG", "each": "WRONG"}
    several = program.libraries("Several kernels")
    libraries = program.libraries("One kernel")
    if several:
        libraries = libraries + [f"*in several kernels:* {several[0]}"] + several[1:]
    link = f"[{program.name}](../test/Fusions/{program.name}.mlir)"
    return [f"{link}: {program.doc}", "; ".join(libraries) or "–", "1",
            str(traffic["bytes"]), str(traffic["each"])] + [
                entry(columns, device, program.name)
                for device in ("host", "emulated", "cuda")]


def row(program, columns):
    return f"| {' | '.join(cells(program, columns))} |"


def head(programs, columns):
    return HEAD.format(
        count=len(programs),
        shipped=sum(bool(p.fields["One kernel"]) for p in programs),
        not_run="" if "cuda" in columns else
        " –: not run; there was no GPU where this document was written")


def render(programs, columns):
    groups = {}
    for program in programs:
        groups.setdefault(program.fields["Group"], []).append(program)
    parts = [head(programs, columns)]
    for group in sorted(groups, key=order_of):
        parts.append(f"\n## {group}\n\n| combination | shipped by hand as | launches "
                     "| bytes | per element | host | emulated | H200 |\n"
                     f"|{'---|' * 8}\n")
        parts += [row(program, columns) + "\n" for program in groups[group]]
    return "".join(parts)


ORDER = ["Residual and norm", "Norm and activation", "Gating",
         "Adaptive norms of diffusion models", "Queries and keys", "Softmax",
         "Quantized results", "Quantized inputs", "In place", "Channels"]


def order_of(group):
    return ORDER.index(group)


def differences(text, programs, chosen, columns):
    """Lines that tell where the document isn't what was found. The size of errors
    isn't compared, nor what a GPU did if `columns` don't tell."""
    lines = {}
    for line in text.split("\n"):
        if line.startswith("| ["):
            parts = [part.strip() for part in line.strip("|").split(" | ")]
            lines[parts[0][1:parts[0].index("]")]] = parts
    different = [f"{name}: expects no program but got one in the document"
                 for name in lines.keys() - {p.name for p in programs}]
    if text.split(";")[0] != head(programs, columns).split(";")[0]:
        different.append("head: expects other numbers of combinations")
    different += [f"{p.name}: expects a row but got none"
                  for p in programs if p.name not in lines]
    for program in chosen:
        if program.name not in lines:
            continue
        expected, got = cells(program, columns), list(lines[program.name])
        expected[5] = "" if expected[5] != "WRONG" else expected[5]
        got[5] = "" if got[5].replace(".", "").isdigit() else got[5]
        if "cuda" not in columns:
            expected[7] = got[7]
        if expected != got:
            different += [f"{program.name}: expects '{e}' but got '{g}'"
                          for e, g in zip(expected, got) if e != g]
    return different
