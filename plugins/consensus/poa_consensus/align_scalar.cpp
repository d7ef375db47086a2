// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>
#include <new>

#include "poa_consensus/alignment.hpp"

namespace sluice::poa_consensus {
namespace {

// Far below every score, and far from overflow when a few scores are added to it.
constexpr std::int32_t impossible = std::numeric_limits<std::int32_t>::min() / 2;
constexpr std::align_val_t cache_line{64};
// What is asked for beyond the need, so that slowly growing graphs do not ask every time.
constexpr std::size_t most_spare_bytes = std::size_t{16} << 20U;

class ScalarMatrix {
 public:
  ScalarMatrix(const PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring,
               AlignmentWorkspace& workspace)
      : graph_(graph),
        rows_(rows),
        sequence_(sequence),
        scoring_(scoring),
        is_affine_(scoring.gap_cost() == GapCost::affine),
        length_(static_cast<std::int32_t>(sequence.size())),
        width_(sequence.size() + 1) {
    const std::size_t values = (static_cast<std::size_t>(rows.count()) + 1) * width_;
    best_ = workspace.scores.room_for<std::int32_t>(values * (is_affine_ ? 3 : 1));
    vertical_ = is_affine_ ? best_ + values : best_;
    horizontal_ = is_affine_ ? vertical_ + values : best_;
  }

  void fill() {
    fill_edges();
    for (std::int32_t i = 1; i <= rows_.count(); ++i) {
      fill_row(i);
      look_for_end(i);
    }
  }

  void walk_back(std::vector<AlignedPair>& path) const {
    path.clear();
    std::int32_t i = end_row_, j = end_column_;
    while (!is_done(i, j)) {
      const Step step = step_from(i, j);
      path.push_back({step.row == i ? -1 : rows_.node[static_cast<std::size_t>(i - 1)], step.column == j ? -1 : j - 1});
      i = step.row;
      j = step.column;
      if (step.extends == Extends::sequence) {
        do {
          path.push_back({-1, j - 1});
          --j;
        } while (j > 0 && horizontal(i, j) + scoring_.gap_extend == horizontal(i, j + 1));
      } else if (step.extends == Extends::graph) {
        for (bool opened = false; !opened && i > 0;) {
          const std::int32_t from = i;
          i = 0;
          for (const std::int32_t p : rows_.predecessors(from)) {
            opened = vertical(from, j) == best(p, j) + scoring_.gap_open;
            if (opened || vertical(from, j) == vertical(p, j) + scoring_.gap_extend) {
              i = p;
              break;
            }
          }
          path.push_back({rows_.node[static_cast<std::size_t>(from - 1)], -1});
        }
      }
    }
    std::reverse(path.begin(), path.end());
  }

 private:
  enum class Extends : std::uint8_t { nothing, graph, sequence };
  struct Step {
    std::int32_t row, column;
    Extends extends;
  };

  std::size_t at(std::int32_t i, std::int32_t j) const { return static_cast<std::size_t>(i) * width_ + static_cast<std::size_t>(j); }
  std::int32_t& best(std::int32_t i, std::int32_t j) const { return best_[at(i, j)]; }
  std::int32_t& vertical(std::int32_t i, std::int32_t j) const { return vertical_[at(i, j)]; }
  std::int32_t& horizontal(std::int32_t i, std::int32_t j) const { return horizontal_[at(i, j)]; }
  std::int32_t score(std::int32_t i, std::int32_t j) const {
    const char letter = graph_.letters()[rows_.code[static_cast<std::size_t>(i - 1)]];
    return letter == sequence_[static_cast<std::size_t>(j - 1)] ? scoring_.match : scoring_.mismatch;
  }
  std::int32_t gap(std::int32_t bases) const { return scoring_.gap_open + (bases - 1) * scoring_.gap_extend; }

  // Row 0 and column 0.
  void fill_edges() {
    const bool is_local = scoring_.mode == AlignmentMode::local, is_global = scoring_.mode == AlignmentMode::global;
    best(0, 0) = 0;
    if (is_affine_) vertical(0, 0) = horizontal(0, 0) = is_local ? 0 : impossible;
    for (std::int32_t j = 1; j <= length_; ++j) {
      best(0, j) = is_local ? 0 : is_affine_ ? gap(j) : j * scoring_.gap_open;
      if (is_affine_) vertical(0, j) = is_local ? 0 : impossible, horizontal(0, j) = is_local ? 0 : gap(j);
    }
    for (std::int32_t i = 1; i <= rows_.count(); ++i) {
      std::int32_t nearest = impossible;
      for (const std::int32_t p : rows_.predecessors(i)) {
        if (!is_affine_)
          nearest = std::max(nearest, best(p, 0) + scoring_.gap_open);
        else
          nearest = std::max(nearest, p == 0 ? scoring_.gap_open : vertical(p, 0) + scoring_.gap_extend);
      }
      best(i, 0) = is_global ? nearest : 0;
      if (is_affine_) vertical(i, 0) = is_local ? 0 : is_global ? nearest : impossible, horizontal(i, 0) = is_local ? 0 : impossible;
    }
  }

  void fill_row(std::int32_t i) {
    const std::int32_t open = scoring_.gap_open, extend = scoring_.gap_extend;
    for (std::int32_t j = 1; j <= length_; ++j) {
      std::int32_t down = impossible, value = impossible;
      for (const std::int32_t p : rows_.predecessors(i)) {
        down = std::max(down, best(p, j) + open);
        if (is_affine_) down = std::max(down, vertical(p, j) + extend);
        value = std::max(value, best(p, j - 1) + score(i, j));
      }
      std::int32_t across = best(i, j - 1) + open;
      if (is_affine_) {
        across = std::max(across, horizontal(i, j - 1) + extend);
        vertical(i, j) = down;
        horizontal(i, j) = across;
      }
      value = std::max({value, down, across});
      best(i, j) = scoring_.mode == AlignmentMode::local ? std::max(value, 0) : value;
    }
  }

  void look_for_end(std::int32_t i) {
    const bool is_sink = rows_.is_sink[static_cast<std::size_t>(i - 1)] != 0;
    switch (scoring_.mode) {
      case AlignmentMode::global:
        if (is_sink) consider(i, length_);
        break;
      case AlignmentMode::local:
        for (std::int32_t j = 1; j <= length_; ++j) consider(i, j);
        break;
      case AlignmentMode::semi_global:
        for (std::int32_t j = 1; is_sink && j <= length_; ++j) consider(i, j);
        break;
    }
  }
  void consider(std::int32_t i, std::int32_t j) {
    // A semi-global alignment may end where it begins, in front of the sequence.
    const std::int32_t least = scoring_.mode == AlignmentMode::global ? impossible : 0;
    if (best(i, j) <= (end_row_ == 0 ? least : best(end_row_, end_column_))) return;
    end_row_ = i;
    end_column_ = j;
  }

  bool is_done(std::int32_t i, std::int32_t j) const {
    switch (scoring_.mode) {
      case AlignmentMode::global:
        return i == 0 && j == 0;
      case AlignmentMode::local:
        return best(i, j) == 0;
      case AlignmentMode::semi_global:
        return i == 0 || j == 0;
    }
    return true;
  }

  Step step_from(std::int32_t i, std::int32_t j) const {
    const std::int32_t value = best(i, j);
    if (i > 0 && j > 0)
      for (const std::int32_t p : rows_.predecessors(i))
        if (value == best(p, j - 1) + score(i, j)) return {p, j - 1, Extends::nothing};
    if (i > 0) {
      for (const std::int32_t p : rows_.predecessors(i)) {
        if (is_affine_ && value == vertical(p, j) + scoring_.gap_extend) return {p, j, Extends::graph};
        if (value == best(p, j) + scoring_.gap_open) return {p, j, Extends::nothing};
      }
    }
    const bool extends = is_affine_ && value == horizontal(i, j - 1) + scoring_.gap_extend;
    return {i, j - 1, extends ? Extends::sequence : Extends::nothing};
  }

  const PartialOrderGraph& graph_;
  const GraphRows& rows_;
  std::string_view sequence_;
  const Scoring& scoring_;
  bool is_affine_;
  std::int32_t length_;
  std::size_t width_;
  std::int32_t *best_, *vertical_, *horizontal_;
  std::int32_t end_row_ = 0, end_column_ = 0;
};

}  // namespace

void MatrixMemory::Free::operator()(void* memory) const { ::operator delete(memory, cache_line); }

void* MatrixMemory::grow(std::size_t bytes) {
  if (bytes > bytes_) {
    const std::size_t enough = bytes + std::min(bytes / 2, most_spare_bytes);
    memory_.reset();
    bytes_ = 0;
    memory_.reset(::operator new(enough, cache_line));
    bytes_ = enough;
  }
  return memory_.get();
}

std::uint64_t scalar_matrix_bytes(std::int64_t rows, std::int64_t length, const Scoring& scoring) {
  const std::uint64_t matrices = scoring.gap_cost() == GapCost::affine ? 3 : 1;
  return static_cast<std::uint64_t>(rows + 1) * static_cast<std::uint64_t>(length + 1) * matrices * sizeof(std::int32_t);
}

void align_scalar(const PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring,
                  AlignmentWorkspace& workspace, std::vector<AlignedPair>& path) {
  path.clear();
  if (rows.count() == 0 || sequence.empty()) return;
  ScalarMatrix matrix(graph, rows, sequence, scoring, workspace);
  matrix.fill();
  matrix.walk_back(path);
}

}  // namespace sluice::poa_consensus
