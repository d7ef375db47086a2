// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/reference_repeats.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "simulate_signal/counter_random.hpp"
#include "simulate_signal/simulate_read.hpp"

namespace sluice::simulate_signal {
namespace {

constexpr std::int64_t longest = 1000000;
constexpr LengthRange array_length{500, 30000};

// Density as 1 / length^2; without a logarithm, whose last bit differs between libraries.
std::int64_t draw(RandomStream& random, LengthRange range) {
  const auto least = static_cast<double>(range.least), most = static_cast<double>(range.most);
  const auto length = static_cast<std::int64_t>(least * most / (least + random.uniform() * (most - least)));
  return std::clamp(length, range.least, range.most);
}

std::string with_differences(std::string_view bases, double share, RandomStream& random) {
  std::string copy;
  copy.reserve(bases.size() + bases.size() / 8);
  for (const char base : bases) {
    const double chance = random.uniform();
    if (chance < 0.7 * share) {
      char other = base;
      while (other == base) other = "ACGT"[random.below(4)];
      copy += other;
    } else if (chance < 0.9 * share) {
      continue;
    } else {
      copy += base;
      if (chance < share) copy += "ACGT"[random.below(4)];
    }
  }
  return copy;
}

void reverse_complement(std::string& bases) {
  std::reverse(bases.begin(), bases.end());
  for (char& base : bases) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
}

// Over what is there; cut if it is longer than that. Returns the bases written.
std::int64_t write_anywhere(std::string_view piece, RandomStream& random, std::string& bases) {
  const std::size_t size = std::min(piece.size(), bases.size());
  const std::size_t at = random.below(bases.size() - size + 1);
  std::copy_n(piece.begin(), size, bases.begin() + static_cast<std::ptrdiff_t>(at));
  return static_cast<std::int64_t>(size);
}

std::vector<std::string> made_up_families(std::uint64_t seed, const RepeatParameters& p) {
  std::vector<std::string> families;
  RandomStream random(seed, 0, Purpose::repeat_family);
  const std::uint64_t family_seed = random.next();
  for (std::int64_t i = 0; i < p.families; ++i)
    families.push_back(synthesize_contig(family_seed, static_cast<std::uint64_t>(i), draw(random, p.family_length), p.gc_content, p.cpg_ratio));
  return families;
}

}  // namespace

std::optional<LengthRange> parse_length_range(std::string_view text) {
  LengthRange range;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, range.least);
  if (error != std::errc()) return {};
  range.most = range.least;
  if (at != end) {
    if (!std::string_view(at, end).starts_with("..")) return {};
    const auto second = std::from_chars(at + 2, end, range.most);
    if (second.ec != std::errc() || second.ptr != end) return {};
  }
  if (range.least < 1 || range.most < range.least || range.most > longest) return {};
  return range;
}

Repeats::Repeats(std::uint64_t seed, const RepeatParameters& parameters) : seed_(seed), parameters_(parameters) {
  if (parameters.interspersed > 0) families_ = made_up_families(seed, parameters);
}

void Repeats::add_to(std::uint64_t contig, std::string& bases) const {
  const RepeatParameters& p = parameters_;
  const auto length = static_cast<double>(bases.size());
  if (p.interspersed > 0) {
    RandomStream random(seed_, contig, Purpose::repeat_copy);
    for (std::int64_t written = 0; static_cast<double>(written) < p.interspersed * length;) {
      std::string_view family = families_[random.below(families_.size())];
      const auto whole = static_cast<std::int64_t>(family.size());
      if (random.below(2) == 0) family.remove_prefix(static_cast<std::size_t>(whole - draw(random, {p.family_length.least, whole})));
      std::string copy = with_differences(family, p.divergence, random);
      if (random.below(2) == 0) reverse_complement(copy);
      written += std::max<std::int64_t>(1, write_anywhere(copy, random, bases));
    }
  }
  if (p.tandem > 0) {
    RandomStream random(seed_, contig, Purpose::tandem_repeat);
    for (std::int64_t written = 0; static_cast<double>(written) < p.tandem * length;) {
      const std::string unit = synthesize_contig(random.next(), contig, draw(random, p.unit_length), p.gc_content, p.cpg_ratio);
      const auto size = static_cast<std::size_t>(draw(random, array_length));
      std::string array;
      while (array.size() < size) array += with_differences(unit, p.unit_divergence, random);
      written += write_anywhere(array, random, bases);
    }
  }
}

}  // namespace sluice::simulate_signal
