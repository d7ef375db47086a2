# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""BAM, FASTA, tables and reports as the tests of direct RNA read them: with nothing of the program's own."""

import gzip
import json
import struct


def fasta(path: str) -> dict[str, str]:
    records: dict[str, str] = {}
    with open(path) as file:
        for line in file:
            if line.startswith(">"):
                name = line[1:].split()[0]
                records[name] = ""
            else:
                records[name] += line.strip()
    return records


def bam_tags(data: bytes) -> dict[str, object]:
    tags: dict[str, object] = {}
    at = 0
    numbers = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "f": "f"}
    while at < len(data):
        name, kind = data[at : at + 2].decode(), chr(data[at + 2])
        at += 3
        if kind in "ZH":
            end = data.index(b"\0", at)
            tags.setdefault(name + kind, data[at:end].decode())
            at = end + 1
        elif kind == "B":
            code, count = numbers[chr(data[at])], struct.unpack_from("<I", data, at + 1)[0]
            tags[name + kind] = struct.unpack_from(f"<{count}{code}", data, at + 5)
            at += 5 + count * struct.calcsize(code)
        elif kind == "A":
            tags[name + kind] = chr(data[at])
            at += 1
        else:
            tags[name + "i"] = struct.unpack_from("<" + numbers[kind], data, at)[0]
            at += struct.calcsize(numbers[kind])
    return tags


class Record:
    """One of BAM. columns: (place on the contig, place on the bases of SEQ) of M, = and X."""

    def __init__(self, data: bytes, contigs: list[str]):
        contig, self.start, name_bytes, self.mapq, _, operations, self.flag, length = struct.unpack_from("<iiBBHHHi", data)
        self.contig = contigs[contig] if contig >= 0 else "*"
        at = 32
        self.name = data[at : at + name_bytes - 1].decode()
        at += name_bytes
        self.cigar = [(code & 15, code >> 4) for code in struct.unpack_from(f"<{operations}I", data, at)]
        at += 4 * operations
        self.bases = "".join("=ACMGRSVTWYHKDBN"[byte >> 4] + "=ACMGRSVTWYHKDBN"[byte & 15] for byte in data[at : at + (length + 1) // 2])[:length]
        self.tags = bam_tags(data[at + (length + 1) // 2 + length :])
        self.columns: list[tuple[int, int]] = []
        self.introns: list[tuple[int, int]] = []
        place, base = self.start, 0
        for code, count in self.cigar:
            if code in (0, 7, 8):
                self.columns += [(place + i, base + i) for i in range(count)]
            if code == 3:
                self.introns.append((place, place + count))
            place += count if code in (0, 2, 3, 7, 8) else 0
            base += count if code in (0, 1, 4, 7, 8) else 0
        self.end = place
        self.is_reverse = bool(self.flag & 16)


def bam(path: str) -> list[Record]:
    with gzip.open(path) as file:
        data = file.read()
    at = 8 + struct.unpack_from("<i", data, 4)[0]
    contigs = []
    count = struct.unpack_from("<i", data, at)[0]
    at += 4
    for _ in range(count):
        size = struct.unpack_from("<i", data, at)[0]
        contigs.append(data[at + 4 : at + 3 + size].decode())
        at += 8 + size
    records = []
    while at < len(data):
        size = struct.unpack_from("<i", data, at)[0]
        records.append(Record(data[at + 4 : at + 4 + size], contigs))
        at += 4 + size
    return records


def table(path: str) -> list[dict[str, str]]:
    with open(path) as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def figures(path: str) -> dict[str, dict]:
    with open(path) as file:
        return {figure["title"]: figure for stage in json.load(file)["stages"] for figure in stage.get("results", [])}


def is_drach(word: str) -> bool:
    return len(word) == 5 and all(letter in choice for letter, choice in zip(word, ("AGT", "AG", "A", "C", "ACT")))
