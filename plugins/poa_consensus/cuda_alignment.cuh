// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Global alignment of a sequence to the rows of a graph with linear gaps by one warp: alignment.hpp's scores and path.
//
// A lane has 2 * halves columns of a row, column 0 included, in `halves` words of two 16-bit scores: the lower halves are the first columns, the upper
// halves the others. So the diagonal is the word before, and a scan over a lane's columns is two scans of half the length side by side. Between lanes the
// best horizontal gap is a running maximum in five steps. The row before stays in registers; rows that are wanted by a later one come from a ring of the
// last rows in shared memory, those that are wanted even later from the warp's memory.
//
// A cell's direction takes four bits: 0 to 6 diagonal from that predecessor, 8 to 14 vertical, 15 horizontal. The path back reads them by tiles.

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
  std::uint16_t path[Columns<halves>::count];
  std::uint16_t behind[Columns<halves>::count];
};

// A row between registers and memory, a lane's words side by side as far as a 16-byte access reaches.
template <int halves>
__device__ __forceinline__ void store_row(std::uint32_t* to, int lane, const std::uint32_t (&row)[halves]) {
  if constexpr (halves % 4 == 0) {
#pragma unroll
    for (int q = 0; q < halves / 4; ++q) reinterpret_cast<uint4*>(to)[q * warp_lanes + lane] = {row[4 * q], row[4 * q + 1], row[4 * q + 2], row[4 * q + 3]};
  } else if constexpr (halves % 2 == 0) {
#pragma unroll
    for (int q = 0; q < halves / 2; ++q) reinterpret_cast<uint2*>(to)[q * warp_lanes + lane] = {row[2 * q], row[2 * q + 1]};
  } else {
#pragma unroll
    for (int q = 0; q < halves; ++q) to[q * warp_lanes + lane] = row[q];
  }
}
template <int halves>
__device__ __forceinline__ void load_row(const std::uint32_t* from, int lane, std::uint32_t (&row)[halves]) {
  if constexpr (halves % 4 == 0) {
#pragma unroll
    for (int q = 0; q < halves / 4; ++q) {
      const uint4 words = reinterpret_cast<const uint4*>(from)[q * warp_lanes + lane];
      row[4 * q] = words.x;
      row[4 * q + 1] = words.y;
      row[4 * q + 2] = words.z;
      row[4 * q + 3] = words.w;
    }
  } else if constexpr (halves % 2 == 0) {
#pragma unroll
    for (int q = 0; q < halves / 2; ++q) {
      const uint2 words = reinterpret_cast<const uint2*>(from)[q * warp_lanes + lane];
      row[2 * q] = words.x;
      row[2 * q + 1] = words.y;
    }
  } else {
#pragma unroll
    for (int q = 0; q < halves; ++q) row[q] = from[q * warp_lanes + lane];
  }
}

// The word of the column before each lane's first, whose upper half counts: the lane before's last word; lane 0 has none.
template <int halves>
__device__ __forceinline__ std::uint32_t diagonal_of_first(const std::uint32_t (&row)[halves], int lane) {
  const std::uint32_t before = from_lane_before(row[halves - 1], 1);
  return select_bytes(lane == 0 ? pack(lowest_score, lowest_score) : before, row[halves - 1], 0x5432);
}

// The sink at which the alignment ends: the best, of equal ones the first in graph.hpp's order.
struct BestSink {
  std::int32_t score = lowest_score;
  std::uint32_t row = 0;
  bool is_order_known = false;

  __device__ void offer(Graph& g, std::int32_t candidate_score, std::uint32_t candidate) {
    if (candidate_score < score) return;
    if (candidate_score == score && row != 0) {
      const std::uint32_t node = g.row_node[row], other = g.row_node[candidate];
      OrderOfSinks order = order_of_sinks(g, node, other);
      if (order == OrderOfSinks::unknown) {
        if (!is_order_known) find_order(g);
        is_order_known = true;
        order = g.ordered_rank[node] < g.ordered_rank[other] ? OrderOfSinks::first_before : OrderOfSinks::second_before;
      }
      if (order == OrderOfSinks::first_before) return;
    }
    score = candidate_score;
    row = candidate;
  }
};

// Fills the directions of all rows. Returns the row at whose last column the path ends.
template <int halves>
__device__ inline std::uint32_t fill_directions(Graph& g, const Sequence& sequence, const LinearScoring& scoring, std::uint32_t* ring) {
  using Layout = Columns<halves>;
  const int lane = lane_id();
  const std::uint32_t gap = pack(scoring.gap, scoring.gap);
  const int first_column = lane * Layout::of_lane;

  // What selects the score of a row's letter against this lane's letters: the byte of the letter, and its sign.
  std::uint32_t letters[halves];
#pragma unroll
  for (int r = 0; r < halves; ++r) {
    letters[r] = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = first_column + half * halves + r;
      const std::uint32_t code = column > 0 && column <= static_cast<int>(sequence.length) ? letter_code(sequence.bases[column - 1]) & letter_mask : 0;
      letters[r] |= (code | (code | 8) << 4) << 8 * half;
    }
  }
  const std::uint32_t mismatch = (static_cast<std::uint32_t>(scoring.mismatch) & 0xFF) * 0x01010101U;
  const std::uint64_t match_bits = static_cast<std::uint64_t>((scoring.match ^ scoring.mismatch) & 0xFF);

  // Where the last column is.
  const int last = static_cast<int>(sequence.length);
  const int last_lane = last / Layout::of_lane;
  const int last_in_lane = last % Layout::of_lane;
  BestSink best;

  std::uint32_t h[halves];
#pragma unroll
  for (int r = 0; r < halves; ++r) h[r] = pack((first_column + r) * scoring.gap, (first_column + halves + r) * scoring.gap);

  uint4 own_row{}, next_row = g.row[1 + lane];
  for (std::uint32_t row = 1; row <= g.rows; ++row) {
    const int turn = static_cast<int>((row - 1) % warp_lanes);
    if (turn == 0) {
      own_row = next_row;
      if (row + warp_lanes <= g.rows) next_row = g.row[min(row + warp_lanes + static_cast<std::uint32_t>(lane), g.rows)];
    }
    const std::uint32_t head = broadcast(own_row.x, turn);
    const std::uint64_t match_of_letter = match_bits << 8 * (head & letter_mask);
    const std::uint32_t scores_low = mismatch ^ static_cast<std::uint32_t>(match_of_letter);
    const std::uint32_t scores_high = mismatch ^ static_cast<std::uint32_t>(match_of_letter >> 32);

    std::uint32_t diagonal[halves], best_before[halves];  // best_before: of diagonal and vertical
    std::uint32_t from_diagonal[halves], from_vertical[halves];
    const bool follows = (head & row_follows) != 0;
    if (follows) {
#pragma unroll
      for (int r = 0; r < halves; ++r) {
        const std::uint32_t before = r == 0 ? diagonal_of_first(h, lane) : h[r - 1];
        diagonal[r] = add_16x2(before, select_bytes(scores_low, scores_high, letters[r]));
        best_before[r] = add_max_16x2(h[r], gap, diagonal[r]);
      }
    } else {
      const int predecessors = static_cast<int>(head >> row_predecessors_shift & row_count_mask);
      for (int k = 0; k < predecessors; ++k) {
        std::uint32_t from = head;
        if (k > 0) from = broadcast(k <= 2 ? own_row.y : k <= 4 ? own_row.z : own_row.w, turn);
        from = k % 2 == 0 ? from >> 16 : from & 0xFFFF;
        std::uint32_t p[halves];
        if (from == 0) {
#pragma unroll
          for (int r = 0; r < halves; ++r) p[r] = pack((first_column + r) * scoring.gap, (first_column + halves + r) * scoring.gap);
        } else if (row - from <= Layout::ring) {
          load_row(ring + from % Layout::ring * (halves * warp_lanes), lane, p);
        } else {
          load_row(g.kept + static_cast<std::size_t>(g.kept_place[from]) * (halves * warp_lanes), lane, p);
        }
        const std::uint32_t which = static_cast<std::uint32_t>(k);
#pragma unroll
        for (int r = 0; r < halves; ++r) {
          const std::uint32_t before = r == 0 ? diagonal_of_first(p, lane) : p[r - 1];
          const std::uint32_t d = add_16x2(before, select_bytes(scores_low, scores_high, letters[r]));
          if (k == 0) {
            diagonal[r] = d;
            best_before[r] = p[r];
            from_diagonal[r] = 0;
            from_vertical[r] = 0;
          } else {
            bool keeps_high, keeps_low;
            diagonal[r] = max_16x2(diagonal[r], d, keeps_high, keeps_low);
            if (!keeps_low) from_diagonal[r] = (from_diagonal[r] & 0xFFFF0000U) | which;
            if (!keeps_high) from_diagonal[r] = (from_diagonal[r] & 0xFFFFU) | which << 16;
            best_before[r] = max_16x2(best_before[r], p[r], keeps_high, keeps_low);
            if (!keeps_low) from_vertical[r] = (from_vertical[r] & 0xFFFF0000U) | which;
            if (!keeps_high) from_vertical[r] = (from_vertical[r] & 0xFFFFU) | which << 16;
          }
        }
      }
#pragma unroll
      for (int r = 0; r < halves; ++r) best_before[r] = add_max_16x2(best_before[r], gap, diagonal[r]);
    }

    // Horizontal gaps: within the halves of a lane, then over lanes, then from there into each column.
    h[0] = best_before[0];
#pragma unroll
    for (int r = 1; r < halves; ++r) h[r] = add_max_16x2(h[r - 1], gap, best_before[r]);
    const std::int32_t last_of_low = low_half(h[halves - 1]);
    std::int32_t running = max(high_half(h[halves - 1]), last_of_low + halves * scoring.gap);
#pragma unroll
    for (int distance = 1; distance < warp_lanes; distance *= 2)
      running = max(running, from_lane_before(running, distance) + distance * Layout::of_lane * scoring.gap);
    std::int32_t carry = from_lane_before(running, 1);
    if (lane == 0) carry = lowest_score;
    std::uint32_t gap_from_carry = pack(carry, max(last_of_low, carry + halves * scoring.gap));
#pragma unroll
    for (int r = 0; r < halves; ++r) {
      h[r] = add_max_16x2(gap_from_carry, gap, h[r]);
      if (r + 1 < halves) gap_from_carry = add_16x2(gap_from_carry, gap);
    }

    // Differences are not negative, so the smaller of one and 1 says whether there is one.
    std::uint32_t words[Layout::direction_words] = {};
    if (follows) {
#pragma unroll
      for (int word = 0; word * 4 < halves; ++word) {
        std::uint32_t not_diagonal = 0, is_horizontal = 0;
#pragma unroll
        for (int r = word * 4; r < word * 4 + Layout::cells_of_word(word); ++r) {
          not_diagonal = not_diagonal * 16 + min_unsigned_16x2(subtract_16x2(h[r], diagonal[r]), 0x00010001);
          is_horizontal = is_horizontal * 16 + min_unsigned_16x2(subtract_16x2(h[r], best_before[r]), 0x00010001);
        }
        words[word] = not_diagonal * vertical_direction + is_horizontal * (horizontal_direction - vertical_direction);
      }
    } else {
#pragma unroll
      for (int r = 0; r < halves; ++r) {
        const std::uint32_t not_diagonal = min_unsigned_16x2(subtract_16x2(h[r], diagonal[r]), 0x00010001) * 15;
        const std::uint32_t is_horizontal = min_unsigned_16x2(subtract_16x2(h[r], best_before[r]), 0x00010001) * 15;
        const std::uint32_t vertical = from_vertical[r] + vertical_direction * 0x00010001;
        words[r / 4] = words[r / 4] * 16 + (((from_diagonal[r] & ~not_diagonal) | (vertical & not_diagonal)) | is_horizontal);
      }
    }
    std::uint32_t* const to = g.directions + static_cast<std::size_t>(row - 1) * Layout::row_words + lane * Layout::direction_words;
    if constexpr (Layout::direction_words == 1) {
      *to = words[0];
    } else if constexpr (Layout::direction_words == 2) {
      *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
    } else {
      *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
    }
    store_row(ring + row % Layout::ring * (halves * warp_lanes), lane, h);
    if ((head & (row_is_wanted_later | row_is_sink)) != 0) {
      if ((head & row_is_wanted_later) != 0) store_row(g.kept + static_cast<std::size_t>(g.kept_place[row]) * (halves * warp_lanes), lane, h);
      if ((head & row_is_sink) != 0) {
        std::uint32_t word = h[0];
#pragma unroll
        for (int r = 1; r < halves; ++r)
          if (last_in_lane % halves == r) word = h[r];
        word = broadcast(word, last_lane);
        best.offer(g, last_in_lane < halves ? low_half(word) : high_half(word), row);
      }
    }
  }
  synchronize_warp();
  return best.row;
}

// Walks back from the last column of `end`. path[i] becomes the row of letter i, or 0. Returns the row of the first letter that has one, or 0.
// `tile`: shared memory of 256 words.
template <int halves>
__device__ inline std::uint32_t walk_back(const Graph& g, std::uint32_t length, std::uint32_t end, std::uint32_t* tile, std::uint16_t* path) {
  using Layout = Columns<halves>;
  const int lane = lane_id();
  constexpr int tile_words = 4;  // of a row
  std::uint32_t* const tile_rows = tile + warp_lanes * tile_words;
  std::uint32_t row = end, first_row = 0;
  int column = static_cast<int>(length);
  std::uint32_t tile_row = 0;  // the last row of the tile; 0: there is none
  int tile_group = 0;
  while (row > 0 && column > 0) {
    const int in_lane = column % Layout::of_lane;
    const int half_column = in_lane % halves;
    const int word = column / Layout::of_lane * Layout::direction_words + half_column / 4;
    if (row + warp_lanes <= tile_row || word / tile_words != tile_group || tile_row == 0) {
      tile_row = row;
      tile_group = word / tile_words;
      synchronize_warp();
      if (tile_row > static_cast<std::uint32_t>(lane)) {
        const std::uint32_t own = tile_row - static_cast<std::uint32_t>(lane);
        reinterpret_cast<uint4*>(tile)[lane] =
            reinterpret_cast<const uint4*>(g.directions + static_cast<std::size_t>(own - 1) * Layout::row_words)[tile_group];
        reinterpret_cast<uint4*>(tile_rows)[lane] = g.row[own];
      }
      synchronize_warp();
    }
    const std::uint32_t place = tile_row - row;
    const int shift = Layout::shift_of(half_column) + (in_lane < halves ? 0 : 16);
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
    row = reinterpret_cast<const std::uint16_t*>(tile_rows)[place * 8 + 1 + which];
  }
  for (int i = lane; i < column; i += warp_lanes) path[i] = 0;
  synchronize_warp();
  return first_row;
}

}  // namespace sluice::poa_consensus::cuda
