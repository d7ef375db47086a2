// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A view of a nanopore k-mer model: the expected current level of every k-mer.
// The arrays belong to a resource batch (row type "kmer", one row per k-mer in rank order) and outlive the view.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <sluice/batch.hpp>
#include <sluice/failure.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

// The rank of a k-mer is its lexicographic rank with the first base most significant.
enum class Alphabet : std::uint8_t {
  nucleotide,   // A0 C1 G2 T3, base 4
  methylation,  // A0 C1 G2 M3 T4, base 5; M is 5-methylcytosine
};

constexpr std::uint32_t alphabet_size(Alphabet alphabet) { return alphabet == Alphabet::nucleotide ? 4U : 5U; }

// Code of one base, or 0xFF for a letter that the alphabet lacks. Upper case only.
constexpr std::uint8_t base_code(Alphabet alphabet, char base) {
  switch (base) {
    case 'A':
      return 0;
    case 'C':
      return 1;
    case 'G':
      return 2;
    case 'M':
      return alphabet == Alphabet::methylation ? 3 : 0xFF;
    case 'T':
      return alphabet == Alphabet::methylation ? 4 : 3;
    default:
      return 0xFF;
  }
}

constexpr std::size_t kmer_count(Alphabet alphabet, std::uint32_t k) {
  std::size_t count = 1;
  for (std::uint32_t i = 0; i < k; ++i) count *= alphabet_size(alphabet);
  return count;
}

struct KmerModelView {
  std::uint32_t k = 0;
  Alphabet alphabet = Alphabet::nucleotide;
  std::span<const float> level_mean;      // pA, by rank
  std::span<const float> level_stdv;      // pA, by rank
  std::span<const float> log_level_stdv;  // natural logarithm of level_stdv, by rank
};

// Rank of one k-mer; a letter outside the alphabet counts as A (as f5c does).
constexpr std::uint32_t kmer_rank(Alphabet alphabet, std::string_view kmer) {
  std::uint32_t rank = 0;
  for (const char base : kmer) {
    const std::uint8_t code = base_code(alphabet, base);
    rank = rank * alphabet_size(alphabet) + (code == 0xFF ? 0U : code);
  }
  return rank;
}

// Bases of a k-mer of a resource batch of row type "kmer": its attribute "k". Throws Failure when that is no number from 1 to 12.
inline std::uint32_t kmer_size(const Batch& model) {
  const std::string_view text = model.attribute("k");
  std::uint32_t k = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), k);
  if (error != std::errc() || end != text.data() + text.size() || k < 1 || k > 12)
    throw Failure::input("the k-mer model has no usable attribute k: '" + std::string(text) + "'", "use a kmer_model resource");
  return k;
}

// The view of a resource batch of row type "kmer". Throws Failure when its rows do not fit its attributes "k" and "alphabet".
inline KmerModelView kmer_model_view(const Batch& model) {
  KmerModelView view;
  view.k = kmer_size(model);
  view.alphabet = model.attribute("alphabet") == "methylation" ? Alphabet::methylation : Alphabet::nucleotide;
  view.level_mean = model.column<float>("level_mean");
  view.level_stdv = model.column<float>("level_stdv");
  view.log_level_stdv = model.column<float>("log_level_stdv");
  if (kmer_count(view.alphabet, view.k) != view.level_mean.size())
    throw Failure::input("the k-mer model has " + std::to_string(view.level_mean.size()) + " rows, which do not fit k = " + std::to_string(view.k));
  return view;
}

}  // namespace sluice
