# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Whether pyBigWig (libBigWig) finds in a bigWig file the values of a bedGraph, and their means where it asks a zoom level.
#   big_wig_reader.py SITES.bw SITES.bedgraph
import collections
import sys

import pyBigWig

sites = collections.defaultdict(list)
with open(sys.argv[2], encoding="ascii") as file:
    for line in file:
        contig, begin, end, value = line.split("\t")
        sites[contig].append((int(begin), int(end), float(value)))

with pyBigWig.open(sys.argv[1]) as big_wig:
    header = big_wig.header()
    if header["nBasesCovered"] != sum(map(len, sites.values())):
        sys.exit(f"{header} of {sum(map(len, sites.values()))} sites")
    for contig, expected in sites.items():
        found = big_wig.intervals(contig)
        if len(found) != len(expected):
            sys.exit(f"{contig}: {len(found)} sites in place of {len(expected)}")
        for ours, theirs in zip(expected, found):
            if ours[:2] != theirs[:2] or abs(ours[2] - theirs[2]) > 0.0051:
                sys.exit(f"{contig}: {theirs} in place of {ours}")
        mean = sum(value for _, _, value in found) / len(found)
        length = big_wig.chroms(contig)
        for exact in (True, False):
            stated = big_wig.stats(contig, 0, length, exact=exact)[0]
            if abs(stated - mean) > 1e-3:
                sys.exit(f"{contig}: the mean is {stated} in place of {mean}, exact={exact}")
        if big_wig.stats(contig, 0, length, type="max", exact=False)[0] != max(value for _, _, value in found):
            sys.exit(f"{contig}: another maximum")
    print(f"{sys.argv[1]}: {sum(map(len, sites.values()))} sites, {header['nLevels']} zoom levels, read alike by pyBigWig {pyBigWig.__version__}")
