// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// From minimizers to seeds: what the index has of each, which of them repeat too often in the read, and which of the frequent ones are used. A block
// takes a row, in stretches of as many minimizers as it has threads; what a stretch needs of the ones before it is carried along.

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "minimizer_seeding/cuda_batch.cuh"

namespace sluice::minimizer_seeding::cuda {
namespace {

constexpr int repeat_bucket_bits = 13;
constexpr std::uint32_t repeat_buckets = 1U << repeat_bucket_bits;
// minimap2's cap on the seeds taken from one stretch of frequent ones, as in choose_from_streak of seeding.cpp.
constexpr std::int32_t most_per_streak = 128;
constexpr std::uint64_t absent = many_positions;  // a list of none

__device__ std::uint32_t occurrences(std::uint64_t value) {
  return (value & many_positions) != 0 ? static_cast<std::uint32_t>(value & max_minimizer_occurrences) : 1;
}

// As find_minimizer, a line at a time: its four slots are loaded at once.
__global__ void __launch_bounds__(block_threads)
    look_up_kernel(const DeviceTables tables, const std::uint64_t* hash, std::uint64_t minimizers, std::uint64_t* value) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= minimizers) return;
  const std::uint64_t key = minimizer_key(hash[i]);
  const auto* line = reinterpret_cast<const ulonglong2*>(tables.slots) + home_slot(key, tables.home_lines);
  static_assert(slots_per_line == 4);
  for (;; line += slots_per_line) {
    const ulonglong2 a = __ldg(line), b = __ldg(line + 1), c = __ldg(line + 2), d = __ldg(line + 3);
    if (d.x < key) continue;
    const ulonglong2 slot = a.x >= key ? a : b.x >= key ? b : c.x >= key ? c : d;
    value[i] = slot.x == key ? slot.y : absent;
    return;
  }
}

// Counts by a few bits of the hash, each at least that of any hash with those bits: a row in which one of them is too high is left to the host.
__global__ void __launch_bounds__(block_threads) repeated_kernel(const std::int32_t mid_occ, const float q_occ_frac, const Sketch sketch) {
  __shared__ std::uint32_t counts[repeat_buckets];
  const std::uint32_t begin = sketch.row_first[blockIdx.x], end = sketch.row_first[blockIdx.x + 1], count = end - begin;
  if (count <= static_cast<std::uint32_t>(mid_occ)) return;
  for (std::uint32_t i = threadIdx.x; i < repeat_buckets; i += block_threads) counts[i] = 0;
  __syncthreads();
  for (std::uint32_t i = begin + threadIdx.x; i < end; i += block_threads)
    atomicAdd(&counts[minimizer_key(sketch.hash[i]) >> (64 - repeat_bucket_bits)], 1U);
  __syncthreads();
  const float share = static_cast<float>(count) * q_occ_frac;
  bool too_many = false;
  for (std::uint32_t i = threadIdx.x; i < repeat_buckets; i += block_threads)
    too_many = too_many || (counts[i] > static_cast<std::uint32_t>(mid_occ) && static_cast<float>(counts[i]) > share);
  if (__syncthreads_or(too_many ? 1 : 0) != 0 && threadIdx.x == 0) sketch.left_to_host[blockIdx.x] = 1;
}

struct Largest {
  __device__ std::int32_t operator()(std::int32_t a, std::int32_t b) const { return a > b ? a : b; }
};
struct Least {
  __device__ std::int32_t operator()(std::int32_t a, std::int32_t b) const { return a < b ? a : b; }
};

using CountScan = cub::BlockScan<std::uint32_t, block_threads>;
using PlaceScan = cub::BlockScan<std::int32_t, block_threads>;
union Storage {
  typename CountScan::TempStorage counts;
  typename PlaceScan::TempStorage places;
  typename cub::BlockReduce<std::uint64_t, block_threads>::TempStorage sum;
};

// One row's seeds, at the front of the row's part of the arrays.
class RowChoice {
 public:
  __device__ RowChoice(const MinimizerSeeds& seeds, std::uint32_t begin, const SeedingParameters& parameters, std::int32_t length, Storage& storage)
      : seeds_(seeds), begin_(begin), parameters_(parameters), length_(length), storage_(storage) {}

  // Moves the minimizers that the index has, or all, to the front. Returns whether some of them are frequent.
  __device__ bool gather(const Sketch& sketch, std::uint32_t minimizers, bool takes_absent) {
    bool some_frequent = false;
    for (std::uint32_t first = 0; first < minimizers; first += block_threads) {
      const std::uint32_t i = first + threadIdx.x, at = begin_ + i;
      const std::uint64_t value = i < minimizers ? seeds_.value[at] : absent;
      const bool found = i < minimizers && (takes_absent || value != absent);
      std::uint32_t before = 0, found_here = 0;
      __syncthreads();  // all have read what the next line's successors write over
      CountScan(storage_.counts).ExclusiveSum(found ? 1U : 0U, before, found_here);
      if (found) {
        const std::uint64_t hash = sketch.hash[at];
        const bool tandem = (i > 0 && sketch.hash[at - 1] == hash) || (i + 1 < minimizers && sketch.hash[at + 1] == hash);
        const std::uint32_t to = begin_ + count_ + before;
        seeds_.value[to] = value;
        seeds_.place[to] = sketch.place[at];
        seeds_.state[to] = static_cast<std::uint8_t>(seed_used | (tandem ? seed_tandem : 0));
        some_frequent = some_frequent || frequent(value);
      }
      count_ += found_here;
    }
    return __syncthreads_or(some_frequent ? 1 : 0) != 0;
  }

  // Takes frequent seeds off.
  __device__ void choose() {
    if (parameters_.occ_dist <= 0 || parameters_.max_max_occ <= parameters_.mid_occ) {
      for (std::uint32_t i = threadIdx.x; i < count_; i += block_threads)
        if (frequent(seeds_.value[begin_ + i])) drop(i);
    } else if (count_ > 1) {
      find_streak_begins();
      choose_from_streaks();
    }
    __syncthreads();
  }

  // Bases under dropped seeds. Their k-mers come in ascending order, so each adds what reaches beyond the one before.
  __device__ std::int32_t repeat_length(std::int32_t k) {
    std::uint64_t covered = 0;
    std::int32_t last_before = -1;  // place of the last dropped seed so far
    for (std::uint32_t first = 0; first < count_; first += block_threads) {
      const std::uint32_t i = first + threadIdx.x;
      const bool dropped = i < count_ && (seeds_.state[begin_ + i] & seed_used) == 0;
      const std::int32_t place = dropped ? place_of(i) : -1;
      std::int32_t previous = -1, last = -1;
      __syncthreads();
      PlaceScan(storage_.places).ExclusiveScan(place, previous, -1, Largest(), last);
      previous = Largest()(previous, last_before);
      if (dropped) covered += static_cast<std::uint64_t>(previous < 0 ? k : Least()(k, place - previous));
      last_before = Largest()(last_before, last);
    }
    return static_cast<std::int32_t>(sum(covered));
  }

  __device__ void count_used(std::uint32_t& used, std::uint64_t& anchors) {
    std::uint64_t mine = 0, mine_anchors = 0;
    for (std::uint32_t i = threadIdx.x; i < count_; i += block_threads) {
      if ((seeds_.state[begin_ + i] & seed_used) == 0) continue;
      ++mine;
      mine_anchors += occurrences(seeds_.value[begin_ + i]);
    }
    used = static_cast<std::uint32_t>(sum(mine));
    anchors = sum(mine_anchors);
  }

 private:
  __device__ bool frequent(std::uint64_t value) const { return occurrences(value) > static_cast<std::uint32_t>(parameters_.mid_occ); }
  __device__ std::int32_t place_of(std::uint32_t i) const { return static_cast<std::int32_t>(seeds_.place[begin_ + i] >> 1); }
  __device__ void drop(std::uint32_t i) const { seeds_.state[begin_ + i] &= static_cast<std::uint8_t>(~seed_used); }
  // Of all threads; holds in thread 0.
  __device__ std::uint64_t sum(std::uint64_t mine) {
    __syncthreads();
    return cub::BlockReduce<std::uint64_t, block_threads>(storage_.sum).Sum(mine);
  }

  // Of every frequent seed, the first of the frequent ones around it.
  __device__ void find_streak_begins() {
    std::int32_t last_before = -1;  // seed that is not frequent
    for (std::uint32_t first = 0; first < count_; first += block_threads) {
      const std::uint32_t i = first + threadIdx.x;
      const bool is_frequent = i < count_ && frequent(seeds_.value[begin_ + i]);
      std::int32_t last = -1, last_here = -1;
      __syncthreads();
      PlaceScan(storage_.places).InclusiveScan(i < count_ && !is_frequent ? static_cast<std::int32_t>(i) : -1, last, Largest(), last_here);
      if (is_frequent) seeds_.streak_begin[begin_ + i] = static_cast<std::uint32_t>(Largest()(last, last_before) + 1);
      last_before = Largest()(last_before, last_here);
    }
    __syncthreads();
  }

  // From the last seed to the first, so that the end of a streak is known.
  __device__ void choose_from_streaks() {
    auto next_behind = static_cast<std::int32_t>(count_);
    const auto none = next_behind;
    for (std::uint32_t first = 0; first < count_; first += block_threads) {
      const std::uint32_t from_end = first + threadIdx.x;
      const bool inside = from_end < count_;
      const std::uint32_t i = inside ? count_ - 1 - from_end : 0;
      const bool is_frequent = inside && frequent(seeds_.value[begin_ + i]);
      std::int32_t next = none, next_here = none;
      __syncthreads();
      PlaceScan(storage_.places).InclusiveScan(inside && !is_frequent ? static_cast<std::int32_t>(i) : none, next, Least(), next_here);
      if (is_frequent && !chosen(i, seeds_.streak_begin[begin_ + i], static_cast<std::uint32_t>(Least()(next, next_behind)))) drop(i);
      next_behind = Least()(next_behind, next_here);
    }
  }

  // Whether seed i is among the least frequent ones of its streak [begin, end), about one every occ_dist bases.
  __device__ bool chosen(std::uint32_t i, std::uint32_t begin, std::uint32_t end) const {
    const std::int32_t before = begin == 0 ? 0 : place_of(begin - 1), behind = end == count_ ? length_ : place_of(end);
    const auto wanted = Least()(static_cast<std::int32_t>(static_cast<double>(behind - before) / parameters_.occ_dist + .499), most_per_streak);
    const std::uint32_t mine = occurrences(seeds_.value[begin_ + i]);
    if (mine > static_cast<std::uint32_t>(parameters_.max_max_occ)) return false;
    std::int32_t better = 0;
    for (std::uint32_t j = begin; j < end && better < wanted; ++j) {
      const std::uint32_t other = occurrences(seeds_.value[begin_ + j]);
      better += other < mine || (other == mine && j < i) ? 1 : 0;
    }
    return better < wanted;
  }

  const MinimizerSeeds& seeds_;
  const std::uint32_t begin_;
  const SeedingParameters& parameters_;
  const std::int32_t length_;
  Storage& storage_;
  std::uint32_t count_ = 0;
};

__global__ void __launch_bounds__(block_threads) choose_kernel(const DeviceReads reads, const std::uint32_t k, const SeedingParameters parameters,
                                                               const Sketch sketch, const MinimizerSeeds seeds) {
  __shared__ Storage storage;
  const std::int64_t row = blockIdx.x;
  RowSeeds result;
  result.by = !row_is_wanted(reads, row) ? RowSeeds::By::nobody : sketch.left_to_host[row] != 0 ? RowSeeds::By::host : RowSeeds::By::device;
  if (result.by == RowSeeds::By::device) {
    const std::uint32_t begin = sketch.row_first[row];
    RowChoice choice(seeds, begin, parameters, row_length(reads, row), storage);
    if (choice.gather(sketch, sketch.row_first[row + 1] - begin, reads.takes_absent != nullptr && reads.takes_absent[row] != 0)) {
      choice.choose();
      result.repeat_length = choice.repeat_length(static_cast<std::int32_t>(k));
    }
    choice.count_used(result.seeds, result.anchors);
  }
  if (threadIdx.x == 0) seeds.rows[row] = result;
}

__global__ void __launch_bounds__(block_threads) list_kernel(const Sketch sketch, const MinimizerSeeds seeds, const UsedSeeds used) {
  __shared__ typename CountScan::TempStorage storage;
  const std::uint32_t row = blockIdx.x, behind = sketch.row_first[row + 1], last = used.row_first[row + 1];
  std::uint32_t to = used.row_first[row], anchors = used.row_begin[row];
  for (std::uint32_t first = sketch.row_first[row]; to < last; first += block_threads) {
    const std::uint32_t at = first + threadIdx.x;
    const std::uint8_t state = at < behind ? seeds.state[at] : 0;
    const bool is_used = (state & seed_used) != 0;
    const std::uint64_t value = is_used ? seeds.value[at] : absent;
    std::uint32_t before = 0, here = 0, anchors_before = 0, anchors_here = 0;
    CountScan(storage).ExclusiveSum(is_used ? 1U : 0U, before, here);
    __syncthreads();
    CountScan(storage).ExclusiveSum(is_used ? occurrences(value) : 0U, anchors_before, anchors_here);
    __syncthreads();
    if (is_used) {
      used.value[to + before] = value;
      used.place[to + before] = seeds.place[at];
      used.tandem[to + before] = (state & seed_tandem) != 0 ? 1 : 0;
      used.row[to + before] = row;
      used.begin[to + before] = anchors + anchors_before;
    }
    to += here;
    anchors += anchors_here;
  }
  if (row == gridDim.x - 1 && threadIdx.x == 0) used.begin[used.seeds] = used.anchors;
}

__global__ void __launch_bounds__(block_threads)
    seed_positions_kernel(const std::uint32_t k, const UsedSeeds used, const std::int64_t* column_first, std::uint64_t* column) {
  const std::uint32_t i = blockIdx.x * block_threads + threadIdx.x;
  if (i >= used.seeds) return;
  const std::uint32_t row = used.row[i];
  column[column_first[row] + (i - used.row_first[row])] = std::uint64_t{k} << 32 | used.place[i] >> 1;
}

}  // namespace

cudaError_t look_up(const DeviceTables& tables, const Sketch& sketch, std::uint64_t minimizers, const MinimizerSeeds& seeds, cudaStream_t stream) {
  if (minimizers == 0) return cudaSuccess;
  look_up_kernel<<<blocks_for(minimizers, block_threads), block_threads, 0, stream>>>(tables, sketch.hash, minimizers, seeds.value);
  return cudaGetLastError();
}

cudaError_t find_repeated(const DeviceReads& reads, const SeedingParameters& parameters, const Sketch& sketch, cudaStream_t stream) {
  if (parameters.q_occ_frac <= 0.0F || parameters.mid_occ <= 0) return cudaSuccess;
  repeated_kernel<<<static_cast<unsigned>(reads.rows), block_threads, 0, stream>>>(parameters.mid_occ, parameters.q_occ_frac, sketch);
  return cudaGetLastError();
}

cudaError_t choose_seeds(const DeviceReads& reads, const DeviceTables& tables, const SeedingParameters& parameters, const Sketch& sketch,
                         const MinimizerSeeds& seeds, cudaStream_t stream) {
  choose_kernel<<<static_cast<unsigned>(reads.rows), block_threads, 0, stream>>>(reads, tables.k, parameters, sketch, seeds);
  return cudaGetLastError();
}

cudaError_t list_used(const DeviceReads& reads, const Sketch& sketch, const MinimizerSeeds& seeds, const UsedSeeds& used, cudaStream_t stream) {
  list_kernel<<<static_cast<unsigned>(reads.rows), block_threads, 0, stream>>>(sketch, seeds, used);
  return cudaGetLastError();
}

cudaError_t write_seed_positions(const DeviceTables& tables, const UsedSeeds& used, const std::int64_t* column_first, std::uint64_t* column,
                                 cudaStream_t stream) {
  if (used.seeds == 0) return cudaSuccess;
  seed_positions_kernel<<<blocks_for(used.seeds, block_threads), block_threads, 0, stream>>>(tables.k, used, column_first, column);
  return cudaGetLastError();
}

}  // namespace sluice::minimizer_seeding::cuda
