# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The command `sluice` of the wheel."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).resolve().parent / "_native" / "sluice"
    if not program.exists():
        sys.exit(f"sluice: there is no {program}: this package was not installed from a wheel")
    if sys.executable:
        os.environ.setdefault("SLUICE_PYTHON", sys.executable)  # stages in Python run in this one
    os.execv(program, [str(program), *sys.argv[1:]])
