# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Runs the Python of docs/python.md, one block behind the other, in the working directory."""

import re
import sys

blocks = re.findall(r"^```python\n(.*?)^```", open(sys.argv[1], encoding="utf-8").read(), re.MULTILINE | re.DOTALL)
assert len(blocks) >= 7, "the page has fewer examples than it had"
scope: dict = {}
for number, block in enumerate(blocks, 1):
    print(f"-- example {number}")
    exec(compile(block, f"docs/python.md, example {number}", "exec"), scope)
