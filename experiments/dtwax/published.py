# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What is published of DTWax and its rivals."""

from framework.experiment import OURS

PAPER = "Sadasivan et al. 2024, J Biotechnol Biomed 7:137-148 (abstract)"
FILTER = "Dunn et al. 2021, SquiggleFilter, MICRO 2021 (abstract)"


def accuracy(e):
    e.published("DTWax: F1 by length of the prefix", "not found", "", PAPER)
    e.published("largest genome of SquiggleFilter, kb", "100", "", PAPER)
    e.published("UNCALLED 2.2: real lambda reads that it maps, of 250", "217", "", OURS)
    e.published("RawHash2 and sigmap: the same", "219 and 126", "", OURS)


def flow_cell(e):
    e.published("DTWax: sequencing time saved by Read Until, times", "1.92", "", PAPER)
    e.published("DTWax: compute for the same cost, times", "3.64", "card: not found", PAPER)
    e.published("SquiggleFilter over a GPU basecaller: throughput, times", "274", "an ASIC of 14.3 W", FILTER)
    e.published("SquiggleFilter over a GPU basecaller: latency, times less", "3481", "an ASIC of 14.3 W", FILTER)
    e.published("DTWax, its grid fixed to fill the chip: lambda reads/s", "51000", "one H200", OURS)
    e.published("DTWax, the same, Tcells/s", "9.95", "one H200", OURS)
