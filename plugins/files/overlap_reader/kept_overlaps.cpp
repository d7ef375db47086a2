// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "overlap_reader/kept_overlaps.hpp"

#include <algorithm>
#include <sluice/overlap/overlap_rows.hpp>
#include <string>

namespace sluice::overlap_reader {

bool KeptOverlaps::add(const CandidateOverlap& overlap) {
  ++count_;
  pass(overlap);
  if (arrival_ == Arrival::in_order) return add_waiting(overlap);
  ordered_.add(overlap.record, wants_cigars_ ? std::span<const std::uint32_t>(overlap.cigar) : std::span<const std::uint32_t>());
  return true;
}

bool KeptOverlaps::add_waiting(const CandidateOverlap& overlap) {
  const OverlapRecord& record = overlap.record;
  if (record.target < last_target_ || (record.target == last_target_ && record.target_start < last_start_)) return false;
  last_target_ = record.target;
  last_start_ = record.target_start;
  if (to_skip_ > 0) {
    --to_skip_;
    ++given_;
    return true;
  }
  waiting_.push_back(record);
  waiting_.back().operations = wants_cigars_ ? static_cast<std::uint32_t>(overlap.cigar.size()) : 0;
  waiting_overlaps_.push_back(target_overlaps_[static_cast<std::size_t>(record.target)]);
  if (wants_cigars_) waiting_cigars_.insert(waiting_cigars_.end(), overlap.cigar.begin(), overlap.cigar.end());
  waiting_bases_ += static_cast<double>(record.query_end - record.query_start);
  return true;
}

bool KeptOverlaps::restore(StateReader& from, std::int64_t queries) {
  bool fits = true;
  CandidateOverlap overlap;
  OrderedOverlaps::restore(from, [&](const OverlapRecord& record) {
    fits = fits && record.target >= 0 && static_cast<std::size_t>(record.target) < target_overlaps_.size() && record.query >= 0 &&
           record.query < queries;
    if (!fits) return;
    overlap.record = record;
    add(overlap);
  });
  return fits;
}

void KeptOverlaps::sort(const Call& call) {
  ordered_.sort();
  if (ordered_.runs_in_file() > 0) call.info("overlaps were sorted in a temporary file, in " + std::to_string(ordered_.runs_in_file()) + " parts");
}

void KeptOverlaps::skip(std::uint64_t rows) {
  if (arrival_ == Arrival::in_order) return void(to_skip_ = rows);
  OverlapRecord record;
  while (given_ < rows && ordered_.next(record)) ++given_;
}

std::size_t KeptOverlaps::next(double work) {
  rows_.clear();
  bases_ = 0;
  if (arrival_ == Arrival::in_order) {
    rows_.swap(waiting_);
    rows_overlaps_.swap(waiting_overlaps_);
    rows_cigars_.swap(waiting_cigars_);
    waiting_overlaps_.clear();
    waiting_cigars_.clear();
    bases_ = waiting_bases_;
    waiting_bases_ = 0;
    given_ += rows_.size();
    return rows_.size();
  }
  OverlapRecord record;
  while ((bases_ < work || rows_.empty()) && ordered_.next(record)) {
    rows_.push_back(record);
    bases_ += static_cast<double>(record.query_end - record.query_start);
  }
  given_ += rows_.size();
  return rows_.size();
}

void KeptOverlaps::write(Output& out) const {
  out.set_rows(static_cast<std::int64_t>(rows_.size()));
  out.set_work(bases_);
  const auto row_of = [this](std::size_t r) -> overlap::OverlapRow {
    const OverlapRecord& o = rows_[r];
    const std::int64_t on_target = arrival_ == Arrival::in_order ? rows_overlaps_[r] : target_overlaps_[static_cast<std::size_t>(o.target)];
    return {o.query, o.target, o.query_start, o.query_end, o.target_start, o.target_end, o.ordinal, on_target, o.matches, o.is_reverse != 0};
  };
  overlap::write_overlap_columns(rows_.size(), row_of, wants_matches_ ? overlap::Matches::wanted : overlap::Matches::unwanted, out);
  if (!wants_cigars_) return;
  const Buffer offsets = out.offsets([&](std::int64_t row) { return rows_[static_cast<std::size_t>(row)].operations; });
  std::span<std::uint32_t> operations = out.list<std::uint32_t>("given_cigar", offsets);
  if (arrival_ == Arrival::in_order) return void(std::copy(rows_cigars_.begin(), rows_cigars_.end(), operations.begin()));
  for (const OverlapRecord& record : rows_) {
    ordered_.cigar(record, operations.first(record.operations));
    operations = operations.subspan(record.operations);
  }
}

}  // namespace sluice::overlap_reader
