# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What is published of mm2-ax and its rivals."""

from framework.experiment import OURS

PREPRINT = "Sadasivan et al. 2022, preprint (abstract, doi:10.21203/rs.3.rs-1523696/v1)"
PAPER = "Sadasivan et al. 2023, J Biotechnol Biomed 6:13-23 (abstract)"
GB = "Dong et al. 2024, doi:10.1101/2024.03.23.586366, and README of github.com/Minimap2onGPU/mm2-gb"
FAST = "Kalikar et al. 2021, bioRxiv 2021.07.21.453294 (abstract)"


def chaining(e):
    e.published("mm2-ax over mm2-fast, chaining alone, times", "2.57 to 5.41", "one A100 against 30 cores (Intel Cascade Lake, AVX-512)", PAPER)
    e.published("mm2-ax over mm2-fast, the same in the preprint, times", "5 to 12.6", "the same", PREPRINT)
    e.published("mm2-ax over mm2-fast, for the same cost, times", "1.93 to 4.07", "the same", PAPER)
    e.published("mm2-ax by read length (10, 50, 100 kb)", "not found", "", PAPER)
    e.published("mm2-gb over mm2-fast, 10 to 100 kb reads, times", "2.57 to 5.33", "one AMD MI210 against 32 cores (Intel Ice Lake)", GB)
    e.published("mm2-gb over mm2-fast, 100 to 300 kb reads, times", "1.87", "the same", GB)
    e.published("share of minimap2's time in chaining, %", "60 to 70", "", PAPER)
    e.published("UCLA's chaining kernel (64 predecessors, not exact), G anchors/s", "1.9", "one H200", OURS)


def mapping(e):
    e.published("mm2-fast over minimap2, whole mapping (up to), times", "1.8", "", FAST)
    e.published("minimap2 2.24 exact over mm2-fast exact, CPU s, 98.8 Mb against E. coli", "8.6 and 4.3", "one core of an AMD Zen 5", OURS)
    e.published("the same, 40 Mb of 50 to 150 kb reads against repeats", "90 and 18.6", "one core of an AMD Zen 5", OURS)
    e.published("mm2-ax: whole mapping", "not found", "", PAPER)
    e.published("mm2-gb: whole mapping", "not found", "", GB)
    e.published("NVIDIA Parabricks minimap2: seconds", "not found", "", "its manual (docs.nvidia.com/clara/parabricks) says only that the output of 4.8.0 is minimap2 2.31's")
