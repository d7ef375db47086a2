# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What is published of CONSENT on GPUs."""

from framework.experiment import OURS

PAPER = "Peverelli et al. 2020, GPU accelerated partial order multiple sequence alignment for long reads self-correction, doi:10.1101/2020.02.14.946939 (abstract)"
SPOA = {"128-255 b x 2-8": ("40.5", "481", "104"), "128-255 b x 9-16": ("14.3", "161", "34"), "128-255 b x 17-32": ("5.9", "61", "11.8")}


def windows(e):
    e.published("CONSENT-GPU's kernel over 64 CPU threads (up to), times", "6.5", "one Tesla V100 against two Xeon E5-2698 v3", PAPER)
    e.published("CONSENT-GPU by window class (table I)", "not found", "", PAPER)
    for name, (spoa, cudapoa, consent) in SPOA.items():
        e.published("spoa, %s, thousand windows/s" % name, spoa, "16 threads", OURS)
        e.published("cudapoa, %s, thousand windows/s" % name, cudapoa, "one H200", OURS)
        e.published("CONSENT-GPU's kernels, %s, thousand windows/s" % name, consent, "one H200", OURS)


def correction(e):
    e.published("CONSENT-GPU over CONSENT, whole correction, times", "1.95 to 8.5", "one Tesla V100 beside two Xeon E5-2698 v3", PAPER)
    e.published("CONSENT-GPU: seconds by organism", "not found", "", PAPER)
    e.published("error rates of the reads, %", "10 to 12", "", PAPER)
    e.published("CONSENT: 236 real lambda reads of 20 % errors, identity after it, %", "92.49", "", OURS)
    e.published("racon -f: the same, %", "97.12", "", OURS)
