# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the labels of docs/Dialects/NormSpec.md with those at the checks and
at the tests that break them. Prints what is missing; exits 1 if anything is.

  spec_labels.py ROOT
"""

import re
import sys
from pathlib import Path

LABEL = re.compile(r"\[([A-Z0-9]+-C[0-9]+)\]")


def labels(paths):
    found = {}
    for path in paths:
        for label in LABEL.findall(path.read_text()):
            found.setdefault(label, path)
    return found


def main():
    root = Path(sys.argv[1])
    spec = root / "docs/Dialects/NormSpec.md"
    rows = [LABEL.match(line[2:])
            for line in spec.read_text().splitlines() if line.startswith("| [")]
    defined = [row.group(1) for row in rows if row]
    checks = labels([*(root / "lib/Dialect/Norm/IR").glob("*.cpp"),
                     *(root / "include/norm/Dialect/Norm/IR").glob("*.td")])
    tests = labels((root / "test/Dialect/Norm").glob("invalid-*.mlir"))
    problems = [f"the spec defines {label} twice" for label in set(defined)
                if defined.count(label) > 1]
    for what, found in ("check", checks), ("test", tests):
        problems += [f"no {what} has the label {label}"
                     for label in defined if label not in found]
        problems += [f"{found[label]} has the label {label}, which the spec "
                     "doesn't define" for label in found
                     if label not in defined]
    # Labels of a kind are numbered from 1 without a gap.
    for kind in {label.split("-C")[0] for label in defined}:
        numbers = [int(label.split("-C")[1]) for label in defined
                   if label.startswith(kind + "-C")]
        if numbers != list(range(1, len(numbers) + 1)):
            problems.append(f"the labels {kind} are numbered {numbers}")
    if len(defined) < 30:
        problems.append(f"the spec defines {len(defined)} labels only")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
