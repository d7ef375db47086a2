// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/wavefronts.hpp"

#include <algorithm>
#include <cstdlib>

#include "read_correction/equal_letters.hpp"

namespace sluice::read_correction {
namespace {

// 17 kB, and enough for most pieces.
constexpr std::int32_t first_fronts = 64;

void set_letters(std::string_view letters, char end, std::string& to) {
  to.assign(letters);
  to.append(WavefrontMatrix::letters_at_once, end);
}

// How many letters are equal from here on.
inline std::int32_t equal_letters(const char* pattern, const char* text) {
  for (std::int32_t equal = 0;; equal += static_cast<std::int32_t>(word_letters))
    if (const std::uint64_t differences = load_word(pattern + equal) ^ load_word(text + equal); differences != 0)
      return equal + first_set_byte(differences);
}

std::int32_t after_equal_letters(const WavefrontMatrix& matrix, std::int32_t column, std::int32_t diagonal) {
  return column + equal_letters(matrix.pattern + (column - diagonal), matrix.text + column);
}

// The furthest column of a diagonal, from the front of one difference less.
std::int32_t furthest(const WavefrontMatrix& matrix, const std::int32_t* before, std::int32_t diagonal) {
  const std::int32_t reached = std::max({before[diagonal - 1] + 1, before[diagonal] + 1, before[diagonal + 1]});
  return after_equal_letters(matrix, std::min({reached, matrix.columns, matrix.rows + diagonal}), diagonal);
}

// All diagonals of a front.
void fill_front(WavefrontMatrix matrix, std::int32_t differences, const std::int32_t* before, std::int32_t* now) {
  set_borders(matrix, differences, now);
  const FrontDiagonals diagonals(matrix, differences);
  for (std::int32_t diagonal = diagonals.lowest; diagonal <= diagonals.highest; ++diagonal) now[diagonal] = furthest(matrix, before, diagonal);
}

}  // namespace

void Wavefronts::set_pattern(std::string_view pattern) {
  set_letters(pattern, '\xFF', pattern_);
  rows_ = static_cast<std::int32_t>(pattern.size());
}

void Wavefronts::set_text(std::string_view text) {
  set_letters(text, text_end, text_);
  columns_ = static_cast<std::int32_t>(text.size());
}

// The diagonal 0 of the front of so many differences; makes room for it.
std::int32_t* Wavefronts::front(std::int32_t differences) {
  if (reached_.size() < place_in_fronts(differences + 1, 0)) reached_.resize(place_in_fronts(differences + 1, 0) * 2);
  return reached_.data() + place_in_fronts(differences, 0);
}

// One difference more at a time, until is_end(matrix, differences, front) or the front of max_distance has been looked at.
template <class IsEnd>
bool Wavefronts::grow(std::int32_t max_distance, IsEnd&& is_end) {
  const WavefrontMatrix matrix{pattern_.data(), text_.data(), rows_, columns_};
  std::int32_t* now = front(0);
  set_borders(matrix, 0, now);
  now[0] = after_equal_letters(matrix, 0, 0);
  for (std::int32_t d = 0;; ++d) {
    if (is_end(matrix, d, now)) return true;
    if (d == max_distance) return false;
    now = front(d + 1);
    fill_front(matrix, d + 1, reached_.data() + place_in_fronts(d, 0), now);
  }
}

bool Wavefronts::align(std::string_view text, std::int32_t max_distance) {
  set_text(text);
  return align_padded({text_.data(), text.size()}, max_distance);
}

bool Wavefronts::align_padded(std::string_view text, std::int32_t max_distance) {
  columns_ = static_cast<std::int32_t>(text.size());
  if (std::abs(columns_ - rows_) > max_distance) return false;
  // What is not alike is begun anew with twice as many fronts, so that memory grows with the differences that there are.
  for (std::int32_t most = std::min(first_fronts, max_distance);; most = std::min(2 * most, max_distance)) {
    front(most);
    distance_ = fill_lines({pattern_.data(), text.data(), rows_, columns_}, most, reached_.data());
    if (distance_ >= 0) return true;
    if (most == max_distance) return false;
  }
}

bool Wavefronts::find_best_prefix(std::string_view text, std::int32_t max_distance, BestPrefix& best) {
  set_text(text);
  return max_distance >= 0 && grow(max_distance, [&](const WavefrontMatrix&, std::int32_t d, const std::int32_t* now) {
           for (std::int32_t diagonal = std::max(-d, -rows_); diagonal <= std::min(d, columns_); ++diagonal)
             if (now[diagonal] - diagonal == rows_) return best = {d, now[diagonal]}, true;
           return false;
         });
}

void Wavefronts::path(std::vector<PathRun>& runs) const {
  struct Runs {
    std::vector<PathRun>& runs;
    void equal(std::int32_t, std::int32_t, std::int32_t letters) { append_steps(runs, PathStep::match, letters); }
    void difference(std::int32_t, std::int32_t, PathStep step) { append_steps(runs, step, 1); }
  };
  runs.clear();
  walk_back(Runs{runs});
  std::reverse(runs.begin(), runs.end());
}

}  // namespace sluice::read_correction
