// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the host makes of what a device has found of a record.

#include <algorithm>
#include <cstddef>
#include <span>

#include "signal_reader/cuda.hpp"
#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader::cuda {

// True if the host would decode the record, too, and to the same samples. Then `record` are its fields, the read's name in `facts`, and `signal` is
// where decode_signals() begins in its text.
inline bool resolve(const RecordFacts& facts, bool is_svb_zd, SignalRecord& record, std::size_t& signal) {
  if (facts.status != InflateStatus::ok) return false;
  const std::span<const char> head(facts.head, std::min<std::size_t>(facts.bytes, RecordFacts::head_bytes));
  if (parse_fields(head, record, signal) != RecordStatus::ok) return false;
  const std::uint64_t bytes_behind = facts.bytes - signal, stored_count = record.sample_count;
  if (!is_svb_zd) return stored_count <= bytes_behind / sizeof(std::int16_t);
  constexpr std::size_t count_bytes = sizeof facts.count;
  if (facts.value_bytes == RecordFacts::behind_text || stored_count > bytes_behind ||
      stored_count != count_bytes + svb_zd_control_bytes(facts.count) + facts.value_bytes)
    return false;
  record.sample_count = facts.count;
  signal += count_bytes;
  return true;
}

}  // namespace sluice::signal_reader::cuda
