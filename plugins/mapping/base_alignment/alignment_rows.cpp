// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/alignment_rows.hpp"

#include <algorithm>
#include <cstring>
#include <sluice/resume.hpp>
#include <utility>

#include "base_alignment/aligned_hit.hpp"

namespace sluice::base_alignment {
namespace {

// SAM's flags.
constexpr std::uint16_t unmapped_flag = 4, reverse_flag = 16, secondary_flag = 256, supplementary_flag = 2048;
constexpr std::int32_t no_contig = -1;

std::uint16_t flag_of(const overlap::ReadAlignment& alignment) {
  if (alignment.target == no_contig) return unmapped_flag;
  const int place = !alignment.is_primary ? secondary_flag : alignment.is_first ? 0 : supplementary_flag;
  return static_cast<std::uint16_t>((alignment.is_reverse ? reverse_flag : 0) | place);
}

// The first of the records of a read, each with its length in front; "" where there is none.
std::string_view take_record(std::string_view& records) {
  std::uint32_t bytes = 0;
  if (records.size() < sizeof bytes) return records = {};
  std::memcpy(&bytes, records.data(), sizeof bytes);
  const std::string_view record = records.substr(sizeof bytes, bytes);
  records.remove_prefix(sizeof bytes + record.size());
  return record;
}

// The whole read: alignments clip softly, as bases are those of the whole read.
std::vector<std::uint32_t> clipped_cigar(const overlap::ReadAlignment& alignment, std::size_t read_length) {
  auto left = static_cast<std::uint32_t>(alignment.query_start);
  auto right = static_cast<std::uint32_t>(read_length) - static_cast<std::uint32_t>(alignment.query_end);
  if (alignment.is_reverse) std::swap(left, right);
  std::vector<std::uint32_t> cigar;
  cigar.reserve(alignment.cigar.size() + 2);
  if (left > 0) cigar.push_back(left << 4 | soft_clip);
  cigar.insert(cigar.end(), alignment.cigar.begin(), alignment.cigar.end());
  if (right > 0) cigar.push_back(right << 4 | soft_clip);
  return cigar;
}

}  // namespace

void AlignmentRows::describe(Describe<AlignmentRows>& d) {
  d.id("alignment_rows")
      .regroup("read", "read")
      .concatenates()
      .rows_are("alignment")
      .rows_named_by("read_id")
      .summary("makes one row of each alignment of a read")
      .doc(
          "The rows that alignment_reader would give of the SAM file that sam_writer writes: one for the best alignment of a read, and one for each "
          "supplementary one, all with the whole read and soft clips. Secondary ones are left out.\n\n"
          "With records of the reads (alignment_records) each row has its own, as alignment_reader gives it, and batches have the attribute "
          "sam_header "
          "of the reads' batches.")
      .work_unit("base");
  d.uses("index", "minimizer_index", "names of the contigs");
  d.needs("read_id", "utf8", "name of the read").needs("bases", "utf8", "the read in sequencing orientation");
  overlap::needs_read_alignments(d);
  d.needs("read_records", "binary", "records of each read's alignments, in their order", Needed::optional);
  d.needs("basecaller_tags", "binary", "tags of the basecaller, which each row gets", Needed::optional);
  d.gives("read_id", "utf8", "name of the read")
      .gives("bases", "utf8", "the whole read in sequencing orientation")
      .gives("contig", "utf8", "reference sequence it aligns to")
      .gives("ref_start", "i64", "first aligned position on the contig, 0-based")
      .gives("ref_end", "i64", "end of the alignment on the contig, exclusive")
      .gives("is_reverse", "u8", "1: aligned to the reverse strand")
      .gives("flag", "u16", "SAM flags")
      .gives("mapq", "u8", "mapping quality")
      .gives("cigar", "list<u32>", "CIGAR operations as in BAM, soft clips included")
      .gives("bam_record", "binary", "the record of the alignment, \"\" if there is none; layout: sluice/hts/stored_record.hpp", Needed::optional)
      .gives("basecaller_tags", "binary", "tags of the basecaller; layout: sluice/hts/basecaller_tags.hpp", Needed::optional);
  d.option("min_mapq", &Parameters::min_mapq, "alignments of lower mapping quality are not used").range(0, 255);
  d.option("supplementary", &Parameters::supplementary, "use supplementary alignments, too, each on its own");
  d.option("keep", &Parameters::keep,
           "used: alignments that pass these filters; all: the others, too, and reads without one, for alignment_filter to leave out")
      .choices({"used", "all"});
  d.reason("unmapped", "the read has no place on the reference");
  d.reason("low_mapping_quality", "its mapping quality is below min_mapq");
  d.reason("secondary", "it is secondary");
  d.reason("supplementary", "it is supplementary, and `supplementary` is off");
}

AlignmentRows::AlignmentRows(const Setup& setup, const Parameters& parameters)
    : index_(minimizer_index_view(setup.resource("index"))),
      parameters_(parameters),
      has_records_(setup.available("read_records")),
      has_tags_(setup.available("basecaller_tags")),
      gives_records_(setup.wanted("bam_record")),
      gives_tags_(setup.wanted("basecaller_tags")) {
  resume(setup);
}

std::optional<AlignmentRows::Reason> AlignmentRows::reason_against(const overlap::ReadAlignment& alignment) const {
  if (!alignment.is_primary) return Reason::secondary;
  if (!alignment.is_first && !parameters_.supplementary) return Reason::supplementary;
  if (alignment.mapping_quality < parameters_.min_mapq) return Reason::low_mapping_quality;
  return std::nullopt;
}

void AlignmentRows::add(const Call& call, std::string_view read_id, Row row, std::optional<Reason> reason, std::vector<Row>& rows) const {
  if (reason && parameters_.keep != "all")
    call.account(*reason, 1, std::string(read_id));
  else
    rows.push_back(std::move(row));
}

void AlignmentRows::process(const Call& call, const Batch& in, Output& out) {
  const overlap::ReadAlignments alignments(in, overlap::TagText::none);
  const TextView read_id = in.text("read_id");
  std::optional<TextView> read_records;
  if (has_records_) read_records.emplace(in.text("read_records"));
  std::vector<Row> rows;
  std::vector<overlap::ReadAlignment> of_read;
  for (std::int64_t read = 0; read < in.rows(); ++read) {
    if (!in.ok(read)) continue;
    alignments.read(read, index_.contigs(), of_read);
    std::string_view records = read_records ? (*read_records)[read] : std::string_view();
    if (of_read.empty()) add(call, read_id[read], {read, {.target = no_contig}, take_record(records)}, Reason::unmapped, rows);
    for (const overlap::ReadAlignment& alignment : of_read)
      add(call, read_id[read], {read, alignment, take_record(records)}, reason_against(alignment), rows);
  }
  if (!rows.empty()) give(in, rows, out);
}

void AlignmentRows::give(const Batch& in, const std::vector<Row>& rows, Output& out) const {
  out.set_rows(static_cast<std::int64_t>(rows.size()));
  const TextView read_id = in.text("read_id"), bases = in.text("bases");
  std::vector<std::string_view> ids, reads, contigs, records, tags;
  std::vector<std::vector<std::uint32_t>> cigars;
  const auto ref_start = out.column<std::int64_t>("ref_start"), ref_end = out.column<std::int64_t>("ref_end");
  const auto is_reverse = out.column<std::uint8_t>("is_reverse"), mapq = out.column<std::uint8_t>("mapq");
  const auto flag = out.column<std::uint16_t>("flag");
  std::size_t work = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [read, alignment, record] = rows[i];
    ids.push_back(read_id[read]);
    reads.push_back(bases[read]);
    contigs.push_back(alignment.target == no_contig ? "*" : index_.contig_name(static_cast<std::size_t>(alignment.target)));
    cigars.push_back(alignment.target == no_contig ? std::vector<std::uint32_t>() : clipped_cigar(alignment, bases[read].size()));
    records.push_back(record);
    tags.push_back(has_tags_ && gives_tags_ ? in.text("basecaller_tags")[read] : std::string_view());
    ref_start[i] = alignment.target_start;
    ref_end[i] = alignment.target_end;
    is_reverse[i] = alignment.is_reverse ? 1 : 0;
    mapq[i] = alignment.mapping_quality;
    flag[i] = flag_of(alignment);
    work += bases[read].size();
  }
  out.text_rows("read_id", ids);
  out.text_rows("bases", reads);
  out.text_rows("contig", contigs);
  if (gives_records_) out.text_rows("bam_record", records, "binary");
  if (gives_tags_) out.text_rows("basecaller_tags", tags, "binary");
  if (const std::string_view header = in.attribute("sam_header"); !header.empty()) out.set_attribute("sam_header", std::string(header));
  const Buffer offsets = out.offsets([&](std::int64_t row) { return cigars[static_cast<std::size_t>(row)].size(); });
  out.gather<std::uint32_t>("cigar", offsets, cigars);
  out.set_work(static_cast<double>(work));
  out.emit();
}

}  // namespace sluice::base_alignment
