# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The cases of worst.py: input that is legal but unkind, made by the project's own generators, with a run of sluice and the same of another program.

Sizes are such that the other program takes some seconds. Cases of the same `family` differ by how much there is of the same, the smallest first: worst.py
prints how time grows."""

import dataclasses
import functools
import os
import shlex
import shutil
import struct
import subprocess
import typing


class Missing(Exception):
    """A program that a case needs is not there."""


@dataclasses.dataclass
class Run:
    """What is timed. `ours`: pipeline and options, without output, threads and device. `peer` gives the words of a command that writes to its standard
    output, and raises Missing. `units`: how many of `unit` the input has. `folder`: where both run."""

    ours: list
    peer: typing.Callable | None = None
    units: float = 0
    unit: str = ""
    output: str = "output"
    folder: str | None = None


@dataclasses.dataclass
class Case:
    """`stage/name`, the program it is compared with, and what makes its input."""

    name: str
    program: str
    make: typing.Callable
    family: str = ""


class Inputs:
    """Makes input files, each once. `threads` is for the peers' commands."""

    def __init__(self, folder, sluice, tools, peers, threads):
        self.folder, self.sluice, self.tools, self.threads = folder, sluice, tools, str(threads)
        self.path = os.pathsep.join([peers, os.environ["PATH"]]) if peers else os.environ["PATH"]
        self._made = {}

    def once(self, name, make):
        """The path of the file `name`, which `make` is called for (with that path) if it is not there yet."""
        path = os.path.join(self.folder, name)
        if name not in self._made:
            make(path)
            self._made[name] = path
        return path

    def tool(self, name):
        path = os.path.join(self.tools, name)
        if not os.access(path, os.X_OK):
            raise Missing(f"no {name}")
        return path

    def peer(self, name):
        path = shutil.which(name, path=self.path)
        if path is None:
            raise Missing(f"no {name}")
        return path

    def call(self, command, output=os.devnull, source=os.devnull):
        with open(source, "rb") as read, open(output, "wb") as written:
            subprocess.run(command, stdin=read, stdout=written, stderr=subprocess.DEVNULL, check=True)

    def run(self, pipeline, *options):
        self.call([*self.sluice, pipeline, "--quiet", "--device", "cpu", *options])

    def made(self, kind, *numbers, source=os.devnull):
        """What make_test_input writes. racon wants to know the format by the file's name."""
        words = [kind, *map(str, numbers)]
        ending = ".fq" if kind == "noisy_reads" else ".fa"
        return self.once("_".join(words) + ("" if source == os.devnull else "_" + os.path.basename(source)) + ending, lambda path: self.call([self.tool("make_test_input"), *words], path, source))

    def reference(self, name, *options):
        return self.once(name + ".fa", lambda path: self.run("synthetic_reference", "--output", path, *options))

    def reads(self, name, reference, *options):
        """Simulated bases without signal, as FASTQ."""

        def make(path):
            stages = [word for stage in ("signal_file", "alignment_file", "truth_files") for word in ("--set", f"stages.{stage}.enabled=false")]
            self.run("simulate", "--reference", reference, "--error-rate", "0.08", "--output-prefix", path, *stages, *options)
            self.call(["gzip", "-dc", path + ".fastq.gz"], path)
            os.remove(path + ".fastq.gz")

        return self.once(name + ".fq", make)

    def signal(self, name, reference, *options):
        """Simulated signal; the path has to be followed by .blow5, .fastq.gz, .bam."""
        return self.once(name, lambda path: self.run("simulate", "--reference", reference, "--signal-compression", "none", "--output-prefix", path, *options))

    def one_long_read(self, reference):
        """All of a reference, with 6 errors a line."""
        return self.made("one_long_read", 1, 6, source=reference)

    def draft(self, seed, bases):
        """A contig with 6 % errors of the genome that `made("noisy_reads", seed, bases, ...)` is of."""

        def make(path):
            # One read as long as the genome, whatever is drawn.
            with open(self.made("noisy_reads", seed, bases, 1, 2 * bases, 60000)) as read, open(path, "w") as out:
                out.write(">contig\n" + read.readlines()[1])

        return self.once(f"draft_{seed}_{bases}.fa", make)

    def overlaps(self, targets, reads):
        name = f"overlaps_{os.path.basename(targets)}_{os.path.basename(reads)}.paf"
        return self.once(name, lambda path: self.run("map", "--reference", targets, "--reads", reads, "--output", path))

    def in_order(self, reference, signal):
        """Reads of `signal` mapped, sorted BAM with an index."""
        return self.once(os.path.basename(signal) + "_mapped.bam", lambda path: self.run(
            "map", "--reference", reference, "--reads", signal + ".fastq.gz", "--format", "bam", "--sort", "--output", path))


def shell(*commands):
    """Commands one after the other, each a list of words or (words, file that its output goes to)."""
    parts = [shlex.join(c[0]) + " >" + shlex.quote(c[1]) if isinstance(c, tuple) else shlex.join(c) for c in commands]
    return ["sh", "-c", " && ".join(parts)]


# ---- polish and correct, beside racon

def polished(inputs, targets, reads, units, unit="reads"):
    overlaps = inputs.overlaps(targets, reads)
    return Run(["polish", "--compat", "racon", "--targets", targets, "--reads", reads, "--overlaps", overlaps],
               lambda: [inputs.peer("racon"), "-t", inputs.threads, reads, overlaps, targets], units, unit)


def polish_at_coverage(inputs, coverage, errors=80000):
    bases, length = 50_000, 4_000
    count = bases * coverage // length
    return polished(inputs, inputs.draft(1, bases), inputs.made("noisy_reads", 1, bases, count, length, errors), count)


def polish_repeats(inputs, name, unit_length):
    reference = repeats(inputs, name, unit_length)
    return polished(inputs, reference, repeat_reads(inputs, name, unit_length, 150), 150)


def polish_with_mapping(inputs):
    bases, count = 25_000, 750
    targets, reads = inputs.draft(1, bases), inputs.made("noisy_reads", 1, bases, count, 2_000, 80000)
    overlaps = os.path.join(inputs.folder, "peer_overlaps.paf")
    return Run(["polish", "--targets", targets, "--reads", reads], lambda: shell(
        ([inputs.peer("minimap2"), "-x", "map-ont", "-t", inputs.threads, targets, reads], overlaps),
        [inputs.peer("racon"), "-t", inputs.threads, reads, overlaps, targets]), count, "reads")


def amplicons(inputs, count, bases):
    """Reads that all lie over the whole of one amplicon."""
    return inputs.made("noisy_reads", 1, bases, count, 2 * bases, 80000)


def corrected(inputs, reads, count, with_peer, *options):
    overlaps = os.path.join(inputs.folder, "peer_overlaps.paf")
    return Run(["correct", "--reads", reads, *options], (lambda: shell(
        ([inputs.peer("minimap2"), "-x", "ava-ont", "--dual=yes", "-t", inputs.threads, reads, reads], overlaps),
        [inputs.peer("racon"), "-f", "-t", inputs.threads, reads, overlaps, reads])) if with_peer else None, count, "reads")


# ---- windows, beside spoa

def windows(inputs, path, sequences, alignment="global"):
    return Run(["consensus", "--windows", path, "--alignment", alignment],
               lambda: ["sh", "-c", shlex.join([inputs.tool("spoa_windows"), "consensus", alignment, "5", "-4", "-8", "-8", "-8", "-8"]) + " <" + shlex.quote(path)],
               sequences, "sequences")


def deep_windows(inputs, count, copies, bases=500):
    return windows(inputs, inputs.made("window_class", 1, count, copies, copies, bases, bases, 100_000), count * copies)


def ragged_windows(inputs, count, copies, unit, alignment="global"):
    return windows(inputs, inputs.made("ragged_windows", 1, count, copies, 500, 100_000, unit), count * copies, alignment)


# ---- mapping and overlaps, beside minimap2

def repeats(inputs, name, unit_length):
    """A reference of which half are arrays of a unit."""
    return inputs.reference(name, "--length", "250000", "--tandem-repeats", "0.5", "--tandem-unit-length", unit_length)


def repeat_reads(inputs, name, unit_length, count):
    return inputs.reads(f"{name}_{count}", repeats(inputs, name, unit_length), "--reads", str(count), "--mean-length", "4000")


def plain(inputs):
    return inputs.reference("plain", "--length", "1500000", "--seed", "3")


def contigs(inputs):
    return inputs.reference("contigs", "--length", "2000", "--contigs", "10000")


def mapped(inputs, reference, reads, form, preset="map-ont"):
    """`reads`: one path or several."""
    reads = [reads] if isinstance(reads, str) else reads
    return Run(["map", "--allow-empty", "--preset", preset, "--format", form, "--reference", reference, *(word for path in reads for word in ("--reads", path))],
               lambda: [inputs.peer("minimap2"), "-x", preset, *(["-a"] if form == "sam" else []), "-t", inputs.threads, reference, *reads])


def overlapped(inputs, reads, units=0, unit=""):
    return Run(["overlap", "--allow-empty", "--reads", reads], lambda: [inputs.peer("minimap2"), "-x", "ava-ont", "-t", inputs.threads, reads, reads], units, unit)


def drawn(inputs, kind, number, bases):
    """A case of the sweep of mapping, without the sizes of batches that it draws, and with the peer's own heuristics where ours can't be others."""
    folder = os.path.join(inputs.folder, f"{kind}_{number}")
    os.makedirs(folder, exist_ok=True)
    inputs.call([inputs.tool("sweep_mapping_case"), kind, "1", str(number), str(bases), folder])
    reads = next(name for name in ("reads.fq", "reads.fa") if os.path.exists(os.path.join(folder, name)))
    with open(os.path.join(folder, "options")) as options:
        theirs, ours = (shlex.split(line) for line in options)
    if ours[-2] in ("--threads", "--batch-work", "--memory"):
        ours = ours[:-2]
    if kind == "make-overlaps":
        theirs.remove("--max-chain-skip=1000000")
        files, target = ["--reads", reads], [reads, reads]
    else:
        files, target = ["--reference", "reference.fa", "--reads", reads], ["reference.fa", reads]
    return Run([ours[0], "--allow-empty", *ours[1:], *files], lambda: [inputs.peer("minimap2"), "-t", inputs.threads, *theirs, *target], folder=folder)


# ---- exact matches, beside bwa

def seeded(inputs, reference, reads, least=12):
    index, theirs = reference + ".index", reference + ".bwa"
    inputs.once(os.path.basename(index), lambda path: inputs.run("seed", "--reference", reference, "--text", "both", "--reads", reads, "--save-index", path, "--output", os.devnull))

    def peer():
        inputs.once(os.path.basename(theirs), lambda path: inputs.call([inputs.peer("bwa"), "index", "-p", path, reference]))
        return [inputs.peer("bwa"), "fastmap", "-l", str(least), theirs, reads]

    return Run(["seed", "--reference", index, "--reads", reads, "--format", "fastmap", "--min-length", str(least)], peer)


# ---- signal, beside nanopolish

def blow5_of_both(first, second, path):
    """One BLOW5 file with the records of two of the same header."""

    def parts(source):
        with open(source, "rb") as file:
            content = file.read()
        header = 68 + struct.unpack("<I", content[64:68])[0]
        return content[:header], content[header:-5], content[-5:]  # the last five letters say that the file ends

    head, records, end = parts(first)
    with open(path, "wb") as out:
        out.write(head + records + parts(second)[1] + end)


def one_long_among_short(inputs):
    """Signal of 200 short reads and of one of 1.5 Mb."""
    reference = plain(inputs)
    short = inputs.signal("short_signal", reference, "--reads", "200", "--mean-length", "1500")
    long = inputs.signal("long_signal", reference, "--reads", "1", "--mean-length", "1500000", "--length-distribution", "fixed", "--seed", "7")

    def make(path):
        blow5_of_both(short + ".blow5", long + ".blow5", path + ".blow5")
        inputs.call(["cat", short + ".fastq.gz", long + ".fastq.gz"], path + ".fastq.gz")

    return reference, inputs.once("long_among_short", make)


def with_signal(inputs, pipeline, reference, signal, *options):
    reads, alignments = signal + ".fastq.gz", inputs.in_order(reference, signal)
    ours = ["--signal", signal + ".blow5", "--reads", reads, "--alignments", alignments, "--reference", reference, *options]
    # Indexes are made before the clock starts.
    inputs.run(pipeline, *ours, "--output", os.devnull)

    def peer():
        nanopolish = inputs.peer("nanopolish")
        inputs.once(os.path.basename(signal) + "_indexed", lambda _: inputs.call([nanopolish, "index", "--slow5", signal + ".blow5", reads]))
        command = {"methylation": "call-methylation", "eventalign": "eventalign"}[pipeline]
        return [nanopolish, command, "-t", inputs.threads, "-r", reads, "-b", alignments, "-g", reference]

    return Run([pipeline, *ours], peer)


def short_signal(inputs, pipeline):
    reference = plain(inputs)
    return with_signal(inputs, pipeline, reference, inputs.signal("shortest_signal", reference, "--reads", "2000", "--mean-length", "250", "--minimum-length", "100"))


def signal_of_contigs(inputs, pipeline):
    return with_signal(inputs, pipeline, contigs(inputs), inputs.signal("contigs_signal", contigs(inputs), "--reads", "1000", "--mean-length", "1500"))


def dense_sites(inputs):
    reference = inputs.reference("dense", "--length", "200000", "--gc-content", "0.95")
    return with_signal(inputs, "methylation", reference, inputs.signal("dense_signal", reference, "--reads", "100", "--mean-length", "4000"))


# ---- sorting, beside samtools

def sorted_case(inputs, records, mean, count, bases):
    """Both keep 512 MB of records in memory, of which there are less, and write an index."""
    words = list(map(str, (records, mean, count, bases, 1)))
    alignments = inputs.once("_".join(["alignments", *words]) + ".bam", lambda path: inputs.call([inputs.tool("make_alignments"), path, *words]))
    theirs = os.path.join(inputs.folder, "peer_sorted.bam")
    return Run(["sort", "--alignments", alignments, "--memory", "1GiB"], lambda: [inputs.peer("samtools"), "sort", "--write-index", "-m", "512M", "-@", str(int(inputs.threads) - 1), "-o",
               theirs + "##idx##" + theirs + ".bai", alignments], records, "records", "output.bam")


def table():
    """All cases, in the order in which they are run."""
    part = functools.partial
    long_read = lambda i: [i.one_long_read(plain(i)), i.reads("plain_1000", plain(i), "--reads", "1000", "--mean-length", "3000")]
    satellites = ("satellites", "171")
    low = ("low_complexity", "1..6")
    cases = [
        *(Case(f"polish/{c}-fold", "racon", part(polish_at_coverage, coverage=c), "polish") for c in (30, 60, 120, 240)),
        Case("polish/20 % errors", "racon", part(polish_at_coverage, coverage=60, errors=200_000)),
        Case("polish/satellites", "racon", lambda i: polish_repeats(i, *satellites)),
        Case("polish/low complexity", "racon", lambda i: polish_repeats(i, *low)),
        Case("polish/with mapping 60-fold", "minimap2, racon", polish_with_mapping),
        Case("correct/20 amplicon reads", "minimap2, racon -f", lambda i: corrected(i, amplicons(i, 20, 2_000), 20, True), "correct"),
        Case("correct/40 amplicon reads", "minimap2, racon -f", lambda i: corrected(i, amplicons(i, 40, 2_000), 40, True), "correct"),
        Case("correct/200 amplicon reads", "", lambda i: corrected(i, amplicons(i, 200, 2_000), 200, False), "correct"),
        Case("correct/400 amplicon reads", "", lambda i: corrected(i, amplicons(i, 400, 2_000), 400, False), "correct"),
        *(Case(f"correct/{n} amplicon reads by 40", "", lambda i, n=n: corrected(i, amplicons(i, n, 2_000), n, False, "--max-coverage", "40"), "correct by 40")
          for n in (200, 400)),
        Case("correct/satellites", "", lambda i: corrected(i, repeat_reads(i, *satellites, 150), 150, False)),
        *(Case(f"consensus/{copies} deep", "spoa", part(deep_windows, count=count, copies=copies), "consensus")
          for count, copies in ((100, 30), (40, 100), (6, 500), (3, 1000))),
        Case("consensus/4 kb long", "spoa", lambda i: deep_windows(i, 2, 20, 4_000)),
        Case("consensus/ragged 1000 deep", "spoa", lambda i: ragged_windows(i, 3, 1000, 0)),
        Case("consensus/ragged local", "spoa", lambda i: ragged_windows(i, 3, 1000, 0, "local")),
        Case("consensus/ragged satellites", "spoa", lambda i: ragged_windows(i, 3, 1000, 171)),
        Case("consensus/ragged three letters", "spoa", lambda i: ragged_windows(i, 6, 1000, 3)),
        *(Case(f"overlap/{count} amplicon reads", "minimap2", lambda i, n=count: overlapped(i, amplicons(i, n, 3_000), n, "reads"), "overlap")
          for count in (100, 200, 400)),
        Case("overlap/satellites", "minimap2", lambda i: overlapped(i, repeat_reads(i, *satellites, 150))),
        Case("overlap/low complexity", "minimap2", lambda i: overlapped(i, repeat_reads(i, *low, 50))),
        *(Case(f"overlap/drawn {n}", "minimap2", lambda i, n=n: drawn(i, "make-overlaps", n, 1_000_000)) for n in (0, 3, 6)),
        *(Case(f"map/{name} to {form}", "minimap2", lambda i, make=make, form=form: mapped(i, *make(i), form)) for name, make in {
            "ten thousand contigs": lambda i: (contigs(i), i.reads("contigs_5000", contigs(i), "--reads", "5000", "--mean-length", "1500")),
            "one read of 1.5 Mb": lambda i: (plain(i), long_read(i)),
            "reads of 100 bases": lambda i: (plain(i), i.reads("plain_100", plain(i), "--reads", "40000", "--mean-length", "100", "--minimum-length", "50")),
            "satellites": lambda i: (repeats(i, *satellites), repeat_reads(i, *satellites, 150)),
            "low complexity": lambda i: (repeats(i, *low), repeat_reads(i, *low, 50)),
            "hostile": lambda i: (i.made("hostile_genome", 1, 1_000_000), i.made("hostile_reads", 1, 1_000_000)),
        }.items() for form in ("paf", "sam")),
        *(Case(f"map/low complexity by {preset}", "minimap2", lambda i, p=preset: mapped(i, repeats(i, *low), repeat_reads(i, *low, 50), "sam", p))
          for preset in ("map-pb", "map-hifi", "asm20", "splice")),
        *(Case(f"map/drawn {n}", "minimap2", lambda i, n=n: drawn(i, "make", n, 8_000_000 if n in (9, 13, 20) else 1_000_000)) for n in range(21)),
        *(Case(f"map/drawn introns {n}", "minimap2", lambda i, n=n: drawn(i, "make-spliced", n, 500_000)) for n in range(4)),
        Case("seed/low complexity", "bwa fastmap", lambda i: seeded(i, repeats(i, *low), repeat_reads(i, *low, 400))),
        Case("seed/satellites", "bwa fastmap", lambda i: seeded(i, repeats(i, *satellites), repeat_reads(i, *satellites, 400))),
        Case("seed/one read of 1.5 Mb", "bwa fastmap", lambda i: seeded(i, plain(i), i.one_long_read(plain(i)))),
        Case("seed/reads of 100 bases", "bwa fastmap",
             lambda i: seeded(i, plain(i), i.reads("plain_100", plain(i), "--reads", "40000", "--mean-length", "100", "--minimum-length", "50"))),
        *(Case(f"{pipeline}/one read of 1.5 Mb", "nanopolish", lambda i, p=pipeline: with_signal(i, p, *one_long_among_short(i))) for pipeline in ("methylation", "eventalign")),
        *(Case(f"{pipeline}/reads of 250 bases", "nanopolish", part(short_signal, pipeline=pipeline)) for pipeline in ("methylation", "eventalign")),
        *(Case(f"{pipeline}/ten thousand contigs", "nanopolish", part(signal_of_contigs, pipeline=pipeline)) for pipeline in ("methylation", "eventalign")),
        Case("methylation/95 % GC", "nanopolish", dense_sites),
        Case("sort/ties", "samtools", lambda i: sorted_case(i, 300_000, 100, 3, 60)),
        Case("sort/ten thousand contigs", "samtools", lambda i: sorted_case(i, 100_000, 300, 10_000, 2_000)),
        Case("sort/few long", "samtools", lambda i: sorted_case(i, 40, 1_000_000, 2, 10_000_000)),
    ]
    return cases
