// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "overlap_reader/overlap_collection.hpp"

#include <algorithm>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/overlap_rows.hpp>
#include <sluice/resume.hpp>

#include "overlap_reader/overlap_line.hpp"

namespace sluice::overlap_reader {
namespace {

// Of query bases: some thirty reads of 8 kb travel together.
constexpr double batch_bases = 1 << 18;

}  // namespace

void OverlapCollection::describe(Describe<OverlapCollection>& d) {
  d.id("overlap_collection").summary("makes overlaps of the hits of mapped reads, in the order of the targets").regroup("read", "overlap").parts();
  d.doc(
      "Chooses as overlap_reader does; the hits of a read are its consecutive lines. Overlaps are given after the last read: compact records wait in "
      "memory, beyond `memory` in a temporary file.\n\n"
      "Of the longest overlaps of all reads a part has those with the targets of its part of the store.");
  d.work_unit("base");
  d.option("keep", &Parameters::keep, "longest: one overlap of each read; all: every one").choices({"longest", "all"});
  d.option("max_error", &Parameters::max_error, "overlaps whose spans differ by more than this share are left out").range(0, 1);
  d.option("memory", &Parameters::memory, "records beyond this size wait in a temporary file");
  d.needs("read_id", "utf8", "name of the read").needs("read_length", "i32", "bases of the read");
  d.needs("hit_target", "list<i32>", "per hit: number of the contig in the index")
      .needs("hit_is_reverse", "list<u8>", "per hit: 1 on the reverse strand");
  d.needs("hit_query_start", "list<i32>", "per hit: first base on the read").needs("hit_query_end", "list<i32>", "per hit: end on the read");
  d.needs("hit_target_start", "list<i32>", "per hit: first base on the contig").needs("hit_target_end", "list<i32>", "per hit: end on the contig");
  d.needs("hit_matches", "list<i32>", "per hit: matching bases");
  overlap::describe_overlap_columns(d);
  d.uses("index", "minimizer_index", "what the reads were mapped to")
      .uses("reads", "sequence", "the reads")
      .uses("targets", "sequence", "the targets");
  d.reason("unknown_sequence", "a hit of a read or contig that is not in its store, or has another length there");
  d.reason("itself", "a hit of a sequence on itself");
  d.reason("too_different", "a hit whose spans differ by more than max_error");
  d.reason("not_the_longest", "a hit of a read that has a longer one");
}

OverlapCollection::OverlapCollection(const Setup& setup, const Parameters& p)
    : reads_(setup.resource("reads")),
      targets_(setup.resource("targets")),
      read_names_(reads_),
      part_(setup, targets_),
      kept_(OverlapOrder::target, static_cast<std::size_t>(std::max<std::int64_t>(p.memory.bytes, 0)), targets_.size(),
            setup.wanted("overlap_matches") ? Wanted::yes : Wanted::no, Wanted::no),
      selection_(
          p.keep == "all" ? Keep::all : Keep::longest, p.max_error,
          [this](const CandidateOverlap& overlap) {
            if (part_.has(overlap.record.target)) kept_.add(overlap);
          },
          [this](const CandidateOverlap& overlap, Drop drop) {
            const Reason reason = drop == Drop::itself          ? Reason::itself
                                  : drop == Drop::too_different ? Reason::too_different
                                                                : Reason::not_the_longest;
            account_.add(*call_, reason, reads_.name(overlap.record.query));
          }) {
  const MinimizerIndexView index = minimizer_index_view(setup.resource("index"));
  const SequenceNames target_names(targets_);
  for (std::size_t contig = 0; contig < index.contigs(); ++contig) {
    const std::int64_t row = target_names.find(index.contig_name(contig));
    target_of_contig_.push_back(row >= 0 && targets_.length(row) == index.contig_length[contig] ? row : -1);
  }
  resume(setup, [this](StateReader& from) { restore(from); });
}

void OverlapCollection::process(const Call& call, const Batch& in, Output&) {
  call_ = &call;
  const TextView read_id = in.text("read_id");
  const auto read_length = in.column<std::int32_t>("read_length");
  const auto target = in.list<std::int32_t>("hit_target");
  const auto query_start = in.list<std::int32_t>("hit_query_start");
  const auto query_end = in.list<std::int32_t>("hit_query_end");
  const auto target_start = in.list<std::int32_t>("hit_target_start");
  const auto target_end = in.list<std::int32_t>("hit_target_end");
  const auto matches = in.list<std::int32_t>("hit_matches");
  const auto is_reverse = in.list<std::uint8_t>("hit_is_reverse");
  CandidateOverlap candidate;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    if (!in.ok(row)) continue;
    const std::size_t hits = target[row].size();
    for (const std::size_t size : {query_start[row].size(), query_end[row].size(), target_start[row].size(), target_end[row].size(),
                                   matches[row].size(), is_reverse[row].size()})
      if (size != hits) throw Failure::input("read '" + std::string(read_id[row]) + "': the lists of its hits differ in length");
    const std::int64_t query = read_names_.find(read_id[row]);
    const bool is_known = query >= 0 && reads_.length(query) == read_length[static_cast<std::size_t>(row)];
    for (std::size_t hit = 0; hit < hits; ++hit) {
      ++ordinal_;
      const auto contig = static_cast<std::size_t>(target[row][hit]);
      const std::int64_t target_row = target[row][hit] >= 0 && contig < target_of_contig_.size() ? target_of_contig_[contig] : -1;
      const Overlap places{.query_start = query_start[row][hit],
                           .query_end = query_end[row][hit],
                           .target_start = target_start[row][hit],
                           .target_end = target_end[row][hit]};
      const bool lies_inside = is_known && target_row >= 0 && places.query_start >= 0 && places.query_start <= places.query_end &&
                               places.query_end <= reads_.length(query) && places.target_start >= 0 && places.target_start <= places.target_end &&
                               places.target_end <= targets_.length(target_row);
      if (!lies_inside) {
        account_.add(call, Reason::unknown_sequence, read_id[row]);
        continue;
      }
      candidate.record = {.query = static_cast<std::int32_t>(query),
                          .target = static_cast<std::int32_t>(target_row),
                          .query_start = query_start[row][hit],
                          .query_end = query_end[row][hit],
                          .target_start = target_start[row][hit],
                          .target_end = target_end[row][hit],
                          .matches = matches[row][hit],
                          .ordinal = ordinal_ - 1,
                          .is_reverse = is_reverse[row][hit]};
      candidate.length = overlap_length(places);
      candidate.error = overlap_error(places);
      candidate.is_itself = reads_.name(query) == targets_.name(target_row);
      selection_.add(candidate);
    }
  }
}

void OverlapCollection::save(const Call&, StateWriter& to) const {
  to.value(ordinal_);
  account_.save(to);
  kept_.save(to);
  const std::optional<CandidateOverlap>& waiting = selection_.waiting();
  to.value(std::uint8_t{waiting.has_value()});
  if (!waiting) return;
  to.value(waiting->record);
  to.value(waiting->length);
  to.value(waiting->error);
}

void OverlapCollection::restore(StateReader& from) {
  ordinal_ = from.value<std::int64_t>();
  account_.restore(from);
  if (!kept_.restore(from, reads_.size())) throw damaged_state();
  if (from.value<std::uint8_t>() == 0) return;
  CandidateOverlap waiting;
  waiting.record = from.value<OverlapRecord>();
  waiting.length = from.value<std::int64_t>();
  waiting.error = from.value<double>();
  if (waiting.record.target < 0 || waiting.record.target >= targets_.size() || waiting.record.query < 0 || waiting.record.query >= reads_.size())
    throw damaged_state();
  selection_.set_waiting(std::move(waiting));
}

void OverlapCollection::finish(const Call& call, Output& out) {
  call_ = &call;
  selection_.finish();
  account_.flush(call);
  kept_.sort(call);
  while (!call.cancelled() && kept_.next(batch_bases) > 0) {
    kept_.write(out);
    out.emit();
    call.progress(kept_.share_given());
  }
}

}  // namespace sluice::overlap_reader
