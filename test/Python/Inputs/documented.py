# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples of docs/Python.md, the file given."""

import importlib.util
import re
import sys

blocks = re.findall(r"^```python\n(.*?)^```", open(sys.argv[1]).read(),
                    re.MULTILINE | re.DOTALL)
names = {}
count = 0
for block in blocks:
    if "torch" in block and not importlib.util.find_spec("torch"):
        continue
    exec(compile(block, sys.argv[1], "exec"), names)
    count += 1
np = names["np"]
x = np.random.default_rng(1).standard_normal((2, 3, 1152)).astype(np.float32)
s = x[:, :1] * 0.5
c = x - x.mean(-1, keepdims=True)
want = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * (1 + s) - s
np.testing.assert_allclose(names["modulate"](x, s, -s), want, atol=1e-5)
print(f"{count} examples ran")
