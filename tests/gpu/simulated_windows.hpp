// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Windows of noisy copies of random templates, as columns of rows of the type `window`: lengths and depths in classes, 4 % substitutions, 3 %
// insertions, 3 % deletions.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::gpu_test {

struct WindowColumns {
  std::vector<std::int64_t> text_offsets{0}, sequence_offsets{0}, quality_offsets{0}, layer_offsets{0};
  std::string letters, qualities;
  std::vector<std::int32_t> length, layer_begin, layer_end;

  std::size_t windows() const { return text_offsets.size() - 1; }
  void add_sequence(std::string_view sequence) {
    letters += sequence;
    length.push_back(static_cast<std::int32_t>(sequence.size()));
  }
  void end_window() {
    text_offsets.push_back(static_cast<std::int64_t>(letters.size()));
    sequence_offsets.push_back(static_cast<std::int64_t>(length.size()));
    quality_offsets.push_back(static_cast<std::int64_t>(qualities.size()));
    layer_offsets.push_back(static_cast<std::int64_t>(layer_begin.size()));
  }
};

using WindowRandom = std::mt19937_64;

inline std::string random_sequence(WindowRandom& random, std::size_t length, std::string_view alphabet = "ACGT") {
  std::string sequence;
  for (std::size_t i = 0; i < length; ++i) sequence += alphabet[random() % alphabet.size()];
  return sequence;
}

// Errors in percent of the letters: 4 of 10 are substitutions, 3 insertions, 3 deletions.
inline std::string noisy_copy(WindowRandom& random, std::string_view sequence, double errors = 10, std::string_view alphabet = "ACGT") {
  std::string copy;
  for (const char letter : sequence) {
    const double u = static_cast<double>(random() % 1000000) / 10000.0;
    if (u < 0.4 * errors) {
      char other = letter;
      while (other == letter) other = alphabet[random() % alphabet.size()];
      copy += other;
    } else if (u >= 0.7 * errors) {
      copy += letter;
    }
    if (static_cast<double>(random() % 1000000) / 10000.0 < 0.3 * errors) copy += alphabet[random() % alphabet.size()];
  }
  return copy;
}

struct WindowClass {
  std::size_t least_length, most_length, least_sequences, most_sequences;
  std::string name() const {
    return std::to_string(least_length) + "-" + std::to_string(most_length) + " bp x " + std::to_string(least_sequences) + "-" +
           std::to_string(most_sequences);
  }
};

inline WindowColumns simulated_windows(WindowRandom& random, const WindowClass& kind, std::size_t windows) {
  WindowColumns columns;
  for (std::size_t i = 0; i < windows; ++i) {
    const std::string original = random_sequence(random, kind.least_length + random() % (kind.most_length - kind.least_length + 1));
    const std::size_t sequences = kind.least_sequences + random() % (kind.most_sequences - kind.least_sequences + 1);
    for (std::size_t made = 0; made < sequences;) {
      const std::string copy = noisy_copy(random, original);
      if (copy.size() < kind.least_length || copy.size() > kind.most_length) continue;
      columns.add_sequence(copy);
      ++made;
    }
    columns.end_window();
  }
  return columns;
}

}  // namespace sluice::gpu_test
