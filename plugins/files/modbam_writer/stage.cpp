// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <htslib/sam.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bam_index.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/contig_lines.hpp>
#include <sluice/hts/cram_output.hpp>
#include <sluice/hts/join_bam.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/hts/read_group_samples.hpp>
#include <sluice/hts/stored_record.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/input_files.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/motif.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/site_calls.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "modbam_writer/base_modifications.hpp"

namespace sluice::modbam_writer {

using hts::load_record, hts::RecordStatus;

namespace {

constexpr const char* plugin_version = "0.1.0";

// Reusable memory of one process() call.
struct Workspace {
  hts::Record record{allocated(bam_init1())};
  hts::Line line;
  std::vector<SiteCall> calls;
  ModificationTags tags;
};

// Sink: the alignments again, each with its methylation calls in the tags MM and ML. Tags are made in parallel, records written in order.
class ModbamWriter {
 public:
  enum class Reason : std::uint32_t { corrupt_record, sites_not_on_reference, alignment_without_read };
  enum class FailedReads : std::uint8_t { keep, drop };

  struct Parameters {
    Path output;
    std::optional<Path> alignments;
    std::string command;
    bool merge = false;
    bool follow = false;
    std::string format = "auto";
    bool keep_failed = true;
    std::string motif = "cpg";
  };
  static void describe(Describe<ModbamWriter>& d) {
    d.id("modbam_writer").summary("writes the alignments with methylation calls in the tags MM and ML (modBAM)");
    d.doc(
        "Each record comes out as it was, with MM, ML and MN for 5-methylcytosine at CpGs (\"C+m?\": cytosines that are not listed were not called). "
        "The probability is 1 / (1 + exp(-log-likelihood ratio)); all CpGs of a group carry the group's. Only CpGs that the read itself shows are "
        "listed. Calls of another motif have its base and code (dam: \"A+a?\"). "
        "Earlier MM, ML and MN tags are replaced.\n\n"
        "The output is not a copy of the input: records that alignment_reader or alignment_rows leave out (unmapped, of a mapping quality below "
        "min_mapq, secondary ones) are not in it. The end of a run says how many they were, by reason, and --account names them. With keep = all "
        "these stages give such records, too, and what alignment_filter leaves out is written without the tags.");
    d.sink("read").work_unit("row").concatenates();
    d.needs("bam_record", "binary", "the alignment record, as alignment_reader and alignment_rows give it");
    needs_site_calls(d);
    d.uses("reference", "contig", "the sequences that the reads are aligned to; also what CRAM is compressed against");
    d.option("output", &Parameters::output, "where to write; - is standard output, then as BAM unless format says otherwise")
        .required()
        .writes()
        .beside(".bai")
        .beside(".csi");
    d.uses("index", "minimizer_index", "contigs that the records name by number, where there is no file of alignments", Needed::optional);
    d.option("alignments", &Parameters::alignments,
             "what alignment_reader reads: the header is copied; left out: the header has the contigs of index and the lines of the reads' files")
        .reads()
        .several(".bam .sam .cram");
    d.option("merge", &Parameters::merge, "alignment_reader's: sorted files are read as one");
    d.option("follow", &Parameters::follow, "alignment_reader's: the header is that of the first file that can be read");
    d.option("command", &Parameters::command, "what the header says of the run (CL of @PG)");
    d.option("format", &Parameters::format, "auto: by the end of the name (.sam, .sam.gz, .sam.zst, .cram, else BAM)")
        .choices({"auto", "bam", "sam", "cram"});
    d.option("keep_failed", &Parameters::keep_failed, "also write records without calls because their read failed, without the tags");
    d.option("motif", &Parameters::motif, "what was called: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE");
    d.reason("corrupt_record", "the alignment record contradicts itself or the header");
    d.reason("sites_not_on_reference", "the called sites are no CpGs, or none of the motif, on this reference");
    d.reason("alignment_without_read", "CIGAR and bases of the record do not fit each other");
  }

  static void check_parameters(const Parameters& p) { parse_motif(p.motif); }

  static std::string joined_form(const Parameters& p) {
    if (form_of(p) == Form::cram) throw Failure::usage("CRAM is compressed as a whole", "write BAM");
    return form_of(p) == Form::bam ? "BAM" : hts::joined_text_form(p.output);
  }
  static void join_files(const Call& call, const Parameters& p, const FilesToJoin& files) {
    if (form_of(p) == Form::bam) return hts::join_bam(call, files, -1, hts::JoinedIndex::if_sorted);
    hts::join_text(call, files);
  }

  ModbamWriter(const Setup& setup, const Parameters& parameters)
      : output_name_(parameters.output),
        failed_reads_(parameters.keep_failed ? FailedReads::keep : FailedReads::drop),
        motif_(parse_motif(parameters.motif)),
        command_(parameters.command),
        reference_(setup.resource("reference")),
        has_file_(parameters.alignments && !parameters.alignments->empty()),
        header_(has_file_ ? read_header(parameters) : header_of_index(setup)) {
    hts::silence();
    std::unordered_map<std::string_view, std::string_view> by_name;
    for (std::int64_t row = 0; row < reference_.contigs(); ++row) by_name.emplace(reference_.name(row), reference_.bases(row));
    for (int tid = 0; tid < sam_hdr_nref(header_.get()); ++tid) {
      const auto found = by_name.find(sam_hdr_tid2name(header_.get(), tid));
      contigs_.push_back(found == by_name.end() ? std::nullopt : std::optional(found->second));
    }
    form_ = form_of(parameters);
    if (form_ == Form::cram) reference_path_ = setup.resource("reference").attribute("path");
    if (form_ == Form::sam)
      sam_.emplace(setup, parameters.output);
    else if (form_ == Form::bam)
      bam_.emplace(OutputFile(setup, parameters.output));
    if (has_file_) begin_file(setup, {});
    resume(setup, [this](StateReader& from) { restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const TextView records = in.text("bam_record");
    const SiteCalls calls(in);
    std::vector<std::string> tagged(static_cast<std::size_t>(in.rows()));
    const std::span<std::uint8_t> has_calls = out.column<std::uint8_t>("_has_calls");
    call.parallel_for(tagged.size(), 16, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (in.ok(row))
          has_calls[i] = tag_record(call, records[row], calls, row, *workspace, tagged[i], out) ? 1 : 0;
        else if (failed_reads_ == FailedReads::keep)
          strip_record(records[row], *workspace, tagged[i]);
      }
    });
    out.text_rows("_record", tagged, "binary");
  }

  void commit(const Call& call, const Batch& in) {
    begin_file(call, in.attribute("sam_header"));
    const TextView records = in.text("_record");
    const auto has_calls = in.column<std::uint8_t>("_has_calls");
    double with_tags = 0;
    double without_tags = 0;
    std::uint64_t with_calls = 0;
    std::vector<std::string_view> of_cram;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (records[row].empty()) continue;
      if (form_ == Form::cram)
        of_cram.push_back(records[row]);
      else
        write(call, records[row]);
      (in.ok(row) ? with_tags : without_tags) += 1;
      with_calls += in.ok(row) ? has_calls[static_cast<std::size_t>(row)] : 0;
    }
    call.count("records written with tags", with_tags);
    call.count("records written without tags", without_tags);
    if (cram_) cram_->add(call, of_cram);
    call.outcome("tagged", with_calls, static_cast<std::uint64_t>(in.rows()));
    if (form_ == Form::bam && bam_->write(call) && index_ && !index_->take_known(bam_->blocks())) throw hts::index_failure("'" + output_name_ + "'");
  }

  void finish(const Call& call, Output&) {
    begin_file(call, {});
    if (replaced_ > 0)
      call.warn(std::to_string(replaced_) + " records had base modifications already (tags MM and ML): '" + output_name_ + "' has " +
                what_is_called() + " in their place");
    if (form_ == Form::sam) return sam_->finish(call);
    if (form_ == Form::bam) {
      bam_->finish(call);
      if (!index_) return;
      OutputFile file(call, output_name_ + hts::BamIndex::suffix(hts::BamIndex::format_for(*header_)));
      if (!index_->finish(bam_->blocks(), std::move(file))) throw hts::index_failure("'" + output_name_ + "'");
      return;
    }
    cram_->finish();
  }
  bool can_save() const { return form_ != Form::cram; }
  void save(const Call& call, StateWriter& to) {
    to.value(std::uint8_t{begun_});
    if (form_ == Form::sam) return sam_->save(call, to);
    bam_->save(call, to);
    to.value(std::uint8_t{index_.has_value()});
    if (!index_) return;
    if (!index_->take_known(bam_->blocks())) throw hts::index_failure("'" + output_name_ + "'");
    index_->save(to);
  }

 private:
  static hts::Header read_header(const Parameters& p) {
    const std::string inputs = *p.alignments;
    return hts::header_of_inputs(inputs, input_files(inputs, ".bam .sam .cram"),
                                 p.merge ? hts::SeveralFiles::merged_if_sorted : hts::SeveralFiles::one_after_the_other, p.follow);
  }
  // Records are made in process(), of SAM and BAM as they stand in the file; CRAM takes those of BAM.
  enum class Form : std::uint8_t { bam, sam, cram };
  static Form form_of(const Parameters& p) {
    const std::string format = p.format == "auto" ? format_of(p.output) : p.format;
    return format == "sam" ? Form::sam : format == "cram" ? Form::cram : Form::bam;
  }

  std::string what_is_called() const {
    return motif_.name == "cpg" ? "5mC calls at CpGs" : "calls of " + std::string(1, motif_.base) + "+" + motif_.code + " at " + motif_.letters;
  }
  static hts::Header header_of_index(const Setup& setup) {
    if (!setup.has_resource("index"))
      throw Failure::usage("stage 'modbam_writer' has neither a file of alignments nor an index of contigs",
                           "give `alignments`, or the resource index");
    const std::string text = hts::contig_lines(minimizer_index_view(setup.resource("index")));
    hts::Header header(allocated(sam_hdr_init()));
    if (hts::add_header_lines(*header, text) != 0) throw Failure::output("cannot make a header of the contigs", "contig names must be valid in SAM");
    return header;
  }
  // `input`: @RG and @PG lines of the reads' files, which the first batch brings; "" where alignments have a header.
  void begin_file(const Host& host, std::string_view input) {
    if (std::exchange(begun_, true)) return;
    hts::refuse_two_samples(input);
    hts::Header header(allocated(sam_hdr_dup(header_.get())));
    if (!input.empty() && hts::add_header_lines(*header, input) != 0)
      throw Failure::output("cannot make the header of '" + output_name_ + "'", "the headers of the reads' files must be valid");
    const std::string what = what_is_called() + " in MM and ML (modbam_writer)";
    if (!hts::add_program(*header, plugin_version, what, command_)) throw Failure::input("the header for '" + output_name_ + "' takes no @PG line");
    if (form_ == Form::cram) {
      cram_header_ = std::move(header);
      cram_.emplace(host, output_name_, reference_path_, *cram_header_, hts::CramIndex::none);
      return;
    }
    if (form_ == Form::sam) return sam_->header(hts::sam_header_text(*header));
    bam_->header(hts::bam_header_bytes(*header));
    bam_->blocks().end_block();
    if (hts::is_sorted(*header) && hts::has_place_for_index(output_name_)) index_.emplace(*header_, hts::BamIndex::format_for(*header_));
  }
  void restore(StateReader& from) {
    begun_ = from.value<std::uint8_t>() != 0;
    if (form_ == Form::sam) return sam_->restore(from);
    bam_->restore(from);
    index_.reset();
    if (from.value<std::uint8_t>() == 0) return;
    index_.emplace(*header_, hts::BamIndex::format_for(*header_));
    index_->restore(from, bam_->path(), bam_->blocks());
    if (const hts::BamIndex::Entry* last = index_->last()) last_ = *last;
  }
  // What commit() writes of a record.
  void append(const bam1_t& record, Workspace& workspace, std::string& result) const {
    if (form_ != Form::sam) {
      if (hts::append_bam_record(record, result)) return;
      throw Failure::output("cannot write '" + output_name_ + "': its format can't hold the place of record '" + bam_get_qname(&record) + "'",
                            "write SAM");
    }
    if (sam_format1(header_.get(), &record, &workspace.line) < 0) throw Failure::memory("no memory for a record of '" + output_name_ + "'");
    result.append(workspace.line.s, workspace.line.l).push_back('\n');
  }
  // Files that are not sorted although their headers say so have no index.
  void add_to_index(const Call& call, std::string_view record) {
    hts::BamIndex::Entry entry = hts::BamIndex::entry_of(record);
    entry.begin = bam_->blocks().place();
    if (entry.follows(last_)) return index_->add(last_ = entry);
    call.warn("'" + output_name_ + "' has no index: the alignments are not sorted, although their header says so");
    index_.reset();
  }
  void write(const Call& call, std::string_view record) {
    if (form_ == Form::bam) {
      bam_->blocks().begin_record(record.size());
      if (index_) add_to_index(call, record);
      return bam_->blocks().add_record(record);
    }
    sam_->write(call, record);
  }

  static std::string format_of(std::string_view path) {
    return path.ends_with(".sam") || path.ends_with(".sam.gz") || path.ends_with(".sam.zst") ? "sam" : path.ends_with(".cram") ? "cram" : "bam";
  }

  void remove_tags(bam1_t& record) const {
    if (bam_aux_get(&record, "MM") != nullptr || bam_aux_get(&record, "Mm") != nullptr) ++replaced_;
    for (const char* tag : {"MM", "ML", "MN", "Mm", "Ml"})
      if (std::uint8_t* found = bam_aux_get(&record, tag)) bam_aux_del(&record, found);
  }

  void load(std::string_view bytes, bam1_t& record, RecordStatus& status) const {
    status = load_record(bytes, sam_hdr_nref(header_.get()), record);
    if (status == RecordStatus::no_memory) throw Failure::memory("no memory for an alignment record of " + std::to_string(bytes.size()) + " bytes");
  }

  void strip_record(std::string_view bytes, Workspace& workspace, std::string& result) const {
    RecordStatus status{};
    load(bytes, *workspace.record, status);
    if (status != RecordStatus::ok) return;  // the row failed earlier: it is in the account already
    remove_tags(*workspace.record);
    append(*workspace.record, workspace, result);
  }

  // Is there a call in it?
  bool tag_record(const Call& call, std::string_view bytes, const SiteCalls& calls, std::int64_t row, Workspace& workspace, std::string& result,
                  Output& out) const {
    bam1_t& record = *workspace.record;
    RecordStatus status{};
    load(bytes, record, status);
    const auto fail = [&](Reason reason) { return out.fail(row, reason), false; };
    if (status != RecordStatus::ok) return fail(Reason::corrupt_record);
    remove_tags(record);
    if (record.core.l_qseq == 0) return append(record, workspace, result), false;  // SEQ is "*": there is nothing that MM could count

    const std::size_t groups = calls.groups(row, bam_get_qname(&record));
    const Strand strand = bam_is_rev(&record) ? Strand::reverse : Strand::forward;
    workspace.calls.clear();
    if (groups > 0) {
      const std::string_view bases = bases_of(record.core.tid);
      for (std::size_t i = 0; i < groups; ++i) {
        const double ratio = calls.log_lik_ratio(row, i);
        if (ratio != ratio) continue;  // no call
        const SiteGroup group{calls.start[row][i], calls.end[row][i], calls.motifs[row][i]};
        reference_.read_near(bases, group.first_site, group.last_site + motif_.sites(strand).length, call);
        if (!append_group(bases, motif_.sites(strand), group, probability_code(ratio), workspace.calls)) return fail(Reason::sites_not_on_reference);
      }
    }
    const RecordAlignment alignment{.reference_start = record.core.pos,
                                    .cigar = {bam_get_cigar(&record), record.core.n_cigar},
                                    .packed_bases = bam_get_seq(&record),
                                    .base_count = record.core.l_qseq,
                                    .strand = strand};
    ModificationTags& tags = workspace.tags;
    tags.probabilities.reserve(1);  // HTSlib wants a pointer even for no elements
    if (!make_tags(alignment, motif_, workspace.calls, tags)) return fail(Reason::alignment_without_read);
    errno = 0;
    const bool added =
        bam_aux_append(&record, "MM", 'Z', static_cast<int>(tags.positions.size() + 1),
                       reinterpret_cast<const std::uint8_t*>(tags.positions.c_str())) == 0 &&
        bam_aux_update_array(&record, "ML", 'C', static_cast<std::uint32_t>(tags.probabilities.size()), tags.probabilities.data()) == 0 &&
        bam_aux_update_int(&record, "MN", record.core.l_qseq) == 0;
    if (!added) {
      if (errno == ENOMEM) throw Failure::memory("no memory for the tags of an alignment record");
      return fail(Reason::corrupt_record);
    }
    append(record, workspace, result);
    return !tags.probabilities.empty();
  }

  std::string_view bases_of(std::int32_t tid) const {
    if (tid >= 0 && contigs_[static_cast<std::size_t>(tid)]) return *contigs_[static_cast<std::size_t>(tid)];
    const std::string name = tid >= 0 ? sam_hdr_tid2name(header_.get(), tid) : "*";
    throw Failure::input("contig '" + name + "' is not in the reference, needed for '" + output_name_ + "'",
                         "give the reference that the reads were aligned to");
  }

  std::string output_name_;
  mutable std::atomic<std::uint64_t> replaced_ = 0;  // records that had modifications already
  FailedReads failed_reads_;
  Motif motif_;
  std::string command_;
  ReferenceText reference_;
  bool has_file_, begun_ = false;
  hts::Header header_;                                    // what records are read with
  std::vector<std::optional<std::string_view>> contigs_;  // bases by the header's contig index, owned by the reference
  Form form_ = Form::bam;
  std::optional<hts::BgzfOutput> bam_;
  std::optional<hts::BamIndex> index_;      // of BAM that is sorted
  hts::BamIndex::Entry last_{.contig = 0};  // of the index
  std::optional<hts::TextOutput> sam_;
  std::string reference_path_;  // of CRAM
  hts::Header cram_header_;
  std::optional<hts::CramOutput> cram_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::modbam_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::modbam_writer::ModbamWriter>, "modbam_writer", sluice::modbam_writer::plugin_version, "MIT",
                   sluice::modbam_writer::ModbamWriter);
