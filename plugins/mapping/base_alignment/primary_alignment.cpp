// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/primary_alignment.hpp"

#include <algorithm>
#include <sluice/overlap/read_alignments.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base_alignment/aligned_hit.hpp"

namespace sluice::base_alignment {

void PrimaryAlignment::describe(Describe<PrimaryAlignment>& d) {
  d.id("primary_alignment")
      .map("read")
      .summary("takes each read's best alignment as its place on the reference")
      .doc(
          "The alignment that a read's first SAM record would hold, in the columns that alignment_reader gives. Supplementary alignments of a read "
          "that "
          "is split over the reference are not used.")
      .work_unit("read");
  d.uses("index", "minimizer_index", "names of the contigs");
  d.needs("read_length", "i32", "bases of the read");
  overlap::needs_read_alignments(d);
  d.gives("contig", "utf8", "reference sequence it aligns to")
      .gives("ref_start", "i64", "first aligned position on the contig, 0-based")
      .gives("ref_end", "i64", "end of the alignment on the contig, exclusive")
      .gives("is_reverse", "u8", "1: aligned to the reverse strand")
      .gives("flag", "u16", "SAM flags")
      .gives("mapq", "u8", "mapping quality")
      .gives("cigar", "list<u32>", "CIGAR operations as in BAM, soft clips included");
  d.option("min_mapq", &Parameters::min_mapq, "reads of lower mapping quality are not used").range(0, 255);
  d.reason("unmapped", "the read has no place on the reference");
  d.reason("low_mapping_quality", "its mapping quality is below min_mapq");
}

PrimaryAlignment::PrimaryAlignment(const Setup& setup, const Parameters& parameters)
    : index_(minimizer_index_view(setup.resource("index"))), min_mapq_(parameters.min_mapq) {}

void PrimaryAlignment::process(const Call&, const Batch& in, Output& out) {
  const auto rows = static_cast<std::size_t>(in.rows());
  const overlap::ReadAlignments alignments(in, overlap::TagText::none);
  const auto length = in.column<std::int32_t>("read_length");
  const auto ref_start = out.column<std::int64_t>("ref_start"), ref_end = out.column<std::int64_t>("ref_end");
  const auto is_reverse = out.column<std::uint8_t>("is_reverse"), mapq = out.column<std::uint8_t>("mapq");
  const auto flag = out.column<std::uint16_t>("flag");
  std::vector<std::string_view> contigs(rows);
  std::vector<std::vector<std::uint32_t>> cigars(rows);
  std::vector<overlap::ReadAlignment> of_read;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (!in.ok(row)) continue;
    alignments.read(row, index_.contigs(), of_read);
    const auto best = std::find_if(of_read.begin(), of_read.end(), [](const overlap::ReadAlignment& alignment) { return alignment.is_first; });
    if (best == of_read.end()) {
      out.fail(row, Reason::unmapped);
      continue;
    }
    if (best->mapping_quality < min_mapq_) {
      out.fail(row, Reason::low_mapping_quality);
      continue;
    }
    contigs[i] = index_.contig_name(static_cast<std::size_t>(best->target));
    ref_start[i] = best->target_start;
    ref_end[i] = best->target_end;
    is_reverse[i] = best->is_reverse ? 1 : 0;
    mapq[i] = best->mapping_quality;
    flag[i] = best->is_reverse ? 16 : 0;
    const auto before = static_cast<std::uint32_t>(best->query_start), after = static_cast<std::uint32_t>(length[i] - best->query_end);
    const std::uint32_t left = best->is_reverse ? after : before, right = best->is_reverse ? before : after;
    if (left > 0) cigars[i].push_back(left << 4 | soft_clip);
    cigars[i].insert(cigars[i].end(), best->cigar.begin(), best->cigar.end());
    if (right > 0) cigars[i].push_back(right << 4 | soft_clip);
  }
  out.text_rows("contig", contigs);
  const Buffer offsets = out.offsets([&](std::int64_t row) { return cigars[static_cast<std::size_t>(row)].size(); });
  out.gather<std::uint32_t>("cigar", offsets, cigars);
}

}  // namespace sluice::base_alignment
