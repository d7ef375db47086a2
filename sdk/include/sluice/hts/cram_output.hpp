// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A CRAM file as the output of a sink, and its index. HTSlib makes it, on the sink's thread alone: with several, the bytes would depend on which
// of them is first to choose how blocks are compressed.

#include <htslib/cram.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/sam.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/cram_reference.hpp>
#include <sluice/hts/fasta_index.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/staged_file.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::hts {

enum class CramIndex : std::uint8_t { none, crai };

class CramOutput {
 public:
  // `fasta`: what the records are aligned to; "": there is none, and bases are stored as they are. Throws Failure.
  CramOutput(const Host& host, const std::string& path, const std::string& fasta, sam_hdr_t& header, CramIndex index)
      : path_(path), header_(header), file_(host, path) {
    refuse_unless_bam_holds(header);
    if (index == CramIndex::crai) index_.emplace(host, path + ".crai");
    if (!fasta.empty()) {
      if (const std::string doubt = renew_fasta_index(fasta); !doubt.empty()) host.warn(doubt);
      reference_.emplace(header, fasta, "CRAM '" + path_ + "'");
      reference_->require_all();
    }
    errno = 0;
    open();
    const int status = fasta.empty() ? hts_set_opt(writer_.get(), CRAM_OPT_NO_REF, 1) : hts_set_opt(writer_.get(), CRAM_OPT_REFERENCE, fasta.c_str());
    if (status != 0) throw reference_failure(fasta);
    if (sam_hdr_write(writer_.get(), &header_) != 0) throw write_failure();
    if (index_ && sam_idx_init(writer_.get(), &header_, 0, index_path().c_str()) != 0) throw write_failure();
  }

  // Records as they stand in a BAM file.
  void add(const Call& call, std::span<const std::string_view> records) {
    std::vector<Record> made(records.size());
    call.parallel_for(made.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) made[i] = record_of(records[i]);
    });
    for (const Record& record : made) {
      if (reference_) reference_->check(record->core.tid);
      errno = 0;
      if (sam_write1(writer_.get(), &header_, record.get()) < 0) throw write_failure();
    }
  }
  void finish() {
    errno = 0;
    if (hts_close(writer_.release()) != 0) throw write_failure();
    file_.close();
    if (index_) index_->close();
  }

 private:
  // CRAM says what its file is called when it is written, which here is another name in each run.
  void open() {
    constexpr const char* name = "sluice";
    // What is open already is not opened by its name, which would begin it anew, nor closed: HTSlib closes a descriptor of its own.
    const std::string place = file_.path();
    FileDescriptor special = place == "-" || is_special_file(place) ? open_special_file(place) : FileDescriptor();
    hFILE* const opened = special.is_open() ? hdopen(special.number(), "w") : hopen(place.c_str(), "w");
    if (opened == nullptr) throw write_failure();
    special.release();
    writer_.reset(hts_hopen(opened, name, "wc"));
    if (writer_) return;
    const int code = errno;
    hclose_abruptly(opened);
    errno = code;
    throw write_failure();
  }
  Record record_of(std::string_view record) const {
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(record.data()) + 4, record.size() - 4);
    AlignmentRecord parsed;
    RecordOutcome outcome = parse_record(bytes, sam_hdr_nref(&header_), parsed);
    if (outcome == RecordOutcome::unusual && parse_by_htslib(bytes, sam_hdr_nref(&header_), parsed)) outcome = RecordOutcome::fine;
    if (outcome != RecordOutcome::fine) throw Failure::input("a record for '" + path_ + "' is damaged");
    return as_htslib_record(parsed);
  }
  std::string index_path() { return index_path_ = index_->path(); }
  Failure write_failure() const {
    const int code = errno;
    const std::string name = path_ == "-" ? "standard output" : "'" + path_ + "'";
    return Failure::output("cannot write " + name + ": " + (code != 0 ? std::strerror(code) : "HTSlib gives no reason"),
                           code != 0 ? remedy_of_write(code) : "do the records fit the reference?");
  }
  Failure reference_failure(const std::string& fasta) const {
    return Failure::input("CRAM '" + path_ + "' can't use the reference '" + fasta + "': no index of it can be made",
                          "give a FASTA file that `samtools faidx` can index (no index of minimizers), or write BAM");
  }

  std::string path_;
  sam_hdr_t& header_;
  OutputFile file_;
  std::optional<OutputFile> index_;
  std::string index_path_;  // HTSlib keeps no copy
  std::optional<CramReference> reference_;
  File writer_;
};

}  // namespace sluice::hts
