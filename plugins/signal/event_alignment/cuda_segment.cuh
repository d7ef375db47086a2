// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A warp finds the path of a segment (cuda_lane.hpp) and keeps its part. Only the choices of the steps with the kept rows are stored, in shared
// memory; behind them the lanes carry on through which cell of these steps a cell's best path goes.

#include <sluice/cuda/warp.cuh>

#include "event_alignment/cuda.hpp"
#include "event_alignment/cuda_lane.hpp"
#include "event_alignment/record_walk.hpp"

namespace sluice::event_alignment::cuda {

using sluice::cuda::whole_warp;

// Room for the choices of so many steps, one word a lane and step. In shared memory; in device memory for the long rests of stalled reads.
struct ChoiceRoom {
  std::uint32_t* words;
  std::int64_t steps;
};
// For the rows 0 .. 50 of all lanes.
inline constexpr std::int64_t kUsualSteps = kSegmentOutputs + kLanes;

// What becomes of a path's part: entries of the row's path, or nothing: only its end is wanted.
enum class Entries { written, dropped };

// One row of a batch, and the warp that aligns it.
template <int kColumns>
struct SegmentWarp {
  int lane;
  const char* contig;
  const float* event_mean;  // of the row
  std::int64_t events;
  bool reverse;
  Model model;
  event_hmm::ReadScaling scaling;
  event_hmm::Transitions transitions;
  bool has_transitions;
  ChoiceRoom room;
  Paths path;  // of the row

  __device__ void write(std::int64_t at, std::int64_t event, std::int64_t position, std::uint8_t state) const {
    if (at >= events) return;
    path.event[at] = static_cast<std::int32_t>(event);
    path.position[at] = static_cast<std::int32_t>(position);
    path.state[at] = state;
  }

  // As segment_ranks in event_alignment.cpp.
  __device__ std::uint32_t rank(const char* kmer) const {
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < model.k; ++i) {
      const char letter = kmer[i];
      const std::uint32_t code = letter == 'C' ? 1U : letter == 'G' ? 2U : letter == 'T' ? 3U : 0U;
      result = reverse ? result | (3U - code) << (2 * i) : result << 2U | code;
    }
    return result;
  }

  // Gives the lane its k-mers; whether quotients may come from reciprocals.
  __device__ bool load_levels(Lane<kColumns>& cells, const char* sequence, int columns) const {
    bool by_reciprocal = true;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int column = lane * kColumns + c;
      cells.level[c] = {};
      if (column < columns) {
        const float4 level = model.levels[rank(sequence + column)];
        cells.level[c] = lane_level(event_hmm::scale_level(level.x, level.y, level.z, scaling));
      }
      by_reciprocal = by_reciprocal && may_use_reciprocal(cells.level[c]);
    }
    return __all_sync(whole_warp, by_reciprocal) != 0;
  }

  // The events of a segment as its lanes come to them. Before its first row and behind its last one a lane looks at events that change nothing.
  struct EventStream {
    const char* first;
    int step_in_bytes;
    unsigned last_row;
    __device__ float operator()(int row) const {
      const auto at = static_cast<int>(min(static_cast<unsigned>(row), last_row));
      return *reinterpret_cast<const float*>(first + std::int64_t{at} * step_in_bytes);
    }
  };

  __device__ static Passing passing_from_left(const Lane<kColumns>& cells) {
    const Passing own = cells.passing();
    return {__shfl_up_sync(whole_warp, own.match, 1), __shfl_up_sync(whole_warp, own.bad_out, 1), __shfl_up_sync(whole_warp, own.skip, 1)};
  }

  __device__ static Origins origins_from_left(const Lane<kColumns>& cells) {
    const Origins& own = cells.passing_origins();
    return {__shfl_up_sync(whole_warp, own.match, 1), __shfl_up_sync(whole_warp, own.bad, 1), __shfl_up_sync(whole_warp, own.skip, 1)};
  }

  // Goes through `steps` steps and stores the choices of those from first_stored on for which there is room. With origins: then it carries on those
  // of the last stored one.
  template <bool kByReciprocal, bool kWithOrigins>
  __device__ void fill(Lane<kColumns>& cells, const EventStream& events_of, int steps, int first_stored) const {
    float event = events_of(-lane);
    std::uint32_t* word = room.words + lane;
    int step = 0;
    const int stored_end = kWithOrigins ? static_cast<int>(room.steps) : steps;
#pragma unroll 2
    for (; step < stored_end; ++step) {
      const float next_event = events_of(step + 1 - lane);
      const std::uint32_t choices = cells.template advance<kByReciprocal>(event, passing_from_left(cells), transitions);
      if (kWithOrigins || step >= first_stored) {
        *word = choices;
        word += kLanes;
      }
      event = next_event;
    }
    if constexpr (kWithOrigins) {
      cells.begin_origins(lane);
#pragma unroll 2
      for (; step < steps; ++step) {
        const float next_event = events_of(step + 1 - lane);
        const Passing left = passing_from_left(cells);
        cells.template advance_with_origins<kByReciprocal>(event, left, transitions, origins_from_left(cells));
        event = next_event;
      }
    }
    __syncwarp();
  }

  // What is known of a segment's last cell.
  struct LastCell {
    bool is_reachable;
    std::uint32_t origin;
  };

  template <bool kWithOrigins>
  __device__ LastCell fill(const SegmentPlace& segment, int columns, int last_row, int steps, int first_stored) const {
    Lane<kColumns> cells;
    const bool by_reciprocal = load_levels(cells, contig + segment.position, columns);
    cells.begin(lane, transitions);
    const EventStream events_of{reinterpret_cast<const char*>(event_mean + segment.first_event),
                                static_cast<int>(segment.step) * static_cast<int>(sizeof(float)), static_cast<unsigned>(last_row)};
    if (by_reciprocal) {
      fill<true, kWithOrigins>(cells, events_of, steps, first_stored);
    } else {
      fill<false, kWithOrigins>(cells, events_of, steps, first_stored);
    }
    float last = event_hmm::kMinusInfinity;
    std::uint32_t origin = 0;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      if (c != (columns - 1) % kColumns) continue;
      last = cells.best[c];
      origin = cells.origins[c].match;
    }
    const int last_lane = (columns - 1) / kColumns;
    return {__shfl_sync(whole_warp, last, last_lane) > event_hmm::kMinusInfinity, __shfl_sync(whole_warp, origin, last_lane)};
  }

  __device__ std::uint32_t& word(std::int64_t row, int of_lane, int first_stored) const {
    return room.words[(row + of_lane - first_stored) * kLanes + of_lane];
  }

  __device__ PathPoint back(const PathPoint& from, std::int64_t stop, int first_stored, std::int64_t last_kept) const {
    // The point of a row takes the place of choices that are not needed any more; those of lanes that read them later lie in different banks.
    return walk_back<kColumns>(
        from, stop,
        [&](std::int64_t row, int of_lane) {
          const std::uint32_t choices = word(row, of_lane, first_stored);
          __syncwarp();
          return choices;
        },
        [&](const PathPoint& point) {
          if (lane == 0 && point.row <= last_kept)
            word(point.row, static_cast<int>(point.row % kLanes), first_stored) =
                static_cast<std::uint32_t>(point.column) << 1U | static_cast<std::uint32_t>(point.kind);
        });
  }

  // Walks back to row `stop` and writes the events of the rows behind it, up to last_kept; the one of row 1 is entry `written` of the row's path.
  __device__ PathPoint keep(const SegmentPlace& segment, std::int64_t written, const PathPoint& from, std::int64_t stop, int first_stored,
                            std::int64_t last_kept) const {
    const PathPoint to = back(from, stop, first_stored, last_kept);
    __syncwarp();
    for (std::int64_t row = stop + 1 + lane; row <= last_kept; row += kLanes) {
      const std::uint32_t point = word(row, static_cast<int>(row % kLanes), first_stored);
      write(written + row - 1, segment.first_event + row * segment.step, segment.position + (point >> 1U), point & 1U);
    }
    __syncwarp();
    return to;
  }

  // Finds the path of a segment and keeps its part: rows 1 .. kept, as entries from `written` on.
  __device__ SegmentEnd align(const SegmentPlace& segment, std::int64_t written, Entries entries) const {
    const int columns = static_cast<int>(segment.length) - static_cast<int>(model.k) + 1, last_row = static_cast<int>(segment.rows) - 1;
    const std::int64_t last_position = segment.position + columns - 1, last_event = segment.first_event + last_row * segment.step;
    if (!has_transitions) return stay(segment, written, last_position, entries);
    const int last_lane = (columns - 1) / kColumns, steps = last_row + last_lane + 1;
    const PathPoint last_point{last_row, columns - 1, CellKind::match};
    if (!segment.is_last && last_row > kSegmentOutputs) {
      const bool has_origins = steps > room.steps;
      const LastCell last = has_origins ? fill<true>(segment, columns, last_row, steps, 0) : fill<false>(segment, columns, last_row, steps, 0);
      if (!last.is_reachable) return unreachable(written, last_event, last_position, entries);
      // To the last kept row, whose column is wanted; from there on to the others.
      const PathPoint from = has_origins ? point_of<kColumns>(last.origin, static_cast<int>(room.steps) - 1) : last_point;
      const PathPoint end = back(from, kSegmentOutputs, 0, 0);
      if (entries == Entries::written) keep(segment, written, end, 0, 0, kSegmentOutputs);
      return {kSegmentOutputs, segment.first_event + kSegmentOutputs * segment.step, segment.position + end.column};
    }
    // Kept whole: as many rows from behind at a time as there is room for.
    PathPoint from = last_point;
    while (from.row > 0) {
      const auto row = static_cast<int>(from.row);
      const int stop = max(0, row + kLanes - static_cast<int>(room.steps));
      const LastCell last = fill<false>(segment, columns, row, row + last_lane + 1, stop);
      if (row == last_row && !last.is_reachable) return unreachable(written, last_event, last_position, entries);
      if (entries == Entries::dropped) break;
      from = keep(segment, written, from, stop, stop, row);
    }
    return {last_row, last_event, last_position};
  }

 private:
  // Without transitions every path stays in the last k-mer.
  __device__ SegmentEnd stay(const SegmentPlace& segment, std::int64_t written, std::int64_t last_position, Entries entries) const {
    const std::int64_t kept = segment.is_last || segment.rows - 1 < kSegmentOutputs ? segment.rows - 1 : kSegmentOutputs;
    for (std::int64_t row = 1 + lane; row <= kept && entries == Entries::written; row += kLanes)
      write(written + row - 1, segment.first_event + row * segment.step, last_position, static_cast<std::uint8_t>(State::match));
    return {kept, segment.first_event + kept * segment.step, last_position};
  }

  __device__ SegmentEnd unreachable(std::int64_t written, std::int64_t last_event, std::int64_t last_position, Entries entries) const {
    if (lane == 0 && entries == Entries::written) write(written, last_event, last_position, static_cast<std::uint8_t>(State::match));
    return {1, last_event, last_position};
  }
};

}  // namespace sluice::event_alignment::cuda
