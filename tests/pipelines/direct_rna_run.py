#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The pipeline direct_rna on simulated reads with known transcripts, tails, modifications and introns: every output and figure of the report is what an
independent count over its BAM comes to, and what was simulated.

    direct_rna_run.py SLUICE
"""

import gzip
import json
import os
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

sys.dont_write_bytecode = True
from rna_records import bam, fasta, figures, is_drach, table

program = sys.argv[1]
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


def run(*arguments: str) -> None:
    subprocess.run([program, "run", *arguments, "--quiet"], check=True)


def expect(fine: bool, what: str) -> None:
    if not fine:
        print("FAILED:", what, file=sys.stderr)
        sys.exit(1)


def write_fasta(path: str, records: dict[str, str]) -> None:
    with open(path, "w") as file:
        file.writelines(f">{name}\n{bases}\n" for name, bases in records.items())


def is_rrach(site: tuple[int, str]) -> bool:
    word = genome[site[0] - 2 : site[0] + 3]
    return (word if site[1] == "+" else word.translate(complement)[::-1])[0] in "AG"


# ---- transcripts, reads, and what the basecaller would have said of m6A: every second DRACH of a read is modified
run("synthetic_reference", "--length", "1200", "--contigs", "6", "--seed", "3", "--output", "transcripts.fa")
transcripts = fasta("transcripts.fa")
run("simulate_rna", "--reference", "transcripts.fa", "--reads", "240", "--mean-length", "800", "--seed", "4", "--tail-length", "60", "--estimate-poly-a", "--moves",
    "--output-prefix", "rna")
modified: dict[str, set[int]] = {}
with gzip.open("rna.fastq.gz", "rt") as reads, open("calls.sam", "w") as calls:
    calls.write("@HD\tVN:1.6\tSO:unknown\n")
    while head := reads.readline():
        fields = head[1:].rstrip("\n").split("\t")
        bases, _, qualities = reads.readline().strip().replace("U", "T"), reads.readline(), reads.readline().strip()
        a_places = [i for i, base in enumerate(bases) if base == "A"]
        called = [i for i, place in enumerate(a_places) if is_drach(bases[place - 2 : place + 3]) and place >= 2]
        gaps = [called[0], *(b - a - 1 for a, b in zip(called, called[1:]))] if called else []
        likely = [250 if i % 2 == 0 else 5 for i in range(len(called))]
        modified[fields[0].split()[0]] = {a_places[place] for place, probability in zip(called, likely) if probability == 250}
        tags = [f"MM:Z:A+a.{''.join(f',{gap}' for gap in gaps)};"] + ([f"ML:B:C,{','.join(map(str, likely))}"] if called else [])
        tags += [field for field in fields[1:] if len(field) > 4 and field[2] == ":"]
        calls.write("\t".join([fields[0].split()[0], "4", "*", "0", "0", "*", "*", "0", "0", bases, qualities, *tags]) + "\n")

os.mkdir("m6anet")
os.mkdir("xpore")
everything = ["--reference", "transcripts.fa", "--reads", "calls.sam", "--signal", "rna.blow5", "--output", "rna_mapped.bam", "--counts", "counts.tsv", "--sites", "sites.bed",
              "--read-ends", "ends.tsv", "--m6anet", "m6anet", "--xpore", "xpore"]
run("direct_rna", *everything, "--report", "report.json")
records = [record for record in bam("rna_mapped.bam") if not record.flag & 0x100]
first = [record for record in records if not record.flag & 0x904]
used = [record for record in first if record.mapq >= 10]
places = [(list(transcripts).index(record.contig) if record.contig in transcripts else 99, record.start) for record in records]
expect(places == sorted(places), "the BAM is not sorted")
expect(len(used) >= 230, f"only {len(used)} of 240 reads are mapped")
truth = {record.name: record.contig for record in bam("rna.bam")}
expect(all(truth[record.name] == record.contig for record in used), "reads lie on other transcripts than they come from")

# ---- counts per transcript
rows = {row["contig"]: row for row in table("counts.tsv")}
expect(list(rows) == list(transcripts), "transcripts of the table")
to_end = full = 0
along: Counter = Counter()
for name, bases in transcripts.items():
    own = [record for record in first if record.contig == name]
    ends = [record for record in own if record.end >= len(bases) - 50]
    whole = [record for record in ends if record.start <= 50]
    to_end, full = to_end + len(ends), full + len(whole)
    for record in own:
        along.update(place * 20 // len(bases) for place, _ in record.columns)
    wanted = [len(own), sum(record.mapq >= 10 for record in own), sum(record.is_reverse for record in own), len(ends), len(whole)]
    got = [int(rows[name][column]) for column in ("reads", "confident_reads", "antisense_reads", "reads_to_3_end", "full_length_reads")]
    expect(got == wanted, f"counts of {name}: {got}, not {wanted}")
    depth = sum(len(record.columns) for record in own) / len(bases)
    expect(abs(float(rows[name]["mean_coverage"]) - depth) < 1e-9, f"coverage of {name}")
    simulated = sum(contig == name for contig in truth.values())
    expect(abs(len(own) - simulated) <= 2, f"{name}: {len(own)} reads, {simulated} were simulated")
found = figures("report.json")
reached = found["reads to the 3' end"]
expect((reached["part"], reached["whole"]) == (to_end, len(first)), f"3' ends: {reached}")
expect(found["full-length reads"]["part"] == full, "full-length reads of the report")
expect(found["transcripts with reads"]["part"] == 6, "transcripts with reads of the report")
shown = {row["name"]: row["amount"] for row in found["reads per transcript"]["rows"]}
expect(shown == {name: int(row["reads"]) for name, row in rows.items() if int(row["reads"]) > 0}, f"reads per transcript of the report: {shown}")
expect({index: number for index, number in found["coverage along transcripts"]["classes"]} == along, "coverage along transcripts of the report")

# ---- modifications at DRACH sites
counts: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
for record in used:
    expect(not record.is_reverse, f"{record.name} is antisense")
    reference = transcripts[record.contig]
    for place, base in record.columns:
        if place >= 2 and is_drach(reference[place - 2 : place + 3]) and record.bases[base] == "A":
            counts[record.contig, place][0 if base in modified[record.name] else 1] += 1
got_sites = {}
with open("sites.bed") as file:
    for line in file:
        fields = line.rstrip("\n").split("\t")
        expect(fields[3].split(",")[0] == "a" and fields[5] == "+", f"a row of the sites: {line}")
        got_sites[fields[0], int(fields[1])] = [int(fields[11]), int(fields[12])]
expect(len(counts) > 50, f"only {len(counts)} DRACH sites")
expect({site: numbers for site, numbers in got_sites.items() if sum(numbers) > 0} == dict(counts), "modifications at DRACH sites")

# ---- read ends and tails
rows_of_reads = {row["read_id"]: row for row in table("ends.tsv")}
expect(set(rows_of_reads) == {record.name for record in used}, "reads of the table of ends")
for record in used:
    row = rows_of_reads[record.name]
    wanted = [record.contig, str(record.start), str(record.end), "0", str(record.mapq), str(record.tags["pti"])]
    got = [row[column] for column in ("contig", "ref_start", "ref_end", "is_reverse", "mapq", "basecaller_poly_a")]
    expect(got == wanted, f"ends of {record.name}: {got}, not {wanted}")

# ---- what m6anet and xpore read: as eventalign makes it of the BAM, but for the order of reads and their numbers
for form in ("m6anet", "xpore"):
    os.mkdir("eventalign_" + form)
    run("eventalign", "--signal", "rna.blow5", "--alignments", "rna_mapped.bam", "--reference", "transcripts.fa", "--kmer-model-size", "5", "--min-mapq", "10", "--format", form,
        "--output", "eventalign_" + form)


def m6anet_sites(folder: str) -> dict[tuple[str, str, str], list]:
    sites = {}
    with open(folder + "/data.json", "rb") as data, open(folder + "/data.info") as info:
        text = data.read()
        for line in info.readlines()[1:]:
            contig, place, begin, end, reads = line.strip().split(",")
            site = json.loads(text[int(begin) : int(end)])
            (word, features), = site[contig][place].items()
            expect(len(features) == int(reads), f"{folder}: reads of {contig}:{place}")
            sites[contig, place, word] = sorted(one[:9] for one in features)
    return sites


expect(len(m6anet_sites("m6anet")) > 20, f"m6anet: {len(m6anet_sites('m6anet'))} sites")
expect(m6anet_sites("m6anet") == m6anet_sites("eventalign_m6anet"), "m6anet: other sites than those of eventalign")


def xpore_sites(folder: str) -> dict[str, dict]:
    sites = {}
    with open(folder + "/data.json", "rb") as data, open(folder + "/data.index") as index:
        text = data.read()
        for line in index.readlines()[1:]:
            contig, begin, end = line.strip().split(",")
            sites[contig] = {place: {word: sorted(means) for word, means in words.items()} for place, words in json.loads(text[int(begin) : int(end)])[contig].items()}
    return sites


expect(xpore_sites("xpore") == xpore_sites("eventalign_xpore") and len(xpore_sites("xpore")) == 6, "xpore: other sites than those of eventalign")
with open("xpore/data.readcount") as ours, open("eventalign_xpore/data.readcount") as theirs:
    expect(sorted(ours) == sorted(theirs), "xpore: other numbers of reads")

# ---- what nanocompore reads: medians and times of the table's samples, as its own preparation makes them (sums and medians of the text's numbers)
run("eventalign", "--signal", "rna.blow5", "--alignments", "rna_mapped.bam", "--reference", "transcripts.fa", "--output", "collapsed.sqlite")
run("eventalign", "--signal", "rna.blow5", "--alignments", "rna_mapped.bam", "--reference", "transcripts.fa", "--samples", "--scale-events", "--print-read-names", "--output", "samples.tsv")
wanted_reads: dict[str, dict] = {}
with open("samples.tsv") as file:
    next(file)
    for line in file:
        fields = line.rstrip("\n").split("\t")
        read = wanted_reads.setdefault(fields[3], {"contig": fields[0], "samples": defaultdict(list), "seconds": defaultdict(float), "invalid": set()})
        place = int(fields[1])
        read["samples"][place] += [float(sample) for sample in fields[13].split(",")]
        read["seconds"][place] += float(fields[8])
        if fields[2] != fields[9]:
            read["invalid"].add(place)
run("synthetic_reference", "--length", "2000001", "--seed", "3", "--output", "chromosome.fa")
with open("genome.fa", "w") as file:
    for name in ("transcripts.fa", "chromosome.fa"):
        with open(name) as part:
            file.write(part.read().replace(">synthetic_1", ">chromosome") if name == "chromosome.fa" else part.read())
refused = subprocess.run([program, "eventalign", "--signal", "rna.blow5", "--alignments", "rna_mapped.bam", "--reference", "genome.fa", "--output", "genome.sqlite"], capture_output=True, text=True)
expect(refused.returncode != 0 and "align the reads to transcripts" in refused.stderr, f"a genome for nanocompore: {refused.returncode}, {refused.stderr}")
expect(not os.path.exists("genome.sqlite"), "a genome for nanocompore: an output")
base = sqlite3.connect("collapsed.sqlite")
expect(base.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the database is damaged")
expect(base.execute("PRAGMA page_size").fetchone() == (65536,), "pages of the database")
indexes = {name for name, in base.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
expect(indexes == {"sqlite_autoindex_transcripts_1", "reads_id_index", "signal_data_index"}, f"indexes of the database: {indexes}")
collapsed = base.execute(
    "SELECT reads.read, transcripts.name, reads.invalid_kmers, intensity, dwell FROM signal_data JOIN reads ON reads.id = read_id JOIN transcripts ON transcripts.id = transcript_id"
).fetchall()
expect(sorted(row[0] for row in collapsed) == sorted(wanted_reads) and len(collapsed) > 200, f"reads of the database: {len(collapsed)} of {len(wanted_reads)}")
as_float = struct.Struct("<f")
for name, contig, invalid, intensity, dwell in collapsed:
    read = wanted_reads[name]
    places = sorted(read["samples"])
    span = places[-1] - places[0] + 1
    expect(contig == read["contig"] and invalid == (span - (len(places) - len(read["invalid"]))) / span, f"{name}: {contig}, {invalid} invalid")
    for blob, value_of in ((intensity, lambda place: statistics.median(read["samples"][place])), (dwell, lambda place: read["seconds"][place])):
        expect(len(blob) == 4 * len(transcripts[contig]), f"{name}: {len(blob)} bytes")
        values = struct.unpack(f"<{len(blob) // 4}f", blob)
        expect([place for place, value in enumerate(values) if value == value] == places, f"positions of {name}")
        for place in places:
            expect(values[place] == as_float.unpack(as_float.pack(value_of(place)))[0], f"{name} at {place}: {values[place]}, not {value_of(place)}")
base.close()

# ---- the same bytes with other threads and batches
outputs = ["rna_mapped.bam", "counts.tsv", "sites.bed", "ends.tsv", "m6anet/data.json", "m6anet/data.info", "xpore/data.json", "xpore/data.index", "xpore/data.readcount"]
before = [open(path, "rb").read() for path in outputs]
run("direct_rna", *everything, "--threads", "1", "--batch-work", "20000")
for path, content in zip(outputs, before):
    expect(open(path, "rb").read() == content or path.endswith(".bam"), f"{path}: other bytes by one thread")

# ---- a genome: every transcript has two introns, every second gene lies on the reverse strand
run("synthetic_reference", "--length", "9000", "--contigs", "1", "--seed", "5", "--output", "between.fa")
between = next(iter(fasta("between.fa").values()))
complement = str.maketrans("ACGT", "TGCA")
genome, introns_of, known = "", {}, []
for number, (name, bases) in enumerate(transcripts.items()):
    stretch = between[1500 * number : 1500 * number + 1400]
    intron_texts = ["GTAAGT" + stretch[:300] + "TTTCAG", "GTGAGT" + stretch[300 : 900 + 50 * number] + "CCCTAG"]
    gene = bases[:400] + intron_texts[0] + bases[400:800] + intron_texts[1] + bases[800:]
    introns = [(400, 400 + len(intron_texts[0])), (800 + len(intron_texts[0]), 800 + sum(map(len, intron_texts)))]
    strand = "+" if number % 2 == 0 else "-"
    if strand == "-":
        gene = gene.translate(complement)[::-1]
        introns = [(len(gene) - end, len(gene) - begin) for begin, end in introns]
    genome += stretch[900:1300]
    introns_of[name] = [(begin + len(genome), end + len(genome), strand) for begin, end in introns]
    if number < 4:
        known += sorted(introns_of[name])[:1]
    genome += gene
write_fasta("genome.fa", {"genome": genome})
with open("known.bed", "w") as file:
    file.writelines(f"genome\t{begin}\t{end}\tintron\t0\t{strand}\n" for begin, end, strand in known)
run("direct_rna", "--preset", "splice", "--reference", "genome.fa", "--reads", "calls.sam", "--output", "genome.bam", "--junctions", "junctions.bed", "--junc-bed", "known.bed",
    "--sites", "genome_sites.bed", "--report", "genome.json")
seen: Counter = Counter()
genome_records = [record for record in bam("genome.bam") if not record.flag & 0x904 and record.mapq >= 10]
for record in genome_records:
    if "tsA" in record.tags:
        strand = "-" if (record.tags["tsA"] == "-") != record.is_reverse else "+"
        seen.update((begin, end, strand) for begin, end in record.introns)
got_junctions = {}
with open("junctions.bed") as file:
    lines = [line.rstrip("\n").split("\t") for line in file]
for contig, begin, end, ends, score, strand, reads, is_known in lines:
    place = (int(begin), int(end), strand)
    got_junctions[place] = int(reads)
    expect(is_known == str(int(place in known)), f"known or not: {place}")
    text = genome[place[0] : place[1]] if strand == "+" else genome[place[0] : place[1]].translate(complement)[::-1]
    expect(ends == f"{text[:2]}-{text[-2:]}" and (score == "6") == (ends == "GT-AG"), f"ends of {place}: {ends} {score}")
expect(got_junctions == dict(seen), "junctions are not those of the BAM")
expect([line[:3] for line in lines] == sorted([line[:3] for line in lines], key=lambda line: (line[0], int(line[1]), int(line[2]))), "junctions are not sorted")
true_introns = {intron for introns in introns_of.values() for intron in introns}
across = Counter()
for record in bam("rna.bam"):
    ordered = sorted(introns_of[record.contig], reverse=introns_of[record.contig][0][2] == "-")
    for intron, border in zip(ordered, (400, 800)):
        across[intron] += record.start < border - 30 and record.end > border + 30
for intron in true_introns:
    expect(0.9 * across[intron] <= got_junctions.get(intron, 0) <= across[intron] + 12, f"intron {intron}: {got_junctions.get(intron)} reads of {across[intron]}")
expect(sum(got_junctions[intron] for intron in true_introns) >= 0.97 * sum(got_junctions.values()), "too many junctions that are none")
found = figures("genome.json")
expect(found["junctions"]["amount"] == len(got_junctions), "junctions of the report")
expect([found["known junctions"][key] for key in ("part", "whole")] == [len([place for place in known if place in got_junctions]), len(got_junctions)], "known junctions of the report")

# ---- modifications across introns, on the strand of the transcript; introns count as nothing
counts = defaultdict(lambda: [0, 0])
for record in genome_records:
    length = len(record.bases)
    for place, base in record.columns:
        word = genome[place - 2 : place + 3]
        if record.is_reverse:
            word = word.translate(complement)[::-1]
        if is_drach(word) and record.bases[base] == ("T" if record.is_reverse else "A"):
            read_base = length - 1 - base if record.is_reverse else base
            counts[place, "-" if record.is_reverse else "+"][0 if read_base in modified[record.name] else 1] += 1
got_sites = {}
with open("genome_sites.bed") as file:
    for line in file:
        fields = line.rstrip("\n").split("\t")
        got_sites[int(fields[1]), fields[5]] = [int(fields[11]), int(fields[12])]
expect(len({strand for _, strand in counts}) == 2, "DRACH sites on one strand only")
expect({site: numbers for site, numbers in got_sites.items() if sum(numbers) > 0} == dict(counts), "modifications at DRACH sites of the genome")

# ---- the same by pileup, of the sorted BAM, with two motifs of which every site of the first is one of the second
run("pileup", "--alignments", "genome.bam", "--reference", "genome.fa", "--motif", "DRACH:2:a,RRACH:2:a", "--min-mapq", "10", "--output", "both.bed")
of_motif: dict[str, dict[tuple[int, str], list[int]]] = {"DRACH": {}, "RRACH": {}}
with open("both.bed") as file:
    for line in file:
        fields = line.rstrip("\n").split("\t")
        of_motif[fields[3].split(",")[1]][int(fields[1]), fields[5]] = [int(fields[11]), int(fields[12])]
expect(of_motif["DRACH"] == got_sites, "pileup counts other modifications at DRACH sites than direct_rna")
rrach = {site: numbers for site, numbers in got_sites.items() if is_rrach(site)}
expect(of_motif["RRACH"] == rrach and len(rrach) > 20, "modifications at RRACH sites of the genome")
print(f"{len(used)} reads, {len(counts)} sites, {len(got_junctions)} junctions")
work.cleanup()
