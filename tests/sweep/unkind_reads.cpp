// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sweep/unkind_reads.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "generators/sequence_errors.hpp"

namespace sluice::sweep {
namespace {

using test_input::chance;
using test_input::random_base;
using test_input::random_bases;
using test_input::random_numbers;
using test_input::reverse_complement;
using test_input::with_errors;
using Random = test_input::Random;

// Between both, as many of each order of magnitude.
std::size_t any_size(Random& random, std::size_t least, std::size_t most) {
  const double share = random.uniform();
  return static_cast<std::size_t>(static_cast<double>(least) * std::pow(static_cast<double>(most) / static_cast<double>(least), share));
}

std::string tandem(Random& random, std::string_view unit, std::size_t copies, std::uint64_t errors_per_million) {
  std::string bases;
  for (std::size_t copy = 0; copy < copies; ++copy) bases += with_errors(unit, errors_per_million, random);
  return bases;
}

std::string low_complexity(Random& random, std::size_t count) {
  const auto letters = 1 + random.below(3);
  const auto shift = random.below(4);
  std::string bases(count, 'A');
  for (char& base : bases) base = "ACGTACG"[shift + random.below(letters)];
  return bases;
}

// What contigs share.
struct Families {
  std::vector<std::string> elements, units;
};
Families make_families(Random& random) {
  Families families;
  for (std::uint64_t i = 0, count = 1 + random.below(4); i < count; ++i)
    families.elements.push_back(random_bases(random, any_size(random, 100, 8000)));
  for (std::uint64_t i = 0, count = 1 + random.below(4); i < count; ++i) families.units.push_back(random_bases(random, any_size(random, 1, 400)));
  return families;
}

std::string next_part(Random& random, const Families& families, const std::string& contig) {
  const auto family = random.below(4);
  switch (random.below(10)) {
    case 0:
    case 1: {
      const std::uint64_t errors = random.below(3) == 0 ? 0 : random.below(200'000);
      const std::string copy = with_errors(families.elements[family % families.elements.size()], errors, random);
      return random.below(2) == 0 ? copy : reverse_complement(copy);
    }
    case 2: {
      const std::string& unit = families.units[family % families.units.size()];
      const std::size_t longest = random.below(8) == 0 ? 6000 : 1000, copies = any_size(random, 2, 2 + longest / unit.size());
      return tandem(random, unit, copies, random.below(2) == 0 ? 0 : random.below(50'000));
    }
    case 3:
      return low_complexity(random, any_size(random, 10, 800));
    case 4:
      return std::string(any_size(random, 1, 3000), 'N');
    case 5:  // an inverted repeat
      return reverse_complement(contig.substr(contig.size() - std::min<std::size_t>(contig.size(), any_size(random, 20, 3000))));
    default:
      return random_bases(random, any_size(random, 50, 20'000));
  }
}

std::string make_contig(Random& random, const Families& families, std::size_t length) {
  std::string contig;
  while (contig.size() < length) contig += next_part(random, families, contig);
  contig.resize(length);
  return contig;
}

// A place in `text` and how many bases from there, `most` at most.
struct Part {
  std::size_t begin, bases;
};
Part any_part(Random& random, const std::string& text, std::size_t least, std::size_t most) {
  const std::size_t wanted = any_size(random, least, most), bases = std::min(wanted, text.size());
  return {random.below(text.size() - bases + 1), bases};
}

std::string piece_of(Random& random, const std::vector<Sequence>& reference, std::size_t most) {
  const std::string& contig = reference[random.below(reference.size())].bases;
  const Part part = any_part(random, contig, 1, most);
  return contig.substr(part.begin, part.bases);
}

// Every base `copies` times or not at all, where homopolymers are read wrong.
std::string with_homopolymer_errors(Random& random, const std::string& text, std::uint64_t errors_per_million) {
  std::string read;
  char before = 0;
  for (const char base : text) {
    if (base == before && chance(random, errors_per_million)) {
      if (random.below(2) == 0) continue;
      read += base;
    }
    read += base;
    before = base;
  }
  return read;
}

void change(Random& random, const std::vector<Sequence>& reference, std::string& text) {
  const Part small = any_part(random, text, 30, 6000);
  const std::string here = text.substr(small.begin, small.bases);
  switch (random.below(16)) {
    case 0:
    case 1:
      text.replace(small.begin, small.bases, reverse_complement(here));
      return;
    case 2:
      text.erase(small.begin, small.bases);
      return;
    case 3: {
      const std::string foreign = random_bases(random, any_size(random, 1, 6000));
      text.insert(small.begin, foreign);
      return;
    }
    case 4:
      text.insert(small.begin, piece_of(random, reference, 6000));
      return;
    case 5: {
      const auto copies = 1 + random.below(5);
      for (std::uint64_t copy = 0; copy < copies; ++copy) text.insert(small.begin, here);
      return;
    }
    case 6: {
      const std::string other = piece_of(random, reference, 20'000);
      text += random.below(2) == 0 ? other : reverse_complement(other);
      return;
    }
    case 7:  // the read turns round, and goes back some way
      text += reverse_complement(text.substr(small.begin));
      return;
    case 8:
    case 9:
    case 10: {  // a bad stretch
      const Part bad = any_part(random, text, 2000, 14'000);
      const auto errors = 200'000 + random.below(700'000);
      text.replace(bad.begin, bad.bases, with_errors(text.substr(bad.begin, bad.bases), errors, random));
      return;
    }
    case 11:
      text.replace(small.begin, small.bases, std::string(any_size(random, 1, 2000), 'N'));
      return;
    case 12: {
      const std::string filler = low_complexity(random, any_size(random, 10, 2000));
      random.below(2) == 0 ? text.insert(small.begin, filler) : text += filler;
      return;
    }
    case 13: {
      const std::string adapter = random_bases(random, any_size(random, 10, 300));
      random.below(2) == 0 ? text.insert(0, adapter) : text += adapter;
      return;
    }
    case 14: {  // a short tandem repeat more or less
      const std::string unit = here.substr(0, 1 + random.below(12));
      text.insert(small.begin, tandem(random, unit, any_size(random, 2, 200), random.below(30'000)));
      return;
    }
    default:
      text = with_homopolymer_errors(random, text, 300'000);
  }
}

std::string make_read(Random& random, const std::vector<Sequence>& reference, std::uint64_t errors_per_million, std::size_t most) {
  std::string text = piece_of(random, reference, most);
  if (text.size() >= 200)
    for (std::uint64_t i = 0, changes = random.below(4); i < changes && text.size() >= 200; ++i) change(random, reference, text);
  if (random.below(2) == 0) text = reverse_complement(text);
  text = with_errors(text, errors_per_million, random);
  if (random.below(20) == 0) text = test_input::lower_case(text);
  if (text.empty()) text = "A";
  return text;
}

}  // namespace

std::vector<Sequence> unkind_reference(std::uint64_t seed, std::uint64_t number) {
  Random random = random_numbers(seed, 1'000'000 * number);
  const Families families = make_families(random);
  std::vector<Sequence> contigs;
  const auto count = 1 + random.below(6);
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool is_copy = i > 0 && random.below(3) == 0;
    const std::size_t length = random.below(5) == 0 ? any_size(random, 1, 300) : any_size(random, 3000, 300'000);
    std::string bases;
    if (is_copy) {
      const std::uint64_t errors = any_size(random, 10, 20'000);
      bases = with_errors(contigs[random.below(i)].bases, errors, random);
    } else {
      bases = make_contig(random, families, length);
    }
    contigs.push_back({"contig" + std::to_string(i), bases.empty() ? "ACGT" : bases});
  }
  return contigs;
}

std::vector<Sequence> unkind_reads(std::uint64_t seed, std::uint64_t number, const std::vector<Sequence>& reference, std::size_t bases) {
  Random of_case = random_numbers(seed, 1'000'000 * number + 1);
  constexpr std::uint64_t error_rates[] = {0, 3'000, 10'000, 50'000, 100'000, 200'000};
  const std::uint64_t errors = error_rates[of_case.below(6)];
  const std::size_t longest = of_case.below(4) == 0 ? 300'000 : 20'000, most = any_size(of_case, 2'000, longest);
  std::vector<Sequence> reads;
  for (std::size_t sum = 0; sum < bases;) {
    Random random = random_numbers(seed, 1'000'000 * number + 2 + reads.size());
    reads.push_back(
        {"read" + std::to_string(reads.size()) + (random.below(10) == 0 ? "/with.other|letters" : ""), make_read(random, reference, errors, most)});
    sum += reads.back().bases.size() + 500;
  }
  return reads;
}

}  // namespace sluice::sweep
