// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which samples of a read in a signal file belong to a read of the basecaller, which may be a part of it. Rules: dorado's SAM specification, change
// log and output; README.md tells them.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::signal_reader {

// [begin, end) in samples as the file counts them.
struct SampleRange {
  std::int64_t begin = 0, end = 0;
};

// The read in the signal file.
struct ParentRead {
  std::int64_t samples = 0;
  double sampling_rate = 0;          // Hz
  std::int64_t start_sample = -1;    // since the run began; -1: unknown
  std::int64_t acquisition_ms = -1;  // when the run began, since 1970 UTC; -1: unknown
  bool is_rna = false;
};

// What a row of the column signal_part says: {ts, ns}, or of a split read {ts, ns, sp, ms, front}; the stage basecaller_tags explains them.
struct SignalPart {
  std::int64_t ts = 0, ns = -1, sp = -1, start_ms = -1, front = -1;
  bool is_split = false;
  // Nothing: it is of another length.
  static std::optional<SignalPart> of(std::span<const std::int64_t> column);
  // Is the start of the parent in time wanted, too?
  bool needs_start(bool is_rna) const { return is_split && start_ms >= 0 && !(is_rna && sp >= 0); }
};

enum class PartStatus : std::uint8_t {
  ok,
  guessed,     // nothing says what sp counts from: it was taken as it is, which may be off by 10 samples
  impossible,  // not a part of this signal
};
struct ResolvedPart {
  PartStatus status = PartStatus::ok;
  SampleRange samples;
};
ResolvedPart resolve(const SignalPart& part, const ParentRead& parent);

// A time of a header (2024-12-19T20:43:16Z), or whole ms, as ms since 1970 UTC; -1: it is none.
std::int64_t time_of_header(std::string_view text);

}  // namespace sluice::signal_reader
