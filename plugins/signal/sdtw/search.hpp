// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The search for a query in all columns of a reference: whole, in parts for several threads, or as a stream. Exact for every query of at most
// longest_query levels.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sdtw/column_tiles.hpp"
#include "sdtw/path_start.hpp"
#include "sdtw/sdtw.hpp"

namespace sluice::sdtw {

// Scratch memory of one caller.
struct Workspace {
  AlignedArray<std::uint16_t> narrow_cells, narrow_border;
  AlignedArray<std::uint32_t> wide_cells, wide_border;
  PathStartWorkspace path;
  std::optional<ScalarRows> scalar;
};

// Cells of which width gave a score.
enum class CellWidth : std::uint8_t { narrow, wide };

struct SearchResult {
  Hit hit;
  std::int64_t first_column = -1;
  CellWidth width = CellWidth::narrow;
};

// A reference made ready for one method. Const members may be called from several threads, each with its own workspace.
class Search {
 public:
  // `reference` outlives the search.
  Search(const Reference& reference, Method method) : reference_(&reference), method_(method), tiles_(reference, lanes()) {}

  const Reference& reference() const { return *reference_; }
  Method method() const { return method_; }

  // The best path of the query. Its first column is looked for only if asked.
  enum class PathStart : std::uint8_t { wanted, unwanted };
  SearchResult find(std::span<const std::int16_t> query, PathStart start, Workspace& workspace) const;

  // The same in parts that may run at the same time: part i of `parts`, for i from 0. Parts begin as many columns early as a path may span, so there
  // is no more than useful_parts(); one part for reference deletions.
  std::size_t useful_parts(std::size_t query_levels, std::size_t wanted) const;
  SearchResult find_part(std::span<const std::int16_t> query, std::size_t part, std::size_t parts, Workspace& workspace) const;
  // The best of all parts. Repeats the search with wide cells when the narrow ones did not do.
  SearchResult join_parts(std::span<const std::int16_t> query, std::span<const SearchResult> parts, PathStart start, Workspace& workspace) const;

  std::size_t workspace_bytes() const { return tiles_.tile_size() * sizeof(std::uint16_t); }
  const ColumnTiles& tiles() const { return tiles_; }

 private:
  static std::int32_t lanes();
  bool narrow_cells_fit() const { return method_.cost == Cost::manhattan && method_.deletions == ReferenceDeletions::forbidden; }
  SearchResult find_scalar(std::span<const std::int16_t> query, Workspace& workspace) const;
  template <class Cell>
  Hit find_in_tiles(std::span<const std::int16_t> query, std::int64_t first_tile, std::int64_t counted_tile, std::int64_t end_tile,
                    Workspace& workspace) const;
  const Reference* reference_;
  Method method_;
  ColumnTiles tiles_;
};

// One query that arrives in chunks. The last row is kept, 2 bytes a column, and the query, so that a stream whose score outgrows narrow cells can be
// computed again with wide ones, once, and path starts can be found. After every chunk the result is that of Search::find for all levels so far.
class Stream {
 public:
  // Forgets the query before; memory is kept.
  void restart();
  // Further levels, of which rows are computed when catch_up is called: somebody else computes them for now.
  void append(std::span<const std::int16_t> chunk) { query_.insert(query_.end(), chunk.begin(), chunk.end()); }
  // Computes the rows of all levels for which that has not been done.
  void catch_up(const Search& search, Workspace& workspace);
  void advance(const Search& search, std::span<const std::int16_t> chunk, Workspace& workspace) {
    append(chunk);
    catch_up(search, workspace);
  }
  // Of the levels up to the last catch_up.
  SearchResult result(const Search& search, Search::PathStart start, Workspace& workspace) const;
  bool is_up_to_date() const { return computed_ == query_.size(); }
  std::int64_t length() const { return static_cast<std::int64_t>(query_.size()); }
  std::span<const std::int16_t> query() const { return query_; }

  // What undo needs to go back to here.
  struct Mark {
    std::size_t length = 0;
    std::vector<std::int16_t> query;  // if it has been forgotten since
    bool forgotten = false;
  };
  Mark mark() const { return {query_.size(), {}, false}; }
  // As restart, but can be undone up to the mark.
  void restart(Mark& mark);
  // The query is again as it was at the mark; its rows are computed anew by the next catch_up.
  void undo(Mark&& mark);

 private:
  enum class Beginning : std::uint8_t { fresh, resumed };
  template <class Cell>
  Hit advance_cells(const Search& search, std::span<const std::int16_t> levels, AlignedArray<Cell>& cells, AlignedArray<Cell>& border,
                    Beginning beginning);
  std::vector<std::int16_t> query_;
  std::size_t computed_ = 0;  // levels whose rows have been computed
  CellWidth width_ = CellWidth::narrow;
  Hit hit_;
  AlignedArray<std::uint16_t> narrow_;
  AlignedArray<std::uint32_t> wide_;
  std::optional<ScalarRows> scalar_;
};

}  // namespace sluice::sdtw
