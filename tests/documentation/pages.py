#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What holds for every page of this tree: links and anchors lead somewhere, pages that sources name are there, pages are short enough to read, and the
# words of the table in CONTRIBUTING.md are not used.
#   pages.py SOURCE_DIR
import os
import re
import sys
from urllib.parse import unquote

source = os.path.realpath(sys.argv[1])
os.chdir(source)
problems = []

# Pages of measurements are lists by nature, and the vocabulary of columns is a table; nobody reads them from end to end.
LISTS = {"docs/columns.md", "docs/gpu-results.md", "docs/performance.md"}
MEASURED = {"docs/gpu-results.md", "docs/performance.md", "docs/reliability.md"}  # records of what was found, whose words are of their time
TEXT = (".md", ".py", ".sh", ".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".toml", ".txt", ".cmake", ".in", ".yml")


def all_files():
    for folder, folders, names in os.walk("."):
        folders[:] = [f for f in folders if f not in ("build", ".git", "__pycache__", ".gpu", ".cache")]
        for name in names:
            yield os.path.normpath(os.path.join(folder, name))


def outside_code(text):
    """The lines of a page with their numbers, without blocks of code."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def anchors(text):
    """As GitHub and the site make them: https://github.com/gjtorikian/html-pipeline, table_of_contents_filter."""
    found = set()
    for _, line in outside_code(text):
        if heading := re.match(r"#{1,6} +(.*)", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            anchor = base = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            n = 0
            while anchor in found:
                n += 1
                anchor = "%s-%d" % (base, n)
            found.add(anchor)
    return found


files = sorted(all_files())
pages = {name: open(name, encoding="utf-8").read() for name in files if name.endswith(".md")}
headings = {name: anchors(text) for name, text in pages.items()}

# ---- links
for name, text in pages.items():
    for number, line in outside_code(text):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = unquote(target).partition("#")
            full = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not os.path.exists(full):
                problems.append(f"{name}:{number}: the link leads to '{target}', which is not there")
            elif anchor and full in headings and anchor not in headings[full]:
                problems.append(f"{name}:{number}: '{full}' has no heading for '#{anchor}'")
for name in files:
    if name.endswith(TEXT) and not name.startswith("docs/"):
        for number, line in enumerate(open(name, encoding="utf-8", errors="replace"), 1):
            for page in re.findall(r"(?<![\w/.])docs/[\w/-]+\.md", line):
                if page not in pages:
                    problems.append(f"{name}:{number}: names {page}, which is not there")

# ---- every shipped pipeline and stage is listed
listed = set(re.findall(r"`(\w+)`", pages["docs/pipelines-and-stages.md"]))
shipped = {os.path.basename(name)[:-5] for name in files if re.match(r"pipelines/[^/]*\.toml$", name)}
for name in files:
    if re.match(r"plugins/.*\.[ch]pp$", name):
        shipped |= set(re.findall(r"\bd\.id\(\"(\w+)\"\)", open(name, encoding="utf-8").read()))
problems += [f"docs/pipelines-and-stages.md: '{what}' is not listed" for what in sorted(shipped - listed)]

# ---- sizes
for name, text in pages.items():
    lines = text.rstrip("\n").split("\n")
    if name.startswith("docs/") and name not in LISTS and len(lines) > 300:
        problems.append(f"{name}: {len(lines)} lines: split it by idea (at most 300)")
    if name == "README.md":
        if len(lines) > 150:
            problems.append(f"{name}: {len(lines)} lines (at most 150)")
        problems += [f"{name}:{n}: {len(line)} characters (at most 120)" for n, line in enumerate(lines, 1) if len(line) > 120]

# ---- words
WORDS = re.search(r"^## Words\n(.*?)(?=^## )", pages["CONTRIBUTING.md"], re.M | re.S)
rows = re.findall(r"^\| (.*?) \| (`.*?) \| (pages|pages, messages) \|$", WORDS[1] if WORDS else "", re.M)
if len(rows) < 8:
    problems.append("CONTRIBUTING.md has no table of words")


def pattern(cells):
    words = [w for cell in cells for w in re.findall(r"`([^`]*)`", cell)]
    return re.compile(r"\b(" + "|".join(re.escape(w).replace(r"\ ", r"\s+") for w in words) + r")\b", re.I)


in_pages, in_messages = pattern(r[1] for r in rows), pattern(r[1] for r in rows if "messages" in r[2])


def look(name, text, words):
    for hit in words.finditer(text):
        line, words_used = text.count("\n", 0, hit.start()) + 1, " ".join(hit[0].split())
        problems.append(f"{name}:{line}: '{words_used}': CONTRIBUTING.md has the word for it")


if rows:
    for name, text in pages.items():
        if name in ("README.md", "CONTRIBUTING.md") or name.startswith("docs/") and name not in MEASURED:
            look(name, text.replace(WORDS[1], re.sub(r"[^\n]", "", WORDS[1])) if name == "CONTRIBUTING.md" else text, in_pages)
    for name in files:
        if re.match(r"pipelines/.*\.toml$", name):
            look(name, "\n".join(line.split("# ")[0] for line in open(name, encoding="utf-8").read().split("\n")), in_messages)
        elif re.match(r"(core|plugins|sdk)/.*\.(cpp|hpp|cu|cuh|h|c)$", name):
            text = open(name, encoding="utf-8").read()
            # Text of comments is not said to users; only what stands between quotes is.
            look(name, "\n".join(" ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', line.split("//")[0])) for line in text.split("\n")), in_messages)

print("\n".join(problems + [f"{len(pages)} pages, {len(problems)} problems"]))
sys.exit(bool(problems))
