// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/primary_alignment.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "base_alignment/path.hpp"

namespace sluice::base_alignment {

void PrimaryAlignment::describe(Describe<PrimaryAlignment>& d) {
  d.id("primary_alignment")
      .map("read")
      .summary("takes each read's best alignment as its place on the reference")
      .doc(
          "The first hit of a read, in the columns that alignment_reader gives. Supplementary alignments of a read that is split over the reference "
          "are not used.")
      .work_unit("read");
  d.uses("index", "minimizer_index", "names of the contigs");
  d.needs("read_length", "i32", "bases of the read")
      .needs("hit_target", "list<i32>", "contig of each hit")
      .needs("hit_is_reverse", "list<u8>", "1: the hit is on the reverse strand")
      .needs("hit_mapq", "list<u8>", "mapping quality of each hit")
      .needs("cigar_count", "list<i32>", "operations of each hit in hit_cigar")
      .needs("hit_cigar", "list<u32>", "operations of all hits")
      .needs("aligned_query_start", "list<i32>", "first aligned base of the read")
      .needs("aligned_query_end", "list<i32>", "end of the aligned part")
      .needs("aligned_target_start", "list<i32>", "first aligned base of the contig")
      .needs("aligned_target_end", "list<i32>", "its end");
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
  const auto target = in.list<std::int32_t>("hit_target"), counts = in.list<std::int32_t>("cigar_count");
  const auto query_start = in.list<std::int32_t>("aligned_query_start"), query_end = in.list<std::int32_t>("aligned_query_end");
  const auto target_start = in.list<std::int32_t>("aligned_target_start"), target_end = in.list<std::int32_t>("aligned_target_end");
  const auto reverse = in.list<std::uint8_t>("hit_is_reverse"), mapqs = in.list<std::uint8_t>("hit_mapq");
  const auto operations = in.list<std::uint32_t>("hit_cigar");
  const auto length = in.column<std::int32_t>("read_length");
  const auto ref_start = out.column<std::int64_t>("ref_start"), ref_end = out.column<std::int64_t>("ref_end");
  const auto is_reverse = out.column<std::uint8_t>("is_reverse"), mapq = out.column<std::uint8_t>("mapq");
  const auto flag = out.column<std::uint16_t>("flag");
  std::vector<std::string_view> contigs(rows);
  std::vector<std::vector<std::uint32_t>> cigars(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (!in.ok(row)) continue;
    if (target[row].empty() || counts[row].empty() || counts[row][0] == 0) {
      out.fail(row, Reason::unmapped);
      continue;
    }
    if (mapqs[row][0] < min_mapq_) {
      out.fail(row, Reason::low_mapping_quality);
      continue;
    }
    contigs[i] = index_.contig_name(static_cast<std::size_t>(target[row][0]));
    ref_start[i] = target_start[row][0];
    ref_end[i] = target_end[row][0];
    is_reverse[i] = reverse[row][0];
    mapq[i] = mapqs[row][0];
    flag[i] = is_reverse[i] != 0 ? 16 : 0;
    const auto before = static_cast<std::uint32_t>(query_start[row][0]), after = static_cast<std::uint32_t>(length[i] - query_end[row][0]);
    const std::uint32_t left = is_reverse[i] != 0 ? after : before, right = is_reverse[i] != 0 ? before : after;
    const auto own = operations[row].first(static_cast<std::size_t>(counts[row][0]));
    if (left > 0) cigars[i].push_back(left << 4 | soft_clip);
    cigars[i].insert(cigars[i].end(), own.begin(), own.end());
    if (right > 0) cigars[i].push_back(right << 4 | soft_clip);
  }
  out.text_rows("contig", contigs);
  const Buffer offsets = out.offsets([&](std::int64_t row) { return cigars[static_cast<std::size_t>(row)].size(); });
  out.gather<std::uint32_t>("cigar", offsets, cigars);
}

}  // namespace sluice::base_alignment
