// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// align_events of event_alignment.hpp on a CUDA device, for many rows at once: the same events, positions and states. Nothing here allocates on the
// device; only upload_* wait for it.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "event_alignment/event_alignment.hpp"

namespace sluice::event_alignment::cuda {

// ---- What stays on the device ------------------------------------------------------------------------------------------

// All contigs, one behind the other.
struct Reference {
  const char* bases = nullptr;
  const std::int64_t* contig_begin = nullptr;  // contigs + 1
};
std::size_t reference_bytes(std::span<const std::string_view> contigs);
// Copies the contigs (host memory) into `memory` (reference_bytes, 256-byte aligned). Waits for the copies.
cudaError_t upload_reference(std::span<const std::string_view> contigs, void* memory, cudaStream_t stream, Reference& reference);

struct Model {
  const float4* levels = nullptr;  // by rank: level_mean, level_stdv, log_level_stdv
  std::uint32_t k = 0;
  LevelExtremes extremes;
};
std::size_t model_bytes(const CheckedModel& model);
// cudaErrorInvalidValue for a model that aligns nothing. Waits for the copy.
cudaError_t upload_model(const CheckedModel& model, void* memory, cudaStream_t stream, Model& on_device);

// ---- Rows --------------------------------------------------------------------------------------------------------------

// Columns of a batch, in device memory; lists are the values behind their offsets.
struct Rows {
  std::uint32_t count = 0;
  const std::int32_t* contig = nullptr;  // index into the reference
  const std::int64_t* ref_start = nullptr;
  const std::int64_t* ref_end = nullptr;  // exclusive
  const std::uint8_t* is_reverse = nullptr;
  const std::int64_t* cigar_offsets = nullptr;
  const std::uint32_t* cigar = nullptr;
  std::int64_t cigar_operations = 0;            // of all rows
  const std::int64_t* bases_offsets = nullptr;  // of the basecalled reads
  const std::int64_t* event_offsets = nullptr;
  const float* event_mean = nullptr;  // pA
  const std::int64_t* map_offsets = nullptr;
  const std::int32_t* first_event = nullptr;  // base-to-event map
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* var = nullptr;
  const float* log_var = nullptr;
  const double* events_per_base = nullptr;
};

// What the rows get, in device memory. An event is in a path once at most, so a row's path lies where its events do.
struct Paths {
  std::int32_t* event = nullptr;  // as many as there are events in all rows
  std::int32_t* position = nullptr;
  std::uint8_t* state = nullptr;
  std::int64_t* count = nullptr;   // by row
  RecordStatus* status = nullptr;  // by row
};

// A row's path is found in chunks of 800 events, by a warp each, from where the base-to-event map lets it expect the path; then a warp a row joins
// those that begin where the path really is, and walks what lies between. Chunks of the rows order[0 .. n): entry i of the result is the first one of
// order[i], entry n the count of all.
std::vector<std::uint32_t> chunks_of(std::span<const std::uint32_t> order, std::span<const std::int64_t> event_offsets);

// How rows are aligned: this decides the size of the workspace.
struct Plan {
  std::uint32_t chunks = 0;
  std::uint32_t stalled_warps = 0;  // with 8.4 MB each
};
// A row that ends with more than 1,024 events under its last segment gets `stalled`, and is aligned again by
Plan plan_usual(std::span<const std::uint32_t> chunk_begin);
// this one, in which a warp walks a row from its beginning.
Plan plan_stalled(std::uint32_t rows);
inline constexpr std::uint32_t kWarpsPerBlock = 4;

std::size_t workspace_bytes(const Rows& rows, std::uint32_t count, const Plan& plan);

// Aligns the rows `order[0 .. count)` (device memory, each row once), and writes their counts and statuses; count is 0 unless ok. chunk_begin:
// chunks_of(order) in device memory, not read by a stalled plan. workspace: workspace_bytes, 256-byte aligned.
cudaError_t align_rows(const Rows& rows, const std::uint32_t* order, std::uint32_t count, const std::uint32_t* chunk_begin,
                       const Reference& reference, const Model& model, const Settings& settings, const Plan& plan, void* workspace,
                       const Paths& paths, cudaStream_t stream);

// Lists without gaps: row r's path at offsets[r] (count + 1 of them, the sums of paths.count) of `to`, which may lack count and status.
cudaError_t gather_paths(const Rows& rows, const Paths& paths, const std::int64_t* offsets, const Paths& to, cudaStream_t stream);

}  // namespace sluice::event_alignment::cuda
