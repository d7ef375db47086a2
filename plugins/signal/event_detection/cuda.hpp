// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Event detection on a CUDA device: a batch of reads, the same bits as detect_events in events.hpp. README.md says how.
//
// Usage: find_boundaries; read event_offsets[rows], the number of events, back; allocate the columns; emit_events with the same workspace. Nothing
// here allocates, waits or keeps state; what a function returns are the errors of its own launches.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "event_detection/events.hpp"

namespace sluice::event_detection::cuda {

// Raw signals of a batch, all in device memory: a list column and one calibration per row.
struct Signals {
  std::int64_t rows = 0;
  const std::int64_t* offsets = nullptr;  // rows + 1, ascending
  const std::int16_t* samples = nullptr;
  std::int64_t sample_count = 0;              // values behind `samples`; offsets beyond it are cut there
  const double* offset = nullptr;             // raw units; these three are rounded to f32 first
  const double* range = nullptr;              // pA
  const double* digitisation = nullptr;       // number of raw levels
  const std::uint16_t* row_status = nullptr;  // rows where this is not 0 are left out (ok, without events); null: all take part
};

// How the signal is divided among threads, for benchmarks. The result is the same for all.
struct Division {
  int chunk_samples;    // per thread, a multiple of 32
  int warm_up_samples;  // before a chunk, a multiple of 8: from where a thread guesses the peak picker's state
};

// Of simulated DNA chunks, one in 100 is guessed wrongly after 16 samples, 1 in 15,000 after 32 and none of 100,000 after 48; of RNA ones 1 in 80
// after 96 and none of 4,000 after 192. A wrong guess sends its read to the slow walk.
constexpr Division division_for(const DetectorParams& params) { return params.window_short <= 3 ? Division{256, 64} : Division{1024, 256}; }

// Bytes of device memory for both calls: about 0.9 per sample and 250 per row.
std::size_t workspace_bytes(std::int64_t rows, std::int64_t sample_count, const Division& division);

// What happened, for tests and benchmarks; lies at the front of the workspace after find_boundaries.
struct Account {
  std::uint32_t slow_reads = 0;         // walked position by position
  std::uint32_t irregular_reads = 0;    // with samples or sums that the fast operations cannot do
  std::uint32_t exact_chunks = 0;       // chunks that the fast walk left to the exact one
  std::uint32_t definition_chunks = 0;  // of irregular reads: walked by the definition
  std::uint32_t special_chunks = 0;     // of irregular reads: events by the definition
  std::uint32_t wrong_guesses = 0;      // chunks whose guessed state was not the one their predecessor ended in
  std::uint32_t long_stretches = 0;     // where the long window might report a boundary
  std::uint32_t long_boundaries = 0;
};

// Called after each step's launches, for timing.
struct StepObserver {
  void (*finished)(void* context, const char* step, cudaStream_t stream) = nullptr;
  void* context = nullptr;
  void operator()(const char* step, cudaStream_t stream) const {
    if (finished != nullptr) finished(context, step, stream);
  }
};

// Finds the boundaries of every read. event_offsets: rows + 1, the list column's offsets. statuses: one per row.
cudaError_t find_boundaries(const Signals& signals, const DetectorParams& params, void* workspace, std::int64_t* event_offsets,
                            DetectionStatus* statuses, cudaStream_t stream, const Division& division, const StepObserver& observer = {});

// Columns of event_offsets[rows] values, see EventTable; null where not wanted.
struct EventColumns {
  float* mean = nullptr;  // pA
  std::int32_t* start_sample = nullptr;
  std::int32_t* length_samples = nullptr;
  float* stdv = nullptr;  // pA
};

// After find_boundaries with the same signals, parameters, workspace and division.
cudaError_t emit_events(const Signals& signals, const DetectorParams& params, void* workspace, const std::int64_t* event_offsets,
                        const EventColumns& events, cudaStream_t stream, const Division& division, const StepObserver& observer = {});

// Turns the events of each row around in place, so that the last in time comes first: for RNA, after emit_events. event_count: event_offsets[rows].
cudaError_t reverse_events(std::int64_t rows, const std::int64_t* event_offsets, std::int64_t event_count, const EventColumns& events,
                           cudaStream_t stream);

}  // namespace sluice::event_detection::cuda
