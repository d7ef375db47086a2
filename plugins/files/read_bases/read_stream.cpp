// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/read_stream.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "read_bases/sequence_records.hpp"

namespace sluice::read_bases {
namespace {

// Letters [from, to) of a section by copy(lines, letters, out), which says whether all of them are good.
template <class Copy>
bool copy_by_lines(const TextWindow& window, const SequenceLines& lines, std::uint64_t from, std::uint64_t to, char* out, const Copy& copy) {
  if (from == to) return true;
  if (lines.even) {
    const std::uint64_t line = lines.begin + from / lines.line_letters * lines.line_bytes, in_line = from % lines.line_letters;
    return copy({window.at(line + in_line), in_line, lines.line_letters, lines.line_bytes}, to - from, out);
  }
  bool good = true;
  for (std::string_view text = window.part(lines.begin, lines.end); !text.empty();) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    // The section ends behind its last letter, so a return at its end is one.
    if (newline != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    good &= copy({line.data(), 0, line.size(), line.size()}, line.size(), out);
    if (out != nullptr) out += line.size();
  }
  return good;
}

}  // namespace

ReadStream::ReadStream(std::unique_ptr<TextInput> input, std::string path) : input_(std::move(input)), path_(std::move(path)) {}

ReadStream::ReadStream(std::unique_ptr<TextInput> input, std::string path, const StreamPlace& begin, std::optional<SequenceFormat> format)
    : input_(std::move(input)),
      path_(std::move(path)),
      text_begin_(begin.text.letters),
      forgotten_(begin.records),
      counted_from_(begin.counted_from) {
  walk_.begin(begin.text.letters, begin.lines);
  if (!format) return;
  format_ = *format;
  walk_.expect(format_);
  format_known_ = true;
}

StreamPlace ReadStream::place_of(const RecordPlace& record) const {
  return {input_->place_of(record.begin), record.line, forgotten_ + static_cast<std::uint64_t>(&record - walk_.records().data()), counted_from_};
}
StreamPlace ReadStream::place_behind() const {
  if (walk_.problem()) return {input_->place_of(walk_.problem()->begin), walk_.problem()->line, forgotten_ + walk_.records().size(), counted_from_};
  return {input_->place_of(walk_.needed_from()), walk_.lines_before(), forgotten_ + walk_.records().size(), counted_from_};
}

std::string ReadStream::place_text(std::uint64_t line) const {
  return "'" + path_ + "', " + (counted_from_ > 0 ? "behind byte " + std::to_string(counted_from_) + " " : "") + "line " + std::to_string(line);
}

void ReadStream::fail(std::uint64_t begin, std::uint64_t line, std::uint64_t record_in_memory) const {
  SequenceRecord record;
  ParseProblem problem;
  std::size_t used = 0;
  const std::string_view text = window().part(begin, window().end());
  if (parse_record(text, ended_ && !failure_, format_, record, used, problem) != ParseStatus::malformed)
    throw std::logic_error(place_text(line + 1) + ": a record was refused that is right");
  throw Failure::input(place_text(line + problem.line + 1) + ", record " + std::to_string(forgotten_ + record_in_memory + 1) + ": " + problem.what,
                       "copy or convert the file again; `seqkit seq` or `samtools fqidx` check it, too");
}

// The format, as soon as there is a character that tells.
void ReadStream::guess() {
  const std::string_view text = window().part(text_begin_, window().end());
  if (text.find_first_not_of("\r\n") == std::string_view::npos) return;
  if (!guess_format(text, format_)) throw unknown_format(path_, text);
  walk_.expect(format_);
  format_known_ = true;
}

void ReadStream::expect(std::size_t pieces) {
  if (pieces_.size() < pieces) pieces_.resize(pieces);
}
void ReadStream::take(std::size_t piece, std::string_view text) {
  pieces_[piece].bytes = text.size();
  pieces_[piece].line_ends = find_line_ends(text, pieces_[piece].ends);
}

// Forgets text that nobody needs. What is left moves to other memory, in which it takes at most half, so that a record that is longer than any block
// moves as often as its length doubles.
void ReadStream::make_room(std::size_t& text_bytes) {
  const std::uint64_t needed = walk_.records().empty() ? walk_.needed_from() : walk_.records().front().begin;
  const std::string_view kept = window().part(needed, window().end());
  const std::size_t room = text_.capacity() - text_.size();
  if (kept.size() > text_.size() / 2 && room > overshoot) {
    text_bytes = std::min(text_bytes, room - overshoot);
    return;
  }
  text_bytes = std::max(text_bytes, kept.size());
  next_.reset(kept.size() + text_bytes + overshoot);
  next_.append(kept);
  input_->forget_before(needed);
  text_begin_ = needed;
  std::swap(text_, next_);
}

bool ReadStream::read(std::size_t text_bytes, const ParallelFor& parallel_for) {
  if (ended_) return false;
  std::vector<RecordPlace>& records = walk_.records();
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(dropped_));
  forgotten_ += std::exchange(dropped_, 0);
  if (range_.bytes.end != ByteRange::no_end) text_bytes = std::min(text_bytes, text_in_range());
  make_room(text_bytes);
  std::uint64_t begin = window().end();
  std::size_t pieces = 0;
  try {
    pieces = input_->read(text_bytes, text_, parallel_for, *this);
  } catch (const Failure&) {
    failure_ = std::current_exception();
  }
  ended_ = pieces == 0 && (!grows_ || failure_);
  if (!format_known_ && failure_) std::rethrow_exception(failure_);
  if (!format_known_) guess();
  for (std::size_t i = 0; i < pieces; ++i) {
    walk_.walk(window(), begin, std::span(pieces_[i].ends).first(pieces_[i].line_ends));
    begin += pieces_[i].bytes;
  }
  if (ended_ && !failure_) {
    walk_.finish(window());
    ends_inside_line_ = text_.size() > 0 && text_.data()[text_.size() - 1] != '\n' && !input_->has_end_mark();
  }
  ended_ = ended_ || walk_.problem();
  if (!range_.bytes.is_whole()) keep_range();
  return !ended_;
}

// About as much text as the range has left.
std::size_t ReadStream::text_in_range() const {
  constexpr std::uint64_t least = std::uint64_t{1} << 17, packed = 4;
  const std::uint64_t consumed = input_->consumed(), left = range_.bytes.end - std::min(range_.bytes.end, consumed);
  return static_cast<std::size_t>(std::max(least, input_->place() ? left : packed * left));
}

void ReadStream::keep_range() {
  if (range_.seam) check_seam();
  std::vector<RecordPlace>& records = walk_.records();
  const auto first_from = [&](std::uint64_t letter) {
    return std::lower_bound(records.begin(), records.end(), letter, [](const RecordPlace& r, std::uint64_t at) { return r.begin < at; });
  };
  if (range_.bytes.begin > 0) {
    const std::optional<std::uint64_t> begin = input_->letter_from(range_.bytes.begin);
    dropped_ = std::max(dropped_, static_cast<std::size_t>((begin ? first_from(*begin) : records.end()) - records.begin()));
  }
  if (range_.bytes.end == ByteRange::no_end) return;
  const std::optional<std::uint64_t> end = input_->letter_from(range_.bytes.end);
  const std::uint64_t behind = walk_.problem() ? walk_.problem()->begin : walk_.needed_from();
  if (!end || behind < *end) return;
  records.erase(first_from(*end), records.end());
  left_range_ = ended_ = true;
}

void ReadStream::check_seam() {
  const std::optional<std::uint64_t> block = input_->letter_from(range_.seam->offset);
  if (!block) return;
  const std::uint64_t seam = *block + range_.seam->letters, behind = walk_.problem() ? walk_.problem()->begin : walk_.needed_from();
  if (seam > behind && !ended_) return;
  const std::vector<RecordPlace>& records = walk_.records();
  const auto found = std::lower_bound(records.begin(), records.end(), seam, [](const RecordPlace& r, std::uint64_t at) { return r.begin < at; });
  if (seam != behind && (found == records.end() || found->begin != seam))
    throw Failure::input("'" + path_ + "' can't be cut near byte " + std::to_string(range_.bytes.end) + ": what lies there looks like other records",
                         "write records of four lines each (`seqkit seq -w 0`), or choose another number of parts");
  range_.seam.reset();
}

void ReadStream::set_growing(bool grows) {
  grows_ = grows;
  input_->set_growing(grows);
}

bool ReadStream::could_end() const {
  if (!input_->could_end() || !format_known_) return false;
  RecordWalk walk = walk_;
  walk.finish(window());
  return !walk.problem();
}

void ReadStream::check_end() {
  if (left_range_) return;
  if (walk_.problem()) fail(walk_.problem()->begin, walk_.problem()->line, walk_.records().size());
  if (failure_) std::rethrow_exception(failure_);
}

std::string_view ReadStream::comment(const RecordPlace& record) const {
  std::string_view line = window().part(record.begin + 1 + record.name_letters, window().end());
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.empty() ? line : line.substr(1);
}

bool ReadStream::copy_bases(const SequenceLines& lines, std::uint64_t from, std::uint64_t to, char* out) const {
  return copy_by_lines(window(), lines, from, to, out, read_bases::copy_bases);
}
bool ReadStream::has_lower_case(const SequenceLines& lines, std::uint64_t from, std::uint64_t to) const {
  bool found = false;
  copy_by_lines(window(), lines, from, to, nullptr, [&](const LetterLines& part, std::size_t letters, char*) {
    found = found || any_lower_case(part, letters);
    return true;
  });
  return found;
}
void ReadStream::copy_letters(const SequenceLines& lines, std::uint64_t from, std::uint64_t to, char* out) const {
  copy_by_lines(window(), lines, from, to, out, read_bases::copy_qualities);
}
bool ReadStream::copy_qualities(const SequenceLines& lines, std::uint64_t from, std::uint64_t to, char* out) const {
  return copy_by_lines(window(), lines, from, to, out, read_bases::copy_qualities);
}

}  // namespace sluice::read_bases
