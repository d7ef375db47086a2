# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Noisy reads of a random genome, the same bytes with every awk, and what they were before the errors.
#   awk -v what=reads|truth -v seed=1 -v genome=12000 -v reads=80 -v mean=3000 -v error=0.08 -f correct_reads.awk
# reads: FASTQ; truth: FASTA with the same names. Half of the reads are of the reverse strand; qualities are lower where an error is. Integers stay below 2^53: the
# generator is a 31-bit Lehmer.

function random(n) { state = state * 48271 % 2147483647; return state % n }
function chance(p) { return random(1000000) < p * 1000000 }
function base() { return substr("ACGT", random(4) + 1, 1) }
function append(letter, score) { read = read letter; quality = quality substr("()*+,-./0123456789:;<=", score + random(6), 1) }
function reverse_complement(text, out, i) {
  out = ""
  for (i = length(text); i > 0; i--) out = out substr("TGCA", index("ACGT", substr(text, i, 1)), 1)
  return out
}

BEGIN {
  state = seed * 7919 + 12345
  for (i = 0; i < 100; i++) random(2)
  text = ""
  for (i = 0; i < genome; i++) text = text base()
  for (r = 0; r < reads; r++) {
    n = int(mean / 2) + random(mean)
    truth = substr(text, 1 + random(genome - n + 1), n)
    if (random(2)) truth = reverse_complement(truth)
    read = quality = ""
    for (i = 1; i <= n; i++) {
      if (!chance(error)) { append(substr(truth, i, 1), 12); continue }
      kind = random(3)
      if (kind == 0) append(base(), 3)
      if (kind == 1) { append(substr(truth, i, 1), 12); append(base(), 3) }
    }
    if (what == "truth") printf ">read%d\n%s\n", r, truth
    else printf "@read%d made for tests\n%s\n+\n%s\n", r, read, quality
  }
}
