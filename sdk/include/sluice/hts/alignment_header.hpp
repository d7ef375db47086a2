// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The header of an alignment file, for sinks that write its records again.

#include <htslib/hts.h>
#include <htslib/sam.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <new>
#include <sluice/empty_inputs.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/header_input.hpp>
#include <sluice/hts/open_input.hpp>
#include <sluice/hts/read_group_samples.hpp>
#include <sluice/staged_file.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sluice::hts {

// Throws Failure when there is none.
inline Header read_alignment_header(const std::string& path) {
  errno = 0;
  const File file = open_file(path);
  if (!file) throw Failure::input("cannot open '" + path + "': " + (errno != 0 ? std::strerror(errno) : "no alignment file"));
  if (file->format.category != sequence_data || (file->format.format != bam && file->format.format != sam && file->format.format != cram))
    throw Failure::input("'" + path + "' has no alignment header: empty, truncated, or not SAM, BAM or CRAM");
  return read_header(*file, "alignment file '" + path + "'");
}

// Does it say that records are sorted by coordinate?
inline bool is_sorted(sam_hdr_t& header) {
  Line order;
  return sam_hdr_find_tag_hd(&header, "SO", &order) == 0 && std::string_view(order.s, order.l) == "coordinate";
}

inline void mark_unsorted(sam_hdr_t& header) {
  if (sam_hdr_count_lines(&header, "HD") > 0 && sam_hdr_update_hd(&header, "SO", "unknown") != 0)
    throw Failure::memory("no memory for a header of alignments");
}

namespace alignment_header_detail {

// The lines of a type (RG, PG) whose IDs the header lacks.
inline void add_missing_lines(sam_hdr_t& header, sam_hdr_t& from, const char* type) {
  for (int i = 0; i < sam_hdr_count_lines(&from, type); ++i) {
    const char* id = sam_hdr_line_name(&from, type, i);
    Line line;
    if (id == nullptr || sam_hdr_line_index(&header, type, id) >= 0 || sam_hdr_find_line_pos(&from, type, i, &line) != 0) continue;
    if (add_header_lines(header, {line.s, line.l}) != 0)
      throw Failure::input(std::string("a @") + type + " line with ID '" + id + "' can't be added");
  }
}

}  // namespace alignment_header_detail

enum class SeveralFiles : std::uint8_t { one_after_the_other, merged_if_sorted };  // as alignment_reader reads them

// The header for the records of several files of the same contigs: the first one's, with the read groups and programs that only others have. Its
// order is unknown where sorted files are read one after the other.
inline Header read_alignment_headers(const std::vector<std::string>& paths, SeveralFiles order) {
  Header header = read_alignment_header(paths.front());
  if (paths.size() == 1) return header;
  ReadGroupSamples samples;
  samples.add(*header, paths.front());
  bool is_sorted = order == SeveralFiles::merged_if_sorted && hts::is_sorted(*header);
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const Header other = read_alignment_header(paths[i]);
    samples.add(*other, paths[i]);
    for (const char* type : {"RG", "PG"}) alignment_header_detail::add_missing_lines(*header, *other, type);
    is_sorted = is_sorted && hts::is_sorted(*other);
  }
  if (!is_sorted) mark_unsorted(*header);
  return header;
}

// The first that can be read, of files that others still write.
inline Header read_first_alignment_header(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    try {
      return read_alignment_header(path);
    } catch (const Failure&) {  // it is not there yet
      if (path == paths.back()) throw;
    }
  }
  throw Failure::input("no alignment file has come");
}

// The header for what alignment_reader gives of these inputs. Followed files of a folder come one after the other.
inline Header header_of_inputs(const std::string& inputs, std::vector<std::string> paths, SeveralFiles order, bool follow) {
  if (!follow) {
    take_empty_files(paths);
    return read_alignment_headers(paths, order);
  }
  Header header = read_first_alignment_header(paths);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(inputs, ignored)) mark_unsorted(*header);
  return header;
}

// As it stands in SAM. A BAM file may name its contigs outside of the header's text; SAM has no other place for them.
inline std::string sam_header_text(sam_hdr_t& header) {
  std::string text(header_text(header));
  if (sam_hdr_count_lines(&header, "SQ") > 0) return text;
  for (int contig = 0; contig < sam_hdr_nref(&header); ++contig)
    text += std::string("@SQ\tSN:") + sam_hdr_tid2name(&header, contig) + "\tLN:" + std::to_string(sam_hdr_tid2len(&header, contig)) + "\n";
  return text;
}

// The value of CL in a @PG line: a header line holds no control characters.
inline std::string header_command(std::string_view command) {
  std::string text(command);
  for (char& c : text)
    if (c < ' ' && c >= 0) c = ' ';
  return text;
}

// A @PG line of this program, chained to the last of each chain (PP). `description` and `command` may be "". False: the header takes no such line.
inline bool add_program(sam_hdr_t& header, const std::string& version, const std::string& description, std::string_view command) {
  const std::string line = header_command(command);
  const bool is_described = !description.empty(), has_command = !line.empty();
  const auto add = [&] {  // pairs up to a null
    return sam_hdr_add_pg(&header, "sluice", "PN", "sluice", "VN", version.c_str(),
                          is_described  ? "DS"
                          : has_command ? "CL"
                                        : nullptr,
                          is_described ? description.c_str() : line.c_str(), is_described && has_command ? "CL" : nullptr, line.c_str(), nullptr);
  };
  return with_memory(add) == 0;
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
