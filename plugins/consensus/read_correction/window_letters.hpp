// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::read_correction {

// Whether the letters of a window's sequences are as many as their lengths come to, and their qualities, which may be empty, as many as the letters.
inline bool fit_together(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities) {
  std::uint64_t letters = 0;
  for (const std::int32_t length : lengths) {
    if (length < 0) return false;
    letters += static_cast<std::uint64_t>(length);
  }
  return letters == sequences.size() && (qualities.empty() || qualities.size() == sequences.size());
}

}  // namespace sluice::read_correction
