#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Every option of every shipped pipeline that takes a file, in every form that it takes: cut, empty, beside an empty one, and through what can be read
only once.

A cut input is an error; or, as nothing marks the end of plain text, a warning, unless a line ends there. Through a pipe or a FIFO an input gives the
bytes that the file gives. An empty one is an error or a warning, and one beside others in a folder leaves their bytes as they are. Warnings come with
--quiet, too.

    whole_inputs.py SLUICE LIBSLUICE SIGNAL_AS_POD5 [all | PIPELINE.OPTION ...]

`all`: each form is cut at fifty places (at five where other options have the same reader), and goes through all that can be read only once; so are
those of the options that are named. Else every form has its turn with some of these (4,000 runs are 8 minutes, 600 are 1).
"""

import ctypes
import gzip
import json
import logging
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable

PLACES, FEWER_PLACES = 50, 5


def bgzf(text: bytes, block_bytes: int = 1500) -> bytes:
    """Blocks as `bgzip` writes them, smaller, so that there are several."""
    blocks = b""
    for begin in [*range(0, len(text), block_bytes), len(text)]:
        block = text[begin : begin + block_bytes] if begin < len(text) else b""
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(block) + packer.flush()
        blocks += b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(packed) + 25) + packed
        blocks += struct.pack("<II", zlib.crc32(block), len(block))
    return blocks


class Input:
    """A file of some form. Plain text has lines that nothing marks the end of."""

    def __init__(self, path: str, is_text: bool = False):
        self.path, self.is_text = path, is_text
        with open(path, "rb") as file:
            self.bytes = file.read()

    def ends_line(self, size: int) -> bool:
        return self.is_text and (size == 0 or self.bytes[size - 1 : size] == b"\n")


def write(path: str, content: bytes) -> str:
    with open(path, "wb") as file:
        file.write(content)
    return path


def text_forms(path: str) -> list[Input]:
    with open(path, "rb") as file:
        text = file.read()
    return [Input(path, True), Input(write(path + ".gz", gzip.compress(text, mtime=0))), Input(write(path + ".bgz.gz", bgzf(text)))]


class Warnings(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record):
        self.lines.append(record.getMessage())


program, library, signal_as_pod5 = sys.argv[1:4]
os.environ["SLUICE_LIBRARY"] = library
sys.path.insert(0, os.path.join(os.path.dirname(program), "python"))
import sluice  # noqa: E402  (where to look for it is known now)

warnings = Warnings()
logging.getLogger("sluice").addHandler(warnings)
logging.getLogger("sluice").propagate = False
failures: list[str] = []
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


def make(*arguments: str) -> None:
    subprocess.run([program, "run", *arguments, "--quiet", "--allow-empty"], check=True)


def outcome(pipeline: str, arguments: dict, output: str) -> tuple[str, bytes, list[str]]:
    """What became of a run: ("" or its error), its output without what names the inputs, its warnings."""
    warnings.lines.clear()
    if os.path.exists(output):
        os.remove(output)
    error = ""
    try:
        sluice.run(pipeline, **arguments, threads=1, device="cpu", allow_empty=True)
    except sluice.Error as failure:
        error = str(failure) or "an error without words"
    content = b""
    if os.path.exists(output):
        with open(output, "rb") as file:
            content = file.read()
    return error, without_names_of_inputs(pipeline, output, content), list(warnings.lines)


def without_names_of_inputs(pipeline: str, output: str, content: bytes) -> bytes:
    if output.endswith(".bam") and content:
        content = gzip.decompress(content)
        return content[8 + struct.unpack("<i", content[4:8])[0] :]
    if pipeline == "index":
        return content[512:]  # behind its header, which names it
    column = {"summary": b"filename", "region_modifications": b"sample"}.get(pipeline)
    if column:
        rows = [line.split(b"\t") for line in content.splitlines()]
        named = rows[0].index(column) if rows and column in rows[0] else -1
        return b"\n".join(b"\t".join(row[:named] + row[named + 1 :]) for row in rows) if named >= 0 else content
    return content


# ---- inputs
make("synthetic_reference", "--length", "6000", "--contigs", "2", "--seed", "3", "--output", "ref.fa")
make("simulate", "--reference", "ref.fa", "--reads", "14", "--seed", "3", "--mean-length", "500", "--output-prefix", "r")
make("simulate", "--reference", "ref.fa", "--reads", "6", "--seed", "5", "--mean-length", "500", "--output-prefix", "s")
make("simulate_rna", "--reference", "ref.fa", "--reads", "6", "--seed", "7", "--output-prefix", "rna")
write("rna.fastq", gzip.decompress(Input("rna.fastq.gz").bytes))
write("r.fastq", gzip.decompress(Input("r.fastq.gz").bytes))
for name in ("r.fastq.gz", "r.fastq.gz.fai", "r.fastq.gz.gzi"):
    if os.path.exists(name):
        os.remove(name)
lines = Input("r.fastq").bytes.split(b"\n")
write("r.fa", b"".join(b">" + lines[i][1:] + b"\n" + lines[i + 1] + b"\n" for i in range(0, len(lines) - 3, 4)))
for ending in ("sam", "cram", "paf"):
    make("map", "--reference", "ref.fa", "--reads", "r.fastq", "--output", "m." + ending, "--format", ending, *(["--cigar"] if ending != "paf" else []))
make("overlap", "--reads", "r.fa", "--output", "o.paf")
make("index", "--reference", "ref.fa", "--output", "ref.index")
make("methylation", "--signal", "r.blow5", "--reads", "r.fastq", "--alignments", "r.bam", "--reference", "ref.fa", "--output", "calls.tsv", "--frequency", "freq.tsv",
     "--modbam", "mod.bam")
subprocess.run([signal_as_pod5, "vbz", "r.blow5", "r.pod5"], check=True)
make("pileup", "--alignments", "mod.bam", "--output", "sites.bed")
write("windows.txt", b">a 3\nACGTACGTAA\nACGTACGTA\nACGTACGTAA\n>b 2\nTTTTGGGGCC\nTTTTGGGGC\n")
write("regions.bed", b"synthetic_1\t100\t2000\nsynthetic_2\t500\t5800\n")
write("labels.tsv", b"read_id\tlabel\n" + b"".join(lines[i][1:].split()[0] + (b"\ttarget\n" if i % 8 == 0 else b"\tother\n") for i in range(0, len(lines) - 3, 4)))
make("calibrate_read_until", "--signal", "r.blow5", "--target", "ref.fa", "--labels", "labels.tsv", "--scores", "scores.tsv", "--thresholds", "thresholds.tsv")
os.mkdir("xpore")
write("introns.bed", b"synthetic_1\t300\t900\ta\t6\t+\nsynthetic_2\t1000\t1500\tb\t6\t-\nsynthetic_1\t2000\t3000\tc\t6\t+\t2000\t3000\t0\t2\t100,100,\t0,900,\n")
write("sites.tsv", b"synthetic_1\t300\t+\tD\t12\nsynthetic_1\t900\t+\tA\t10\nsynthetic_2\t1500\t-\tD\t-3\n")
write("conditions.tsv", b"condition\tchannels\tselect\ttargets\none\t1-2\tenrich\tsynthetic_1\ntwo\tother\tcontrol\t.\n")

REFERENCE, READS = text_forms("ref.fa"), text_forms("r.fastq") + text_forms("r.fa")
ALIGNMENTS = [Input("r.bam"), *text_forms("m.sam"), Input("m.cram")]
SIGNAL = [Input("r.blow5"), Input("r.pod5")]
INDEXED = [*REFERENCE, Input("ref.index")]
spliced = {"reference": "ref.fa", "reads": "r.fastq", "output": "out.paf", "preset": "splice", "cigar": True}
calls = {"signal": "r.blow5", "reads": "r.fastq", "alignments": "r.bam", "reference": "ref.fa", "output": "out.tsv"}
classify = {"signal": "r.blow5", "reference": "ref.fa", "output": "out.tsv"}
polish = {"reference": "ref.fa", "reads": "r.fastq", "output": "out.fa"}
flow_cell = {"signal": "r.blow5", "reference": "ref.fa", "output": "out.tsv", "speed": 0, "duration": 3, "channels": 4, "play_again": True, "threshold": 0.3}
calibrate = {"signal": "r.blow5", "reference": "ref.fa", "labels": "labels.tsv", "thresholds": "out.tsv"}

# What a pipeline is run with, and the forms of each of its inputs; with "*" only few places are tried, as other options have the same reader. Behind a
# slash stands what distinguishes several ways of running it.
TABLE: dict[str, tuple[dict, dict[str, list[Input]]]] = {
    "map": ({"reference": "ref.fa", "reads": "r.fastq", "output": "out.paf"}, {"reference": INDEXED, "reads": READS + ALIGNMENTS}),
    "map/splice": (
        spliced,
        {"junc_bed": text_forms("introns.bed"), "jump_bed*": text_forms("introns.bed"), "pass1*": text_forms("introns.bed"), "spsc": text_forms("sites.tsv")},
    ),
    "seed": ({"reference": "ref.fa", "reads": "r.fastq", "output": "out.txt", "min_length": 20}, {"reference": REFERENCE, "reads*": READS + ALIGNMENTS}),
    "index": ({"reference": "ref.fa", "output": "out.index"}, {"reference*": REFERENCE}),
    "overlap": ({"reads": "r.fa", "output": "out.paf"}, {"reads": READS, "reference*": READS}),
    "correct": ({"reads": "r.fastq", "output": "out.fa"}, {"reads*": READS, "overlaps": text_forms("o.paf")}),
    "polish": (polish, {"reference": REFERENCE, "reads*": READS, "overlaps": text_forms("m.paf") + ALIGNMENTS}),
    "consensus": ({"windows": "windows.txt", "output": "out.fa"}, {"windows": text_forms("windows.txt")}),
    "sort": ({"alignments": "r.bam", "output": "out.bam"}, {"alignments": ALIGNMENTS}),
    "pileup": (
        {"alignments": "mod.bam", "output": "out.bed", "filter_percentile": 10},
        {"alignments": [Input("mod.bam")], "reference*": REFERENCE, "include_bed*": text_forms("regions.bed")},
    ),
    "modifications": (
        {"reference": "ref.fa", "reads": "mod.bam", "sites": "out.bed", "output": "out.bam"},
        {"reference*": REFERENCE, "reads*": [Input("mod.bam")], "include_bed*": text_forms("regions.bed")},
    ),
    "direct_rna": (
        {"reference": "ref.fa", "reads": "rna.fastq", "signal": "rna.blow5", "output": "out.bam", "xpore": "xpore"},
        {"reference*": REFERENCE, "reads*": text_forms("rna.fastq"), "signal*": [Input("rna.blow5")]},
    ),
    "modification_calls": (
        {"alignments": "mod.bam", "output": "out.tsv"},
        {"alignments*": [Input("mod.bam")], "include_bed*": text_forms("regions.bed")},
    ),
    "region_modifications": (
        {"regions": "regions.bed", "sites": "sites.bed", "output": "out.tsv"},
        {"regions": text_forms("regions.bed"), "sites*": text_forms("sites.bed")},
    ),
    "methylation": (calls, {"signal": SIGNAL, "reads": READS, "alignments": ALIGNMENTS, "reference": REFERENCE, "bed": text_forms("regions.bed")}),
    "eventalign": (calls, {"signal*": SIGNAL, "reads*": READS, "alignments*": ALIGNMENTS, "reference*": REFERENCE, "bed*": text_forms("regions.bed")}),
    "methylation_from_reads": ({k: v for k, v in calls.items() if k != "alignments"}, {"signal*": SIGNAL, "reads*": READS, "reference*": REFERENCE}),
    "resquiggle": ({"signal": "r.blow5", "reads": "r.fastq", "output": "out.tsv"}, {"signal*": SIGNAL, "reads*": READS}),
    "poly_a": ({"signal": "rna.blow5", "reads": "rna.fastq", "output": "out.tsv"}, {"signal*": [Input("rna.blow5")], "reads*": text_forms("rna.fastq")}),
    "summary": ({"signal": "r.blow5", "reads": "r.fastq", "output": "out.tsv"}, {"signal*": SIGNAL, "reads*": READS}),
    "frequency": ({"calls": "calls.tsv", "output": "out.tsv"}, {"calls": text_forms("calls.tsv"), "frequencies": text_forms("freq.tsv")}),
    "methylation_accuracy": (
        {"calls": "calls.tsv", "site_truth": "r.truth.tsv", "read_truth": "r.truth_reads.tsv", "reference": "ref.fa", "output": "out.json"},
        {"calls*": text_forms("calls.tsv"), "site_truth": text_forms("r.truth.tsv"), "read_truth": text_forms("r.truth_reads.tsv"), "reference*": REFERENCE},
    ),
    "classify_signal": (classify, {"signal*": SIGNAL, "reference*": REFERENCE, "regions": text_forms("regions.bed"), "thresholds": [Input("thresholds.tsv", True)]}),
    "calibrate_read_until": (calibrate, {"signal*": SIGNAL, "reference*": REFERENCE, "labels": [Input("labels.tsv", True)], "other_scores": [Input("scores.tsv", True)]}),
    "read_until": (
        flow_cell,
        {"signal*": SIGNAL, "reference*": REFERENCE, "regions*": text_forms("regions.bed"), "labels": [Input("labels.tsv", True)],
         "conditions": [Input("conditions.tsv", True)], "thresholds*": [Input("thresholds.tsv", True)]},
    ),
    "simulate": ({"reference": "ref.fa", "output_prefix": "out", "reads": 3, "mean_length": 300}, {"reference*": REFERENCE}),
    "simulate_rna": ({"reference": "ref.fa", "output_prefix": "out", "reads": 3}, {"reference*": REFERENCE}),
    "train_kmer_model": ({"signal": "r.blow5", "reads": "r.fastq", "output": "out.model"}, {"signal*": SIGNAL, "reads*": READS}),
    "synthetic_reference": ({}, {}),
}
# Files that are written, models, and an index that another test cuts.
OTHERS = {"follow_order", "junctions", "junction_lines", "save_index", "save_mem_index", "mem_index", "model", "methylation_model", "index"}
# Options that another of the same table gives way to.
INSTEAD = {"frequencies": "calls", "thresholds": "threshold", "other_scores": "labels"}
# An index of several files can't be saved, and an empty file is a window without sequences.
ONE_FILE = {"index", "consensus"}
# What map, which they extend, is tried with.
OF_MAP = {"junc_bed", "jump_bed", "pass1", "spsc"}
# Read with CRAM only, or by map in the same way.
ELSEWHERE = {"modifications": OF_MAP, "direct_rna": OF_MAP, "sort": {"reference"}, "poly_a": {"reference"}, "modification_calls": {"reference"}}


def inputs_of_pipelines() -> dict[tuple[str, str], bool]:
    """The options, and whether each takes several files."""
    engine = ctypes.CDLL(library)
    engine.sluice_engine_new.restype = ctypes.c_void_p
    engine.sluice_engine_describe.restype = ctypes.c_char_p
    described = json.loads(engine.sluice_engine_describe(ctypes.c_void_p(engine.sluice_engine_new(None, 0, None))))
    return {(pipeline["name"], parameter["name"]): parameter["several"] for pipeline in described["pipelines"] for parameter in pipeline["parameters"]
            if parameter["type"] == "path" and parameter["group"] != "output" and parameter["name"] not in OTHERS}


def through_pipe(content: bytes, use) -> None:
    """use(path) while a thread writes what can be read there once."""
    reading, writing = os.pipe()

    def fill():
        try:
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(content)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        use(f"/dev/fd/{reading}", reading)
    finally:
        os.close(reading)
        thread.join()


Use = Callable[[str], None]


def by_descriptor(form: Input, extension: str, use: Use) -> None:
    through_pipe(form.bytes, lambda path, _: use(path))


def by_standard_input(form: Input, extension: str, use: Use) -> None:
    def with_input(_: str, descriptor: int) -> None:
        before = os.dup(0)
        os.dup2(descriptor, 0)
        try:
            use("-")
        finally:
            os.dup2(before, 0)
            os.close(before)

    through_pipe(form.bytes, with_input)


def by_fifo(form: Input, extension: str, use: Use) -> None:
    os.mkfifo("fifo." + extension)
    writer = subprocess.Popen(["cp", form.path, "fifo." + extension])
    use("fifo." + extension)
    os.remove("fifo." + extension)
    writer.terminate()
    writer.wait()


WAYS = [by_descriptor, by_standard_input, by_fifo]


def try_option(pipeline: str, base: dict, option: str, forms: list[Input], places: int, several: bool) -> int:
    output = base.get("output") or base.get("thresholds") or base.get("output_prefix", "") + ".bam"
    arguments = {name: value for name, value in base.items() if name != INSTEAD.get(option)}
    runs = 0
    for number, form in enumerate(forms):
        given = dict(arguments)
        if form.path.startswith("m.cram") and pipeline == "sort":
            given["reference"] = "ref.fa"
        what = f"{pipeline} --{option.replace('_', '-')} {form.path}"
        error, whole, _ = outcome(pipeline, {**given, option: form.path}, output)
        if error:
            failures.append(f"{what}: {error}")
            continue
        size = len(form.bytes)
        extension = form.path.split(".", 1)[1]
        sizes = sorted(s for s in {size * place // places for place in range(places)} | {size - 1, size - 9, size - 29} if 0 <= s < size)
        for cut in (size_of for place, size_of in enumerate(sizes) if every_way or (place + 5 * number) % (13 if places == PLACES else 7) == 0):
            runs += 1
            path = write("cut." + extension, form.bytes[:cut])
            error, content, said = outcome(pipeline, {**given, option: path}, output)
            # A record of FASTQ is whole with its last quality.
            is_whole = form.ends_line(cut) or (form.path.endswith(".fastq") and cut == size - 1 and content == whole)
            if not error and not said and not is_whole:
                failures.append(f"{what}, cut behind {cut} of {size} bytes: not a word, and {'the same' if content == whole else 'another'} output")
            if not error and not said and cut == 0:
                failures.append(f"{what}, empty: not a word")
            for rest in (".fai", ".gzi", ".bai", ".idx", ".crai", ".csi"):
                if os.path.exists(path + rest):
                    os.remove(path + rest)

        def same(name: str, expected: bytes = whole, given=given, what=what) -> None:
            error, content, _ = outcome(pipeline, {**given, option: name}, output)
            if error or content != expected:
                failures.append(f"{what} as {name}: {error or 'another output'}")

        for way in WAYS if every_way else [WAYS[number % len(WAYS)]]:
            way(form, extension, same)
        if several and pipeline not in ONE_FILE and (every_way or number == len(pipeline) % len(forms)):
            folder, ending = "beside_an_empty_one", extension.replace("bgz.", "")
            os.mkdir(folder)
            write(f"{folder}/a.{ending}", form.bytes)
            write(f"{folder}/b.{ending}", b"")
            error, content, said = outcome(pipeline, {**given, option: folder}, output)
            if error or not said or content != whole:
                failures.append(f"{what} beside an empty one in a folder: {error or ('another output' if said else 'not a word')}")
            shutil.rmtree(folder)
    return runs


def warns_when_quiet() -> None:
    """A warning of an input is there with --quiet, too."""
    whole = Input("r.fastq").bytes
    for name, content in (("open.fastq", whole[: whole.rindex(b"\n", 0, -1) + 9]), ("empty.fastq", b"")):
        path = write(name, content)
        done = subprocess.run([program, "run", "map", "--reference", "ref.fa", "--reads", path, "--output", "out.paf", "--quiet", "--allow-empty"],
                              stderr=subprocess.PIPE, check=False)
        if name.encode() not in done.stderr:
            failures.append(f"map --reads {name} --quiet: not a word of it in {done.stderr!r}")


runs = 0
asked = sys.argv[4:]
every_way = bool(asked)
only = [] if asked == ["all"] else asked
several_of = inputs_of_pipelines()
known = {(key.split("/")[0], option.rstrip("*")) for key, (_, options) in TABLE.items() for option in options}
for pipeline, option in several_of:
    if (pipeline, option) not in known and option not in ELSEWHERE.get(pipeline, ()):
        failures.append(f"{pipeline} --{option}: this test has no input for it")
warns_when_quiet()
for key, (base, options) in TABLE.items():
    pipeline = key.split("/")[0]
    for marked, forms in options.items():
        option = marked.rstrip("*")
        if not only or f"{pipeline}.{option}" in only:
            runs += try_option(pipeline, base, option, forms, FEWER_PLACES if marked != option else PLACES, several_of.get((pipeline, option), False))
for failure in failures:
    print("FAILED:", failure)
print(f"{runs} cut inputs, {len(failures)} failures")
work.cleanup()
sys.exit(1 if failures else 0)
