// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/site_states.hpp"

#include <charconv>
#include <sluice/call_verdict.hpp>
#include <string_view>
#include <utility>

#include "modification_pileup/base_calls.hpp"

namespace sluice::modification_pileup {
namespace {

// Elements of kinds().
enum CallState : std::uint8_t { state_canonical = state_call, state_failed, state_modified };

ModificationCode code_of(const Motif& motif) {
  ModificationCode number = 0;
  const std::string_view code = motif.code;
  if (std::from_chars(code.data(), code.data() + code.size(), number).ec == std::errc()) return -number;
  return static_cast<unsigned char>(code.front());
}

}  // namespace

SiteStates::SiteStates(Motif motif, double call_threshold) : motif_(std::move(motif)), call_threshold_(call_threshold) {}

std::vector<std::int32_t> SiteStates::kinds() const {
  const auto base = static_cast<std::int32_t>(std::string_view("ACGT").find(motif_.base));
  std::vector<std::int32_t> numbers;
  for (const std::int32_t outcome : {CallKinds::canonical, CallKinds::failed, 0}) numbers.insert(numbers.end(), {base, outcome, 1, code_of(motif_)});
  return numbers;
}

SiteStatus SiteStates::fill(const AlignmentRecord& record, std::string_view contig, const GroupCalls& calls, AlignedStates& aligned) {
  using methylation::judge, methylation::Verdict;
  const sluice::Strand strand = record.is_reverse() ? sluice::Strand::reverse : sluice::Strand::forward;
  const MotifSites& sites = motif_.sites(strand);
  calls_.clear();
  call_states_.clear();
  for (std::size_t i = 0; i < calls.start.size(); ++i) {
    const Verdict verdict = judge(static_cast<double>(calls.methylated[i]) - static_cast<double>(calls.unmethylated[i]), call_threshold_);
    if (verdict == Verdict::not_a_number) continue;
    if (!methylation::append_group(contig, sites, {calls.start[i], calls.end[i], calls.motifs[i]}, 0, calls_)) return SiteStatus::not_on_reference;
    call_states_.resize(calls_.size(), verdict == Verdict::methylated     ? state_modified
                                       : verdict == Verdict::unmethylated ? state_canonical
                                                                          : state_failed);
  }
  cigar_.clear();
  for (std::size_t i = 0; i < record.cigar_parts(); ++i) {
    const auto [operation, length] = record.cigar_part(i);
    cigar_.push_back(static_cast<std::uint32_t>(length) << 4U | static_cast<std::uint32_t>(operation));
  }
  const methylation::RecordAlignment alignment{.reference_start = record.position(),
                                               .cigar = cigar_,
                                               .packed_bases = reinterpret_cast<const std::uint8_t*>(record.packed_bases().data()),
                                               .base_count = static_cast<std::int64_t>(record.base_count()),
                                               .strand = strand};
  if (!methylation::place_calls(alignment, sites, calls_, placed_)) return SiteStatus::alignment_without_read;
  record.decode_bases(bases_);
  for (std::uint8_t& base : bases_) base = base < base_count ? static_cast<std::uint8_t>(state_no_call + base) : std::uint8_t{state_other};
  for (const methylation::ReadCall& call : placed_) {
    const auto position = static_cast<std::size_t>(call.position);
    bases_[record.is_reverse() ? bases_.size() - 1 - position : position] = call_states_[call.call];
  }
  return align_states(record, bases_, {}, aligned) ? SiteStatus::fine : SiteStatus::alignment_without_read;
}

}  // namespace sluice::modification_pileup
