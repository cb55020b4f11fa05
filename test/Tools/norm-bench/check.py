# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a report of norm-bench: the fields of the JSON, and that the page is
well-formed and whole."""

import argparse
import json
import xml.etree.ElementTree as ElementTree

parser = argparse.ArgumentParser()
parser.add_argument("json")
parser.add_argument("page")
parser.add_argument("--cells", type=int, required=True)
parser.add_argument("--share", action="store_true")
parser.add_argument("--schedule", action="store_true")
parser.add_argument("--stages", default="")
options = parser.parse_args()


def check_summary(summary):
    assert summary["p10"] <= summary["median"] <= summary["p90"], summary
    assert summary["count"] > 0, summary


with open(options.json) as file:
    report = json.load(file)
assert report["format"] == "norm-bench" and report["format_version"] == 1
assert report["passed"] is True
for field in ("name", "description", "target", "driver", "cache_bytes",
              "clocks_before", "clocks_after"):
    assert field in report["device"], field
assert len(report["results"]) == options.cells, len(report["results"])
for result in report["results"]:
    for field in ("suite", "op", "dtype", "rows", "columns"):
        assert field in result, field
    if result["status"] == "skipped":
        assert result["message"]
        continue
    assert result["status"] == "ok", result
    check_summary(result["microseconds"])
    for stage in filter(None, options.stages.split(",")):
        check_summary(result["stages_ms"][stage])
    if options.schedule:
        assert result["schedule"].startswith("#norm.schedule<")
    if options.share:
        check_summary(result["ceiling"]["microseconds"])
        check_summary(result["share_of_copy"])
        # Sums over rows have a second kernel.
        kernels = 2 if result["op"] in ("layer_norm_bwd", "rms_norm_bwd") else 1
        assert result["checked_rows"] > 0 and result["kernels"] == kernels
        moved = result["bytes_read"] + result["bytes_written"]
        rate = moved / result["microseconds"]["median"] / 1e3
        assert abs(rate - result["gigabytes_per_second"]) <= 1e-6 * rate
        assert abs(result["ceiling"]["bytes"] - moved) <= 0.2 * moved + 512
if options.share:
    assert report["bands"]
    for band in report["bands"]:
        assert 0 < band["least"] <= band["geometric_mean"] * (1 + 1e-9)

page = ElementTree.parse(options.page).getroot()
space = "{http://www.w3.org/1999/xhtml}"
assert page.tag == space + "html"
text = "".join(page.itertext())
for result in report["results"]:
    if result["status"] == "ok":
        shape = f"/{result['dtype']}/{result['rows']}x{result['columns']}"
        assert result["suite"] + "/" + result["op"] + shape in text, shape
drawings = list(page.iter("{http://www.w3.org/2000/svg}svg"))
assert bool(drawings) == options.share or options.cells == 4
