// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/pile_collection.hpp"

#include <algorithm>
#include <sluice/resume.hpp>
#include <string>

#include "read_correction/pile_columns.hpp"

namespace sluice::read_correction {
namespace {

// Overlapping bases of a batch: some 20 piles of 8 kb at 25-fold coverage, some hundredths of a second to cut.
constexpr std::int64_t batch_bases = std::int64_t{1} << 22;

}  // namespace

void PileCollection::describe(Describe<PileCollection>& d) {
  d.id("pile_collection").summary("puts the overlaps of a read into one row, its pile").regroup("overlap", "pile").rows_are("read").concatenates();
  d.doc(
      "Target and queries are reads of one store. Overlaps must come in the order of their targets (hit_overlaps, or overlap_reader with order = "
      "target).");
  d.work_unit("base");
  d.option("max_overhang", &Parameters::max_overhang,
           "overlaps with more bases of both reads beside them than this share of their own length are left out: they are repeats")
      .range(0, 1e9);
  d.needs("target_index", "i64", "row of the read that is corrected in the store").needs("query_index", "i64", "row of the overlapping read");
  d.needs("target_start", "i64", "first base on the target").needs("target_end", "i64", "end on the target");
  d.needs("query_start", "i64", "first base on the query, forward strand").needs("query_end", "i64", "end on the query");
  d.needs("is_reverse", "u8", "1: the query's reverse complement matches");
  d.needs("overlap_matches", "i64", "matching bases; 0: unknown", Needed::optional);
  describe_pile_columns([&d](const char* name, const char* type, const char* help) { d.gives(name, type, help); });
  d.uses("reads", "sequence", "the reads");
  d.reason("bad_overlap", "an overlap that does not lie on its reads");
  d.reason("inside", "an overlap that ends inside both reads: a repeat");
}

PileCollection::PileCollection(const Setup& setup, const Parameters& p) : reads_(setup.resource("reads")), max_overhang_(p.max_overhang) {
  resume(setup, [this](StateReader& from) { restore(from); });
}

void PileCollection::process(const Call& call, const Batch& in, Output& out) {
  const auto target_index = in.column<std::int64_t>("target_index");
  const auto query_index = in.column<std::int64_t>("query_index");
  const auto target_start = in.column<std::int64_t>("target_start");
  const auto target_end = in.column<std::int64_t>("target_end");
  const auto query_start = in.column<std::int64_t>("query_start");
  const auto query_end = in.column<std::int64_t>("query_end");
  const auto is_reverse = in.column<std::uint8_t>("is_reverse");
  const auto matches = in.has("overlap_matches") ? in.column<std::int64_t>("overlap_matches") : std::span<const std::int64_t>();
  for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    if (!in.ok(row)) continue;
    if (!reads_.has(target_index[r], target_start[r], target_end[r]) || !reads_.has(query_index[r], query_start[r], query_end[r])) {
      const bool is_known = query_index[r] >= 0 && query_index[r] < reads_.size();
      call.account(Reason::bad_overlap, 1, is_known ? std::string(reads_.name(query_index[r])) : std::string());
      continue;
    }
    if (query_index[r] == target_index[r]) continue;
    const PileOverlap overlap = {.read = query_index[r],
                                 .template_begin = static_cast<std::int32_t>(target_start[r]),
                                 .template_end = static_cast<std::int32_t>(target_end[r]),
                                 .read_begin = static_cast<std::int32_t>(query_start[r]),
                                 .read_end = static_cast<std::int32_t>(query_end[r]),
                                 .matches = matches.empty() ? 0 : static_cast<std::int32_t>(matches[r]),
                                 .is_reverse = is_reverse[r] != 0};
    if (static_cast<double>(overhang(overlap, reads_.length(target_index[r]), reads_.length(query_index[r]))) >
        max_overhang_ * static_cast<double>(target_end[r] - target_start[r])) {
      call.account(Reason::inside, 1, std::string(reads_.name(query_index[r])));
      continue;
    }
    add(target_index[r], overlap, out);
  }
}

void PileCollection::finish(const Call&, Output& out) { emit(out); }

void PileCollection::save(const Call&, StateWriter& to) const {
  save_rows(to, piles_, &Pile::target, &Pile::end);
  save_rows(to, overlaps_, &PileOverlap::read, &PileOverlap::template_begin, &PileOverlap::template_end, &PileOverlap::read_begin,
            &PileOverlap::read_end, &PileOverlap::matches, &PileOverlap::is_reverse);
  to.value(waiting_bases_);
}

void PileCollection::restore(StateReader& from) {
  restore_rows(from, piles_, &Pile::target, &Pile::end);
  restore_rows(from, overlaps_, &PileOverlap::read, &PileOverlap::template_begin, &PileOverlap::template_end, &PileOverlap::read_begin,
               &PileOverlap::read_end, &PileOverlap::matches, &PileOverlap::is_reverse);
  waiting_bases_ = from.value<std::int64_t>();
  const bool is_ascending = std::is_sorted(piles_.begin(), piles_.end(), [](const Pile& a, const Pile& b) { return a.end < b.end; });
  if (!is_ascending || (piles_.empty() ? 0 : piles_.back().end) != overlaps_.size()) throw damaged_state();
}

void PileCollection::add(std::int64_t target, const PileOverlap& overlap, Output& out) {
  if (!piles_.empty() && target < piles_.back().target)
    throw Failure::usage("pile_collection: overlaps do not come in the order of their targets", "set order = target in overlap_reader");
  if (piles_.empty() || target > piles_.back().target) {
    if (waiting_bases_ >= batch_bases) emit(out);
    piles_.push_back({target, overlaps_.size()});
  }
  overlaps_.push_back(overlap);
  piles_.back().end = overlaps_.size();
  waiting_bases_ += overlap.template_end - overlap.template_begin;
}

void PileCollection::emit(Output& out) {
  if (piles_.empty()) return;
  out.set_rows(static_cast<std::int64_t>(piles_.size()));
  out.set_work(static_cast<double>(waiting_bases_));
  const auto target = out.column<std::int64_t>("target_index");
  const auto count = out.column<std::int64_t>("target_overlaps");
  for (std::size_t p = 0; p < piles_.size(); ++p) {
    target[p] = piles_[p].target;
    count[p] = static_cast<std::int64_t>(piles_[p].end - (p == 0 ? 0 : piles_[p - 1].end));
  }
  const Buffer sizes = out.offsets([&](std::int64_t row) { return count[static_cast<std::size_t>(row)]; });
  const auto fill = [&]<class Value>(const char* column, Value PileOverlap::*value) {
    const auto values = out.list<Value>(column, sizes);
    for (std::size_t i = 0; i < overlaps_.size(); ++i) values[i] = overlaps_[i].*value;
  };
  fill("pile_query", &PileOverlap::read);
  fill("pile_target_start", &PileOverlap::template_begin);
  fill("pile_target_end", &PileOverlap::template_end);
  fill("pile_query_start", &PileOverlap::read_begin);
  fill("pile_query_end", &PileOverlap::read_end);
  fill("pile_matches", &PileOverlap::matches);
  const auto is_reverse = out.list<std::uint8_t>("pile_is_reverse", sizes);
  for (std::size_t i = 0; i < overlaps_.size(); ++i) is_reverse[i] = overlaps_[i].is_reverse ? 1 : 0;
  out.emit();
  piles_.clear();
  overlaps_.clear();
  waiting_bases_ = 0;
}

}  // namespace sluice::read_correction
