# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What the tests run on: made by package.sh in the working directory."""

import os

import sluice

SLUICE = os.environ["SLUICE_PROGRAM"]
MAP = {"reference": "ref.fa", "reads": "r.fastq.gz"}
METHYLATION = {"signal": "r.blow5", "reads": "r.fastq.gz", "alignments": "r.bam", "reference": "ref.fa"}


def lengths_pipeline() -> sluice.Pipeline:
    return (
        sluice.Pipeline("lengths", summary="names of reads")
        .parameter("reads", "path", required=True, help="reads")
        .stage("reads", use="read_reader", path="${reads}")
        .stage("table", use="table_writer", output="lengths.tsv", columns="read_id,bases")
    )
