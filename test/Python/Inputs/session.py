# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions: misses, prewarming, one compilation per program, the disk."""

import os
import sys
import tempfile
import threading
import time
import unittest

import normc
import numpy as np

TEXT = normc.op("softmax", columns=100, dtype="f32")
X = np.linspace(-3, 3, 700, dtype=np.float32).reshape(7, 100)


class Sessions(unittest.TestCase):
    def check(self, run):
        want = np.exp(X.astype(np.float64))
        want /= want.sum(-1, keepdims=True)
        np.testing.assert_allclose(run(X), want, rtol=1e-5)

    def test_compiles_once(self):
        session = normc.Session("host")
        found = []
        threads = [threading.Thread(
            target=lambda: found.append(session.get(TEXT)))
            for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 8)
        for run in found:
            self.check(run)
        self.assertEqual(session.compile_count, 1)
        self.assertTrue(found[0].code.startswith(b"\x7fELF"))
        session.get(normc.op("softmax", columns=101, dtype="f32"))
        self.assertEqual(session.compile_count, 2)

    def test_error_policy(self):
        session = normc.Session("host", on_miss="error")
        with self.assertRaises(normc.NormError) as caught:
            session.get(TEXT)
        self.assertEqual(caught.exception.status, "miss")
        session.prewarm(TEXT)
        self.check(session.get(TEXT))
        with self.assertRaises(normc.NormError) as caught:
            session.on_miss = "panic"
        self.assertIn("expects compile, fallback or error but got 'panic'",
                      str(caught.exception))

    def test_fallback_policy(self):
        session = normc.Session("host", on_miss="fallback")
        run = session.get(TEXT)
        deadline = time.monotonic() + 60
        while run is None and time.monotonic() < deadline:
            time.sleep(0.01)
            run = session.get(TEXT)
        self.check(run)
        self.assertEqual(session.compile_count, 1)

    def test_disk(self):
        with tempfile.TemporaryDirectory() as directory:
            first = normc.Session("host", cache=directory)
            self.check(first.get(TEXT))
            self.assertEqual(first.compile_count, 1)
            self.assertTrue(os.listdir(directory))
            second = normc.Session("host", cache=directory)
            self.check(second.get(TEXT))
            self.assertEqual(second.compile_count, 0)

    def test_emulated(self):
        session = normc.Session("emulated")
        self.check(session.get(TEXT))


if __name__ == "__main__":
    unittest.main()
