# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Which pore a flow cell has, by its product code, and what goes with the pore."""

from __future__ import annotations

from typing import Any

# R10.4 (112), R10.3 (111) and R9.5 (107) have no model here.
_R10 = ("114", "114M", "114HD")
_RNA004 = ("004RA",)
_R9 = ("001", "002", "103", "106", "106D")


def pore_of(product_code: str) -> str:
    """"r9", "r10" or "rna004"; "auto": the code does not say, or names a pore that has no model here. FLO-MIN114 and FLO-PRO114M are R10.4.1, FLO-MIN106 and FLO-PRO002 R9.4.1, FLO-MIN004RA and
    FLO-PRO004RA RNA004."""
    code = product_code.upper()
    return next((pore for pore, endings in (("r10", _R10), ("rna004", _RNA004), ("r9", _R9)) if code.endswith(endings)), "auto")


def set_pore(given: dict[str, Any], product_code: str) -> None:
    """The pore of the flow cell and what goes with it, where nothing else is given."""
    pore = given.setdefault("pore", pore_of(product_code))
    if pore in ("r9", "r10", "rna004"):
        given.setdefault("preset", pore)


def most_samples_of(pore: str) -> int:
    """How many samples of a read are looked at before it is sequenced undecided. Of RNA 250 bases are 7,700; the rest is for adapter and tail."""
    return 40000 if pore.startswith("rna") else 16000
