// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "poa_consensus/align_vectors.hpp"

#include <algorithm>
#include <limits>

// AVX3_DL adds nothing that this loop could use, SSSE3 nothing over SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "poa_consensus/align_vectors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::poa_consensus::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

VectorUse AlignVectors(PartialOrderGraph&, const KeptRows&, std::string_view, const Scoring&, AlignmentWorkspace&, std::vector<AlignedPair>&) {
  return VectorUse::not_offered;
}

#else
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

template <class T>
class StripedMatrix {
 public:
  using Tag = hn::FixedTag<T, vector_bytes / sizeof(T)>;
  using Vec = hn::Vec<Tag>;
  static constexpr std::int32_t lanes = vector_bytes / sizeof(T);

  StripedMatrix(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring, AlignmentWorkspace& workspace)
      : graph_(graph),
        rows_(rows),
        sequence_(sequence),
        mode_(scoring.mode),
        match_(scoring.match),
        mismatch_(scoring.mismatch),
        gap_(scoring.gap_open),
        length_(static_cast<std::int32_t>(sequence.size())),
        vectors_((length_ + lanes - 1) / lanes),
        width_(static_cast<std::size_t>(vectors_) * lanes),
        stride_(width_ + lanes),
        letters_(graph.letters()),
        candidates_(workspace.candidates),
        is_tail_(workspace.is_tail) {
    if (workspace.steps.size() <= static_cast<std::size_t>(rows.count())) workspace.steps.resize(static_cast<std::size_t>(rows.count()) * 2 + 1);
    steps_ = workspace.steps.data();
    // Behind the matrix: the row for several predecessors, for local alignments each row's maxima, and column 0.
    const auto count = static_cast<std::size_t>(rows.count());
    const std::size_t values = (count + 2) * stride_, maxima = mode_ == AlignmentMode::local ? (count + 1) * lanes : 0;
    matrix_ = workspace.scores.room_for<T>(values + maxima + count + 1);
    merged_ = matrix_ + values - stride_;
    maxima_ = matrix_ + values;
    first_column_ = maxima_ + maxima;
    make_places(workspace);
    place_ = workspace.place.data();
    make_profile(workspace.profile.room_for<T>((letters_.size() + 1) * width_));
  }

  void fill() {
    const Tag tag;
    for (std::int32_t v = 0; v < vectors_; ++v)
      for (std::int32_t lane = 0; lane < lanes; ++lane)
        matrix_[v * lanes + lane] = mode_ == AlignmentMode::local ? static_cast<T>(-gap_ * (lane * vectors_ + v + 1)) : T{0};
    hn::Store(hn::Set(tag, std::numeric_limits<T>::min()), tag, matrix_ + width_);
    first_column_[0] = 0;
    if (rows_.is_part()) is_tail_.assign(static_cast<std::size_t>(rows_.count()) + 1, 0);
    for (std::int32_t i = 1; i <= rows_.count(); ++i) {
      const std::int32_t id = rows_.node[static_cast<std::size_t>(i - 1)];
      const PartialOrderGraph::Node& node = graph_.node(id);
      std::int32_t edge = node.first_in_edge;
      const std::int32_t p = next_predecessor(edge);
      steps_[i] = {p, edge, id, node.code};
      const T* const from = row(p);
      if (edge < 0) {
        fill_row(i, node.code, first_column_[p], hn::Load(tag, from + width_), [&](std::size_t at) { return hn::Load(tag, from + at); });
        continue;
      }
      const std::int32_t q = next_predecessor(edge);
      if (edge < 0) {
        const T* const other = row(q);
        fill_row(i, node.code, std::max(first_column_[p], first_column_[q]), hn::Max(hn::Load(tag, from + width_), hn::Load(tag, other + width_)),
                 [&](std::size_t at) { return hn::Max(hn::Load(tag, from + at), hn::Load(tag, other + at)); });
        continue;
      }
      const T corner = merge(p, q, edge);
      fill_row(i, node.code, corner, hn::Load(tag, merged_ + width_), [&](std::size_t at) { return hn::Load(tag, merged_ + at); });
    }
  }

  void walk_back(std::vector<AlignedPair>& path) const {
    path.clear();
    auto [i, j] = find_end();
    while (!is_done(i, j)) {
      const std::int32_t value = at(i, j);
      if (i == 0) {
        path.push_back({-1, --j});
        continue;
      }
      const RowStep& step = steps_[i];
      std::int32_t row = -1, column = j;
      if (j > 0) {
        const bool is_match = letters_[step.code] == sequence_[static_cast<std::size_t>(j - 1)];
        row = predecessor_with(step, j - 1, value - (is_match ? match_ : mismatch_) + gap_);
        if (row >= 0) column = j - 1;
      }
      if (row < 0) row = predecessor_with(step, j, value - gap_);
      if (row < 0) {
        path.push_back({-1, --j});
        continue;
      }
      path.push_back({step.node, column == j ? -1 : column});
      i = row;
      j = column;
    }
    std::reverse(path.begin(), path.end());
  }

 private:
  T* row(std::int32_t i) const { return matrix_ + static_cast<std::size_t>(i) * stride_; }
  // G[i][j].
  std::int32_t at(std::int32_t i, std::int32_t j) const {
    if (j == 0) return first_column_[i];
    const T* const values = row(i);
    const auto place = static_cast<std::uint32_t>(place_[j]);
    return std::max(values[place], values[width_ + place % static_cast<std::uint32_t>(lanes)]);
  }
  std::int32_t best(std::int32_t i, std::int32_t j) const { return at(i, j) + j * gap_; }

  // Moves on from an in-edge (-1: there is none) and returns the row of its tail, 0 for none. Tails outside of the part are passed over.
  std::int32_t next_predecessor(std::int32_t& edge) const {
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

  // The first predecessor whose row has `wanted` in a column; -1: none.
  std::int32_t predecessor_with(const RowStep& step, std::int32_t column, std::int32_t wanted) const {
    if (at(step.predecessor, column) == wanted) return step.predecessor;
    for (std::int32_t edge = step.next_edge; edge >= 0;) {
      const std::int32_t p = next_predecessor(edge);
      if (at(p, column) == wanted) return p;
    }
    return -1;
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
    const Vec match = hn::Set(tag, static_cast<T>(match_ - gap_)), mismatch = hn::Set(tag, static_cast<T>(mismatch_ - gap_));
    const Vec nothing = hn::Set(tag, std::numeric_limits<T>::min()), behind = hn::Set(tag, static_cast<T>(std::min(mismatch_, -1) - gap_));
    for (std::size_t at = 0; at < width_; at += lanes) {
      const Vec letters = hn::Load(tag, striped + at);
      const Vec otherwise = hn::IfThenElse(hn::Eq(letters, nothing), behind, mismatch);
      for (std::size_t code = 0; code < letters_.size(); ++code) {
        const auto is_match = hn::Eq(letters, hn::Set(tag, static_cast<T>(static_cast<unsigned char>(letters_[code]))));
        hn::Store(hn::IfThenElse(is_match, match, otherwise), tag, profile + code * width_ + at);
      }
    }
  }

  // The maximum of the rows p and q and of the tails of the in-edges from `edge` on, carries included, without applying them. Returns that of column
  // 0.
  T merge(std::int32_t p, std::int32_t q, std::int32_t edge) const {
    const Tag tag;
    T corner = std::max(first_column_[p], first_column_[q]);
    for (std::size_t at = 0; at < stride_; at += lanes) hn::Store(hn::Max(hn::Load(tag, row(p) + at), hn::Load(tag, row(q) + at)), tag, merged_ + at);
    while (edge >= 0) {
      const std::int32_t r = next_predecessor(edge);
      corner = std::max(corner, first_column_[r]);
      for (std::size_t at = 0; at < stride_; at += lanes)
        hn::Store(hn::Max(hn::Load(tag, merged_ + at), hn::Load(tag, row(r) + at)), tag, merged_ + at);
    }
    return corner;
  }

  // `before` loads what the predecessors have, `carry` and `corner` are their carry and column 0.
  template <class Before>
  HWY_INLINE void fill_row(std::int32_t i, std::uint8_t code, T corner, Vec carry, Before&& before) const {
    const Tag tag;
    const T* const scores = profile_ + code * width_;
    T* const to = row(i);
    const T first = mode_ == AlignmentMode::global ? static_cast<T>(corner + gap_) : T{0};
    first_column_[i] = first;
    const std::size_t width = width_;
    const Vec gap = hn::Set(tag, static_cast<T>(gap_)), least = hn::Set(tag, std::numeric_limits<T>::min());
    Vec diagonal = shift_up<1>(tag, hn::Max(before(width - lanes), carry), hn::Set(tag, corner));
    Vec most = shift_up<1>(tag, least, hn::Set(tag, first));
    if (mode_ == AlignmentMode::local) {
      Vec largest = least;
      for (std::size_t at = 0; at < width; at += lanes) {
        const Vec above = hn::Max(before(at), carry), zero = hn::Load(tag, matrix_ + at);
        const Vec value = hn::Max(hn::Add(diagonal, hn::Load(tag, scores + at)), hn::Add(above, gap));
        most = hn::Max(most, hn::Max(value, zero));
        hn::Store(most, tag, to + at);
        largest = hn::Max(largest, hn::Sub(most, zero));
        diagonal = above;
      }
      const Vec carried = running_maximum<1>(tag, shift_up<1>(tag, most, least), least);
      hn::Store(carried, tag, to + width);
      // A lane's carry is worth most in its first column. The first lane has none.
      const Vec worth = hn::Sub(hn::Max(carried, hn::Load(tag, matrix_)), hn::Load(tag, matrix_));
      hn::Store(hn::Max(largest, worth), tag, maxima_ + static_cast<std::size_t>(i) * lanes);
    } else {
      for (std::size_t at = 0; at < width; at += lanes) {
        const Vec above = hn::Max(before(at), carry);
        most = hn::Max(most, hn::Max(hn::Add(diagonal, hn::Load(tag, scores + at)), hn::Add(above, gap)));
        hn::Store(most, tag, to + at);
        diagonal = above;
      }
      hn::Store(running_maximum<1>(tag, shift_up<1>(tag, most, least), least), tag, to + width);
    }
  }

  struct Cell {
    std::int32_t row, column;
  };
  // The best end, the first in row-major order of ranked rows; (0, 0) if nothing is better than no alignment.
  Cell find_end() const {
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
      consider(i, gap_ < 0 ? score : best(i, first_best(i)));
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
  std::int32_t match_, mismatch_, gap_, length_, vectors_;
  std::size_t width_, stride_;
  std::span<const char> letters_;
  std::vector<std::int32_t>& candidates_;
  std::vector<std::uint8_t>& is_tail_;
  RowStep* steps_;
  T *matrix_, *merged_, *maxima_, *first_column_;
  const T* profile_;
  const std::int32_t* place_;
};

// The smallest H[i][0].
std::int32_t smallest_of_first_column(const PartialOrderGraph& graph, const KeptRows& rows, const Scoring& scoring,
                                      std::vector<std::int32_t>& column) {
  column.assign(static_cast<std::size_t>(rows.count()) + 1, 0);
  std::int32_t smallest = 0;
  for (std::int32_t i = 1; i <= rows.count(); ++i) {
    std::int32_t nearest = std::numeric_limits<std::int32_t>::min();
    for (std::int32_t e = graph.node(rows.node[static_cast<std::size_t>(i - 1)]).first_in_edge; e >= 0; e = graph.edge(e).next) {
      const std::int32_t row = rows.row_of_node[static_cast<std::size_t>(graph.edge(e).tail)];
      if (row != 0) nearest = std::max(nearest, column[static_cast<std::size_t>(row)]);
    }
    const std::int32_t here = (nearest == std::numeric_limits<std::int32_t>::min() ? 0 : nearest) + scoring.gap_open;
    column[static_cast<std::size_t>(i)] = here;
    smallest = std::min(smallest, here);
  }
  return smallest;
}

template <class T>
bool fits(std::int64_t length, std::int64_t smallest, const Scoring& scoring) {
  const std::int64_t columns = length + static_cast<std::int64_t>(vector_bytes / sizeof(T));
  const std::int64_t largest = columns * (std::max({scoring.match, scoring.mismatch, 0}) - scoring.gap_open);
  return largest + 256 < std::numeric_limits<T>::max() && smallest - 256 > std::numeric_limits<T>::min();
}

template <class T>
void align(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring, AlignmentWorkspace& workspace,
           std::vector<AlignedPair>& path) {
  StripedMatrix<T> matrix(graph, rows, sequence, scoring, workspace);
  matrix.fill();
  matrix.walk_back(path);
}

VectorUse AlignVectors(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring,
                       AlignmentWorkspace& workspace, std::vector<AlignedPair>& path) {
  if (scoring.gap_cost() != GapCost::linear) return VectorUse::not_offered;
  path.clear();
  if (rows.count() == 0 || sequence.empty()) return VectorUse::done;
  const auto length = static_cast<std::int64_t>(sequence.size());
  // Through all rows in one path, as a first bound; the exact one takes a pass over the graph.
  std::int64_t smallest = scoring.mode == AlignmentMode::global ? std::int64_t{rows.count()} * scoring.gap_open : 0;
  if (smallest < 0 && !fits<std::int16_t>(length, smallest, scoring) && fits<std::int32_t>(length, smallest, scoring))
    smallest = smallest_of_first_column(graph, rows, scoring, workspace.first_column);
  if (fits<std::int16_t>(length, smallest, scoring))
    align<std::int16_t>(graph, rows, sequence, scoring, workspace, path);
  else if (fits<std::int32_t>(length, smallest, scoring))
    align<std::int32_t>(graph, rows, sequence, scoring, workspace, path);
  else
    return VectorUse::not_offered;
  return VectorUse::done;
}

#endif
}  // namespace sluice::poa_consensus::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::poa_consensus {

HWY_EXPORT(AlignVectors);

VectorUse align_vectors(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring,
                        AlignmentWorkspace& workspace, std::vector<AlignedPair>& path) {
  return HWY_DYNAMIC_DISPATCH(AlignVectors)(graph, rows, sequence, scoring, workspace, path);
}

}  // namespace sluice::poa_consensus
#endif
