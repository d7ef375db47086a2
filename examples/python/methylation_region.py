# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Shows the methylation of every site along a region, from signal to a plot, with rows taken out of a run as Arrow.
# Run: python examples/python/methylation_region.py SIGNAL READS ALIGNMENTS REFERENCE CONTIG:FIRST-LAST PLOT.svg

# %% A run is one call. Its rows come batch by batch, in the memory of the engine; only the two columns that are looked at are made.
import collections
import sys

import numpy
import sluice

signal, reads, alignments, reference, region, picture = sys.argv[1:]
given = dict(signal=signal, reads=reads, alignments=alignments, reference=reference, region=region)
print("every stage says what its columns are:", [column["name"] for column in sluice.stages()["methylation_hmm"]["gives"]["columns"]])

# %% One row per read: the places of its sites, and how much more likely each is methylated than not.
wanted = ["site_start", "log_lik_methylated", "log_lik_unmethylated"]
called, methylated = collections.Counter(), collections.Counter()
least_ratio = 2.5
with sluice.stream("methylation", **given, stage="hmm", columns=wanted) as stream:
    for batch in stream:
        _, positions = batch.numpy(wanted[0])
        ratio = batch.numpy(wanted[1])[1] - batch.numpy(wanted[2])[1]
        sure = numpy.abs(ratio) >= least_ratio
        called.update(positions[sure].tolist())
        methylated.update(positions[sure & (ratio > 0)].tolist())
    print(stream.report)

# %% The share of methylated calls at each site.
sites = sorted(called)
shares = [methylated[site] / called[site] for site in sites]
print(f"{len(sites)} sites, {sum(called.values())} calls, mean methylation {numpy.mean(shares):.2f}")

# %% A picture, where matplotlib is there.
try:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
except ImportError:
    print("no matplotlib: no picture")
else:
    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 4), height_ratios=(3, 1))
    above.plot(sites, shares, ".-", linewidth=0.5)
    above.set(ylabel="methylated", ylim=(-0.05, 1.05), title=region)
    below.bar(sites, [called[site] for site in sites], width=max(1, (sites[-1] - sites[0]) / 400))
    below.set(ylabel="calls", xlabel="position, from 0")
    figure.savefig(picture)
    print(picture)
