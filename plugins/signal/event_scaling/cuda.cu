// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Sums in the order of scaling.cpp on a CUDA device. Compile with -fmad=false: every operation stands for one of scaling.cpp.
//
// A sum in f64 is a chain of dependent additions that order forbids to split, but what is added is not: all threads of a block compute the terms of a
// tile of k-mers for a few reads into shared memory, and one lane a sum adds the tile before. Where scaling.cpp skips an element the term is 0:
// adding it changes no sum, for sums begin at +0 and never become -0.

#include <cub/block/block_scan.cuh>
#include <sluice/natural_log.hpp>
#include <vector>

#include "event_scaling/cuda.hpp"

namespace sluice::event_scaling::cuda {
namespace {

// ---- Ranks -------------------------------------------------------------------------------------------------------------

constexpr int kScanThreads = 1024;

__device__ bool is_skipped(const Rows& rows, std::uint32_t row) { return rows.row_status != nullptr && rows.row_status[row] != 0; }

// One block.
__global__ void __launch_bounds__(kScanThreads)
    compute_kmer_offsets(Rows rows, const std::int64_t* bases_offsets, std::uint32_t k, std::int64_t* offsets) {
  using Scan = cub::BlockScan<std::int64_t, kScanThreads>;
  __shared__ typename Scan::TempStorage storage;
  std::int64_t before = 0;
  for (std::int64_t begin = 0; begin < rows.count; begin += kScanThreads) {
    const std::int64_t row = begin + threadIdx.x;
    std::int64_t count = 0;
    if (row < rows.count && !is_skipped(rows, static_cast<std::uint32_t>(row))) {
      count = static_cast<std::int64_t>(read_kmer_count(static_cast<std::size_t>(bases_offsets[row + 1] - bases_offsets[row]), k));
    }
    std::int64_t sum = 0;
    std::int64_t all = 0;
    Scan(storage).ExclusiveSum(count, sum, all);
    __syncthreads();
    if (row < rows.count) offsets[row] = before + sum;
    before += all;
  }
  if (threadIdx.x == 0) offsets[rows.count] = before;
}

// The last row in [first, last] that begins at or before `at`; rows without k-mers are passed over.
__device__ std::uint32_t row_of(const std::int64_t* offsets, std::int64_t at, std::uint32_t first, std::uint32_t last) {
  while (first < last) {
    const std::uint32_t middle = last - (last - first) / 2;
    if (offsets[middle] <= at) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

__device__ std::uint32_t code_of(Alphabet alphabet, char letter) {
  const std::uint8_t code = base_code(alphabet, letter);
  return code == 0xFF ? 0U : code;
}

constexpr int kRankThreads = 256;
constexpr std::int64_t kRanksPerBlock = 16 * kRankThreads;

// A thread a k-mer: its letters come from L1.
__global__ void __launch_bounds__(kRankThreads)
    compute_ranks(Rows rows, const std::int64_t* bases_offsets, const char* bases, Alphabet alphabet, std::uint32_t k, const std::int64_t* offsets,
                  std::int64_t kmer_count, std::uint32_t* ranks) {
  __shared__ std::uint32_t shared_rows[2];
  const std::int64_t begin = blockIdx.x * kRanksPerBlock;
  const std::int64_t end = begin + kRanksPerBlock < kmer_count ? begin + kRanksPerBlock : kmer_count;
  if (threadIdx.x < 2) shared_rows[threadIdx.x] = row_of(offsets, threadIdx.x == 0 ? begin : end - 1, 0, rows.count - 1);
  __syncthreads();
  const std::uint32_t size = alphabet_size(alphabet);
  for (std::int64_t at = begin + threadIdx.x; at < end; at += kRankThreads) {
    const std::uint32_t row = row_of(offsets, at, shared_rows[0], shared_rows[1]);
    const char* const letters = bases + bases_offsets[row] + (at - offsets[row]);
    std::uint32_t rank = 0;
    for (std::uint32_t i = 0; i < k; ++i) rank = rank * size + code_of(alphabet, letters[i]);
    ranks[at] = rank;
  }
}

// ---- Sums in order -----------------------------------------------------------------------------------------------------

constexpr int kWarp = 32;
constexpr int kReadsPerBlock = 6;                            // five sums of six reads are the lanes of a warp
constexpr int kTile = 64;                                    // elements of a read
constexpr int kSumThreads = kWarp + kReadsPerBlock * kTile;  // the first warp adds, the others compute a term each
constexpr int kMaximumSums = 5;

struct Tiles {
  double terms[2][kReadsPerBlock][kTile + 1][kMaximumSums];  // one more, so that the reads lie in different banks
  double sums[kReadsPerBlock][kMaximumSums];
  unsigned long long length[kReadsPerBlock];
  int out_of_range[kReadsPerBlock];
};

// tiles.sums[slot][0 .. sums) = the terms of elements 0 .. tiles.length[slot] of the block's reads, added in that order to 0.
// make_terms(slot, element, terms): called by any thread, once for each element.
template <int sums, class MakeTerms>
__device__ void sum_in_order(Tiles& tiles, const MakeTerms& make_terms) {
  unsigned long long longest = 0;
  for (const unsigned long long length : tiles.length) longest = length > longest ? length : longest;
  const int maker = static_cast<int>(threadIdx.x) - kWarp;
  const int slot = static_cast<int>(threadIdx.x) / sums;
  const int which = static_cast<int>(threadIdx.x) % sums;
  const bool adds = maker < 0 && slot < kReadsPerBlock;
  double sum = 0.0;
  const unsigned long long tile_count = (longest + kTile - 1) / kTile;
  for (unsigned long long tile = 0; tile <= tile_count; ++tile) {
    if (maker >= 0 && tile < tile_count) {
      const unsigned long long element = tile * kTile + static_cast<unsigned>(maker % kTile);
      double terms[sums] = {};
      if (element < tiles.length[maker / kTile]) make_terms(maker / kTile, static_cast<std::int64_t>(element), terms);
#pragma unroll
      for (int s = 0; s < sums; ++s) tiles.terms[tile % 2][maker / kTile][maker % kTile][s] = terms[s];
    }
    if (adds && tile > 0) {
#pragma unroll 16
      for (int i = 0; i < kTile; ++i) sum += tiles.terms[(tile - 1) % 2][slot][i][which];
    }
    __syncthreads();
  }
  if (adds) tiles.sums[slot][which] = sum;
  __syncthreads();
}

__device__ std::int64_t list_length(const std::int64_t* offsets, std::uint32_t row) { return offsets[row + 1] - offsets[row]; }

// The i-th event of a row in time.
__device__ double event_mean(const Events& events, EventOrder order, std::uint32_t row, std::int64_t i) {
  return static_cast<double>(events.mean[order == EventOrder::descending ? events.offsets[row + 1] - 1 - i : events.offsets[row] + i]);
}

__device__ bool is_finite(float value) { return value >= -std::numeric_limits<float>::max() && value <= std::numeric_limits<float>::max(); }

__global__ void __launch_bounds__(kSumThreads)
    compute_moments(Rows rows, Events events, EventOrder order, Kmers kmers, Model model, Moments results) {
  __shared__ Tiles tiles;
  __shared__ double shifts[kReadsPerBlock];
  const std::uint32_t first_row = blockIdx.x * kReadsPerBlock;
  const int own_slot = static_cast<int>(threadIdx.x);
  const bool owns = own_slot < kReadsPerBlock && first_row + own_slot < rows.count;
  const bool works = owns && !is_skipped(rows, first_row + own_slot);
  std::int64_t event_count = 0;
  std::int64_t kmer_count = 0;
  if (works) {
    event_count = list_length(events.offsets, first_row + own_slot);
    kmer_count = list_length(kmers.offsets, first_row + own_slot);
  }
  if (own_slot < kReadsPerBlock) {
    tiles.length[own_slot] = static_cast<unsigned long long>(event_count == 0 || kmer_count == 0 ? 0
                                                             : event_count > kmer_count          ? event_count
                                                                                                 : kmer_count);
    tiles.out_of_range[own_slot] = 0;
  }
  __syncthreads();

  sum_in_order<3>(tiles, [&](int slot, std::int64_t i, double* terms) {
    const std::uint32_t row = first_row + slot;
    if (i < list_length(events.offsets, row)) terms[0] = event_mean(events, order, row, i);
    if (i >= list_length(kmers.offsets, row)) return;
    const std::uint32_t rank = kmers.rank[kmers.offsets[row] + i];
    if (rank >= model.count) {
      atomicOr(&tiles.out_of_range[slot], 1);
      return;
    }
    const auto level = static_cast<double>(model.levels[rank].x);
    terms[1] = level;
    terms[2] = level * level;
  });
  double level_square_mean = 0.0;
  if (own_slot < kReadsPerBlock) {
    if (tiles.length[own_slot] > 0) {
      shifts[own_slot] = tiles.sums[own_slot][0] / static_cast<double>(event_count) - tiles.sums[own_slot][1] / static_cast<double>(kmer_count);
      level_square_mean = tiles.sums[own_slot][2] / static_cast<double>(kmer_count);
    }
    if (tiles.length[own_slot] > 0) tiles.length[own_slot] = static_cast<unsigned long long>(tiles.out_of_range[own_slot] != 0 ? 0 : event_count);
  }
  __syncthreads();

  sum_in_order<1>(tiles, [&](int slot, std::int64_t i, double* terms) {
    const double difference = event_mean(events, order, first_row + slot, i) - shifts[slot];
    terms[0] = difference * difference;
  });
  if (!owns) return;
  const std::uint32_t row = first_row + own_slot;
  results.shift[row] = 0.0F;
  results.scale[row] = works ? 1.0F : 0.0F;
  ScalingStatus status = ScalingStatus::ok;
  if (works && kmer_count == 0) {
    status = ScalingStatus::read_too_short;
  } else if (works && event_count == 0) {
    status = ScalingStatus::no_events;
  } else if (works && tiles.out_of_range[own_slot] != 0) {
    status = ScalingStatus::bad_input;
  } else if (works) {
    const auto shift = static_cast<float>(shifts[own_slot]);
    const auto scale = static_cast<float>((tiles.sums[own_slot][0] / static_cast<double>(event_count)) / level_square_mean);
    if (is_finite(shift) && is_finite(scale)) {
      results.shift[row] = shift;
      results.scale[row] = scale;
    } else {
      status = ScalingStatus::singular;
    }
  }
  results.status[row] = status;
}

// Elements of the fit: for_each_event of recalibrate.
struct FitElement {
  double event;
  double level;
  double stdv;
};
enum class Use : std::uint8_t { none, fit, out_of_range };

__device__ Use element_of(const Events& events, const Kmers& kmers, const AlignedEvents& aligned, const Model& model, std::uint32_t row,
                          std::int64_t kmer, FitElement& element) {
  const std::int32_t* const firsts = aligned.first_event + aligned.first_offsets[row];
  const std::int32_t* const lasts = aligned.last_event + aligned.last_offsets[row];
  const std::uint32_t* const ranks = kmers.rank + kmers.offsets[row];
  const std::int32_t first = firsts[kmer];
  if (first < 0 || lasts[kmer] < first) return Use::none;
  const std::uint32_t rank = ranks[kmer];
  // The k-mer before that has events: each looks back over its own gap, so that the work stays linear.
  std::uint32_t previous_rank = 0xFFFFFFFFU;
  for (std::int64_t before = kmer - 1; before >= 0; --before) {
    if (firsts[before] >= 0 && lasts[before] >= firsts[before]) {
      previous_rank = ranks[before];
      break;
    }
  }
  if (rank == previous_rank) return Use::none;
  if (rank >= model.count || first >= list_length(events.offsets, row)) return Use::out_of_range;
  const float2 level = model.levels[rank];
  element = {static_cast<double>(events.mean[events.offsets[row] + first]), static_cast<double>(level.x), static_cast<double>(level.y)};
  return Use::fit;
}

__global__ void __launch_bounds__(kSumThreads) compute_recalibrations(Rows rows, Events events, Kmers kmers, AlignedEvents aligned, Model model,
                                                                      RecalibrationParams params, Recalibrations results) {
  __shared__ Tiles tiles;
  __shared__ double shifts[kReadsPerBlock];
  __shared__ double scales[kReadsPerBlock];
  __shared__ std::uint32_t used[kReadsPerBlock];
  const std::uint32_t first_row = blockIdx.x * kReadsPerBlock;
  const int own_slot = static_cast<int>(threadIdx.x);
  const bool owns = own_slot < kReadsPerBlock && first_row + own_slot < rows.count;
  const std::uint32_t own_row = first_row + own_slot;
  const bool works = owns && !is_skipped(rows, own_row);
  std::int64_t kmer_count = 0;
  bool same_lengths = true;
  if (works) {
    kmer_count = list_length(kmers.offsets, own_row);
    same_lengths = list_length(aligned.first_offsets, own_row) == kmer_count && list_length(aligned.last_offsets, own_row) == kmer_count;
  }
  if (own_slot < kReadsPerBlock) {
    tiles.length[own_slot] = same_lengths ? static_cast<unsigned long long>(kmer_count) : 0;
    tiles.out_of_range[own_slot] = same_lengths ? 0 : 1;
    used[own_slot] = 0;
  }
  __syncthreads();

  sum_in_order<5>(tiles, [&](int slot, std::int64_t kmer, double* terms) {
    FitElement element;
    const Use use = element_of(events, kmers, aligned, model, first_row + slot, kmer, element);
    if (use == Use::out_of_range) atomicOr(&tiles.out_of_range[slot], 1);
    if (use != Use::fit) return;
    const double weight = 1.0 / (element.stdv * element.stdv);
    terms[0] = weight;
    terms[1] = element.level * weight;
    terms[2] = element.level * element.level * weight;
    terms[3] = element.event * weight;
    terms[4] = element.level * element.event * weight;
    atomicAdd(&used[slot], 1U);
  });
  ScalingStatus status = ScalingStatus::ok;
  if (own_slot < kReadsPerBlock) {
    if (tiles.out_of_range[own_slot] != 0) {
      status = ScalingStatus::bad_input;
    } else if (used[own_slot] == 0 || used[own_slot] < params.min_recalibration_events) {
      status = ScalingStatus::too_few_events;
    }
    const double* const sums = tiles.sums[own_slot];
    const double a00 = sums[0];
    const double a01 = sums[1];
    const double a11 = sums[2];
    const double b0 = sums[3];
    const double b1 = sums[4];
    const double determinant = a00 * a11 - a01 * a01;
    shifts[own_slot] = -(a01 * b1 - a11 * b0) / determinant;
    scales[own_slot] = (a00 * b1 - a01 * b0) / determinant;
    if (status != ScalingStatus::ok) tiles.length[own_slot] = 0;
  }
  __syncthreads();

  sum_in_order<1>(tiles, [&](int slot, std::int64_t kmer, double* terms) {
    FitElement element;
    if (element_of(events, kmers, aligned, model, first_row + slot, kmer, element) != Use::fit) return;
    const double residual = element.event - shifts[slot] - scales[slot] * element.level;
    terms[0] = residual * residual / (element.stdv * element.stdv);
  });
  if (!owns) return;
  if (!works) status = ScalingStatus::ok;
  Recalibration result;
  if (works && status == ScalingStatus::ok) {
    const double var = sqrt(tiles.sums[own_slot][0] / static_cast<double>(used[own_slot]));
    result.shift = static_cast<float>(shifts[own_slot]);
    result.scale = static_cast<float>(scales[own_slot]);
    result.var = static_cast<float>(var);
    if (!is_finite(result.shift) || !is_finite(result.scale) || !is_finite(result.var) || result.var < std::numeric_limits<float>::min()) {
      status = ScalingStatus::singular;
    } else {
      result.log_var = static_cast<float>(natural_log(var));
      if (result.var > params.max_var) status = ScalingStatus::var_too_large;
    }
  }
  results.shift[own_row] = works ? result.shift : 0.0F;
  results.scale[own_row] = works ? result.scale : 0.0F;
  results.var[own_row] = works ? result.var : 0.0F;
  results.log_var[own_row] = works ? result.log_var : 0.0F;
  results.status[own_row] = status;
}

unsigned blocks_for_rows(const Rows& rows) { return (rows.count + kReadsPerBlock - 1) / kReadsPerBlock; }

}  // namespace

std::size_t model_bytes(const KmerModelView& model) { return sizeof(float2) * model.level_mean.size(); }

cudaError_t upload_model(const KmerModelView& model, void* memory, cudaStream_t stream, Model& uploaded) {
  if (model.k == 0 || model.k > max_k) return cudaErrorInvalidValue;
  const std::size_t count = kmer_count(model.alphabet, model.k);
  if (model.level_mean.size() != count || model.level_stdv.size() != count) return cudaErrorInvalidValue;
  std::vector<float2> levels(count);
  for (std::size_t i = 0; i < count; ++i) levels[i] = make_float2(model.level_mean[i], model.level_stdv[i]);
  if (const cudaError_t error = cudaMemcpyAsync(memory, levels.data(), sizeof(float2) * count, cudaMemcpyHostToDevice, stream); error != cudaSuccess)
    return error;
  uploaded = {static_cast<const float2*>(memory), static_cast<std::uint32_t>(count)};
  return cudaStreamSynchronize(stream);
}

cudaError_t kmer_offsets(const Rows& rows, const std::int64_t* bases_offsets, std::uint32_t k, std::int64_t* offsets, cudaStream_t stream) {
  compute_kmer_offsets<<<1, kScanThreads, 0, stream>>>(rows, bases_offsets, k, offsets);
  return cudaGetLastError();
}

cudaError_t kmer_ranks(const Rows& rows, const std::int64_t* bases_offsets, const char* bases, Alphabet alphabet, std::uint32_t k,
                       const std::int64_t* offsets, std::int64_t kmer_count, std::uint32_t* ranks, cudaStream_t stream) {
  if (kmer_count == 0) return cudaSuccess;
  if (k == 0 || k > max_k) return cudaErrorInvalidValue;
  const auto blocks = static_cast<unsigned>((kmer_count + kRanksPerBlock - 1) / kRanksPerBlock);
  compute_ranks<<<blocks, kRankThreads, 0, stream>>>(rows, bases_offsets, bases, alphabet, k, offsets, kmer_count, ranks);
  return cudaGetLastError();
}

cudaError_t moments(const Rows& rows, const Events& events, EventOrder order, const Kmers& kmers, const Model& model, const Moments& results,
                    cudaStream_t stream) {
  if (rows.count == 0) return cudaSuccess;
  compute_moments<<<blocks_for_rows(rows), kSumThreads, 0, stream>>>(rows, events, order, kmers, model, results);
  return cudaGetLastError();
}

cudaError_t recalibrate(const Rows& rows, const Events& events, const Kmers& kmers, const AlignedEvents& aligned, const Model& model,
                        const RecalibrationParams& params, const Recalibrations& results, cudaStream_t stream) {
  if (rows.count == 0) return cudaSuccess;
  compute_recalibrations<<<blocks_for_rows(rows), kSumThreads, 0, stream>>>(rows, events, kmers, aligned, model, params, results);
  return cudaGetLastError();
}

}  // namespace sluice::event_scaling::cuda
