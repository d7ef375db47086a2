// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Irregular reads: a sample near zero or below it, or a sum that rounds. In f64 the prefix sums of such a read round at few additions: at the odd
// samples, and where the sum passes a power of two while it still has bits that an odd sample left. Windows without such an addition have the sums
// that the fast operations give. So the prefix sums are made again at the begin of every chunk, and only the chunks near an addition that rounds, or
// with an odd sample, are walked by the definition. Compile with -fmad=false, as cuda_statistic.hpp asks.
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>

#include "event_detection/cuda_definition_walk.hpp"
#include "event_detection/cuda_device_sink.hpp"

namespace sluice::event_detection::cuda {
namespace {

// Whether no addition rounds in the prefix sums of a whole read: every one is a multiple of the last place of the smallest term, and less than 2^53
// times it.
__device__ bool sums_are_exact(const ReadRecord& read) {
  constexpr double rounding_of_the_bound = 1.0 + 0x1p-20;
  const double squares = read.square_bound * rounding_of_the_bound;
  const double samples = sqrt(squares * read.length) * rounding_of_the_bound;  // Cauchy-Schwarz
  return squares <= 0x1p53 * last_place(read.smallest * read.smallest) && samples <= 0x1p53 * last_place(read.smallest);
}

__global__ void list_irregular_reads(Frame frame) {
  const std::int64_t row = thread_index();
  if (row >= frame.signals.rows) return;
  ReadRecord& read = frame.records[row];
  if (read.path != ReadPath::chunked || read.path_lost != 0) return;
  if (read.irregular == 0 && sums_are_exact(read)) return;
  read.irregular = 1;
  // Beyond this length, rounding could change a long statistic by more than statistic_bound allows for.
  constexpr std::int32_t longest = 1 << 24;
  if (read.length > longest) {
    read.path_lost = 1;
    return;
  }
  frame.irregular_rows[atomicAdd(&frame.account->irregular_reads, 1U)] = row;
}

constexpr int irregular_threads = 256;
constexpr int irregular_warps = irregular_threads / 32;

// Of a chunk, or of several in a row. Where no addition rounds, in any order, the sums are right.
struct Totals {
  Sums sums;
  Sums bounds;  // of the magnitudes of all partial sums
  Sums places;  // powers of two that all terms are multiples of
};

__device__ Totals joined(const Totals& a, const Totals& b) {
  return {a.sums + b.sums, a.bounds + b.bounds, {fmin(a.places.sum, b.places.sum), fmin(a.places.square_sum, b.places.square_sum)}};
}

template <class Shuffle>
__device__ Totals shuffled(const Totals& t, const Shuffle& shuffle) {
  return {{shuffle(t.sums.sum), shuffle(t.sums.square_sum)},
          {shuffle(t.bounds.sum), shuffle(t.bounds.square_sum)},
          {shuffle(t.places.sum), shuffle(t.places.square_sum)}};
}

__device__ Totals nothing() { return {{0.0, 0.0}, {0.0, 0.0}, {HUGE_VAL, HUGE_VAL}}; }

// Whether additions that begin at `sum` are free of rounding; see events.cpp.
__device__ bool additions_are_exact(double sum, double bound, double place) {
  constexpr double rounding_of_the_bound = 1.0 + 0x1p-30;
  return (fabs(sum) + bound) * rounding_of_the_bound <= 0x1p53 * fmin(granularity(sum), place);
}

// Totals of a chunk, in every lane; false when a sample is out of range.
__device__ bool total_of(const Frame& frame, const Chunk& chunk, Totals& totals) {
  float smallest = INFINITY;
  float largest = 0.0F;
  bool in_range = true;
  totals = nothing();
  for (std::int64_t sample = chunk.begin + threadIdx.x % 32; sample < chunk.end; sample += 32) {
    const float x = picoamps_of(static_cast<float>(frame.signals.samples[sample]), chunk.read);
    const float squared = x * x;
    const float magnitude = fabsf(x);
    in_range &= magnitude <= max_picoamps;
    largest = fmaxf(largest, magnitude);
    if (magnitude != 0.0F) smallest = fminf(smallest, magnitude);
    totals.sums = totals.sums + Sums{static_cast<double>(x), static_cast<double>(squared)};
    totals.bounds = totals.bounds + Sums{static_cast<double>(magnitude), static_cast<double>(squared)};
  }
  if (!isinf(smallest)) totals.places = {last_place(smallest), last_place(smallest * smallest)};
  for (int step = 16; step > 0; step /= 2) totals = joined(totals, shuffled(totals, [&](double x) { return __shfl_xor_sync(0xFFFFFFFFU, x, step); }));
  return __all_sync(0xFFFFFFFFU, in_range ? 1 : 0) != 0;
}

struct ChunkBatch {
  Totals totals[irregular_threads];
  Totals warps[irregular_warps];
  Sums base;  // prefix sums where the next chunk begins
  int first_rounding;
};

// Prefix sums at the begins of chunks [done, count) of the batch, of which the first is chunk `first` of the read. All threads of the block.
__device__ void add_chunks(const Frame& frame, const ReadChunks& chunks, std::int32_t first, int count, ChunkBatch& batch) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  for (int done = 0; done < count;) {
    // Up to the first chunk where rounding cannot be ruled out, in any order.
    const int mine = done + thread;
    Totals scan = mine < count ? batch.totals[mine] : nothing();
    for (int step = 1; step < 32; step *= 2) {
      const Totals below = shuffled(scan, [&](double x) { return __shfl_up_sync(0xFFFFFFFFU, x, step); });
      if (lane >= step) scan = joined(below, scan);
    }
    if (lane == 31) batch.warps[thread / 32] = scan;
    if (thread == 0) batch.first_rounding = irregular_threads;
    __syncthreads();
    for (int warp = 0; warp < thread / 32; ++warp) scan = joined(batch.warps[warp], scan);
    const Sums base = batch.base;
    const bool exact = additions_are_exact(base.sum, scan.bounds.sum, scan.places.sum) &&
                       additions_are_exact(base.square_sum, scan.bounds.square_sum, scan.places.square_sum);
    if (mine < count && !exact) atomicMin(&batch.first_rounding, thread);
    __syncthreads();
    const int exact_chunks = min(batch.first_rounding, count - done);
    const std::int64_t slot = chunks.first_slot + first + mine;
    if (thread < exact_chunks) {
      if (thread == 0) frame.chunk_sums[slot] = base;
      if (first + mine + 1 < chunks.count) frame.chunk_sums[slot + 1] = base + scan.sums;
      if (thread == exact_chunks - 1) batch.base = base + scan.sums;
    }
    done += exact_chunks;
    if (exact_chunks == 0) {
      if (thread == 0) {
        frame.chunk_sums[slot] = base;
        Sums sums = base;
        if (add_in_order(frame, chunks.at(frame, first + done), sums)) frame.chunk_states[slot].rounding = true;
        batch.base = sums;
      }
      ++done;
    }
    __syncthreads();
  }
}

// One block per irregular read: prefix sums at the begins of its chunks, then the lists of chunks for the definition.
__global__ void __launch_bounds__(irregular_threads) list_definition_chunks(const __grid_constant__ Frame frame) {
  __shared__ ChunkBatch batch;
  const int thread = static_cast<int>(threadIdx.x);
  for (std::uint32_t index = blockIdx.x; index < frame.account->irregular_reads; index += gridDim.x) {
    const ReadChunks chunks(frame, frame.irregular_rows[index]);
    if (thread == 0) batch.base = {0.0, 0.0};
    bool usable = true;
    for (std::int32_t first = 0; first < chunks.count && usable; first += irregular_threads) {
      const int count = min(irregular_threads, chunks.count - first);
      for (int chunk = thread / 32; chunk < count; chunk += irregular_warps) {
        Totals totals;
        usable &= total_of(frame, chunks.at(frame, first + chunk), totals);
        if (thread % 32 == 0) batch.totals[chunk] = totals;
      }
      usable = __syncthreads_and(usable ? 1 : 0) != 0;
      if (usable) add_chunks(frame, chunks, first, count, batch);
    }
    __syncthreads();
    for (std::int32_t chunk = thread; chunk < chunks.count && usable; chunk += irregular_threads) {
      const std::int64_t slot = chunks.first_slot + chunk;
      const ChunkState state = frame.chunk_states[slot];
      if (state.odd || state.rounding) frame.special_slots[atomicAdd(&frame.account->special_chunks, 1U)] = slot;
      if (!is_definition_chunk(frame, chunks, chunk)) continue;
      usable = clear_chunk(frame, DeviceSink{frame}, chunks, chunk);
      frame.exact_slots[atomicAdd(&frame.account->definition_chunks, 1U)] = slot;
    }
    if (__syncthreads_and(usable ? 1 : 0) == 0 && thread == 0) frame.records[chunks.row].path_lost = 1;
    __syncthreads();
  }
}

constexpr int definition_threads = 32;

template <int W>
__global__ void __launch_bounds__(definition_threads) walk_definition_chunks(const __grid_constant__ Frame frame) {
  const std::int64_t count = frame.account->definition_chunks;
  const DeviceSink sink{frame};
  for (std::int64_t index = thread_index(); index < count; index += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t slot = frame.exact_slots[index];
    const Chunk chunk = chunk_at(frame, slot);
    if (frame.records[chunk.row].path_lost != 0) continue;
    frame.chunk_states[slot].walker = ChunkWalker::definition;
    walk_by_definition<W>(frame, sink, slot, chunk);
  }
}

// The events that reach into special chunks, which emit_tiles wrote with other sums. Several chunks may write an event, and the same.
__global__ void __launch_bounds__(definition_threads) emit_special_chunks(const __grid_constant__ Frame frame, EventColumns events) {
  const std::int64_t count = frame.account->special_chunks;
  for (std::int64_t index = thread_index(); index < count; index += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const Chunk chunk = chunk_at(frame, frame.special_slots[index]);
    if (chunk.row < 0) continue;  // its read has become a slow one, or failed
    const std::int64_t read_end = chunk.read.begin + chunk.read.length;
    // A read's first sample is marked.
    std::int64_t word = chunk.begin / 32;
    std::uint32_t marks = frame.marks[word] & (0xFFFFFFFFU >> (31 - chunk.begin % 32));
    while (marks == 0) marks = frame.marks[--word];
    std::int64_t start = word * 32 + 31 - __clz(static_cast<int>(marks));
    std::int64_t event = rank_of(frame, start);
    PrefixCursor cursor(frame, chunk.row, chunk.read, static_cast<std::int32_t>(start - chunk.read.begin));
    Sums before = cursor.move_to(0);
    while (start < chunk.end) {
      word = (start + 1) / 32;
      marks = frame.marks[word] & (0xFFFFFFFFU << ((start + 1) % 32));
      while (marks == 0 && word * 32 + 32 < read_end) marks = frame.marks[++word];
      const std::int64_t end = marks != 0 ? min(word * 32 + __ffs(static_cast<int>(marks)) - 1, read_end) : read_end;
      const Sums sums = cursor.move_to(static_cast<std::int32_t>(end - chunk.read.begin));
      emit(events, event++, static_cast<std::int32_t>(start - chunk.read.begin), static_cast<std::int32_t>(end - start), sums - before);
      start = end;
      before = sums;
    }
  }
}

}  // namespace

cudaError_t walk_irregular_reads(const Frame& frame, cudaStream_t stream) {
  list_irregular_reads<<<blocks_for(frame.signals.rows, 256), 256, 0, stream>>>(frame);
  list_definition_chunks<<<list_grid, irregular_threads, 0, stream>>>(frame);
  const auto walk = frame.params.window_short == 3 ? walk_definition_chunks<3> : walk_definition_chunks<7>;
  walk<<<list_grid, definition_threads, 0, stream>>>(frame);
  return cudaGetLastError();
}

cudaError_t emit_irregular_reads(const Frame& frame, const EventColumns& events, cudaStream_t stream) {
  emit_special_chunks<<<list_grid, definition_threads, 0, stream>>>(frame, events);
  return cudaGetLastError();
}

}  // namespace sluice::event_detection::cuda
