// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Both fits of the k-mer model on a CUDA device: the bits of scaling.hpp for all rows of a batch.
//
// Plain functions over device pointers and a stream. Nothing here allocates or keeps state, and only upload_model waits; what a function returns are
// the errors of its own launches. Arrays are device memory, columns as in a batch: a list column is rows + 1 offsets and the values of all rows.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <sluice/methods/event_scaling/scaling.hpp>

namespace sluice::event_scaling::cuda {

struct Model {
  const float2* levels = nullptr;  // by rank: level_mean, level_stdv
  std::uint32_t count = 0;
};
std::size_t model_bytes(const KmerModelView& model);
// Copies the model into `memory` (model_bytes, 256-byte aligned). Waits for the copy. cudaErrorInvalidValue when the model is not what moments takes.
cudaError_t upload_model(const KmerModelView& model, void* memory, cudaStream_t stream, Model& uploaded);

// Rows, of which those with a status other than 0 are not looked at (null: all are fine).
struct Rows {
  std::uint32_t count = 0;
  const std::uint16_t* row_status = nullptr;
};

// offsets: count + 1, of the k-mers of each read (none where the row is not looked at), so that offsets[count] is the number of all.
cudaError_t kmer_offsets(const Rows& rows, const std::int64_t* bases_offsets, std::uint32_t k, std::int64_t* offsets, cudaStream_t stream);

// kmer_ranks of every row: ranks has kmer_count = offsets[count] entries. k within [1, max_k].
cudaError_t kmer_ranks(const Rows& rows, const std::int64_t* bases_offsets, const char* bases, Alphabet alphabet, std::uint32_t k,
                       const std::int64_t* offsets, std::int64_t kmer_count, std::uint32_t* ranks, cudaStream_t stream);

struct Events {
  const std::int64_t* offsets = nullptr;
  const float* mean = nullptr;  // pA
};
struct Kmers {
  const std::int64_t* offsets = nullptr;
  const std::uint32_t* rank = nullptr;
};

// kmer_ranks and moments of every row, so that a read without k-mers is read_too_short whether or not it has events. A row that is not ok gets what
// MomentScaling begins with, one that is not looked at zeros and ScalingStatus::ok.
struct Moments {
  float* shift = nullptr;
  float* scale = nullptr;
  ScalingStatus* status = nullptr;
};
cudaError_t moments(const Rows& rows, const Events& events, EventOrder order, const Kmers& kmers, const Model& model, const Moments& results,
                    cudaStream_t stream);

// first_event and last_event of every k-mer: lists of their own, whose lengths must be those of the ranks (ScalingStatus::bad_input).
struct AlignedEvents {
  const std::int64_t* first_offsets = nullptr;
  const std::int32_t* first_event = nullptr;
  const std::int64_t* last_offsets = nullptr;
  const std::int32_t* last_event = nullptr;
};

// recalibrate of every row; a row that is not looked at gets zeros and ScalingStatus::ok.
struct Recalibrations {
  float* shift = nullptr;
  float* scale = nullptr;
  float* var = nullptr;
  float* log_var = nullptr;
  ScalingStatus* status = nullptr;
};
cudaError_t recalibrate(const Rows& rows, const Events& events, const Kmers& kmers, const AlignedEvents& aligned, const Model& model,
                        const RecalibrationParams& params, const Recalibrations& results, cudaStream_t stream);

}  // namespace sluice::event_scaling::cuda
