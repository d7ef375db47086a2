// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <htslib/sam.h>

#include <cerrno>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/join_bam.hpp>
#include <sluice/hts/stored_record.hpp>
#include <sluice/hts/tag_walk.hpp>
#include <sluice/input_files.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::alignment_writer {

// Sink: the records of BAM, SAM or CRAM again, with tags that stages have made.
class TaggedBamWriter {
 public:
  enum class Reason : std::uint32_t { corrupt_record };
  struct Parameters {
    Path output;
    Path alignments;
    std::string command;
  };

  static void describe(Describe<TaggedBamWriter>& d) {
    d.id("tagged_bam_writer").summary("writes the records of BAM, SAM or CRAM again, as BAM, with tags that stages have made");
    d.doc(
        "Each record comes out as it was, with the tags of added_tags in place of those of the same names. Records of rows that have failed are "
        "written "
        "as they were. No index is made.");
    d.sink("read").work_unit("row").concatenates();
    d.needs("bam_record", "binary", "the record, as alignment_reader gives it");
    d.needs("added_tags", "binary", "tags as in BAM");
    d.option("output", &Parameters::output, "BAM file to write; - is standard output").required().writes();
    d.option("alignments", &Parameters::alignments, "what alignment_reader reads: the header is copied")
        .required()
        .reads()
        .several(".bam .sam .cram");
    d.option("command", &Parameters::command, "what the header says of the run (CL of @PG)");
    d.reason("corrupt_record", "the record contradicts itself or the header, or has no room for the tags");
  }

  static std::string joined_form(const Parameters&) { return "BAM"; }
  static void join_files(const Call& call, const Parameters&, const FilesToJoin& files) { hts::join_bam(call, files, -1, hts::JoinedIndex::none); }

  TaggedBamWriter(const Setup& setup, const Parameters& p)
      : header_(hts::header_of_inputs(p.alignments, input_files(p.alignments, ".bam .sam .cram"), hts::SeveralFiles::one_after_the_other, false)),
        contigs_(sam_hdr_nref(header_.get())) {
    hts::silence();
    const std::string version(std::string_view(SLUICE_BUILD_ID).substr(0, std::string_view(SLUICE_BUILD_ID).find('-')));
    if (!hts::add_program(*header_, version, "", p.command)) throw Failure::input("the header for '" + p.output + "' takes no @PG line");
    bam_.emplace(OutputFile(setup, p.output));
    bam_->header(hts::bam_header_bytes(*header_));
    bam_->blocks().end_block();
    resume(setup, [this](StateReader& from) { bam_->restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const TextView records = in.text("bam_record"), tags = in.text("added_tags");
    std::vector<std::string> made(static_cast<std::size_t>(in.rows()));
    call.parallel_for(made.size(), 16, [&](std::size_t begin, std::size_t end) {
      auto record = records_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        const bool is_ok = in.ok(row);
        if (!make_record(records[row], is_ok ? tags[row] : std::string_view(), **record, made[i]) && is_ok) out.fail(row, Reason::corrupt_record);
      }
    });
    out.text_rows("_record", made, "binary");
  }

  void commit(const Call& call, const Batch& in) {
    const TextView records = in.text("_record"), tags = in.text("added_tags");
    std::uint64_t written = 0, tagged = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (records[row].empty()) continue;
      bam_->blocks().begin_record(records[row].size());
      bam_->blocks().add_record(records[row]);
      ++written;
      tagged += in.ok(row) && !tags[row].empty() ? 1 : 0;
    }
    bam_->write(call);
    call.count("records with added tags", static_cast<double>(tagged));
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) { bam_->finish(call); }
  void save(const Call& call, StateWriter& to) { bam_->save(call, to); }

 private:
  // Appends the record as it stands in a file. False: it can't be.
  bool make_record(std::string_view stored, std::string_view tags, bam1_t& record, std::string& bytes) const {
    const hts::RecordStatus status = hts::load_record(stored, contigs_, record);
    if (status == hts::RecordStatus::no_memory)
      throw Failure::memory("no memory for an alignment record of " + std::to_string(stored.size()) + " bytes");
    if (status != hts::RecordStatus::ok) return false;
    while (!tags.empty()) {
      const std::optional<std::size_t> size = hts::first_tag_bytes(tags);
      if (!size) return false;
      const std::string name(tags.substr(0, hts::tag_name_bytes));
      while (std::uint8_t* const earlier = bam_aux_get(&record, name.c_str())) bam_aux_del(&record, earlier);
      errno = 0;
      if (bam_aux_append(&record, name.c_str(), tags[hts::tag_type_at], static_cast<int>(*size - hts::tag_value_at),
                         reinterpret_cast<const std::uint8_t*>(tags.data() + hts::tag_value_at)) != 0) {
        if (errno == ENOMEM) throw Failure::memory("no memory for the tags of an alignment record");
        return false;
      }
      tags.remove_prefix(*size);
    }
    return hts::append_bam_record(record, bytes);
  }

  struct NewRecord : hts::Record {
    NewRecord() : hts::Record(allocated(bam_init1())) {}
  };
  hts::Header header_;
  int contigs_;
  std::optional<hts::BgzfOutput> bam_;
  Workspaces<NewRecord> records_;
};

}  // namespace sluice::alignment_writer
