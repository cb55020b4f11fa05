# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples of README.md and the pages in docs.

examples.py ROOT NORM_RUN DIRECTORY runs, in DIRECTORY, each example that is a
program on the host and on the emulated device, both with --check, and each that
is a kernel as the command line below it says. An example is a block of MLIR,
fenced or indented, or a file that a page names. One that shows operations
without a function is put into one.

What cannot be run is an excerpt, and printed as such with the reason: it leaves
something out (`...`), or has no tensor and so is the body of a program or below
its level. A program in docs/plans may be ahead of the compiler, which then has to
say so. Anything else that doesn't run fails.
"""

import pathlib
import re
import shlex
import subprocess
import sys

ROWS = 3  # a dynamic extent of the leading dim
COLUMNS = 40  # any other one
TYPE = r"(?:tensor|memref)<[^<>]*(?:<[^<>]*>[^<>]*)*>"


class NoFunction(Exception):
    """Operations that cannot be put into a function, for this reason."""


def blocks(text):
    """The code blocks of a page: (line number, language, text)."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        begin = at
        fence = re.match(r" {0,3}```(\w*)", lines[at])
        if fence:
            at += 1
            while not lines[at].lstrip().startswith("```"):
                at += 1
            yield begin + 2, fence.group(1), "\n".join(lines[begin + 1:at])
        elif lines[at].startswith("    ") and (at == 0
                                               or not lines[at - 1].strip()):
            while at < len(lines) and (lines[at].startswith("    ")
                                       or not lines[at].strip()):
                at += 1
            code = [line[4:] for line in lines[begin:at]]
            yield begin + 1, "", "\n".join(code).rstrip()
        at += 1


def is_mlir(language, code):
    # Other languages and sessions of a shell have no operations.
    return language == "mlir" or (language == "" and re.search(
        r"^\s*(%[\w, %:]+ = [a-z_]+\.\w+|(func|gpu)\.func @|norm\.\w+ )", code,
        re.MULTILINE) is not None)


def statements(code):
    """Top-level operations of a block, each on one line."""
    depth, parts = 0, []
    for line in code.split("\n"):
        line = line.split("//")[0].rstrip()
        if not line.strip():
            continue
        starts = depth == 0 and not line.startswith(" ")
        if starts or not parts:
            parts.append(line)
        else:
            parts[-1] += "\n" + line
        depth += sum(line.count(c) for c in "{(") - sum(
            line.count(c) for c in "})")
    return parts


def types_of(statement):
    """The operands and results of an operation: two lists of (name, type)."""
    head = re.match(r"((?:%[\w]+(?::\d+)?(?:, )?)+) = (.*)", statement,
                    re.DOTALL)
    names, rest = (head.group(1), head.group(2)) if head else ("", statement)
    results = []
    for name in filter(None, names.split(", ")):
        base, _, count = name.partition(":")
        results += [base] if not count else [
            f"{base}#{i}" for i in range(int(count))]
    if rest.startswith("norm.generic"):
        clauses = rest.split("{")[0]
        uses = re.findall(rf"%\w+ = (%\w+)(?:\[[^\]]*\])? : ({TYPE}|\w+)",
                          clauses)
        outs = re.findall(rf" : ({TYPE})", clauses.split("outs(")[1])
        return uses, list(zip(results, outs))
    body, _, signature = rest.rpartition(" : ")
    operands = re.findall(r"%\w+", body)
    any_type = rf"{TYPE}|\b(?:(?:f|bf|i)\d+|index)\b"
    listed = re.findall(any_type, signature)
    if rest.startswith("tensor.dim"):
        return (list(zip(operands, listed + ["index"])),
                [(name, "index") for name in results])
    if rest.startswith("tensor.empty"):
        return ([(name, "index") for name in operands],
                list(zip(results, listed)))
    if "->" in signature:
        count = len(re.findall(any_type, signature.split("->")[0]))
        if count != len(operands):
            raise NoFunction(f"finds no types of operands: {statement}")
        return list(zip(operands, listed)), list(zip(results, listed[count:]))
    if len(listed) != 1:
        raise NoFunction(f"finds no types of operands: {statement}")
    return ([(name, listed[0]) for name in operands],
            [(name, listed[0]) for name in results])


def wrap(code):
    """A function around operations."""
    known, free, used = {}, [], set()
    for statement in statements(code):
        uses, results = types_of(statement)
        for name, kind in uses:
            used.add(name)
            if name not in known:
                known[name] = kind
                free.append(name)
        known.update(results)
    outputs = [(name, kind) for name, kind in known.items()
               if name not in used and name not in free]
    if not outputs:
        raise NoFunction("finds no result")
    arguments = ", ".join(f"{name}: {known[name]}" for name in free)
    kinds = ", ".join(kind for _, kind in outputs)
    names = ", ".join(name for name, _ in outputs)
    return (f"func.func @main({arguments}) -> ({kinds}) {{\n{code}\n"
            f"return {names} : {kinds}\n}}")


def data_options(code):
    """--arg for each argument of the only function, or of main."""
    heads = re.findall(r"func\.func @(\w+)\((.*?)\)\s*(?:->|\{|attributes)",
                       code, re.DOTALL)
    arguments = next((text for name, text in heads if name == "main"),
                     heads[0][1])
    options = []
    for index, (name, shape, scalar) in enumerate(
            re.findall(r"(%\w+): (?:tensor<([^<>]*)>|(\w+))", arguments)):
        if scalar:
            number = "0.5" if "f" in scalar else "7"
            options += ["--arg", f"{index}={number}"]
            continue
        extents = shape.split("x")[:-1]
        # A mask has the last dims of the scores, not the leading one.
        is_mask = f"mask({name})" in code
        sizes = [
            extent if extent != "?" else str(
                COLUMNS if place or is_mask else ROWS)
            for place, extent in enumerate(extents)
        ]
        options += ["--arg", f"{index}=random:{'x'.join(sizes) or 'scalar'}"]
    return options


class Runner:

    def __init__(self, tool, directory):
        self.tool = tool
        self.directory = directory
        self.failures = 0
        self.runs = 0

    def fail(self, place, text):
        self.failures += 1
        print(f"FAILED {place}: {text}")

    def run(self, place, path, options):
        command = [self.tool, str(path)] + options
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 0:
            self.runs += 1
        elif place.startswith("docs/plans/") and result.returncode == 1:
            print(f"ahead of the compiler: {result.stderr.strip()}")
        else:
            self.fail(place, f"{shlex.join(command)}\n{result.stdout}"
                      f"{result.stderr}")

    def run_program(self, place, path, code):
        options = data_options(code) + ["--check"]
        self.run(place, path, options + ["--device=host"])
        self.run(place, path,
                 options + ["--device=emulated", "--target=sm_90"])

    def run_part(self, place, code, commands):
        """One example; `commands` are the blocks that follow it."""
        is_kernel = "gpu.func" in code
        if "..." in code:
            return print(f"excerpt {place}: leaves something out")
        if "tensor<" not in code and not is_kernel:
            return print(f"excerpt {place}: no program on tensors")
        try:
            if "func.func @" not in code and not is_kernel:
                code = wrap(code)
        except NoFunction as error:
            return self.fail(place, error)
        path = self.directory / (re.sub(r"\W+", "-", place) + ".mlir")
        path.write_text(code + "\n")
        print(f"example {place}")
        if not is_kernel:
            return self.run_program(place, path, code)
        for command in commands:
            # The options of `norm-run kernel.mlir --device=emulated ...`.
            found = re.search(r"norm-run \S+\.mlir ([^#\n]*--grid[^#\n]*)",
                              command.replace("\\\n", " "))
            if found:
                return self.run(place, path, shlex.split(found.group(1)))
        self.fail(place, "expects a norm-run command with --grid below it")


def main():
    root, tool, directory = sys.argv[1:]
    root = pathlib.Path(root)
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    runner = Runner(tool, directory)
    files = set()
    pages = [root / "README.md"] + sorted(root.glob("docs/**/*.md"))
    for page in pages:
        name = str(page.relative_to(root))
        text = page.read_text()
        # Those of the fusions have a test of their own, with their data.
        files |= {file for file in re.findall(r"test/[\w/.-]+\.mlir", text)
                  if not file.startswith("test/Fusions/")}
        found = list(blocks(text))
        for index, (line, language, code) in enumerate(found):
            if not is_mlir(language, code):
                continue
            commands = [code for _, _, code in found[index + 1:]]
            parts = re.split(r"^// becomes.*\n", code, flags=re.MULTILINE)
            for number, part in enumerate(parts):
                place = f"{name}:{line}"
                if number:
                    place += f" part {number + 1}"
                runner.run_part(place, part, commands)
    for file in sorted(files):
        print(f"example {file}")
        runner.run_program(file, root / file, (root / file).read_text())
    print(f"{runner.runs} runs, {runner.failures} failed")
    sys.exit(runner.failures != 0)


if __name__ == "__main__":
    main()
