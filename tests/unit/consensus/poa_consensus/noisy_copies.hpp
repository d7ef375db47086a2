// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Windows for tests: noisy copies of a random template.

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "poa_consensus/window_consensus.hpp"

namespace sluice::poa_consensus::testing {

struct MadeWindow {
  std::string truth;
  std::vector<std::string> sequences;
  std::vector<std::string> qualities;  // of each sequence
  std::vector<std::int32_t> layer_begin, layer_end;

  // What the stage gets; valid until the next call.
  Window view() {
    joined.clear();
    joined_qualities.clear();
    lengths.clear();
    for (const std::string& sequence : sequences) {
      joined += sequence;
      lengths.push_back(static_cast<std::int32_t>(sequence.size()));
    }
    for (const std::string& quality : qualities) joined_qualities += quality;
    return {joined, lengths, joined_qualities, layer_begin, layer_end};
  }
  std::string joined, joined_qualities;
  std::vector<std::int32_t> lengths;
};

inline std::string random_bases(std::mt19937& random, std::size_t length, std::string_view alphabet = "ACGT") {
  std::string bases(length, 'A');
  for (char& base : bases) base = alphabet[random() % alphabet.size()];
  return bases;
}

// Substitutions, insertions and deletions at `errors` in a thousand each.
inline std::string noisy_copy(std::mt19937& random, const std::string& truth, unsigned errors, std::string_view alphabet = "ACGT") {
  std::string copy;
  for (const char base : truth) {
    const unsigned luck = random() % 1000;
    if (luck >= errors) copy += luck < 2 * errors ? alphabet[random() % alphabet.size()] : base;
    if (random() % 1000 < errors) copy += alphabet[random() % alphabet.size()];
  }
  return copy;
}

inline MadeWindow make_window(std::mt19937& random, std::size_t length, std::size_t copies, unsigned errors = 40,
                              std::string_view alphabet = "ACGT") {
  MadeWindow window;
  window.truth = random_bases(random, length, alphabet);
  for (std::size_t i = 0; i < copies; ++i) window.sequences.push_back(noisy_copy(random, window.truth, errors, alphabet));
  return window;
}

// Half of the sequences lose up to 40 letters somewhere; others have as many random ones more.
inline void cut_out(std::mt19937& random, MadeWindow& window) {
  for (std::string& sequence : window.sequences) {
    const std::size_t letters = 1 + random() % 40, begin = random() % (sequence.size() + 1);
    if (random() % 2 == 0)
      sequence.erase(begin, letters);
    else if (random() % 2 == 0)
      sequence.insert(begin, random_bases(random, letters));
  }
}

// Qualities of all sequences, and layers of parts of sequence 0 as racon cuts them.
inline void add_qualities(std::mt19937& random, MadeWindow& window) {
  for (const std::string& sequence : window.sequences) {
    std::string quality;
    for (std::size_t i = 0; i < sequence.size(); ++i) quality += static_cast<char>('!' + random() % 40);
    window.qualities.push_back(quality);
  }
}
inline void add_layers(std::mt19937& random, MadeWindow& window) {
  const auto backbone = static_cast<std::int32_t>(window.sequences[0].size());
  window.layer_begin.assign(1, 0);
  window.layer_end.assign(1, backbone - 1);
  for (std::size_t i = 1; i < window.sequences.size(); ++i) {
    std::int32_t begin = 0, end = backbone - 1;
    if (random() % 3 != 0) {
      begin = static_cast<std::int32_t>(random() % static_cast<unsigned>(backbone));
      end = begin + static_cast<std::int32_t>(random() % static_cast<unsigned>(backbone - begin));
    }
    window.layer_begin.push_back(begin);
    window.layer_end.push_back(end);
    window.sequences[i] =
        noisy_copy(random, window.sequences[0].substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin + 1)), 40) + "A";
  }
}

}  // namespace sluice::poa_consensus::testing
