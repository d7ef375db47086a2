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

VectorUse AlignVectors(PartialOrderGraph&, const GraphRows&, std::string_view, const Scoring&, AlignmentWorkspace&, std::vector<AlignedPair>&) {
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

  StripedMatrix(PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring, AlignmentWorkspace& workspace)
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
        candidates_(workspace.candidates) {
    // Behind the matrix: the row for several predecessors, and for local alignments each row's maxima.
    const std::size_t values = (static_cast<std::size_t>(rows.count()) + 2) * stride_;
    const std::size_t maxima = mode_ == AlignmentMode::local ? (static_cast<std::size_t>(rows.count()) + 1) * lanes : 0;
    matrix_ = workspace.scores.room_for<T>(values + maxima);
    merged_ = matrix_ + values - stride_;
    maxima_ = matrix_ + values;
    make_places(workspace);
    place_ = workspace.place.data();
    make_profile(workspace.profile.room_for<T>((letters_.size() + 1) * width_));
  }

  void fill() {
    const Tag tag;
    for (std::int32_t v = 0; v < vectors_; ++v)
      for (std::int32_t lane = 0; lane < lanes; ++lane)
        matrix_[v * lanes + lane] = mode_ == AlignmentMode::local ? static_cast<T>(-gap_ * (lane * vectors_ + v + 1)) : T{0};
    matrix_[width_] = 0;
    for (std::int32_t i = 1; i <= rows_.count(); ++i) {
      const std::span<const std::int32_t> predecessors = rows_.predecessors(i);
      if (predecessors.size() == 1) {
        const T* from = row(predecessors[0]);
        fill_row(i, from[width_], [&](std::size_t at) { return hn::Load(tag, from + at); });
      } else if (predecessors.size() == 2) {
        const T *from = row(predecessors[0]), *other = row(predecessors[1]);
        fill_row(i, std::max(from[width_], other[width_]), [&](std::size_t at) { return hn::Max(hn::Load(tag, from + at), hn::Load(tag, other + at)); });
      } else {
        merge(predecessors);
        fill_row(i, merged_[width_], [&](std::size_t at) { return hn::Load(tag, merged_ + at); });
      }
    }
  }

  void walk_back(std::vector<AlignedPair>& path) const {
    path.clear();
    auto [i, j] = find_end();
    while (!is_done(i, j)) {
      const std::int32_t value = at(i, j);
      std::int32_t row = -1, column = j;
      if (i > 0) {
        const std::span<const std::int32_t> predecessors = rows_.predecessors(i);
        if (j > 0) {
          const bool is_match = letters_[rows_.code[static_cast<std::size_t>(i - 1)]] == sequence_[static_cast<std::size_t>(j - 1)];
          const std::int32_t wanted = value - (is_match ? match_ : mismatch_) + gap_;
          for (const std::int32_t p : predecessors) {
            if (at(p, j - 1) != wanted) continue;
            row = p;
            column = j - 1;
            break;
          }
        }
        for (std::size_t p = 0; row < 0 && p < predecessors.size(); ++p)
          if (at(predecessors[p], j) == value - gap_) row = predecessors[p];
      }
      if (row < 0) {
        row = i;
        column = j - 1;
      }
      path.push_back({row == i ? -1 : rows_.node[static_cast<std::size_t>(i - 1)], column == j ? -1 : j - 1});
      i = row;
      j = column;
    }
    std::reverse(path.begin(), path.end());
  }

 private:
  T* row(std::int32_t i) const { return matrix_ + static_cast<std::size_t>(i) * stride_; }
  // G[i][j].
  std::int32_t at(std::int32_t i, std::int32_t j) const { return row(i)[place_[j]]; }
  std::int32_t best(std::int32_t i, std::int32_t j) const { return at(i, j) + j * gap_; }

  // Where the columns lie in a row: column 0 behind the others.
  void make_places(AlignmentWorkspace& workspace) const {
    if (workspace.place_vectors == vectors_ && workspace.place_lanes == lanes) return;
    workspace.place_vectors = vectors_;
    workspace.place_lanes = lanes;
    workspace.place.resize(width_ + 1);
    workspace.place[0] = static_cast<std::int32_t>(width_);
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

  // The maximum of the predecessors' rows.
  void merge(std::span<const std::int32_t> predecessors) const {
    const Tag tag;
    for (std::size_t at = 0; at < width_; at += lanes) {
      Vec most = hn::Load(tag, row(predecessors[0]) + at);
      for (const std::int32_t p : predecessors.subspan(1)) most = hn::Max(most, hn::Load(tag, row(p) + at));
      hn::Store(most, tag, merged_ + at);
    }
    T corner = row(predecessors[0])[width_];
    for (const std::int32_t p : predecessors.subspan(1)) corner = std::max(corner, row(p)[width_]);
    merged_[width_] = corner;
  }

  // `before` loads what the predecessors have, `corner` is theirs in column 0.
  template <class Before>
  HWY_INLINE void fill_row(std::int32_t i, T corner, Before&& before) const {
    const Tag tag;
    const T* const scores = profile_ + rows_.code[static_cast<std::size_t>(i - 1)] * width_;
    T* const to = row(i);
    const T first = mode_ == AlignmentMode::global ? static_cast<T>(corner + gap_) : T{0};
    to[width_] = first;
    const Vec gap = hn::Set(tag, static_cast<T>(gap_)), least = hn::Set(tag, std::numeric_limits<T>::min());
    Vec diagonal = shift_up<1>(tag, before(width_ - lanes), hn::Set(tag, corner));
    Vec most = shift_up<1>(tag, least, hn::Set(tag, first));
    if (mode_ == AlignmentMode::local) {
      for (std::size_t at = 0; at < width_; at += lanes) {
        const Vec above = before(at);
        const Vec value = hn::Max(hn::Add(diagonal, hn::Load(tag, scores + at)), hn::Add(above, gap));
        most = hn::Max(most, hn::Max(value, hn::Load(tag, matrix_ + at)));
        hn::Store(most, tag, to + at);
        diagonal = above;
      }
    } else {
      for (std::size_t at = 0; at < width_; at += lanes) {
        const Vec above = before(at);
        most = hn::Max(most, hn::Max(hn::Add(diagonal, hn::Load(tag, scores + at)), hn::Add(above, gap)));
        hn::Store(most, tag, to + at);
        diagonal = above;
      }
    }
    const Vec carried = running_maximum<1>(tag, shift_up<1>(tag, most, least), least);
    if (mode_ == AlignmentMode::local) {
      Vec largest = least;
      for (std::size_t at = 0; at < width_; at += lanes) {
        const Vec value = hn::Max(hn::Load(tag, to + at), carried);
        hn::Store(value, tag, to + at);
        largest = hn::Max(largest, hn::Sub(value, hn::Load(tag, matrix_ + at)));
      }
      hn::Store(largest, tag, maxima_ + static_cast<std::size_t>(i) * lanes);
    } else {
      for (std::size_t at = 0; at < width_; at += lanes) hn::Store(hn::Max(hn::Load(tag, to + at), carried), tag, to + at);
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
  bool is_sink(std::int32_t i) const { return rows_.is_sink[static_cast<std::size_t>(i - 1)] != 0; }

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
    if (hn::GetLane(largest) <= 0) return;
    for (std::int32_t i = 1; i <= rows_.count(); ++i)
      if (!hn::AllFalse(tag, hn::Eq(largest, hn::Load(tag, maxima_ + static_cast<std::size_t>(i) * lanes)))) consider(i, best(i, first_best(i)));
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
  const GraphRows& rows_;
  std::string_view sequence_;
  AlignmentMode mode_;
  std::int32_t match_, mismatch_, gap_, length_, vectors_;
  std::size_t width_, stride_;
  std::span<const char> letters_;
  std::vector<std::int32_t>& candidates_;
  T *matrix_, *merged_, *maxima_;
  const T* profile_;
  const std::int32_t* place_;
};

// The smallest H[i][0].
std::int32_t smallest_of_first_column(const GraphRows& rows, const Scoring& scoring, std::vector<std::int32_t>& column) {
  column.assign(static_cast<std::size_t>(rows.count()) + 1, 0);
  std::int32_t smallest = 0;
  for (std::int32_t i = 1; i <= rows.count(); ++i) {
    std::int32_t nearest = std::numeric_limits<std::int32_t>::min() / 2;
    for (const std::int32_t p : rows.predecessors(i)) nearest = std::max(nearest, column[static_cast<std::size_t>(p)]);
    column[static_cast<std::size_t>(i)] = nearest + scoring.gap_open;
    smallest = std::min(smallest, nearest + scoring.gap_open);
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
void align(PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring, AlignmentWorkspace& workspace,
           std::vector<AlignedPair>& path) {
  StripedMatrix<T> matrix(graph, rows, sequence, scoring, workspace);
  matrix.fill();
  matrix.walk_back(path);
}

VectorUse AlignVectors(PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring,
                       AlignmentWorkspace& workspace, std::vector<AlignedPair>& path) {
  if (scoring.gap_cost() != GapCost::linear) return VectorUse::not_offered;
  path.clear();
  if (rows.count() == 0 || sequence.empty()) return VectorUse::done;
  const auto length = static_cast<std::int64_t>(sequence.size());
  // Through all rows in one path, as a first bound; the exact one takes a pass over the graph.
  std::int64_t smallest = scoring.mode == AlignmentMode::global ? std::int64_t{rows.count()} * scoring.gap_open : 0;
  if (smallest < 0 && !fits<std::int16_t>(length, smallest, scoring) && fits<std::int32_t>(length, smallest, scoring))
    smallest = smallest_of_first_column(rows, scoring, workspace.first_column);
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

VectorUse align_vectors(PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring,
                        AlignmentWorkspace& workspace, std::vector<AlignedPair>& path) {
  return HWY_DYNAMIC_DISPATCH(AlignVectors)(graph, rows, sequence, scoring, workspace, path);
}

}  // namespace sluice::poa_consensus
#endif
