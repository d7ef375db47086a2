// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/window_changes.hpp"

#include <algorithm>
#include <sluice/resume.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "window_merging/change_records.hpp"
#include "window_merging/coverage_trimming.hpp"

namespace sluice::window_merging {

void WindowChanges::describe(Describe<WindowChanges>& d) {
  d.id("window_changes").map("window").summary("finds where the consensus of a window differs from its target");
  d.doc(
      "The fewest substitutions, insertions and deletions that make the window's consensus, trimmed as window_merging does it, from the target's "
      "bases. "
      "Windows that were not polished have no changes. Indels are where they are leftmost; changes side by side are one record.");
  d.work_unit("base");
  d.option("trim", &Parameters::trim, "as in window_merging").choices({"long_reads", "always", "never"});
  d.needs("target_index", "i64", "row of the target in its store").needs("window_start", "i64", "first base of the window on the target");
  d.needs("window_end", "i64", "its end").needs("sequence_length", "list<i32>", "bases of backbone and layers");
  d.needs("consensus", "utf8", "consensus of the window").needs("consensus_coverage", "list<i32>", "per base: sequences with a letter there");
  d.needs("is_polished", "u8", "0: the backbone was kept");
  d.gives("changes", "utf8", "records of VCF, one a line");
  d.uses("targets", "sequence", "the targets").uses("reads", "sequence", "whose mean length says whether they are long", Needed::optional);
}

WindowChanges::WindowChanges(const Setup& setup, const Parameters& p) : targets_(setup.resource("targets")), trims_(trims_windows(setup, p.trim)) {}

void WindowChanges::process(const Call& call, const Batch& in, Output& out) {
  const auto target_index = in.column<std::int64_t>("target_index"), start = in.column<std::int64_t>("window_start"),
             end = in.column<std::int64_t>("window_end");
  const auto sequence_length = in.list<std::int32_t>("sequence_length"), coverage = in.list<std::int32_t>("consensus_coverage");
  const TextView consensus = in.text("consensus");
  const auto is_polished = in.column<std::uint8_t>("is_polished");
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<std::string> changes(rows);
  call.parallel_for(rows, 16, [&](std::size_t begin, std::size_t behind) {
    std::string bases;
    std::vector<char> scratch;
    for (std::size_t r = begin; r < behind && !call.cancelled(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      if (!in.ok(row) || is_polished[r] == 0) continue;
      if (!targets_.has(target_index[r], start[r], end[r]))
        throw Failure::usage("window_changes: a window does not lie on its target", "use the windows of window_cutting");
      bases.resize(static_cast<std::size_t>(end[r] - start[r]));
      targets_.fetch_bases(target_index[r], start[r], end[r], bases.data(), scratch);
      KeptBases kept{0, consensus[row].size(), false};
      if (trims_ && coverage[row].size() == consensus[row].size())
        kept = trim_by_coverage(coverage[row], static_cast<std::int64_t>(sequence_length[row].size()) - 1);
      append_records(targets_.name(target_index[r]), start[r] + 1, bases, consensus[row].substr(kept.begin, kept.end - kept.begin), changes[r]);
    }
  });
  out.text_rows("changes", changes);
}

void VcfWriter::describe(Describe<VcfWriter>& d) {
  d.id("vcf_writer").sink("window").concatenates().summary("writes what polishing changes as VCF");
  d.doc("A record per change, in the order of the targets; what is between two records stays as it is.");
  d.needs("changes", "utf8", "records of VCF, one a line");
  d.option("output", &Parameters::output, "where to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
  d.uses("targets", "sequence", "the targets");
}

VcfWriter::VcfWriter(const Setup& setup, const Parameters& p) : file_(setup, p.output) {
  const SequenceStoreView targets(setup.resource("targets"));
  std::string header = "##fileformat=VCFv4.3\n";
  for (std::int64_t row = 0; row < targets.size(); ++row)
    header.append("##contig=<ID=").append(targets.name(row)).append(",length=").append(std::to_string(targets.length(row))).append(">\n");
  file_.header(header.append("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"));
  resume(setup, [this](StateReader& from) { file_.restore(from); });
}

void VcfWriter::process(const Call&, const Batch& in, Output& out) {
  const TextView changes = in.text("changes");
  std::vector<std::string_view> records(static_cast<std::size_t>(in.rows()));
  for (std::int64_t row = 0; row < in.rows(); ++row)
    if (in.ok(row)) records[static_cast<std::size_t>(row)] = changes[row];
  out.text_rows("_records", records);
}

void VcfWriter::commit(const Call& call, const Batch& in) {
  const TextView records = in.text("_records");
  file_.write_rows(call, records);
  std::uint64_t changed = 0;
  for (std::int64_t row = 0; row < in.rows(); ++row) changed += in.ok(row) && !records[row].empty() ? 1 : 0;
  call.outcome("changed", changed, static_cast<std::uint64_t>(in.rows()));
}

}  // namespace sluice::window_merging
