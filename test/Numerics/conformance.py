# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every op with every combination of element types in every layout, against
the float64 reference and, on another device than the host, against the host's
bits. Programs that can't be must be refused with the diagnostic written for them.

  conformance.py NORM_RUN --write=docs/Conformance.md [--cuda=FILE]
  conformance.py NORM_RUN --compare=docs/Conformance.md [--cuda=FILE] [--share=13]
  conformance.py NORM_RUN --device=cuda:0 --json=FILE

Without --device the host and the emulated device are run. A run on a GPU leaves its
cells in the file of --json, from which --cuda takes them. --compare looks at what
happened in a cell, not at the size of errors. --share=N runs one in N cells, among
them all ops, types and layouts. Prints a line for each failure and a count; exits 1
if there is any.
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

from conformance_cells import (OPS, REASONS, TYPES, all_cells, program,
                               target_cells)
from conformance_table import compare, render

GROUP = 24  # kernels of one function


class Runner:
    def __init__(self, tool, device, folder):
        self.tool = tool
        self.device = device
        self.folder = Path(folder)

    def run(self, cells, name):
        """Of each cell of one function the largest error in units of the last
        place, or text that says what went wrong."""
        text, options, owner = program(cells)
        source = self.folder / f"{name}.mlir"
        report = source.with_suffix(".json")
        source.write_text(text)
        command = [self.tool, str(source), "--check",
                   f"--device={self.device}", "--json", str(report)] + options
        kinds = ["reference"]
        if self.device != "host":
            kinds.append("bits")
            command += ["--bits=host"]
        if self.device == "emulated":
            command += [f"--target={cells[0].target or 'sm_90'}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            said = (f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
                    f"{' '.join(options)}\n{text}")
            return [said] * len(cells)
        errors = [0.0] * len(cells)
        missing = {(kind, i) for kind in kinds for i in range(len(owner))}
        for check in json.loads(report.read_text())["checks"]:
            if check["passed"]:
                missing.discard((check["kind"], check["result"]))
            i = owner[check["result"]]
            errors[i] = max(errors[i], check["ulps"])
        for kind, result in missing:
            errors[owner[result]] = f"no check '{kind}' of a result passed"
        return errors

    def run_refused(self, cell, name):
        """The label of the cell's reason, or text that says what went wrong."""
        error, = self.run([cell], name)
        if isinstance(error, float):
            return f"expects a refusal by {cell.reason} but it ran"
        wanted = r"^exit status 1\n.*error: .*" + re.escape(
            REASONS[cell.reason][0])
        return cell.reason if re.match(wanted, error) else error

    def run_group(self, cells, name):
        """As `run`; where the function isn't right, each cell alone."""
        if cells[0].reason:
            return [self.run_refused(cells[0], name)]
        errors = self.run(cells, name)
        if len(cells) > 1 and any(isinstance(e, str) for e in errors):
            errors = [self.run([cell], f"{name}x{i}")[0]
                      for i, cell in enumerate(cells)]
        return errors


def run_all(tool, device, cells):
    """Errors, labels or what went wrong, by the key of the cell."""
    groups = []
    for target in {cell.target: None for cell in cells}:
        right = [c for c in cells if not c.reason and c.target == target]
        groups += [right[i:i + GROUP] for i in range(0, len(right), GROUP)]
    groups += [[cell] for cell in cells if cell.reason]
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(tool, device, folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            lists = list(pool.map(runner.run_group, groups,
                                  map(str, range(len(groups)))))
    return {cell.key: error for group, errors in zip(groups, lists)
            for cell, error in zip(group, errors)}


def chosen(share, name):
    """One in `share` cells, on diagonals of types and layouts."""
    for cell in all_cells():
        at = (TYPES.index(cell.types) + OPS.index(cell.op)
              + cell.op.layouts().index(cell.layout))
        if at % share == 0 and name in cell.op.name:
            yield cell


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--device", default="")
    parser.add_argument("--json", default="")
    parser.add_argument("--cuda", default="")
    parser.add_argument("--write", default="")
    parser.add_argument("--compare", default="")
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--ops", default="")
    options = parser.parse_args()
    if options.write and (options.share > 1 or options.ops or options.device):
        parser.error("--write needs all cells on all targets")
    cells = list(chosen(options.share, options.ops))
    devices = [options.device] if options.device else ["host", "emulated"]
    columns, failures = {}, 0
    if not options.device and not options.ops:
        devices.append("targets")
    for device in devices:
        if device == "targets":
            cells += target_cells()
            values = run_all(options.tool, "emulated", target_cells())
        else:
            values = run_all(options.tool, device, cells)
        for key, value in values.items():
            if isinstance(value, str) and value not in REASONS:
                failures += 1
                print(f"FAILED {device}: {key}: {value}", flush=True)
                values[key] = "WRONG"
        columns[device.split(":")[0]] = values
    print(f"conformance: {len(cells)} cells, {', '.join(devices)}, "
          f"{sum(bool(cell.reason) for cell in cells)} refused, "
          f"{failures} failures")
    if options.json:
        kept = {key: value if isinstance(value, str) else round(value, 3)
                for key, value in columns[devices[0].split(":")[0]].items()}
        Path(options.json).write_text(
            json.dumps(kept, indent=0, sort_keys=True) + "\n")
    if options.cuda:
        columns["cuda"] = json.loads(Path(options.cuda).read_text())
    if options.write:
        Path(options.write).write_text(render(columns))
    if options.compare:
        differences = compare(Path(options.compare).read_text(), columns, cells)
        print(f"conformance: {differences} differences")
        failures += differences
    return 1 if failures or not cells else 0


if __name__ == "__main__":
    sys.exit(main())
