// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What the alignments with linear, affine and convex gaps share: the striped layout of align_vectors.hpp. Included once per instruction set.

#if defined(SLUICE_POA_CONSENSUS_STRIPED_ROWS) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_POA_CONSENSUS_STRIPED_ROWS
#undef SLUICE_POA_CONSENSUS_STRIPED_ROWS
#else
#define SLUICE_POA_CONSENSUS_STRIPED_ROWS
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "poa_consensus/alignment.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace sluice::poa_consensus::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr std::size_t vector_bytes = 64;
#elif HWY_TARGET == HWY_AVX2
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif

// Every value moves `lanes` lanes up; the first lanes become those of `fill`, which has the same value in all lanes.
template <std::size_t lanes, class Tag, class Vec>
HWY_INLINE Vec shift_up(Tag tag, Vec values, Vec fill) {
  constexpr std::size_t bytes = lanes * sizeof(hn::TFromD<Tag>);
  static_assert(bytes < vector_bytes);
#if HWY_TARGET == HWY_AVX3
  (void)tag;
  if constexpr (bytes % 4 == 0) {
    return Vec{_mm512_alignr_epi32(values.raw, fill.raw, 16 - bytes / 4)};
  } else {
    static_assert(bytes == 2);
    alignas(64) static constexpr std::int16_t from[32] = {0,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                                          15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
    return Vec{_mm512_mask_permutexvar_epi16(fill.raw, ~__mmask32{1}, _mm512_load_si512(from), values.raw)};
  }
#elif HWY_TARGET == HWY_AVX2
  const Vec lower = hn::ConcatLowerLower(tag, values, fill);
  if constexpr (bytes == 16)
    return lower;
  else
    return hn::CombineShiftRightBytes<16 - bytes>(tag, values, lower);
#else
  return hn::CombineShiftRightBytes<16 - bytes>(tag, values, fill);
#endif
}

// The maximum of each lane and all before it.
template <std::size_t step, class Tag, class Vec>
HWY_INLINE Vec running_maximum(Tag tag, Vec values, Vec least) {
  if constexpr (step * sizeof(hn::TFromD<Tag>) < vector_bytes)
    return running_maximum<step * 2>(tag, hn::Max(values, shift_up<step>(tag, values, least)), least);
  else
    return values;
}

// A row is `stride` values: the columns 1, 2, ... in stripes, the carry of each lane behind them, and what else the class that derives from this
// keeps there. Column 0 lies elsewhere. Values are G[i][j] = H[i][j] - j * per_column.
template <class T>
class StripedRows {
 public:
  using Tag = hn::FixedTag<T, vector_bytes / sizeof(T)>;
  using Vec = hn::Vec<Tag>;
  static constexpr std::int32_t lanes = vector_bytes / sizeof(T);

  // Of the path that was walked back.
  std::int32_t score() const { return score_; }

 protected:
  enum class Stripes : std::uint8_t { scores, scores_and_vertical, scores_and_two_verticals };

  StripedRows(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring, std::int32_t per_column,
              Stripes stripes, AlignmentWorkspace& workspace)
      : graph_(graph),
        rows_(rows),
        sequence_(sequence),
        mode_(scoring.mode),
        match_(scoring.match),
        mismatch_(scoring.mismatch),
        per_column_(per_column),
        length_(static_cast<std::int32_t>(sequence.size())),
        vectors_((length_ + lanes - 1) / lanes),
        width_(static_cast<std::size_t>(vectors_) * lanes),
        stride_(width_ + lanes + static_cast<std::size_t>(stripes) * width_),
        letters_(graph.letters()),
        candidates_(workspace.candidates),
        is_tail_(workspace.is_tail) {
    if (workspace.steps.size() <= static_cast<std::size_t>(rows.count())) workspace.steps.resize(static_cast<std::size_t>(rows.count()) * 2 + 1);
    steps_ = workspace.steps.data();
    if (rows_.is_part()) is_tail_.assign(static_cast<std::size_t>(rows_.count()) + 1, 0);
    // Behind the matrix: the row for several predecessors, for local alignments each row's maxima, and column 0; with two pieces its vertical gaps,
    // too.
    const auto count = static_cast<std::size_t>(rows.count());
    const std::size_t values = (count + 2) * stride_, maxima = mode_ == AlignmentMode::local ? (count + 1) * lanes : 0;
    const std::size_t columns = stripes == Stripes::scores_and_two_verticals ? 3 : 1;
    matrix_ = workspace.scores.room_for<T>(values + maxima + columns * (count + 1));
    merged_ = matrix_ + values - stride_;
    maxima_ = matrix_ + values;
    first_column_ = maxima_ + maxima;
    make_places(workspace);
    place_ = workspace.place.data();
    make_profile(workspace.profile.room_for<T>((letters_.size() + 1) * width_));
  }

  // Calls body(row) for the predecessors of a row in the order of in-edges until it returns true; that row, or -1.
  template <class Body>
  std::int32_t find_predecessor(std::int32_t i, Body&& body) const {
    const RowStep& step = steps_[i];
    if (body(step.predecessor)) return step.predecessor;
    for (std::int32_t edge = step.next_edge; edge >= 0;) {
      const std::int32_t p = next_predecessor(edge);
      if (body(p)) return p;
    }
    return -1;
  }
  std::int32_t diagonal_predecessor(std::int32_t i, std::int32_t j, std::int32_t value) const {
    const std::int32_t wanted = value - (is_match(steps_[i], j) ? match_ : mismatch_) + per_column_;
    return find_predecessor(i, [&](std::int32_t p) { return at(p, j - 1) == wanted; });
  }

  T* row(std::int32_t i) const { return matrix_ + static_cast<std::size_t>(i) * stride_; }
  // G[i][j].
  std::int32_t at(std::int32_t i, std::int32_t j) const {
    if (j == 0) return first_column_[i];
    const T* const values = row(i);
    const auto place = static_cast<std::uint32_t>(place_[j]);
    return std::max(values[place], values[width_ + place % static_cast<std::uint32_t>(lanes)]);
  }
  std::int32_t best(std::int32_t i, std::int32_t j) const { return at(i, j) + j * per_column_; }

  // Moves on from an in-edge (-1: there is none) and returns the row of its tail, 0 for none. Tails outside of the part are passed over.
  HWY_INLINE std::int32_t next_predecessor(std::int32_t& edge) const {
    if (!rows_.is_part()) {
      if (edge < 0) return 0;
      const PartialOrderGraph::Edge& taken = graph_.edge(edge);
      edge = taken.next;
      return rows_.row_of_node[static_cast<std::size_t>(taken.tail)];
    }
    std::int32_t found = 0;
    while (edge >= 0) {
      const std::int32_t row = rows_.row_of_node[static_cast<std::size_t>(graph_.edge(edge).tail)];
      if (row != 0 && found != 0) break;
      edge = graph_.edge(edge).next;
      found = std::max(found, row);
    }
    is_tail_[static_cast<std::size_t>(found)] = 1;
    return found;
  }

  // Room for the longest path: every row and every column on its own.
  void make_room(std::vector<AlignedPair>& path) const { path.resize(static_cast<std::size_t>(rows_.count()) + sequence_.size()); }
  // The path was written from its end to its beginning.
  static void turn_around(std::vector<AlignedPair>& path, const AlignedPair* end) {
    path.resize(static_cast<std::size_t>(end - path.data()));
    std::reverse(path.begin(), path.end());
  }

  bool is_match(const RowStep& step, std::int32_t j) const { return letters_[step.code] == sequence_[static_cast<std::size_t>(j - 1)]; }

  // The maximum of the rows p and q and of the tails of the in-edges from `edge` on, in merged_; carries are included, not applied. Returns that of
  // column 0.
  T merge(std::int32_t p, std::int32_t q, std::int32_t edge) const {
    T corner = std::max(first_column_[p], first_column_[q]);
    std::array<const T*, merged_at_once> some{row(p), row(q)};
    std::size_t count = 2;
    while (true) {
      for (; edge >= 0 && count < merged_at_once; ++count) {
        const std::int32_t r = next_predecessor(edge);
        corner = std::max(corner, first_column_[r]);
        some[count] = row(r);
      }
      merge_some<merged_at_once>(some, count);
      if (edge < 0) return corner;
      some[0] = merged_;
      count = 1;
    }
  }

  // Calls fill(row, code, corner, before) for the rows from the first on: code of the row's letter, the predecessors' highest column 0, and a row of
  // their highest values.
  template <class Fill>
  void for_each_row(Fill&& fill) {
    for (std::int32_t i = 1; i <= rows_.count(); ++i) {
      const std::int32_t id = rows_.node[static_cast<std::size_t>(i - 1)];
      const PartialOrderGraph::Node& node = graph_.node(id);
      std::int32_t edge = node.first_in_edge;
      const std::int32_t p = next_predecessor(edge);
      steps_[i] = {p, edge, id, node.code};
      if (edge < 0) {
        fill(i, node.code, first_column_[p], row(p));
      } else {
        const std::int32_t q = next_predecessor(edge);
        const T corner = merge(p, q, edge);
        fill(i, node.code, corner, merged_);
      }
    }
  }

  struct Cell {
    std::int32_t row, column;
  };
  // The best end, the first in row-major order of ranked rows; (0, 0) if nothing is better than no alignment.
  Cell find_end() {
    std::int32_t most = mode_ == AlignmentMode::global ? std::numeric_limits<std::int32_t>::min() : 0;
    candidates_.clear();
    const auto consider = [&](std::int32_t i, std::int32_t score) {
      if (score < most || (score == most && candidates_.empty())) return;
      if (score > most) candidates_.clear();
      most = score;
      candidates_.push_back(i);
    };
    switch (mode_) {
      case AlignmentMode::global:
        for (std::int32_t i = 1; i <= rows_.count(); ++i)
          if (is_sink(i)) consider(i, best(i, length_));
        break;
      case AlignmentMode::local:
        consider_rows_of_maximum(consider);
        break;
      case AlignmentMode::semi_global:
        for (std::int32_t i = 1; i <= rows_.count(); ++i)
          if (is_sink(i)) consider(i, best(i, first_best(i)));
        break;
    }
    if (candidates_.empty()) return {0, 0};
    score_ = most;
    const std::int32_t end = candidates_.size() == 1 ? candidates_[0] : graph_.earliest(rows_, candidates_);
    return {end, mode_ == AlignmentMode::global ? length_ : first_best(end)};
  }
  bool is_sink(std::int32_t i) const {
    return rows_.is_part() ? is_tail_[static_cast<std::size_t>(i)] == 0 : graph_.node(rows_.node[static_cast<std::size_t>(i - 1)]).out_edges == 0;
  }

  // The first column of a row with its largest score, column 0 aside.
  std::int32_t first_best(std::int32_t i) const {
    std::int32_t column = 1;
    for (std::int32_t j = 2; j <= length_; ++j)
      if (best(i, j) > best(i, column)) column = j;
    return column;
  }

  template <class Consider>
  void consider_rows_of_maximum(Consider&& consider) const {
    const Tag tag;
    Vec largest = hn::Zero(tag);
    for (std::int32_t i = 1; i <= rows_.count(); ++i) largest = hn::Max(largest, hn::Load(tag, maxima_ + static_cast<std::size_t>(i) * lanes));
    largest = hn::MaxOfLanes(tag, largest);
    const std::int32_t score = hn::GetLane(largest);
    if (score <= 0) return;
    for (std::int32_t i = 1; i <= rows_.count(); ++i) {
      if (hn::AllFalse(tag, hn::Eq(largest, hn::Load(tag, maxima_ + static_cast<std::size_t>(i) * lanes)))) continue;
      // Behind the sequence the score is lower, unless gaps are free.
      consider(i, per_column_ < 0 ? score : best(i, first_best(i)));
    }
  }

  bool is_done(std::int32_t i, std::int32_t j) const {
    switch (mode_) {
      case AlignmentMode::global:
        return i == 0 && j == 0;
      case AlignmentMode::local:
        return best(i, j) == 0;
      case AlignmentMode::semi_global:
        return i == 0 || j == 0;
    }
    return true;
  }

  PartialOrderGraph& graph_;
  const KeptRows& rows_;
  std::string_view sequence_;
  AlignmentMode mode_;
  std::int32_t match_, mismatch_, per_column_, length_, vectors_, score_ = 0;
  std::size_t width_, stride_;
  std::span<const char> letters_;
  std::vector<std::int32_t>& candidates_;
  std::vector<std::uint8_t>& is_tail_;
  RowStep* steps_;
  T *matrix_, *merged_, *maxima_, *first_column_;
  const T* profile_;
  const std::int32_t* place_;

 private:
  // So many rows are met in registers before one is stored.
  static constexpr std::size_t merged_at_once = 8;

  template <std::size_t most>
  HWY_INLINE void merge_some(const std::array<const T*, merged_at_once>& some, std::size_t count) const {
    if constexpr (most > 2) {
      if (count < most) return merge_some<most - 1>(some, count);
    }
    const Tag tag;
    const std::array<const T*, merged_at_once> rows = some;
    T* const to = merged_;
    for (std::size_t at = 0; at < stride_; at += lanes) {
      Vec highest = hn::Load(tag, rows[0] + at);
      for (std::size_t k = 1; k < most; ++k) highest = hn::Max(highest, hn::Load(tag, rows[k] + at));
      hn::Store(highest, tag, to + at);
    }
  }

  // Where the columns lie in a row; column 0 does not.
  void make_places(AlignmentWorkspace& workspace) const {
    if (workspace.place_vectors == vectors_ && workspace.place_lanes == lanes) return;
    workspace.place_vectors = vectors_;
    workspace.place_lanes = lanes;
    workspace.place.resize(width_ + 1);
    workspace.place[0] = 0;
    std::size_t j = 1;
    for (std::int32_t lane = 0; lane < lanes; ++lane)
      for (std::int32_t v = 0; v < vectors_; ++v) workspace.place[j++] = v * lanes + lane;
  }

  // Scores of each of the graph's letters against the sequence, with the gap that a diagonal step saves in G.
  void make_profile(T* profile) {
    const Tag tag;
    profile_ = profile;
    T* const striped = profile + letters_.size() * width_;
    std::fill_n(striped, width_, std::numeric_limits<T>::min());
    for (std::int32_t j = 1; j <= length_; ++j) striped[place_[j]] = static_cast<unsigned char>(sequence_[static_cast<std::size_t>(j - 1)]);
    const Vec match = hn::Set(tag, static_cast<T>(match_ - per_column_)), mismatch = hn::Set(tag, static_cast<T>(mismatch_ - per_column_));
    const Vec nothing = hn::Set(tag, std::numeric_limits<T>::min()), behind = hn::Set(tag, static_cast<T>(std::min(mismatch_, -1) - per_column_));
    for (std::size_t at = 0; at < width_; at += lanes) {
      const Vec letters = hn::Load(tag, striped + at);
      const Vec otherwise = hn::IfThenElse(hn::Eq(letters, nothing), behind, mismatch);
      for (std::size_t code = 0; code < letters_.size(); ++code) {
        const auto is_match = hn::Eq(letters, hn::Set(tag, static_cast<T>(static_cast<unsigned char>(letters_[code]))));
        hn::Store(hn::IfThenElse(is_match, match, otherwise), tag, profile + code * width_ + at);
      }
    }
  }
};

}  // namespace sluice::poa_consensus::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
