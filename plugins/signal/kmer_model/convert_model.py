#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Makes the built-in k-mer models of sluice from the packages that publish their figures.

  pip download --no-deps --no-binary :all: uncalled4==4.1.0      (licence MIT; or unpack the sdist from PyPI)
  apt-get download tombo && dpkg -x tombo_*.deb tombo             (Debian 1.5.1-4; licence MPL-2.0)
  ./convert_model.py --uncalled4 uncalled4-4.1.0.tar.gz --tombo tombo/usr/lib/python3/dist-packages/tombo/tombo_models --output models

Needs Python 3.9 or newer; h5py only for --tombo. Writes the same bytes every time.

What is done to the figures
  r9.nucleotide    level = mean * pa_stdv + pa_mean, stdv = stdv * pa_stdv with the constants in the file. Rounded to 6 decimals.
  rna_r9, rna004   the same; uncalled4 stores RNA k-mers in the order in which they pass the pore (3' first): turned round here.
                   RNA004 is published in normalised units without a spread: picoamps = 81.5 + 14.3 * published, stdv 3.0.
                   (The first scaling of every read absorbs a wrong shift or scale.)
  r10.nucleotide   the same as r9, rounded to 3 decimals.
  r9.methylation   levels of r9.nucleotide; a k-mer in which the C of CpGs is M gets, for each M, the difference between tombo's
                   CpG model and tombo's canonical model, in picoamps (the ratio of the standard deviations of both sets of 4,096
                   levels). Tombo's model has one 5mC a k-mer: the differences of several are added up. M before another letter
                   than G is never scored: it counts as C. stdv: that of the canonical k-mer.
"""

import argparse
import ast
import gzip
import io
import itertools
import os
import statistics
import struct
import sys
import tarfile
import zipfile

RNA004_MEAN_PICOAMPS = 81.5
RNA004_PICOAMPS_PER_UNIT = 14.3
RNA004_STDV_PICOAMPS = 3.0


def read_npy(data):
    """The flat list of values of one .npy array."""
    if data[:6] != b"\x93NUMPY":
        sys.exit("not a .npy array")
    start, length = (10, struct.unpack_from("<H", data, 8)[0]) if data[6] == 1 else (12, struct.unpack_from("<I", data, 8)[0])
    descr = ast.literal_eval(data[start : start + length].decode())["descr"]
    body = data[start + length :]
    if descr[:2] == "<U":
        width = 4 * int(descr[2:])
        return [body[i : i + width].decode("utf-32-le").rstrip("\0") for i in range(0, len(body), width)]
    code = {"<f4": "f", "<f8": "d", "<i8": "q", "|b1": "?"}[descr]
    return list(struct.unpack(f"<{len(body) // struct.calcsize(code)}{code}", body))


def read_uncalled4(archive, name):
    """{k-mer as the strand is read 5' to 3': (normalised level, normalised stdv or None)}, mean and stdv in picoamps."""
    with tarfile.open(archive) as tar:
        member = next((m for m in tar.getmembers() if m.name.endswith(f"/uncalled4/models/{name}.npz")), None)
        if member is None:
            sys.exit(f"{archive}: no model {name}.npz in it")
        arrays = zipfile.ZipFile(io.BytesIO(tar.extractfile(member).read()))
    column = lambda key: read_npy(arrays.read(key + ".npy"))
    turn = (lambda kmer: kmer[::-1]) if column("_reverse")[0] else (lambda kmer: kmer)
    stdv = column("current.stdv") or itertools.repeat(None)
    levels = {turn(kmer): pair for kmer, *pair in zip(column("kmer"), column("current.mean"), stdv)}
    return levels, column("_pa_mean")[0], column("_pa_stdv")[0]


def read_tombo(folder, name):
    import h5py

    with h5py.File(os.path.join(folder, name), "r") as file:
        return [tuple(row) for row in file["model"][:].tolist()]


def write_model(folder, name, alphabet, comments, rows, decimals):
    kmers = sorted(rows)
    letters = 4 if alphabet == "nucleotide" else 5
    k = len(kmers[0])
    if len(kmers) != letters**k:
        sys.exit(f"{name}: {len(kmers)} k-mers, not {letters}^{k}")
    text = "".join(f"#{line}\n" for line in [*comments, f"alphabet {alphabet}", f"k {k}"]) + "kmer\tlevel_mean\tlevel_stdv\n"
    text += "".join(f"{kmer}\t{rows[kmer][0]:.{decimals}f}\t{rows[kmer][1]:.{decimals}f}\n" for kmer in kmers)
    path = os.path.join(folder, name + ".model.gz")
    with open(path, "wb") as file:
        # No name and no time in the gzip header: the same bytes every time.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=9, mtime=0) as packed:
            packed.write(text.encode())
    print(f"{path}: {len(kmers)} {k}-mers")


def uncalled4_comments(title, name):
    return [
        f"name {title}",
        f"source uncalled4 4.1.0 (PyPI), models/{name}.npz, converted by convert_model.py",
        "licence MIT, Copyright (c) 2023 Sam Kovaka",
    ]


def methylated_levels(canonical, tombo_folder):
    """canonical: {6-mer: (picoamps, stdv)}. Adds tombo's 5mC effect for every CpG whose C is written M."""
    standard = {row[0].decode(): row[1] for row in read_tombo(tombo_folder, "tombo.DNA.model")}
    methylated = {(row[0].decode(), row[1]): row[2] for row in read_tombo(tombo_folder, "tombo.DNA.CpG.model")}
    picoamps_per_unit = statistics.pstdev(level for level, _ in canonical.values()) / statistics.pstdev(standard.values())
    rows = {}
    for letters in itertools.product("ACGMT", repeat=6):
        kmer = "".join(letters)
        base = kmer.replace("M", "C")
        level, stdv = canonical[base]
        for position, letter in enumerate(kmer):
            if letter == "M" and kmer[position + 1 : position + 2] in ("G", ""):
                level += picoamps_per_unit * (methylated[base, position] - standard[base])
        rows[kmer] = (level, stdv)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uncalled4", required=True, help="uncalled4-4.1.0.tar.gz")
    parser.add_argument("--tombo", help="tombo_models folder; without it r9.methylation is not made")
    parser.add_argument("--output", required=True, help="folder to write to")
    options = parser.parse_args()

    models = [
        ("r9.nucleotide", "dna_r9.4.1_400bps_6mer", 6, ["chemistry R9.4 and R9.4.1 DNA, 450 bases/s; levels of github.com/nanoporetech/kmer_models"]),
        ("rna_r9.nucleotide", "rna_r9.4.1_70bps_5mer", 6, ["chemistry R9.4 direct RNA, 70 bases/s; levels of github.com/nanoporetech/kmer_models"]),
        ("rna004.nucleotide", "rna004_130bps_9mer", 3, ["chemistry RNA004, 130 bases/s; levels of github.com/nanoporetech/kmer_models, picoamps = 81.5 + 14.3 * published, stdv 3.0 assumed"]),
        ("r10.nucleotide", "dna_r10.4.1_400bps_9mer", 3, ["chemistry R10.4.1 DNA, 400 bases/s; trained by the authors of uncalled4 on amplified D. melanogaster DNA"]),
    ]
    for title, name, decimals, comments in models:
        levels, mean, stdv = read_uncalled4(options.uncalled4, name)
        if title == "rna004.nucleotide":
            published = {kmer: level * stdv + mean for kmer, (level, _) in levels.items()}
            rows = {kmer: (RNA004_MEAN_PICOAMPS + RNA004_PICOAMPS_PER_UNIT * level, RNA004_STDV_PICOAMPS) for kmer, level in published.items()}
        else:
            rows = {kmer: (level * stdv + mean, spread * stdv) for kmer, (level, spread) in levels.items()}
        write_model(options.output, title, "nucleotide", uncalled4_comments(title, name) + comments, rows, decimals)
        if title == "r9.nucleotide" and options.tombo:
            comments = [
                "name r9.methylation",
                "source levels of r9.nucleotide plus the 5mC effects of tombo 1.5.1 (Debian 1.5.1-4), tombo_models/tombo.DNA.CpG.model and tombo.DNA.model, combined by convert_model.py",
                "licence MPL-2.0, Copyright 2017 Oxford Nanopore Technologies Ltd. (tombo's figures); the rest MIT as r9.nucleotide",
                "chemistry R9.4 and R9.4.1 DNA; M is 5-methylcytosine in CpG",
            ]
            write_model(options.output, "r9.methylation", "methylation", comments, methylated_levels(rows, options.tombo), decimals)


if __name__ == "__main__":
    main()
