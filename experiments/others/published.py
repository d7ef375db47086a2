# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Programs of today that no paper of the five measures."""

from framework.experiment import OURS



def consensus(e):
    e.published("racon 1.5: E. coli draft with 20-fold reads, CPU s", "123", "two cores of an AMD Zen 5", OURS)
    e.published("racon 1.5: identity before and after, %", "94.12 and 99.94", "", OURS)


def events(e):
    e.published("f5c eventalign, 7.86 Mbases, CPU s", "89", "two cores of an AMD Zen 5", OURS)


def sorting(e):
    e.published("samtools sort: seconds", "not found", "", "")
