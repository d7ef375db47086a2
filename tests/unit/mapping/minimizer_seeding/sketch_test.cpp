// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_seeding/sketch.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "unit/instruction_sets.hpp"

using namespace sluice;

namespace {

// An invertible hash of 2 k bits (T. Wang's, as minimap2 has it), written down once more, so that a wrong number in the plugin's own shows.
std::uint64_t described_hash(std::uint64_t value, std::uint32_t k) {
  const std::uint64_t modulus = std::uint64_t{1} << 2 * k;
  const auto wrap = [&](std::uint64_t number) { return number % modulus; };
  value = wrap(~value + (value << 21));
  value ^= value >> 24;
  value = wrap(265 * value);
  value ^= value >> 14;
  value = wrap(21 * value);
  value ^= value >> 28;
  return wrap(value + (value << 31));
}

// The sequential definition, on letters: k-mers are cut from the last k valid letters, windows are lists.
std::vector<Minimizer> sketch_by_definition(const std::string& bases, const SketchParameters& p) {
  struct Element {
    bool exists = false;
    Minimizer minimizer{};
  };
  std::vector<Minimizer> out;
  std::vector<Element> ring(p.w);
  Element minimum;
  std::size_t at = 0, minimum_at = 0;
  std::vector<std::uint64_t> history(p.k, 0);  // codes, newest last
  std::vector<std::uint64_t> complements(p.k, 0);
  std::vector<std::size_t> runs;
  std::size_t valid = 0;
  const auto equals = [&](std::size_t first, std::size_t end) {
    for (std::size_t j = first; j < end; ++j)
      if (ring[j].exists && ring[j].minimizer.x == minimum.minimizer.x && ring[j].minimizer.y != minimum.minimizer.y)
        out.push_back(ring[j].minimizer);
  };
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const std::uint64_t code = nucleotide_code(bases[i]);
    Element element;
    if (code < 4) {
      std::size_t span = p.k;
      if (p.homopolymers == HomopolymerCompression::on) {
        std::size_t length = 1;
        while (i + 1 < bases.size() && nucleotide_code(bases[i + 1]) == code) ++length, ++i;
        runs.push_back(length);
        if (runs.size() > p.k) runs.erase(runs.begin());
        span = 0;
        for (const std::size_t run : runs) span += run;
      }
      history.erase(history.begin()), history.push_back(code);
      complements.pop_back(), complements.insert(complements.begin(), 3 - code);
      std::uint64_t forward = 0, reverse = 0;
      for (std::size_t j = 0; j < p.k; ++j) forward = forward << 2 | history[j], reverse = reverse << 2 | complements[j];
      if (forward == reverse) continue;
      ++valid;
      if (valid >= p.k && span < 256)
        element = {true, {described_hash(std::min(forward, reverse), p.k) << 8 | span, i << 1 | (forward < reverse ? 0U : 1U)}};
    } else {
      valid = 0;
      runs.clear();
    }
    ring[at] = element;
    if (valid == p.w + p.k - 1 && minimum.exists) equals(at + 1, p.w), equals(0, at);
    const bool newer = !minimum.exists || (element.exists && element.minimizer.x <= minimum.minimizer.x);
    if (newer) {
      if (valid >= p.w + p.k && minimum.exists) out.push_back(minimum.minimizer);
      minimum = element;
      minimum_at = at;
    } else if (at == minimum_at) {
      if (valid >= p.w + p.k - 1) out.push_back(minimum.minimizer);
      minimum.exists = false;
      for (std::size_t n = 1; n <= p.w; ++n) {
        const std::size_t j = (at + n) % p.w;
        if (ring[j].exists && (!minimum.exists || ring[j].minimizer.x <= minimum.minimizer.x)) minimum = ring[j], minimum_at = j;
      }
      if (valid >= p.w + p.k - 1 && minimum.exists) equals(at + 1, p.w), equals(0, at + 1);
    }
    at = (at + 1) % p.w;
  }
  if (minimum.exists) out.push_back(minimum.minimizer);
  return out;
}

// Sequences with everything that is special: ambiguous bases, both cases, homopolymers, palindromes, repeats.
std::string random_bases(std::mt19937& random, std::size_t length, std::uint32_t k) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::size_t alphabet = below(4) == 0 ? 2 : 4;
  std::string bases;
  while (bases.size() < length) {
    switch (below(12)) {
      case 0:
        bases += std::string(1 + below(2 * k), "ACGT"[below(4)]);
        break;
      case 1:
        bases += std::string(below(3) == 0 ? 1 + below(20) : 1, "NRn-"[below(4)]);
        break;
      case 2: {
        for (std::size_t n = below(k + 2); n > 0; --n) bases += below(2) == 0 ? "AT" : "CG";
        break;
      }
      case 3: {
        const std::size_t size = std::min<std::size_t>(bases.size(), 1 + below(k + 5));
        std::string mirrored = bases.substr(bases.size() - size);
        for (auto base = mirrored.rbegin(); base != mirrored.rend(); ++base) bases += "TGCAN"[nucleotide_code(*base)];
        break;
      }
      case 4:
        if (!bases.empty()) bases += bases.substr(below(bases.size()), below(100));
        break;
      default:
        for (std::size_t n = below(60); n > 0; --n) bases += (below(3) == 0 ? "acgu" : "ACGT")[below(alphabet)];
    }
  }
  bases.resize(length);
  return bases;
}

}  // namespace

TEST_CASE("every instruction set gives the minimizers of the sequential definition, also in parts") {
  sluice::testing::for_each_instruction_set([] {
    const SketchKernels& kernels = minimizer_seeding::sketch_kernels();
    std::mt19937 random(1);
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    SketchScratch scratch;
    for (int round = 0; round < 3000; ++round) {
      SketchParameters p;
      p.k = static_cast<std::uint32_t>(1 + below(28));
      p.w = static_cast<std::uint32_t>(below(3) == 0 ? 1 + below(255) : 1 + below(20));
      if (below(6) == 0) p.homopolymers = HomopolymerCompression::on;
      const std::size_t length = below(20) == 0 ? below(9000) : below(4) == 0 ? below(p.k + p.w + 3) : below(900);
      const std::string bases = random_bases(random, length, p.k);
      CAPTURE(p.k);
      CAPTURE(p.w);
      CAPTURE(bases);
      const std::vector<Minimizer> expected = sketch_by_definition(bases, p);
      const PackedSequence packed = pack_bases(bases, kernels, scratch);
      std::vector<Minimizer> found;
      sketch_one_by_one(packed, p, found);
      REQUIRE(found == expected);
      found.clear();
      sketch(packed, p, 0, packed.length, kernels, scratch, found);
      REQUIRE(found == expected);
      if (!sketches_in_parts(p, kernels) || length == 0) continue;
      found.clear();
      for (std::int64_t begin = 0; begin < packed.length;) {
        const std::int64_t end = std::min<std::int64_t>(packed.length, begin + 1 + static_cast<std::int64_t>(below(length)));
        sketch(packed, p, begin, end, kernels, scratch, found);
        begin = end;
      }
      // The last one is reported behind the others, even if bases behind it were looked at apart.
      REQUIRE(found == expected);
    }
  });
}

TEST_CASE("letters are packed alike by every instruction set") {
  sluice::testing::for_each_instruction_set([] {
    const SketchKernels& kernels = minimizer_seeding::sketch_kernels();
    std::mt19937 random(2);
    for (std::size_t length = 0; length < 300; ++length) {
      const std::string bases = random_bases(random, length, 15);
      SketchScratch scratch;
      const PackedSequence packed = pack_bases(bases, kernels, scratch);
      for (std::size_t i = 0; i < length; ++i) {
        const std::uint8_t code = nucleotide_code(bases[i]);
        bool ambiguous = false;
        for (const BaseInterval& interval : packed.ambiguous)
          ambiguous = ambiguous || (interval.begin <= static_cast<std::int64_t>(i) && static_cast<std::int64_t>(i) < interval.end);
        REQUIRE(ambiguous == (code == 4));
        REQUIRE(packed.base(static_cast<std::int64_t>(i)) == code % 4U);
      }
    }
  });
}
