// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/sequence_scan.hpp"

#include <algorithm>
#include <cstring>
#include <sluice/failure.hpp>
#include <utility>

namespace sluice::sequence_store {
namespace {

bool is_letter(char c) { return static_cast<unsigned char>((c | 0x20) - 'a') < 26; }
bool is_quality(char c) { return c >= '!' && c <= '~'; }

// Loops without an exit, so that the compiler can use vectors.
template <class Good>
bool all(std::string_view text, Good&& good) {
  unsigned bad = 0;
  for (const char c : text) bad |= good(c) ? 0U : 1U;
  return bad == 0;
}

}  // namespace

void SequenceScan::fail(const std::string& what) const {
  throw Failure::input("'" + path_ + "', line " + std::to_string(lines_) + ", record " + std::to_string(table_->length.size() + 1) + ": " + what,
                       "copy or convert the file again; `seqkit seq` checks it, too");
}

void SequenceScan::begin_line(char first) {
  if (mark_ == '\0' && expected_ == Expected::record) {
    if (first != '>' && first != '@')
      throw Failure::input("'" + path_ + "' is neither FASTA nor FASTQ: it starts with neither '>' nor '@'", "give a FASTA or FASTQ file");
    mark_ = first;
  }
  const bool opens_record = first == mark_ && (expected_ == Expected::record || (expected_ == Expected::bases && mark_ == '>'));
  if (opens_record) {
    line_ = Line::header;
  } else if (expected_ == Expected::record) {
    fail(mark_ == '>' ? "a record must begin with '>'" : "a record must begin with '@'");
  } else if (expected_ == Expected::bases) {
    line_ = mark_ == '@' && first == '+' ? Line::plus : Line::bases;
  } else {
    line_ = Line::qualities;
  }
}

void SequenceScan::take(std::string_view letters) {
  line_size_ += static_cast<std::int64_t>(letters.size());
  switch (line_) {
    case Line::header: {
      if (name_ended_) return;
      const std::size_t blank = letters.find_first_of(" \t");
      table_->names.append(letters.substr(0, blank));
      name_ended_ = blank != std::string_view::npos;
      return;
    }
    case Line::bases:
      if (!all(letters, is_letter)) fail("the sequence has characters that are no letters");
      break;
    case Line::qualities:
      if (!all(letters, is_quality)) fail("the qualities have characters outside '!' to '~'");
      any_quality_ = any_quality_ || !all(letters, [](char c) { return c == '!'; });
      break;
    default:
      return;
  }
  if (places_ == Places::packed) {
    sink_->take(letters);
    packed_ += static_cast<std::int64_t>(letters.size());
  }
}

bool SequenceScan::end_section_line(Section& section, std::int64_t line_end_bytes) {
  const bool uneven = section.letters > 0 && (section.ended_short || line_size_ > section.line_letters);
  if (section.letters == 0) {
    section.line_letters = line_size_;
    section.line_bytes = line_size_ + line_end_bytes;
  } else if (line_size_ < section.line_letters || line_size_ + line_end_bytes != section.line_bytes) {
    section.ended_short = true;
  }
  section.letters += line_size_;
  return places_ == Places::packed || !uneven;
}

bool SequenceScan::end_line(std::int64_t line_end_bytes) {
  bool even = true;
  switch (line_) {
    case Line::header:
      if (static_cast<std::int64_t>(table_->names.size()) == table_->name_offsets.back()) fail("the record has no name");
      table_->name_offsets.push_back(static_cast<std::int64_t>(table_->names.size()));
      in_record_ = true;
      any_quality_ = false;
      bases_ = qualities_ = {};
      expected_ = Expected::bases;
      break;
    case Line::bases:
      even = end_section_line(bases_, line_end_bytes);
      break;
    case Line::plus:
      expected_ = Expected::qualities;
      break;
    case Line::qualities:
      even = end_section_line(qualities_, line_end_bytes);
      if (qualities_.letters > bases_.letters) fail("there are more qualities than bases");
      break;
    default:
      // A blank line inside a section: nothing more may come, or offsets can't be reckoned.
      if (expected_ == Expected::bases && bases_.letters > 0) bases_.ended_short = true;
      if (expected_ == Expected::qualities && qualities_.letters > 0) qualities_.ended_short = true;
  }
  if (expected_ == Expected::qualities && qualities_.letters == bases_.letters) even = end_record() && even;
  line_ = Line::undecided;
  line_size_ = 0;
  name_ended_ = false;
  ++lines_;
  return even;
}

bool SequenceScan::end_record() {
  const bool has_qualities = mark_ == '@' && any_quality_;
  const bool one_line = bases_.line_letters == bases_.letters;
  const bool alike = !has_qualities || (one_line ? qualities_.line_letters == qualities_.letters
                                                 : qualities_.line_letters == bases_.line_letters && qualities_.line_bytes == bases_.line_bytes);
  if (places_ == Places::in_text && !alike) return false;
  const bool in_one = places_ == Places::packed || one_line;
  table_->length.push_back(bases_.letters);
  table_->bases_offset.push_back(std::max<std::int64_t>(bases_.offset, 0));
  table_->qualities_offset.push_back(has_qualities ? qualities_.offset : -1);
  table_->line_bases.push_back(std::max<std::int64_t>(in_one ? bases_.letters : bases_.line_letters, 1));
  table_->line_bytes.push_back(std::max<std::int64_t>(in_one ? bases_.letters : bases_.line_bytes, 1));
  table_->total_bases += bases_.letters;
  in_record_ = false;
  expected_ = Expected::record;
  return true;
}

bool SequenceScan::feed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const bool ends = newline != std::string_view::npos;
    std::string_view piece = text.substr(0, newline);
    if (return_held_ && !piece.empty()) fail("there is a carriage return within a line");
    const bool returns = return_held_ || (!piece.empty() && piece.back() == '\r');
    if (!return_held_ && returns) piece.remove_suffix(1);
    if (!piece.empty()) {
      if (line_ == Line::undecided) {
        begin_line(piece.front());
        if (line_ == Line::header) {
          if (in_record_ && !end_record()) return false;
          position_ += 1;  // the mark is no part of the name
          piece.remove_prefix(1);
        }
        const std::int64_t here = places_ == Places::packed ? packed_ : position_;
        if (line_ == Line::bases && bases_.offset < 0) bases_.offset = here;
        if (line_ == Line::qualities && qualities_.offset < 0) qualities_.offset = here;
      }
      take(piece);
      position_ += static_cast<std::int64_t>(piece.size());
    }
    return_held_ = returns && !ends;
    if (!ends) break;
    const std::int64_t line_end_bytes = returns ? 2 : 1;
    position_ += line_end_bytes;
    if (!end_line(line_end_bytes)) return false;
    text.remove_prefix(newline + 1);
  }
  return true;
}

bool SequenceScan::finish() {
  // A last line without its end counts as if it had one.
  if (line_ != Line::undecided && !end_line(1)) return false;
  if (!in_record_) return true;
  if (mark_ == '@') fail("the file ends within a record");
  return end_record();
}

}  // namespace sluice::sequence_store
