# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Reads files of sequences, and says how alike two are: independent of sluice's own readers and aligners."""

import gzip


def opened(path):
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rt", encoding="utf-8") if packed else open(path, encoding="utf-8")


def sequences(path):
    """(name, bases) of each record of FASTA or FASTQ."""
    with opened(path) as lines:
        name, parts = None, []
        for line in lines:
            if line.startswith("@") and name is None or line.startswith("@") and not parts:
                name = line[1:].split()[0]
                yield name, next(lines).strip()
                next(lines), next(lines)
                name = None
            elif line.startswith(">"):
                if name is not None:
                    yield name, "".join(parts)
                name, parts = line[1:].split()[0], []
            else:
                parts.append(line.strip())
        if name is not None:
            yield name, "".join(parts)


def bases_of(path):
    return sum(len(bases) for _, bases in sequences(path))


def reverse_complement(bases):
    return bases[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca"))


def edit_distance(a, b, limit=None):
    """Of two sequences as wholes (Myers 1986, by furthest points on diagonals); `limit` where it is larger."""
    n, m = len(a), len(b)
    front = {1: 0}
    limit = n + m if limit is None else limit
    for d in range(limit + 1):
        following = {}
        for k in range(-d, d + 1):
            if d == 0:
                x = 0
            else:
                x = max(front.get(k, -2) + 1, front.get(k - 1, -2) + 1, front.get(k + 1, -2))
            x = min(x, n, m + k)
            if x < 0 or x - k < 0:
                continue
            while x < n and x - k < m and a[x] == b[x - k]:
                x += 1
            following[k] = x
        if following.get(n - m, -1) == n:
            return d
        front = following
    return limit
