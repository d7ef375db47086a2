// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/hit_overlaps.hpp"

#include <sluice/resume.hpp>
#include <string>

namespace sluice::read_correction {

void HitOverlaps::describe(Describe<HitOverlaps>& d) {
  d.id("hit_overlaps")
      .summary("makes one row of each hit of a read among the other reads")
      .regroup("read", "overlap")
      .work_unit("base")
      .concatenates();
  d.doc(
      "The target of an overlap is the read, its query the read that was hit: the overlaps of one target come together, in the order of "
      "the file of reads. Both are rows of the store, which must have the sequences of the index. A hit of a read on itself is left out.\n\n"
      "Of a part of the reads it has to be the part of the store, as stored_reads gives it. overlap_index is 2^32 times the row of the target plus "
      "the "
      "ordinal of the hit.");
  d.needs("read_id", "utf8", "name of the read").needs("hit_target", "list<i32>", "per hit: number of the other read in the index");
  d.needs("hit_query_start", "list<i32>", "per hit: first base on the read").needs("hit_query_end", "list<i32>", "per hit: end on the read");
  d.needs("hit_target_start", "list<i32>", "per hit: first base on the other read")
      .needs("hit_target_end", "list<i32>", "per hit: end on the other read");
  d.needs("hit_is_reverse", "list<u8>", "per hit: 1: the reverse complement").needs("hit_matches", "list<i32>", "per hit: matching bases");
  overlap::describe_overlap_columns(d);
  d.uses("index", "minimizer_index", "the index of the reads").uses("reads", "sequence", "the reads");
}

HitOverlaps::HitOverlaps(const Setup& setup, const Parameters&)
    : reads_(setup.resource("reads")),
      names_(reads_),
      wants_matches_(setup.wanted("overlap_matches")),
      part_(setup, reads_),
      next_read_(part_.begin) {
  const MinimizerIndexView index = minimizer_index_view(setup.resource("index"));
  row_of_contig_.resize(index.contigs());
  for (std::size_t contig = 0; contig < index.contigs(); ++contig) {
    const std::string_view name = index.contig_name(contig);
    const auto same = static_cast<std::int64_t>(contig);
    // Of reads of one name each has its own place in both, unless one of them leaves a read without bases out.
    const std::int64_t row = same < reads_.size() && reads_.name(same) == name ? same : names_.find(name);
    if (row < 0 || reads_.length(row) != index.contig_length[contig])
      throw Failure::usage(
          "hit_overlaps: the index has a sequence '" + std::string(name) + "' that '" + reads_.path() + "' does not have with that length",
          "make the index of the reads that are corrected");
    row_of_contig_[contig] = row;
  }
  resume(setup, [this](StateReader& from) {
    next_read_ = from.value<std::int64_t>();
    if (next_read_ < part_.begin) throw damaged_state();
  });
}

// Ascending, and the same whatever comes before.
std::int64_t HitOverlaps::index_of(std::int64_t read, std::size_t hit) { return read << 32 | static_cast<std::int64_t>(hit); }

// Reads come in the order of the store; those without bases do not come.
std::int64_t HitOverlaps::row_of_read(std::string_view name) {
  std::int64_t row = next_read_;
  while (row < reads_.size() && reads_.length(row) == 0 && reads_.name(row) != name) ++row;
  if (row >= reads_.size() || reads_.name(row) != name) row = names_.find(name);
  if (row < next_read_)
    throw Failure::usage("hit_overlaps: read '" + std::string(name) + "' does not come in the order of '" + reads_.path() + "'",
                         "let read_reader read the file of the store, or stored_reads the store");
  if (row >= part_.end)
    throw Failure::usage("hit_overlaps: read '" + std::string(name) + "' is of another part of '" + reads_.path() + "'",
                         "let stored_reads read the store: its parts are those of this stage");
  next_read_ = row + 1;
  return row;
}

void HitOverlaps::process(const Call& call, const Batch& in, Output& out) {
  const TextView read_id = in.text("read_id");
  const auto hit_target = in.list<std::int32_t>("hit_target");
  const auto query_start = in.list<std::int32_t>("hit_query_start");
  const auto query_end = in.list<std::int32_t>("hit_query_end");
  const auto target_start = in.list<std::int32_t>("hit_target_start");
  const auto target_end = in.list<std::int32_t>("hit_target_end");
  const auto is_reverse = in.list<std::uint8_t>("hit_is_reverse");
  const auto matches = in.list<std::int32_t>("hit_matches");
  std::vector<overlap::OverlapRow> rows;
  for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
    if (!in.ok(row)) continue;
    const std::int64_t read = row_of_read(read_id[row]);
    const std::size_t hits = hit_target[row].size();
    for (const std::size_t size : {query_start[row].size(), query_end[row].size(), target_start[row].size(), target_end[row].size(),
                                   is_reverse[row].size(), matches[row].size()})
      if (size != hits) throw Failure::input("read '" + std::string(read_id[row]) + "': the lists of its hits differ in length");
    const std::size_t first = rows.size();
    for (std::size_t h = 0; h < hits; ++h) {
      const auto contig = static_cast<std::size_t>(hit_target[row][h]);
      if (contig >= row_of_contig_.size())
        throw Failure::input("read '" + std::string(read_id[row]) + "' has a hit on a sequence that the index lacks");
      if (row_of_contig_[contig] == read) continue;
      rows.push_back({row_of_contig_[contig], read, target_start[row][h], target_end[row][h], query_start[row][h], query_end[row][h],
                      index_of(read, h), 0, matches[row][h], is_reverse[row][h] != 0});
    }
    for (std::size_t i = first; i < rows.size(); ++i) rows[i].target_overlaps = static_cast<std::int64_t>(rows.size() - first);
  }
  if (!rows.empty()) emit(rows, out);
}

void HitOverlaps::emit(const std::vector<overlap::OverlapRow>& rows, Output& out) const {
  out.set_rows(static_cast<std::int64_t>(rows.size()));
  double work = 0;
  for (const overlap::OverlapRow& row : rows) work += static_cast<double>(row.target_end - row.target_start);
  out.set_work(work);
  overlap::write_overlap_columns(
      rows.size(), [&](std::size_t r) -> const overlap::OverlapRow& { return rows[r]; },
      wants_matches_ ? overlap::Matches::wanted : overlap::Matches::unwanted, out);
  out.emit();
}

}  // namespace sluice::read_correction
