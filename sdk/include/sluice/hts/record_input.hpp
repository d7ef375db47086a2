// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Records of SAM, BAM and CRAM as HTSlib reads them one after the other. Of SAM text U is read as T, and nothing that is wrong is taken
// for something else; whatever is refused, there is a reason to pass on.

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/kstring.h>
#include <htslib/sam.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/sam_line.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::hts {

// What read_record() returns of a record of SAM that has no place, or no CIGAR, although its flags say that it is aligned: HTSlib makes it unmapped.
inline constexpr int taken_as_unmapped = 1;

namespace record_input_detail {

constexpr int malformed_line = -100, contradicts_itself = -101;  // HTSlib's own numbers are small

// sam_parse1() writes NULs over tabs.
inline void restore_tabs(kstring_t& line) {
  for (char *at = line.s, *const end = line.s + line.l;
       (at = static_cast<char*>(std::memchr(at, '\0', static_cast<std::size_t>(end - at)))) != nullptr;)
    *at++ = '\t';
}

inline bool lacks_contig(sam_hdr_t& header, std::string_view name) { return name != "*" && sam_hdr_name2tid(&header, std::string(name).c_str()) < 0; }

// The line in `file.line`. As sam_parse1() returns; < -1: the line is there again, for record_problem().
inline int parse_line(htsFile& file, sam_hdr_t& header, bam1_t& record) {
  kstring_t& line = file.line;
  const std::optional<SamLine> fields = split_sam_line({line.s, line.l});
  if (!fields || !hidden_sam_problem(*fields).empty()) return malformed_line;
  if (fields->bases != "*" && !sam_line_detail::are_plain_bases(fields->bases))
    read_u_as_t(line.s + (fields->bases.data() - line.s), fields->bases.size());
  const bool names_mate = fields->mate_contig != "*" && fields->mate_contig != "=";
  if (sam_parse1(&line, &header, &record) < 0 || (record.core.tid < 0 && lacks_contig(header, fields->contig)) ||
      (record.core.mtid < 0 && names_mate && lacks_contig(header, fields->mate_contig))) {
    restore_tabs(line);
    return malformed_line;
  }
  const bool is_changed = (record.core.flag & BAM_FUNMAP) != 0 && (std::strtoul(fields->flag.data(), nullptr, 0) & BAM_FUNMAP) == 0;
  line.l = 0;
  return is_changed ? taken_as_unmapped : 0;
}

// What is left in the record of one that is cut says nothing.
inline int read_bam(htsFile& file, sam_hdr_t& header, bam1_t& record) {
  constexpr std::int64_t length_and_fields = 36;
  const std::int64_t begin = bgzf_utell(file.fp.bgzf);
  const int got = sam_read1(&file, &header, &record);
  if (got < -1 && bgzf_utell(file.fp.bgzf) - begin != length_and_fields + record.l_data - record.core.l_extranul) record.l_data = 0;
  return got >= 0 && (record.core.pos < -1 || record.core.mpos < -1) ? contradicts_itself : got;
}

// For iterators over text with an index.
inline int read_line_of_iterator(BGZF*, void* opened, void* read, int* contig, hts_pos_t* begin, hts_pos_t* end) {
  htsFile& file = *static_cast<htsFile*>(opened);
  bam1_t& record = *static_cast<bam1_t*>(read);
  file.line.l = 0;
  if (const int got = hts_getline(&file, '\n', &file.line); got < 0) return got;
  const int got = parse_line(file, *file.bam_header, record);
  if (got >= 0) *contig = record.core.tid, *begin = record.core.pos, *end = bam_endpos(&record);
  return got;
}

}  // namespace record_input_detail

// As sam_read1(), with taken_as_unmapped; < -1: record_problem() may say why. Of SAM the file must have no threads of HTSlib but those of
// add_threads().
inline int read_record(htsFile& file, sam_hdr_t& header, bam1_t& record) {
  errno = 0;
  if (file.format.format == bam) return record_input_detail::read_bam(file, header, record);
  if (file.format.format != sam) return sam_read1(&file, &header, &record);
  // HTSlib has looked at the first line behind the header.
  if (file.line.l == 0)
    if (const int got = hts_getline(&file, '\n', &file.line); got < 0) return got;
  return record_input_detail::parse_line(file, header, record);
}

// The same from an iterator.
inline int read_record(htsFile& file, hts_itr_t& iterator, bam1_t& record) {
  errno = 0;
  if (file.format.format == sam) iterator.readrec = record_input_detail::read_line_of_iterator;
  return sam_itr_next(&file, &iterator, &record);
}

// Further threads that decompress.
inline void add_threads(htsFile& file, int threads) {
  if (threads <= 0) return;
  if (file.format.format != sam)
    hts_set_threads(&file, threads);
  else if (file.format.compression == bgzf)
    bgzf_mt(file.fp.bgzf, threads, 256);
}

// When read_record() has returned `got`, < -1: what is wrong, with its place, as "line 3, record 'x': MAPQ ..."; "": the file breaks there.
inline std::string record_problem(int got, htsFile& file, sam_hdr_t& header, const bam1_t& record) {
  using namespace record_input_detail;
  if (file.format.format == bam && record.l_data > 0)
    return contradiction_of(record.core, bam_get_qname(&record), reinterpret_cast<const std::uint8_t*>(bam_get_cigar(&record)),
                            sam_hdr_nref(&header));
  if (got != malformed_line) return {};
  const std::string_view text(file.line.s, file.line.l);
  const std::string place = file.lineno > 0 ? "line " + std::to_string(file.lineno) : "a line";
  if (text.empty()) return place + " is empty";
  const std::optional<SamLine> line = split_sam_line(text);
  if (!line)
    return place + " has fewer than the 11 fields of a record, with tabs between them: is the file truncated there? It is " +
           sam_line_detail::quoted(text);
  const std::string named = place + ", record " + sam_line_detail::quoted(line->name) + ": ";
  if (const std::string hidden = hidden_sam_problem(*line); !hidden.empty()) return named + hidden;
  const bool has_contigs = sam_hdr_nref(&header) > 0;
  for (const std::string_view contig : {line->contig, line->mate_contig})
    if (has_contigs && contig != "=" && lacks_contig(header, contig))
      return named + "contig " + sam_line_detail::quoted(contig) + " is not in the header";
  return named + sam_refusal(*line, has_contigs);
}

// The failure of a file after so many records. `name`: as messages call it, "alignment file 'x.bam'"; `problem`: record_problem()'s.
inline Failure record_failure(const std::string& name, const htsFile& file, std::uint64_t records, const std::string& problem) {
  if (!problem.empty())
    return Failure::input(name + ", " + problem, problem.ends_with(without_contigs)
                                                     ? "give it its header, for instance with `samtools view -h -t REFERENCE.fai`"
                                                     : "make the file again, or leave the record out");
  return Failure::input(name + " is truncated or damaged: it cannot be read on after " + std::to_string(records) + " records",
                        file.format.format == cram
                            ? "check the reference: the FASTA file that the CRAM file was made with, given as an option, or where its "
                              "header says (UR), or in REF_PATH or REF_CACHE; or copy the file again"
                            : "copy the file again and compare checksums");
}

}  // namespace sluice::hts
