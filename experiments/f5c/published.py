# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What is published of f5c. Figures that no public page in our reach has are 'not found'."""

from framework.experiment import OURS

PAPER = "Gamaarachchi et al. 2020, BMC Bioinformatics 21:343, doi:10.1186/s12859-020-03697-x"


def alignment(e):
    e.published("f5c: ABEA on the GPU over ABEA on the CPU, small set", "4.5", "low-end laptop (GeForce 940M), workstation (Tesla K40)", PAPER)
    e.published("f5c: the same, embedded", "4", "Jetson TX2", PAPER)
    e.published("f5c: the same, many cores beside the card", "3", "high-end laptop (12 threads), server with Tesla V100 (40 threads)", PAPER)
    e.published("f5c: the same, two large sets with reads above 100 kb", "3", "Jetson TX2, workstation or laptop, server", PAPER)
    e.published("f5c CUDA: ABEA with pre and post, Gcells/s", "67", "one H200", OURS)


def whole(e):
    e.published("f5c with a GPU over the optimised CPU version of nanopolish's ABEA", "3 to 5", "laptop to server (Tesla V100)", PAPER)
    e.published("f5c: seconds of whole sets on each machine", "not found", "", PAPER + " (figures 3 and 4 are pictures)")
    e.published("f5c CUDA, call-methylation of 47.2 Mbases, s", "37.5 to 41", "one H200, 16 threads", OURS)
    e.published("f5c on 16 cores over f5c CUDA, 11.9 Mbases, Mbases/s", "0.9 and 1.2", "16 cores; one H200", OURS)


def on_the_fly(e):
    e.published("f5c: methylation on the fly on a system of 8 GB", "shown", "Jetson TX2, 6 cores, 8 GB", PAPER)
    e.published("f5c: rate that a MinION needs, kbases/s", "not found", "", PAPER)
