# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make_tuning.py CMAKELISTS SCHEDULE [FIELD=VALUE...]: reads what norm-schedule
# remarks with explain=true, and writes a tuning file that has SCHEDULE for the
# first program.

import json
import re
import sys

project, schedule, *fields = sys.argv[1:]
version = re.search(r"VERSION (\d+\.\d+\.\d+)", open(project).read()).group(1)
program = re.search(r"remark: program ([0-9a-f]{16}), schedule by",
                    sys.stdin.read()).group(1)
entry = {
    "device": "NVIDIA H200",
    "target": "sm_90",
    "norm": version,
    "program": program,
    "what": "a program",
    "order": "leaf=8,lanes=1024",
    "model": "threads=1",
    "schedule": schedule,
    "times": [{"call": "1x1", "model_us": 2.0, "tuned_us": 1.0}],
}
entry.update(field.split("=", 1) for field in fields)
print(json.dumps({"format": "norm-tuning", "version": 1, "entries": [entry]}))
