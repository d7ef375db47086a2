// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where each record of a FASTA or FASTQ text lies. The text comes in pieces of any size and is never held: memory is the table, about 50 bytes and
// the name a record.

#include <cstdint>
#include <sluice/sequence/text.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::sequence_store {

// Columns of the store. Offsets count bytes of the file that sequences are fetched from.
struct SequenceTable {
  std::string names;  // up to the first blank of each header, one after the other
  std::vector<std::int64_t> name_offsets{0};
  std::vector<std::int64_t> length;            // bases
  std::vector<std::int64_t> bases_offset;      // first base
  std::vector<std::int64_t> qualities_offset;  // first quality; -1: none, or all of them '!' (as racon takes it)
  std::vector<std::int64_t> line_bases;        // bases in a full line
  std::vector<std::int64_t> line_bytes;        // the same with the line end
  std::int64_t total_bases = 0;
};

// What follows from the text, where it can't be told by offsets into it.
enum class Places : std::uint8_t {
  in_text,  // offsets count the text's bytes; needs lines of equal length within a record
  packed,   // offsets count the bytes of letters that were handed to the sink: bases of record 0, its qualities, bases of record 1 ...
};

class LetterSink {
 public:
  virtual ~LetterSink() = default;
  virtual void take(std::string_view letters) = 0;
};

class SequenceScan {
 public:
  // sink: takes the letters for Places::packed, otherwise unused (nullptr). `path` is for messages.
  SequenceScan(std::string path, Places places, LetterSink* sink, SequenceTable& table)
      : path_(std::move(path)), places_(places), sink_(sink), table_(&table), parser_(*this) {}
  SequenceScan(const SequenceScan&) = delete;
  // Before the first piece: the text begins at this byte of the file, with a record, and is over (feed() returns false, reached_end() is true) with
  // the last record that begins before byte `end`.
  void begin_within(SequenceFormat format, std::uint64_t begin, std::uint64_t end) {
    parser_.expect(format);
    begin_ = begin;
    end_ = end;
  }
  // Before the first piece, for Places::packed: so many bytes of letters are in the sink already.
  void begin_packed_at(std::int64_t bytes) { packed_ = bytes; }
  bool reached_end() const { return reached_end_; }
  // In the file: behind that record.
  std::uint64_t position() const { return begin_ + parser_.position(); }
  // The next piece. False: a record has lines of unequal length, so that only Places::packed can describe it; then this scan is over.
  // Throws Failure (input) naming record and line where the text is neither FASTA nor FASTQ.
  bool feed(std::string_view text) { return fits(parser_.feed(text)); }
  // The end of the text. As feed().
  bool finish() { return fits(parser_.finish()); }

 private:
  using Parser = SequenceTextParser<SequenceScan>;
  friend Parser;
  void begin_record(std::string_view name);
  void take_bases(std::string_view letters);
  void take_qualities(std::string_view letters);
  bool end_record(const SequenceTextRecord& record);
  void take(std::string_view letters, std::int64_t& offset);
  bool fits(Parser::Outcome outcome) const;

  std::string path_;
  Places places_;
  LetterSink* sink_;
  SequenceTable* table_;
  Parser parser_;
  std::uint64_t begin_ = 0, end_ = ~std::uint64_t{0};  // of the text within the file
  bool reached_end_ = false;
  std::int64_t packed_ = 0;  // letters given to the sink
  std::int64_t bases_offset_ = -1, qualities_offset_ = -1;
  bool any_quality_ = false;  // of this record, other than '!'
};

}  // namespace sluice::sequence_store
