// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as FASTQ, FASTA, a reference, and a .fai index. A text that is parsed in two pieces must give what it gives at once.
// Run: build/fuzz/bin/fuzz_fastq -max_len=2000 CORPUS tests/fuzz/fastq_seeds
#include <cstdlib>
#include <string>

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto format : {SequenceFormat::fasta, SequenceFormat::fastq}) all_records(text, format);

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
