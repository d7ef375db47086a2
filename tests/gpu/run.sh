#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# All GPU checks and timings in one call, on a machine with a GPU and nothing installed: whole runs of `sluice run methylation` on packed binaries
# (same bytes on every device, then throughput), and the kernels' own programs where they lie beside it. Prints one table.
#   run.sh RUNTIME_DIR DATA_DIR [COPIES]
# RUNTIME_DIR: bin/sluice, lib/ (plugins and libraries), pipelines/. DATA_DIR: reads.blow5, reads.bam, reads.fastq.gz, a reference, two model files.
set -uo pipefail
runtime=$(realpath "$1") data=$(realpath "$2") copies=${3:-14}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$runtime/lib
sluice=("$runtime/bin/sluice" run "$runtime/pipelines/methylation.toml" --plugin-dir "$runtime/lib" --signal "$work/reads.blow5" --reads "$work/reads.fastq.gz"
  --reference "$data/ecoli536.fa.gz" --model "$data/r9.4_450bps.nucleotide.6mer.template.model"
  --methylation-model "$data/r9.4_450bps.cpg.6mer.template.model")
cp "$data/reads.blow5" "$data/reads.fastq.gz" "$data/reads.bam" "$work/"
"$runtime/bin/sluice" doctor --plugin-dir "$runtime/lib" || true

python3 - "$work/reads.bam" "$work/many.bam" "$copies" <<'PY'
# The records of a BAM file several times over, as BGZF.
import gzip, struct, sys, zlib
source, target, copies = sys.argv[1], sys.argv[2], int(sys.argv[3])
raw = gzip.open(source).read()
at = 8 + struct.unpack_from("<i", raw, 4)[0]
contigs = struct.unpack_from("<i", raw, at)[0]
at += 4
for _ in range(contigs):
    at += 8 + struct.unpack_from("<i", raw, at)[0]
data = raw[:at] + raw[at:] * copies
with open(target, "wb") as out:
    for begin in list(range(0, len(data), 60000)) + [None]:
        block = b"" if begin is None else data[begin:begin + 60000]
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        packed = packer.compress(block) + packer.flush()
        out.write(b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(packed) + 25) + packed + struct.pack("<II", zlib.crc32(block), len(block)))
PY

sum_of() { cksum <"$1" | cut -d' ' -f1; }
echo "== same bytes"
"${sluice[@]}" --alignments "$work/reads.bam" --output "$work/cpu.tsv" --device cpu --quiet || echo "FAILED: cpu"
for options in "--device cuda" "--device auto" "--device cuda --batch-work 20000" "--device cuda --batch-work 1e9" "--device auto --threads 3" "--device cuda --gpu-memory 1GiB" \
  "--device cuda --executor serial" "--device cuda --compat f5c"; do
  # shellcheck disable=SC2086
  "${sluice[@]}" --alignments "$work/reads.bam" --output "$work/device.tsv" --report "$work/report.json" --quiet $options || echo "FAILED: $options" >&2
  if cmp -s "$work/cpu.tsv" "$work/device.tsv"; then echo "same bytes: $options"; else echo "FAILED: other bytes: $options ($(wc -l <"$work/device.tsv") lines)"; fi
  rm -f "$work/device.tsv"
done
python3 - "$work/report.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
for stage in report["stages"]:
    print("  " + stage["name"] + ": " + ", ".join(f"{i['device']} {i['batches']} calls {i['seconds']:.3f} s" + (f" {i['retries']} retries" if i.get("retries") else "") for i in stage["implementations"]))
PY

echo "== whole process, $copies times the reads"
bases=$(zcat "$work/reads.fastq.gz" | awk 'NR % 4 == 2 { n += length($0) } END { print n }')
for options in "--device cpu" "--device cuda" "--device auto" "--device auto --memory 8GB" "--device cuda --memory 8GB --batch-work 4000000"; do
  for run in 1 2 3; do
    start=$(date +%s.%N)
    # shellcheck disable=SC2086
    "${sluice[@]}" --alignments "$work/many.bam" --output "$work/many.tsv" --report "$work/report.json" --quiet $options || echo "FAILED: $options" >&2
    echo "$(date +%s.%N) $start"
  done | python3 -c "import sys, statistics; t = statistics.median(float(a) - float(b) for a, b in (line.split() for line in sys.stdin)); print(f\"TIME {sys.argv[1]:50} {t:7.2f} s {int(sys.argv[2]) * int(sys.argv[3]) / t / 1e6:8.2f} Mbases/s\")" "$options" "$bases" "$copies"
  python3 - "$work/report.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
print("   " + "; ".join(stage["name"] + " " + " ".join(f"{i['device']} {i['batches']}x {i['seconds']:.2f}s" for i in stage["implementations"]) for stage in report["stages"]))
PY
done
