// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as SAM, as a record of BAM with its tags, and as a record that waits on the disk to be sorted.
// Run: build/fuzz/bin/fuzz_alignments -max_len=2000 CORPUS tests/fuzz/alignments_seeds
#include <htslib/hts_log.h>

#include <sluice/hts/stored_record.hpp>

#include "alignment_reader/alignment_file.hpp"
#include "fuzzed_file.hpp"
#include "read_bases/sam_tags.hpp"

using namespace fuzzing;

namespace {

void read_file(std::string_view bytes) {
  const FileOf file(bytes);
  for (const char* region : {"", "chr1:3-900"})
    read_or_refuse([&] {
      sluice::alignment_reader::OpenOptions options;
      options.path = file.path();
      options.region = region;
      sluice::alignment_reader::AlignmentFile alignments(options);
      const auto contigs = static_cast<int>(alignments.contigs().size());
      for (const bam1_t* record = alignments.next(); record != nullptr; record = alignments.next())
        require(record->core.tid < contigs && record->core.l_qseq >= 0 && record->l_data >= record->core.l_qname);
    });
}

void read_record(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> own(data, data + size);  // on the heap, so that what lies beyond is not read unseen
  sluice::hts::AlignmentRecord record;
  if (sluice::hts::parse_record(own, 3, record) == sluice::hts::RecordOutcome::fine) {
    const std::size_t bases = static_cast<std::size_t>(record.core.l_qseq), front = std::size_t{4} * record.core.n_cigar + (bases + 1) / 2 + bases;
    require(front <= record.rest_bytes && record.reference_bases >= 0 && record.read_bases >= 0);
    std::string tags;
    sluice::read_bases::append_tags({record.rest + front, record.rest_bytes - front}, sluice::read_bases::TagChoice("all"), tags);
  }
  std::string tags;
  sluice::read_bases::append_tags(own, sluice::read_bases::TagChoice("all"), tags);
  sluice::read_bases::append_comment_tags(text_of(own.data(), own.size()), sluice::read_bases::TagChoice("MM,ML"), tags);
  bam1_t* const stored = bam_init1();
  if (sluice::hts::load_record(text_of(own.data(), own.size()), 3, *stored) == sluice::hts::RecordStatus::ok)
    require(stored->core.tid < 3 && stored->l_data <= static_cast<std::int64_t>(size));
  bam_destroy1(stored);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = [] { return hts_set_log_level(HTS_LOG_OFF), true; }();
  if (!quiet) return 0;
  read_file(text_of(data, size));
  read_record(data, size);
  return 0;
}
