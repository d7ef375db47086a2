// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The order of equal anchors. minimap2's sort is not stable; where a read has equal anchors, its passes are done over (sort_pass.hpp), but only as
// far as they tell where each anchor comes to lie. The records of a part form chains of dependent loads, if of bytes in shared memory. Reads, and the
// parts of a read's later passes, are done side by side; parts of two digits, as that of the strands is, need no chain; the chains of parts of up to
// 32 digits, as those of contigs and of the highest bytes of places are, are cut into segments that a warp follows side by side (few_digits.hpp);
// parts of more digits, which come after those and are smaller, have one thread; and parts without equal anchors are taken from the stable sort.

#include <cub/block/block_reduce.cuh>
#include <sluice/cuda/warp.cuh>

#include "minimizer_seeding/cuda_batch.cuh"
#include "minimizer_seeding/few_digits.hpp"
#include "minimizer_seeding/sort_pass.hpp"

namespace sluice::minimizer_seeding::cuda {
namespace {

__global__ void __launch_bounds__(block_threads)
    find_kernel(const std::int64_t rows, const AnchorKeys keys, const Anchors anchors, const TiedRows tied) {
  const std::uint32_t i = blockIdx.x * block_threads + threadIdx.x;
  if (i == 0 || i >= anchors.anchors) return;
  const std::uint64_t key = anchors.sorted_key[i];
  if (anchors.sorted_key[i - 1] != key) return;
  const std::uint32_t row = keys.row(key), count = anchors.row_first[row + 1] - anchors.row_first[row];
  if (count <= largest_insertion) return;  // sorted by insertion: stable
  // Equal anchors lie together: one of them speaks for a warp's.
  const unsigned same_row = __match_any_sync(__activemask(), row);
  if (threadIdx.x % 32 != static_cast<unsigned>(__ffs(static_cast<int>(same_row)) - 1)) return;
  // The flag is one byte of a word that others set, too.
  auto* const word = reinterpret_cast<unsigned*>(tied.tied + (row & ~3U));
  const unsigned flag = 1U << 8 * (row % 4);
  if ((*static_cast<volatile unsigned*>(word) & flag) != 0 || (atomicOr(word, flag) & flag) != 0) return;
  int size = 0;
  while (size < order_classes && count > tied.most_anchors[size]) ++size;
  tied.list[static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(rows) + atomicAdd(&tied.counts[size], 1U)] = row;
}

struct Part {
  std::uint32_t begin, end;
};
__host__ __device__ constexpr std::uint32_t most_parts(std::uint32_t anchors) { return anchors / (largest_insertion + 1); }
// Shared memory of a block: the digits of all anchors, and the parts of a pass.
constexpr std::size_t order_bytes(std::uint32_t most_anchors) { return most_anchors + most_parts(most_anchors) * sizeof(Part); }

struct Warp {
  __device__ std::uint32_t rank() const { return threadIdx.x % 32; }
  __device__ std::uint32_t size() const { return 32; }
  __device__ void sync() const { __syncwarp(); }
  __device__ void add(std::uint32_t* memory, std::uint32_t value) const { atomicAdd(memory, value); }
};

class RowOrder {
 public:
  // A warp's own.
  union Words {
    struct {
      std::uint32_t next[256], end[256];
    };
    struct {
      std::uint32_t few[FewDigits::words];
      std::uint8_t number[256];  // of each digit among those of the part
    };
  };
  struct Shared {
    Words words[block_warps];
    std::uint32_t parts, next_part;
    typename cub::BlockReduce<std::uint64_t, block_threads>::TempStorage reduce;
    std::uint64_t differences;
  };

  __device__ RowOrder(const AnchorKeys& keys, const Anchors& anchors, const TiedRows& tied, std::uint32_t row, std::uint32_t most_anchors,
                      std::uint8_t* memory, Shared& shared)
      : keys_(keys),
        first_(anchors.row_first[row]),
        count_(anchors.row_first[row + 1] - first_),
        key_(anchors.key + first_),
        sorted_key_(anchors.sorted_key + first_),
        sorted_number_(anchors.sorted_number + first_),
        place_(tied.place + first_),
        order_{tied.order[0] + first_, tied.order[1] + first_},
        parts_(reinterpret_cast<Part*>(memory)),
        digit_(memory + most_parts(most_anchors) * sizeof(Part)),
        shared_(shared) {}

  __device__ void find() {
    for (std::uint32_t i = threadIdx.x; i < count_; i += block_threads) order_[0][i] = i;
    const std::uint64_t differences = find_differences();
    for (int shift = 56; shift >= 0; shift -= 8)
      if ((differences >> shift & 0xFF) != 0) pass(shift);  // else all agree in this byte, and the pass leaves them as they are
    for (std::uint32_t i = threadIdx.x; i < count_; i += block_threads) place_[order_[0][i]] = i;
    __syncthreads();
  }

 private:
  struct Or {
    __device__ std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a | b; }
  };
  __device__ std::uint64_t find_differences() {
    std::uint64_t mine = 0;
    for (std::uint32_t i = threadIdx.x; i < count_; i += block_threads) mine |= key_[i] ^ key_[0];
    mine = cub::BlockReduce<std::uint64_t, block_threads>(shared_.reduce).Reduce(mine, Or());
    if (threadIdx.x == 0) shared_.differences = keys_.x(mine);
    __syncthreads();
    return shared_.differences;
  }

  __device__ std::uint64_t x_at(std::uint32_t place) const { return keys_.x(key_[order_[0][place]]); }

  // One pass over all parts that agree in the bytes above. order_[1] is where each place's anchor comes from, or the anchor itself, then the new
  // order.
  __device__ void pass(int shift) {
    if (threadIdx.x == 0) shared_.parts = shared_.next_part = 0;
    __syncthreads();
    // Passes so far have the anchors ascend by the bytes above, so these are at each place what they are after the sort.
    const auto part_key = [&](std::uint32_t place) { return shift == 56 ? 0 : keys_.x(sorted_key_[place]) >> (shift + 8); };
    for (std::uint32_t i = threadIdx.x; i < count_; i += block_threads) {
      digit_[i] = static_cast<std::uint8_t>(x_at(i) >> shift);
      order_[1][i] = i;
      if (i + largest_insertion >= count_) continue;
      const std::uint64_t key = part_key(i);
      if ((i > 0 && part_key(i - 1) == key) || part_key(i + largest_insertion) != key) continue;
      std::uint32_t low = i + largest_insertion, high = count_;
      while (high - low > 1) {
        const std::uint32_t middle = (low + high) / 2;
        (part_key(middle) == key ? low : high) = middle;
      }
      parts_[atomicAdd(&shared_.parts, 1U)] = {i, high};
    }
    __syncthreads();
    const std::uint32_t lane = threadIdx.x % 32;
    for (;;) {
      std::uint32_t part = 0;
      if (lane == 0) part = atomicAdd(&shared_.next_part, 1U);
      part = __shfl_sync(whole_warp, part, 0);
      if (part >= shared_.parts) break;
      place_part(parts_[part]);
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count_; i += block_threads) {
      const std::uint32_t from = order_[1][i];
      order_[1][i] = (from & is_anchor) != 0 ? from & ~is_anchor : order_[0][from];
    }
    __syncthreads();
    std::uint32_t* const before = order_[0];
    order_[0] = order_[1];
    order_[1] = before;
  }

  __device__ bool has_equal(const Part part, std::uint32_t lane) const {
    bool equal = false;
    for (std::uint32_t i = part.begin + 1 + lane; i < part.end; i += 32) equal = equal || sorted_key_[i] == sorted_key_[i - 1];
    return __any_sync(whole_warp, equal);
  }

  static constexpr std::uint32_t buckets_per_lane = 256 / 32;

  // A warp's work: counts the part's digits together, and follows its records.
  __device__ void place_part(const Part part) {
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (!has_equal(part, lane)) {
      for (std::uint32_t i = part.begin + lane; i < part.end; i += 32) order_[1][i] = (sorted_number_[i] - first_) | is_anchor;
      return;
    }
    std::uint32_t* const next = shared_.words[warp].next;
    std::uint32_t* const end = shared_.words[warp].end;
    for (std::uint32_t i = lane; i < 256; i += 32) next[i] = 0;
    __syncwarp();
    for (std::uint32_t i = part.begin + lane; i < part.end; i += 32) atomicAdd(&next[digit_[i]], 1U);
    __syncwarp();
    std::uint32_t count[buckets_per_lane], sum = 0, digits = 0, lowest = 0, lowest_count = 0;
    for (std::uint32_t i = 0; i < buckets_per_lane; ++i) {
      count[i] = next[lane * buckets_per_lane + i];
      sum += count[i];
      if (count[i] == 0) continue;
      if (digits++ == 0) lowest = lane * buckets_per_lane + i, lowest_count = count[i];
    }
    const int first_lane = __ffs(static_cast<int>(__ballot_sync(whole_warp, digits != 0))) - 1;
    digits = __reduce_add_sync(whole_warp, digits);
    if (digits == 1) return;
    if (digits == 2) {
      place_two(part, __shfl_sync(whole_warp, lowest, first_lane), part.begin + __shfl_sync(whole_warp, lowest_count, first_lane));
      return;
    }
    if (digits <= most_few_digits) {
      place_few(part, count, sum, digits);
      return;
    }
    std::uint32_t at = part.begin + sluice::cuda::inclusive_sum_over_warp(sum, static_cast<int>(lane)) - sum;
    __syncwarp();
    for (std::uint32_t i = 0; i < buckets_per_lane; ++i) {
      next[lane * buckets_per_lane + i] = at;
      at += count[i];
      end[lane * buckets_per_lane + i] = at;
    }
    __syncwarp();
    if (lane == 0) place_by_digit(digit_, next, end, order_[1]);
    __syncwarp();
  }

  // A warp's work: a part of few digits. count: of the digits that are this lane's; sum: of these.
  __device__ void place_few(const Part part, const std::uint32_t (&count)[buckets_per_lane], const std::uint32_t sum, const std::uint32_t digits) {
    const std::uint32_t lane = threadIdx.x % 32;
    std::uint32_t mine = 0;
    for (const std::uint32_t c : count) mine += c != 0 ? 1 : 0;
    std::uint32_t number = sluice::cuda::inclusive_sum_over_warp(mine, static_cast<int>(lane)) - mine;
    std::uint32_t at = part.begin + sluice::cuda::inclusive_sum_over_warp(sum, static_cast<int>(lane)) - sum;
    Words& words = shared_.words[threadIdx.x / 32];
    const FewDigits memory(words.few);
    __syncwarp();
    for (std::uint32_t i = 0; i < buckets_per_lane; ++i) {
      if (count[i] == 0) continue;
      words.number[lane * buckets_per_lane + i] = static_cast<std::uint8_t>(number);
      memory.next[number] = at;
      at += count[i];
      memory.end[number++] = at;
    }
    __syncwarp();
    for (std::uint32_t i = part.begin + lane; i < part.end; i += 32) digit_[i] = words.number[digit_[i]];
    __syncwarp();
    Warp warp;
    FewDigitsPass<Warp>(warp, digit_, digits, memory, order_[1]).place();
  }

  // A warp's work: a part of digit `low` and a higher one, whose places begin at `middle`.
  __device__ void place_two(const Part part, const std::uint32_t low, const std::uint32_t middle) {
    const std::uint32_t lane = threadIdx.x % 32, lanes_below = (1U << lane) - 1;
    std::uint32_t* const holes = place_ + part.begin;  // what place_ is for comes last
    std::uint32_t hole_count = 0;
    for (std::uint32_t first = part.begin; first < middle; first += 32) {
      const bool is_hole = first + lane < middle && digit_[first + lane] != low;
      const std::uint32_t found = __ballot_sync(whole_warp, is_hole);
      if (is_hole) holes[hole_count + __popc(found & lanes_below)] = first + lane;
      hole_count += __popc(found);
    }
    __syncwarp();
    std::uint32_t lows = 0;
    for (std::uint32_t first = middle; first < part.end && lows < hole_count; first += 32) {
      const std::uint32_t place = first + lane;
      const bool is_low = place < part.end && digit_[place] == low;
      const std::uint32_t found = __ballot_sync(whole_warp, is_low);
      if (place < part.end)
        place_of_two(place, middle, is_low, place > middle && digit_[place - 1] == low, lows + __popc(found & lanes_below), holes, hole_count,
                     order_[1]);
      lows += __popc(found);
    }
  }

  static constexpr std::uint32_t is_anchor = 1U << 31;  // in order_[1]: not a place, but the anchor
  static_assert(most_ordered_anchors < is_anchor);

  const AnchorKeys keys_;
  const std::uint32_t first_, count_;
  const std::uint64_t* const key_;
  const std::uint64_t* const sorted_key_;
  const std::uint32_t* const sorted_number_;
  std::uint32_t* const place_;
  std::uint32_t* order_[2];
  Part* const parts_;
  std::uint8_t* const digit_;
  Shared& shared_;
};

__global__ void __launch_bounds__(block_threads) order_kernel(const std::int64_t rows, const AnchorKeys keys, const Anchors anchors,
                                                              const TiedRows tied, const int size, const std::uint32_t most_anchors) {
  extern __shared__ __align__(16) std::uint8_t memory[];
  __shared__ RowOrder::Shared shared;
  const std::uint32_t count = tied.counts[size];
  const std::uint32_t* const list = tied.list + static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(rows);
  for (std::uint32_t i = blockIdx.x; i < count; i += gridDim.x) RowOrder(keys, anchors, tied, list[i], most_anchors, memory, shared).find();
}

}  // namespace

cudaError_t find_tied_rows(const DeviceReads& reads, const DeviceTables& tables, const Anchors& anchors, const TiedRows& tied, cudaStream_t stream) {
  if (anchors.anchors == 0) return cudaSuccess;
  find_kernel<<<blocks_for(anchors.anchors, block_threads), block_threads, 0, stream>>>(reads.rows, AnchorKeys(tables), anchors, tied);
  return cudaGetLastError();
}

void set_most_anchors(std::size_t shared_bytes, TiedRows& tied) {
  tied.most_anchors[0] = 16384;
  tied.most_anchors[1] = 65536;
  tied.most_anchors[2] = most_ordered_anchors;
  while (order_bytes(tied.most_anchors[2]) + sizeof(RowOrder::Shared) > shared_bytes) tied.most_anchors[2] -= 4096;
}

cudaError_t order_tied_rows(const DeviceReads& reads, const DeviceTables& tables, const Anchors& anchors, const TiedRows& tied, int multiprocessors,
                            cudaStream_t stream) {
  if (anchors.anchors == 0) return cudaSuccess;
  constexpr int blocks_per_multiprocessor[order_classes] = {6, 2, 1};
  const cudaError_t error = cudaFuncSetAttribute(order_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(order_bytes(tied.most_anchors[order_classes - 1])));
  if (error != cudaSuccess) return error;
  // The longest first: they end last.
  for (int size = order_classes - 1; size >= 0; --size) {
    const auto blocks = static_cast<unsigned>(multiprocessors * blocks_per_multiprocessor[size]);
    order_kernel<<<blocks, block_threads, order_bytes(tied.most_anchors[size]), stream>>>(reads.rows, AnchorKeys(tables), anchors, tied, size,
                                                                                          tied.most_anchors[size]);
  }
  return cudaGetLastError();
}

}  // namespace sluice::minimizer_seeding::cuda
