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

#include "poa_consensus/convex_rows-inl.hpp"
#include "poa_consensus/striped_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::poa_consensus::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

VectorUse AlignVectors(PartialOrderGraph&, const KeptRows&, std::string_view, const Scoring&, AlignmentWorkspace&, std::vector<AlignedPair>&) {
  return VectorUse::not_offered;
}

#else
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
class LinearGaps : public StripedRows<T> {
 public:
  using Base = StripedRows<T>;
  using Base::lanes;
  using typename Base::Tag;
  using typename Base::Vec;

  LinearGaps(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring, AlignmentWorkspace& workspace)
      : Base(graph, rows, sequence, scoring, scoring.gap_open, Base::Stripes::scores, workspace) {}

  void fill() {
    const Tag tag;
    for (std::int32_t v = 0; v < vectors_; ++v)
      for (std::int32_t lane = 0; lane < lanes; ++lane)
        matrix_[v * lanes + lane] = mode_ == AlignmentMode::local ? static_cast<T>(-per_column_ * (lane * vectors_ + v + 1)) : T{0};
    hn::Store(hn::Set(tag, std::numeric_limits<T>::min()), tag, matrix_ + width_);
    first_column_[0] = 0;
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

  void walk_back(std::vector<AlignedPair>& path) {
    make_room(path);
    AlignedPair* next = path.data();
    auto [i, j] = find_end();
    while (!is_done(i, j)) {
      const std::int32_t value = at(i, j);
      if (i == 0) {
        *next++ = {-1, --j};
        continue;
      }
      const RowStep& step = steps_[i];
      std::int32_t row = -1, column = j;
      if (j > 0) {
        row = predecessor_with(step, j - 1, value - (is_match(step, j) ? match_ : mismatch_) + per_column_);
        if (row >= 0) column = j - 1;
      }
      if (row < 0) row = predecessor_with(step, j, value - per_column_);
      if (row < 0) {
        *next++ = {-1, --j};
        continue;
      }
      *next++ = {step.node, column == j ? -1 : column};
      i = row;
      j = column;
    }
    turn_around(path, next);
  }

 private:
  using Base::at, Base::first_column_, Base::find_end, Base::graph_, Base::is_done, Base::is_match, Base::match_, Base::matrix_, Base::maxima_;
  using Base::make_room, Base::turn_around, Base::merge, Base::merged_, Base::mismatch_, Base::mode_, Base::next_predecessor, Base::per_column_,
      Base::profile_, Base::row, Base::rows_;
  using Base::steps_, Base::vectors_, Base::width_;

  // The first predecessor whose row has `wanted` in a column; -1: none.
  std::int32_t predecessor_with(const RowStep& step, std::int32_t column, std::int32_t wanted) const {
    if (at(step.predecessor, column) == wanted) return step.predecessor;
    for (std::int32_t edge = step.next_edge; edge >= 0;) {
      const std::int32_t p = next_predecessor(edge);
      if (at(p, column) == wanted) return p;
    }
    return -1;
  }

  // `before` loads what the predecessors have, `carry` and `corner` are their carry and column 0.
  template <class Before>
  HWY_INLINE void fill_row(std::int32_t i, std::uint8_t code, T corner, Vec carry, Before&& before) const {
    const Tag tag;
    const T* const scores = profile_ + code * width_;
    T* const to = row(i);
    const T first = mode_ == AlignmentMode::global ? static_cast<T>(corner + per_column_) : T{0};
    first_column_[i] = first;
    const std::size_t width = width_;
    const Vec gap = hn::Set(tag, static_cast<T>(per_column_)), least = hn::Set(tag, std::numeric_limits<T>::min());
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
};

// Gaps that cost more to open than to extend. Vertical gaps have a matrix of their own, F, behind the scores of each row. With per_column = extend
// and d = open - extend, the best horizontal gap that ends at column j is d above the largest G before it, so it needs none.
template <class T>
class AffineGaps : public StripedRows<T> {
 public:
  using Base = StripedRows<T>;
  using Base::lanes;
  using typename Base::Tag;
  using typename Base::Vec;

  AffineGaps(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring, AlignmentWorkspace& workspace)
      : Base(graph, rows, sequence, scoring, scoring.gap_extend, Base::Stripes::scores_and_vertical, workspace), open_(scoring.gap_open) {}

  void fill() {
    const Tag tag;
    const bool is_local = mode_ == AlignmentMode::local;
    for (std::int32_t v = 0; v < vectors_; ++v)
      for (std::int32_t lane = 0; lane < lanes; ++lane)
        matrix_[v * lanes + lane] = static_cast<T>(is_local ? -per_column_ * (lane * vectors_ + v + 1) : open_ - per_column_);
    for (std::size_t at = width_; at < stride_; at += lanes) hn::Store(hn::Set(tag, impossible), tag, matrix_ + at);
    first_column_[0] = 0;
    for_each_row([&](std::int32_t i, std::uint8_t code, T corner, const T* before) { fill_row(i, code, corner, before); });
  }

  void walk_back(std::vector<AlignedPair>& path) {
    make_room(path);
    AlignedPair* next = path.data();
    auto [i, j] = find_end();
    while (!is_done(i, j)) {
      const std::int32_t value = at(i, j);
      Gap gap = Gap::none;
      const std::int32_t from = j > 0 && i > 0 ? diagonal_predecessor(i, j, value) : -1;
      if (from >= 0) {
        *next++ = {steps_[i].node, --j};
        i = from;
        continue;
      }
      const std::int32_t above = i > 0 ? vertical_predecessor(i, j, value, gap) : -1;
      if (above >= 0) {
        *next++ = {steps_[i].node, -1};
        i = above;
        while (gap == Gap::extends && i > 0) {
          const std::int32_t before = gap_predecessor(i, j, gap);
          *next++ = {steps_[i].node, -1};
          i = before;
        }
        continue;
      }
      const bool extends = value == horizontal(i, j - 1);
      *next++ = {-1, --j};
      if (!extends) continue;
      do {
        *next++ = {-1, --j};
      } while (j > 0 && horizontal(i, j) == horizontal(i, j + 1));
    }
    turn_around(path, next);
  }

 private:
  using Base::at, Base::first_column_, Base::find_end, Base::graph_, Base::is_done, Base::is_match, Base::match_, Base::matrix_, Base::maxima_;
  using Base::find_predecessor, Base::diagonal_predecessor, Base::steps_, Base::stride_, Base::vectors_, Base::width_, Base::place_;
  using Base::for_each_row, Base::make_room, Base::turn_around, Base::mismatch_, Base::mode_, Base::next_predecessor, Base::per_column_,
      Base::profile_, Base::row, Base::rows_;

  enum class Gap : std::uint8_t { none, opens, extends };

  // Far below every score, and no sum of it and two scores wraps around.
  static constexpr T impossible = std::numeric_limits<T>::min() + 512;

  std::int32_t vertical(std::int32_t i, std::int32_t j) const {
    if (j == 0) return i == 0 || mode_ != AlignmentMode::global ? impossible : first_column_[i];
    return row(i)[width_ + lanes + static_cast<std::size_t>(place_[j])];
  }
  // The best horizontal gap that ends at a column.
  std::int32_t horizontal(std::int32_t i, std::int32_t j) const {
    if (j == 0) return impossible;
    const std::int32_t place = place_[j], lane = place % lanes;
    std::int32_t most = impossible;
    for (std::int32_t before = lane; before < place; before += lanes) most = std::max<std::int32_t>(most, row(i)[before]);
    if (lane == 0) most = std::max<std::int32_t>(most, first_column_[i]);
    return std::max<std::int32_t>(most + open_ - per_column_, row(i)[width_ + static_cast<std::size_t>(lane)]);
  }

  std::int32_t vertical_predecessor(std::int32_t i, std::int32_t j, std::int32_t value, Gap& gap) const {
    return find_predecessor(i, [&](std::int32_t p) {
      gap = value == vertical(p, j) + per_column_ ? Gap::extends : value == at(p, j) + open_ ? Gap::opens : Gap::none;
      return gap != Gap::none;
    });
  }
  // Within a vertical gap the opening is looked at first.
  std::int32_t gap_predecessor(std::int32_t i, std::int32_t j, Gap& gap) const {
    const std::int32_t value = vertical(i, j);
    const std::int32_t p = find_predecessor(i, [&](std::int32_t candidate) {
      gap = value == at(candidate, j) + open_ ? Gap::opens : value == vertical(candidate, j) + per_column_ ? Gap::extends : Gap::none;
      return gap != Gap::none;
    });
    return std::max(p, 0);
  }

  void fill_row(std::int32_t i, std::uint8_t code, T corner, const T* from) const {
    const Tag tag;
    const T* const scores = profile_ + code * width_;
    T* const to = row(i);
    const bool is_local = mode_ == AlignmentMode::local, is_first = steps_[i].predecessor == 0;
    const T first = mode_ == AlignmentMode::global ? static_cast<T>(is_first ? open_ : corner + per_column_) : T{0};
    first_column_[i] = first;
    const std::size_t width = width_, vertical = width_ + lanes;
    const Vec open = hn::Set(tag, static_cast<T>(open_)), extend = hn::Set(tag, static_cast<T>(per_column_));
    const Vec opening = hn::Set(tag, static_cast<T>(open_ - per_column_)), least = hn::Set(tag, impossible), carry = hn::Load(tag, from + width);
    Vec diagonal = shift_up<1>(tag, hn::Max(hn::Load(tag, from + width - lanes), carry), hn::Set(tag, corner));
    Vec most = shift_up<1>(tag, least, hn::Set(tag, first));
    Vec largest = least;
    for (std::size_t at = 0; at < width; at += lanes) {
      const Vec above = hn::Max(hn::Load(tag, from + at), carry);
      const Vec down = hn::Max(hn::Add(above, open), hn::Add(hn::Load(tag, from + vertical + at), extend));
      hn::Store(down, tag, to + vertical + at);
      Vec value = hn::Max(hn::Add(diagonal, hn::Load(tag, scores + at)), down);
      if (is_local) value = hn::Max(value, hn::Load(tag, matrix_ + at));
      const Vec reached = hn::Max(value, hn::Add(most, opening));
      hn::Store(reached, tag, to + at);
      if (is_local) largest = hn::Max(largest, hn::Sub(reached, hn::Load(tag, matrix_ + at)));
      most = hn::Max(most, value);
      diagonal = above;
    }
    const Vec carried = hn::Add(running_maximum<1>(tag, shift_up<1>(tag, most, least), least), opening);
    hn::Store(carried, tag, to + width);
    if (!is_local) return;
    const Vec worth = hn::Sub(hn::Max(carried, hn::Load(tag, matrix_)), hn::Load(tag, matrix_));
    hn::Store(hn::Max(largest, worth), tag, maxima_ + static_cast<std::size_t>(i) * lanes);
  }

  std::int32_t open_;
};

// The smallest H[i][0], or less where gaps are affine: each row as if it opened one.
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
  const GapCost cost = scoring.gap_cost();
  const std::int64_t per_column = cost == GapCost::linear   ? scoring.gap_open
                                  : cost == GapCost::affine ? scoring.gap_extend
                                                            : scoring.second_gap_extend;
  const std::int64_t largest = columns * (std::max({scoring.match, scoring.mismatch, 0}) - per_column);
  const std::int64_t least = sizeof(T) == 4 && cost == GapCost::convex ? std::numeric_limits<T>::min() / 2 : std::numeric_limits<T>::min();
  return largest + 256 < std::numeric_limits<T>::max() && smallest - 1024 > least;
}

template <class Matrix>
void align(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring, AlignmentWorkspace& workspace,
           std::vector<AlignedPair>& path) {
  Matrix matrix(graph, rows, sequence, scoring, workspace);
  matrix.fill();
  matrix.walk_back(path);
  workspace.score = matrix.score();
}

VectorUse AlignVectors(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring,
                       AlignmentWorkspace& workspace, std::vector<AlignedPair>& path) {
  path.clear();
  workspace.score = 0;
  if (rows.count() == 0 || sequence.empty()) return VectorUse::done;
  const auto length = static_cast<std::int64_t>(sequence.size());
  // Through all rows in one path, as a first bound; the exact one takes a pass over the graph.
  std::int64_t smallest = scoring.mode == AlignmentMode::global ? std::int64_t{rows.count()} * scoring.gap_open : 0;
  if (smallest < 0 && !fits<std::int16_t>(length, smallest, scoring) && fits<std::int32_t>(length, smallest, scoring))
    smallest = smallest_of_first_column(graph, rows, scoring, workspace.first_column);
  const auto align_in = [&]<class T>(T) {
    switch (scoring.gap_cost()) {
      case GapCost::linear:
        return align<LinearGaps<T> >(graph, rows, sequence, scoring, workspace, path);
      case GapCost::affine:
        return align<AffineGaps<T> >(graph, rows, sequence, scoring, workspace, path);
      case GapCost::convex:
        return align<ConvexGaps<T> >(graph, rows, sequence, scoring, workspace, path);
    }
  };
  if (fits<std::int16_t>(length, smallest, scoring))
    align_in(std::int16_t{});
  else if (fits<std::int32_t>(length, smallest, scoring))
    align_in(std::int32_t{});
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
