#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Changes constants, comparisons, borders and assignments in the sources of stages, and asks their unit tests which of them they notice.

  mutants.py BUILD_DIR [--stages NAME,...] [--each N] [--seed S] [--again REPORT] [--build-command COMMAND] [--report FILE]

All mutants of a stage are compiled into its unit test at once, each behind a switch (mutant.hpp). Then those test cases run for each that come past it, the
shortest first, until one fails, crashes, is stuck, or takes ten times the processor time that it takes without a mutant. BUILD_DIR is of the preset `mutants`: an index
beyond an array ends a test. A mutant that survives is compiled alone, as users have it; where that gives the same assembly it is no mutant and is counted
apart (trivial compiler equivalence; Papadakis et al. 2015). --again takes the survivors of a report instead of choosing by the seed.
The sources are restored at the end, also after Ctrl-C; run it in a tree of its own if you go on working.
"""
import argparse, array, json, os, pathlib, re, resource, shlex, signal, subprocess, sys, tempfile

here = pathlib.Path(__file__).resolve().parent
tree = here.parent.parent
comparisons = {"<": ("less", ">"), "<=": ("less_equal", ">"), ">": ("greater", ">"), ">=": ("greater_equal", ">"), "==": ("equal", "=="), "!=": ("unequal", "!=")}
becomes = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
number = re.compile(r"(?<![\w.'])(\d[\d']*\.\d+(?:e[-+]?\d+)?[fF]?|\d[\d']*e[-+]?\d+|0x[0-9A-Fa-f']+[uUlL]*|\d[\d']*[uUlL]*)(?![\w.'])")
operator = re.compile(r"(?<= )(<=|>=|==|!=|<|>)(?= )")
assignment = re.compile(r"^(\s*)([A-Za-z_][\w.\[\]]*(?:->[\w.\[\]]+)*) [-+*|&]?= [^=].*;$")
# What a result does not depend on: room, words for people, how long something may take, how work is shared out, and what is only said to the scheduler.
passed_over = re.compile(r"\breserve\(|parallel_for\(|static_assert|\bthrow\b|Failure|^\s*#|\boperator\b|\blog\(|prefetch|summary\(|\.option\(|template <|HWY_|\bcase\b|= 0;\s*$(?<=\) = 0;)")
skipped_functions = re.compile(r"\b(estimate|describe|describe_with)\(.*\{\s*$")


def hashed(seed, counter):
    """splitmix64: a function of the two."""
    z = (seed * 0x9E3779B97F4A7C15 + (counter + 1) * 0xD1B54A32D192ED03) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return z ^ (z >> 31)


def blanked(line):
    """The line with strings, characters and what is behind // replaced by blanks of the same length."""
    line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', lambda m: "_" * len(m.group()), line)
    at = line.find("//")
    return line if at < 0 else line[:at]


def changed_number(text):
    suffix = re.search(r"[uUlLfF]*$", text).group() if not text.startswith("0x") else re.search(r"[uUlL]*$", text).group()
    digits = text[: len(text) - len(suffix)].replace("'", "")
    if digits.startswith("0x"):
        return hex(int(digits, 16) + 1) + suffix
    if re.search(r"[.e]", digits):
        value = float(digits)
        return (repr(value * 1.5) if value != 0 else "1.0") + suffix
    return str(int(digits) + 1) + suffix


class Site:
    def __init__(self, path, line, begin, end, kind, before, after):
        self.path, self.line, self.begin, self.end, self.kind, self.before, self.after = path, line, begin, end, kind, before, after

    def __str__(self):
        return f"{self.path.relative_to(tree)}:{self.line + 1}:{self.begin + 1}: {self.before} -> {self.after}"

    def alone(self, original):
        """The source with this one change, without a switch."""
        lines = original.split("\n")
        text = lines[self.line]
        lines[self.line] = text[: self.begin] + (";" if self.kind == "assignment" else self.after) + text[self.end :]
        return "\n".join(lines)


def sites_of(path):
    lines = path.read_text().split("\n")
    depth, until = 0, None
    found = []
    for index, raw in enumerate(lines):
        line = blanked(raw)
        opens = line.count("{") - line.count("}")
        if until is None and skipped_functions.search(line):
            until = depth
        depth += opens
        if until is not None:
            if depth <= until:
                until = None
            continue
        if passed_over.search(line) or not line.strip():
            continue
        # Lines that are not whole statements of a macro or a raw string are left alone by what follows: they do not match.
        for match in operator.finditer(line):
            found.append(Site(path, index, match.start(1), match.end(1), "comparison", match.group(1), becomes[match.group(1)]))
        for match in number.finditer(line):
            found.append(Site(path, index, match.start(1), match.end(1), "constant", match.group(1), changed_number(match.group(1))))
        match = assignment.match(line)
        if match and line.count("(") == line.count(")") and line.count("{") == line.count("}"):
            found.append(Site(path, index, len(match.group(1)), len(line), "assignment", raw.strip(), "dropped"))
    return found


def write_mutated(path, original, chosen):
    """chosen: (number, site) of this file."""
    lines = original.split("\n")
    for line in {site.line for _, site in chosen}:
        text = lines[line]
        for id, site in sorted((c for c in chosen if c[1].line == line), key=lambda c: (c[1].begin, -c[1].end), reverse=True):
            if site.kind == "comparison":
                name, second = comparisons[site.before]
                new = f"{site.before} ::sluice_mutants::{name}<{id}>() {second}"
            elif site.kind == "constant":
                new = f"::sluice_mutants::value<{id}>({site.before}, {site.after})"
            else:
                new = f"{{ if (!::sluice_mutants::active<{id}>()) {text[site.begin:]} }}"
            text = text[: site.begin] + new + ("" if site.kind == "assignment" else text[site.end:])
        # A constant that is named is one at run time, so that it can be another.
        if any(site.kind == "constant" for _, site in chosen if site.line == line):
            text = re.sub(r"^(\s*)static constexpr\b", r"\1static inline const", text)
            text = re.sub(r"\bconstexpr (?=[\w:<>]+ \w+ = )", "const ", text)
        lines[line] = text
    write_changed(path, f'#include "{here}/mutant.hpp"\n#line 1 "{path}"\n' + "\n".join(lines))


def write_changed(path, text):
    """What has its text already keeps its time, so that it is not built again."""
    if path.read_text() != text:
        path.write_text(text)


class Compiler:
    """Compiles a stage's sources, and those of its tests, as the build does, but without what the preset `mutants` adds."""

    def __init__(self, build, folders):
        self.commands = {}
        for unit in json.loads((build / "compile_commands.json").read_text()):
            if any(folder in pathlib.Path(unit["file"]).parents for folder in folders) and unit["file"].endswith(".cpp"):
                words = [word for word in shlex.split(unit["command"]) if not re.match("-D_GLIBCXX_ASSERTIONS|-fsanitize|-fno-sanitize", word)]
                words = words[1:] if words[0].endswith("ccache") else words
                at = words.index("-o")
                self.commands[unit["file"], words[at + 1]] = unit["directory"], [word for word in words[:at] + words[at + 2 :] if word != "-c"]
        self.included, self.assembly = {}, {}

    def compile(self, unit, *options):
        """What the compiler writes to its output, or None."""
        folder, words = self.commands[unit]
        made = subprocess.run([*words, "-w", *options], cwd=folder, capture_output=True)
        return made.stdout if made.returncode == 0 else None

    def includes(self, unit, path):
        if unit not in self.included:
            told = (self.compile(unit, "-MM") or b"").decode()
            self.included[unit] = {os.path.normpath(word) for word in told.replace("\\\n", " ").split()[1:]}
        return str(path) in self.included[unit]

    def same_code(self, site, original):
        # The stage's own sources first: where one differs, the others need not be compiled.
        units = sorted((unit for unit in self.commands if self.includes(unit, site.path)), key=lambda unit: not unit[0].startswith(f"{tree}/plugins/"))
        return bool(units) and all(self.same_assembly(unit, site, original) for unit in units)

    def same_assembly(self, unit, site, original):
        if unit not in self.assembly:
            self.assembly[unit] = self.compile(unit, "-S", "-o", "-")
        try:
            site.path.write_text(site.alone(original))
            return self.assembly[unit] is not None and self.assembly[unit] == self.compile(unit, "-S", "-o", "-")
        finally:
            site.path.write_text(original)


def ended(process):
    """Its exit code, or None where it is stuck: for a minute it has used next to no processor time, though none of its threads waits for a processor."""
    before, folder = 0, pathlib.Path(f"/proc/{process.pid}")
    while True:
        try:
            return process.wait(60)
        except subprocess.TimeoutExpired:
            pass
        try:
            # behind the name, which may have blanks: state, ..., and as the 12th and 13th clock ticks in user and system mode (proc(5))
            whole, *threads = [stat.read_text().rpartition(")")[2].split() for stat in [folder / "stat", *(folder / "task").glob("*/stat")]]
        except OSError:
            continue  # a thread that has just ended
        used = (int(whole[11]) + int(whole[12])) / os.sysconf("SC_CLK_TCK")
        if used - before < 1 and not any(thread[0] in "RD" for thread in threads):
            return None
        before = used


class Stage:
    def __init__(self, folder, build, seed, each, again):
        self.name, self.build, self.folder = folder.name, build, folder
        self.test = build / "bin" / f"unit_{self.name}"
        paths = sorted(p for p in folder.rglob("*") if p.suffix in (".cpp", ".hpp") and not p.name.startswith("cuda"))
        self.originals = {path: path.read_text() for path in paths}
        sites = [site for path in paths for site in sites_of(path)]
        order = sorted(range(len(sites)), key=lambda i: hashed(seed, sum(map(ord, self.name)) * 100003 + i))
        self.all = len(sites)
        # Some do not compile: others are there to take their places.
        self.wanted = each
        self.chosen = [(number + 1, sites[i]) for number, i in enumerate(order[: 2 * each])]
        if again is not None:
            self.chosen = [(number + 1, site) for number, site in enumerate(s for s in sites if str(s) in again)]

    def write(self):
        for path, original in self.originals.items():
            here_chosen = [c for c in self.chosen if c[1].path == path]
            if here_chosen:
                write_mutated(path, original, here_chosen)
            else:
                write_changed(path, original)

    def restore(self):
        for path, original in self.originals.items():
            write_changed(path, original)

    def drop(self, places, files):
        """Takes out the mutants of these lines; where a message names no line of ours, all of the files that it names. Returns whether any was."""
        before = len(self.chosen)
        self.chosen = [c for c in self.chosen if (str(c[1].path), c[1].line) not in places]
        if len(self.chosen) == before:
            self.chosen = [c for c in self.chosen if str(c[1].path) not in files]
        return len(self.chosen) < before

    def run(self, case, mutant, seconds, reached=None):
        """Runs one test case. Returns its exit code, or -1 where it needs more processor time than `seconds` or does not end at all, and the processor time."""
        environment = dict(os.environ, SLUICE_MUTANT=str(mutant), ASAN_OPTIONS="detect_leaks=0:hard_rss_limit_mb=4096")
        if reached:
            environment["SLUICE_MUTANTS_REACHED"] = reached
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [self.test, f"--first={case}", f"--last={case}", "--abort-after=1", "--no-breaks"]
        limits = lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        with subprocess.Popen(command, env=environment, cwd=self.build, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limits) as test:
            code = ended(test)
            if code is None:
                os.killpg(test.pid, signal.SIGKILL)
                code = -1
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return code, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    def cases(self):
        """(processor time, number, mutants that it comes past) of each test case that passes, the shortest first."""
        told = subprocess.run([self.test, "--count", "--no-colors"], cwd=self.build, capture_output=True, text=True).stdout
        found = []
        for case in range(1, int(re.search(r"(\d+)\s*$", told).group(1)) + 1):
            with tempfile.NamedTemporaryFile() as file:
                code, seconds = self.run(case, -1, 1200, file.name)
                if code == 0:
                    found.append((seconds, case, {int(line) for line in file.read().split()}))
                else:
                    print(f"{self.name}: test case {case} is not used, it fails without a mutant ({code})", flush=True)
        return sorted(found, key=lambda c: c[:2])

    def compiled(self):
        """The mutants that are code in the test or in the stage; the others are numbers that the compiler has used up, or in what is not built here (CUDA)."""
        found = set()
        for program in (self.test, self.build / "bin" / "plugins" / f"{self.name}.so"):
            with tempfile.NamedTemporaryFile() as file:
                subprocess.run(["objcopy", f"--dump-section=.sluice_mutants={file.name}", program, "/dev/null"], capture_output=True)
                found.update(array.array("I", file.read()))
        return found

    def judge(self):
        """Returns those that survive, with a reason, and those that are the same code."""
        compiled = self.compiled()
        self.chosen = [c for c in self.chosen if c[0] in compiled][: self.wanted]
        cases = self.cases()
        reached = set().union(*(passed for _, _, passed in cases))
        compiler = Compiler(self.build, [self.folder, *tree.glob(f"tests/unit/*/{self.name}")])
        survivors, equivalent = [], []
        for id, site in self.chosen:
            if id not in reached:
                survivors.append((site, "no test comes past it"))
            elif all(self.run(case, id, 2 + 10 * seconds)[0] == 0 for seconds, case, passed in cases if id in passed):
                if compiler.same_code(site, self.originals[site.path]):
                    equivalent.append(site)
                else:
                    survivors.append((site, ""))
        return survivors, equivalent


def compile_all(stages, command):
    """Builds the tests of all stages with their mutants, without those that do not compile. Returns the stages that could be built."""
    left = list(stages)
    for _ in range(12):
        for stage in left:
            stage.write()
        made = subprocess.run([*command, *(name for stage in left for name in (stage.name, f"unit_{stage.name}")), "--", "-k", "0"], cwd=tree, capture_output=True, text=True)
        if made.returncode == 0:
            return left
        text = made.stdout + made.stderr
        # One message after another: each names its lines, those from where a template came, and those where a name was declared.
        places = {(path, int(line) - 1) for path, line in re.findall(r"(/[^\s:]+):(\d+)", text)}
        files = {name for name, _ in places}
        if not any([stage.drop(places, files) for stage in left]):
            print("does not build:\n" + text[-3000:], flush=True)
            return []
    return []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--stages", default="")
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build-command", default="")
    parser.add_argument("--report")
    parser.add_argument("--again")
    given = parser.parse_args()
    build = pathlib.Path(given.build).resolve()
    command = given.build_command.split() or ["cmake", "--build", str(build), "-j", str(os.cpu_count()), "--target"]
    names = [name for name in given.stages.split(",") if name]
    folders = [p for p in sorted(tree.glob("plugins/*/*")) if (p / "CMakeLists.txt").exists() and list(tree.glob(f"tests/unit/*/{p.name}"))]
    for name in names:
        if name not in [f.name for f in folders]:
            sys.exit(f"there is no stage {name} with a unit test")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    again = None
    if given.again:
        # "  FILE:LINE:COLUMN: BEFORE -> AFTER", and a reason
        lines = [line.strip() for line in open(given.again) if line.startswith("  ")]
        again = {line for line in lines} | {line[: line.rindex(": ")] for line in lines}
        names = names or [folder.name for folder in folders if any(line.startswith(f"{folder.relative_to(tree)}/") for line in lines)]
    report = open(given.report, "a") if given.report else None
    total = alive = same = 0
    stages = [Stage(folder, build, given.seed, given.each if again is None else len(again), again) for folder in folders if not names or folder.name in names]
    try:
        built = compile_all(stages, command)
    finally:
        for stage in stages:
            stage.restore()
    for stage in built:
        survivors, equivalent = stage.judge()
        mutants = len(stage.chosen) - len(equivalent)
        total += mutants
        alive += len(survivors)
        same += len(equivalent)
        text = f"{stage.name}: {mutants} mutants of {stage.all} places, {len(survivors)} survive; {len(equivalent)} others are the same code\n"
        text += "".join(f"  {site}{': ' + why if why else ''}\n" for site, why in survivors)
        text += "".join(f"  the same code: {site}\n" for site in equivalent)
        for out in filter(None, (sys.stdout, report)):
            out.write(text)
            out.flush()
    share = 100 * (total - alive) / max(total, 1)
    print(f"mutants: {total}, {alive} survive: {share:.1f} % killed (seed {given.seed}); {same} others are the same code")


main()
