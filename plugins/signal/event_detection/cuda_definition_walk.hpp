// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The walk over a chunk of an irregular read: statistics from the prefix sums of the definition, additions in its order. Everything also compiles for
// the host.

#include "event_detection/cuda_fast_walk.hpp"

namespace sluice::event_detection::cuda {

// The chunks of one read, by number.
struct ReadChunks {
  std::int64_t row;
  Read read;
  std::int64_t first_slot;
  std::int32_t count;

  __host__ __device__ ReadChunks(const Frame& frame, std::int64_t row_index) : row(row_index), read(frame.records[row_index]) {
    const int chunk_samples = frame.division.chunk_samples;
    first_slot = read.begin / chunk_samples + row;
    count = static_cast<std::int32_t>((read.begin + read.length - 1) / chunk_samples - read.begin / chunk_samples + 1);
  }
  __host__ __device__ Chunk at(const Frame& frame, std::int32_t index) const {
    const std::int64_t stretch = (first_slot - row + index) * frame.division.chunk_samples;
    return {row, read, max(stretch, read.begin), min(stretch + frame.division.chunk_samples, read.begin + read.length)};
  }
};

// Adds a chunk's samples one after the other; true when an addition rounded.
__host__ __device__ inline bool add_in_order(const Frame& frame, const Chunk& chunk, Sums& sums) {
  double error = 0.0;
  const auto add = [&](double& sum, double x) {
    const double next = sum + x;
    const double added = next - sum;
    error += fabs((sum - (next - added)) + (x - added));  // exact, each of them (Knuth)
    sum = next;
  };
#pragma unroll 8
  for (std::int64_t sample = chunk.begin; sample < chunk.end; ++sample) {
    const float x = picoamps_of(static_cast<float>(frame.signals.samples[sample]), chunk.read);
    const float squared = x * x;
    add(sums.sum, static_cast<double>(x));
    add(sums.square_sum, static_cast<double>(squared));
  }
  return error != 0.0;
}

// Whether a chunk is walked by the definition: some sample that its walk looks at is odd, or added with rounding.
__host__ __device__ inline bool is_definition_chunk(const Frame& frame, const ReadChunks& chunks, std::int32_t index) {
  if (frame.chunk_states[chunks.first_slot + index].odd) return true;
  constexpr int most_primed = 16;
  const std::int64_t looked_at = chunks.at(frame, index).begin - frame.division.warm_up_samples - most_primed;
  for (; index >= 0 && chunks.at(frame, index).end > looked_at; --index) {
    if (frame.chunk_states[chunks.first_slot + index].rounding) return true;
  }
  return false;
}

// Removes what another walker marked for a chunk. Its marks begin where the state it began in has a peak, if it has one, and end before such a place
// of the state it ended in. Neighbours that are not walked again must agree with these states, or their marks might be taken. False if they do not.
template <class Sink>
__host__ __device__ bool clear_chunk(const Frame& frame, const Sink& sink, const ReadChunks& chunks, std::int32_t index) {
  const std::int64_t slot = chunks.first_slot + index;
  const Chunk chunk = chunks.at(frame, index);
  if (frame.chunk_states[slot].odd) {
    // The exact walk left it, and the fast one stores only words that no other chunk writes.
    for (std::int64_t word = (chunk.begin + 31) / 32; word * 32 + 64 <= chunk.end; ++word) sink.store(word, 0);
    return true;
  }
  const std::int64_t read_end = chunk.read.begin + chunk.read.length;
  const std::int64_t unseen =
      std::int64_t{1} - frame.params.window_short;  // from a sample to the first position that the state before it has not seen
  const auto place = [&](const PickerState& state, std::int64_t sample) {
    return state.peak >= 0 ? chunk.read.begin + state.peak : max(sample + unseen, chunk.read.begin);
  };
  std::int64_t begin = chunk.begin;
  std::int64_t end = read_end;
  if (index > 0) {
    if (!is_definition_chunk(frame, chunks, index - 1) && !same_state(frame.ends[slot - 1], frame.starts[slot])) return false;
    begin = place(frame.starts[slot], chunk.begin);
  }
  if (index + 1 < chunks.count) {
    if (!is_definition_chunk(frame, chunks, index + 1) && !same_state(frame.ends[slot], frame.starts[slot + 1])) return false;
    end = place(frame.ends[slot], chunk.end);
  }
  for (std::int64_t word = begin / 32; word * 32 < end; ++word) {
    std::uint32_t cleared = 0xFFFFFFFFU;
    if (word * 32 < begin) cleared &= 0xFFFFFFFFU << (begin % 32);
    if (word * 32 + 32 > end) cleared &= 0xFFFFFFFFU >> (word * 32 + 32 - end);
    sink.remove(word, cleared);
  }
  return true;
}

// The read's prefix sums at a position that only moves on.
class PrefixCursor {
 public:
  // Begins at the last chunk's begin at or before the position, and moves there. Of each of the read's chunks up to it, frame.chunk_sums is known.
  __host__ __device__ PrefixCursor(const Frame& frame, std::int64_t row, const Read& read, std::int32_t position)
      : samples_(frame.signals.samples + read.begin), read_(read) {
    const int chunk_samples = frame.division.chunk_samples;
    const std::int64_t stretch = (read.begin + position) / chunk_samples;
    sums_ = frame.chunk_sums[stretch + row];
    position_ = stretch * chunk_samples > read.begin ? static_cast<std::int32_t>(stretch * chunk_samples - read.begin) : 0;
    move_to(position);
  }

  __host__ __device__ const Sums& move_to(std::int32_t position) {
    for (; position_ < position; ++position_) {
      const float x = picoamps_of(static_cast<float>(samples_[position_]), read_);
      const float squared = x * x;
      sums_ = sums_ + Sums{static_cast<double>(x), static_cast<double>(squared)};
    }
    return sums_;
  }

 private:
  const std::int16_t* samples_;
  Read read_;
  Sums sums_{};
  std::int32_t position_ = 0;
};

// t-statistics of ascending positions of a read.
class DefinitionStatistic {
 public:
  __host__ __device__ DefinitionStatistic(const Frame& frame, std::int64_t row, const Read& read, std::int32_t first, std::uint32_t window)
      : window_(static_cast<std::int32_t>(window)),
        length_(read.length),
        before_(frame, row, read, max(0, first - window_)),
        here_(before_),
        after_(before_) {}

  __host__ __device__ float at(std::int32_t position) {
    if (position < window_ || position > length_ - window_) return 0.0F;
    const Sums before = before_.move_to(position - window_);
    const Sums here = here_.move_to(position);
    const Sums after = after_.move_to(position + window_);
    return statistic(here.sum - before.sum, here.square_sum - before.square_sum, after.sum - here.sum, after.square_sum - here.square_sum,
                     static_cast<std::uint32_t>(window_));
  }

 private:
  std::int32_t window_, length_;
  PrefixCursor before_, here_, after_;
};

// Both detectors over one chunk, like ChunkWalk. Its marks must have been cleared. Every stretch that the short detector leaves to the long one is
// listed: the bound on the long statistic is not proved for all samples.
template <int W, class Sink>
__host__ __device__ void walk_by_definition(const Frame& frame, const Sink& sink, std::int64_t slot, const Chunk& chunk) {
  const Read& read = chunk.read;
  const auto own = static_cast<std::int32_t>(chunk.begin - read.begin);
  const auto end = static_cast<std::int32_t>(chunk.end - read.begin);
  const bool last_chunk = end == read.length;
  const float height = frame.params.peak_height;
  const float threshold = frame.params.threshold_short;
  const std::int32_t settling = frame.settling();
  const std::int32_t first = max(1, min(own - frame.division.warm_up_samples, own + 1 - W));
  const std::int32_t first_own = max(first, own + 1 - W);
  const std::int32_t stop = last_chunk ? end : end + 1 - W;
  DefinitionStatistic statistic(frame, chunk.row, read, first, W);
  PickerState state{FLT_MAX, -1, first, 0};
  std::int32_t value_at = -1;  // where state.value was
  bool found = false;
  bool lost = false;
  // Guesses are compared as the fast walk has them.
  const auto exported = [&]() {
    PickerState exported = state;
    if (value_at < 0) return exported;
    exported.value = 0.0F;
    if (value_at < W || value_at > read.length - W) return exported;
    Read scaled = read;
    scaled.unit *= FastStatistic<W>::scale;
    FastStatistic<W> fast;
    for (std::int32_t i = value_at - W; i < value_at + W; ++i)
      exported.value = fast.push(picoamps_of(static_cast<float>(frame.signals.samples[read.begin + i]), scaled)).t;
    return exported;
  };
  const auto leave_to_long = [&](std::int32_t stretch_stop) {
    if (stretch_stop - state.first < settling) return;
    if (!sink.append({chunk.row, slot, state.first, stretch_stop, ChunkWalker::definition})) lost = true;
  };
  for (std::int32_t position = first; position < stop; ++position) {
    if (position == first_own && own > 0) sink.guessed(slot, exported());
    const float t = statistic.at(position);
    const bool in_peak = state.peak >= 0;
    const bool up = in_peak ? t > state.value : t - state.value > height;
    if (up || (!in_peak && t < state.value)) {
      state.value = t;
      value_at = position;
    }
    if (up) state.peak = position;
    if (!in_peak || !(state.value > threshold)) continue;
    if (position >= first_own) leave_to_long(position);
    state.first = INT_MAX;
    if (state.value - t > height) state.fell = 1;
    if (state.fell == 0 || position - state.peak <= W / 2) continue;
    if (position >= first_own) {
      const std::int64_t sample = read.begin + state.peak;
      sink.add(sample / 32, 1U << (sample % 32));
      found = true;
    }
    state = {t, -1, max(state.peak + W + 1, position), 0};
    value_at = position;
  }
  if (last_chunk) {
    leave_to_long(end);
  } else {
    sink.ended(slot, exported());
  }
  if (lost) sink.lose(chunk.row);
  if (found) sink.find(chunk.row);
}

}  // namespace sluice::event_detection::cuda
