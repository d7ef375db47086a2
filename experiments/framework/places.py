# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Judges mapped reads by where the simulator took them from."""

TRUTH = """[pipeline]
name = "truth"
[stages.alignments]
use = "alignment_reader"
params = { path = "%s", min_mapq = 0 }
[stages.table]
use = "table_writer"
params = { output = "%s", columns = "read_id,contig,is_reverse,ref_start,ref_end" }
"""


def write_truth(e, bam, path):
    """A table of the places from which the simulator took the reads of its BAM."""
    with open(e.path("truth.toml"), "w", encoding="utf-8") as file:
        file.write(TRUTH % (bam, path))
    e.measure([e.program, "run", e.path("truth.toml"), "--quiet", "--device", "cpu"])


def judge(paf, truth_path):
    """(reads with a primary hit, of these at their true place, wrong although the mapping quality is 10 or more, reads)."""
    truth = {}
    with open(truth_path, encoding="utf-8") as lines:
        names = next(lines).rstrip("\n").split("\t")
        at = [names.index(name) for name in ("read_id", "contig", "ref_start", "ref_end")]
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            truth[cells[at[0]]] = (cells[at[1]], int(cells[at[2]]), int(cells[at[3]]))
    seen, right, sure_and_wrong = set(), 0, 0
    with open(paf, encoding="utf-8") as lines:
        for line in lines:
            cells = line.split("\t")
            if cells[0] in seen:
                continue  # the first line of a read is its best
            seen.add(cells[0])
            contig, start, end = truth[cells[0]]
            overlap = min(end, int(cells[8])) - max(start, int(cells[7])) if contig == cells[5] else 0
            good = overlap > 0.1 * (end - start)
            right += good
            sure_and_wrong += not good and int(cells[11]) >= 10
    return len(seen), right, sure_and_wrong, len(truth)


def good_places(paf, truth_path):
    """Whether 98 of 100 reads are mapped, 98 of 100 of these to where they are from, and at most one of 100 elsewhere although it is rated as sure."""
    mapped, right, sure_and_wrong, count = judge(paf, truth_path)
    return count > 0 and mapped >= 0.98 * count and right >= 0.98 * mapped and sure_and_wrong <= 0.01 * count
