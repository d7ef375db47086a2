// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Segmentation of a nanopore current trace into events: stretches of samples that belong to one level.
// Method: the two-window t-statistic detector of scrappie, as f5c 1.6 and nanopolish 0.14 use it. See README.md.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::event_detection {

// The step detector: windows in samples, thresholds and peak height in units of the t-statistic (dimensionless).
struct DetectorParams {
  std::uint32_t window_short = 3;
  std::uint32_t window_long = 6;
  float threshold_short = 1.4F;
  float threshold_long = 9.0F;
  float peak_height = 0.2F;

  // The values of f5c: DNA for R9 and R10 pores alike, RNA for the R9 direct RNA and RNA004 kits alike.
  static constexpr DetectorParams dna() { return {}; }
  static constexpr DetectorParams rna() { return {7, 14, 2.5F, 9.0F, 1.0F}; }
};

// Windows must lie in [2, max_window]; the buffers of a workspace are sized for max_window.
inline constexpr std::uint32_t max_window = 256;

// Samples of larger magnitude (pA) are refused: no pore carries them, and below this bound no square, sum or
// t-statistic can overflow, which keeps NaN out of every comparison.
inline constexpr float max_picoamps = 0x1p40F;

// From analogue-digital units to picoamperes: pA = (raw + offset) * (range / digitisation), each operation in f32.
struct Calibration {
  float offset = 0.0F;        // in raw units
  float range = 1.0F;         // pA
  float digitisation = 1.0F;  // number of raw levels
};

enum class DetectionStatus : std::uint8_t {
  ok,
  empty_signal,         // no samples
  no_boundary,          // the detector found no step; f5c reads outside its arrays here, sluice fails the read
  bad_calibration,      // the unit range / digitisation is zero or not finite, or the offset is not finite
  bad_parameters,       // a window outside [2, max_window], a negative or non-finite threshold or peak height
  sample_out_of_range,  // a sample is not finite or exceeds max_picoamps
  signal_too_long,      // more than 2^31 - 1 - 4096 samples: positions are 32 bits
};

// Reason code of a failed read, as it appears in the per-read account: the enumerator's name.
std::string_view name(DetectionStatus status);

// The events of one read in order of time, one entry per event in each column. They tile the signal: the first
// starts at sample 0, each next one where the one before ends, the last ends at the last sample.
struct EventTable {
  std::vector<std::int32_t> start_sample;
  std::vector<std::int32_t> length_samples;
  std::vector<float> mean;  // pA
  std::vector<float> stdv;  // pA, of the population

  std::size_t size() const { return start_sample.size(); }
  void clear();
  // Drops events that begin before `sample`, but not the last one. They no longer tile the signal from its first sample on.
  void drop_before(std::int64_t sample);
};

// How many of the events, whose first samples ascend, begin before `sample`; all but one at most.
std::int64_t events_before(std::span<const std::int32_t> start_samples, std::int64_t sample);

// Scratch memory of one thread: 42 KiB, plus up to 40 bytes per event and 40 bytes per 1,024 samples of the largest read
// seen. Reused from read to read, so that the steady state allocates nothing.
class DetectorWorkspace {
 public:
  DetectorWorkspace();
  ~DetectorWorkspace();
  DetectorWorkspace(DetectorWorkspace&&) noexcept;
  DetectorWorkspace& operator=(DetectorWorkspace&&) noexcept;

  struct Buffers;
  Buffers& buffers() { return *buffers_; }

 private:
  std::unique_ptr<Buffers> buffers_;
};

// Detects the events of one read; the whole signal is used, without trimming (what f5c does in effect). On any status
// but ok the table is empty. The columns keep their capacity. Safe to call from many threads, each with its own
// workspace and table. Throws std::bad_alloc only.
DetectionStatus detect_events(std::span<const std::int16_t> raw, const Calibration& calibration, const DetectorParams& params,
                              DetectorWorkspace& workspace, EventTable& events);

// The same for a signal that is in picoamperes already.
DetectionStatus detect_events(std::span<const float> picoamps, const DetectorParams& params, DetectorWorkspace& workspace, EventTable& events);

// Converts raw samples to pA as detect_events does; picoamps must have raw's size (std::invalid_argument otherwise).
// Returns ok, bad_calibration or sample_out_of_range (then picoamps holds no usable values).
DetectionStatus to_picoamps(std::span<const std::int16_t> raw, const Calibration& calibration, std::span<float> picoamps);

}  // namespace sluice::event_detection
