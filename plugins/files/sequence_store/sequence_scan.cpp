// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/sequence_scan.hpp"

#include <algorithm>
#include <sluice/failure.hpp>

namespace sluice::sequence_store {

void SequenceScan::begin_record(std::string_view name) {
  table_->names += name;
  table_->name_offsets.push_back(static_cast<std::int64_t>(table_->names.size()));
  bases_offset_ = qualities_offset_ = -1;
  any_quality_ = false;
}

void SequenceScan::take(std::string_view letters, std::int64_t& offset) {
  if (places_ != Places::packed) return;
  if (offset < 0) offset = packed_;
  sink_->take(letters);
  packed_ += static_cast<std::int64_t>(letters.size());
}

void SequenceScan::take_bases(std::string_view letters) { take(letters, bases_offset_); }

void SequenceScan::take_qualities(std::string_view letters) {
  any_quality_ = any_quality_ || letters.find_first_not_of('!') != std::string_view::npos;
  take(letters, qualities_offset_);
}

bool SequenceScan::end_record(const SequenceTextRecord& record) {
  const SequenceLines &bases = record.bases, &qualities = record.qualities;
  const bool one_line = bases.line_letters == bases.letters;
  if (places_ == Places::in_text) {
    const bool alike = !any_quality_ || (one_line ? qualities.line_letters == qualities.letters
                                                  : qualities.line_letters == bases.line_letters && qualities.line_bytes == bases.line_bytes);
    if (!bases.even || !qualities.even || !alike) return false;
    bases_offset_ = bases.letters > 0 ? static_cast<std::int64_t>(begin_ + bases.begin) : 0;
    qualities_offset_ = static_cast<std::int64_t>(begin_ + qualities.begin);
  }
  const bool in_one = places_ == Places::packed || one_line;
  const auto at_least_one = [](std::uint64_t count) { return std::max<std::int64_t>(static_cast<std::int64_t>(count), 1); };
  table_->length.push_back(static_cast<std::int64_t>(bases.letters));
  table_->bases_offset.push_back(std::max<std::int64_t>(bases_offset_, 0));
  table_->qualities_offset.push_back(any_quality_ ? qualities_offset_ : -1);
  table_->line_bases.push_back(at_least_one(in_one ? bases.letters : bases.line_letters));
  table_->line_bytes.push_back(at_least_one(in_one ? bases.letters : bases.line_bytes));
  table_->total_bases += static_cast<std::int64_t>(bases.letters);
  reached_end_ = position() >= end_;
  return !reached_end_;
}

bool SequenceScan::fits(Parser::Outcome outcome) const {
  if (outcome == Parser::Outcome::malformed) {
    const SequenceTextProblem& problem = parser_.problem();
    throw Failure::input("'" + path_ + "', line " + std::to_string(problem.line) + ", record " + std::to_string(problem.record) + ": " + problem.what,
                         "copy or convert the file again; `seqkit seq` checks it, too");
  }
  return outcome == Parser::Outcome::fine;
}

}  // namespace sluice::sequence_store
