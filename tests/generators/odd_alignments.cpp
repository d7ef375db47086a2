// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <array>
#include <ostream>
#include <string>

#include "generators/sequence_errors.hpp"
#include "generators/test_inputs.hpp"

namespace sluice::test_input {
namespace {

constexpr std::array<std::int64_t, 4> contig_bases = {1000, 250'000'000, 2'147'483'647, 1};

std::string one_of(Random& random, std::string_view letters, std::size_t count) {
  std::string text(count, letters[0]);
  for (char& letter : text) letter = letters[random.below(letters.size())];
  return text;
}

struct Cigar {
  std::string text;
  std::size_t bases = 0;  // of the read, without hard clips
};

void add(Cigar& cigar, std::uint64_t length, char operation) {
  cigar.text += std::to_string(length) + operation;
  if (std::string_view("MIS=X").find(operation) != std::string_view::npos) cigar.bases += length;
}

// One in a hundred has more operations than BAM's field.
Cigar made_cigar(Random& random) {
  Cigar cigar;
  const std::uint64_t kind = random.below(100);
  if (chance(random, 200'000)) add(cigar, 1 + random.below(40), 'H');
  if (chance(random, 300'000)) add(cigar, 1 + random.below(40), 'S');
  const std::uint64_t operations = kind == 0 ? 33'000 : 1 + random.below(12);
  for (std::uint64_t i = 0; i < operations; ++i) {
    add(cigar, 1 + random.below(kind == 0 ? 2 : 60), "M=X"[random.below(3)]);
    if (i + 1 < operations) add(cigar, 1 + random.below(9), "IDNP"[random.below(kind == 0 ? 2 : 4)]);
  }
  if (chance(random, 300'000)) add(cigar, 1 + random.below(40), 'S');
  if (chance(random, 200'000)) add(cigar, 1 + random.below(40), 'H');
  return cigar;
}

std::string made_tags(Random& random) {
  std::string tags;
  if (chance(random, 500'000)) tags += "\tNM:i:" + std::to_string(random.below(70'000));
  if (chance(random, 200'000)) tags += "\tXi:i:-" + std::to_string(random.below(2'147'483'648));
  if (chance(random, 200'000)) tags += "\tXf:f:" + std::to_string(random.below(1000)) + ".25";
  if (chance(random, 200'000)) tags += std::string("\tXa:A:") + "+*Z"[random.below(3)];
  if (chance(random, 200'000)) tags += "\tXz:Z:" + one_of(random, "abc :;,", random.below(40));
  if (chance(random, 100'000)) tags += "\tXh:H:" + one_of(random, "0123456789ABCDEF", 2 * random.below(20));
  if (chance(random, 300'000)) {
    static constexpr std::array<std::string_view, 7> kinds = {"c", "C", "s", "S", "i", "I", "f"};
    tags += "\tXb:B:" + std::string(kinds[random.below(kinds.size())]);
    const std::uint64_t values = random.below(200);
    for (std::uint64_t i = 0; i < values; ++i) tags += "," + std::to_string(random.below(100));
  }
  return tags;
}

std::string made_record(Random& random, std::uint64_t number) {
  std::string name = "r" + std::to_string(number);
  if (chance(random, 50'000)) name += one_of(random, "!~/_:|", 254 - name.size());
  const std::uint64_t kind = random.below(10);
  const bool is_unmapped = kind < 2, is_placed = kind != 0;
  std::uint64_t flag = random.below(4096) & ~std::uint64_t{4};
  if (is_unmapped) flag |= 4;
  const std::size_t contig = random.below(contig_bases.size());
  // The last bases are the hardest.
  const auto bases = static_cast<std::uint64_t>(contig_bases[contig]);
  const std::uint64_t place = chance(random, 100'000) ? bases : 1 + random.below(bases);
  const Cigar cigar = is_unmapped ? Cigar{"*", random.below(200)} : made_cigar(random);
  const bool has_bases = !chance(random, 150'000) && cigar.bases > 0, has_qualities = has_bases && !chance(random, 200'000);
  std::string line = name + "\t" + std::to_string(flag) + "\t" + (is_placed ? "c" + std::to_string(contig) : "*") + "\t" +
                     std::to_string(is_placed ? place : 0) + "\t" + std::to_string(random.below(256)) + "\t" + cigar.text;
  const std::uint64_t mate = random.below(4);
  if (mate == 0 && is_placed)
    line += "\t=\t" + std::to_string(1 + random.below(1000));
  else if (mate == 1)
    line += "\tc1\t" + std::to_string(1 + random.below(1000));
  else
    line += "\t*\t0";
  line += "\t" + std::string(chance(random, 500'000) ? "-" : "") + std::to_string(random.below(2'000'000'000));
  line += "\t" + (has_bases ? one_of(random,
                                     chance(random, 100'000)   ? "ACGUacgu"
                                     : chance(random, 100'000) ? "ACGTNRYSWKMBDHV=."
                                                               : "ACGTacgt",
                                     cigar.bases)
                            : "*");
  line += "\t" + (has_qualities ? one_of(random, "!5I~", cigar.bases) : "*");
  return line + made_tags(random);
}

}  // namespace

void write_odd_alignments(std::ostream& out, std::uint64_t seed, std::size_t records) {
  out << "@HD\tVN:1.6\tSO:unknown\n";
  for (std::size_t contig = 0; contig < contig_bases.size(); ++contig) out << "@SQ\tSN:c" << contig << "\tLN:" << contig_bases[contig] << "\n";
  for (std::size_t i = 0; i < records; ++i) {
    Random random = random_numbers(seed, i);
    out << made_record(random, i) << "\n";
  }
}

}  // namespace sluice::test_input
