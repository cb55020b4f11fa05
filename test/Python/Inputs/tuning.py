# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Schedules of a tuning file, in compilations and in sessions.

import json
import os
import re
import tempfile
import unittest

import numpy as np

import normc

TEXT = """
func.func @rms_norm(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %y = norm.rms_norm %x axes = [1] eps = 1.0e-6 : tensor<?x256xf32> -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}
"""


def schedule_of(executable):
    return executable.manifest["kernels"][0]["schedule"]


class Tuning(unittest.TestCase):
    def setUp(self):
        self.device = normc.device("emulated")
        model = normc.compile(TEXT, device=self.device, explain=True)
        self.model = model
        remark = "\n".join(model.remarks)
        program = re.search(r"program ([0-9a-f]{16}), schedule by the model",
                            remark).group(1)
        entry = {"device": self.device.product, "target": self.device.target,
                 "norm": model.manifest["norm"], "program": program,
                 "what": "a program", "order": "leaf=4,lanes=1024",
                 "model": "threads=1",
                 "schedule": "threads=64,residency=stream", "times": []}
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "tuning.json")
        with open(self.path, "w") as file:
            json.dump({"format": "norm-tuning", "version": 1,
                       "entries": [entry]}, file)

    def tearDown(self):
        self.folder.cleanup()

    def test_same_bits(self):
        self.assertEqual(self.device.product, "emulated")
        tuned = normc.compile(TEXT, device=self.device, tuning=self.path)
        self.assertIn("threads = 64, residency = stream", schedule_of(tuned))
        self.assertNotEqual(schedule_of(tuned), schedule_of(self.model))
        x = np.random.default_rng(1).standard_normal((5, 256), np.float32)
        self.assertEqual(tuned(x).tobytes(), self.model(x).tobytes())

    def test_sessions(self):
        session = normc.Session(self.device)
        model = session.get(TEXT)
        tuned = session.get(TEXT, tuning=self.path)
        self.assertIn("threads = 64, residency = stream", schedule_of(tuned))
        self.assertEqual(schedule_of(session.get(TEXT, tuning="none")),
                         schedule_of(model))
        self.assertEqual(session.compile_count, 3)
        # Another content under the same name is another program.
        with open(self.path) as file:
            text = file.read()
        with open(self.path, "w") as file:
            file.write(text.replace("threads=64", "threads=32"))
        self.assertIn("threads = 32, residency = stream",
                      schedule_of(session.get(TEXT, tuning=self.path)))

    def test_files_that_are_none(self):
        with self.assertRaisesRegex(normc.NormError, "cannot read"):
            normc.compile(TEXT, device=self.device, tuning=self.path + ".none")
        with open(self.path, "w") as file:
            file.write("{}")
        with self.assertRaisesRegex(normc.NormError, "expects a tuning file"):
            normc.compile(TEXT, device=self.device, tuning=self.path)


if __name__ == "__main__":
    unittest.main()
