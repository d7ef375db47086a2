# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Judges maximal exact matches by the sequences themselves, independent of every program that finds them."""

from framework.sequences import reverse_complement, sequences


def mummer_lines(path):
    """(read, place in the reference from 1, place in the read from 1, length) of mummer's table of one reference."""
    read = None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(">"):
                read = line[1:].strip()
            elif line.strip():
                words = line.split()
                yield (read, *(int(word) for word in words[-3:]))


def wrong_matches(path, reference, reads, least, most=20000):
    """How many of the first lines of mummer's table are no match, shorter than `least`, or can be made longer; and how many were looked at."""
    text = next(bases for _, bases in sequences(reference)).upper()
    by_name = {name: bases.upper() for name, bases in sequences(reads)}
    wrong = looked = 0
    for name, in_text, in_read, length in mummer_lines(path):
        reverse = name.endswith("Reverse")
        read = by_name[name.split()[0]]
        read = reverse_complement(read) if reverse else read
        a, b = in_text - 1, in_read - 1
        good = length >= least and text[a:a + length] == read[b:b + length]
        good = good and (a == 0 or b == 0 or text[a - 1] != read[b - 1])
        good = good and (a + length == len(text) or b + length == len(read) or text[a + length] != read[b + length])
        wrong += not good
        looked += 1
        if looked == most:
            break
    return wrong, looked


def missing_matches(path, reference, reads, least, count=3):
    """How many maximal matches of the first `count` reads, found word by word, the table lacks or has too many of; and how many there are."""
    text = next(bases for _, bases in sequences(reference)).upper()
    chosen = {}
    for name, bases in sequences(reads):
        chosen[name] = bases.upper()[:2000]
        if len(chosen) == count:
            break
    full = dict(sequences(reads))
    places = {}
    for i in range(len(text) - least + 1):
        places.setdefault(text[i:i + least], []).append(i)
    expected = set()
    for name in chosen:
        for strand, read in (("", full[name].upper()), (" Reverse", reverse_complement(full[name].upper()))):
            for b in range(len(read) - least + 1):
                for a in places.get(read[b:b + least], ()):
                    if a and b and text[a - 1] == read[b - 1]:
                        continue
                    length = least
                    while a + length < len(text) and b + length < len(read) and text[a + length] == read[b + length]:
                        length += 1
                    expected.add((name + strand, a + 1, b + 1, length))
    found = {(" ".join(name.split()), a, b, length) for name, a, b, length in mummer_lines(path) if name.split()[0] in chosen}
    return len(expected ^ found), len(expected)
