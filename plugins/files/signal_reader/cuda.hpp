// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// BLOW5 records on a device: zlib streams are inflated, a warp each (inflate.hpp); what they hold is examined; svb-zd signals become samples. Between
// the second and the third the host looks at what was found: only rows without any doubt are decoded here.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "signal_reader/inflate.hpp"
#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader::cuda {

// A record to be inflated: its stored bytes begin at `stored` of them all, its text goes to `text` (a multiple of 16) and has room for `room` bytes.
struct RecordPlan {
  std::int64_t stored = 0, text = 0;
  std::uint32_t bytes = 0, room = 0;
  std::uint32_t row = 0;
};

// What was found of a row.
struct RecordFacts {
  static constexpr std::size_t head_bytes = 128;
  InflateStatus status = InflateStatus::unresolved;
  std::uint32_t bytes = 0, checksum = 0;  // as inflated
  std::uint32_t count = 0;                // svb-zd: samples, as the signal says
  std::uint64_t value_bytes = 0;          // svb-zd: what the values take by the control bytes; behind_text: these are not all there
  char head[head_bytes];                  // the text's first bytes, as far as there are so many
  static constexpr std::uint64_t behind_text = ~std::uint64_t{0};
};

// Inflates the plans' records, in their order as far as there is a choice, to `text`; facts[row] gets status, bytes and checksum.
cudaError_t inflate_records(const RecordPlan* plans, std::uint32_t count, const char* stored, std::uint8_t* text, RecordFacts* facts,
                            cudaStream_t stream);

// Behind it: compares the checksum (the status becomes `unresolved` where it differs), and fills in the rest of the facts. svb_zd: whether signals
// are.
cudaError_t examine_records(const RecordPlan* plans, std::uint32_t count, const std::uint8_t* text, bool svb_zd, RecordFacts* facts,
                            cudaStream_t stream);

// A signal to be decoded: svb-zd from its control bytes on, or samples as they are, at `text`; `count` samples go to `samples` of them all. Its bytes
// are known to be enough.
struct SignalPlan {
  std::int64_t text = 0, samples = 0;
  std::uint32_t count = 0;
};
cudaError_t decode_signals(const SignalPlan* plans, std::uint32_t count, const std::uint8_t* text, bool svb_zd, std::int16_t* samples,
                           cudaStream_t stream);

}  // namespace sluice::signal_reader::cuda
