// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/alignment_records.hpp"

#include <sluice/allocated.hpp>
#include <sluice/hts/contig_lines.hpp>
#include <string_view>

#include "sam_writer/output_header.hpp"

namespace sluice::sam_writer {

void AlignmentRecords::describe(Describe<AlignmentRecords>& d) {
  d.id("alignment_records")
      .map("read")
      .summary("makes the records that sam_writer would write of each read")
      .doc(
          "For stages that write records again with something more, as modbam_writer does: the records of all alignments of a read in their order, "
          "hard-clipped where they are supplementary, with the tags that the read has in its file; of a read without an alignment that of an "
          "unmapped "
          "one. A read that SAM can't hold ends the run.")
      .work_unit("base");
  d.uses("index", "minimizer_index", "names and lengths of the contigs");
  d.needs("read_id", "utf8", "name of the read")
      .needs("bases", "utf8", "the read in sequencing orientation")
      .needs("qualities", "utf8", "Phred scores + 33", Needed::optional)
      .needs("repeat_length", "i32", "bases under seeds that are too frequent")
      .needs("tags", "binary", "tags that the reads have in their files, as BAM has them", Needed::optional);
  overlap::needs_read_alignments(d);
  d.gives("read_records", "binary", "the records of the read, each as its length (u32) and bytes; layout: sluice/hts/stored_record.hpp");
  d.option("read_group", &Parameters::read_group, "read group of all reads, as sam_writer has it");
}

AlignmentRecords::AlignmentRecords(const Setup& setup, const Parameters& parameters)
    : has_qualities_(setup.available("qualities")),
      has_tags_(setup.available("tags")),
      index_(minimizer_index_view(setup.resource("index"))),
      contigs_(allocated(sam_hdr_init())) {
  options_.read_group = parse_read_group(parameters.read_group).id;
  const std::string lines = hts::contig_lines(index_);
  if (hts::add_header_lines(*contigs_, lines) != 0) throw Failure::output("cannot make a header of the contigs", "contig names must be valid in SAM");
}

void AlignmentRecords::process(const Call& call, const Batch& in, Output& out) {
  std::vector<std::string> made(static_cast<std::size_t>(in.rows()));
  const TextView names = in.text("read_id");
  const overlap::ReadAlignments alignments(in, overlap::TagText::none);
  call.parallel_for(made.size(), 16, [&](std::size_t begin, std::size_t end) {
    auto workspace = workspaces_.take();
    for (std::size_t i = begin; i < end; ++i)
      if (const auto row = static_cast<std::int64_t>(i); in.ok(row)) append_row(in, alignments, row, *workspace, made[i]);
  });
  // Each read has a record at least.
  for (std::int64_t row = 0; row < in.rows(); ++row)
    if (in.ok(row) && made[static_cast<std::size_t>(row)].empty()) refuse_read("modBAM", names[row]);
  out.text_rows("read_records", made, "binary");
}

void AlignmentRecords::append_row(const Batch& in, const overlap::ReadAlignments& alignments, std::int64_t row, Workspace& workspace,
                                  std::string& bytes) const {
  const std::string_view id = in.text("read_id")[row], bases = in.text("bases")[row];
  if (!is_sam_name(id)) return;
  alignments.read(row, index_.contigs(), workspace.alignments);
  const ReadRecord read{id,
                        bases,
                        has_qualities_ ? in.text("qualities")[row] : std::string_view(),
                        in.column<std::int32_t>("repeat_length")[static_cast<std::size_t>(row)],
                        workspace.alignments,
                        {}};
  const std::string_view tags = has_tags_ ? in.text("tags")[row] : std::string_view();
  workspace.lines.clear();
  workspace.tags.clear();
  MoreTags more_tags;
  if (!tags.empty()) {
    workspace.carried.begin_read(tags, bases, options_.read_group.empty() ? ReadGroupTag::taken : ReadGroupTag::replaced);
    more_tags = [&](std::string&, ReadPart part) { workspace.tags.emplace_back(workspace.carried.bytes(part)); };
  }
  append_sam(workspace.lines, index_, read, options_, more_tags);
  if (!workspace.records.store(*contigs_, workspace.lines, workspace.tags, bytes)) bytes.clear();
}

}  // namespace sluice::sam_writer
