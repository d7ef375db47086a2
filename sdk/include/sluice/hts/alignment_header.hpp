// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The header of an alignment file, for sinks that write its records again.

#include <htslib/hts.h>
#include <htslib/sam.h>

#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/staged_file.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

// Throws Failure when there is none.
inline Header read_alignment_header(const std::string& path) {
  errno = 0;
  const File file(hts_open(path.c_str(), "r"));
  if (!file) throw Failure::input("cannot open '" + path + "': " + (errno != 0 ? std::strerror(errno) : "no alignment file"));
  Header header(sam_hdr_read(file.get()));
  if (!header) throw Failure::input("'" + path + "' has no alignment header: empty, truncated, or not SAM, BAM or CRAM");
  return header;
}

// As it stands in SAM. A BAM file may name its contigs outside of the header's text; SAM has no other place for them.
inline std::string sam_header_text(sam_hdr_t& header) {
  std::string text(sam_hdr_str(&header), sam_hdr_length(&header));
  if (sam_hdr_count_lines(&header, "SQ") > 0) return text;
  for (int contig = 0; contig < sam_hdr_nref(&header); ++contig)
    text += std::string("@SQ\tSN:") + sam_hdr_tid2name(&header, contig) + "\tLN:" + std::to_string(sam_hdr_tid2len(&header, contig)) + "\n";
  return text;
}

// Does it say that records are sorted by coordinate?
inline bool is_sorted(sam_hdr_t& header) {
  Line order;
  return sam_hdr_find_tag_hd(&header, "SO", &order) == 0 && std::string_view(order.s, order.l) == "coordinate";
}
// As `samtools sort` does. False: it takes no such line.
inline bool mark_sorted(sam_hdr_t& header) {
  if (sam_hdr_update_hd(&header, "SO", "coordinate") < 0 && sam_hdr_add_line(&header, "HD", "VN", "1.6", "SO", "coordinate", nullptr) < 0)
    return false;
  return sam_hdr_remove_tag_hd(&header, "GO") >= 0 && sam_hdr_remove_tag_hd(&header, "SS") >= 0;
}
// May an index lie beside the output?
inline bool has_place_for_index(const std::string& path) { return path != "-" && !is_special_file(path); }

}  // namespace sluice::hts
