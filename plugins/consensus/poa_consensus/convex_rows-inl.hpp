// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Alignment with convex gaps (two affine pieces) in the striped layout of align_vectors.hpp. Included once per instruction set.

#if defined(SLUICE_POA_CONSENSUS_CONVEX_ROWS) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_POA_CONSENSUS_CONVEX_ROWS
#undef SLUICE_POA_CONSENSUS_CONVEX_ROWS
#else
#define SLUICE_POA_CONSENSUS_CONVEX_ROWS
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "poa_consensus/striped_rows-inl.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace sluice::poa_consensus::HWY_NAMESPACE {

// Vertical gaps have a matrix for each piece, behind the scores of each row. per_column is what the second piece, that of long gaps, costs a base:
// along a row its gaps are free in G, so its carry over the lanes lies beside the row as everywhere. The first piece loses something with every
// column: what it carries over the lanes is put into the row, which ends where the row is better already, in most rows at once.
//
// Horizontal gaps are not stored. The way back needs their scores in the few rows where it meets one, and computes them from the row's scores.
template <class T>
class ConvexGaps : public StripedRows<T> {
 public:
  using Base = StripedRows<T>;
  using Base::lanes;
  using typename Base::Tag;
  using typename Base::Vec;

  ConvexGaps(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring, AlignmentWorkspace& workspace)
      : Base(graph, rows, sequence, scoring, scoring.second_gap_extend, Base::Stripes::scores_and_two_verticals, workspace),
        open_{scoring.gap_open, scoring.second_gap_open},
        extend_{scoring.gap_extend, scoring.second_gap_extend},
        columns_of_vector_(columns_of_convex_vector(scoring, static_cast<std::int64_t>(sequence.size()), rows.count())),
        vertical_column_{first_column_ + rows.count() + 1, first_column_ + 2 * (rows.count() + 1)},
        row_scores_(workspace.row_scores),
        row_gaps_(workspace.row_gaps) {}

  void fill() {
    const Tag tag;
    for (std::int32_t v = 0; v < vectors_; ++v) {
      for (std::int32_t lane = 0; lane < lanes; ++lane) {
        const std::int32_t j = lane * vectors_ + v + 1;
        // The first piece loses to the second one before 16 bits are not enough for it.
        const std::int32_t gap =
            std::max(open_[0] + static_cast<std::int32_t>(std::max(std::int64_t{impossible}, std::int64_t{j - 1} * first_loss())) - extend_[1],
                     open_[1] - extend_[1]);
        matrix_[v * lanes + lane] = static_cast<T>(mode_ == AlignmentMode::local ? -per_column_ * j : gap);
      }
    }
    for (std::size_t at = width_; at < stride_; at += lanes) hn::Store(hn::Set(tag, impossible), tag, matrix_ + at);
    first_column_[0] = 0;
    for_each_row([&](std::int32_t i, std::uint8_t code, T corner, const T* before) {
      fill_first_column(i);
      fill_row(i, code, corner, before);
    });
  }

  void walk_back(std::vector<AlignedPair>& path) {
    make_room(path);
    AlignedPair* next = path.data();
    auto [i, j] = find_end();
    while (!is_done(i, j)) {
      if (i == 0) {
        *next++ = {-1, --j};
        continue;
      }
      const std::int32_t id = steps_[i].node;
      if (j == 0) {
        *next++ = {id, -1};
        i = up_first_column(i);
        continue;
      }
      const std::int32_t value = at(i, j), from = diagonal_predecessor(i, j, value);
      if (from >= 0) {
        *next++ = {id, --j};
        i = from;
        continue;
      }
      bool extends = false;
      const std::int32_t above = vertical_predecessor(i, j, value, extends);
      if (above >= 0) {
        *next++ = {id, -1};
        i = above;
        while (extends && i > 0) {
          *next++ = {steps_[i].node, -1};
          i = up_gap(i, j, extends);
        }
        continue;
      }
      j = walk_along(i, j, next);
    }
    turn_around(path, next);
  }

 private:
  using Base::at, Base::best, Base::first_column_, Base::find_end, Base::graph_, Base::is_done, Base::is_match, Base::match_, Base::matrix_,
      Base::maxima_;
  using Base::find_predecessor, Base::diagonal_predecessor, Base::steps_, Base::stride_, Base::vectors_, Base::width_, Base::place_;
  using Base::for_each_row, Base::make_room, Base::turn_around, Base::mismatch_, Base::mode_, Base::next_predecessor, Base::per_column_,
      Base::profile_, Base::row, Base::rows_;

  // Far below every score, and no sum of it and two scores wraps around.
  static constexpr T impossible = std::numeric_limits<T>::min() + 512;
  // Twice that is a number, too; fits() has it below every score of 32 bits.
  static constexpr std::int32_t no_gap = std::numeric_limits<std::int32_t>::min() / 2;

  // What a horizontal gap of the first piece loses in G with every base.
  std::int32_t first_loss() const { return extend_[0] - extend_[1]; }

  static Vec add_loss(Tag tag, Vec values, std::int64_t loss) {
    const std::int64_t smallest = sizeof(T) == 2 ? std::numeric_limits<std::int16_t>::min() : no_gap;
    if (loss < smallest) return hn::Set(tag, impossible);
    const Vec lost = hn::Set(tag, static_cast<T>(loss));
    if constexpr (sizeof(T) == 2)
      return hn::SaturatedAdd(values, lost);
    else
      return hn::Add(hn::Max(values, hn::Set(tag, static_cast<T>(no_gap))), lost);
  }

  // Scores of vertical gaps of a piece that end at a cell.
  std::int32_t vertical(int piece, std::int32_t i, std::int32_t j) const {
    return row(i)[width_ + lanes + static_cast<std::size_t>(piece) * width_ + static_cast<std::size_t>(place_[j])];
  }

  void fill_first_column(std::int32_t i) const {
    if (mode_ != AlignmentMode::global) {
      first_column_[i] = 0;
      return;
    }
    std::int32_t most = impossible;
    for (int piece = 0; piece < 2; ++piece) {
      std::int32_t of_piece = impossible;
      find_predecessor(i, [&](std::int32_t p) {
        of_piece = std::max(of_piece, p == 0 ? open_[piece] : vertical_column_[piece][p] + extend_[piece]);
        return false;
      });
      vertical_column_[piece][i] = static_cast<T>(of_piece);
      most = std::max(most, of_piece);
    }
    first_column_[i] = static_cast<T>(most);
  }

  void fill_row(std::int32_t i, std::uint8_t code, T corner, const T* from) const {
    const Tag tag;
    const T* const scores = profile_ + code * width_;
    T* const to = row(i);
    const bool is_local = mode_ == AlignmentMode::local;
    const T first = first_column_[i];
    const std::size_t width = width_, down_first = width + lanes, down_second = down_first + width;
    const auto set = [&](std::int32_t value) { return hn::Set(tag, static_cast<T>(value)); };
    const Vec open_first = set(open_[0]), open_second = set(open_[1]), extend_first = set(extend_[0]), extend_second = set(extend_[1]);
    const Vec across_first = set(open_[0] - extend_[1]), across_second = set(open_[1] - extend_[1]), loss = set(first_loss());
    const Vec least = hn::Set(tag, impossible), carry = hn::Load(tag, from + width);
    Vec diagonal = shift_up<1>(tag, hn::Max(hn::Load(tag, from + width - lanes), carry), hn::Set(tag, corner));
    Vec most = shift_up<1>(tag, least, hn::Set(tag, first));
    Vec gap = shift_up<1>(tag, least, hn::Add(hn::Set(tag, first), across_first));  // of the first piece, that ends here
    Vec largest = least;
    for (std::size_t at = 0; at < width; at += lanes) {
      const Vec above = hn::Max(hn::Load(tag, from + at), carry);
      const Vec down = hn::Max(hn::Add(above, open_first), hn::Add(hn::Load(tag, from + down_first + at), extend_first));
      const Vec far_down = hn::Max(hn::Add(above, open_second), hn::Add(hn::Load(tag, from + down_second + at), extend_second));
      hn::Store(down, tag, to + down_first + at);
      hn::Store(far_down, tag, to + down_second + at);
      Vec value = hn::Max(hn::Add(diagonal, hn::Load(tag, scores + at)), hn::Max(down, far_down));
      if (is_local) value = hn::Max(value, hn::Load(tag, matrix_ + at));
      const Vec reached = hn::Max(hn::Max(value, gap), hn::Add(most, across_second));
      hn::Store(reached, tag, to + at);
      if (is_local) largest = hn::Max(largest, hn::Sub(reached, hn::Load(tag, matrix_ + at)));
      gap = hn::Max(hn::Add(gap, loss), hn::Add(value, across_first));
      most = hn::Max(most, value);
      diagonal = above;
    }
    const Vec carried = hn::Add(running_maximum<1>(tag, shift_up<1>(tag, most, least), least), across_second);
    hn::Store(carried, tag, to + width);
    largest = hn::Max(largest, put_in_gap(to, shift_up<1>(tag, gap, least)));
    if (!is_local) return;
    const Vec worth = hn::Sub(hn::Max(carried, hn::Load(tag, matrix_)), hn::Load(tag, matrix_));
    hn::Store(hn::Max(largest, worth), tag, maxima_ + static_cast<std::size_t>(i) * lanes);
  }

  // Gaps of the first piece that come from the lane before, and from there those that come from farther away. Returns what local scores they have at
  // most.
  Vec put_in_gap(T* to, Vec gap) const {
    const Tag tag;
    carry_over_lanes<1>(tag, gap);
    const Vec another_opening = hn::Set(tag, static_cast<T>(open_[0] - extend_[0]));
    Vec largest = hn::Set(tag, impossible);
    for (std::size_t at = 0; at < width_; at += lanes) {
      const Vec stored = hn::Load(tag, to + at);
      if (hn::AllFalse(tag, hn::Gt(gap, hn::Add(stored, another_opening)))) break;
      hn::Store(hn::Max(stored, gap), tag, to + at);
      if (mode_ == AlignmentMode::local) largest = hn::Max(largest, hn::Sub(hn::Max(stored, gap), hn::Load(tag, matrix_ + at)));
      gap = add_loss(tag, gap, first_loss());
    }
    return largest;
  }
  template <std::size_t step>
  void carry_over_lanes(Tag tag, Vec& gap) const {
    if constexpr (step * sizeof(T) < vector_bytes) {
      const std::int64_t loss = static_cast<std::int64_t>(step) * vectors_ * first_loss();
      gap = hn::Max(gap, add_loss(tag, shift_up<step>(tag, gap, hn::Set(tag, impossible)), loss));
      carry_over_lanes<step * 2>(tag, gap);
    }
  }

  // On the way back: of each predecessor first an extension of the first piece, then its opening, then the same of the second one.
  std::int32_t vertical_predecessor(std::int32_t i, std::int32_t j, std::int32_t value, bool& extends) const {
    return find_predecessor(i, [&](std::int32_t p) {
      for (int piece = 0; piece < 2; ++piece) {
        extends = value == vertical(piece, p, j) + extend_[piece];
        if (extends || value == at(p, j) + open_[piece]) return true;
      }
      return false;
    });
  }
  // Within a vertical gap extensions from all predecessors come before openings.
  std::int32_t up_gap(std::int32_t i, std::int32_t j, bool& extends) const {
    const std::int32_t first = vertical(0, i, j), second = vertical(1, i, j);
    const std::int32_t extended = find_predecessor(
        i, [&](std::int32_t p) { return p > 0 && (first == vertical(0, p, j) + extend_[0] || second == vertical(1, p, j) + extend_[1]); });
    extends = extended >= 0;
    if (extends) return extended;
    return std::max(0, find_predecessor(i, [&](std::int32_t p) { return first == at(p, j) + open_[0] || second == at(p, j) + open_[1]; }));
  }
  std::int32_t up_first_column(std::int32_t i) const {
    return std::max(0, find_predecessor(i, [&](std::int32_t p) {
                      return p > 0 && (vertical_column_[0][i] == vertical_column_[0][p] + extend_[0] ||
                                       vertical_column_[1][i] == vertical_column_[1][p] + extend_[1]);
                    }));
  }

  // A horizontal gap that ends at column j. Returns the column in front of it.
  std::int32_t walk_along(std::int32_t i, std::int32_t j, AlignedPair*& next) const {
    list_gaps(i, j);
    const auto score = [&](std::int32_t column) { return row_scores_[static_cast<std::size_t>(column)]; };
    const auto gap = [&](int piece, std::int32_t column) { return row_gaps_[static_cast<std::size_t>(2 * column + piece)]; };
    bool extends = false;
    for (int piece = 0; piece < 2 && !extends; ++piece) {
      extends = score(j) == gap(piece, j - 1) + extend_[piece];
      if (score(j) == score(j - 1) + open_[piece]) break;
    }
    *next++ = {-1, --j};
    if (!extends) return j;
    do {
      *next++ = {-1, --j};
    } while (j > 0 && gap(0, j) + extend_[0] == gap(0, j + 1) && gap(1, j) + extend_[1] == gap(1, j + 1));
    return j;
  }

  // The row's scores, and those of the horizontal gaps of both pieces that end at each column, up to column `last`. Within spoa's vectors a gap does
  // not open behind a gap. That makes a difference only for the first piece behind a gap of the second one, which is then worth more.
  void list_gaps(std::int32_t i, std::int32_t last) const {
    row_scores_.resize(static_cast<std::size_t>(last) + 1);
    row_gaps_.resize(2 * static_cast<std::size_t>(last) + 2);
    std::int32_t first = no_gap, second = no_gap;
    for (std::int32_t j = 0; j <= last; ++j) {
      const std::int32_t score = best(i, j);
      row_scores_[static_cast<std::size_t>(j)] = score;
      row_gaps_[2 * static_cast<std::size_t>(j)] = first;
      row_gaps_[2 * static_cast<std::size_t>(j) + 1] = second;
      std::int32_t opened = score;
      if (score == second && score + open_[0] > first + extend_[0] && j % columns_of_vector_ != 0) opened = without_horizontal_gap(i, j);
      first = std::max(opened + open_[0], first + extend_[0]);
      second = std::max(score + open_[1], second + extend_[1]);
    }
  }
  std::int32_t without_horizontal_gap(std::int32_t i, std::int32_t j) const {
    const std::int32_t letter = is_match(steps_[i], j) ? match_ : mismatch_;
    std::int32_t most = std::max(vertical(0, i, j), vertical(1, i, j)) + j * per_column_;
    find_predecessor(i, [&](std::int32_t p) {
      most = std::max(most, best(p, j - 1) + letter);
      return false;
    });
    return most;
  }

  std::int32_t open_[2], extend_[2], columns_of_vector_;
  T* vertical_column_[2];  // as first_column_, of each piece
  std::vector<std::int32_t>&row_scores_, &row_gaps_;
};

}  // namespace sluice::poa_consensus::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
