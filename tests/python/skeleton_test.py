# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""`sluice new-plugin --python`: the skeleton passes its own test, runs, and is described."""

import os
import subprocess
import sys
import unittest

from inputs import SLUICE


def run(*command, code=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | {"SLUICE_PYTHON": sys.executable}, **more)
    assert done.returncode == code, (command, done.stdout, done.stderr)
    return done.stdout + done.stderr


class Skeleton(unittest.TestCase):
    def test_it_passes_its_test_and_runs(self):
        self.assertIn("next: python3 ./counter/test_counter.py", run(SLUICE, "new-plugin", "--python", "counter"))
        run(sys.executable, "counter/test_counter.py")
        run(SLUICE, "run", "counter/counter.toml", "--reads", "r.fastq.gz", "--output", "counted.tsv", "--quiet")
        with open("counted.tsv") as file:
            self.assertEqual(len(file.readlines()), 61)
        self.assertIn("how many of `bases` the read has", run(SLUICE, "inspect", "counter/counter.py:counter"))

    def test_names(self):
        self.assertIn("is a word of Python", run(SLUICE, "new-plugin", "--python", "lambda", code=2))
        self.assertIn("can't be a plugin's name", run(SLUICE, "new-plugin", "--python", "Counter", code=2))


if __name__ == "__main__":
    unittest.main()
