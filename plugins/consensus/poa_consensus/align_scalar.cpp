// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>

#include "poa_consensus/alignment.hpp"

namespace sluice::poa_consensus {
namespace {

// Far below every score, and far from overflow when a few scores are added to it.
constexpr std::int32_t impossible = std::numeric_limits<std::int32_t>::min() / 2;

// A gap's cost is that of the best of `pieces_` pieces, which have scores of their own. Linear gaps need none: they begin anew with every base.
class ScalarMatrix {
 public:
  ScalarMatrix(const PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring,
               AlignmentWorkspace& workspace)
      : graph_(graph),
        rows_(rows),
        sequence_(sequence),
        scoring_(scoring),
        pieces_(pieces_of(scoring)),
        opens_(std::max(pieces_, 1)),
        columns_of_vector_(columns_of_convex_vector(scoring, static_cast<std::int64_t>(sequence.size()), rows.count())),
        length_(static_cast<std::int32_t>(sequence.size())),
        width_(sequence.size() + 1) {
    const std::size_t values = (static_cast<std::size_t>(rows.count()) + 1) * width_;
    best_ = workspace.scores.room_for<std::int32_t>(values * (1 + 2 * static_cast<std::size_t>(pieces_)));
    for (int piece = 0; piece < pieces_; ++piece) {
      vertical_[piece] = best_ + values * static_cast<std::size_t>(1 + 2 * piece);
      horizontal_[piece] = vertical_[piece] + values;
    }
  }

  static int pieces_of(const Scoring& scoring) {
    const GapCost cost = scoring.gap_cost();
    return cost == GapCost::linear ? 0 : cost == GapCost::affine ? 1 : 2;
  }

  void fill() {
    fill_edges();
    for (std::int32_t i = 1; i <= rows_.count(); ++i) {
      fill_row(i);
      look_for_end(i);
    }
  }
  std::int32_t score() const { return best(end_row_, end_column_); }

  void walk_back(std::vector<AlignedPair>& path) const {
    path.clear();
    std::int32_t i = end_row_, j = end_column_;
    while (!is_done(i, j)) {
      if (pieces_ == 2 && i > 0 && j == 0) {
        path.push_back({node(i), -1});
        i = up_first_column(i);
        continue;
      }
      const Step step = step_from(i, j);
      path.push_back({step.row == i ? -1 : node(i), step.column == j ? -1 : j - 1});
      i = step.row;
      j = step.column;
      if (step.extends == Extends::sequence) {
        do {
          path.push_back({-1, j - 1});
          --j;
        } while (j > 0 && gap_goes_on(i, j));
      } else if (step.extends == Extends::graph) {
        for (bool opened = false; !opened && i > 0;) {
          const std::int32_t from = i;
          i = pieces_ == 1 ? up_affine(from, j, opened) : up_convex(from, j, opened);
          path.push_back({node(from), -1});
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

  std::int32_t node(std::int32_t i) const { return rows_.node[static_cast<std::size_t>(i - 1)]; }
  std::size_t at(std::int32_t i, std::int32_t j) const { return static_cast<std::size_t>(i) * width_ + static_cast<std::size_t>(j); }
  std::int32_t& best(std::int32_t i, std::int32_t j) const { return best_[at(i, j)]; }
  std::int32_t& vertical(int piece, std::int32_t i, std::int32_t j) const { return vertical_[piece][at(i, j)]; }
  std::int32_t& horizontal(int piece, std::int32_t i, std::int32_t j) const { return horizontal_[piece][at(i, j)]; }
  std::int32_t open(int piece) const { return piece == 0 ? scoring_.gap_open : scoring_.second_gap_open; }
  std::int32_t extend(int piece) const { return piece == 0 ? scoring_.gap_extend : scoring_.second_gap_extend; }
  std::int32_t score(std::int32_t i, std::int32_t j) const {
    const char letter = graph_.letters()[rows_.code[static_cast<std::size_t>(i - 1)]];
    return letter == sequence_[static_cast<std::size_t>(j - 1)] ? scoring_.match : scoring_.mismatch;
  }

  // Row 0 and column 0.
  void fill_edges() {
    const bool is_local = scoring_.mode == AlignmentMode::local;
    const std::int32_t no_gap = is_local && pieces_ == 1 ? 0 : impossible;
    best(0, 0) = 0;
    for (int piece = 0; piece < pieces_; ++piece) vertical(piece, 0, 0) = horizontal(piece, 0, 0) = no_gap;
    for (std::int32_t j = 1; j <= length_; ++j) {
      best(0, j) = is_local ? 0 : pieces_ == 0 ? j * scoring_.gap_open : impossible;
      for (int piece = 0; piece < pieces_; ++piece) {
        vertical(piece, 0, j) = no_gap;
        horizontal(piece, 0, j) = is_local ? 0 : open(piece) + (j - 1) * extend(piece);
        best(0, j) = std::max(best(0, j), horizontal(piece, 0, j));
      }
    }
    for (std::int32_t i = 1; i <= rows_.count(); ++i) fill_first_column(i);
  }
  void fill_first_column(std::int32_t i) {
    const bool is_global = scoring_.mode == AlignmentMode::global;
    const std::int32_t no_gap = scoring_.mode == AlignmentMode::local && pieces_ == 1 ? 0 : impossible;
    std::int32_t nearest = impossible;
    if (pieces_ == 0)
      for (const std::int32_t p : rows_.predecessors(i)) nearest = std::max(nearest, best(p, 0) + scoring_.gap_open);
    for (int piece = 0; piece < pieces_; ++piece) {
      std::int32_t of_piece = impossible;
      for (const std::int32_t p : rows_.predecessors(i)) of_piece = std::max(of_piece, p == 0 ? open(piece) : vertical(piece, p, 0) + extend(piece));
      vertical(piece, i, 0) = is_global ? of_piece : no_gap;
      horizontal(piece, i, 0) = no_gap;
      nearest = std::max(nearest, of_piece);
    }
    best(i, 0) = is_global ? nearest : 0;
  }

  void fill_row(std::int32_t i) {
    std::int32_t above = impossible;  // the best way into the column before that is no horizontal gap
    for (std::int32_t j = 1; j <= length_; ++j) {
      std::int32_t value = impossible;
      for (const std::int32_t p : rows_.predecessors(i)) value = std::max(value, best(p, j - 1) + score(i, j));
      for (int piece = 0; piece < opens_; ++piece) {
        std::int32_t down = impossible;
        for (const std::int32_t p : rows_.predecessors(i)) {
          down = std::max(down, best(p, j) + open(piece));
          if (pieces_ > 0) down = std::max(down, vertical(piece, p, j) + extend(piece));
        }
        if (pieces_ > 0) vertical(piece, i, j) = down;
        value = std::max(value, down);
      }
      // Across the vectors of spoa's convex gaps a gap may open behind a gap: see columns_of_convex_vector().
      const std::int32_t before = pieces_ == 2 && (j - 1) % columns_of_vector_ != 0 ? above : best(i, j - 1);
      above = value;
      for (int piece = 0; piece < opens_; ++piece) {
        std::int32_t across = before + open(piece);
        if (pieces_ > 0) {
          across = std::max(across, horizontal(piece, i, j - 1) + extend(piece));
          horizontal(piece, i, j) = across;
        }
        value = std::max(value, across);
      }
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
        for (int piece = 0; piece < opens_; ++piece) {
          if (pieces_ > 0 && value == vertical(piece, p, j) + extend(piece)) return {p, j, Extends::graph};
          if (value == best(p, j) + open(piece)) return {p, j, Extends::nothing};
        }
      }
    }
    for (int piece = 0; piece < pieces_; ++piece) {
      if (value == horizontal(piece, i, j - 1) + extend(piece)) return {i, j - 1, Extends::sequence};
      if (value == best(i, j - 1) + open(piece)) break;
    }
    return {i, j - 1, Extends::nothing};
  }

  // A horizontal gap that was walked from column j + 1 to j: it goes on while each piece's score says so.
  bool gap_goes_on(std::int32_t i, std::int32_t j) const {
    for (int piece = 0; piece < pieces_; ++piece)
      if (horizontal(piece, i, j) + extend(piece) != horizontal(piece, i, j + 1)) return false;
    return true;
  }

  // The row above in a vertical gap. Affine: of each predecessor the opening is looked at first.
  std::int32_t up_affine(std::int32_t i, std::int32_t j, bool& opened) const {
    for (const std::int32_t p : rows_.predecessors(i)) {
      opened = vertical(0, i, j) == best(p, j) + open(0);
      if (opened || vertical(0, i, j) == vertical(0, p, j) + extend(0)) return p;
    }
    return 0;
  }
  // Convex: extensions of all predecessors come before openings.
  std::int32_t up_convex(std::int32_t i, std::int32_t j, bool& opened) const {
    for (const std::int32_t p : rows_.predecessors(i))
      if (p > 0)
        for (int piece = 0; piece < 2; ++piece)
          if (vertical(piece, i, j) == vertical(piece, p, j) + extend(piece)) return p;
    opened = true;
    for (const std::int32_t p : rows_.predecessors(i))
      for (int piece = 0; piece < 2; ++piece)
        if (vertical(piece, i, j) == best(p, j) + open(piece)) return p;
    return 0;
  }
  std::int32_t up_first_column(std::int32_t i) const {
    for (const std::int32_t p : rows_.predecessors(i))
      for (int piece = 0; piece < 2; ++piece)
        if (p > 0 && vertical(piece, i, 0) == vertical(piece, p, 0) + extend(piece)) return p;
    return 0;
  }

  const PartialOrderGraph& graph_;
  const GraphRows& rows_;
  std::string_view sequence_;
  const Scoring& scoring_;
  int pieces_, opens_;
  std::int32_t columns_of_vector_, length_;
  std::size_t width_;
  std::int32_t *best_, *vertical_[2] = {}, *horizontal_[2] = {};
  std::int32_t end_row_ = 0, end_column_ = 0;
};

}  // namespace

std::uint64_t scalar_matrix_bytes(std::int64_t rows, std::int64_t length, const Scoring& scoring) {
  const std::uint64_t matrices = 1 + 2 * static_cast<std::uint64_t>(ScalarMatrix::pieces_of(scoring));
  return static_cast<std::uint64_t>(rows + 1) * static_cast<std::uint64_t>(length + 1) * matrices * sizeof(std::int32_t);
}

void align_scalar(const PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring,
                  AlignmentWorkspace& workspace, std::vector<AlignedPair>& path) {
  path.clear();
  workspace.score = 0;
  if (rows.count() == 0 || sequence.empty()) return;
  ScalarMatrix matrix(graph, rows, sequence, scoring, workspace);
  matrix.fill();
  matrix.walk_back(path);
  workspace.score = matrix.score();
}

}  // namespace sluice::poa_consensus
