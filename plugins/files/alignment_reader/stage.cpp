// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <exception>
#include <sluice/hts/record_bases.hpp>
#include <sluice/input_files.hpp>
#include <sluice/input_turns.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/region.hpp>
#include <sluice/repeated_reads.hpp>
#include <sluice/stage.hpp>
#include <sluice/work_sharing.hpp>
#include <unordered_map>
#include <utility>

#include "alignment_reader/alignment_files.hpp"
#include "alignment_reader/alignment_filter.hpp"
#include "alignment_reader/bam_record.hpp"
#include "alignment_reader/followed_header.hpp"
#include "alignment_reader/record_stage.hpp"
#include "alignment_reader/reference_agreement.hpp"

namespace sluice::alignment_reader {
namespace {

constexpr std::size_t rows_at_once = 4;  // of 8 kb: 40 us
constexpr const char* alignment_endings = ".bam .sam .cram";

// Alignment records in file order, one row each.
class AlignmentReader {
 public:
  struct Parameters : FollowParameters, FilterParameters {
    Path path;
    std::optional<Path> reference;
    std::optional<std::string> region;
    std::optional<Path> bed;
    std::string keep = "used";
    int threads = 0;
    bool merge = false;
    bool unmapped = false;
  };
  enum class Reason : std::uint32_t { outside_region = static_cast<std::uint32_t>(Unused::supplementary) + 1, incomplete_file, repeated_read };

  static void describe(Describe<AlignmentReader>& d) {
    d.id("alignment_reader")
        .summary("reads alignment records from BAM, SAM or CRAM")
        .source("read")
        .rows_are("alignment")
        .rows_named_by("read_id")
        .positions()
        .parts();
    d.doc(
        "One row per mapped record that passes the filters, in file order; further primary records of a read are counted, and named in the account. "
        "`record_index` counts all records visited, filtered ones included (with a "
        "region: those that "
        "overlap it). A region uses the file's index, which is made when missing; a file that is not sorted is read to its end instead.\n\n"
        "Several files must have the same contigs in the same order. They are read one after the other, or with `merge` as one sorted file.\n\n"
        "A BAM file without its end-of-file block is refused as truncated. With the resource `reference` the contigs of the header (with a region: "
        "the region's) "
        "must be in the reference with the same lengths.\n\n"
        "With `follow` BAM files are read as they are written, whole records only and without an index, SAM and CRAM when they are whole, one file "
        "after the other; the contigs of the first that came are those of all. See the README of read_bases for their order and for what ends it.");
    d.option("path", &Parameters::path, "BAM, SAM or CRAM files or folders; - is standard input")
        .required()
        .reads()
        .several(alignment_endings)
        .beside(".bai")
        .beside(".csi")
        .beside(".crai");
    d.option("reference", &Parameters::reference, "FASTA file to decode CRAM with").reads().beside(".fai").beside(".gzi");
    d.option("region", &Parameters::region, "only records that overlap contig or contig:first-last (from 1, both inclusive)");
    d.option("bed", &Parameters::bed, "only records that overlap a region of this BED file (with region: a part of one that lies in it), each once")
        .reads();
    describe_filter(d);
    d.option("unmapped", &Parameters::unmapped,
             "give unmapped records, too, whose contig is *; min_mapq is for aligned ones. Regions, which have none of them, leave them out");
    d.option("keep", &Parameters::keep,
             "used: records that pass these filters; all: the others, too (but none outside a region), for alignment_filter to leave out")
        .choices({"used", "all"});
    d.option("threads", &Parameters::threads, "further threads of HTSlib for decompression, which pay for CRAM; BAM uses those of the run")
        .range(0, 64);
    d.option("merge", &Parameters::merge,
             "read several files by position, as the one that `samtools merge` makes of them, if all are sorted; else one after the other");
    describe_follow(d);
    d.gives("read_id", "utf8", "name of the read");
    d.gives("contig", "utf8", "reference sequence it aligns to");
    d.gives("ref_start", "i64", "first aligned position on the contig, 0-based");
    d.gives("ref_end", "i64", "end of the alignment on the contig, exclusive");
    d.gives("is_reverse", "u8", "1: aligned to the reverse strand");
    d.gives("flag", "u16", "SAM flags");
    d.gives("mapq", "u8", "mapping quality");
    d.gives("cigar", "list<u32>", "CIGAR operations as in BAM: length << 4 | code");
    d.gives("record_index", "i64", "ordinal of the record among all visited, from 0", Needed::optional);
    d.gives("aligned_bases", "utf8", "SEQ of the record in sequencing orientation, \"\" if it has none", Needed::optional);
    d.gives("bam_record", "binary", "the whole record; layout: plugins/files/alignment_reader/bam_record.hpp", Needed::optional);
    d.gives("basecaller_tags", "binary", "what the basecaller said of the read, as tags of BAM; layout: sluice/hts/basecaller_tags.hpp",
            Needed::optional);
    d.uses("reference", "contig", "checked against the header", Needed::optional);
    d.reason("outside_region", "it overlaps no region that is wanted, and was read because the file has no index");
    d.reason("incomplete_file", "a followed file that could be read in part only, or not: truncated, damaged, replaced, gone or of other contigs");
    d.reason("repeated_read", "an earlier record is a primary alignment of the same read; both are given, and no row is lost");
    d.work_unit("base");
  }

  static void check_parameters(const Parameters& p) {
    RegionText{p.region.value_or(std::string())};
    if (p.follow && p.merge) throw Failure::usage("alignments that are followed can't be merged by position", "leave one of the two out");
  }

  AlignmentReader(const Setup& setup, const Parameters& p)
      : parameters_(p),
        file_(make_files(setup, p)),
        wants_bases_(setup.wanted("aligned_bases")),
        wants_record_(setup.wanted("bam_record")),
        wants_tags_(setup.wanted("basecaller_tags")),
        wants_index_(setup.wanted("record_index")) {
    for (const std::string& note : file_->take_notes()) setup.info(note);
    for (const std::string& warning : file_->take_warnings()) setup.warn(warning);
    if (setup.has_resource("reference")) check_reference(setup.resource("reference"));
    if (!p.follow) return;
    std::string begin_at;
    if (!setup.begin_at().empty()) {
      const std::string position = setup.begin_at();
      TextRecordReader record(position);
      record.text();  // make_files() knows it
      visited_elsewhere_ = record.number<std::int64_t>();
      begin_at = record.text();
    }
    turns_.emplace(
        setup, p.path, alignment_endings, p, static_cast<std::uint32_t>(Reason::incomplete_file),
        [this](const InputTurns::File& file) { return open_turn(file); }, begin_at);
  }

  bool process(const Call& call, Output& out) {
    if (turns_) {
      const bool goes_on = turns_->process(call, out);
      turns_->keep_beside(call, repeats_.bytes());
      if (!goes_on) repeats_.say(call);
      return goes_on;
    }
    const Given given = give_batch(call, out);
    if (given == Given::end) repeats_.say(call);
    for (const std::string& note : file_->take_notes()) call.info(note);
    for (const std::string& warning : file_->take_warnings()) call.warn(warning);
    if (const double share = file_->share_read(); share >= 0) call.progress(share);
    if (const std::uint64_t memory = file_->memory() + repeats_.bytes(); memory != told_memory_) call.keeps(told_memory_ = memory);
    return given != Given::end;
  }
  std::string position() {
    if (turns_) return followed_position();
    return file_->position(pending_ != nullptr ? AlignmentFiles::Of::last : AlignmentFiles::Of::next);
  }

 private:
  using Given = InputReader::Given;
  // One of the files that are followed. While it has its turn its state is that of the stage.
  class Turn : public InputReader {
   public:
    Turn(AlignmentReader& stage, std::unique_ptr<AlignmentFiles> file) : stage_(stage), file_(std::move(file)) {}
    Given give(const Call& call, Output& out) override {
      const Swapped swapped(*this);
      for (const std::string& note : stage_.file_->take_notes()) call.info(note);
      return stage_.give_batch(call, out);
    }
    void end_here() override { file_->end_here(); }
    std::int64_t consumed() const override { return file_->consumed(); }
    std::string position() override { return file_->position(pending_ != nullptr ? AlignmentFiles::Of::last : AlignmentFiles::Of::next); }
    std::uint64_t kept_bytes() const override { return file_->memory(); }

   private:
    class Swapped {
     public:
      explicit Swapped(Turn& turn) : turn_(turn) {
        swap();
        turn_.stage_.visited_elsewhere_ -= given();
      }
      ~Swapped() {
        turn_.stage_.visited_elsewhere_ += given();
        swap();
      }
      Swapped(const Swapped&) = delete;

     private:
      void swap() {
        std::swap(turn_.file_, turn_.stage_.file_);
        std::swap(turn_.pending_, turn_.stage_.pending_);
        std::swap(turn_.failure_, turn_.stage_.failure_);
        std::swap(turn_.outside_accounted_, turn_.stage_.outside_accounted_);
      }
      // A record that waits for the next batch is visited again where the file is gone on with.
      std::int64_t given() const { return static_cast<std::int64_t>(turn_.stage_.file_->visited()) - (turn_.stage_.pending_ != nullptr ? 1 : 0); }
      Turn& turn_;
    };
    AlignmentReader& stage_;
    std::unique_ptr<AlignmentFiles> file_;
    const AlignmentRecord* pending_ = nullptr;
    std::exception_ptr failure_;
    bool outside_accounted_ = false;
  };

  static OpenOptions open_options(const Parameters& p) {
    OpenOptions options;
    options.reference = p.reference.value_or(Path());
    options.region = p.region.value_or(std::string());
    options.bed = p.bed.value_or(Path());
    options.threads = p.threads;
    return options;
  }
  static Beginning beginning_of(const Setup& setup) {
    const bool is_numbered = setup.wanted("record_index");
    return {setup.part(), setup.parts(), is_numbered ? AlignmentFile::Numbering::all : AlignmentFile::Numbering::of_range, setup.begin_at()};
  }
  // Of files that are followed: the one that speaks for all.
  static std::unique_ptr<AlignmentFiles> make_files(const Setup& setup, const Parameters& p) {
    if (p.follow) {
      std::unique_ptr<AlignmentFile> first = setup.begin_at().empty() ? nullptr : first_of_earlier_run(setup, open_options(p));
      return std::make_unique<AlignmentFiles>(first ? std::move(first) : first_to_come(setup, p.rules(p.path, alignment_endings), open_options(p)));
    }
    return std::make_unique<AlignmentFiles>(input_files(p.path, alignment_endings), open_options(p),
                                            p.merge ? FileOrder::by_position : FileOrder::as_given, beginning_of(setup));
  }
  // Null: it can't be told yet, or it is to be read when it is whole.
  std::unique_ptr<InputReader> open_turn(const InputTurns::File& file) {
    const bool is_final = file.growth == InputTurns::Growth::none;
    OpenOptions options = open_options(parameters_);
    options.path = file.path;
    // Also what is as long as it will be: of a BAM file that is cut the whole records are there.
    options.grows = true;
    std::unique_ptr<AlignmentFile> opened;
    try {
      opened = std::make_unique<AlignmentFile>(options);
      if (is_final) opened->end_here();
    } catch (const Failure& failure) {
      if (failure.status() != SLUICE_ERROR_INPUT) throw;
      if (!is_final) return nullptr;
      options.grows = false;
      opened = std::make_unique<AlignmentFile>(options);
    }
    check_same_contigs(file_->path(), file_->contigs(), file.path, opened->contigs());
    return std::make_unique<Turn>(*this, std::make_unique<AlignmentFiles>(std::move(opened), file.position));
  }
  // Of an input that is followed: the file that speaks for all, records so far, and what each file has come to.
  std::string followed_position() {
    const std::string position = turns_->position();
    if (position == no_position) return position;
    TextRecordWriter record;
    record.text(file_->path());
    record.number(visited_elsewhere_);
    record.text(position);
    return record.take();
  }
  // Null: it is there no more under its name. Then any other will do, as all have the same contigs.
  static std::unique_ptr<AlignmentFile> first_of_earlier_run(const Setup& setup, OpenOptions options) {
    const std::string position = setup.begin_at();
    options.path = TextRecordReader(position).text();
    for (const bool grows : {true, false}) {
      options.grows = grows;
      try {
        return std::make_unique<AlignmentFile>(options);
      } catch (const Failure& failure) {
        if (failure.status() != SLUICE_ERROR_INPUT) throw;
      }
    }
    return nullptr;
  }

  Given give_batch(const Call& call, Output& out) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    sharing_.begin();
    const ParallelFor parallel_for = [&](std::size_t count, std::size_t grain, const auto& body) {
      sharing_.share(count, body, [&](const auto& some) { call.parallel_for(count, grain, some); });
    };
    Rows rows;
    double work = 0;
    std::uint64_t bytes = 0;
    bool more = true;
    while (more && (rows.size() == 0 || (work < call.target_work() && bytes < call.target_bytes()))) {
      if (pending_ == nullptr) pending_ = advance_or_keep(call, parallel_for);
      if (pending_ == nullptr) {
        more = file_->waits() || failure_;
        break;
      }
      const auto record_work = static_cast<double>(pending_->read_bases);
      // A record that is a batch's work by itself travels alone.
      if (rows.size() != 0 && record_work >= call.target_work()) break;
      work += record_work;
      bytes += add(*pending_, rows);
      pending_ = nullptr;
    }
    for (const std::string& warning : file_->take_warnings()) call.warn(warning);
    give(rows, parallel_for, out);
    out.set_work(work);
    if (!more) return Given::end;
    return rows.size() > 0 ? Given::rows : Given::nothing_yet;
  }

  struct Row {
    AlignmentRecord record;
    std::string_view contig;
    std::int64_t index;
    std::shared_ptr<const hts::BasecallerTags> header;  // of its file, where tags are wanted
    std::string_view name() const { return record.name; }
  };
  // Rows are where they were read, mostly in windows of the file.
  class Rows {
   public:
    std::size_t size() const { return rows_.size(); }
    const Row& operator[](std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }
    const Row& add(Row row, std::uint64_t visited_bytes) {
      if (rows_.empty()) visited_before_ = visited_bytes - row.record.data_bytes();
      kept_ += row.record.data_bytes();
      const Row& added = rows_.emplace_back(std::move(row));
      if (visited_bytes - visited_before_ > 2 * kept_ + most_lost) gather(visited_bytes);
      return added;
    }

   private:
    // Where few records are used, each would keep a window: so rows move together when that much has been passed over.
    static constexpr std::uint64_t most_lost = std::uint64_t{8} << 20;
    void gather(std::uint64_t visited_bytes) {
      const std::shared_ptr<char[]> memory(new char[kept_]);
      char* at = memory.get();
      for (std::size_t i = gathered_; i < rows_.size(); ++i) {
        AlignmentRecord& record = rows_[i].record;
        const std::size_t name_bytes = std::size_t{record.core.l_qname} - record.core.l_extranul;
        record.name = static_cast<const char*>(std::memcpy(at, record.name, name_bytes));
        at += name_bytes;
        record.rest = static_cast<const std::uint8_t*>(std::memcpy(at, record.rest, record.rest_bytes));
        at += record.rest_bytes;
        record.memory = memory;
      }
      gathered_ = rows_.size();
      kept_ = 0;
      visited_before_ = visited_bytes;
    }
    std::vector<Row> rows_;
    std::size_t gathered_ = 0;
    std::uint64_t kept_ = 0, visited_before_ = 0;  // since then: bytes of records
  };

  void check_reference(const Batch& reference) {
    std::vector<Contig> known;
    const ReferenceText& text = reference_.emplace(reference);
    for (std::int64_t i = 0; i < text.contigs(); ++i) {
      known.push_back({std::string(text.name(i)), static_cast<std::int64_t>(text.bases(i).size())});
      contigs_.emplace(text.name(i), text.bases(i));
    }
    reference_path_ = reference.attribute("path");
    std::vector<Contig> needed = file_->contigs();
    if (file_->regions()) {
      const std::vector<Contig> all = std::exchange(needed, {});
      for (const Region& region : file_->regions()->list()) needed.push_back(all[static_cast<std::size_t>(region.contig)]);
    }
    const std::string mismatch = contig_mismatch(needed, known);
    if (!mismatch.empty())
      throw Failure::input(
          "alignment file '" + file_->path() + "' is from another reference than '" + std::string(reference.attribute("path")) + "': " + mismatch,
          "give the FASTA file that the reads were aligned to");
  }

  // Another reference of the same names and lengths: the first records tell.
  void compare_with_reference(const Call& call, const AlignmentRecord& record) {
    if (agreement_.records >= enough_records) return;
    const auto contig = contigs_.find(file_->contig_name(record.core.tid));
    if (contig == contigs_.end()) return;
    const auto aligned = as_htslib_record(record);
    reference_->read_near(contig->second, aligned->core.pos, bam_endpos(&*aligned), call);
    add_record(*aligned, contig->second, agreement_);
    if (agreement_.records == enough_records) judge_agreement(call);
  }
  void judge_agreement(const Call& call) {
    if (agreement_.bases < enough_bases || std::exchange(judged_, true)) return;
    call.count("bases compared with the reference", static_cast<double>(agreement_.bases));
    call.count("bases equal to the reference", static_cast<double>(agreement_.equal));
    call.outcome("agree_with_the_reference", static_cast<std::uint64_t>(agreement_.agreeing), static_cast<std::uint64_t>(agreement_.records));
    if (agreement_.share() >= least_agreement) return;
    call.warn("only " + std::to_string(static_cast<int>(100 * agreement_.share())) + " % of the aligned bases of the first " +
              std::to_string(agreement_.records) + " records in '" + file_->path() + "' are those of the reference '" + reference_path_ +
              "': is it the one that the reads were aligned to? Its names and lengths are right");
  }

  // Of a file that is followed what is before the damage is given first.
  const AlignmentRecord* advance_or_keep(const Call& call, const ParallelFor& parallel_for) {
    try {
      return advance(call, parallel_for);
    } catch (const Failure&) {
      if (!turns_) throw;
      failure_ = std::current_exception();
      return nullptr;
    }
  }

  std::optional<Unused> reason_against_unmapped() const {
    if (parameters_.unmapped) return std::nullopt;
    return Unused::unmapped;
  }
  // The next record that becomes a row; nullptr at the end, where none is yet, or when the run is cancelled.
  const AlignmentRecord* advance(const Call& call, const ParallelFor& parallel_for) {
    while (turns_ || !call.cancelled()) {
      const AlignmentRecord* record = file_->next(parallel_for, call.threads());
      if (record == nullptr) {
        if (file_->waits()) return nullptr;
        if (file_->outside_region() != 0 && !outside_accounted_) call.account(Reason::outside_region, file_->outside_region());
        outside_accounted_ = true;
        if (agreement_.records < enough_records) judge_agreement(call);
        return nullptr;
      }
      const bam1_core_t& core = record->core;
      const bool is_unmapped = core.tid < 0 || (core.flag & BAM_FUNMAP) != 0;
      const std::optional<Unused> reason = is_unmapped ? reason_against_unmapped() : reason_against(core.flag, core.qual, parameters_);
      if (!reason) {
        if (!is_unmapped) compare_with_reference(call, *record);
        // Of a pair both have the name.
        if ((core.flag & (BAM_FPAIRED | BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) == 0) repeats_.look_at(call, record->name);
        return record;
      }
      if (parameters_.keep == "all") return record;
      call.account(*reason, 1, record->name);
    }
    return nullptr;
  }

  // Returns the bytes it takes in the batch's columns.
  std::uint64_t add(const AlignmentRecord& record, Rows& rows) const {
    const std::string_view contig = record.core.tid < 0 || (parameters_.unmapped && (record.core.flag & BAM_FUNMAP) != 0)
                                        ? std::string_view("*")
                                        : std::string_view(file_->contig_name(record.core.tid));
    const Row& row = rows.add(
        {record, contig, visited_elsewhere_ + static_cast<std::int64_t>(file_->visited()) - 1, wants_tags_ ? file_->basecaller_tags() : nullptr},
        file_->visited_bytes());
    return 64 + row.name().size() + row.contig.size() + 4ULL * record.core.n_cigar +
           (wants_bases_ ? static_cast<std::uint64_t>(record.core.l_qseq) : 0) + (wants_record_ ? serialised_bytes(record) : 0) +
           (wants_tags_ ? record.tags().size() : 0);
  }

  // Columns are made here, and filled on several threads.
  void give(const Rows& rows, const ParallelFor& parallel_for, Output& out) const {
    out.set_rows(static_cast<std::int64_t>(rows.size()));
    struct Text {
      Buffer offsets;
      std::span<char> bytes;
      char* at(std::size_t row) const { return bytes.data() + offsets.as<std::int64_t>()[row]; }
    };
    const auto text = [&](const char* name, auto&& size_of, const char* type = "utf8") {
      Buffer offsets = out.offsets([&](std::int64_t row) { return size_of(rows[row]); });
      const std::span<char> bytes = out.text(name, offsets, type);
      return Text{std::move(offsets), bytes};
    };
    const Text names = text("read_id", [](const Row& row) { return row.name().size(); });
    const Text contigs = text("contig", [](const Row& row) { return row.contig.size(); });
    const auto ref_start = out.column<std::int64_t>("ref_start"), ref_end = out.column<std::int64_t>("ref_end");
    const auto is_reverse = out.column<std::uint8_t>("is_reverse");
    const auto flag = out.column<std::uint16_t>("flag");
    const auto mapq = out.column<std::uint8_t>("mapq");
    const Buffer cigar_offsets = out.offsets([&](std::int64_t row) { return std::size_t{rows[row].record.core.n_cigar}; });
    const auto cigar = out.list<std::uint32_t>("cigar", cigar_offsets);
    const std::span<std::int64_t> record_index = wants_index_ ? out.column<std::int64_t>("record_index") : std::span<std::int64_t>();
    std::optional<Text> bases, records;
    std::vector<std::string> tags(wants_tags_ ? rows.size() : 0);
    if (wants_bases_) bases = text("aligned_bases", [](const Row& row) { return static_cast<std::size_t>(row.record.core.l_qseq); });
    if (wants_record_)
      records = text(
          "bam_record", [](const Row& row) { return serialised_bytes(row.record); }, "binary");
    parallel_for(rows.size(), rows_at_once, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Row& row = rows[static_cast<std::int64_t>(i)];
        const AlignmentRecord& record = row.record;
        std::copy(row.name().begin(), row.name().end(), names.at(i));
        std::copy(row.contig.begin(), row.contig.end(), contigs.at(i));
        ref_start[i] = record.core.pos;
        ref_end[i] = record.end();
        is_reverse[i] = record.is_reverse() ? 1 : 0;
        flag[i] = record.core.flag;
        mapq[i] = record.core.qual;
        if (record.core.n_cigar > 0)
          std::memcpy(cigar.data() + cigar_offsets.as<std::int64_t>()[i], record.rest, std::size_t{4} * record.core.n_cigar);
        if (wants_index_) record_index[i] = row.index;
        if (bases) hts::sequenced_bases(record.packed_bases(), static_cast<std::size_t>(record.core.l_qseq), record.is_reverse(), bases->at(i));
        if (records) serialise(record, records->at(i));
        if (wants_tags_) row.header->append(record.tags(), tags[i]);
      }
    });
    if (wants_tags_) out.text_rows("basecaller_tags", tags, "binary");
  }

  Parameters parameters_;
  std::unique_ptr<AlignmentFiles> file_;
  std::optional<ReferenceText> reference_;
  std::unordered_map<std::string_view, std::string_view> contigs_;  // names and bases of the reference, if there is one
  std::string reference_path_;
  Agreement agreement_;
  RepeatsInStream repeats_{static_cast<std::uint32_t>(Reason::repeated_read), "the alignments have"};
  bool judged_ = false;
  bool wants_bases_, wants_record_, wants_tags_, wants_index_;
  const AlignmentRecord* pending_ = nullptr;  // read but in no batch yet; the file's own record
  std::exception_ptr failure_;                // behind what was given
  std::uint64_t told_memory_ = 0;
  WorkSharing sharing_;
  bool outside_accounted_ = false;
  std::int64_t visited_elsewhere_ = 0;  // records of the other files that are followed
  std::optional<InputTurns> turns_;     // of files that are followed
};

}  // namespace
}  // namespace sluice::alignment_reader

SLUICE_PLUGIN("alignment_reader", "0.1.0", "MIT", sluice::alignment_reader::AlignmentReader, sluice::alignment_reader::RecordReader,
              sluice::alignment_reader::AlignmentFilter);
