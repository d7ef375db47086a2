// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Adaptive banded event alignment on a CUDA device: a batch of reads, the same bits as align_events in abea.hpp.
//
// Usage: plan_batch on the host, upload its reads, reserve its workspace on the device, align_batch. Nothing here allocates on the device or waits
// for it.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/methods/abea/abea.hpp>
#include <span>
#include <vector>

namespace sluice::abea::cuda {

// What the host knows about one read before it is aligned. Plain bytes, copied to the device as they are.
struct ReadPlan {
  std::int64_t row;                       // of the batch
  std::int64_t event_begin;               // first element of the read in the event columns
  std::int64_t kmer_begin;                // likewise in the k-mer columns
  std::int64_t trace_begin;               // first 128-byte trace row in the workspace of its part
  std::int64_t level_begin;               // first 16-byte level in the workspace of its part
  std::int64_t guide_begin;               // first of the batch's words of 32 bits; -1: the bands move by their scores. For the caller to set
  double stay, step;                      // log-probabilities (transitions.hpp; by the host's logarithm, which no device has)
  float away_stay, away_step;             // in single precision, rounded away from zero (sum_with_emission)
  float narrow_skip, lowest_exact_score;  // narrow_arithmetic.hpp
  std::int32_t event_count, kmer_count;
  std::int32_t segment_begin;  // first of the segments that its path is summed up by
  bool narrow_possible;        // as far as the transitions decide it
  AlignmentStatus status;
};

// Reads that are aligned together.
struct BatchPart {
  std::int64_t first_read, read_count;
  std::int64_t segment_count, level_count;
};

// The reads of a batch in the order in which the device takes them: longest first, so that no long read begins when the others are done.
struct BatchPlan {
  std::vector<ReadPlan> reads;
  std::vector<BatchPart> parts;     // of reads, one after the other in the same workspace
  std::size_t workspace_bytes = 0;  // of the largest part: 32 per band (events + k-mers), 20 per k-mer, about 1,700 per read
};

// One part unless that would need more than workspace_limit; a part that is a single read may need more all the same. Offsets as in list columns:
// rows + 1 elements, ascending. Offsets that descend, or lists of different length, make reads without events or k-mers. Rows with a row_status other
// than 0 are not aligned and end as output_size_mismatch; none given: all are.
BatchPlan plan_batch(std::span<const std::int64_t> event_offsets, std::span<const std::int64_t> kmer_offsets, const KmerModelView& model,
                     const AlignmentLimits& limits, std::span<const std::uint16_t> row_status = {},
                     std::size_t workspace_limit = std::numeric_limits<std::size_t>::max());

// All pointers are to device memory; lists are the values behind the offsets given to plan_batch.
struct DeviceBatch {
  const float* event_means;  // pA
  const std::uint32_t* kmer_ranks;
  const float* scale;                     // one per row
  const float* shift;                     // pA, one per row
  const std::uint32_t* guides = nullptr;  // those of the reads that have one (abea.hpp), one after the other; null: none has
};
struct DeviceModel {
  const float* level_mean;
  const float* level_stdv;
  const float* log_level_stdv;
  std::uint32_t row_count;
};

// What is known about the alignment of a row beside its columns.
struct AlignmentReport {
  double average_emission;  // 0 when no path was found
  std::int64_t pair_count;
  std::int32_t end_event;
  std::int32_t longest_skip;
  std::int32_t narrow, checked, repeated, wide;  // bands by arithmetic
};
struct DeviceAlignments {
  std::int32_t* first_event;  // one per k-mer of the batch
  std::int32_t* last_event;
  double* events_per_base;   // one per row, 0 unless ok
  AlignmentStatus* status;   // one per row
  AlignmentReport* reports;  // one per row
};

// The arithmetic of the bands, for benchmarks and tests: double precision only where single precision might round differently, or everywhere. The
// bits are the same; mixed is nearly twice as fast.
enum class FillForm : std::uint8_t { mixed, wide };

struct DeviceWork {
  const ReadPlan* reads;  // of the part, in device memory
  BatchPart part;
  AlignmentLimits limits;
  void* workspace;  // plan.workspace_bytes, aligned to 256
};

// The steps of an alignment, each asynchronous on the stream. The result of a launch; errors of execution come from later calls, as always in CUDA.
cudaError_t prepare_levels(const DeviceWork& work, const DeviceBatch& batch, const DeviceModel& model, const DeviceAlignments& alignments,
                           cudaStream_t stream);
// And walks back along the paths.
cudaError_t fill_bands(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream,
                       FillForm form = FillForm::mixed);
cudaError_t sum_paths(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream);

// All of them, for all parts. reads: those of the plan, and workspace: plan.workspace_bytes aligned to 256, both in device memory.
cudaError_t align_batch(const BatchPlan& plan, const ReadPlan* reads, void* workspace, const AlignmentLimits& limits, const DeviceBatch& batch,
                        const DeviceModel& model, const DeviceAlignments& alignments, cudaStream_t stream, FillForm form = FillForm::mixed);

}  // namespace sluice::abea::cuda
