// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which records are used: by alignment_reader, which gives no others, and by alignment_filter where all of them are rows.

#include <htslib/sam.h>

#include <cstdint>
#include <optional>
#include <sluice/stage.hpp>

namespace sluice::alignment_reader {

struct FilterParameters {
  int min_mapq = 20;
  bool secondary = false;
  bool supplementary = true;
};
enum class Unused : std::uint32_t { unmapped, low_mapping_quality, secondary, supplementary };

inline std::optional<Unused> reason_against(std::uint16_t flag, std::uint8_t mapq, const FilterParameters& p) {
  if ((flag & BAM_FUNMAP) != 0) return Unused::unmapped;
  if (!p.secondary && (flag & BAM_FSECONDARY) != 0) return Unused::secondary;
  if (!p.supplementary && (flag & BAM_FSUPPLEMENTARY) != 0) return Unused::supplementary;
  if (mapq < p.min_mapq) return Unused::low_mapping_quality;
  return std::nullopt;
}

// Declares the options and, as its first ones, the reasons.
template <class Stage>
void describe_filter(Describe<Stage>& d) {
  using P = typename Stage::Parameters;
  d.option("min_mapq", &P::min_mapq, "least mapping quality").range(0, 255);
  d.option("secondary", &P::secondary, "use secondary records, too");
  d.option("supplementary", &P::supplementary, "use supplementary records, too, each on its own");
  d.reason("unmapped", "the record is not aligned");
  d.reason("low_mapping_quality", "its mapping quality is below min_mapq");
  d.reason("secondary", "it is secondary, and `secondary` is off");
  d.reason("supplementary", "it is supplementary, and `supplementary` is off");
}

// Leaves out, by choice, the rows that alignment_reader would not have given.
class AlignmentFilter {
 public:
  using Parameters = FilterParameters;
  static void describe(Describe<AlignmentFilter>& d) {
    d.id("alignment_filter").map("read").summary("leaves out alignments that are not to be used, and unmapped reads");
    d.doc(
        "The filters of alignment_reader, for where it, or alignment_rows, gives every record (keep = all): stages behind this one skip the rows, "
        "and "
        "modbam_writer writes their records without tags.");
    d.needs("flag", "u16", "SAM flags").needs("mapq", "u8", "mapping quality").needs("contig", "utf8", "reference sequence; *: none");
    describe_filter(d);
    d.work_unit("row");
  }
  AlignmentFilter(const Setup&, const Parameters& parameters) : parameters_(parameters) {}

  void process(const Call&, const Batch& in, Output& out) const {
    const auto flags = in.column<std::uint16_t>("flag");
    const auto qualities = in.column<std::uint8_t>("mapq");
    const TextView contigs = in.text("contig");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto i = static_cast<std::size_t>(row);
      // As alignment_reader: what lies on no contig is unmapped, whatever its flags say.
      const std::optional<Unused> reason = contigs[row] == "*" ? Unused::unmapped : reason_against(flags[i], qualities[i], parameters_);
      if (reason) out.filter(row, *reason);
    }
  }

 private:
  Parameters parameters_;
};

}  // namespace sluice::alignment_reader
