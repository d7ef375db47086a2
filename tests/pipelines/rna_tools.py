#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""m6anet, xpore and nanocompore on what sluice writes for them: their own preparation of the full event table gives the same numbers, and their results
on both are the same; on nanopolish's table, where there is a nanopolish, nearly the same.

    rna_tools.py SLUICE

SLUICE_RNA_TOOLS names a folder of Python environments (m6anet, xpore, nanocompore). Those that are not there are installed from PyPI, which takes
9 GB in all, most of it PyTorch. Without it programs of the PATH are taken. What is neither is skipped.
"""

import csv
import json
import math
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

sluice = os.path.abspath(sys.argv[1])
work = tempfile.TemporaryDirectory()
os.chdir(work.name)

# Of each tool: what pip installs, and the versions of Python that it runs with. pandas 3 sums otherwise than pandas 2, and levels that lie between two
# decimals are then rounded to the other one; pkg_resources, which nanocompore imports, went with setuptools 81.
PACKAGES = {
    "m6anet": (["m6anet==2.1.0"], ["3.8", "3.7"]),
    "xpore": (["xpore==2.2", "pandas<3"], ["3.11", "3.12", "3.10"]),
    "nanocompore": (["nanocompore==2.2.0", "setuptools<80", "pandas<3"], ["3.11", "3.12", "3.10"]),
}


def expect(fine: bool, what: str) -> None:
    if not fine:
        print("FAILED:", what, file=sys.stderr)
        sys.exit(1)


def run(*arguments: str) -> None:
    subprocess.run([sluice, "run", *arguments, "--quiet"], check=True)


def install(name: str, folder: str) -> str:
    """The program in a new environment, or why there is none."""
    packages, versions = PACKAGES[name]
    for version in versions:
        if not shutil.which(f"python{version}") or subprocess.run([f"python{version}", "-c", "import ensurepip, venv"], capture_output=True).returncode != 0:
            continue
        for command in ([f"python{version}", "-m", "venv", folder], [f"{folder}/bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                shutil.rmtree(folder, ignore_errors=True)
                return "it can't be installed: " + (done.stderr.strip().splitlines() or ["no word"])[-1]
        return ""
    return f"it wants Python {' or '.join(versions)}, which is not here"


def find_tools() -> dict[str, str]:
    tools = {}
    for name in PACKAGES:
        folder = os.path.join(os.environ.get("SLUICE_RNA_TOOLS", ""), name)
        program = os.path.abspath(os.path.join(folder, "bin", name))
        reason = ""
        if not os.environ.get("SLUICE_RNA_TOOLS"):
            program = shutil.which(name) or ""
            reason = "" if program else "it is not on the PATH, and SLUICE_RNA_TOOLS names no folder for it"
        elif not os.path.exists(program):
            reason = install(name, folder)
        if not reason:
            started = subprocess.run([program, "--help"], capture_output=True, text=True)
            reason = "" if started.returncode == 0 else "it does not start: " + (started.stderr.strip().splitlines() or ["no word"])[-1]
        if reason:
            print(f"SKIPPED: {name}: {reason}")
        else:
            tools[name] = program
    return tools


TOOLS = find_tools()
if not TOOLS:
    sys.exit(77)


def tool(name: str, *arguments: str) -> None:
    done = subprocess.run([TOOLS[name], *arguments], capture_output=True, text=True)
    expect(done.returncode == 0, f"{name} {' '.join(arguments)}: {done.stderr[-2000:]}")


def rows(path: str, delimiter: str = ",") -> list[dict[str, str]]:
    with open(path) as file:
        return list(csv.DictReader(file, delimiter=delimiter))


class Apart:
    """Two ways to the same numbers: how many there are, how many differ, and by how much at most."""

    def __init__(self) -> None:
        self.numbers = self.differ = 0
        self.most = 0.0

    def add(self, ours: list[float], others: list[float], what: str) -> None:
        expect(len(ours) == len(others), f"{what}: {len(ours)} numbers, not {len(others)}")
        for one, other in zip(ours, others):
            if math.isnan(one) and math.isnan(other):
                continue
            self.numbers += 1
            if one != other:
                self.differ += 1
                self.most = max(self.most, abs(one - other))

    def __str__(self) -> str:
        return f"{self.numbers} numbers, {self.differ} differ, by {self.most:.3g} at most"


# ---- m6anet: a line a site; reads of a site in any order
def m6anet_sites(folder: str) -> dict[tuple[str, str, str], list[list[float]]]:
    sites = {}
    with open(folder + "/data.json", "rb") as file:
        text = file.read()
    for row in rows(folder + "/data.info"):
        contig, place = row["transcript_id"], row["transcript_position"]
        ((word, reads),) = json.loads(text[int(row["start"]) : int(row["end"])])[contig][place].items()
        expect(len(reads) == int(row["n_reads"]), f"{folder}: reads of {contig}:{place}")
        sites[contig, place, word] = sorted(reads, key=lambda read: read[9])
    return sites


def compare_m6anet_files(ours: str, others: str) -> Apart:
    a, b = m6anet_sites(ours), m6anet_sites(others)
    expect(list(a) == list(b) and len(a) > 10, f"m6anet: {len(a)} sites in {ours}, {len(b)} in {others}")
    apart = Apart()
    for site in a:
        apart.add([number for read in a[site] for number in read], [number for read in b[site] for number in read], f"m6anet: {site}")
    return apart


def m6anet_inference(folder: str, model: str) -> None:
    # It loses the last 16 sites where --save_per_batch divides the number of batches.
    tool("m6anet", "inference", "--input_dir", folder, "--out_dir", folder + "_results", "--pretrained_model", model, "--n_processes", "1", "--num_iterations", "10000", "--save_per_batch", "1000000")


def compare_m6anet_results(ours: str, others: str, near: float) -> str:
    """Probabilities of reads and the share of modified reads are those of the numbers; that of a site is a mean over drawn reads, in their order."""
    reads = [{tuple(row.values())[:3]: float(row["probability_modified"]) for row in rows(folder + "_results/data.indiv_proba.csv")} for folder in (ours, others)]
    expect(reads[0].keys() == reads[1].keys() and len(reads[0]) > 200, f"m6anet: {len(reads[0])} reads at sites of {ours}, {len(reads[1])} of {others}")
    most = max(abs(reads[0][key] - reads[1][key]) for key in reads[0])
    expect(most <= near, f"m6anet: probabilities of a read {most} apart")
    sites = [rows(folder + "_results/data.site_proba.csv") for folder in (ours, others)]
    expect(len(sites[0]) == len(m6anet_sites(ours)), f"m6anet: {len(sites[0])} sites in the results of {len(m6anet_sites(ours))}")
    drawn = 0.0
    for one, other in zip(*sites, strict=True):
        same = ("transcript_id", "transcript_position", "n_reads", "kmer")
        expect([one[key] for key in same] == [other[key] for key in same], f"m6anet: {one}, not {other}")
        expect(near > 1e-6 or one["mod_ratio"] == other["mod_ratio"], f"m6anet: {one}, not {other}")
        drawn = max(drawn, abs(float(one["probability_modified"]) - float(other["probability_modified"])))
    expect(drawn < 0.035, f"m6anet: probabilities of a site {drawn} apart")  # five standard errors of the difference of two means of 10,000
    return f"{len(reads[0])} reads at {len(sites[0])} sites, probabilities of reads at most {most:.2g} apart, of sites {drawn:.2g}"


# ---- xpore: levels of a position in any order
def xpore_levels(folder: str) -> dict[tuple[str, str, str], list[float]]:
    levels = {}
    with open(folder + "/data.json", "rb") as file:
        text = file.read()
    for row in rows(folder + "/data.index"):
        for place, words in json.loads(text[int(row["start"]) : int(row["end"])])[row["idx"]].items():
            levels.update({(row["idx"], place, word): sorted(values) for word, values in words.items()})
    return levels


def compare_xpore_files(ours: str, others: str) -> Apart:
    a, b = xpore_levels(ours), xpore_levels(others)
    expect(a.keys() == b.keys() and len(a) > 500, f"xpore: {len(a)} positions in {ours}, {len(b)} in {others}")
    counts = [sorted((row["idx"], row["n_reads"]) for row in rows(folder + "/data.readcount")) for folder in (ours, others)]
    expect(counts[0] == counts[1], f"xpore: read counts {counts[0]}, not {counts[1]}")
    apart = Apart()
    for place in a:
        apart.add(a[place], b[place], f"xpore: {place}")
    return apart


def xpore_diffmod(pore: str, folders: str) -> None:
    """Compares conditions a and b; FOLDERS: which ones."""
    results = f"{pore}.{folders}_results"
    with open(results + ".yml", "w") as file:
        file.write(f"data:\n  plain:\n    one: {pore}.a.{folders}\n  changed:\n    one: {pore}.b.{folders}\nout: {results}\n")
        if pore == "rna_r9":  # xpore's own levels are those of RNA004
            file.write("prior: rna_r9.csv\n")
    tool("xpore", "diffmod", "--config", results + ".yml", "--n_processes", "1")


def compare_xpore_results(pore: str, others: str, near: float) -> str:
    tables = [{(row["id"], row["position"], row["kmer"]): row for row in rows(f"{pore}.{folders}_results/diffmod.table")} for folders in ("xpore", others)]
    expect(tables[0].keys() == tables[1].keys() and len(tables[0]) > 100, f"xpore: {len(tables[0])} and {len(tables[1])} positions in the results")
    apart, far = 0.0, 0
    for place, row in tables[0].items():
        expect(near > 1e-6 or row["mod_assignment"] == tables[1][place]["mod_assignment"], f"xpore: {place}: another assignment")
        off = max(abs(float(row[key]) - float(tables[1][place][key])) for key in ("diff_mod_rate_changed_vs_plain", "pval_changed_vs_plain"))
        apart, far = max(apart, off), far + (off > near)
    expect(far <= (0 if near <= 1e-6 else len(tables[0]) // 50), f"xpore: rates or p-values of {far} of {len(tables[0])} positions are more than {near} apart")
    return f"{len(tables[0])} positions, rates and p-values at most {apart:.2g} apart"


# ---- nanocompore: a database; reads in any order
def compare_nanocompore_files(ours: str, others: str) -> tuple[Apart, int]:
    """Both numbers of every read and base; and how many medians are further apart than the table's digits."""
    data = []
    for path in (ours, others):
        base = sqlite3.connect(path)
        query = "SELECT reads.read, transcripts.name, invalid_kmers, intensity, dwell FROM signal_data JOIN reads ON reads.id = read_id JOIN transcripts ON transcripts.id = transcript_id"
        data.append({row[:2]: row[2:] for row in base.execute(query)})
        base.close()
    expect(data[0].keys() == data[1].keys() and len(data[0]) > 60, f"nanocompore: {len(data[0])} reads in {ours}, {len(data[1])} in {others}")
    apart, far = Apart(), 0
    for read, (invalid, *blobs) in data[0].items():
        expect(invalid == data[1][read][0], f"nanocompore: {read}: {invalid} invalid, not {data[1][read][0]}")
        for blob, other in zip(blobs, data[1][read][1:]):
            a, b = (struct.unpack(f"<{len(bytes_) // 4}f", bytes_) for bytes_ in (blob, other))
            apart.add(list(a), list(b), f"nanocompore: {read}")
            far += sum(abs(one - two) > 0.001 for one, two in zip(a, b))
    return apart, far


def nanocompore_run(pore: str, ending: str) -> list[str]:
    results = f"{pore}.{ending}_results"
    with open(results + ".yaml", "w") as file:
        file.write(f"data:\n  plain:\n    one: {{db: {os.getcwd()}/{pore}.a.{ending}}}\n  changed:\n    two: {{db: {os.getcwd()}/{pore}.b.{ending}}}\n")
        file.write(f"depleted_condition: plain\nfasta: {os.getcwd()}/transcripts.fa\nkit: {'RNA004' if pore == 'rna004' else 'RNA002'}\nresquiggler: eventalign\n")
        file.write(f"devices: {{cpu: 1}}\nmin_coverage: 10\noutpath: {os.getcwd()}/{results}\n")
    tool("nanocompore", "run", results + ".yaml")
    with open(results + "/out_nanocompore_results.tsv") as file:
        lines = file.readlines()
    expect(len(lines) > 100, f"nanocompore: {len(lines)} lines of results")
    return sorted(lines[1:])


def compare_nanocompore_results(ours: list[str], others: list[str]) -> str:
    """p-values of the intensities (column 11) at the same positions."""
    expect([line.split("\t")[:6] for line in ours] == [line.split("\t")[:6] for line in others], "nanocompore: results at other positions")
    pairs = [[float(line.split("\t")[10] or "nan") for line in pair] for pair in zip(ours, others)]
    far = sum(abs(one - other) > 0.05 for one, other in pairs)
    expect(far <= len(ours) // 50, f"nanocompore: p-values of {far} of {len(ours)} positions are more than 0.05 apart")
    return f"{len(ours)} positions, {sum(one != other for one, other in pairs)} p-values differ, {far} by more than 0.05"


# ---- two transcripts, reads of two conditions: in the second DRACH has another level
run("synthetic_reference", "--length", "400", "--contigs", "2", "--seed", "3", "--output", "transcripts.fa")
models = os.path.join(os.path.dirname(sluice), "models")
for pore in ("rna004", "rna_r9"):
    changed = f"{pore}.changed.model"
    middle = "substr($1, 2, 5)" if pore == "rna004" else "$1"  # what stands in the pore of a 9-mer
    shift = f"/^[ACGT]/ && {middle} ~ /^[AGT][AG]AC[ACT]$/ {{ $2 += 8 }} {{ print }}"
    subprocess.run(f"gzip -dc '{models}/{pore}.nucleotide.model.gz' | awk -F'\\t' -v OFS='\\t' '{shift}' >{changed}", shell=True, check=True)
    for condition, options in (("a", ["--seed", "4"]), ("b", ["--seed", "5", "--model", changed])):
        name = f"{pore}.{condition}"
        run("simulate_rna", "--reference", "transcripts.fa", "--pore", pore, "--reads", "80", "--mean-length", "350", "--signal-compression", "none", *options, "--output-prefix", name)
        align = ["eventalign", "--signal", f"{name}.blow5", "--alignments", f"{name}.bam", "--reference", "transcripts.fa"]
        five = [*align, "--kmer-model-size", "5"]
        run(*five, "--scale-events", "--signal-index", "--output", f"{name}.tsv")
        run(*align, "--scale-events", "--samples", "--print-read-names", "--output", f"{name}.samples.tsv")
        for form in ("m6anet", "xpore"):
            os.mkdir(f"{name}.{form}")
            run(*five, "--format", form, "--output", f"{name}.{form}")
        run(*align, "--output", f"{name}.sqlite")

subprocess.run(f"gzip -dc '{models}/rna_r9.nucleotide.model.gz' | awk -v OFS=, '/^kmer/ {{ print \"model_kmer\", \"model_mean\", \"model_stdv\" }} /^[ACGT]/ {{ print $1, $2, $3 }}' >rna_r9.csv", shell=True, check=True)

nanopolish = shutil.which("nanopolish")
if not nanopolish:
    print("SKIPPED in part: there is no nanopolish, whose tables to compare with")


def nanopolish_tables(name: str) -> bool:
    """Its tables of R9 reads, or no: it knows no other RNA, and in some builds no BLOW5."""
    with open(f"{name}.fastq", "w") as file:
        subprocess.run(f"gzip -dc {name}.fastq.gz | cut -f1", shell=True, stdout=file, check=True)
    if subprocess.run([nanopolish, "index", f"{name}.fastq", "--slow5", f"{name}.blow5"], capture_output=True).returncode != 0:
        return False
    for options, path in ((["--signal-index"], f"{name}.nanopolish.tsv"), (["--samples", "--print-read-names"], f"{name}.nanopolish.samples.tsv")):
        with open(path, "w") as file:
            subprocess.run([nanopolish, "eventalign", "--reads", f"{name}.fastq", "--bam", f"{name}.bam", "--genome", "transcripts.fa", "--scale-events", *options], stdout=file, stderr=subprocess.DEVNULL, check=True)
    return True


if nanopolish and not all([nanopolish_tables("rna_r9.a"), nanopolish_tables("rna_r9.b")]):
    print("SKIPPED in part: this nanopolish reads no BLOW5")
    nanopolish = None


def prepare(name: str, table: str) -> None:
    """By the tools' own preparation: NAME.TABLE.m6anet and so on from NAME.TABLE.tsv; TABLE "" for ours."""
    source = f"{name}.{table}tsv"
    if "m6anet" in TOOLS:
        tool("m6anet", "dataprep", "--eventalign", source, "--out_dir", f"{name}.{table}m6anet_own", "--n_processes", "1")
    if "xpore" in TOOLS:
        tool("xpore", "dataprep", "--eventalign", source, "--out_dir", f"{name}.{table}xpore_own", "--n_processes", "1")
    if "nanocompore" in TOOLS:
        tool("nanocompore", "eventalign_collapse", "--ref", "transcripts.fa", "--input", f"{name}.{table}samples.tsv", "--output", f"{name}.{table}own.sqlite", "--nthreads", "2")


nanocompore_results = {}
for pore, model in (("rna004", "HEK293T_RNA004"), ("rna_r9", "HCT116_RNA002")):
    for name in (f"{pore}.a", f"{pore}.b"):
        prepare(name, "")
        if "m6anet" in TOOLS:
            apart = compare_m6anet_files(f"{name}.m6anet", f"{name}.m6anet_own")
            expect(apart.differ == 0, f"m6anet: {name}: {apart}")
        if "xpore" in TOOLS:
            apart = compare_xpore_files(f"{name}.xpore", f"{name}.xpore_own")
            expect(apart.differ == 0, f"xpore: {name}: {apart}")
        if "nanocompore" in TOOLS:
            apart, _ = compare_nanocompore_files(f"{name}.sqlite", f"{name}.own.sqlite")
            expect(apart.differ == 0, f"nanocompore: {name}: {apart}")
    if "m6anet" in TOOLS:
        for folder in (f"{pore}.b.m6anet", f"{pore}.b.m6anet_own"):
            m6anet_inference(folder, model)
        print(f"m6anet, {pore}:", compare_m6anet_results(f"{pore}.b.m6anet", f"{pore}.b.m6anet_own", 1e-6))
    if "xpore" in TOOLS:
        for folders in ("xpore", "xpore_own"):
            xpore_diffmod(pore, folders)
        print(f"xpore, {pore}:", compare_xpore_results(pore, "xpore_own", 1e-6))
    if "nanocompore" in TOOLS:
        ours, own = nanocompore_run(pore, "sqlite"), nanocompore_run(pore, "own.sqlite")
        nanocompore_results[pore] = ours
        expect(ours == own, f"nanocompore: {sum(a != b for a, b in zip(ours, own))} of {len(ours)} lines of results differ")
        print(f"nanocompore, {pore}: {len(ours)} lines of results, all equal")

# ---- of nanopolish's tables: last digits differ, and an event here and there
if nanopolish:
    for name in ("rna_r9.a", "rna_r9.b"):
        prepare(name, "nanopolish.")
        if "m6anet" in TOOLS:
            apart = compare_m6anet_files(f"{name}.m6anet", f"{name}.nanopolish.m6anet_own")
            expect(apart.differ <= apart.numbers // 1000, f"m6anet of nanopolish: {apart}")
            print("m6anet, nanopolish:", apart)
        if "xpore" in TOOLS:
            apart = compare_xpore_files(f"{name}.xpore", f"{name}.nanopolish.xpore_own")
            expect(apart.differ <= apart.numbers // 1000, f"xpore of nanopolish: {apart}")
            print("xpore, nanopolish:", apart)
        if "nanocompore" in TOOLS:
            apart, far = compare_nanocompore_files(f"{name}.sqlite", f"{name}.nanopolish.own.sqlite")
            expect(far <= apart.numbers // 1000, f"nanocompore of nanopolish: {apart}; {far} by more than 0.001")
            print(f"nanocompore, nanopolish: {apart}; {far} by more than 0.001")
    if "m6anet" in TOOLS:
        m6anet_inference("rna_r9.b.nanopolish.m6anet_own", "HCT116_RNA002")
        print("m6anet, nanopolish:", compare_m6anet_results("rna_r9.b.m6anet", "rna_r9.b.nanopolish.m6anet_own", 0.1))
    if "nanocompore" in TOOLS:
        print("nanocompore, nanopolish:", compare_nanocompore_results(nanocompore_results["rna_r9"], nanocompore_run("rna_r9", "nanopolish.own.sqlite")))
    if "xpore" in TOOLS:
        xpore_diffmod("rna_r9", "nanopolish.xpore_own")
        print("xpore, nanopolish:", compare_xpore_results("rna_r9", "nanopolish.xpore_own", 0.01))
work.cleanup()
