#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What a third party does: install sluice, build plugins out of tree against it (C++ by clang, plain C, and the skeletons that
# `sluice new-plugin` makes), test them, and run them in a pipeline of one's own.
#   installed_tree.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
# A clean Debian has ninja, which this project needs, but not make.
export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
build=$(realpath "$1") source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

# What is installed may be moved.
cmake --install "$build" --prefix "$work/elsewhere" >"$work/install.log"
mv "$work/elsewhere" "$work/installed"
sluice="$work/installed/bin/sluice"
"$sluice" plugins >"$work/plugins.txt" || fail "the installed program lists its plugins"
grep -q event_detection "$work/plugins.txt" || fail "the installed program finds its installed plugins"

# What is beside the program: licences, documents, the manual page, completion.
share="$work/installed/share" doc="$work/installed/share/doc/sluice"
for file in "$doc/LICENSE" "$doc/THIRD_PARTY_LICENCES.md" "$doc/README.md" "$doc/CHANGELOG.md" "$doc/docs/plugin-author.md" "$doc/plugins/signal/abea/README.md" \
  "$doc/reference/index.md" "$doc/reference/stages/event_detection.md" "$doc/reference/pipelines/methylation.md" "$share/man/man1/sluice.1" "$share/man/man1/sluice-map.1" \
  "$share/bash-completion/completions/sluice" "$share/zsh/site-functions/_sluice" "$share/fish/vendor_completions.d/sluice.fish"; do
  [ -s "$file" ] || fail "$file is installed"
done
for shell in bash zsh fish; do
  "$sluice" completion $shell | diff - "$(ls "$share"/bash-completion/completions/sluice "$share"/zsh/site-functions/_sluice "$share"/fish/vendor_completions.d/sluice.fish | grep $shell)" \
    || fail "the installed completion of $shell is the program's own"
done
HOME=/nonexistent "$sluice" docs --manual | diff - "$share/man/man1/sluice.1" || fail "the installed manual page is the program's own"
HOME=/nonexistent "$sluice" docs --check "$doc/reference" || fail "the installed pages are those of the installed stages"
for file in "$sluice" "$work"/installed/lib*/sluice/plugins/*.so "$work"/installed/lib/*/sluice/plugins/*.so; do
  [ ! -e "$file" ] || LC_ALL=C readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(lib[^.]*\)\.so.*/\1/p'
done | sort -u >"$work/linked"
[ -s "$work/linked" ] || fail "the program is linked with libraries"
while read -r library; do
  grep -qF "\`$library\`" "$doc/THIRD_PARTY_LICENCES.md" || fail "THIRD_PARTY_LICENCES.md names $library, which is linked"
done <"$work/linked"

cxx=$(command -v clang++ || command -v g++)
cc=$(command -v clang || command -v gcc)
echo "plugins are built by $cxx and $cc, the host by the compiler of $build"
mkdir "$work/plugins"
for name in base_composition read_length trim_ends; do
  cmake -S "$source/examples/${name}_plugin" -B "$work/$name" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_BUILD_TYPE=Release >"$work/$name.log" 2>&1 || { cat "$work/$name.log"; fail "configure $name"; }
  cmake --build "$work/$name" >>"$work/$name.log" 2>&1 || { cat "$work/$name.log"; fail "build $name"; }
  cp "$work/$name/$name.so" "$work/plugins/"
done
# The plugin with a CUDA implementation: with it where there is nvcc, and in any case without it.
cuda_plugin() { # FOLDER [cmake options]
  local folder=$1
  shift
  cmake -S "$source/examples/cuda_plugin" -B "$folder" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release "$@" \
    >"$folder.log" 2>&1 || { cat "$folder.log"; fail "configure $folder"; }
  cmake --build "$folder" >>"$folder.log" 2>&1 || { cat "$folder.log"; fail "build $folder"; }
  ctest --test-dir "$folder" --verbose >"$folder.test.log" 2>&1 || { cat "$folder.test.log"; fail "the test of $folder"; }
  grep 'skipped on a CUDA device' "$folder.test.log" || echo "gc_count was tested on a CUDA device"
}
cuda_plugin "$work/gc_count_cpu" -DSLUICE_WITH_CUDA=OFF
"$sluice" inspect gc_count --plugin-dir "$work/gc_count_cpu" | grep -q 'one warp a read' && fail "SLUICE_WITH_CUDA=OFF leaves the CUDA implementation out"
if [ -x "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)" ]; then
  cuda_plugin "$work/gc_count"
  "$sluice" inspect gc_count --plugin-dir "$work/gc_count" | grep -q 'one warp a read' || fail "the CUDA implementation of an out-of-tree plugin is built"
  cp "$work/gc_count/gc_count.so" "$work/plugins/"
else
  echo "SKIPPED: the CUDA implementation of examples/cuda_plugin: there is no nvcc"
  cp "$work/gc_count_cpu/gc_count.so" "$work/plugins/"
fi
# The backend for another kind of device that docs/plugin-author.md shows, with a stage that runs on it.
folder="$work/device_provider"
cmake -S "$source/examples/device_provider" -B "$folder" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release \
  >"$folder.log" 2>&1 || { cat "$folder.log"; fail "configure device_provider"; }
cmake --build "$folder" >>"$folder.log" 2>&1 || { cat "$folder.log"; fail "build device_provider"; }
ctest --test-dir "$folder" --output-on-failure >"$folder.test.log" 2>&1 || { cat "$folder.test.log"; fail "the test of device_provider"; }
"$sluice" doctor --plugin-dir "$folder" >"$folder.doctor" || true
grep -q 'mirror:0' "$folder.doctor" || fail "sluice doctor lists the device of a third party"
for i in $(seq 2000); do printf '>r%d\nACGTNNGT%s\n' "$i" "$(printf 'GATTACA%.0s' $(seq $((i % 9))))"; done >"$work/mirrored.fa"
for device in cpu mirror auto; do
  "$sluice" run "$source/examples/device_provider/mirrored.toml" --plugin-dir "$folder" --reads "$work/mirrored.fa" --device $device --batch-work 2000 \
    --output "$work/$device.tsv" --report "$work/$device.json" --quiet || fail "a run with --device $device"
  cmp "$work/cpu.tsv" "$work/$device.tsv" || fail "the bytes with --device $device"
done
[ "$(sed -n '10p' "$work/cpu.tsv")" = $'r9\t13' ] || fail "the count of r9"
python3 - "$work/mirror.json" <<'PYTHON' || fail "the report of a third party's device"
import json, sys
report = json.load(open(sys.argv[1]))
device, = report["devices"]
placed, = report["placements"][0]["devices"]
# How many batches a call takes together is the scheduler's choice: on a busy machine many wait.
sys.exit(not (device["name"] == "mirror:0" and placed["whole_batches"] > 10 and device["calls"] > 0 and device["bytes_to_device"] > 0 and placed["rows"] == 2000))
PYTHON
SLUICE_CONTRACT_PLUGINS="$work/plugins" "$build/bin/contract_every_plugin" >"$work/contract.log" || { cat "$work/contract.log"; fail "the contract of all stages"; }

printf '@r1\nGGCC\n+\nIIII\n@r2\nACGTACGTAA\n+\nIIIIIIIIII\n@r3\nNNNNN\n+\nIIIII\n' >"$work/reads.fastq"
"$sluice" run "$source/examples/read_table.toml" --plugin-dir "$work/plugins" --reads "$work/reads.fastq" --minimum-length 5 --output "$work/table.tsv" --quiet
printf 'read_id\tread_length\tgc_share\tn_share\nr2\t10\t0.4\t0\nr3\t5\t0\t1\n' >"$work/expected.tsv"
diff "$work/expected.tsv" "$work/table.tsv" || fail "the table of a pipeline of third-party stages"

# A stage that changes reads: what it gives is what the writers see.
cat >"$work/trimmed.toml" <<'TOML'
[pipeline]
name = "trimmed"
[stages.reads]
use = "read_reader"
params.path = "reads.fastq"
[stages.trim]
use = "trim_ends"
params.bases = 2
[stages.table]
use = "table_writer"
params = { output = "trimmed.tsv", columns = "read_id,bases" }
TOML
(cd "$work" && "$sluice" run trimmed.toml --plugin-dir "$work/plugins" --quiet --account left_out.tsv)
printf 'read_id\tbases\nr2\tGTACGT\nr3\tN\n' | diff - "$work/trimmed.tsv" || fail "the reads that trim_ends gives"
grep -q $'^r1\ttrim\ttoo_short$' "$work/left_out.tsv" || fail "the account names the read of which nothing is left"

# What `sluice new-plugin` makes of each kind: its test fails until the method is written, for that reason only, and passes then.
cd "$work"
declare -A method=(
  [map]='s|^double gc_share.*|double gc_share(std::string_view bases) {\n  std::size_t gc = 0;\n  for (const char base : bases) gc += base == 71 \|\| base == 67;\n  if (!bases.empty()) return double(gc) / double(bases.size());|'
  [cuda]='s|^constexpr bool is_counted.*|constexpr bool is_counted(char base) {\n  if (base == 71 \|\| base == 67) return true;|'
  [source]='s|^bool parse.*|bool parse(std::string_view line, Record\& record) {\n  const std::size_t tab = line.find(9);\n  if (tab != line.npos) return record = {line.substr(0, tab), std::stod(std::string(line.substr(tab + 1)))}, true;|; s|^#include "\(.*\)"|#include "\1"\n#include <string>|'
  [regroup]='s|^std::size_t bin_of.*|std::size_t bin_of(std::uint64_t bases) {\n  if (bases > 1) return 1 + bin_of(bases / 2);|'
  [sink]='s|^void append_line.*|void append_line(std::string_view read_id, std::string_view bases, std::string\& text) {\n  text.append(read_id).append(1, 9).append(std::to_string(bases.size())).append(1, 10);|'
  [resource]='s|^std::vector<Weight> parse_weights.*|std::vector<Weight> parse_weights(std::string_view text) {\n  std::vector<Weight> weights;\n  for (std::size_t end; (end = text.find(10)) != text.npos; text.remove_prefix(end + 1)) {\n    if (end < 3) return {};\n    weights.push_back({text[0], std::stod(std::string(text.substr(2, end - 2)))});\n  }\n  if (!weights.empty()) return weights;|; s|^#include "\(.*\)"|#include "\1"\n#include <string>|'
)
for kind in map cuda source regroup sink resource; do
  name=my_$kind
  case $kind in cuda) options=(--cuda) ;; *) options=(--kind $kind) ;; esac
  "$sluice" new-plugin $name "${options[@]}" >/dev/null || fail "new-plugin ${options[*]}"
  cmake -S $name -B $name/build -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$cxx" >"$work/new.log" 2>&1 || { cat "$work/new.log"; fail "configure the new plugin ($kind)"; }
  cmake --build $name/build >>"$work/new.log" 2>&1 || { cat "$work/new.log"; fail "build the new plugin ($kind)"; }
  if $name/build/${name}_test >"$work/new.test" 2>&1; then fail "the test of a new plugin ($kind) fails until its method is written"; fi
  [ "$(grep -c '^FAILED' "$work/new.test")" = 1 ] && grep -q "write the method in $name" "$work/new.test" ||
    { cat "$work/new.test"; fail "only the method is missing in a new plugin ($kind)"; }
  case $kind in cuda) where=$name/$name.hpp ;; *) where=$name/$name.cpp ;; esac
  sed -i "${method[$kind]}" $where
  cmake --build $name/build >>"$work/new.log" 2>&1 || { cat "$work/new.log"; fail "build the new plugin ($kind) with its method"; }
  ctest --test-dir $name/build --output-on-failure >>"$work/new.log" 2>&1 || { cat "$work/new.log"; fail "the contract test of the new plugin ($kind)"; }
  "$sluice" inspect $name --plugin-dir $name/build >/dev/null || fail "inspect the new plugin ($kind)"
done
"$sluice" inspect my_map --plugin-dir my_map/build | grep -q gc_share || fail "inspect the new plugin"
if "$sluice" new-plugin two_things --cuda --kind sink 2>/dev/null; then fail "--cuda is of maps"; fi
for taken in head table_writer class std test; do
  if "$sluice" new-plugin $taken >/dev/null 2>said; then fail "new-plugin $taken: the name can't work"; fi
  grep -q "choose another name" said || fail "new-plugin $taken: $(cat said)"
  [ ! -e $taken ] || fail "new-plugin $taken left a folder"
done

# The folder in which sluice was built is as good as an installed one.
cmake -S my_map -B my_map/against_build -DCMAKE_PREFIX_PATH="$build" -DCMAKE_CXX_COMPILER="$cxx" >"$work/new.log" 2>&1 || { cat "$work/new.log"; fail "configure against the build folder"; }
cmake --build my_map/against_build >>"$work/new.log" 2>&1 || { cat "$work/new.log"; fail "build against the build folder"; }
ctest --test-dir my_map/against_build --output-on-failure >>"$work/new.log" 2>&1 || { cat "$work/new.log"; fail "the test of a plugin built against the build folder"; }

# The contract suite under sanitizers, by one option: each fault is named, and the sanitizer shows its line.
for sanitizer in address thread; do
  folder="$work/harmful_$sanitizer"
  cmake -S "$source/tests/harmful_plugin" -B "$folder" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER=g++ -DSLUICE_SANITIZE=$sanitizer \
    >"$folder.log" 2>&1 || { cat "$folder.log"; fail "configure a plugin with SLUICE_SANITIZE=$sanitizer"; }
  cmake --build "$folder" >>"$folder.log" 2>&1 || { cat "$folder.log"; fail "build a plugin with SLUICE_SANITIZE=$sanitizer"; }
  HARM=none "$folder/harmful_test" >"$folder.none" 2>&1 || { cat "$folder.none"; fail "a stage that does no harm, with SLUICE_SANITIZE=$sanitizer"; }
done
finds() { # SANITIZER HARM CASE: a problem of that case, and the line in a report
  local said="$work/$1_$2"
  if HARM=$2 "$work/harmful_$1/harmful_test" >"$said" 2>&1; then fail "'$2' is found with SLUICE_SANITIZE=$1"; fi
  grep -q "^harmful: $3: " "$said" || { cat "$said"; fail "'$2' is a problem of the case '$3'"; }
  grep -q "stage.cpp:$(grep -n "HARM: $2" "$source/tests/harmful_plugin/stage.cpp" | cut -d: -f1)" "$said" || { cat "$said"; fail "the line of '$2' is shown"; }
}
finds address overrun sample
finds address leak sample
finds thread race "one row a batch, four at once"

printf 'not a library' >"$work/plugins/broken.so"
"$sluice" plugins --plugin-dir "$work/plugins" >"$work/plugins.txt" 2>&1 || true
grep -q 'broken.so' "$work/plugins.txt" || fail "a plugin that can't be loaded is listed"
"$source/tests/pipelines/tutorial.sh" "$work/installed" "$source"
echo "all good"
