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

    def test_search(self):
        found = normc.tune(TEXT, [[(3, 256), (3, 256)], [(8, 256), (8, 256)]],
                           device=self.device, seconds=2, file=self.path)
        # Whether there is a faster one is up to the machine.
        x = np.random.default_rng(2).standard_normal((5, 256), np.float32)
        after = normc.compile(TEXT, device=self.device, tuning=self.path)
        self.assertEqual(after(x).tobytes(), self.model(x).tobytes())
        for tuned in found:
            self.assertIn("threads=", tuned.schedule)
            self.assertNotEqual(tuned.schedule, tuned.model)
            self.assertEqual([time[0] for time in tuned.times],
                             ["3x256", "8x256"])
            # In an attribute fields at their defaults are left out.
            threads = tuned.schedule.split(",")[0].replace("=", " = ")
            self.assertIn(threads, schedule_of(after))
        if not found:
            self.assertEqual(schedule_of(after), schedule_of(self.model))

    def test_wrong_searches(self):
        def search(calls, **more):
            return normc.tune(TEXT, calls, **{"device": self.device, **more})

        with self.assertRaisesRegex(normc.NormError, "expects a shape for each "
                                    "of the 2 arguments and results but got 1"):
            search([[(3, 256)]])
        with self.assertRaisesRegex(normc.NormError, "255"):
            search([[(3, 255), (3, 255)]])
        with self.assertRaisesRegex(normc.NormError, "calls: "):
            search([[(3, -1), (3, -1)]])
        with self.assertRaisesRegex(normc.NormError, "nothing to tune"):
            search([[(3, 256), (3, 256)]], device="host")
        with self.assertRaisesRegex(normc.NormError, "cannot write"):
            search([[(3, 256), (3, 256)]], file=self.path + ".none/t.json")
        with self.assertRaisesRegex(normc.NormError, "seconds above 0"):
            search([[(3, 256), (3, 256)]], seconds=0)

    def test_files_that_are_none(self):
        with self.assertRaisesRegex(normc.NormError, "cannot read"):
            normc.compile(TEXT, device=self.device, tuning=self.path + ".none")
        with open(self.path, "w") as file:
            file.write("{}")
        with self.assertRaisesRegex(normc.NormError, "expects a tuning file"):
            normc.compile(TEXT, device=self.device, tuning=self.path)


if __name__ == "__main__":
    unittest.main()
