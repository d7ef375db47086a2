// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/event_cigar.hpp"

#include <sluice/number_text.hpp>

namespace sluice::event_alignment_writer {
namespace {

// Joins neighbours of one kind.
class CigarText {
 public:
  explicit CigarText(TextBuffer& text) : text_(text) {}
  void add(char operation, std::int64_t length) {
    if (operation != operation_) end();
    operation_ = operation;
    length_ += length;
  }
  void end() {
    if (length_ == 0) return;
    char* at = put_integer(text_.room(integer_text_bytes + 1), length_);
    *at++ = operation_;
    text_.end_at(at);
    length_ = 0;
  }

 private:
  TextBuffer& text_;
  char operation_ = 0;
  std::int64_t length_ = 0;
};

}  // namespace

void append_event_record(const Alignment& alignment, std::uint8_t mapq, TextBuffer& text) {
  const EventPath& path = alignment.path;
  text.add(alignment.read_id);
  text.add(alignment.strand == Strand::reverse ? ".template\t16\t" : ".template\t0\t");
  text.add(alignment.contig);
  constexpr std::size_t separators = 3;
  char* at = text.room(2 * integer_text_bytes + separators);
  *at++ = '\t';
  at = put_integer(at, std::int64_t{path.position.front()} + 1);
  *at++ = '\t';
  at = put_integer(at, mapq);
  *at++ = '\t';
  text.end_at(at);
  CigarText cigar(text);
  cigar.add('S', path.event.front());
  cigar.add('M', 1);
  for (std::size_t row = 1; row < path.rows(); ++row) {
    const std::int64_t moved = std::int64_t{path.position[row]} - path.position[row - 1];
    if (moved > 1) cigar.add('D', moved - 1);
    cigar.add(moved == 0 ? 'I' : 'M', 1);
  }
  cigar.end();
  const bool descends = path.event.front() > path.event.back();
  text.add(descends ? "\t*\t0\t0\t*\t*\tES:i:-1\n" : "\t*\t0\t0\t*\t*\tES:i:1\n");
}

}  // namespace sluice::event_alignment_writer
