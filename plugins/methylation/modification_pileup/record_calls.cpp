// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/record_calls.hpp"

namespace sluice::modification_pileup {
namespace {

bool is_hard_clipped(const AlignmentRecord& record) {
  for (std::size_t i = 0; i < record.cigar_parts(); ++i)
    if (record.cigar_part(i).operation == CigarOperation::hard_clip && record.cigar_part(i).length > 0) return true;
  return false;
}

}  // namespace

std::optional<CallsReason> reason_to_leave_out(const AlignmentRecord& record) {
  if ((record.flag() & AlignmentRecord::qc_fail_flag) != 0) return CallsReason::qc_fail;
  if ((record.flag() & AlignmentRecord::duplicate_flag) != 0) return CallsReason::duplicate;
  if (record.base_count() == 0) return CallsReason::without_bases;
  return std::nullopt;
}

std::optional<CallsReason> RecordCalls::decode(const CallRules& rules) {
  if (const std::optional<CallsReason> reason = reason_to_leave_out(record)) return reason;
  record.decode_bases(bases);
  const char* mm = record.has_tag("MM") ? "MM" : "Mm";
  without_tags = !record.has_tag(mm);
  if (without_tags) {
    decoder.without_tags(bases);
    return std::nullopt;
  }
  const std::optional<std::string_view> positions = record.text_tag(mm);
  if (!positions) return CallsReason::bad_mm;
  const std::optional<std::int64_t> length = record.integer_tag("MN");
  if (length && *length != static_cast<std::int64_t>(record.base_count())) return CallsReason::other_length;
  if (!length && is_hard_clipped(record)) return CallsReason::hard_clipped;
  const char* ml = record.has_tag("ML") ? "ML" : "Ml";
  const std::optional<std::span<const std::uint8_t>> probabilities = record.bytes_tag(ml);
  if (!probabilities && record.has_tag(ml)) return CallsReason::bad_ml;
  switch (decoder.decode(bases, *positions, probabilities, rules)) {
    case DecodeStatus::fine:
      return std::nullopt;
    case DecodeStatus::bad_positions:
      return CallsReason::bad_mm;
    case DecodeStatus::bad_probabilities:
      return CallsReason::bad_ml;
    case DecodeStatus::too_many_kinds:
      break;
  }
  return CallsReason::too_many_kinds;
}

}  // namespace sluice::modification_pileup
