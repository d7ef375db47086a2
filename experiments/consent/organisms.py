# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Self-correction of genomes of several sizes, two of them with repeats and two haplotypes."""

from consent import correction
from framework import plot

TITLE = "CONSENT on GPUs: correction by genome"


def run(e):
    e.data("Simulated reads of 8 kb with 8 % errors, 20-fold, of random genomes; one of them with five copies of a repeat of 12 kb, 1 % apart, one of two haplotypes, 0.5 % apart. The paper's organisms are real ones.")
    table, curves = e.table(*correction.COLUMNS), {}
    sizes = e.pick((10000,), (20000, 60000), (1000000, 5000000))
    for genome in sizes:
        folder = correction.make_set(e, "genome-%d" % genome, seed=400, genome=genome, coverage=20, mean=e.pick(2000, 8000, 8000), errors=80000)
        correction.one_set(e, table, "%d kb" % (genome // 1000), folder, curves, genome // 1000)
    if e.size != "tiny":
        for name, numbers in (("five copies", dict(seed=401, copies=5)), ("two haplotypes", dict(seed=402, haplotypes=2))):
            folder = correction.make_set(e, name.replace(" ", "-"), genome=e.pick(0, 70000, 100000), coverage=20, **numbers)
            correction.one_set(e, table, name, folder, {}, 0, with_peers=e.size == "full")  # racon takes minutes of a repeat
    e.picture(plot.lines("Identity after correction", "genome, kb", "identity, %", list(curves.items()), most=100))
    correction.ends(e)
