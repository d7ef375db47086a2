# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What is published of GPUseed."""

from framework.experiment import OURS

PAPER = "Ahmed, Bertels, Al-Ars 2020, Efficient GPU acceleration for computing maximal exact matches in long DNA reads, ICBBB 2020 (abstract, repository.tudelft.nl)"


def seeding(e):
    e.published("GPUseed over the fastest CPU program, times (whole MEM computation, up to)", "9", "CPU: 24 threads of a server; the card: not found", PAPER)
    e.published("GPUseed: intervals of the suffix array (up to, times)", "3", "as above", PAPER)
    e.published("GPUseed: places of the matches (up to, times)", "9", "as above", PAPER)
    e.published("GPUseed: seconds by read set and least length", "not found", "", PAPER)
    e.published("GPUseed, 31.6 Mb of reads against E. coli, least length 12, s", "0.44", "one H200", OURS)
    e.published("GPUseed, the same, least length 14, s", "0.32", "one H200", OURS)
    e.published("GPUseed, the same, least length 20, s", "0.31", "one H200", OURS)
    e.published("bwa fastmap, 10 Mb of reads against E. coli, least length 12 / 16 / 20, s", "6.3 / 2.3 / 2.8", "one core of an AMD Zen 5", OURS)
    e.published("mummer -maxmatch, the same, s", "13.9 / 11.2 / 12.4", "one core of an AMD Zen 5", OURS)
