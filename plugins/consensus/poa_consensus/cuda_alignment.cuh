// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Global alignment of a sequence to the rows of a graph with linear gaps by one warp: alignment.hpp's scores and path.
//
// A lane has 2 * halves columns of a row, column 0 included, in `halves` words of two 16-bit scores: the lower halves are the first columns, the
// upper halves the others. So the diagonal is the word before, and a scan over a lane's columns is two scans of half the length side by side. Between
// lanes the best horizontal gap is a running maximum in five steps. The row before stays in registers; rows that are wanted by a later one come from
// a ring of the last rows in shared memory, those that are wanted even later from the warp's memory.
//
// A cell's direction takes four bits: 0 to 6 diagonal from that predecessor, 8 to 14 vertical, 15 horizontal. The path back reads them by tiles.

#include <type_traits>

#include "poa_consensus/cuda_order.cuh"

namespace sluice::poa_consensus::cuda {

constexpr std::uint32_t vertical_direction = 8;
constexpr std::uint32_t horizontal_direction = 15;
constexpr std::int32_t lowest_score = -30000;
constexpr std::int32_t most_score = 28000;  // in either direction; beyond it 16 bits do not hold what can occur

__device__ __forceinline__ std::uint32_t pack(std::int32_t low, std::int32_t high) {
  return (static_cast<std::uint32_t>(low) & 0xFFFF) | static_cast<std::uint32_t>(high) << 16;
}
__device__ __forceinline__ std::int32_t low_half(std::uint32_t word) { return static_cast<std::int16_t>(word); }
__device__ __forceinline__ std::int32_t high_half(std::uint32_t word) { return static_cast<std::int32_t>(word) >> 16; }

// How the columns of `halves` words a lane lie.
template <int halves>
struct Columns {
  static constexpr int of_lane = 2 * halves;
  static constexpr int count = of_lane * warp_lanes;
  // Words of directions of a lane, of eight cells each; a power of two.
  static constexpr int direction_words = halves <= 4 ? 1 : halves <= 8 ? 2 : 4;
  static constexpr int row_words = direction_words * warp_lanes;
  static constexpr int ring = 8;  // of the predecessors in windows of 200 letters and 24 sequences 99.8 % are within
  static constexpr std::uint32_t ring_bytes = ring * halves * warp_lanes * sizeof(std::uint32_t);

  // Cells of a half in a word of directions, and where a cell's direction begins.
  __device__ static constexpr int cells_of_word(int word) { return halves - 4 * word < 4 ? halves - 4 * word : 4; }
  __device__ static constexpr int shift_of(int half_column) { return 4 * (cells_of_word(half_column / 4) - 1 - half_column % 4); }
};

// Memory of a warp in the block's shared memory. The ring comes first.
template <int halves>
struct SharedMemory {
  std::uint32_t ring[Columns<halves>::ring * halves * warp_lanes];
  uint4 heads[2 * warp_lanes];  // of rows
  std::uint16_t path[Columns<halves>::count];
  std::uint16_t behind[Columns<halves>::count];
};

// A row between registers and memory, a lane's words side by side as far as a 16-byte access reaches. In shared memory `at` is the lane's place.
template <int halves>
struct RowMemory {
  static constexpr int words = halves % 4 == 0 ? 4 : halves % 2 == 0 ? 2 : 1;  // side by side
  static constexpr int bytes = halves * warp_lanes * static_cast<int>(sizeof(std::uint32_t));
  static constexpr int step = words * warp_lanes * static_cast<int>(sizeof(std::uint32_t));
  using Words = std::conditional_t<words == 4, uint4, std::conditional_t<words == 2, uint2, std::uint32_t>>;

  __device__ static __forceinline__ Words gather(const std::uint32_t (&row)[halves], int q) {
    if constexpr (words == 4) {
      return {row[4 * q], row[4 * q + 1], row[4 * q + 2], row[4 * q + 3]};
    } else if constexpr (words == 2) {
      return {row[2 * q], row[2 * q + 1]};
    } else {
      return row[q];
    }
  }
  __device__ static __forceinline__ void scatter(const Words& from, std::uint32_t (&row)[halves], int q) {
    if constexpr (words == 4) {
      row[4 * q] = from.x;
      row[4 * q + 1] = from.y;
      row[4 * q + 2] = from.z;
      row[4 * q + 3] = from.w;
    } else if constexpr (words == 2) {
      row[2 * q] = from.x;
      row[2 * q + 1] = from.y;
    } else {
      row[q] = from;
    }
  }
  __device__ static __forceinline__ void store(SharedPlace at, const std::uint32_t (&row)[halves]) {
#pragma unroll
    for (int q = 0; q < halves / words; ++q) store_shared(at + q * step, gather(row, q));
  }
  __device__ static __forceinline__ void load(SharedPlace at, std::uint32_t (&row)[halves]) {
#pragma unroll
    for (int q = 0; q < halves / words; ++q) {
      Words from;
      load_shared(at + q * step, from);
      scatter(from, row, q);
    }
  }
  __device__ static __forceinline__ void store(std::uint32_t* to, int lane, const std::uint32_t (&row)[halves]) {
#pragma unroll
    for (int q = 0; q < halves / words; ++q) reinterpret_cast<Words*>(to)[q * warp_lanes + lane] = gather(row, q);
  }
  __device__ static __forceinline__ void load(const std::uint32_t* from, int lane, std::uint32_t (&row)[halves]) {
#pragma unroll
    for (int q = 0; q < halves / words; ++q) scatter(reinterpret_cast<const Words*>(from)[q * warp_lanes + lane], row, q);
  }
};

// The word of the column before each lane's first, whose upper half counts: the lane before's last word; lane 0 has none.
template <int halves>
__device__ __forceinline__ std::uint32_t diagonal_of_first(const std::uint32_t (&row)[halves], int lane) {
  const std::uint32_t before = from_lane_before(row[halves - 1], 1);
  return select_bytes(lane == 0 ? pack(lowest_score, lowest_score) : before, row[halves - 1], 0x5432);
}

// The k-th predecessor of a row, from its head.
__device__ __forceinline__ std::uint32_t predecessor_of(const uint4& head, std::uint32_t k) {
  if (k == 0) return head.x >> 16;
  const std::uint32_t two = k <= 2 ? head.y : k <= 4 ? head.z : head.w;
  return k % 2 == 0 ? two >> 16 : two & 0xFFFF;
}

// Fills the directions of all rows. Returns the row at whose last column the path ends.
template <int halves>
__device__ inline std::uint32_t fill_directions(const Graph& graph, const Sequence& sequence, const LinearScoring& scoring,
                                                SharedMemory<halves>& shared) {
  using Layout = Columns<halves>;
  using Memory = RowMemory<halves>;
  const Graph g = with_new_addresses(graph);
  const int lane = lane_id();
  const std::uint32_t gap = pack(scoring.gap, scoring.gap);
  const int first_column = lane * Layout::of_lane;
  const SharedPlace ring = shared_place(shared.ring) + static_cast<SharedPlace>(lane) * (Memory::step / warp_lanes);
  const SharedPlace heads = shared_place(shared.heads);

  // What selects the score of a row's letter against this lane's letters: the byte of the letter, and its sign.
  std::uint32_t letters[halves];
#pragma unroll
  for (int r = 0; r < halves; ++r) {
    letters[r] = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = first_column + half * halves + r;
      const std::uint32_t code =
          column > 0 && column <= static_cast<int>(sequence.length) ? letter_code(sequence.bases[column - 1]) & letter_mask : 0;
      letters[r] |= (code | (code | 8) << 4) << 8 * half;
    }
  }
  const std::uint32_t mismatch = (static_cast<std::uint32_t>(scoring.mismatch) & 0xFF) * 0x01010101U;
  const std::uint64_t match_bits = static_cast<std::uint64_t>((scoring.match ^ scoring.mismatch) & 0xFF);

  // Sinks: the best, and the later ones that are as good.
  std::int32_t best = lowest_score;
  std::uint32_t best_row = 0, equal_sinks = 0;

  std::uint32_t h[halves];
#pragma unroll
  for (int r = 0; r < halves; ++r) h[r] = pack((first_column + r) * scoring.gap, (first_column + halves + r) * scoring.gap);
  Memory::store(ring, h);
  Memory::store(g.kept(), lane, h);

  // Heads of the rows come in tiles of 32, one ahead.
  const auto copy_heads = [&](std::uint32_t first) {
    const std::uint32_t own = first + static_cast<std::uint32_t>(lane);
    if (own <= g.rows) copy_to_shared(heads + (own - 1) % (2 * warp_lanes) * sizeof(uint4), g.row() + own);
  };
  copy_heads(1);
  wait_for_copies();
  synchronize_warp();
  copy_heads(1 + warp_lanes);
  uint4 next;
  load_shared(heads, next);
  std::uint32_t* directions = g.directions() + lane * Layout::direction_words;

  for (std::uint32_t row = 1; row <= g.rows; ++row) {
    const uint4 head = next;
    const auto load_predecessor = [&](std::uint32_t from, std::uint32_t(&to)[halves]) {
      if (row - from <= Layout::ring) {
        Memory::load(ring + from % Layout::ring * Memory::bytes, to);
      } else {
        Memory::load(g.kept() + static_cast<std::size_t>(g.kept_place()[from]) * (halves * warp_lanes), lane, to);
      }
    };
    // The row before is in the registers.
    if ((head.x & row_follows) == 0) load_predecessor(head.x >> 16, h);
    // A join gives its letter the lowest score there is. It then never is the best: a predecessor's next column is at most a gap away.
    const bool joins = (head.x & row_joins) != 0;
    const std::uint32_t vertical_gap = joins ? 0 : gap, other_letter = joins ? 0x80808080U : mismatch;
    const std::uint64_t match_of_letter = match_bits << 8 * (head.x & letter_mask);
    const std::uint32_t scores_low = other_letter ^ static_cast<std::uint32_t>(match_of_letter);
    const std::uint32_t scores_high = other_letter ^ static_cast<std::uint32_t>(match_of_letter >> 32);

    std::uint32_t diagonal[halves], best_before[halves];  // best_before: of diagonal and vertical
    diagonal[0] = add_16x2(diagonal_of_first(h, lane), select_bytes(scores_low, scores_high, letters[0]));
#pragma unroll
    for (int r = 1; r < halves; ++r) diagonal[r] = add_16x2(h[r - 1], select_bytes(scores_low, scores_high, letters[r]));

    // Which predecessor a cell comes from, in the places of the directions.
    std::uint32_t from_diagonal[Layout::direction_words] = {}, from_vertical[Layout::direction_words] = {};
    const std::uint32_t predecessors = head.x >> row_predecessors_shift & row_count_mask;
    for (std::uint32_t k = 1; k < predecessors; ++k) {
      std::uint32_t other[halves];
      load_predecessor(predecessor_of(head, k), other);
      const std::uint32_t before_first = diagonal_of_first(other, lane);
#pragma unroll
      for (int word = 0; word * 4 < halves; ++word) {
        std::uint32_t by_diagonal = 0, by_vertical = 0;
#pragma unroll
        for (int r = word * 4; r < word * 4 + Layout::cells_of_word(word); ++r) {
          const std::uint32_t before = r == 0 ? before_first : other[r == 0 ? 0 : r - 1];
          const std::uint32_t higher = max_16x2(diagonal[r], add_16x2(before, select_bytes(scores_low, scores_high, letters[r])));
          by_diagonal = by_diagonal * 16 + exceeds_16x2(higher, diagonal[r]);
          diagonal[r] = higher;
          const std::uint32_t higher_vertical = max_16x2(h[r], other[r]);
          by_vertical = by_vertical * 16 + exceeds_16x2(higher_vertical, h[r]);
          h[r] = higher_vertical;
        }
        from_diagonal[word] = (from_diagonal[word] & ~(by_diagonal * 15)) | (k * 0x11111111U & by_diagonal * 15);
        from_vertical[word] = (from_vertical[word] & ~(by_vertical * 15)) | (k * 0x11111111U & by_vertical * 15);
      }
    }
#pragma unroll
    for (int r = 0; r < halves; ++r) best_before[r] = add_max_16x2(h[r], vertical_gap, diagonal[r]);

    if (row % warp_lanes == 0) {
      wait_for_copies();
      synchronize_warp();
      copy_heads(row + 1 + warp_lanes);
    }
    load_shared(heads + row % (2 * warp_lanes) * sizeof(uint4), next);

    // Horizontal gaps: within the halves of a lane, then over lanes, then from there into each column.
    h[0] = best_before[0];
#pragma unroll
    for (int r = 1; r < halves; ++r) h[r] = add_max_16x2(h[r - 1], gap, best_before[r]);
    const std::int32_t last_of_low = low_half(h[halves - 1]);
    std::int32_t running = add_max(last_of_low, halves * scoring.gap, high_half(h[halves - 1]));
#pragma unroll
    for (int distance = 1; distance < warp_lanes; distance *= 2)
      running = add_max(from_lane_before(running, distance), distance * Layout::of_lane * scoring.gap, running);
    std::int32_t carry = from_lane_before(running, 1);
    if (lane == 0) carry = lowest_score;
    std::uint32_t gap_from_carry = pack(carry, add_max(carry, halves * scoring.gap, last_of_low));
#pragma unroll
    for (int r = 0; r < halves; ++r) {
      h[r] = add_max_16x2(gap_from_carry, gap, h[r]);
      if (r + 1 < halves) gap_from_carry = add_16x2(gap_from_carry, gap);
    }
    Memory::store(ring + row % Layout::ring * Memory::bytes, h);

    std::uint32_t words[Layout::direction_words] = {};
#pragma unroll
    for (int word = 0; word * 4 < halves; ++word) {
      std::uint32_t not_diagonal = 0, is_horizontal = 0;
#pragma unroll
      for (int r = word * 4; r < word * 4 + Layout::cells_of_word(word); ++r) {
        not_diagonal = not_diagonal * 16 + exceeds_16x2(h[r], diagonal[r]);
        is_horizontal = is_horizontal * 16 + exceeds_16x2(h[r], best_before[r]);
      }
      not_diagonal *= 15;
      words[word] =
          (from_diagonal[word] & ~not_diagonal) | ((from_vertical[word] | vertical_direction * 0x11111111U) & not_diagonal) | is_horizontal * 15;
    }
    if constexpr (Layout::direction_words == 1) {
      *directions = words[0];
    } else if constexpr (Layout::direction_words == 2) {
      *reinterpret_cast<uint2*>(directions) = {words[0], words[1]};
    } else {
      *reinterpret_cast<uint4*>(directions) = {words[0], words[1], words[2], words[3]};
    }
    directions += Layout::row_words;
    if ((head.x & (row_is_wanted_later | row_is_sink)) != 0) {
      if ((head.x & row_is_wanted_later) != 0)
        Memory::store(g.kept() + static_cast<std::size_t>(g.kept_place()[row]) * (halves * warp_lanes), lane, h);
      if ((head.x & row_is_sink) != 0) {
        synchronize_warp();
        const int last = static_cast<int>(sequence.length), last_lane = last / Layout::of_lane, last_in_lane = last % Layout::of_lane;
        const int word = last_in_lane % halves;
        const SharedPlace place =
            ring + static_cast<SharedPlace>(last_lane - lane) * (Memory::step / warp_lanes) + row % Layout::ring * Memory::bytes +
            static_cast<SharedPlace>(word / Memory::words * Memory::step + word % Memory::words * 4 + (last_in_lane < halves ? 0 : 2));
        const std::int32_t score = load_shared_16(place);
        synchronize_warp();  // the ring comes round to this row
        if (score > best) {
          best = score;
          best_row = row;
          equal_sinks = 0;
        } else if (score == best) {
          if (lane == 0) g.heaviest_tail()[equal_sinks] = static_cast<std::uint16_t>(row);
          ++equal_sinks;
        }
      }
    }
  }
  synchronize_warp();
  return equal_sinks == 0 ? best_row : first_of_sinks(g, best_row, equal_sinks);
}

// Walks back from the last column of `end`. path[i] becomes the row of letter i, or 0. Returns the row of the first letter that has one, or 0.
template <int halves>
__device__ inline std::uint32_t walk_back(const Graph& graph, std::uint32_t length, std::uint32_t end, SharedMemory<halves>& shared) {
  using Layout = Columns<halves>;
  const Graph g = with_new_addresses(graph);
  const int lane = lane_id();
  // A path leaves a tile at its upper or its left end: narrow columns want a wide tile.
  constexpr int tile_words = halves <= 2 ? 8 : 4;  // of a row
  constexpr int tile_rows = 256 / tile_words;
  std::uint32_t* const tile = shared.ring;
  std::uint16_t* const path = shared.path;
  std::uint32_t row = end, first_row = 0;
  int column = static_cast<int>(length);
  std::uint32_t tile_row = 0;  // the last row of the tile; 0: there is none
  int tile_group = 0;
  while (row > 0 && column > 0) {
    const int in_lane = column % Layout::of_lane;
    const int half_column = in_lane % halves;
    const int word = column / Layout::of_lane * Layout::direction_words + half_column / 4;
    if (row + tile_rows <= tile_row || word / tile_words != tile_group || tile_row == 0) {
      tile_row = row;
      tile_group = word / tile_words;
      synchronize_warp();
#pragma unroll
      for (int i = lane; i < tile_rows; i += warp_lanes) {
        if (tile_row <= static_cast<std::uint32_t>(i)) continue;
        const std::uint32_t own = tile_row - static_cast<std::uint32_t>(i);
        const uint4* const from =
            reinterpret_cast<const uint4*>(g.directions() + static_cast<std::size_t>(own - 1) * Layout::row_words + tile_group * tile_words);
#pragma unroll
        for (int q = 0; q < tile_words / 4; ++q) reinterpret_cast<uint4*>(tile)[i * (tile_words / 4) + q] = from[q];
        shared.heads[i] = g.row()[own];
      }
      synchronize_warp();
    }
    const std::uint32_t place = tile_row - row;
    const int shift = Layout::shift_of(half_column) + (in_lane < halves ? 0 : 16);
    const uint4 head = shared.heads[place];
    const std::uint32_t direction = tile[place * tile_words + static_cast<std::uint32_t>(word % tile_words)] >> shift & 15;
    if (direction == horizontal_direction) {
      --column;
      if (lane == 0) path[column] = 0;
      continue;
    }
    const std::uint32_t which = direction & 7;
    if (direction < vertical_direction) {
      --column;
      if (lane == 0) path[column] = static_cast<std::uint16_t>(row);
      first_row = row;
    }
    row = predecessor_of(head, which);
  }
  for (int i = lane; i < column; i += warp_lanes) path[i] = 0;
  synchronize_warp();
  return first_row;
}

}  // namespace sluice::poa_consensus::cuda
