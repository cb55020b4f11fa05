# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs of test/Fusions, combinations that libraries have kernels for:
each against the float64 reference on the host and on the emulated device, there with
the host's bits, one launch, and least bytes as the device counts them.

  fusions.py NORM_RUN --write=docs/Fusions.md [--cuda=FILE]
  fusions.py NORM_RUN --compare=docs/Fusions.md [--cuda=FILE] [--share=6]
  fusions.py NORM_RUN --device=cuda:0 --json=FILE

Without --device the host and the emulated device are run. A run on a GPU leaves what
happened in the file of --json, from which --cuda takes it. --share=N runs one in N
programs; --only=NAME one. --compare looks at all but the size of errors. Prints a
line for each failure and a count; exits 1 if there is any.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from fusions_table import differences, render

FOLDER = Path(__file__).resolve().parent.parent / "Fusions"
BITS = {"f64": 64, "f32": 32, "i32": 32, "i64": 64, "f16": 16, "bf16": 16,
        "f4E2M1FN": 4}  # and 8
TYPE = r"(?:tensor<[^>]*>|\w+)"
FIELDS = ("Group", "One kernel", "Several kernels", "Data")


class Program:
    """A program, and what its header says of it."""

    def __init__(self, path):
        self.path = path
        text = path.read_text()
        header, body = text.split("func.func @", 1)
        self.name, rest = re.match(r"(\w+)(\(.*)", body, re.S).groups()
        arguments, results = re.match(r"(.*?\))\s+->\s+(.*?) \{\n", rest,
                                      re.S).groups()
        types = re.findall(rf"%\w+: ({TYPE})", arguments)
        self.num_arguments = len(types)
        self.types = types + re.findall(TYPE, re.sub(r"\{.*?\}", "", results))
        self.dynamic = ["?" in kind for kind in self.types]
        comment = "\n".join(line[2:].removeprefix(" ") for line in
                            header.split("===//\n", 2)[2].split("\n")
                            if line.startswith("// ") or line == "//")
        self.doc, *rest = comment.strip().split("\n\n")
        self.fields = {field: "" for field in FIELDS}
        for field, value in re.findall(r"^([A-Z][\w ]+): ((?:.+\n?(?:  )?)+?)"
                                       r"(?=^[A-Z]|\Z)", "\n".join(rest), re.M):
            self.fields[field] = " ".join(value.split())
        self.doc = " ".join(self.doc.split())

    def libraries(self, field):
        return [name for name in self.fields[field].split("; ") if name]

    def bits(self, argument):
        element = re.split("[x<>]", self.types[argument].rstrip(">"))[-1]
        return BITS.get(element, 8)


def parse_traffic(output):
    """Of each buffer and direction: (argument, distinct, least, direction, all)."""
    for line in re.findall(r"^traffic .*", output, re.M):
        at = re.match(r"traffic .*, argument (\d+) ", line)
        for part in re.findall(
                r"(\d+) of (\d+) bytes (read|written), (\d+) in all", line):
            yield (int(at[1]) if at else -1, int(part[0]), int(part[1]), part[2],
                   int(part[3]))


def check_traffic(program, output, report):
    """What is wrong with launches and bytes, or the least bytes: all of them, and
    those of the arguments that grow with the rows, per element of the largest."""
    if len(report["kernels"]) != 1:
        return f"expects one launch but got {len(report['kernels'])}"
    traffic = list(parse_traffic(output))
    sizes = {argument: least * 8 // program.bits(argument)
             for argument, _, least, _, _ in traffic}
    largest = max(sizes.values())
    for argument, distinct, least, direction, total in traffic:
        text = f"argument {argument}: {distinct} of {least} bytes {direction}"
        if distinct != least:
            return f"expects each byte once but got {text}"
        # Threads beyond the end of a row, and rows beyond the last one, read
        # again what another one reads at the same time: less than all of it.
        most = (least if direction == "written" else
                2 * least - 1 if sizes[argument] == largest else total)
        if total > most:
            return f"expects at most {most} bytes but got {text}, {total} in all"
    least = sum(part[2] for part in traffic)
    if least != report["kernels"][0]["bytes"]:
        return f"expects {report['kernels'][0]['bytes']} bytes but got {least}"
    streamed = sum(part[2] for part in traffic
                   if program.dynamic[part[0]] or not any(program.dynamic))
    return {"bytes": least, "each": round(streamed / largest, 3)}


class Runner:
    def __init__(self, tool, device, folder):
        self.tool, self.device, self.folder = tool, device, Path(folder)

    def run(self, program):
        """What was found, or text that says what went wrong."""
        report = self.folder / f"{program.name}.json"
        command = [self.tool, str(program.path), "--check",
                   f"--device={self.device}", "--json", str(report)]
        kinds = ["reference"]
        if self.device != "host":
            kinds.append("bits")
            command.append("--bits=host")
        if self.device == "emulated":
            command.append("--target=sm_90")
        command += program.fields["Data"].split()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return (f"exit status {done.returncode}\n{' '.join(command)}\n"
                    f"{done.stdout}{done.stderr}")
        checked = json.loads(report.read_text())
        passed = {(check["kind"], check["result"])
                  for check in checked["checks"] if check["passed"]}
        results = len(program.types) - program.num_arguments
        for kind in kinds:
            for i in range(results):
                if (kind, i) not in passed:
                    return f"no check '{kind}' of result {i} passed"
        if len(checked["kernels"]) != 1:
            return f"expects one launch but got {len(checked['kernels'])}"
        found = {"ulps": max(check["ulps"] for check in checked["checks"])}
        if self.device == "emulated":
            traffic = check_traffic(program, done.stdout, checked)
            if isinstance(traffic, str):
                return traffic
            found |= traffic
        return found


def run_all(tool, device, programs):
    """What was found by the name of the program."""
    # Most of the time goes into the compiler and the reference.
    threads = min(os.cpu_count(), 8)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(tool, device, folder)
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(runner.run, programs))
    return {program.name: value for program, value in zip(programs, found)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--device", default="")
    parser.add_argument("--json", default="")
    parser.add_argument("--cuda", default="")
    parser.add_argument("--write", default="")
    parser.add_argument("--compare", default="")
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if options.write and (options.share > 1 or options.only or options.device):
        parser.error("--write needs all programs on the host and emulated")
    programs = [Program(path) for path in sorted(FOLDER.glob("*.mlir"))]
    chosen = [p for i, p in enumerate(programs)
              if i % options.share == 0 and options.only in ("", p.name)]
    devices = [options.device] if options.device else ["host", "emulated"]
    columns, failures = {}, 0
    for device in devices:
        found = run_all(options.tool, device, chosen)
        for name, value in found.items():
            if isinstance(value, str):
                failures += 1
                print(f"FAILED {device}: {name}: {value}", flush=True)
        columns[device.split(":")[0]] = found
    print(f"fusions: {len(chosen)} of {len(programs)} programs, "
          f"{', '.join(devices)}, {failures} failures")
    if options.json:
        kept = {name: value if isinstance(value, str) else "="
                for name, value in columns[devices[0].split(":")[0]].items()}
        Path(options.json).write_text(
            json.dumps(kept, indent=0, sort_keys=True) + "\n")
    if options.cuda:
        columns["cuda"] = json.loads(Path(options.cuda).read_text())
    if options.write:
        Path(options.write).write_text(render(programs, columns))
    if options.compare:
        text = Path(options.compare).read_text()
        different = differences(text, programs, chosen, columns)
        for line in different:
            print(f"DIFFERS {line}")
        print(f"fusions: {len(different)} differences")
        failures += len(different)
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
