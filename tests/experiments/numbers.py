#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every figure of docs/comparison.md and of the README that was measured is a link to the page of an experiment, with row and column as its title:
#   [24.0](experiments/f5c-methylation.md "nanopolish: CPU s over sluice's on the CPU")
# This looks each one up in the tables of that page, and finds figures that are no such link.
#   numbers.py SOURCE_DIR [change]        change: the links get what the tables have now
import os
import re
import sys

source = os.path.realpath(sys.argv[1])
change = sys.argv[2:] == ["change"]
problems, links = [], 0
LINK = re.compile(r'\[([^\]]+)\]\(([^)\s]+)\s+"([^"]*)"\)')
# A number with a unit, or 'times': what somebody has measured. Versions, options and names of presets have none.
FIGURE = re.compile(r"(?<![\w.\-])\d[\d,.]*\s*(?:thousand |million )?(?:times|x\b|%|per cent\b|[GMk]i?B\b|[GMk]?bases/s|[GMT]cells/s|(?:CPU )?(?:seconds|s)\b|ms\b|minutes|hours|reads/s|windows/s|anchors/s)"
                    r"|\b(?:[Tt]wice|(?:[Tt]wo|[Tt]hree|[Ff]our|[Ff]ive|[Tt]en) times)\b")


def tables(path):
    """Cells by (row, column) of all tables of a page; a name that occurs twice holds all its values."""
    found, columns = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("|"):
                columns = None
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if columns is None:
                columns = cells
            elif not set(line.strip()) <= set("|-"):
                for column, cell in zip(columns[1:], cells[1:]):
                    found.setdefault((cells[0], column), []).append(cell)
    return found


cache = {}
for page in ("docs/comparison.md", "README.md"):
    in_code = False
    with open(os.path.join(source, page), encoding="utf-8") as file:
        all_lines = file.read().split("\n")
    for number, line in enumerate(all_lines, 1):
        if line.startswith("```"):
            in_code = not in_code
        if in_code:
            continue
        for text, target, title in LINK.findall(line):
            if "experiments/" not in target:
                continue
            links += 1
            path = os.path.normpath(os.path.join(source, os.path.dirname(page), target))
            if not os.path.exists(path):
                problems.append(f"{page}:{number}: {target} is not there")
                continue
            known = cache.setdefault(path, tables(path))
            hits = [cell for (row, column), cells in known.items() if f"{row}: {column}" == title for cell in cells]
            if not hits:
                near = [f"{row}: {column}" for row, column in known if row in title][:3]
                problems.append(f"{page}:{number}: {target} has no '{title}'{': there is ' + ', '.join(near) if near else ''}")
            elif len(set(hits)) > 1:
                problems.append(f"{page}:{number}: {target} has '{title}' more than once")
            elif change:
                all_lines[number - 1] = all_lines[number - 1].replace(f'[{text}]({target} "{title}")', f'[{hits[0]}]({target} "{title}")')
            elif hits[0] != text:
                problems.append(f"{page}:{number}: '{text}' is {hits[0]} in {target} ({title})")
        rest = re.sub(r"`[^`]*`", "", LINK.sub("", line))
        for figure in FIGURE.findall(rest):
            problems.append(f"{page}:{number}: '{figure.strip()}' has no command that makes it: write it as a link to a table of docs/experiments")

    if change:
        with open(os.path.join(source, page), "w", encoding="utf-8") as file:
            file.write("\n".join(all_lines))

# A page of an experiment with a failed check or none is not to be cited, nor one that nobody can make again.
folder = os.path.join(source, "docs", "experiments")
for name in sorted(os.listdir(folder)):
    if not name.endswith(".md") or name == "README.md":
        continue
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    if "| FAILED |" in text or "| ok |" not in text:
        problems.append(f"docs/experiments/{name}: a check failed, or there is none")
    command = re.search(r"`experiments/run (\w+) (\w+) --size \w+`", text)
    if not command or not os.path.exists(os.path.join(source, "experiments", command[1], command[2] + ".py")):
        problems.append(f"docs/experiments/{name}: the command that makes it is not there")
print("\n".join(problems + [f"{links} figures looked up, {len(problems)} problems"]))
sys.exit(bool(problems) or links < 20)
