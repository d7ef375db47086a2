// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The reads of a FASTA or FASTQ file, one after the other, many at a time: finding where they are is the only thing that is done in order.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <sluice/input_part.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read_bases/record_walk.hpp"
#include "read_bases/text_input.hpp"

namespace sluice::read_bases {

// A place between two records, and what is counted up to there from some byte of the file on.
struct StreamPlace {
  TextInput::Place text;
  std::uint64_t lines = 0, records = 0, counted_from = 0;
};

class ReadStream : TextInput::Taker {
 public:
  // `path` is for messages.
  ReadStream(std::unique_ptr<TextInput> input, std::string path);
  // The input begins elsewhere, in a file of this format.
  ReadStream(std::unique_ptr<TextInput> input, std::string path, const StreamPlace& begin, std::optional<SequenceFormat> format);
  // Only records that begin in these bytes of the file are wanted. A record must begin at `seam`, or the file was not cut between records: that is
  // where others begin to read it.
  struct Range {
    ByteRange bytes;
    std::optional<TextInput::Place> seam;
  };
  void set_range(const Range& range) { range_ = range; }
  // Where one of records() begins; where what is behind them does.
  StreamPlace place_of(const RecordPlace& record) const;
  StreamPlace place_behind() const;
  std::optional<SequenceFormat> format() const { return format_known_ ? std::optional(format_) : std::nullopt; }

  // Reads about so much text more, and finds the records that end in it. False: there is nothing more behind records(). Views and pointers into the
  // text are then void.
  bool read(std::size_t text_bytes, const ParallelFor& parallel_for);
  // Does the file grow? Then there may be more behind records() even if read() has found nothing new.
  void set_growing(bool grows);
  // Could the file end behind what has been read? What is after the last whole record is then a whole record, too.
  bool could_end() const;
  std::optional<std::uint64_t> place() const { return input_->place(); }
  // Those that are there and have not been dropped.
  std::span<const RecordPlace> records() const { return std::span(walk_.records()).subspan(dropped_); }
  void drop(std::size_t records) { dropped_ += records; }
  // When there is nothing more: throws what is wrong behind the last record, if anything is.
  void check_end();
  // Then: is there no record at all, or FASTA that ends inside a line?
  bool is_empty() const { return ended_ && !format_known_; }
  bool ends_inside_line() const { return ends_inside_line_ && !left_range_ && format_known_ && format_ == SequenceFormat::fasta; }
  // Throws what is wrong with one of records().
  [[noreturn]] void fail(const RecordPlace& record) const {
    fail(record.begin, record.line, static_cast<std::uint64_t>(&record - walk_.records().data()));
  }

  bool has_qualities() const { return format_ == SequenceFormat::fastq; }
  std::string_view name(const RecordPlace& record) const { return window().part(record.begin + 1, record.begin + 1 + record.name_letters); }
  // What follows the name on its line, behind one blank.
  std::string_view comment(const RecordPlace& record) const;
  // Letters [from, to) of a section, without line ends: in upper case, U as T, or as they are. False if one must not be there. From any thread.
  bool copy_bases(const SequenceLines& lines, std::uint64_t from, std::uint64_t to, char* out) const;
  bool has_lower_case(const SequenceLines& lines, std::uint64_t from, std::uint64_t to) const;  // of bases that copy_bases takes
  void copy_letters(const SequenceLines& lines, std::uint64_t from, std::uint64_t to, char* out) const;
  bool copy_qualities(const SequenceLines& lines, std::uint64_t from, std::uint64_t to, char* out) const;  // out may be null: only looks at them
  // May a section be copied in parts? Else `from` is 0 and `to` is all.
  static bool is_divisible(const SequenceLines& lines) { return lines.even; }

  std::uint64_t text_read() const { return window().end(); }
  std::uint64_t consumed() const { return input_->consumed(); }
  std::size_t kept_bytes() const { return text_.capacity() + next_.capacity(); }

 private:
  void expect(std::size_t pieces) override;
  void take(std::size_t piece, std::string_view text) override;
  TextWindow window() const { return {text_.data(), text_begin_, text_.size()}; }
  void guess();
  void make_room(std::size_t& text_bytes);
  std::size_t text_in_range() const;
  void keep_range();
  void check_seam();
  std::string place_text(std::uint64_t line) const;
  [[noreturn]] void fail(std::uint64_t begin, std::uint64_t line, std::uint64_t record_in_memory) const;

  std::unique_ptr<TextInput> input_;
  std::string path_;
  SequenceFormat format_ = SequenceFormat::fasta;
  bool format_known_ = false;
  RecordWalk walk_;
  TextBuffer text_, next_;
  std::uint64_t text_begin_ = 0;
  std::size_t dropped_ = 0;      // of the walk's records
  std::uint64_t forgotten_ = 0;  // records that the walk no longer has
  bool grows_ = false, ended_ = false, ends_inside_line_ = false;
  std::exception_ptr failure_;  // of the input
  Range range_;
  bool left_range_ = false;
  std::uint64_t counted_from_ = 0;
  struct Piece {
    std::size_t bytes = 0;
    std::vector<LineEnd> ends;
    std::size_t line_ends = 0;  // of `ends`
  };
  std::vector<Piece> pieces_;
};

}  // namespace sluice::read_bases
