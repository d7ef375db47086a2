# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
from .program import main

if __name__ == "__main__":
    raise SystemExit(main())
