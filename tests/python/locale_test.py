# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A program that writes 0,5 for a half gets the same bytes as any other, and keeps its locale."""

import locale
import os
import subprocess
import tempfile
import unittest

import sluice
from inputs import MAP, METHYLATION

SIGNAL = {key: METHYLATION[key] for key in ("signal", "alignments", "reference")}
RUNS = {
    "map.sam": ("map", {**MAP, "cigar": True}),
    "map.bam": ("map", {**MAP, "sort": True}),
    "map.cram": ("map", {**MAP, "sort": True}),
    "sort.bam": ("sort", {"alignments": "tagged.sam"}),
    "events.sam": ("eventalign", SIGNAL),
    "events.tsv": ("eventalign", SIGNAL),
    "calls.tsv": ("methylation", {**METHYLATION, "frequency": "sites.tsv", "modbam": "modified.bam"}),
    "polished.fa": ("polish", {"targets": "ref.fa", "reads": "r.fastq.gz"}),
    "corrected.fa": ("correct", {"reads": "r.fastq.gz"}),
    "squiggles.paf": ("resquiggle", {"signal": "r.blow5", "reads": "r.fastq.gz"}),
    "decisions.tsv": ("classify_signal", {"signal": "r.blow5", "target": "ref.fa"}),
    "summary.txt": ("summary", {"signal": "r.blow5", "reads": "r.fastq.gz"}),
    "trained.model": ("train_kmer_model", {"signal": "r.blow5", "reads": "r.fastq.gz", "rounds": 1}),
}


@sluice.stage(needs={"bases": "utf8"}, gives={"half": "utf8"})
def half(batch):
    return [locale.str(0.5)] * len(batch)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def outputs():
    found = {}
    for output, (pipeline, arguments) in RUNS.items():
        report = sluice.run(pipeline, **arguments, output=output, threads=3, allow_empty=True)
        for name in report.outputs:
            found[name] = content(name)
    return found


class Locales(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory()) if hasattr(cls, "enterClassContext") else tempfile.mkdtemp()
        try:
            made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")], capture_output=True)
            os.environ["LOCPATH"] = folder
            locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        except (OSError, locale.Error):
            raise unittest.SkipTest("no locale with a comma can be made (localedef, and Debian's package locales)") from None
        assert made.returncode in (0, 1)
        cls.addClassCleanup(locale.setlocale, locale.LC_ALL, "C")
        with open("tagged.sam", "w") as file:
            file.write("@SQ\tSN:c\tLN:100\nr\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\txf:f:0.0475\txb:B:f,0.25,1.5\n")

    def test_same_bytes(self):
        locale.setlocale(locale.LC_ALL, "C")
        wanted = outputs()
        self.assertIn(b"de:f:0.", wanted["map.sam"])
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        found = outputs()
        self.assertEqual(locale.str(0.5), "0,5", "the program has its locale again")
        self.assertEqual([name for name in wanted if found.get(name) != wanted[name]], [])

    def test_parameters_are_read_as_written(self):
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        sluice.run("methylation", **METHYLATION, output="calls.tsv")
        report = sluice.run("frequency", calls="calls.tsv", output="sites.tsv", call_threshold=2.5, allow_empty=True)
        self.assertEqual(report.state, "finished")
        with self.assertRaisesRegex(sluice.UsageError, "2,5"):
            sluice.run("frequency", calls="calls.tsv", output="sites.tsv", call_threshold="2,5")

    def test_a_stage_of_the_program_has_the_c_locale_too(self):
        pipeline = sluice.Pipeline("p").stage("reads", use="read_reader", path="r.fastq.gz").stage("half", use=half)
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        batches = list(pipeline.stream(stage="half", columns="half"))
        self.assertEqual({cell for batch in batches for cell in batch["half"].to_pylist()}, {"0.5"})


if __name__ == "__main__":
    unittest.main()
