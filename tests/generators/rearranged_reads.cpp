// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

#include "generators/sequence_errors.hpp"
#include "generators/test_inputs.hpp"

namespace sluice::test_input {
namespace {

constexpr std::size_t genome_bases = 300'000;

// A random genome with a repeat of five copies, a tandem repeat and a stretch of N.
std::string make_genome(std::uint64_t seed) {
  Random random = random_numbers(seed, 0);
  std::string genome = random_bases(random, genome_bases);
  const std::string element = random_bases(random, 3000), unit = random_bases(random, 60);
  for (std::uint64_t copy = 0; copy < 5; ++copy) {
    const std::string changed = with_errors(element, 5'000 * copy, random);
    genome.replace(30'000 + 50'000 * copy, changed.size(), copy % 2 == 0 ? changed : reverse_complement(changed));
  }
  std::string tandem;
  for (int copy = 0; copy < 40; ++copy) tandem += with_errors(unit, 10'000, random);
  genome.replace(120'000, tandem.size(), tandem);
  genome.replace(170'000, 60, std::string(60, 'N'));
  return genome;
}

// What a sequencer may find where the genome has `text`: one rearrangement by its number.
std::string rearranged(std::size_t kind, std::string text, const std::string& genome, Random& random) {
  const std::size_t middle = text.size() / 2;
  const auto other_bases = [&](std::size_t bases) { return genome.substr(random.below(genome.size() - bases), bases); };
  switch (kind) {
    case 0: {  // an inversion
      const std::size_t bases = std::min<std::size_t>(300 + random.below(4700), middle);
      return text.replace(middle - bases / 2, bases, reverse_complement(text.substr(middle - bases / 2, bases)));
    }
    case 1:  // a deletion
      return text.erase(middle, std::min<std::size_t>(100 + random.below(6000), text.size() - middle));
    case 2: {  // an insertion of what is nowhere
      const auto bases = 100 + random.below(6000);
      return text.insert(middle, random_bases(random, bases));
    }
    case 3:  // an insertion from elsewhere
      return text.insert(middle, other_bases(500 + random.below(3000)));
    case 4: {  // a tandem duplication
      const std::size_t bases = std::min<std::size_t>(100 + random.below(3000), middle);
      return text.insert(middle, text.substr(middle - bases, bases));
    }
    case 5:  // a chimera, of the other strand
      return text += reverse_complement(other_bases(2000 + random.below(3000)));
    case 6: {  // adapters, one of low complexity
      std::string poly;
      for (std::uint64_t i = 0, count = 20 + random.below(300); i < count; ++i) poly += i % 2 == 0 ? "AC" : "A";
      const std::string adapter = random_bases(random, 40);
      return adapter + text + poly;
    }
    case 7:  // a stretch that was not read
      return text.replace(middle, std::min<std::size_t>(1 + random.below(400), text.size() - middle), std::string(1 + random.below(400), 'N'));
    case 8:  // the read turns round: the same again on the other strand
      return text + reverse_complement(text);
    case 9: {  // two inversions beside each other
      const std::size_t bases = std::min<std::size_t>(400, text.size() / 6);
      text.replace(middle, bases, reverse_complement(text.substr(middle, bases)));
      return text.replace(middle - 2 * bases, bases, reverse_complement(text.substr(middle - 2 * bases, bases)));
    }
    default:
      return text;
  }
}

}  // namespace

void write_rearranged_genome(std::ostream& out, std::uint64_t seed) {
  const std::string genome = make_genome(seed);
  out << ">genome\n";
  for (std::size_t at = 0; at < genome.size(); at += 80) out << std::string_view(genome).substr(at, 80) << '\n';
}

void write_rearranged_reads(std::ostream& out, std::uint64_t seed, std::size_t reads, std::uint64_t errors_per_million) {
  const std::string genome = make_genome(seed);
  for (std::size_t number = 0; number < reads; ++number) {
    Random random = random_numbers(seed, 1 + number);
    const std::size_t kind = number % 12, bases = kind == 11 ? 150 + random.below(400) : 1500 + random.below(10'000);
    std::string text = rearranged(kind, genome.substr(random.below(genome.size() - bases), bases), genome, random);
    if (random.below(2) == 1) text = reverse_complement(text);
    text = with_errors(text, errors_per_million, random);
    out << "@read" << number << " kind" << kind << '\n' << text << "\n+\n";
    for (std::size_t i = 0; i < text.size(); ++i) out << static_cast<char>('#' + (i * 7 + number) % 40);
    out << '\n';
  }
}

}  // namespace sluice::test_input
