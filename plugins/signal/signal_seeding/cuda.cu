// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <bit>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <sluice/cuda.hpp>
#include <string>
#include <utility>

#include "signal_seeding/cuda.hpp"

namespace sluice::signal_seeding::cuda {

using sluice::cuda::check;

namespace {

constexpr int block_threads = 256;
constexpr int block_warps = block_threads / 32;
constexpr unsigned whole_warp = 0xFFFFFFFFU;

unsigned blocks_for(std::uint64_t items) { return static_cast<unsigned>((items + block_threads - 1) / block_threads); }

// Borders that a block decides on at a time, and what it sees of the samples beyond them.
constexpr int borders_of_thread = 4;
constexpr int tile_borders = block_threads * borders_of_thread;
constexpr int most_window = 16;
constexpr int most_cuts = tile_borders / 2;  // windows have two samples or more

// Events of a batch: those of a row from first(row) on. There is a border in `window` samples at most.
struct Events {
  std::int16_t* level = nullptr;
  std::int64_t* count = nullptr;  // [rows]
  std::int32_t window = 4;
  __host__ __device__ std::int64_t room(std::int64_t samples, std::int64_t rows) const { return samples / window + rows; }
  __device__ std::int64_t first(const DeviceReads& reads, std::int64_t row) const { return room(reads.offsets[row] - reads.first_offset, row); }
};

// An anchor: row, column among all strands, number of the event, from high to low bits.
struct AnchorKeys {
  unsigned event_bits = 0, column_bits = 0;
  __host__ __device__ unsigned bits_below_row() const { return event_bits + column_bits; }
  __device__ std::uint64_t key(std::uint64_t row, std::uint64_t column, std::uint64_t event) const {
    return (row << column_bits | column) << event_bits | event;
  }
  __device__ std::int64_t row(std::uint64_t key) const { return static_cast<std::int64_t>(key >> bits_below_row()); }
  __device__ std::int64_t column(std::uint64_t key) const {
    return static_cast<std::int64_t>(key >> event_bits & ((std::uint64_t{1} << column_bits) - 1));
  }
  __device__ std::int64_t event(std::uint64_t key) const { return static_cast<std::int64_t>(key & ((std::uint64_t{1} << event_bits) - 1)); }
};

// ---- From samples to events: a block a row

struct EventMemory {
  using Scan = cub::BlockScan<std::int32_t, block_threads>;
  typename Scan::TempStorage scan;
  std::int16_t samples[tile_borders + 4 * most_window];  // from the tile's first border - 2 * window on
  float statistic[tile_borders + 2 * most_window];       // from the tile's first border - window on
  std::int32_t sum_before[tile_borders + 1];             // of the tile's samples before each of its borders
  std::int32_t cut[most_cuts + 1];                       // places in the tile, ascending
  std::int32_t level[most_cuts + 1], count[most_cuts + 1];
};

__global__ void __launch_bounds__(block_threads) events_kernel(const DeviceReads reads, const SegmentationParameters parameters, const Events events,
                                                               const double columns_per_event, std::int32_t* const length) {
  __shared__ EventMemory memory;
  const std::int64_t row = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x), window = parameters.window;
  if (reads.row_status != nullptr && reads.row_status[row] != 0) {
    if (thread == 0) {
      events.count[row] = 0;
      length[row] = 0;
    }
    return;
  }
  const std::int16_t* const samples = reads.samples + reads.offsets[row];
  const std::int64_t size = reads.offsets[row + 1] - reads.offsets[row];
  const std::int64_t statistics = size - window + 1;     // borders that have one, or none
  const std::int64_t borders = statistics - window + 1;  // borders that are decided on; the others wait for what never comes
  std::int16_t* const level_out = events.level + events.first(reads, row);
  std::int64_t written = 0;                         // by thread 0
  MergingEvent event(parameters.least_difference);  // of thread 0
  std::int64_t segment = 0, open_sum = 0;           // where the segment begins that no cut has ended, and the sum of its samples before the tile
  for (std::int64_t tile = 0; tile < borders; tile += tile_borders) {
    for (int i = thread; i < tile_borders + 4 * window; i += block_threads) {
      const std::int64_t at = tile - 2 * window + i;
      constexpr std::int16_t limit = squiggle_sample_limit;
      const std::int16_t sample = at >= 0 && at < size ? samples[at] : std::int16_t{0};
      memory.samples[i] = sample > limit ? limit : sample < -limit ? static_cast<std::int16_t>(-limit) : sample;
    }
    __syncthreads();
    for (int i = thread; i < tile_borders + 2 * window; i += block_threads) {
      const std::int64_t border = tile - window + i;
      // -1: no border, less than any.
      float value = border < 0 || border >= statistics ? -1.0F : 0.0F;
      if (value == 0.0F && border >= window) value = border_statistic(&memory.samples[i], window, parameters.noise);
      memory.statistic[i] = value;
    }
    __syncthreads();
    std::int32_t sums[borders_of_thread], places[borders_of_thread];
    bool cuts_here[borders_of_thread];
    for (int k = 0; k < borders_of_thread; ++k) {
      const int i = thread * borders_of_thread + k;
      const float* const here = &memory.statistic[i + window];
      bool is_cut = tile + i < borders && *here >= parameters.least_statistic;
      for (int other = 1; other < window && is_cut; ++other) is_cut = here[-other] < *here && here[other] <= *here;
      cuts_here[k] = is_cut;
      places[k] = is_cut ? 1 : 0;
      sums[k] = memory.samples[i + 2 * window];
    }
    std::int32_t cuts = 0;
    EventMemory::Scan(memory.scan).ExclusiveSum(places, places, cuts);
    __syncthreads();
    std::int32_t sum = 0;
    EventMemory::Scan(memory.scan).ExclusiveSum(sums, sums, sum);
    for (int k = 0; k < borders_of_thread; ++k) {
      memory.sum_before[thread * borders_of_thread + k] = sums[k];
      if (cuts_here[k]) memory.cut[places[k]] = thread * borders_of_thread + k;
    }
    if (thread == 0) memory.sum_before[tile_borders] = sum;
    __syncthreads();
    for (int i = thread; i < cuts; i += block_threads) {
      const std::int64_t before = i == 0 ? segment - tile : memory.cut[i - 1];
      const std::int64_t of_segment =
          i == 0 ? open_sum + memory.sum_before[memory.cut[0]] : memory.sum_before[memory.cut[i]] - memory.sum_before[before];
      memory.count[i] = static_cast<std::int32_t>(memory.cut[i] - before);
      if (memory.count[i] > 0) memory.level[i] = mean_level(of_segment, memory.count[i]);
    }
    __syncthreads();
    // Merging is one after the other. Samples of a tile beyond the last border of all belong to no event.
    if (thread == 0)
      for (int i = 0; i < cuts; ++i) {
        const std::int32_t level = memory.level[i], count = memory.count[i];
        if (count == 0) continue;
        if (event.takes(level)) {
          event.add(level, count);
          continue;
        }
        if (!event.empty()) level_out[written++] = static_cast<std::int16_t>(event.level());
        event.begin(level, count);
      }
    if (cuts > 0) {
      const std::int32_t last = memory.cut[cuts - 1];
      segment = tile + last;
      open_sum = memory.sum_before[tile_borders] - memory.sum_before[last];
    } else {
      open_sum += memory.sum_before[tile_borders];
    }
    __syncthreads();
  }
  if (thread == 0) {
    events.count[row] = written;
    length[row] = read_length(written, columns_per_event);
  }
}

// ---- From events to anchors: a warp an event, blocks of a row in blockIdx.x

__device__ std::uint64_t entry_at(const DeviceTables& tables, std::uint64_t i) {
  return tables.entry_high == nullptr ? tables.entry[i] : std::uint64_t{tables.entry_high[i]} << 32 | tables.entry[i];
}
__device__ std::uint64_t begin_of(const DeviceTables& tables, std::uint64_t bucket) {
  return tables.block_begin[bucket / bucket_block] + tables.bucket_begin[bucket];
}

struct Entries {
  std::uint64_t first = 0, end = 0;
};
__device__ Entries entries_of(const DeviceTables& tables, std::uint64_t run, std::int32_t most_occurrences) {
  if (tables.seed_present != nullptr && (tables.seed_present[run / 64] >> run % 64 & 1) == 0) return {};
  const SeedPlace place = seed_place(run, tables.form);
  const auto position_bits = static_cast<unsigned>(tables.form.position_bits);
  const std::uint64_t end = begin_of(tables, place.bucket + 1);
  std::uint64_t from = begin_of(tables, place.bucket);
  while (from < end && entry_at(tables, from) >> position_bits < place.check) ++from;
  std::uint64_t to = from;
  while (to < end && entry_at(tables, to) >> position_bits == place.check) {
    if (to - from >= static_cast<std::uint64_t>(most_occurrences)) return {};
    ++to;
  }
  return {from, to};
}

__device__ std::uint64_t or_of_warp(std::uint64_t word) {
  const std::uint32_t low = __reduce_or_sync(whole_warp, static_cast<std::uint32_t>(word));
  const std::uint32_t high = __reduce_or_sync(whole_warp, static_cast<std::uint32_t>(word >> 32));
  return std::uint64_t{high} << 32 | low;
}

// Of one of a lane's places in a run: what it adds to the run's word, and how it may differ.
struct RunPart {
  std::uint64_t bits = 0;
  Flip flip;
  bool is_uncertain = false;
};
__device__ RunPart part_of_run(const DeviceTables& tables, const std::int16_t* levels, int place) {
  RunPart part;
  if (place >= tables.form.run) return part;
  const Symbol symbol = tables.symbols[levels[place] + squiggle_sample_limit];
  const auto shift = static_cast<unsigned>(tables.form.symbol_bits * (tables.form.run - 1 - place));
  part.bits = std::uint64_t{symbol.symbol} << shift;
  part.is_uncertain = symbol.other != symbol.symbol;
  part.flip.distance = symbol.distance;
  part.flip.bits = static_cast<std::uint64_t>(symbol.symbol ^ symbol.other) << shift;
  return part;
}

// Of the uncertain places in `others`, which lanes have in `theirs`, how many come before `mine`.
__device__ int flips_before(std::uint32_t others, const Flip& theirs, const Flip& mine) {
  int before = 0;
  while (others != 0) {
    const int lane = __ffs(static_cast<int>(others)) - 1;
    others &= others - 1;
    Flip other;
    other.distance = static_cast<std::int16_t>(__shfl_sync(whole_warp, static_cast<int>(theirs.distance), lane));
    other.bits = __shfl_sync(whole_warp, static_cast<unsigned long long>(theirs.bits), lane);
    if (other < mine) ++before;
  }
  return before;
}

__global__ void __launch_bounds__(block_threads)
    look_up_kernel(const DeviceReads reads, const DeviceTables tables, const SeedingParameters parameters, const Events events, const AnchorKeys keys,
                   std::uint64_t* const found_keys, const std::uint64_t capacity, unsigned long long* const found) {
  __shared__ std::uint64_t flips_of_warp[block_warps][most_tried_events];
  const std::int64_t row = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int most_tried = parameters.most_uncertain < most_tried_events ? parameters.most_uncertain : most_tried_events;
  std::uint64_t* const flips = flips_of_warp[warp];
  const std::int64_t limit = event_limit(tables.form.position_bits);
  const std::int64_t count = events.count[row] < limit ? events.count[row] : limit - 1;
  const std::int16_t* const levels = events.level + events.first(reads, row);
  const std::uint64_t column_mask = (std::uint64_t{1} << static_cast<unsigned>(tables.form.position_bits)) - 1;
  for (std::int64_t first = std::int64_t{blockIdx.y} * block_warps + warp; first + tables.form.run <= count;
       first += std::int64_t{gridDim.y} * block_warps) {
    const RunPart low = part_of_run(tables, levels + first, lane), high = part_of_run(tables, levels + first, lane + 32);
    const std::uint64_t run = or_of_warp(low.bits | high.bits);
    const std::uint32_t uncertain[2] = {__ballot_sync(whole_warp, low.is_uncertain), __ballot_sync(whole_warp, high.is_uncertain)};
    const int low_place = flips_before(uncertain[0], low.flip, low.flip) + flips_before(uncertain[1], high.flip, low.flip);
    if (low.is_uncertain && low_place < most_tried) flips[low_place] = low.flip.bits;
    if (uncertain[1] != 0) {
      const int high_place = flips_before(uncertain[0], low.flip, high.flip) + flips_before(uncertain[1], high.flip, high.flip);
      if (high.is_uncertain && high_place < most_tried) flips[high_place] = high.flip.bits;
    }
    __syncwarp();
    const int all = __popc(uncertain[0]) + __popc(uncertain[1]), tried = all < most_tried ? all : most_tried;
    for (int choices = 0; choices < 1 << tried; choices += 32) {
      const int choice = choices + lane;
      Entries entries;
      if (choice < 1 << tried) {
        std::uint64_t other = run;
        for (int i = 0; i < tried; ++i)
          if ((choice >> i & 1) != 0) other ^= flips[i];
        entries = entries_of(tables, other, parameters.most_occurrences);
      }
      const auto mine = static_cast<std::uint32_t>(entries.end - entries.first);
      std::uint32_t up_to_mine = mine;
      for (int step = 1; step < 32; step *= 2) {
        const std::uint32_t below = __shfl_up_sync(whole_warp, up_to_mine, step);
        if (lane >= step) up_to_mine += below;
      }
      const std::uint32_t of_warp = __shfl_sync(whole_warp, up_to_mine, 31);
      if (of_warp == 0) continue;
      unsigned long long begin = 0;
      if (lane == 0) begin = atomicAdd(found, static_cast<unsigned long long>(of_warp));
      std::uint64_t to = __shfl_sync(whole_warp, begin, 0) + up_to_mine - mine;
      // What does not fit is counted: the search is done again with more room.
      for (std::uint64_t i = entries.first; i < entries.end && to < capacity; ++i, ++to)
        found_keys[to] =
            keys.key(static_cast<std::uint64_t>(row), entry_at(tables, i) & column_mask, static_cast<std::uint64_t>(first + tables.form.run));
    }
    __syncwarp();
  }
}

// ---- From sorted anchors to columns

// Strand of a column.
__device__ std::int64_t strand_of(const DeviceTables& tables, std::int64_t column) {
  std::int64_t low = 0, high = tables.strands;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (tables.strand_begin[middle] <= column ? low : high) = middle;
  }
  return low;
}

__device__ bool is_chainable(const DeviceTables& tables, const SeedingParameters& parameters, const AnchorKeys& keys, const std::uint64_t* sorted,
                             std::uint64_t anchors, std::uint64_t i) {
  const std::uint64_t key = sorted[i];
  const std::int64_t row = keys.row(key), column = keys.column(key), strand = strand_of(tables, column);
  const std::int64_t place = column_of_event(keys.event(key), tables.columns_per_event);
  const std::int64_t strand_begin = tables.strand_begin[strand], strand_end = tables.strand_begin[strand + 1];
  const auto place_of = [&](std::uint64_t other) -> std::int64_t { return column_of_event(keys.event(other), tables.columns_per_event); };
  for (std::uint64_t after = i + 1; after < anchors; ++after) {
    const std::uint64_t other = sorted[after];
    const std::int64_t columns = keys.column(other) - column;
    if (keys.row(other) != row || columns > parameters.most_distance || keys.column(other) >= strand_end) break;
    if (may_follow(columns, place_of(other) - place, parameters.most_shift)) return true;
  }
  for (std::uint64_t before = i; before-- > 0;) {
    const std::uint64_t other = sorted[before];
    const std::int64_t columns = column - keys.column(other);
    if (keys.row(other) != row || columns > parameters.most_distance || keys.column(other) < strand_begin) break;
    if (may_follow(columns, place - place_of(other), parameters.most_shift)) return true;
  }
  return false;
}

// kept[anchors] becomes 0.
__global__ void __launch_bounds__(block_threads)
    mark_kernel(const DeviceTables tables, const SeedingParameters parameters, const AnchorKeys keys, const std::uint64_t* const sorted,
                const std::uint64_t anchors, std::uint32_t* const kept) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < anchors) kept[i] = is_chainable(tables, parameters, keys, sorted, anchors, i) ? 1 : 0;
  if (i == anchors) kept[i] = 0;
}

__global__ void __launch_bounds__(block_threads)
    offsets_kernel(const std::int64_t rows, const AnchorKeys keys, const std::uint64_t* const sorted, const std::uint64_t anchors,
                   const std::uint32_t* const kept_before, std::int64_t* const offsets) {
  const std::int64_t row = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (row > rows) return;
  std::uint64_t low = 0, high = anchors;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (keys.row(sorted[middle]) < row)
      low = middle + 1;
    else
      high = middle;
  }
  offsets[row] = kept_before[low];
}

__global__ void __launch_bounds__(block_threads)
    write_kernel(const DeviceTables tables, const AnchorKeys keys, const std::uint64_t* const sorted, const std::uint64_t anchors,
                 const std::uint32_t* const kept_before, std::uint64_t* const anchor_x, std::uint64_t* const anchor_y) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= anchors || kept_before[i] == kept_before[i + 1]) return;
  const std::uint64_t key = sorted[i];
  const std::int64_t column = keys.column(key), strand = strand_of(tables, column);
  const std::uint32_t to = kept_before[i];
  anchor_x[to] = static_cast<std::uint64_t>(strand) << 32 | static_cast<std::uint64_t>(column - tables.strand_begin[strand]);
  anchor_y[to] =
      static_cast<std::uint64_t>(tables.form.run) << 32 | static_cast<std::uint32_t>(column_of_event(keys.event(key), tables.columns_per_event));
}

}  // namespace

struct DeviceSeeding::State {
  DeviceReads reads;
  DeviceTables tables;
  SeedingParameters parameters;
  Launch launch;
  Events events;
  AnchorKeys keys;
  std::uint64_t* sorted = nullptr;
  std::uint32_t* kept_before = nullptr;
  std::uint64_t found = 0;

  template <class T>
  T* allocate(std::uint64_t count) {
    return static_cast<T*>(launch.allocate(std::max<std::uint64_t>(1, count) * sizeof(T)));
  }
  void queued(cudaError_t error, const char* step) {
    check(error, step);
    if (launch.queued) launch.queued(step);
  }
  template <class T>
  T download(const T* from) {
    T value{};
    sluice::cuda::copy_to_host(&value, from, sizeof value, launch.stream);
    return value;
  }

  void cut_into_events(std::int32_t* read_length) {
    events.window = parameters.segmentation.window;
    events.level = allocate<std::int16_t>(static_cast<std::uint64_t>(events.room(reads.total, reads.rows)));
    events.count = allocate<std::int64_t>(static_cast<std::uint64_t>(reads.rows));
    events_kernel<<<static_cast<unsigned>(reads.rows), block_threads, 0, launch.stream>>>(reads, parameters.segmentation, events,
                                                                                          tables.columns_per_event, read_length);
    queued(cudaGetLastError(), "events");
  }

  std::uint64_t* look_up() {
    auto* const count = allocate<unsigned long long>(1);
    // About as many as samples, with random targets.
    std::uint64_t capacity = 2 * static_cast<std::uint64_t>(reads.total) + 65536;
    // Enough blocks for all multiprocessors, but no more than a long row's events.
    const std::int64_t wanted = (std::int64_t{8} * launch.multiprocessors + reads.rows - 1) / reads.rows;
    const std::int64_t of_longest = events.room(reads.longest, 1) / block_warps + 1;
    const dim3 blocks(static_cast<unsigned>(reads.rows),
                      static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, std::min<std::int64_t>(of_longest, 65535))));
    for (;;) {
      auto* const found_keys = allocate<std::uint64_t>(capacity);
      check(cudaMemsetAsync(count, 0, sizeof *count, launch.stream), "cudaMemsetAsync");
      look_up_kernel<<<blocks, block_threads, 0, launch.stream>>>(reads, tables, parameters, events, keys, found_keys, capacity, count);
      queued(cudaGetLastError(), "look_up");
      found = download(count);
      if (found > most_batch_anchors) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "a batch of more than 2^31 anchors");
      if (found <= capacity) return found_keys;
      capacity = found;
    }
  }

  void sort(const std::uint64_t* found_keys) {
    sorted = allocate<std::uint64_t>(found);
    if (found == 0) return;
    const auto bits = static_cast<int>(keys.bits_below_row() + static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(reads.rows - 1))));
    std::size_t bytes = 0;
    const auto count = static_cast<std::int64_t>(found);
    check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, found_keys, sorted, count, 0, bits, launch.stream), "sort");
    void* const space = launch.allocate(std::max<std::size_t>(bytes, 1));
    queued(cub::DeviceRadixSort::SortKeys(space, bytes, found_keys, sorted, count, 0, bits, launch.stream), "sort");
  }

  std::int64_t choose() {
    auto* const kept = allocate<std::uint32_t>(found + 1);
    kept_before = allocate<std::uint32_t>(found + 1);
    mark_kernel<<<blocks_for(found + 1), block_threads, 0, launch.stream>>>(tables, parameters, keys, sorted, found, kept);
    queued(cudaGetLastError(), "mark");
    std::size_t bytes = 0;
    const auto count = static_cast<std::int64_t>(found + 1);
    check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, kept, kept_before, count, launch.stream), "sum_up");
    void* const space = launch.allocate(std::max<std::size_t>(bytes, 1));
    queued(cub::DeviceScan::ExclusiveSum(space, bytes, kept, kept_before, count, launch.stream), "sum_up");
    return download(kept_before + found);
  }
};

DeviceSeeding::DeviceSeeding(const DeviceReads& reads, const DeviceTables& tables, const SeedingParameters& parameters, Launch launch)
    : state_(std::make_unique<State>()) {
  state_->reads = reads;
  state_->tables = tables;
  state_->parameters = parameters;
  state_->launch = std::move(launch);
}
DeviceSeeding::~DeviceSeeding() = default;
std::uint64_t DeviceSeeding::found() const { return state_->found; }

std::int64_t DeviceSeeding::find(std::int32_t* read_length) {
  State& s = *state_;
  if (s.reads.rows == 0) return 0;
  const auto most_events = static_cast<std::uint64_t>(s.reads.longest / s.parameters.segmentation.window + 1);
  s.keys.column_bits = static_cast<unsigned>(s.tables.form.position_bits);
  s.keys.event_bits = static_cast<unsigned>(std::bit_width(most_events));
  const auto bits = s.keys.bits_below_row() + static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(s.reads.rows - 1)));
  if (bits > 64) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "a batch of more or longer rows than an anchor's key can number");
  s.cut_into_events(read_length);
  s.sort(s.look_up());
  return s.choose();
}

void DeviceSeeding::write(std::int64_t* offsets, std::uint64_t* anchor_x, std::uint64_t* anchor_y) {
  State& s = *state_;
  if (s.reads.rows == 0) {
    check(cudaMemsetAsync(offsets, 0, sizeof *offsets, s.launch.stream), "cudaMemsetAsync");
    return;
  }
  offsets_kernel<<<blocks_for(static_cast<std::uint64_t>(s.reads.rows) + 1), block_threads, 0, s.launch.stream>>>(s.reads.rows, s.keys, s.sorted,
                                                                                                                  s.found, s.kept_before, offsets);
  s.queued(cudaGetLastError(), "offsets");
  if (s.found == 0) return;
  write_kernel<<<blocks_for(s.found), block_threads, 0, s.launch.stream>>>(s.tables, s.keys, s.sorted, s.found, s.kept_before, anchor_x, anchor_y);
  s.queued(cudaGetLastError(), "write");
}

}  // namespace sluice::signal_seeding::cuda
