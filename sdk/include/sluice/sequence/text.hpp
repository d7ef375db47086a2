// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// FASTA and FASTQ, from text that comes in pieces of any size. Nothing is held but the name of the record at hand, so a sequence may be longer than
// memory. The rules: the first record's mark, '>' or '@', is that of all; a name ends at the first blank; bases and qualities may span lines, which
// end in "\n" or "\r\n"; blank lines count for nothing; qualities are as many as bases; sequence/bases.hpp says what a base is.

#include <cstddef>
#include <cstdint>
#include <sluice/sequence/bases.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace sluice {

enum class SequenceFormat : std::uint8_t { fasta, fastq };

struct SequenceTextRules {
  enum class Formats : std::uint8_t { fasta, fasta_or_fastq };
  enum class Names : std::uint8_t { any, unique };             // unique: a name that came before is a problem; they are all kept
  enum class Letters : std::uint8_t { checked, by_the_sink };  // by_the_sink: it looks at each base anyway, or later on several threads
  Formats formats = Formats::fasta_or_fastq;
  Names names = Names::any;
  Letters letters = Letters::checked;
};

// Where the bases or the qualities of a record lie in the text: what a line of a .fai index says.
struct SequenceLines {
  std::uint64_t begin = 0;  // of the first letter; without letters: of the line where they would be
  std::uint64_t end = 0;    // behind the last letter
  std::uint64_t letters = 0;
  std::uint64_t line_letters = 0;  // letters of the first line
  std::uint64_t line_bytes = 0;    // the same with the line end
  bool even = true;                // all lines but the last are like the first, and none is blank
};

struct SequenceTextRecord {
  std::string_view name;         // valid during the call; up to the first blank
  std::uint64_t name_begin = 0;  // in the text
  std::uint64_t first_line = 0;  // number of the line with the first base, from 1
  SequenceLines bases, qualities;
};

struct SequenceTextProblem {
  std::uint64_t line = 0, record = 0;  // from 1
  std::string what;
};

// Calls of its sink, for each record in this order:
//   void begin_record(std::string_view name);
//   void take_bases(std::string_view letters), void take_qualities(std::string_view letters): in pieces, without line ends
//   bool end_record(const SequenceTextRecord&): false: stop behind this record
template <class Sink>
class SequenceTextParser {
 public:
  enum class Outcome : std::uint8_t { fine, stopped, malformed };  // after the last two this parser is over

  explicit SequenceTextParser(Sink& sink, SequenceTextRules rules = {}) : sink_(&sink), rules_(rules) {}

  Outcome feed(std::string_view text) {
    while (!text.empty()) {
      const std::size_t newline = text.find('\n');
      const bool ends = newline != std::string_view::npos;
      std::string_view piece = text.substr(0, newline);
      // A carriage return is part of the line end if the newline comes next, maybe in the next text.
      if (return_held_ && !piece.empty()) {
        return_held_ = false;
        if (const Outcome outcome = take("\r"); outcome != Outcome::fine) return outcome;
      }
      if (!piece.empty() && piece.back() == '\r') return_held_ = true, piece.remove_suffix(1);
      if (!piece.empty())
        if (const Outcome outcome = take(piece); outcome != Outcome::fine) return outcome;
      if (!ends) return Outcome::fine;
      if (const Outcome outcome = end_line(1); outcome != Outcome::fine) return outcome;
      text.remove_prefix(newline + 1);
    }
    return Outcome::fine;
  }
  // The end of the text.
  Outcome finish() {
    if (line_kind_ != Line::undecided || return_held_)
      if (const Outcome outcome = end_line(0); outcome != Outcome::fine) return outcome;
    if (!in_record_) return Outcome::fine;
    if (mark_ == '@')
      return malformed("the file ends within the " +
                       (expected_ == Expected::bases ? "bases of '" + name_ + "': there is no '+' line" : "qualities of '" + name_ + "'"));
    return end_record();
  }

  // For a text that begins within a file.
  void expect(SequenceFormat format) { mark_ = format == SequenceFormat::fasta ? '>' : '@'; }
  bool format_known() const { return mark_ != '\0'; }
  SequenceFormat format() const { return mark_ == '@' ? SequenceFormat::fastq : SequenceFormat::fasta; }
  // What has been taken of the text; when the sink stopped: up to the end of its record.
  std::uint64_t position() const { return position_; }
  std::uint64_t line() const { return lines_; }       // number of the line at hand, from 1
  std::uint64_t records() const { return records_; }  // whole ones
  bool in_record() const { return in_record_ || line_kind_ != Line::undecided; }
  const SequenceTextProblem& problem() const { return problem_; }

 private:
  enum class Line : std::uint8_t { undecided, header, bases, plus, qualities };
  enum class Expected : std::uint8_t { record, bases, qualities };

  Outcome malformed(std::string what) {
    problem_.line = lines_;
    problem_.record = records_ + 1;
    problem_.what.swap(what);
    return Outcome::malformed;
  }
  // Part of a line, without its end.
  Outcome take(std::string_view piece) {
    if (line_kind_ == Line::undecided) {
      if (const Outcome outcome = begin_line(piece.front()); outcome != Outcome::fine) return outcome;
      if (line_kind_ == Line::header) piece.remove_prefix(1);
    }
    const std::uint64_t here = position_;
    position_ += piece.size();
    line_size_ += piece.size();
    if (line_kind_ == Line::header) {
      if (name_ended_) return Outcome::fine;
      const std::size_t blank = piece.find_first_of(" \t");
      name_.append(piece.substr(0, blank));
      name_ended_ = blank != std::string_view::npos;
    } else if (line_kind_ == Line::bases) {
      const std::uint64_t before = record_.bases.letters + line_size_ - piece.size();
      if (rules_.letters == SequenceTextRules::Letters::checked)
        if (const std::size_t bad = first_that_is_no_base(piece); bad != piece.size()) return malformed(not_a_base(name_, before + bad, piece[bad]));
      if (before == 0) record_.bases.begin = here, record_.first_line = lines_;
      sink_->take_bases(piece);
    } else if (line_kind_ == Line::qualities) {
      bool good = true;
      for (const char quality : piece) good &= quality >= '!' && quality <= '~';
      if (!good) return malformed("the qualities of '" + name_ + "' are too short, or have a character outside '!' to '~'");
      const std::uint64_t before = record_.qualities.letters + line_size_ - piece.size();
      if (before + piece.size() > record_.bases.letters) return malformed("the qualities of '" + name_ + "' are longer than its bases");
      if (before == 0) record_.qualities.begin = here;
      sink_->take_qualities(piece);
    }
    return Outcome::fine;
  }
  Outcome begin_line(char first) {
    if (mark_ == '\0') {
      const bool with_fastq = rules_.formats == SequenceTextRules::Formats::fasta_or_fastq;
      if (first != '>' && !(with_fastq && first == '@'))
        return malformed(with_fastq ? "the file starts with neither '>' nor '@', so it is neither FASTA nor FASTQ"
                                    : "the file does not start with '>', so it is not FASTA");
      mark_ = first;
    }
    const bool begins_record = first == mark_ && (expected_ == Expected::record || (expected_ == Expected::bases && mark_ == '>'));
    if (begins_record) {
      if (in_record_)
        if (const Outcome outcome = end_record(); outcome != Outcome::fine) return outcome;
      line_kind_ = Line::header;
      name_.clear();
      name_ended_ = false;
      record_ = {};
      record_.name_begin = ++position_;
    } else if (expected_ == Expected::record) {
      return malformed(std::string("a record must begin with '") + mark_ + "'");
    } else if (expected_ == Expected::bases) {
      line_kind_ = mark_ == '@' && first == '+' ? Line::plus : Line::bases;
    } else {
      line_kind_ = Line::qualities;
    }
    return Outcome::fine;
  }
  // newline_bytes: 0 at the end of a text without a last line end.
  Outcome end_line(std::uint64_t newline_bytes) {
    const std::uint64_t end_bytes = newline_bytes + (return_held_ ? 1 : 0);
    return_held_ = false;
    const std::uint64_t letters_end = position_;
    position_ += end_bytes;
    switch (line_kind_) {
      case Line::header:
        if (name_.empty()) return malformed("the record has no name");
        if (rules_.names == SequenceTextRules::Names::unique && !names_.insert(name_).second)
          return malformed("there is an earlier sequence named '" + name_ + "'");
        record_.bases.begin = record_.bases.end = position_;
        record_.first_line = lines_ + 1;
        in_record_ = true;
        expected_ = Expected::bases;
        sink_->begin_record(name_);
        break;
      case Line::bases:
        add_line(record_.bases, letters_end, end_bytes);
        break;
      case Line::plus:
        record_.qualities.begin = record_.qualities.end = position_;
        expected_ = Expected::qualities;
        break;
      case Line::qualities:
        add_line(record_.qualities, letters_end, end_bytes);
        break;
      case Line::undecided:  // a blank line: where more follows, offsets can't be reckoned
        ended_short_ = ended_short_ || (expected_ == Expected::qualities ? record_.qualities : record_.bases).letters > 0;
    }
    line_kind_ = Line::undecided;
    line_size_ = 0;
    ++lines_;
    if (expected_ == Expected::qualities && record_.qualities.letters == record_.bases.letters) return end_record();
    return Outcome::fine;
  }
  void add_line(SequenceLines& lines, std::uint64_t letters_end, std::uint64_t end_bytes) {
    if (lines.letters == 0) {
      lines.line_letters = line_size_;
      lines.line_bytes = line_size_ + end_bytes;
      ended_short_ = false;
    } else {
      lines.even = lines.even && !ended_short_ && line_size_ <= lines.line_letters;
      ended_short_ = ended_short_ || line_size_ < lines.line_letters || line_size_ + end_bytes != lines.line_bytes;
    }
    lines.letters += line_size_;
    lines.end = letters_end;
  }
  Outcome end_record() {
    in_record_ = false;
    expected_ = Expected::record;
    ++records_;
    record_.name = name_;
    return sink_->end_record(std::as_const(record_)) ? Outcome::fine : Outcome::stopped;
  }

  Sink* sink_;
  SequenceTextRules rules_;
  char mark_ = '\0';  // '>' or '@'
  Expected expected_ = Expected::record;
  Line line_kind_ = Line::undecided;
  bool name_ended_ = false, in_record_ = false;
  bool return_held_ = false;  // a carriage return that may belong to a line end
  bool ended_short_ = false;  // no line may follow if the section is to be even
  std::uint64_t position_ = 0, line_size_ = 0, lines_ = 1, records_ = 0;
  std::string name_;
  std::unordered_set<std::string> names_;
  SequenceTextRecord record_;
  SequenceTextProblem problem_;
};

}  // namespace sluice
