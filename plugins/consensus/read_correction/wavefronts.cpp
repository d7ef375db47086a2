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

// The matrix, by value, so that loops keep it in registers.
struct Matrix {
  const char *pattern, *text;
  std::int32_t rows, columns;
  // The furthest column of a diagonal, from the front of one difference less.
  std::int32_t furthest(const std::int32_t* before, std::int32_t diagonal) const {
    const std::int32_t reached = std::max({before[diagonal - 1] + 1, before[diagonal] + 1, before[diagonal + 1]});
    return after_equal_letters(std::min({reached, columns, rows + diagonal}), diagonal);
  }
  std::int32_t after_equal_letters(std::int32_t column, std::int32_t diagonal) const {
    return column + equal_letters(pattern + (column - diagonal), text + column);
  }
};

// All diagonals of a front.
void fill_front(Matrix matrix, std::int32_t differences, const std::int32_t* before, std::int32_t* now) {
  const std::int32_t lowest = std::max(-differences, -matrix.rows), highest = std::min(differences, matrix.columns);
  std::fill(now - differences - 2, now + lowest, not_reached);
  for (std::int32_t diagonal = lowest; diagonal <= highest; ++diagonal) now[diagonal] = matrix.furthest(before, diagonal);
  std::fill(now + highest + 1, now + differences + 3, not_reached);
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

// The diagonal 0 of the front of so many differences; makes room for it.
std::int32_t* Wavefronts::front(std::int32_t differences) {
  if (reached_.size() < place(differences + 1, 0)) reached_.resize(place(differences + 1, 0) * 2);
  return reached_.data() + place(differences, 0);
}

// One difference more at a time, until is_end(matrix, differences, front) or the front of max_distance has been looked at.
template <class IsEnd>
bool Wavefronts::grow(std::int32_t max_distance, IsEnd&& is_end) {
  const Matrix matrix{pattern_.data(), text_.data(), rows_, columns_};
  std::int32_t* now = front(0);
  now[-2] = now[-1] = now[1] = now[2] = not_reached;
  now[0] = matrix.after_equal_letters(0, 0);
  for (std::int32_t d = 0;; ++d) {
    if (is_end(matrix, d, now)) return true;
    if (d == max_distance) return false;
    now = front(d + 1);
    fill_front(matrix, d + 1, reached_.data() + place(d, 0), now);
  }
}

bool Wavefronts::align(std::string_view text, std::int32_t max_distance) {
  set_text(text);
  const std::int32_t diagonal = columns_ - rows_, difference = std::abs(diagonal);
  if (difference > max_distance) return false;
  distance_ = 0;
  if (diagonal == 0 && Matrix{pattern_.data(), text_.data(), rows_, columns_}.after_equal_letters(0, 0) == columns_) return true;
  // The front that gets to the end is not needed: the path goes by those before it.
  return max_distance > 0 && grow(max_distance - 1, [&](const Matrix& matrix, std::int32_t d, const std::int32_t* now) {
           distance_ = d + 1;
           return difference <= distance_ && matrix.furthest(now, diagonal) == columns_;
         });
}

bool Wavefronts::find_best_prefix(std::string_view text, std::int32_t max_distance, BestPrefix& best) {
  set_text(text);
  return max_distance >= 0 && grow(max_distance, [&](const Matrix&, std::int32_t d, const std::int32_t* now) {
           for (std::int32_t diagonal = std::max(-d, -rows_); diagonal <= std::min(d, columns_); ++diagonal)
             if (now[diagonal] - diagonal == rows_) return best = {d, now[diagonal]}, true;
           return false;
         });
}

void Wavefronts::path(std::vector<PathRun>& runs) const {
  runs.clear();
  std::int32_t row = rows_, column = columns_, d = distance_;
  while (d > 0 && row > 0 && column > 0) {
    const std::int32_t diagonal = column - row;
    // The highest columns of this diagonal where the cell to the left, above, and before on the diagonal has one difference less.
    const std::int32_t left = reached(d - 1, diagonal - 1) + 1, above = reached(d - 1, diagonal + 1);
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
