// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The methylation HMM on a CUDA device: the bits of score_groups (methylation.hpp) for every problem.
//
// Plain functions over device pointers and a stream. Nothing here allocates, waits or keeps state; what a function returns are the errors of its own
// launches. Arrays are device memory, columns as in a batch: a list column is rows + 1 offsets and the values of all rows.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "methylation_hmm/methylation.hpp"

namespace sluice::methylation_hmm::cuda {

// The k-mer model and the tables of the recurrence. Filled once per device: see upload_tables.
struct Tables {
  const float4* levels = nullptr;    // by rank: level_mean, level_stdv, log_level_stdv, 0
  const float* log_sums = nullptr;   // log_sum_table()
  const float* clipping = nullptr;   // extend_clipping()
  std::int64_t clipping_count = 0;   // problems of more events than this get ScoreStatus::no_such_event: give it the events of the longest read
  std::uint32_t k = 0;
};

// Bytes of device memory behind Tables.
std::size_t tables_bytes(const KmerModelView& model, std::int64_t longest_read_events);

// Computes the tables on the host and copies them into `memory` (tables_bytes, 256-byte aligned). Waits for the copy. cudaErrorInvalidValue when the model is not
// what score_groups takes.
cudaError_t upload_tables(const KmerModelView& model, std::int64_t longest_read_events, void* memory, cudaStream_t stream, Tables& tables);

// ReadSignal of many reads.
struct Reads {
  std::uint32_t count = 0;
  const std::int64_t* event_offsets = nullptr;  // count + 1
  const float* event_mean = nullptr;            // pA
  const float* scale = nullptr;
  const float* shift = nullptr;  // pA
  const float* var = nullptr;
  const float* log_var = nullptr;
  const double* events_per_base = nullptr;
  const std::uint8_t* is_reverse = nullptr;
};

// GroupProblem of many groups.
struct Problems {
  const std::uint32_t* count = nullptr;  // on the device: how many of the entries below there are, at most `capacity`
  std::uint32_t capacity = 0;
  const std::uint32_t* read = nullptr;
  const std::int32_t* first_event = nullptr;      // inclusive
  const std::int32_t* last_event = nullptr;       // inclusive
  const std::int64_t* sequence_begin = nullptr;   // offset into `bases`
  const std::int32_t* sequence_length = nullptr;  // within kMaximumSequenceLength, and within `bases`
  const char* bases = nullptr;                    // the reference
};

// GroupScore of many groups, `capacity` entries each; entries from *count on are not written.
struct Scores {
  float* log_lik_methylated = nullptr;
  float* log_lik_unmethylated = nullptr;
  ScoreStatus* status = nullptr;
};

// Bytes of scratch for score_groups.
std::size_t score_workspace_bytes(std::uint32_t reads, std::uint32_t problems);

// How many k-mers one lane holds, and threads a block: which is fastest is a matter of measurement.
struct ScoreShape {
  int columns_per_lane = 8;
  int threads = 640;
};

// Scores every problem under both hypotheses. One warp holds problems of like length, a group of lanes each hypothesis, a few adjacent k-mers a lane;
// rows travel through the lanes as a wave. `workspace`: score_workspace_bytes, 256-byte aligned.
cudaError_t score_groups(const Reads& reads, const Problems& problems, const Tables& tables, EventsPerBase events_per_base, const Scores& scores,
                         void* workspace, cudaStream_t stream, ScoreShape shape = {});

}  // namespace sluice::methylation_hmm::cuda
