// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/wavefronts.hpp"

#include <algorithm>
#include <cstdlib>

#include "read_correction/equal_letters.hpp"

namespace sluice::read_correction {
namespace {

constexpr std::int32_t not_reached = -(1 << 30);
constexpr std::size_t letters_at_once = 2 * word_letters;

void set_letters(std::string_view letters, char end, std::string& to) {
  to.assign(letters);
  to.append(letters_at_once, end);
}

// How many letters are equal from here on.
inline std::int32_t equal_letters(const char* pattern, const char* text) {
  for (std::int32_t equal = 0;; equal += static_cast<std::int32_t>(letters_at_once), pattern += letters_at_once, text += letters_at_once) {
    // Sixteen letters without a branch: how many are equal is not to be guessed.
    const std::uint64_t first = load_word(pattern) ^ load_word(text);
    const std::uint64_t second = load_word(pattern + word_letters) ^ load_word(text + word_letters);
    const std::int32_t now = first != 0 ? first_set_byte(first) : static_cast<std::int32_t>(word_letters) + first_set_byte(second);
    if (now < static_cast<std::int32_t>(letters_at_once)) return equal + now;
  }
}

}  // namespace

void Wavefronts::set_pattern(std::string_view pattern) {
  set_letters(pattern, '\xFF', pattern_);
  rows_ = static_cast<std::int32_t>(pattern.size());
}

void Wavefronts::set_text(std::string_view text) {
  set_letters(text, '\xFE', text_);
  columns_ = static_cast<std::int32_t>(text.size());
}

// One difference more at a time, until is_reached(differences, diagonal, column) says so of a cell.
template <class IsReached>
bool Wavefronts::grow(std::int32_t max_distance, IsReached&& is_reached) {
  const char* const pattern = pattern_.data();
  const char* const text = text_.data();
  for (std::int32_t d = 0; d <= max_distance; ++d) {
    if (reached_.size() < place(d + 1, -d - 1)) reached_.resize(place(d + 1, -d - 1) * 2);
    std::int32_t* const now = reached_.data() + place(d, 0);
    const std::int32_t* const before = d == 0 ? nullptr : reached_.data() + place(d - 1, 0);
    std::fill(now - d - 1, now + d + 2, not_reached);
    for (std::int32_t diagonal = std::max(-d, -rows_); diagonal <= std::min(d, columns_); ++diagonal) {
      std::int32_t column = 0;
      if (d > 0) {
        // Of d - 1 differences there are no diagonals -d and d, and one border on each side.
        const std::int32_t from_left = diagonal - 1 >= -d ? before[diagonal - 1] + 1 : not_reached;
        const std::int32_t from_above = diagonal + 1 <= d ? before[diagonal + 1] : not_reached;
        column = std::min({std::max({from_left, from_above, before[diagonal] + 1}), columns_, rows_ + diagonal});
      }
      column += equal_letters(pattern + (column - diagonal), text + column);
      now[diagonal] = column;
      if (is_reached(d, diagonal, column)) return true;
    }
  }
  return false;
}

bool Wavefronts::align(std::string_view text, std::int32_t max_distance) {
  set_text(text);
  if (std::abs(columns_ - rows_) > max_distance) return false;
  return grow(max_distance, [&](std::int32_t d, std::int32_t diagonal, std::int32_t column) {
    distance_ = d;
    return column == columns_ && diagonal == columns_ - rows_;
  });
}

bool Wavefronts::find_best_prefix(std::string_view text, std::int32_t max_distance, BestPrefix& best) {
  set_text(text);
  return grow(max_distance, [&](std::int32_t d, std::int32_t diagonal, std::int32_t column) {
    best = {d, column};
    return column - diagonal == rows_;
  });
}

void Wavefronts::path(std::vector<PathRun>& runs) const {
  runs.clear();
  std::int32_t row = rows_, column = columns_, d = distance_;
  while (d > 0 && row > 0 && column > 0) {
    const std::int32_t diagonal = column - row;
    // The highest columns of this diagonal where the cell to the left, above, and before on the diagonal has one difference less.
    const std::int32_t left = diagonal - 1 >= -d ? reached(d - 1, diagonal - 1) + 1 : not_reached;
    const std::int32_t above = diagonal + 1 <= d ? reached(d - 1, diagonal + 1) : not_reached;
    const std::int32_t before = reached(d - 1, diagonal) + 1;
    const std::int32_t at = std::min(column, std::max({left, above, before}));
    append_steps(runs, PathStep::match, column - at);
    row -= column - at;
    column = at;
    --d;
    if (left >= at) {
      append_steps(runs, PathStep::text_only, 1);
      --column;
    } else if (above >= at) {
      append_steps(runs, PathStep::pattern_only, 1);
      --row;
    } else {
      append_steps(runs, PathStep::mismatch, 1);
      --row;
      --column;
    }
  }
  const std::int32_t equal = std::min(row, column);
  append_steps(runs, PathStep::match, equal);
  append_steps(runs, PathStep::text_only, column - equal);
  append_steps(runs, PathStep::pattern_only, row - equal);
  std::reverse(runs.begin(), runs.end());
}

}  // namespace sluice::read_correction
