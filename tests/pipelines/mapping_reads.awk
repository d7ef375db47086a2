# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Makes a small mapping problem, the same bytes with every awk: three contigs (two with copies of one element, one a tandem repeat in random sequence), and
# reads of them with errors, on both strands; chimeras, reads that stick out of a contig, reads of nothing, reads with N, lower case and U.
#   awk -v what=reference|reads -v seed=1 -v reads=60 -v error=0.1 -f mapping_reads.awk
# Integers stay below 2^53: the generator is a 31-bit Lehmer.

function random(n) { state = state * 48271 % 2147483647; return state % n }
function chance(p) { return random(1000000) < p * 1000000 }
function base() { return substr("ACGT", random(4) + 1, 1) }
function bases(n, text, i) { text = ""; for (i = 0; i < n; i++) text = text base(); return text }
function mutated(text, rate, out, i, letter) {
  out = ""
  for (i = 1; i <= length(text); i++) {
    letter = substr(text, i, 1)
    if (!chance(rate)) { out = out letter; continue }
    i -= random(3) == 0                       # an insertion comes before the letter
    if (random(2) == 0) out = out base()      # else a deletion
  }
  return out
}
function reverse_complement(text, out, i) {
  out = ""
  for (i = length(text); i > 0; i--) out = out substr("TGCAN", index("ACGTN", substr(text, i, 1)), 1)
  return out
}
function piece(contig, n, at) {
  n = n < length(contig) ? n : length(contig)
  at = random(length(contig) - n + 1)
  return random(2) ? substr(contig, at + 1, n) : reverse_complement(substr(contig, at + 1, n))
}
function wrapped(text, width, i) { for (i = 1; i <= length(text); i += width) print substr(text, i, width) }

BEGIN {
  state = seed * 7919 + 12345
  for (i = 0; i < 100; i++) random(2)
  element = bases(1800)
  unit = bases(171)
  contig[1] = bases(12000); contig[2] = bases(4000); contig[3] = bases(3000)
  for (i = 0; i < 6; i++) {
    contig[1] = contig[1] mutated(element, 0.02 * i) bases(1500)
    contig[2] = contig[2] reverse_complement(mutated(element, 0.03 * i)) bases(900)
  }
  for (i = 0; i < 40; i++) contig[3] = contig[3] mutated(unit, 0.02)
  contig[3] = contig[3] bases(3000)
  contig[1] = substr(contig[1], 1, 5000) "NNNNNNNNNNNNNNNNNNNNNNNNNNNNNN" substr(contig[1], 5001)
  if (what == "reference") {
    for (i = 1; i <= 3; i++) { print ">contig" i " made for tests"; wrapped(i == 2 ? tolower(contig[i]) : contig[i], 70 + i) }
    exit
  }
  state = seed * 104729 + 777
  for (i = 0; i < reads; i++) {
    kind = i % 12
    source = contig[1 + random(3)]
    if (kind < 7) text = piece(source, 300 + random(5000))
    else if (kind == 7) text = piece(contig[1], 2500) piece(contig[2], 2500)
    else if (kind == 8) text = bases(700) piece(source, 1500)
    else if (kind == 9) text = bases(1500)
    else if (kind == 10) text = piece(contig[3], 5000)
    else text = piece(source, 40 + random(120))
    text = mutated(text, kind == 11 ? 0.01 : error)
    if (i % 17 == 3) text = substr(text, 1, 200) "NNNNN" substr(text, 201)
    if (i % 17 == 5) text = tolower(text)
    if (i % 17 == 7) gsub("T", "U", text)
    quality = text
    gsub(/./, "5", quality)
    print "@read" i " kind" kind "\n" text "\n+\n" quality
  }
}
