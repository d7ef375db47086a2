// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which records have calls that can be believed, and their states.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "modification_pileup/alignment_record.hpp"
#include "modification_pileup/base_calls.hpp"

namespace sluice::modification_pileup {

enum class CallsReason : std::uint32_t {
  corrupt_record,
  bad_mm,
  bad_ml,
  other_length,
  hard_clipped,
  too_many_kinds,
  qc_fail,
  duplicate,
  without_bases
};
// The last three are records that are left out on purpose.
inline bool is_filtered(CallsReason reason) { return reason >= CallsReason::qc_fail; }

// Why a record is left out on purpose, if it is.
std::optional<CallsReason> reason_to_leave_out(const AlignmentRecord& record);

// Reusable memory, a record, and what decode() has made of it.
struct RecordCalls {
  AlignmentRecord record;
  std::vector<std::uint8_t> bases;
  BaseCallDecoder decoder;
  bool without_tags = false;

  // Of `record`. Nothing: it went well.
  std::optional<CallsReason> decode(const CallRules& rules);
};

}  // namespace sluice::modification_pileup
