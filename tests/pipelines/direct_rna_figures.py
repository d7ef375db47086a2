#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Every figure of direct_rna's report, and every number of its tables, against a count over the BAM, base by base: of real RNA004 reads, and of simulated
ones of 200 transcripts with introns, isoforms and m6A, on the transcripts and on the genome.

    direct_rna_figures.py SLUICE MAKE_TEST_INPUT SHARED_DIR
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

sys.dont_write_bytecode = True
from rna_records import Record, bam, fasta, is_drach, table

program, make_test_input, shared = (os.path.abspath(path) for path in sys.argv[1:4])
work = tempfile.TemporaryDirectory()
os.chdir(work.name)

COMPLEMENT = str.maketrans("ACGT", "TGCA")
LEAST_QUALITY, LEAST_PROBABILITY = 10, 0.75
BED_COUNTS = ("modified", "canonical", "other", "deleted", "failed", "different", "uncalled")  # columns 12 to 18


def run(*arguments: str) -> None:
    subprocess.run([program, "run", *arguments, "--quiet"], check=True)


def expect(fine: bool, what: str) -> None:
    if not fine:
        print("FAILED:", what, file=sys.stderr)
        sys.exit(1)


def same(what: str, got: object, wanted: object) -> None:
    expect(got == wanted, f"{what}: {str(got)[:2000]}, not {str(wanted)[:2000]}")


def turned(bases: str) -> str:
    return bases.translate(COMPLEMENT)[::-1]


# ---- figures by their kind: what was counted, and what the report makes of it
def check_share(figure: dict, part: float, whole: float) -> None:
    same(figure["title"], (figure["part"], figure["whole"]), (part, whole))
    expect(abs(figure["value"] - part / whole) <= 1e-5 * part / whole, f"{figure['title']}: {figure['value']} of {part}/{whole}")


def check_histogram(figure: dict, classes: Counter) -> None:
    same(figure["title"], {index: count for index, count in figure["classes"] if count}, {index: count for index, count in classes.items() if count})
    before, every = 0, sum(classes.values())
    for index in sorted(classes):
        before += classes[index]
        if classes[index] and 2 * before >= every:
            return same("median of " + figure["title"], figure["median"], index * figure["width"])


def check_rows(figure: dict, rows: list[tuple[str, int, int]]) -> None:
    same(figure["title"], [(row["name"], row["amount"], row["length"]) for row in figure["rows"]], rows)


# ---- calls of a read, from MM and ML as SAM's specification has them
def calls_of(record: Record) -> dict[int, dict[str, float] | None]:
    """By place in SEQ (0-based, as the record has it): the probability of each code that was looked for; only A, for reads that run along the strand of
    the molecule. A base that is not there has no call."""
    bases = turned(record.bases) if record.is_reverse else record.bases
    places = [place for place, base in enumerate(bases) if base == "A"]
    values = iter(record.tags.get("MLB", ()))
    calls: dict[int, dict[str, float]] = defaultdict(dict)
    for group in filter(None, str(record.tags.get("MMZ", "")).split(";")):
        head, *gaps = group.split(",")
        if not head.startswith("A+"):  # of other bases, which no site counts
            for _ in gaps:
                next(values)
            continue
        code, is_open = head[2:].rstrip(".?"), head.endswith("?")
        if not is_open:
            for place in places:
                calls[place][code] = 0.0
        at = -1
        for gap in gaps:
            at += int(gap) + 1
            calls[places[at]][code] = (next(values) + 0.5) / 256
    return {len(bases) - 1 - place if record.is_reverse else place: codes for place, codes in calls.items()}


def sites_of(records: list[Record], reference: dict[str, str]) -> dict[tuple[str, int, str, str], list[int]]:
    """Rows of bedMethyl at A of DRACH on the strand of the reads: counts of BED_COUNTS by contig, place, strand and code."""
    states: dict[tuple[str, int, str], list] = defaultdict(list)
    for record in records:
        calls, contig = calls_of(record), reference[record.contig]
        strand = "-" if record.is_reverse else "+"
        there = {place: base for place, base in record.columns}
        skipped = {place for begin, end in record.introns for place in range(begin, end)}
        for place in range(max(record.start, 2), min(record.end, len(contig) - 2)):
            word = contig[place - 2 : place + 3]
            if place in skipped or not is_drach(turned(word) if record.is_reverse else word):
                continue
            base = there.get(place)
            if base is None:
                states[record.contig, place, strand].append("deleted")
            elif record.bases[base] != ("T" if record.is_reverse else "A"):
                states[record.contig, place, strand].append("different")
            else:
                states[record.contig, place, strand].append(calls.get(base, "uncalled"))
    rows = {}
    for (contig, place, strand), seen in states.items():
        codes = {code for state in seen if isinstance(state, dict) for code in state}
        for code in codes:
            counts = Counter()
            for state in seen:
                if isinstance(state, str):
                    counts[state] += 1
                    continue
                best, likely = "", 1 - sum(state.values())  # "": canonical
                for one, probability in state.items():
                    if probability > likely:
                        best, likely = one, probability
                counts["failed" if likely < LEAST_PROBABILITY else "canonical" if not best else "modified" if best == code else "other"] += 1
            if counts["modified"] + counts["canonical"] + counts["other"]:
                rows[contig, place, strand, code] = [counts[name] for name in BED_COUNTS]
    return rows


def check_run(name: str, reference_path: str, read_lengths: list[int], known: set[tuple[int, int, str]] | None = None) -> tuple[list[Record], dict]:
    """NAME.json and the files NAME.bam, .counts.tsv, .sites.bed, .ends.tsv, .junctions.bed, those that are there. Gives the used records and sites."""
    with open(name + ".json") as file:
        stages = {stage["name"]: stage for stage in json.load(file)["stages"]}
    figures = {(stage, figure["title"]): figure for stage in stages for figure in stages[stage].get("results", [])}
    looked_at = set()

    def figure_of(stage: str, title: str) -> dict:
        expect((stage, title) in figures, f"{name}: no figure {title} of {stage}")
        looked_at.add((stage, title))
        return figures[stage, title]

    reference = fasta(reference_path)
    records = bam(name + ".bam")
    first = [record for record in records if not record.flag & 0x904]
    used = [record for record in first if record.mapq >= LEAST_QUALITY]
    shown = [record for record in records if not record.flag & 0x104]  # supplementary ones, too
    same(f"{name}: reads of the BAM", sum(not record.flag & 0x900 for record in records), len(read_lengths))

    # the reads themselves
    lengths = stages["reads"]["row_lengths"]
    same("reads", (lengths["rows"], lengths["total"], lengths["maximum"]), (len(read_lengths), sum(read_lengths), max(read_lengths)))
    half, n50 = 0, 0
    for length in sorted(read_lengths, reverse=True):
        half, n50 = half + length, length
        if 2 * half >= sum(read_lengths):
            break
    expect(abs(lengths["n50"] - n50) <= 0.1 * n50, f"N50 {lengths['n50']}, not {n50}")  # of classes a tenth wide
    accounted = {"low_mapping_quality": len(first) - len(used), "unmapped": sum(bool(record.flag & 4) for record in records),
                 "secondary": sum(bool(record.flag & 0x100) for record in records), "supplementary": sum(bool(record.flag & 0x800) for record in records)}
    same("account", stages["place"]["accounted"], {reason: number for reason, number in accounted.items() if number})
    same("used alignments", stages["place"]["rows_out"], len(used))

    # mapping
    equal = columns = 0
    identities, qualities, depth = Counter(), Counter(), {contig: [0] * len(bases) for contig, bases in reference.items()}
    for record in shown:
        own_equal = sum(record.bases[base] == reference[record.contig][place] for place, base in record.columns)
        own_columns = sum(count for code, count in record.cigar if code in (0, 1, 2, 7, 8))
        equal, columns = equal + own_equal, columns + own_columns
        identities[200 * own_equal // own_columns] += 1
        qualities[record.mapq] += 1
        for place, _ in record.columns:
            depth[record.contig][place] += 1
    covered = {contig: sum(bases) for contig, bases in depth.items()}
    check_share(figure_of("sam", "mapped bases"), sum(count for record in shown for code, count in record.cigar if code in (0, 1, 7, 8)), sum(read_lengths))
    check_share(figure_of("sam", "identity"), equal, columns)
    check_share(figure_of("sam", "mapping quality"), sum(record.mapq for record in shown), len(shown))
    check_histogram(figure_of("sam", "identity of alignments"), identities)
    check_histogram(figure_of("sam", "mapping quality of alignments"), qualities)
    check_rows(figure_of("sam", "coverage"), [(contig, covered[contig], len(bases)) for contig, bases in reference.items()])
    mean = sum(covered.values()) / sum(map(len, reference.values()))
    windows = figure_of("sam", "depth along the reference")["windows"]
    for contig, begin, end, bases, whole in windows:
        same(f"depth of {contig}:{begin}-{end}", (bases, whole), (sum(depth[contig][begin:end]), end - begin))
    same("bases of all windows", sum(window[4] for window in windows), sum(map(len, reference.values())))
    for title in ("coverage", "depth along the reference"):
        expect(abs(figures["sam", title]["value"] - mean) <= 1e-5 * mean, f"{title}: {figures['sam', title]['value']}, not {mean}")

    # transcripts
    if os.path.exists(name + ".counts.tsv"):
        rows = {row["contig"]: row for row in table(name + ".counts.tsv")}
        same("transcripts of the table", list(rows), list(reference))
        wanted = {contig: Counter() for contig in reference}
        along = Counter()
        for record in first:
            length, counts = len(reference[record.contig]), wanted[record.contig]
            to_end = record.end >= length - 50
            counts.update(reads=1, confident_reads=record.mapq >= 10, antisense_reads=record.is_reverse, reads_to_3_end=to_end, full_length_reads=to_end and record.start <= 50, bases=len(record.columns))
            along.update(place * 20 // length for place, _ in record.columns)
        for contig, counts in wanted.items():
            numbers = ("reads", "confident_reads", "antisense_reads", "reads_to_3_end", "full_length_reads")
            same(f"counts of {contig}", [int(rows[contig][column]) for column in ("contig_length", *numbers)], [len(reference[contig]), *(counts[column] for column in numbers)])
            expect(abs(float(rows[contig]["mean_coverage"]) - counts["bases"] / len(reference[contig])) < 1e-9, f"coverage of {contig}")
        with_reads = {contig: counts["reads"] for contig, counts in wanted.items() if counts["reads"]}
        check_share(figure_of("transcripts", "transcripts with reads"), len(with_reads), len(reference))
        check_share(figure_of("transcripts", "reads to the 3' end"), sum(counts["reads_to_3_end"] for counts in wanted.values()), len(first))
        check_share(figure_of("transcripts", "full-length reads"), sum(counts["full_length_reads"] for counts in wanted.values()), len(first))
        most = sorted(with_reads, key=lambda contig: -with_reads[contig])[:30]
        check_rows(figure_of("transcripts", "reads per transcript"), [(contig, with_reads[contig], 0) for contig in most])
        check_histogram(figure_of("transcripts", "coverage along transcripts"), along)

    # introns
    if os.path.exists(name + ".junctions.bed"):
        seen = Counter()
        for record in first:
            if "tsA" in record.tags and record.mapq >= 10:
                strand = "-" if (record.tags["tsA"] == "-") != record.is_reverse else "+"
                seen.update((begin, end, strand) for begin, end in record.introns)
        with open(name + ".junctions.bed") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        same("introns", {(int(line[1]), int(line[2]), line[5]): int(line[6]) for line in lines}, dict(seen))
        same("known introns", {(int(line[1]), int(line[2]), line[5]) for line in lines if line[7] == "1"}, set(seen) & known)
        same("junctions", figure_of("junction_counts", "junctions")["amount"], len(seen))
        check_share(figure_of("junction_counts", "known junctions"), len(set(seen) & known), len(seen))
        check_share(figure_of("junction_counts", "reads over known junctions"), sum(reads for intron, reads in seen.items() if intron in known), sum(seen.values()))

    # modifications
    wanted_sites = sites_of(used, reference)
    got_sites = {}
    with open(name + ".sites.bed") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            counts = [int(field) for field in fields[11:18]]
            same(f"valid reads of {fields[:4]}", (int(fields[9]), fields[4]), (sum(counts[:3]), fields[9]))
            same(f"share of {fields[:4]}", fields[10], f"{100 * counts[0] / sum(counts[:3]):.2f}")
            got_sites[fields[0], int(fields[1]), fields[5], fields[3]] = counts
    for site in got_sites.keys() | wanted_sites.keys():
        same(f"{name}: {site}", got_sites.get(site), wanted_sites.get(site))
    of_code, shares, coverages = defaultdict(lambda: [0, 0]), Counter(), Counter()
    for (_, _, _, code), counts in wanted_sites.items():
        valid = sum(counts[:3])
        of_code[code][0] += counts[0]
        of_code[code][1] += valid
        shares[20 * counts[0] // valid] += 1
        coverages[min(200, valid)] += 1
    modified, valid = (sum(numbers[i] for numbers in of_code.values()) for i in (0, 1))
    check_share(figure_of("sites", "modified"), modified, valid)
    check_share(figure_of("sites", "coverage of rows"), valid, len(wanted_sites))
    figure = figure_of("sites", "modified, by modification")
    same(figure["title"], sorted((row["name"], row["amount"], row["length"]) for row in figure["rows"]), sorted((code, *numbers) for code, numbers in of_code.items()))
    check_histogram(figure_of("sites", "share modified in rows"), shares)
    check_histogram(figure_of("sites", "coverage of each row"), coverages)

    # ends and tails
    rows = {row["read_id"]: row for row in table(name + ".ends.tsv")}
    same("reads of the table of ends", set(rows), {record.name for record in used})
    for record in used:
        wanted = [record.contig, str(record.start), str(record.end), str(int(record.is_reverse)), str(record.mapq), str(record.tags.get("pti", -2))]
        same(f"end of {record.name}", [rows[record.name][column] for column in ("contig", "ref_start", "ref_end", "is_reverse", "mapq", "basecaller_poly_a")], wanted)

    same("figures that nobody counted", set(figures) - looked_at, set())
    print(f"{name}: {len(read_lengths)} reads, {len(used)} used, {len(wanted_sites)} rows of sites, {len(figures)} figures")
    return used, wanted_sites


def check_levels(name: str, signal: str, reference: str, used: list[Record]) -> None:
    """What xpore reads, against the full table of the same BAM: the reads at each position; and events, against its lines."""
    run("eventalign", "--signal", signal, "--alignments", name + ".bam", "--reference", reference, "--kmer-model-size", "5", "--min-mapq", str(LEAST_QUALITY), "--scale-events", "--signal-index", "--output", "events.tsv")
    with open("events.tsv") as file:
        next(file)
        lines = [line.split("\t") for line in file]
    with open(name + ".json") as file:
        stages = {stage["name"]: stage for stage in json.load(file)["stages"]}
    for stage in ("m6anet", "xpore"):
        same(f"events of {stage}", stages[stage]["counters"]["aligned events written"], len(lines))
    reads_at, positions = defaultdict(set), defaultdict(set)
    for line in lines:
        if line[2] == line[9]:
            reads_at[line[0], int(line[1]) + 2, line[2]].add(line[3])
            positions[line[0], line[3]].add(line[1])
    counted = Counter()
    for (contig, place, word), reads in reads_at.items():
        counted[contig, str(place), word] = sum(len(positions[contig, read]) > 1 for read in reads)
    got = {}
    with open(f"{name}.xpore/data.json") as file:
        for line in file:
            for contig, places in json.loads(line).items():
                got.update({(contig, place, word): len(means) for place, words in places.items() for word, means in words.items()})
    same(f"{name}: reads at xpore's positions", got, {site: number for site, number in counted.items() if number})
    with open(f"{name}.xpore/data.readcount") as file:
        counts = dict(line.strip().split(",") for line in list(file)[1:])
    same(f"{name}: reads of xpore", {contig: int(number) for contig, number in counts.items()}, dict(Counter(contig for (contig, _), places in positions.items() if len(places) > 1)))
    print(f"{name}: {len(lines)} events of {len({line[3] for line in lines})} reads at {len(got)} positions, {len(used)} reads used")


# ---- 200 transcripts; every fourth gene of three exons and more has two, so that reads of what they share lie on either
genes = "170"
for kind, path in (("spliced_genome", "genome.fa"), ("spliced_transcripts", "transcripts.fa"), ("spliced_junctions", "known.bed")):
    with open(path, "w") as file:
        subprocess.run([make_test_input, kind, "7", genes], stdout=file, check=True)
transcripts, genome = fasta("transcripts.fa"), fasta("genome.fa")
same("transcripts", len(transcripts), 200)
run("simulate_rna", "--reference", "transcripts.fa", "--reads", "1000", "--mean-length", "900", "--error-rate", "0.04", "--seed", "4", "--tail-length", "60", "--estimate-poly-a", "--output-prefix", "rna")
with gzip.open("rna.fastq.gz") as reads, open("calls.sam", "w") as calls:
    subprocess.run([make_test_input, "m6a_reads", "5"], input=reads.read(), stdout=calls, check=True)
with open("calls.sam") as file:
    lengths = [len(line.split("\t")[9]) for line in file if not line.startswith("@")]
outputs = ["--output", "{0}.bam", "--sites", "{0}.sites.bed", "--read-ends", "{0}.ends.tsv", "--report", "{0}.json"]
for folder in ("transcripts.m6anet", "transcripts.xpore"):
    os.mkdir(folder)
run("direct_rna", "--reference", "transcripts.fa", "--reads", "calls.sam", "--counts", "transcripts.counts.tsv", *(word.format("transcripts") for word in outputs),
    "--signal", "rna.blow5", "--m6anet", "transcripts.m6anet", "--xpore", "transcripts.xpore")
used, sites = check_run("transcripts", "transcripts.fa", lengths)
check_levels("transcripts", "rna.blow5", "transcripts.fa", used)

# What was simulated: reads lie where they come from, and words are modified as often as they were made so.
truth = {record.name: record.contig for record in bam("rna.bam")}
right = sum(truth[record.name] == record.contig for record in used)
expect(len(used) > 800 and right >= 0.995 * len(used), f"{right} of {len(used)} reads lie on the transcript that they come from")
shares = dict(line.split() for line in subprocess.run([make_test_input, "m6a_shares", "5"], capture_output=True, text=True, check=True).stdout.splitlines())
of_word = defaultdict(lambda: [0, 0])
for (contig, place, _, _), counts in sites.items():
    of_word[transcripts[contig][place - 2 : place + 3]][0] += counts[0]
    of_word[transcripts[contig][place - 2 : place + 3]][1] += sum(counts[:3])
same("words with sites", set(of_word), set(shares))
for word, (modified, valid) in of_word.items():
    expect(abs(modified / valid - int(shares[word]) / 100) < 0.1, f"{word}: {modified} of {valid} are modified, {shares[word]} % were")

# ---- the genome of the same: reads across introns
with open("known.bed") as file:
    known = {(int(fields[1]), int(fields[2]), fields[5]) for fields in map(str.split, file)}
run("direct_rna", "--preset", "splice", "--reference", "genome.fa", "--reads", "calls.sam", "--junctions", "genome.junctions.bed", "--junc-bed", "known.bed", *(word.format("genome") for word in outputs))
used, sites = check_run("genome", "genome.fa", lengths, known)
true_introns = set()
with open("transcripts.fa") as file:
    for line in file:
        if line.startswith(">"):
            exons = [tuple(map(int, exon.split("-"))) for exon in line.split()[1].split(":")[2].split(",")]
            true_introns |= {(before[1], behind[0]) for before, behind in zip(exons, exons[1:])}
introns = Counter((begin, end) for record in used for begin, end in record.introns)
inside = sum(number for intron, number in introns.items() if intron in true_introns)
expect(sum(introns.values()) > 1000 and inside >= 0.9 * sum(introns.values()), f"{inside} of {sum(introns.values())} introns of reads are true ones")
print(f"genome: {inside} of {sum(introns.values())} introns of reads, {len(introns.keys() & true_introns)} of {len(true_introns)} true introns")

# ---- real reads of tRNA, with calls of inosine, m6A and 2'-O-methyl-A at the same bases
real = os.path.join(shared, "data/modern_real")
if os.path.exists(f"{real}/rna004_trna.pod5"):
    lengths = [len(record.bases) for record in bam(f"{real}/rna004_trna.bam") if not record.flag & 0x900]
    same("real reads", len(lengths), 180)
    for folder in ("real.m6anet", "real.xpore"):
        os.mkdir(folder)
    with open("trna.pod5", "wb") as copy, open(f"{real}/rna004_trna.pod5", "rb") as source:  # beside it an index is made
        copy.write(source.read())
    run("direct_rna", "--reference", f"{real}/rna004_trna.fa", "--reads", f"{real}/rna004_trna.bam", "--counts", "real.counts.tsv", *(word.format("real") for word in outputs),
        "--signal", "trna.pod5", "--m6anet", "real.m6anet", "--xpore", "real.xpore")
    used, _ = check_run("real", f"{real}/rna004_trna.fa", lengths)
    check_levels("real", "trna.pod5", f"{real}/rna004_trna.fa", used)
else:
    print(f"SKIPPED in part: real reads, as {real}/rna004_trna.pod5 is not there")
work.cleanup()
