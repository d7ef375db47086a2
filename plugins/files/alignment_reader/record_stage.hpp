// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The source `record_reader`: every record of a file as it stands in BAM.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sluice/stage.hpp>
#include <sluice/work_sharing.hpp>
#include <string>
#include <vector>

#include "alignment_reader/alignment_files.hpp"
#include "alignment_reader/bam_record.hpp"

namespace sluice::alignment_reader {

class RecordReader {
 public:
  struct Parameters {
    Path path;
    std::optional<Path> reference;
  };
  static void describe(Describe<RecordReader>& d) {
    d.id("record_reader")
        .summary("reads all records of BAM, SAM or CRAM, as they stand in BAM")
        .source("alignment")
        .rows_are("record")
        .positions()
        .parts();
    d.doc(
        "One row per record, in file order: unmapped, secondary and supplementary ones, too. A BAM file without its end-of-file block is refused as "
        "truncated. A record of SAM that BAM can't hold ends the run.");
    d.option("path", &Parameters::path, "BAM, SAM or CRAM file; - is standard input").required().reads();
    d.option("reference", &Parameters::reference, "FASTA file to decode CRAM with").reads().beside(".fai").beside(".gzi");
    d.gives("bam_bytes", "binary", "the record as it is in a BAM file, with its length");
    d.work_unit("base");
  }

  RecordReader(const Setup& setup, const Parameters& p)
      : files_({p.path}, {.path = {}, .reference = p.reference.value_or(Path())}, FileOrder::as_given,
               {setup.part(), setup.parts(), AlignmentFile::Numbering::of_range, setup.begin_at()}) {}
  std::string position() { return files_.position(AlignmentFiles::Of::next); }

  bool process(const Call& call, Output& out) {
    sharing_.begin();
    const ParallelFor parallel_for = [&](std::size_t count, std::size_t grain, const auto& body) {
      sharing_.share(count, body, [&](const auto& some) { call.parallel_for(count, grain, some); });
    };
    std::vector<AlignmentRecord> records;
    std::uint64_t bytes = 0;
    double work = 0;
    bool more = true;
    while (work < call.target_work() && bytes < call.target_bytes()) {
      const AlignmentRecord* const record = call.cancelled() ? nullptr : files_.next(parallel_for, call.threads());
      more = record != nullptr;
      if (!more) break;
      if (const char* limit = bam_limit(*record))
        throw Failure::input("record '" + std::string(record->name) + "' of '" + files_.path() + "' does not fit BAM: " + limit,
                             "leave the record out; longer contigs have to be cut into pieces");
      bytes += bam_bytes(records.emplace_back(*record));
      work += std::max(record->core.l_qseq, 1);
    }
    for (const std::string& warning : files_.take_warnings()) call.warn(warning);
    give(records, parallel_for, out);
    out.set_work(work);
    for (const std::string& warning : files_.take_warnings()) call.warn(warning);
    if (const double share = files_.share_read(); share >= 0) call.progress(share);
    if (const std::uint64_t memory = files_.memory(); memory != told_memory_) call.keeps(told_memory_ = memory);
    return more;
  }

 private:
  static void give(const std::vector<AlignmentRecord>& records, const ParallelFor& parallel_for, Output& out) {
    constexpr std::size_t rows_at_once = 16;
    out.set_rows(static_cast<std::int64_t>(records.size()));
    const Buffer offsets = out.offsets([&](std::int64_t row) { return bam_bytes(records[static_cast<std::size_t>(row)]); });
    const std::span<char> bytes = out.text("bam_bytes", offsets, "binary");
    parallel_for(records.size(), rows_at_once, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) write_bam_bytes(records[i], bytes.data() + offsets.as<std::int64_t>()[i]);
    });
  }

  AlignmentFiles files_;
  std::uint64_t told_memory_ = 0;
  WorkSharing sharing_;
};

}  // namespace sluice::alignment_reader
