// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The two calls of cuda.hpp; the steps are in cuda_walk.cu, cuda_slow.cu and cuda_emission.cu. Compile them all with -fmad=false.
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>

#include "event_detection/cuda_batch.hpp"

namespace sluice::event_detection::cuda {
namespace {

enum class Parameters : std::uint8_t { bad, chunked, other };

__global__ void prepare_reads(Frame frame, Parameters parameters, DetectionStatus* statuses) {
  const std::int64_t row = thread_index();
  if (row == 0) *frame.account = Account{};
  if (row >= frame.signals.rows) return;
  const Signals& signals = frame.signals;
  const std::int64_t begin = min(max(signals.offsets[row] + frame.shift, frame.shift), signals.sample_count);
  const std::int64_t length = min(max(signals.offsets[row + 1] + frame.shift, begin), signals.sample_count) - begin;
  constexpr std::int64_t longest = INT_MAX - 4096;
  ReadRecord read{};
  read.begin = begin;
  read.length = static_cast<std::int32_t>(min(length, longest));
  read.offset = static_cast<float>(signals.offset[row]);
  read.unit = static_cast<float>(signals.range[row]) / static_cast<float>(signals.digitisation[row]);
  read.smallest = FLT_MAX;
  read.largest = 0.0F;
  DetectionStatus status = DetectionStatus::ok;
  if (signals.row_status == nullptr || signals.row_status[row] == 0) {
    read.path = parameters == Parameters::chunked ? ReadPath::chunked : ReadPath::slow;
    const bool usable = isfinite(read.offset) && isfinite(read.unit) && read.unit != 0.0F;
    if (parameters == Parameters::bad) {
      status = DetectionStatus::bad_parameters;
    } else if (length == 0) {
      status = DetectionStatus::empty_signal;
    } else if (length > longest) {
      status = DetectionStatus::signal_too_long;
    } else if (!usable) {
      status = DetectionStatus::bad_calibration;
    }
    if (status != DetectionStatus::ok) read.path = ReadPath::skipped;
  }
  frame.records[row] = read;
  statuses[row] = status;
}

// A read's first event starts at its first sample; reads without a boundary fail.
__global__ void finish_reads(Frame frame, DetectionStatus* statuses) {
  const std::int64_t row = thread_index();
  if (row >= frame.signals.rows) return;
  ReadRecord& read = frame.records[row];
  if (read.path == ReadPath::skipped) return;
  if (read.path == ReadPath::slow ? read.slow_boundary != 0 : read.has_boundary != 0) {
    mark(frame, read.begin);
    return;
  }
  statuses[row] = read.out_of_range != 0 ? DetectionStatus::sample_out_of_range : DetectionStatus::no_boundary;
  read.path = ReadPath::skipped;
}

Parameters classify(const DetectorParams& p) {
  const auto window_ok = [](std::uint32_t window) { return window >= 2 && window <= max_window; };
  const auto level_ok = [](float level) { return std::isfinite(level) && level >= 0.0F; };
  if (!window_ok(p.window_short) || !window_ok(p.window_long) || !level_ok(p.threshold_short) || !level_ok(p.threshold_long) ||
      !level_ok(p.peak_height)) {
    return Parameters::bad;
  }
  const bool windows = (p.window_short == 3 || p.window_short == 7) && p.window_long == 2 * p.window_short;
  // Within a low peak of the short detector, the bound must hold without a look.
  return windows && statistic_bound(p) >= p.threshold_short ? Parameters::chunked : Parameters::other;
}

bool usable(const Division& d) {
  return d.chunk_samples >= 32 && d.chunk_samples <= 1 << 20 && d.chunk_samples % 32 == 0 && d.warm_up_samples >= 0 && d.warm_up_samples <= 1 << 20 &&
         d.warm_up_samples % 8 == 0;
}

}  // namespace

std::size_t workspace_bytes(std::int64_t rows, std::int64_t sample_count, const Division& division) {
  return usable(division) ? Layout(rows, sample_count, division).bytes : 0;
}

cudaError_t find_boundaries(const Signals& signals, const DetectorParams& params, void* workspace, std::int64_t* event_offsets,
                            DetectionStatus* statuses, cudaStream_t stream, const Division& division, const StepObserver& observer) {
  if (!usable(division) || signals.rows < 0 || signals.sample_count < 0 || reinterpret_cast<std::uintptr_t>(signals.samples) % 2 != 0)
    return cudaErrorInvalidValue;
  if (signals.rows == 0) return cudaMemsetAsync(event_offsets, 0, sizeof(*event_offsets), stream);
  constexpr int threads = 256;
  const Frame frame(signals, params, workspace, division);
  const Parameters parameters = classify(params);
  cudaError_t error = cudaMemsetAsync(frame.marks, 0, frame.cleared_bytes, stream);
  if (error != cudaSuccess) return error;
  prepare_reads<<<blocks_for(signals.rows, threads), threads, 0, stream>>>(frame, parameters, statuses);
  if (error = cudaGetLastError(); error != cudaSuccess) return error;
  observer("prepare", stream);
  if (parameters == Parameters::chunked) {
    if (error = walk_chunks(frame, stream, observer); error != cudaSuccess) return error;
    if (error = walk_irregular_reads(frame, stream); error != cudaSuccess) return error;
    observer("irregular reads", stream);
    if (error = compare_chunks(frame, stream); error != cudaSuccess) return error;
    observer("compare guesses", stream);
  }
  if (error = walk_slow_reads(frame, stream); error != cudaSuccess) return error;
  observer("slow reads", stream);
  if (error = walk_stretches(frame, stream); error != cudaSuccess) return error;
  finish_reads<<<blocks_for(signals.rows, threads), threads, 0, stream>>>(frame, statuses);
  observer("long stretches", stream);
  if (error = count_events(frame, event_offsets, stream); error != cudaSuccess) return error;
  observer("count", stream);
  return cudaSuccess;
}

cudaError_t emit_events(const Signals& signals, const DetectorParams& params, void* workspace, const std::int64_t* event_offsets,
                        const EventColumns& events, cudaStream_t stream, const Division& division, const StepObserver& observer) {
  if (!usable(division)) return cudaErrorInvalidValue;
  if (signals.rows == 0 || signals.sample_count == 0) return cudaSuccess;
  const Frame frame(signals, params, workspace, division);
  if (const cudaError_t error = emit_tiles(frame, events, stream); error != cudaSuccess) return error;
  observer("emit", stream);
  if (const cudaError_t error = emit_irregular_reads(frame, events, stream); error != cudaSuccess) return error;
  observer("emit irregular reads", stream);
  const cudaError_t error = emit_slow_reads(frame, event_offsets, events, stream);
  observer("emit slow reads", stream);
  return error;
}

}  // namespace sluice::event_detection::cuda
