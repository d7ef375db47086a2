// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How an input ends: one rule for all who read files. A format with a mark at its end (BGZF and CRAM: a block; gzip and zstd: each member's
// trailer) is whole or refused. Text has none: what can be read of it is taken, and that it ends inside a line is a warning.

#include <htslib/bgzf.h>
#include <htslib/cram.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/sam.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/hts/cram_reference.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/record_input.hpp>
#include <sluice/input_text.hpp>
#include <string>
#include <utility>

namespace sluice::hts {

inline Failure lacks_end_failure(const std::string& label, const char* mark = "BGZF end-of-file block") {
  return Failure::input(label + " is truncated: it has no " + mark, "copy the file again; the program that wrote it may have failed");
}

// What HTSlib knows of why it can't read on, behind a colon; "": nothing.
inline std::string reason_of(const BGZF& file) {
  if (const int error = herrno(file.fp); error != 0) return std::string(": ") + std::strerror(error);
  const unsigned code = file.errcode;
  if ((code & BGZF_ERR_CRC) != 0) return ": a block has another checksum than its data";
  if ((code & BGZF_ERR_HEADER) != 0) return ": what follows is no block";
  if ((code & BGZF_ERR_ZLIB) != 0) return ": a block can't be inflated";
  return (code & BGZF_ERR_IO) != 0 ? ": it ends inside a block" : "";
}
inline const BGZF* blocks_of(const htsFile& file) { return file.is_bgzf != 0 ? file.fp.bgzf : nullptr; }

// Is it text of lines that nothing ends?
inline bool is_plain_sam(const htsFile& file) { return file.format.format == sam && file.format.compression == no_compression; }

inline bool is_regular(const std::string& path) {
  struct stat info {};
  return (path == "-" ? ::fstat(STDIN_FILENO, &info) : ::stat(path.c_str(), &info)) == 0 && S_ISREG(info.st_mode);
}

// Is it plain FASTA that ends inside a line?
inline bool is_fasta_with_open_end(const std::string& path) { return byte_of(path, 0) == '>' && byte_of(path, -1) != '\n'; }

using sluice::empty_text;
using sluice::open_end_text;
// Where the whole of a text (hts::TextFile, hts::TextLines) has been read.
template <class Text>
void warn_of_open_end(const Host& host, const Text& text) {
  if (text.ends_inside_line()) host.warn(open_end_text(text.label().text()));
}

// The records of a SAM, BAM or CRAM file one after the other, to an end that is where it should be.
class RecordsInOrder {
 public:
  // Behind the header. `name`: as messages call it, "alignment file 'x.bam'"; `fasta`: what CRAM is decoded with, where it was given. Throws Failure
  // (input) where that is another reference than the file's.
  RecordsInOrder(htsFile& file, sam_hdr_t& header, std::string path, std::string name, std::string fasta = {})
      : file_(&file), header_(&header), path_(std::move(path)), name_(std::move(name)), counts_(is_plain_sam(file) && !is_regular(path_)) {
    if (file.format.format == cram) reference_.emplace(header, std::move(fasta), name_);
  }

  // Where a file that is all there lacks the mark at its end: throws. What comes through a pipe is looked at when it has ended.
  static void check_mark(htsFile& file, const std::string& name) {
    if (hts_check_EOF(&file) == 0) throw lacks_end_failure(name, mark_of(file));
  }

  // False: the end. Throws Failure (input), also where the file should have more.
  bool next(bam1_t& record) {
    if (counts_ && file_->line.l == 0) {
      const off_t before = htell(file_->fp.hfile);
      const int got = hts_getline(file_, '\n', &file_->line);
      if (got == -1) return false;
      if (file_->line.l == 0) fail(got < 0 ? got : record_input_detail::malformed_line, record);
      ends_inside_line_ = htell(file_->fp.hfile) - before == static_cast<off_t>(file_->line.l);
    }
    const int got = read_record(*file_, *header_, record);
    if (got < -1) fail(got, record);
    if (got < 0) return check_end(), false;
    if (reference_) reference_->check(record.core.tid);
    was_taken_as_unmapped_ = got == taken_as_unmapped;
    ++records_;
    return true;
  }
  std::uint64_t records() const { return records_; }
  void count_from(std::uint64_t records) { records_ = records; }
  bool was_taken_as_unmapped() const { return was_taken_as_unmapped_; }
  // At the end: plain SAM without a line end behind its last record. (Of a pipe with one record it is not known.)
  bool ends_inside_line() const {
    if (!is_plain_sam(*file_) || records_ == 0) return false;
    return counts_ ? ends_inside_line_ : byte_of(path_, -1) != '\n';
  }

 private:
  [[noreturn]] void fail(int got, const bam1_t& record) const {
    throw record_failure(name_, *file_, records_, record_problem(got, *file_, *header_, record));
  }
  void check_end() const {
    const BGZF* blocks = blocks_of(*file_);
    const bool is_cut = file_->format.format == cram ? cram_eof(file_->fp.cram) == 2 : blocks != nullptr && lacks_end(*blocks);
    if (is_cut) throw lacks_end_failure(name_, mark_of(*file_));
  }
  static const char* mark_of(const htsFile& file) { return file.format.format == cram ? "CRAM end-of-file block" : "BGZF end-of-file block"; }
  htsFile* file_;
  sam_hdr_t* header_;
  std::string path_, name_;
  std::optional<CramReference> reference_;  // of CRAM
  std::uint64_t records_ = 0;
  bool counts_;  // text of a pipe: of its lines, whether they have an end
  bool ends_inside_line_ = false, was_taken_as_unmapped_ = false;
};

}  // namespace sluice::hts
