// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <array>
#include <ostream>
#include <string>
#include <string_view>

#include "generators/sequence_errors.hpp"
#include "generators/test_inputs.hpp"

namespace sluice::test_input {
namespace {

using Contigs = std::array<std::string, 3>;

Contigs make_contigs(std::uint64_t seed) {
  Random random = random_numbers(seed, 0);
  const std::string element = random_bases(random, 1800), unit = random_bases(random, 171);
  Contigs contigs;
  contigs[0] = random_bases(random, 12'000);
  contigs[1] = random_bases(random, 4000);
  contigs[2] = random_bases(random, 3000);
  for (std::uint64_t copy = 0; copy < 6; ++copy) {
    contigs[0] += with_errors(element, 20'000 * copy, random);
    contigs[0] += random_bases(random, 1500);
    contigs[1] += reverse_complement(with_errors(element, 30'000 * copy, random));
    contigs[1] += random_bases(random, 900);
  }
  for (int copy = 0; copy < 40; ++copy) contigs[2] += with_errors(unit, 20'000, random);
  contigs[2] += random_bases(random, 3000);
  contigs[0].insert(5000, std::string(30, 'N'));
  return contigs;
}

// So many bases of the contig from a random place, on a random strand.
std::string piece(std::string_view contig, std::size_t bases, Random& random) {
  bases = std::min(bases, contig.size());
  const auto text = contig.substr(random.below(contig.size() - bases + 1), bases);
  return random.below(2) == 1 ? std::string(text) : reverse_complement(text);
}

std::string read_of_kind(std::size_t kind, const Contigs& contigs, Random& random) {
  const std::string& contig = contigs[random.below(contigs.size())];
  if (kind < 7) {
    const auto bases = 300 + random.below(5000);
    return piece(contig, bases, random);
  }
  std::string text;
  switch (kind) {
    case 7:  // a chimera
      text = piece(contigs[0], 2500, random);
      return text += piece(contigs[1], 2500, random);
    case 8:  // begins with what is nowhere
      text = random_bases(random, 700);
      return text += piece(contig, 1500, random);
    case 9:
      return random_bases(random, 1500);
    case 10:
      return piece(contigs[2], 5000, random);
    default: {
      const auto bases = 40 + random.below(120);
      return piece(contig, bases, random);
    }
  }
}

}  // namespace

void write_mapping_reference(std::ostream& out, std::uint64_t seed) {
  const Contigs contigs = make_contigs(seed);
  for (std::size_t number = 1; number <= contigs.size(); ++number) {
    const std::string text = number == 2 ? lower_case(contigs[1]) : contigs[number - 1];
    out << ">contig" << number << " made for tests\n";
    const std::size_t line = 70 + number;
    for (std::size_t at = 0; at < text.size(); at += line) out << std::string_view(text).substr(at, line) << '\n';
  }
}

void write_mapping_reads(std::ostream& out, std::uint64_t seed, std::size_t reads, std::uint64_t errors_per_million) {
  const Contigs contigs = make_contigs(seed);
  for (std::size_t number = 0; number < reads; ++number) {
    Random random = random_numbers(seed, 1 + number);
    const std::size_t kind = number % 12;
    const std::string whole = read_of_kind(kind, contigs, random);
    std::string text = with_errors(whole, kind == 11 ? 10'000 : errors_per_million, random);
    if (number % 17 == 3) text.insert(std::min<std::size_t>(200, text.size()), "NNNNN");
    if (number % 17 == 5) text = lower_case(text);
    if (number % 17 == 7) std::replace(text.begin(), text.end(), 'T', 'U');
    out << "@read" << number << " kind" << kind << '\n' << text << "\n+\n" << std::string(text.size(), '5') << '\n';
  }
}

}  // namespace sluice::test_input
