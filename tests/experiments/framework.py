#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What all experiments rest on: a comparison of nothing is no success, another program that fails costs its own row only, nothing runs on.
#   framework.py SOURCE_DIR
import os
import sys
import tempfile
from types import SimpleNamespace

sys.path.insert(0, os.path.join(os.path.realpath(sys.argv[1]), "experiments"))
sys.dont_write_bytecode = True
from framework import machine, plot  # noqa: E402
from framework.experiment import Experiment, Failed, stamp  # noqa: E402
from framework.places import good_places  # noqa: E402

scratch = tempfile.TemporaryDirectory()
folder = scratch.name


def file(name, text, mode=0o644):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)
    return path


def experiment(**more):
    options = dict(work=os.path.join(folder, "work"), output=os.path.join(folder, "out"), build=folder, size="tiny", threads=1, rounds=1, patience=60, data=None, label="", remark="",
                   source=sys.argv[1])
    return Experiment("paper", "table", SimpleNamespace(**dict(options, **more)))


def fails(action):
    try:
        action()
    except Failed as failure:
        return str(failure)
    raise AssertionError("this should have failed")


def last_check(e):
    return e.checks[-1][1]


# Two tables without a row are alike, and say nothing.
e = experiment()
for one, other, good in (("", "", False), ("names\n", "names\n", False), ("names\nrow\n", "names\nrow\n", True), ("names\nrow\n", "names\nROW\n", False), ("names\nrow\n", "names\n", False)):
    e.same(file("one", one), file("other", other), "alike")
    assert last_check(e) is good, (one, other)
truth = file("truth.tsv", "read_id\tcontig\tis_reverse\tref_start\tref_end\n")
assert not good_places(file("none.paf", ""), truth)
file("truth.tsv", "read_id\tcontig\tis_reverse\tref_start\tref_end\nr\tc\t0\t10\t110\n")
assert good_places(file("one.paf", "r\t100\t0\t100\t+\tc\t500\t10\t110\t100\t100\t60\n"), truth)
assert not good_places(file("one.paf", "r\t100\t0\t100\t+\tc\t500\t300\t400\t100\t100\t60\n"), truth)

# Another program fails, is not there, or writes something else: a row that says so, a check that fails, and what follows is done.
for action, said in ((lambda: e.measure(["false"]), "ends with 1"), (lambda: e.measure([folder + "/nothing"]), "No such file"), (lambda: int("rubbish"), "can't be read")):
    table = e.table("program", "s")
    with e.beside("rival", table):
        action()
    table.row("sluice", 1)
    assert "failed: " in table.rows[0][1] and said in table.rows[0][1] and table.rows[1] == ["sluice", "1"] and not last_check(e), table.rows
assert not e.write("Title")
with open(folder + "/out/paper-table.md", encoding="utf-8") as page:
    assert "| FAILED |" in page.read()

# A program that never ends is ended, with those that it began.
script = file("hangs", "#!/bin/sh\nsleep 1000000 &\necho $! >'%s/child'\nwait\n" % folder, 0o755)
assert "longer than" in fails(lambda: e.measure([script], limit=1))
with open(folder + "/child", encoding="utf-8") as text:
    child = int(text.read())


def runs(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as status:
            return status.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


while runs(child):
    pass

# Releases, as programs say them.
for text, expected in (("echo tool 1.2.3", "1.2.3"), ("echo 2.24-r1122", "2.24-r1122"), ("echo 'Version: 0.7.17-r1188' >&2; exit 1", "0.7.17-r1188"), ("echo rubbish 12.34 >&2; exit 3", "(says no version)")):
    assert machine.version(file("tool", "#!/bin/sh\n%s\n" % text, 0o755)) == expected, text

# Scales of round numbers that hold all points.
for least, most, expected in ((0, 2.41, (0, 3, 1)), (83.352, 100, (80, 100, 5)), (0, 31.2, (0, 40, 10)), (0.755, 1, (0.7, 1, 0.1))):
    found = plot.round_scale(least, most)
    assert all(abs(a - b) < 1e-9 for a, b in zip(found, expected)), (least, most, found)

# Files of --data: empty ones are refused, and sets that are made of one are not those of another.
e = experiment(data=folder)
assert e.given("missing") is None
file("reads.blow5", "")
assert "is empty" in fails(lambda: e.given("reads.blow5"))
file("reference.fa", ">a\nACGT\n")
first = stamp(e.given("reference.fa"))
assert list(e.used) == ["reference.fa"] and e.bases(folder + "/reference.fa") == 4 and not os.path.exists(folder + "/reference.fa.bases")
file("reference.fa", ">a\nACGTACGT\n")
assert stamp(folder + "/reference.fa") != first
assert "no bases" in fails(lambda: e.bases(file("none.fa", ">a\n")))
