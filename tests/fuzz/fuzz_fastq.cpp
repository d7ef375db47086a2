// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as FASTQ, FASTA, a reference, and a .fai index. A text that is parsed in two pieces must give what it gives at once, and what is read in
// blocks must be what is found record by record.
// Run: build/fuzz/bin/fuzz_fastq -max_len=2000 CORPUS tests/fuzz/fastq_seeds
#include <cstdlib>
#include <string>

#include "read_bases/read_batches.hpp"
#include "read_bases/sequence_index.hpp"
#include "read_bases/sequence_records.hpp"
#include "reference_sequence/fasta.hpp"

using namespace sluice::read_bases;
using sluice::SequenceFormat;

namespace {

std::string all_records(std::string_view text, SequenceFormat format) {
  std::string found;
  while (true) {
    SequenceRecord record;
    ParseProblem problem;
    std::size_t used = 0;
    const ParseStatus status = parse_record(text, true, format, record, used, problem);
    if (status == ParseStatus::incomplete) std::abort();
    if (status != ParseStatus::record) return found + (status == ParseStatus::end ? "." : "!");
    if (used == 0 || used > text.size()) std::abort();
    std::string bases(record.bases, '?');
    copy_letters(record.sequence, bases.data());
    normalise_bases(bases);
    found += std::string(record.id) + "=" + bases + "\n";
    if (record.even_lines) {
      const auto bytes = SequencePlace{0, record.bases, record.line_bases, record.line_bytes}.text_bytes();
      if (!bytes || *bytes != record.sequence.size()) std::abort();
    }
    // Without its last byte the record must not be another one, but for a line end.
    SequenceRecord part;
    std::size_t part_used = 0;
    if (parse_record(text.substr(0, used - 1), false, format, part, part_used, problem) == ParseStatus::record && part.bases != record.bases)
      std::abort();
    text.remove_prefix(used);
  }
}

// A text that comes in blocks and pieces of so many bytes.
class TextInPieces : public TextInput {
 public:
  TextInPieces(std::string_view text, std::size_t piece_bytes) : text_(text), piece_bytes_(piece_bytes) {}
  std::uint64_t consumed() const override { return 0; }
  void set_growing(bool) override {}
  bool could_end() const override { return true; }
  Place place_of(std::uint64_t letter) const override { return {letter, 0}; }
  std::optional<std::uint64_t> letter_from(std::uint64_t offset) const override { return offset; }
  std::size_t read(std::size_t wanted, TextBuffer& text, const ParallelFor& parallel_for, Taker& taker) override {
    const std::string_view block = text_.substr(0, wanted);
    char* const to = text.append(block.size());
    const std::size_t pieces = (block.size() + piece_bytes_ - 1) / piece_bytes_;
    taker.expect(pieces);
    parallel_for(pieces, [&](std::size_t piece) {
      const std::string_view part = block.substr(piece * piece_bytes_, piece_bytes_);
      part.copy(to + piece * piece_bytes_, part.size());
      taker.take(piece, {to + piece * piece_bytes_, part.size()});
    });
    text_.remove_prefix(block.size());
    return pieces;
  }

 private:
  std::string_view text_;
  std::size_t piece_bytes_;
};

void read_in_blocks(std::string_view text) {
  SequenceFormat format{};
  if (!guess_format(text, format)) return;
  const std::string expected = all_records(text, format);
  // The text itself says how it is cut.
  const std::size_t sum = static_cast<unsigned char>(text.front()) + static_cast<unsigned char>(text.back()) + text.size();
  const ReadBatches::Sizes sizes{static_cast<double>(sum % 50), UINT64_MAX, 1 + sum % 61};
  ReadBatches batches(std::make_unique<TextInPieces>(text, 1 + sum % 17), "x", {});
  const ParallelFor backwards = [](std::size_t count, const std::function<void(std::size_t)>& body) {
    while (count > 0) body(--count);
  };
  std::string found;
  std::size_t without_bases = 0;
  bool good = true;
  try {
    while (const auto batch = batches.next(sizes, {}, backwards, [] { return false; })) {
      without_bases += batch->without_bases.size();
      const auto names = batch->name_ends.as<std::int64_t>(), bases = batch->base_ends.as<std::int64_t>();
      for (std::size_t row = 0; row < static_cast<std::size_t>(batch->rows); ++row) {
        const auto part = [row](const auto& ends, const sluice::Buffer& all) {
          return std::string(static_cast<const char*>(all.data()) + ends[row], static_cast<std::size_t>(ends[row + 1] - ends[row]));
        };
        found += part(names, batch->names) + "=" + part(bases, batch->bases) + "\n";
      }
    }
    batches.check_end();
  } catch (const sluice::Failure&) {
    good = false;
  }
  // The records without bases are counted, and no rows.
  std::string rows;
  std::size_t empty = 0;
  for (std::size_t at = 0, end = 0; (end = expected.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string row = expected.substr(at, end + 1 - at);
    row.ends_with("=\n") ? static_cast<void>(++empty) : static_cast<void>(rows += row);
  }
  if (good != expected.ends_with('.')) std::abort();
  if (good ? found != rows || without_bases != empty : !rows.starts_with(found)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto format : {SequenceFormat::fasta, SequenceFormat::fastq}) all_records(text, format);
  read_in_blocks(text);

  std::vector<sluice::reference_sequence::ContigText> contigs;
  sluice::reference_sequence::FastaProblem problem;
  if (sluice::reference_sequence::find_contigs(text, contigs, problem)) {
    for (const auto& contig : contigs) {
      std::string bases(contig.bases, '?');
      if (sluice::reference_sequence::copy_bases(contig, sluice::reference_sequence::AmbiguousBases::first_base, bases.data(), problem) &&
          bases.find_first_not_of("ACGT") != std::string::npos)
        std::abort();
    }
  }
  SequenceIndex index;
  std::uint64_t duplicates = 0;
  parse_index(text, 1'000'000, index, duplicates);
  return 0;
}
