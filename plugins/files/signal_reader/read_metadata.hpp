// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a signal file says of a read beside its signal: where and when it was sequenced.

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "signal_reader/fast5_file.hpp"
#include "signal_reader/pod5_file.hpp"
#include "signal_reader/signal_file.hpp"
#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

struct ReadMetadata {
  static constexpr std::int64_t unknown = -1;
  std::uint32_t read_group = 0;
  std::uint64_t sample_count = 0;
  double sampling_rate = 0;  // Hz
  std::int64_t channel = unknown, mux = unknown, read_number = unknown;
  std::int64_t start_sample = unknown;                              // of the read since the run began
  double median_before = std::numeric_limits<double>::quiet_NaN();  // pA, of the signal before the read
  std::string end_reason;
};

// Of a BLOW5 or SLOW5 record as it lies in the file. False: it can't be decompressed, or its fields are no such.
bool read_metadata(std::span<const char> stored, const Slow5Header& header, RecordDecoder& decoder, ReadMetadata& metadata);

// Of the record at a place of a FAST5 file.
ReadMetadata read_metadata(const Fast5Reads& reads, RecordPlace place);

// Of the record at a place of a POD5 file. Throws FormatProblem.
ReadMetadata read_metadata(const Pod5Reads& reads, RecordPlace place);

// Of either. Throws FormatProblem.
ReadMetadata read_metadata(const SignalFile& file, RecordPlace place);

}  // namespace sluice::signal_reader
