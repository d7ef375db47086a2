# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Which pore a flow cell has, by its product code."""

_R10 = ("112", "114", "114M", "114HD")
_R9 = ("001", "002", "103", "106", "106D", "107", "111")


def pore_of(product_code: str) -> str:
    """"r9" or "r10"; "auto": the code does not say. FLO-MIN114 and FLO-PRO114M are R10.4.1, FLO-MIN106 and FLO-PRO002 R9.4.1."""
    code = product_code.upper()
    return "r10" if code.endswith(_R10) else "r9" if code.endswith(_R9) else "auto"
