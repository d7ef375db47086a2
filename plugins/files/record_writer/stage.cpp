// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <optional>
#include <sluice/file_joining.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/join_bam.hpp>
#include <sluice/hts/sorted_alignments.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>

namespace sluice::record_writer {
namespace {

class SortedRecordWriter {
 public:
  enum class Reason : std::uint32_t { corrupt_record };
  struct Parameters {
    Path output;
    Path alignments;
    std::string format = "auto";
    std::optional<Path> reference;
    std::int64_t compression = -1;
    std::string command;
  };

  static void describe(Describe<SortedRecordWriter>& d) {
    d.id("sorted_record_writer").sink("alignment").summary("writes alignment records sorted by coordinate, as BAM or CRAM with an index");
    d.concatenates();
    d.doc(
        "The order is that of `samtools sort`: contig, position, strand; what lies on no contig comes last, and records of one place stay in the "
        "order "
        "of the input. Records are written as they are. What half of the run's memory does not hold is written to a temporary file beside the output "
        "in sorted runs, which are merged in the end.\n\n"
        "OUTPUT.bai (.csi if a contig has more than 2^29 bases, .crai of CRAM) lies beside the file.");
    d.needs("bam_bytes", "binary", "the record as it is in a BAM file, with its length");
    d.option("output", &Parameters::output, "where to write; - is standard output, then BAM unless format says otherwise, and without an index")
        .required()
        .writes()
        .beside(".bai")
        .beside(".csi")
        .beside(".crai");
    d.option("alignments", &Parameters::alignments, "the file that the records are of: its header is copied").required().reads();
    d.option("format", &Parameters::format, "auto: CRAM if the name ends in .cram, else BAM").choices({"auto", "bam", "cram"});
    d.option("reference", &Parameters::reference, "CRAM: the contigs as FASTA, which bases are compressed against").reads();
    d.option("compression", &Parameters::compression, "level of BAM, as HTSlib's; -1: its default, but smaller and faster for long reads")
        .range(-1, 9);
    d.option("command", &Parameters::command, "what the header says of the run (CL of @PG)");
    d.reason("corrupt_record", "the alignment record contradicts itself or the header");
    d.work_unit("base");
  }

  static void check_parameters(const Parameters& p) {
    if (p.output.ends_with(".sam") || p.output.ends_with(".sam.gz") || p.output.ends_with(".sam.zst"))
      throw Failure::usage("sorted alignments are BAM or CRAM", "name the output .bam or .cram");
    if (format_of(p) == hts::AlignmentFormat::cram && (!p.reference || p.reference->empty()))
      throw Failure::usage("CRAM needs the reference", "give it as a FASTA file");
  }

  static std::string joined_form(const Parameters& p) {
    if (format_of(p) == hts::AlignmentFormat::cram) throw Failure::usage("CRAM is compressed as a whole", "write BAM");
    return "sorted BAM";
  }
  static void join_files(const Call& call, const Parameters& p, const FilesToJoin& files) {
    hts::join_sorted_bam(call, files, static_cast<int>(p.compression));
  }

  SortedRecordWriter(const Setup& setup, const Parameters& p) : header_(hts::read_alignment_header(p.alignments)) {
    hts::silence();
    const std::string version(std::string_view(SLUICE_BUILD_ID).substr(0, std::string_view(SLUICE_BUILD_ID).find('-')));
    if (!hts::add_program(*header_, version, "", p.command))
      throw Failure::input("the header of '" + std::string(p.alignments) + "' takes no @PG line");
    contigs_ = sam_hdr_nref(header_.get());
    sorted_.emplace(setup,
                    hts::SortedAlignments::Options{
                        .path = p.output, .format = format_of(p), .fasta = p.reference.value_or(Path()), .level = static_cast<int>(p.compression)},
                    *header_);
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const TextView records = in.text("bam_bytes");
    call.parallel_for(static_cast<std::size_t>(in.rows()), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (const auto row = static_cast<std::int64_t>(i); in.ok(row) && !is_whole(records[row])) out.fail(row, Reason::corrupt_record);
    });
  }

  void commit(const Call& call, const Batch& in) {
    const TextView records = in.text("bam_bytes");
    std::uint64_t written = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      sorted_->add(call, records[row]);
      ++written;
    }
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) { sorted_->finish(call); }

 private:
  static hts::AlignmentFormat format_of(const Parameters& p) {
    const bool is_cram = p.format == "cram" || (p.format == "auto" && p.output.ends_with(".cram"));
    return is_cram ? hts::AlignmentFormat::cram : hts::AlignmentFormat::bam;
  }
  bool is_whole(std::string_view record) const {
    if (record.size() < sizeof(std::uint32_t) || hts::bam_record_bytes(record.data()) != record.size()) return false;
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(record.data()) + sizeof(std::uint32_t),
                                              record.size() - sizeof(std::uint32_t));
    hts::AlignmentRecord parsed;
    const hts::RecordOutcome outcome = hts::parse_record(bytes, contigs_, parsed);
    return outcome == hts::RecordOutcome::fine || (outcome == hts::RecordOutcome::unusual && hts::parse_by_htslib(bytes, contigs_, parsed));
  }

  hts::Header header_;
  int contigs_ = 0;
  std::optional<hts::SortedAlignments> sorted_;
};

}  // namespace
}  // namespace sluice::record_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::record_writer::SortedRecordWriter>, "record_writer", "0.1.0", "MIT",
                   sluice::record_writer::SortedRecordWriter);
