// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstring>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <sluice/cuda/warp.cuh>

#include "signal_reader/cuda.hpp"

namespace sluice::signal_reader::cuda {
namespace {

constexpr int threads = 256;
constexpr std::uint32_t samples_a_thread = 16, samples_a_tile = threads * samples_a_thread;

// What Inflater asks for, by a thread for each lane.
class WarpLanes {
 public:
  static constexpr std::uint32_t count = sluice::cuda::warp_lanes;
  template <class T>
  struct Value {
    T own;
    __device__ T& operator[](std::uint32_t) { return own; }
    __device__ const T& operator[](std::uint32_t) const { return own; }
  };
  __device__ explicit WarpLanes(std::uint32_t lane) : lane_(lane) {}
  template <class Body>
  __device__ void each(Body body) const {
    body(lane_);
    __syncwarp();
  }
  template <class Body>
  __device__ void first(Body body) const {
    if (lane_ == 0) body();
    __syncwarp();
  }
  template <class T>
  __device__ T from_first(T value) const {
    return __shfl_sync(sluice::cuda::whole_warp, value, 0);
  }
  __device__ bool any(const Value<bool>& value) const { return __any_sync(sluice::cuda::whole_warp, value.own) != 0; }
  __device__ std::uint32_t lowest(const Value<bool>& value) const {
    const std::uint32_t lanes = __ballot_sync(sluice::cuda::whole_warp, value.own);
    return lanes == 0 ? count : static_cast<std::uint32_t>(__ffs(static_cast<int>(lanes)) - 1);
  }
  template <class T>
  __device__ T at(const Value<T>& value, std::uint32_t lane) const {
    static_assert(sizeof(T) % sizeof(std::uint32_t) == 0);
    std::uint32_t words[sizeof(T) / sizeof(std::uint32_t)];
    std::memcpy(words, &value.own, sizeof words);
    for (std::uint32_t& word : words) word = __shfl_sync(sluice::cuda::whole_warp, word, static_cast<int>(lane));
    T result;
    std::memcpy(&result, words, sizeof words);
    return result;
  }
  template <class T>
  __device__ Value<T> up(const Value<T>& value) const {
    return {static_cast<T>(__shfl_up_sync(sluice::cuda::whole_warp, value.own, 1))};
  }
  __device__ std::uint32_t sum_before(Value<std::uint32_t>& value) const {
    const std::uint32_t own = value.own, sum = sluice::cuda::inclusive_sum_over_warp(own, static_cast<int>(lane_));
    value.own = sum - own;
    return __shfl_sync(sluice::cuda::whole_warp, sum, count - 1);
  }

 private:
  std::uint32_t lane_;
};

__global__ void __launch_bounds__(sluice::cuda::warp_lanes)
    inflate_kernel(const RecordPlan* plans, const char* stored, std::uint8_t* text, RecordFacts* facts) {
  __shared__ InflateMemory memory;
  const RecordPlan plan = plans[blockIdx.x];
  WarpLanes lanes(threadIdx.x);
  const auto* const stream = reinterpret_cast<const std::uint8_t*>(stored) + plan.stored;
  const Inflated made = Inflater<WarpLanes>(lanes, stream, plan.bytes, text + plan.text, plan.room, memory).run();
  if (threadIdx.x != 0) return;
  facts[plan.row].status = made.status;
  facts[plan.row].bytes = made.bytes;
  facts[plan.row].checksum = made.checksum;
}

// Adler-32 (RFC 1950, section 8.2) of a text that begins at a multiple of four bytes; thread 0 gets it.
__device__ std::uint32_t checksum_of(const std::uint8_t* text, std::uint32_t bytes) {
  using Reduce = cub::BlockReduce<std::uint64_t, threads>;
  __shared__ typename Reduce::TempStorage memory;
  constexpr std::uint64_t prime = 65521;
  std::uint64_t sum = 0, weighted = 0;
  for (std::uint32_t at = threadIdx.x * 4; at < bytes; at += threads * 4) {
    std::uint32_t word = 0;
    if (bytes - at >= 4) {
      word = *reinterpret_cast<const std::uint32_t*>(text + at);
    } else {
      for (std::uint32_t i = 0; i < bytes - at; ++i) word |= std::uint32_t{text[at + i]} << (8 * i);
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint64_t byte = word >> (8 * i) & 0xFF;
      sum += byte;
      weighted += byte * (bytes - at - i);
    }
  }
  sum = Reduce(memory).Sum(sum);
  __syncthreads();
  weighted = Reduce(memory).Sum(weighted);
  return static_cast<std::uint32_t>((weighted + bytes) % prime << 16 | (sum + 1) % prime);
}

__device__ std::uint32_t four_bytes(const std::uint8_t* at) {
  return at[0] | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[3]} << 24;
}
// The lengths, less one, of the values whose two bits each the word has.
__device__ std::uint32_t sum_of_pairs(std::uint32_t word) {
  word = (word & 0x33333333U) + (word >> 2 & 0x33333333U);
  word = (word & 0x0F0F0F0FU) + (word >> 4 & 0x0F0F0F0FU);
  return word * 0x01010101U >> 24;
}
// The control bytes of 16 values, of which the first `values` (up to 16) count; the others are as if they were short.
__device__ std::uint32_t controls_of(const std::uint8_t* control, std::uint32_t values) {
  if (values >= samples_a_thread) return four_bytes(control);
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < values; i += 4) word |= std::uint32_t{control[i / 4]} << (2 * i);
  return values == 0 ? 0 : word & ((1U << (2 * values)) - 1);
}

__global__ void __launch_bounds__(threads)
    examine_kernel(const RecordPlan* plans, const std::uint8_t* all_text, bool svb_zd, RecordFacts* all_facts) {
  using Reduce = cub::BlockReduce<std::uint64_t, threads>;
  __shared__ typename Reduce::TempStorage memory;
  const RecordPlan plan = plans[blockIdx.x];
  RecordFacts& facts = all_facts[plan.row];
  if (facts.status != InflateStatus::ok) return;
  const std::uint8_t* const text = all_text + plan.text;
  const std::uint32_t bytes = facts.bytes;
  const std::uint32_t checksum = checksum_of(text, bytes);
  for (std::uint32_t i = threadIdx.x; i < RecordFacts::head_bytes; i += threads) facts.head[i] = i < bytes ? static_cast<char>(text[i]) : '\0';
  std::uint32_t count = 0;
  std::uint64_t value_bytes = RecordFacts::behind_text;
  const std::uint32_t signal = bytes < 2 ? bytes : 2 + (text[0] | std::uint32_t{text[1]} << 8) + record_fields_after_name;
  if (svb_zd && signal + std::uint64_t{4} <= bytes) {
    count = four_bytes(text + signal);
    const std::uint64_t control_bytes = (std::uint64_t{count} + 3) / 4;
    if (signal + 4 + control_bytes <= bytes) {
      std::uint64_t mine = 0;
      for (std::uint64_t at = threadIdx.x * samples_a_thread; at < count; at += samples_a_tile) {
        const auto values = static_cast<std::uint32_t>(min(std::uint64_t{samples_a_thread}, count - at));
        mine += values + sum_of_pairs(controls_of(text + signal + 4 + at / 4, values));
      }
      value_bytes = Reduce(memory).Sum(mine);
    }
  }
  if (threadIdx.x != 0) return;
  if (checksum != facts.checksum) facts.status = InflateStatus::unresolved;
  facts.count = count;
  facts.value_bytes = value_bytes;
}

// Tiles of samples, one after the other: where each thread's values begin, their sum, and then the samples themselves, written in order.
__global__ void __launch_bounds__(threads) svb_zd_kernel(const SignalPlan* plans, const std::uint8_t* all_text, std::int16_t* all_samples) {
  using Scan = cub::BlockScan<std::uint32_t, threads>;
  __shared__ typename Scan::TempStorage memory;
  __shared__ std::int16_t tile[samples_a_tile];
  const SignalPlan plan = plans[blockIdx.x];
  const std::uint8_t* const control = all_text + plan.text;
  const std::uint8_t* data = control + (std::uint64_t{plan.count} + 3) / 4;
  std::uint32_t level = 0;
  for (std::uint64_t first = 0; first < plan.count; first += samples_a_tile) {
    const std::uint64_t mine = first + threadIdx.x * samples_a_thread;
    const auto values = mine < plan.count ? static_cast<std::uint32_t>(min(std::uint64_t{samples_a_thread}, plan.count - mine)) : 0U;
    const std::uint32_t controls = controls_of(control + mine / 4, values);
    std::uint32_t before = 0, tile_bytes = 0;
    Scan(memory).ExclusiveSum(values + sum_of_pairs(controls), before, tile_bytes);
    std::uint32_t sums[samples_a_thread];
    std::uint32_t sum = 0;
    const std::uint8_t* at = data + before;
#pragma unroll
    for (std::uint32_t i = 0; i < samples_a_thread; ++i) {
      if (i < values) {
        const std::uint32_t more = controls >> (2 * i) & 3;
        std::uint32_t zigzag = *at++;
        for (std::uint32_t byte = 1; byte <= more; ++byte) zigzag |= std::uint32_t{*at++} << (8 * byte);
        sum += (zigzag >> 1) ^ (0U - (zigzag & 1));
      }
      sums[i] = sum;
    }
    __syncthreads();
    std::uint32_t level_before = 0, tile_sum = 0;
    Scan(memory).ExclusiveSum(sum, level_before, tile_sum);
#pragma unroll
    for (std::uint32_t i = 0; i < samples_a_thread; ++i)
      tile[threadIdx.x * samples_a_thread + i] = static_cast<std::int16_t>(static_cast<std::uint16_t>(level + level_before + sums[i]));
    __syncthreads();
    const auto in_tile = static_cast<std::uint32_t>(min(std::uint64_t{samples_a_tile}, plan.count - first));
    std::int16_t* const out = all_samples + plan.samples + first;
    for (std::uint32_t i = threadIdx.x; i < in_tile; i += threads) out[i] = tile[i];
    level += tile_sum;
    data += tile_bytes;
  }
}

__global__ void __launch_bounds__(threads) plain_samples_kernel(const SignalPlan* plans, const std::uint8_t* all_text, std::int16_t* all_samples) {
  const SignalPlan plan = plans[blockIdx.x];
  const std::uint8_t* const from = all_text + plan.text;
  for (std::uint64_t i = threadIdx.x; i < plan.count; i += threads)
    all_samples[plan.samples + static_cast<std::int64_t>(i)] = static_cast<std::int16_t>(from[2 * i] | from[2 * i + 1] << 8);
}

}  // namespace

cudaError_t inflate_records(const RecordPlan* plans, std::uint32_t count, const char* stored, std::uint8_t* text, RecordFacts* facts,
                            cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  inflate_kernel<<<count, sluice::cuda::warp_lanes, 0, stream>>>(plans, stored, text, facts);
  return cudaGetLastError();
}

cudaError_t examine_records(const RecordPlan* plans, std::uint32_t count, const std::uint8_t* text, bool svb_zd, RecordFacts* facts,
                            cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  examine_kernel<<<count, threads, 0, stream>>>(plans, text, svb_zd, facts);
  return cudaGetLastError();
}

cudaError_t decode_signals(const SignalPlan* plans, std::uint32_t count, const std::uint8_t* text, bool svb_zd, std::int16_t* samples,
                           cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  if (svb_zd)
    svb_zd_kernel<<<count, threads, 0, stream>>>(plans, text, samples);
  else
    plain_samples_kernel<<<count, threads, 0, stream>>>(plans, text, samples);
  return cudaGetLastError();
}

}  // namespace sluice::signal_reader::cuda
