// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_index/sequence_text.hpp"

#include <htslib/bgzf.h>
#include <htslib/hts.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <sluice/failure.hpp>
#include <string_view>
#include <unordered_set>

namespace sluice::minimizer_index {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;

struct CloseBgzf {
  void operator()(BGZF* file) const { bgzf_close(file); }
};

// The text of a file in blocks, whatever its compression.
class TextFile {
 public:
  explicit TextFile(const std::string& path) : path_(path), block_(block_bytes) {
    hts_set_log_level(HTS_LOG_OFF);
    file_.reset(bgzf_open(path.c_str(), "r"));
    if (!file_) throw Failure::input("cannot open reference '" + path + "': " + std::strerror(errno), "check the path of the FASTA file");
  }
  // Up to the end of a block or of a line, whichever comes first, without the newline. False: the text is at its end.
  bool next_piece(std::string_view& piece, bool& ends_line) {
    if (at_ == end_ && !fill()) return false;
    const char* begin = block_.data() + at_;
    const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', end_ - at_));
    ends_line = newline != nullptr;
    piece = {begin, ends_line ? static_cast<std::size_t>(newline - begin) : end_ - at_};
    at_ += piece.size() + (ends_line ? 1 : 0);
    return true;
  }

 private:
  bool fill() {
    const ssize_t got = bgzf_read(file_.get(), block_.data(), block_.size());
    if (got < 0)
      throw Failure::input(
          "reference '" + path_ + "' is truncated or damaged: its compressed data ends or breaks after " + std::to_string(total_) + " bytes of text",
          "copy the file again and compare checksums");
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
    total_ += end_;
    if (got == 0 && file_->no_eof_block != 0)
      throw Failure::input("reference '" + path_ + "' is truncated: it has no BGZF end-of-file block",
                           "copy the file again, or compress it again with `bgzip`");
    return got > 0;
  }
  std::string path_;
  std::unique_ptr<BGZF, CloseBgzf> file_;
  std::vector<char> block_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t total_ = 0;
};

class SequenceReader {
 public:
  SequenceReader(const std::string& path, const SketchKernels& kernels) : path_(path), kernels_(kernels), file_(path) {}

  ReferenceBases read(const std::function<bool()>& cancelled) {
    std::string_view piece;
    bool ends_line = false;
    std::uint64_t pieces = 0;
    while (file_.next_piece(piece, ends_line)) {
      if (++pieces % 65536 == 0 && cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "reading the reference was cancelled");
      // A carriage return may lie in another block than its newline.
      if (!piece.empty() && piece.back() == '\r') piece.remove_suffix(1);
      if (line_begins_) begin_line(piece);
      take(piece);
      if (ends_line) end_line();
      line_begins_ = ends_line;
    }
    end_line();
    end_sequence();
    if (reference_.contigs() == 0)
      throw Failure::input("reference '" + path_ + "' is empty: there is no sequence in it", "give a FASTA or FASTQ file");
    if (!has_bases_)
      throw Failure::input("reference '" + path_ + "' is empty: none of its sequences has a base", "give a FASTA or FASTQ file with sequences");
    reference_.finish();
    return std::move(reference_);
  }

 private:
  enum class Line { header, bases, plus, qualities };

  void begin_line(std::string_view piece) {
    ++line_;
    if (kind_ == Line::qualities && qualities_ < reference_.current_length()) return;
    if (piece.empty()) return;
    const char first = piece.front();
    if (first == '>' || first == '@') {
      end_sequence();
      kind_ = Line::header;
      header_.clear();
    } else if (!open_) {
      fail("the file does not start with '>' or '@', so it is neither FASTA nor FASTQ");
    } else if (kind_ == Line::qualities) {
      fail("the qualities of '" + name_ + "' are longer than its bases");
    } else if (first == '+') {
      kind_ = Line::plus;
    } else {
      kind_ = Line::bases;
    }
  }
  void take(std::string_view piece) {
    switch (kind_) {
      case Line::header:
        header_ += piece;
        break;
      case Line::bases:
        if (open_) add_bases(piece);
        break;
      case Line::plus:
        break;
      case Line::qualities:
        qualities_ += static_cast<std::int64_t>(piece.size());
        if (qualities_ > reference_.current_length()) fail("the qualities of '" + name_ + "' are longer than its bases");
        break;
    }
  }
  void end_line() {
    if (kind_ == Line::header && !open_) {
      const std::string_view text = std::string_view(header_).substr(std::min<std::size_t>(1, header_.size()));
      name_ = text.substr(0, std::min(text.size(), text.find_first_of(" \t\v\f\r")));
      if (name_.empty() && !header_.empty()) fail("a sequence has no name");
      if (name_.empty()) return;
      if (!names_.insert(name_).second) fail("there is an earlier sequence named '" + name_ + "'");
      reference_.begin_contig(name_);
      open_ = true;
      kind_ = Line::bases;
    } else if (kind_ == Line::plus) {
      kind_ = Line::qualities;
      qualities_ = 0;
    }
  }
  void end_sequence() {
    if (!open_) return;
    if (kind_ == Line::qualities && qualities_ < reference_.current_length()) fail("the file ends within the qualities of '" + name_ + "'");
    reference_.end_contig(kernels_);
    open_ = false;
  }
  void add_bases(std::string_view piece) {
    if (reference_.current_length() + static_cast<std::int64_t>(piece.size()) > std::numeric_limits<std::int32_t>::max())
      fail("sequence '" + name_ + "' has 2^31 bases or more");
    has_bases_ = has_bases_ || !piece.empty();
    reference_.add_bases(piece, kernels_);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Failure::input("reference '" + path_ + "', line " + std::to_string(line_) + ": " + what,
                         "give the FASTA or FASTQ file of the sequences to map to");
  }

  std::string path_;
  SketchKernels kernels_;
  TextFile file_;
  ReferenceBases reference_;
  std::unordered_set<std::string> names_;
  std::string header_, name_;
  std::uint64_t line_ = 0;
  std::int64_t qualities_ = 0;
  Line kind_ = Line::header;
  bool open_ = false, line_begins_ = true, has_bases_ = false;
};

}  // namespace

ReferenceBases read_sequences(const std::string& path, const SketchKernels& kernels, const std::function<bool()>& cancelled) {
  return SequenceReader(path, kernels).read(cancelled);
}

}  // namespace sluice::minimizer_index
