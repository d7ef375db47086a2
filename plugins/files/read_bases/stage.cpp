// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <sluice/descriptor_path.hpp>
#include <sluice/empty_inputs.hpp>
#include <sluice/followed_lookup.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/hts/record_bases.hpp>
#include <sluice/input_files.hpp>
#include <sluice/stage.hpp>
#include <unordered_map>

#include "read_bases/aligned_read.hpp"
#include "read_bases/damaged_tags.hpp"
#include "read_bases/primary_bases.hpp"
#include "read_bases/read_file.hpp"
#include "read_bases/sam_tags.hpp"
#include "read_bases/sequence_file.hpp"

namespace sluice::read_bases {
namespace {

constexpr std::uint32_t hard_clip = BAM_CHARD_CLIP;
constexpr const char* text_endings = ".fastq .fq .fasta .fa .fastq.gz .fq.gz .fasta.gz .fa.gz .fastq.zst .fq.zst .fasta.zst .fa.zst";
constexpr const char* repeated_read_meaning = "the files have a further read of this name, which is not used; no row is lost";
constexpr const char* read_endings = ".fastq .fq .fasta .fa .fastq.gz .fq.gz .fasta.gz .fa.gz .fastq.zst .fq.zst .fasta.zst .fa.zst .bam .sam .cram";

// The whole read of each row, from the file that the base caller wrote.
class ReadBases {
 public:
  struct Parameters {
    std::optional<Path> path;
    std::string alignments, reference;
  };
  enum class Reason : std::uint32_t { read_not_in_file, no_bases, not_the_aligned_read, repeated_read };
  static void describe(Describe<ReadBases>& d) {
    d.id("read_bases").summary("fetches each read's bases by read id from FASTA or FASTQ files, or takes those of its alignment").map("read");
    d.doc(
        "A file may be plain or bgzip-compressed; its index (.fai, .gzi as samtools faidx makes them) is made when missing or older than the file, "
        "and only in memory "
        "when the folder cannot be written to. A gzip file that is not BGZF, or a zstd file, is decompressed to the temporary folder first. Of reads "
        "with the same "
        "name the first is used, in the order of the files; the others are counted, and named in the account. A read that is not the one that was "
        "aligned (CIGAR with hard clips and SEQ say so) fails: events and sites would be of other bases.\n\n"
        "Without `path` the SEQ field of the alignment is used. Where it is absent or hard-clipped, as in secondary and supplementary records, the "
        "bases are those of the read's primary record in `alignments`, which are read twice for it when the first such record comes; else it fails, "
        "because events belong to the whole read.\n\n"
        "Bases are given in upper case, U as T.");
    d.option("path", &Parameters::path, "FASTA or FASTQ files or folders (.gz: use bgzip); left out: use the bases in the alignments")
        .reads()
        .several(text_endings)
        .beside(".fai")
        .beside(".gzi");
    d.option("alignments", &Parameters::alignments,
             "the BAM, SAM or CRAM files or folders of the alignments, each on a line: without path, for records without the bases of whole reads");
    d.option("reference", &Parameters::reference, "FASTA that CRAM files were made with");
    describe_columns(d);
    d.reason("repeated_read", repeated_read_meaning);
  }
  template <class Stage>
  static void describe_columns(Describe<Stage>& d) {
    d.needs("read_id", "utf8", "name of the read");
    d.needs("aligned_bases", "utf8", "SEQ of the alignment in sequencing orientation", Needed::optional);
    d.needs("cigar", "list<u32>", "CIGAR of the alignment, to see hard clips and how long the read was", Needed::optional);
    d.needs("is_reverse", "u8", "1: aligned to the reverse strand", Needed::optional);
    d.gives("bases", "utf8", "the whole read in sequencing orientation, upper case, T for U").row_length("bases", "base");
    d.gives("read_file_tags", "binary",
            "what the basecaller said of the read in the comment of FASTQ, as tags of BAM; layout: sluice/hts/basecaller_tags.hpp", Needed::optional);
    d.reason("read_not_in_file", "the FASTA or FASTQ file has no read of this name, or it is empty");
    d.reason(
        "no_bases",
        "the alignment has no SEQ or only a hard-clipped part of the read, no file of reads was given, and the read's primary record was not found");
    d.reason(
        "not_the_aligned_read",
        "the read in the file is not the one that was aligned: it is longer or shorter than the CIGAR with its clips, or has other bases than SEQ");
    d.work_unit("base");
  }
  ReadBases(const Setup& setup, const Parameters& p) : ReadBases(setup, p.path.value_or(Path()), false) {
    alignments_ = p.alignments;
    reference_ = p.reference;
    threads_ = setup.threads();
    if (takes_aligned_) return;
    for (const std::string& path : input_files(*p.path, text_endings)) add(path, setup, static_cast<std::uint32_t>(Reason::repeated_read));
    if (files_.size() == 1) first_with_.clear();
  }

  Estimate estimate(const Batch& in) const {
    const TextView texts = in.text(takes_aligned_ ? "aligned_bases" : "read_id");
    const Alignments alignments(*this, in);
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const std::uint64_t bases =
          takes_aligned_ ? std::max<std::uint64_t>(texts[row].size(), read_length(alignments[row].cigar)) : find(texts[row]).bases();
      e.work += static_cast<double>(bases);
      e.largest_row_work = std::max(e.largest_row_work, static_cast<double>(bases));
      e.output_bytes += bases;
    }
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    if (takes_aligned_)
      take_aligned(call, in, out);
    else
      look_up(call, in, out, [&](std::int64_t row) { out.fail(row, Reason::read_not_in_file); });
  }
  void finish(const Call& call, Output&) const {
    if (const std::uint64_t count = without_bases_.load(); count > 0)
      call.warn(std::to_string(count) +
                " alignments are not used, as they have no bases of the whole read (SEQ is absent, or hard-clipped): give --reads, "
                "the file of the reads");
  }

 protected:
  // Without its files. Who follows is interrupted when no more files are waited for, and does what there is.
  ReadBases(const Setup& setup, const Path& path, bool follows)
      : has_cigar_(setup.available("cigar")),
        has_strand_(setup.available("is_reverse")),
        has_aligned_(setup.available("aligned_bases")),
        wants_tags_(setup.wanted("read_file_tags")),
        takes_aligned_(path.empty()),
        follows_(follows) {
    if (takes_aligned_ && !has_aligned_)
      throw Failure::usage("stage 'read_bases' has neither a file of reads nor a column 'aligned_bases'",
                           "give `path`, or read alignments with alignment_reader");
  }
  bool takes_aligned() const { return takes_aligned_; }
  // Reads of it. repeated_read: the stage's reason.
  std::size_t add(const std::string& path, const Host& host, std::uint32_t repeated_read) {
    const RepeatedReads::Each each = to_account(host, repeated_read);
    OpenReport report;
    report.repeated = RepeatedReads(each);
    RepeatedReads in_files_before(each);
    const SequenceFile& file = *files_.emplace_back(std::make_unique<SequenceFile>(path, report));
    for (const std::string& text : report.infos) host.info(text);
    for (const std::string& text : report.warnings) host.warn(text);
    for (std::size_t read = 0; read < file.index().size(); ++read) {
      const std::string_view id = file.index().id(read);
      if (first_with_.emplace(id, static_cast<std::uint32_t>(files_.size() - 1)).second) continue;
      in_files_before.add(id);
    }
    if (in_files_before.count() > 0)
      host.warn("'" + path + "' has " + std::to_string(in_files_before.count()) +
                " reads whose name is in an earlier file, too, whose read is used: " + in_files_before.names());
    return file.index().size();
  }
  FollowedLookup::Missing missing(const Batch& in) const {
    return FollowedLookup::missing_reads(in, [&](std::string_view read_id) { return find(read_id).place != nullptr; });
  }

  // not_there(row): of a read that is in none of the files.
  template <class NotThere>
  void look_up(const Call& call, const Batch& in, Output& out, const NotThere& not_there) {
    const TextView read_ids = in.text("read_id");
    const auto rows = static_cast<std::size_t>(in.rows());
    const Alignments alignments(*this, in);
    std::vector<Found> found(rows);
    std::vector<std::size_t> order;
    order.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto r = static_cast<std::int64_t>(row);
      if (!in.ok(r)) continue;
      found[row] = find(read_ids[r]);
      if (found[row].bases() == 0) {
        not_there(r);
        continue;
      }
      if (const std::uint64_t length = read_length(alignments[r].cigar); length != 0 && length != found[row].bases()) {
        out.fail(r, Reason::not_the_aligned_read);
        found[row] = {};
        continue;
      }
      order.push_back(row);
    }
    const Buffer offsets = out.offsets([&](std::int64_t r) { return found[static_cast<std::size_t>(r)].bases(); });
    const std::span<char> bases = out.text("bases", offsets);
    const std::span<const std::int64_t> begin = offsets.as<std::int64_t>();
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return found[a].file != found[b].file ? found[a].file < found[b].file : found[a].place->offset < found[b].place->offset;
    });
    const auto parallel_for = [&](std::size_t count, std::size_t grain, const auto& body) {
      call.parallel_for(count, grain, [&](std::size_t first, std::size_t end) {
        if (follows_ || !call.cancelled()) body(first, end);
      });
    };
    std::vector<std::string> comments(wants_tags_ ? rows : 0), tags(comments.size());
    std::vector<char> is_damaged(comments.size());
    std::vector<SequenceFile::Wanted> wanted;
    for (auto row = order.begin(); row != order.end();) {
      const std::size_t file = found[*row].file;
      wanted.clear();
      for (; row != order.end() && found[*row].file == file; ++row)
        wanted.push_back(
            {read_ids[static_cast<std::int64_t>(*row)], found[*row].place, bases.data() + begin[*row], wants_tags_ ? &comments[*row] : nullptr});
      files_[file]->fetch(wanted, parallel_for);
    }
    parallel_for(order.size(), 16, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(order[i]);
        const std::string_view read(bases.data() + begin[order[i]], found[order[i]].bases());
        if (!is_aligned_read(read, alignments[row])) out.fail(row, Reason::not_the_aligned_read);
        if (wants_tags_)
          is_damaged[order[i]] = append_comment_tags(comments[order[i]], of_basecallers(), tags[order[i]]) == TagState::damaged ? 1 : 0;
      }
    });
    if (!wants_tags_) return;
    out.text_rows("read_file_tags", tags, "binary");
    std::vector<std::string> damaged;
    for (std::size_t row = 0; row < rows; ++row)
      if (is_damaged[row] != 0) damaged.emplace_back(read_ids[static_cast<std::int64_t>(row)]);
    damaged_.say(damaged, call);
  }

 private:
  struct Found {
    const SequencePlace* place = nullptr;
    std::size_t file = 0;
    std::uint64_t bases() const { return place == nullptr ? 0 : place->bases; }
  };
  // What the alignments of a batch say of their reads; nothing where there are none.
  class Alignments {
   public:
    Alignments(const ReadBases& stage, const Batch& in) {
      if (!stage.has_cigar_) return;
      cigars_.emplace(in.list<std::uint32_t>("cigar"));
      if (!stage.has_strand_ || !stage.has_aligned_) return;
      is_reverse_ = in.column<std::uint8_t>("is_reverse");
      bases_.emplace(in.text("aligned_bases"));
    }
    AlignedRead operator[](std::int64_t row) const {
      AlignedRead aligned;
      if (cigars_) aligned.cigar = (*cigars_)[row];
      if (bases_) aligned.bases = (*bases_)[row], aligned.is_reverse = is_reverse_[static_cast<std::size_t>(row)] != 0;
      return aligned;
    }

   private:
    std::optional<ListView<std::uint32_t>> cigars_;
    std::span<const std::uint8_t> is_reverse_;
    std::optional<TextView> bases_;
  };
  Found find(std::string_view name) const {
    if (files_.empty()) return {};
    std::size_t file = 0;
    if (!first_with_.empty()) {
      const auto first = first_with_.find(name);
      if (first == first_with_.end()) return {};
      file = first->second;
    }
    return {files_[file]->index().find(name), file};
  }

  // SEQ where it is the whole read, else that of the primary record.
  void take_aligned(const Call& call, const Batch& in, Output& out) {
    const TextView aligned = in.text("aligned_bases"), read_ids = in.text("read_id");
    const Alignments alignments(*this, in);
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<std::size_t> bases_of(rows);
    std::vector<std::uint8_t> is_primarys(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (!in.ok(row)) continue;
      const auto cigar = alignments[row].cigar;
      const bool clipped = !cigar.empty() && ((cigar.front() & 15U) == hard_clip || (cigar.back() & 15U) == hard_clip);
      bases_of[i] = clipped ? 0 : aligned[row].size();
      if (bases_of[i] != 0) continue;
      const PrimaryBases* const primary = primary_bases(call);
      bases_of[i] = primary == nullptr ? 0 : primary->bases(read_ids[row]);
      is_primarys[i] = 1;
      const std::uint64_t length = read_length(cigar);
      if (bases_of[i] == 0) {
        without_bases_.fetch_add(1, std::memory_order_relaxed);
        out.fail(row, Reason::no_bases);
      } else if (length != 0 && length != bases_of[i]) {
        out.fail(row, Reason::not_the_aligned_read);
        bases_of[i] = 0;
      }
    }
    const Buffer offsets = out.offsets([&](std::int64_t row) { return bases_of[static_cast<std::size_t>(row)]; });
    const std::span<char> bases = out.text("bases", offsets);
    char* at = bases.data();
    for (std::size_t i = 0; i < rows; at += bases_of[i++]) {
      if (bases_of[i] == 0) continue;
      const auto row = static_cast<std::int64_t>(i);
      if (is_primarys[i] != 0)
        primary_->fetch(read_ids[row], at);
      else
        std::copy(aligned[row].begin(), aligned[row].end(), at);
    }
    normalise_bases(bases);
    at = bases.data();
    for (std::size_t i = 0; i < rows; at += bases_of[i++])
      if (is_primarys[i] != 0 && bases_of[i] != 0 && !is_aligned_read({at, bases_of[i]}, alignments[static_cast<std::int64_t>(i)]))
        out.fail(static_cast<std::int64_t>(i), Reason::not_the_aligned_read);
    if (wants_tags_) out.text_rows("read_file_tags", std::vector<std::string_view>(rows), "binary");
  }

  // Made for the first record that asks; null: there are no files that could be read again.
  const PrimaryBases* primary_bases(const Call& call) {
    std::call_once(primary_made_, [&] {
      std::vector<std::string> paths;
      for (const std::string& name : input_files_detail::words(alignments_, "\n"))
        for (std::string& path : input_files(name, ".bam .sam .cram")) paths.push_back(std::move(path));
      take_empty_files(paths);
      const auto can_be_read_again = [](const std::string& path) { return !names_descriptor(path) && hts::is_regular(path); };
      if (paths.empty() || !std::all_of(paths.begin(), paths.end(), can_be_read_again)) return;
      primary_ = std::make_unique<PrimaryBases>(paths, reference_, threads_ - 1, [&call] { return call.cancelled(); });
      if (primary_->reads() > 0)
        call.info("the alignments have " + std::to_string(primary_->reads()) +
                  " reads with records that lack bases of the read: those of their primary records are used");
    });
    return primary_.get();
  }

  std::vector<std::unique_ptr<SequenceFile>> files_;
  std::unordered_map<std::string_view, std::uint32_t> first_with_;  // of several files: the one that has the read; names are the indexes'
  bool has_cigar_, has_strand_, has_aligned_, wants_tags_;
  bool takes_aligned_;  // no files were given
  bool follows_;
  std::string alignments_, reference_;
  int threads_ = 1;
  std::once_flag primary_made_;
  std::unique_ptr<PrimaryBases> primary_;
  std::atomic<std::uint64_t> without_bases_{0};
  DamagedTags damaged_;
};

// The same while others still write the files.
class FollowedReadBases : public ReadBases {
 public:
  struct Parameters : FollowEnding {
    std::optional<Path> path;
    double follow_settle = 5;
  };
  // The first three are ReadBases' own.
  enum class Reason : std::uint32_t { read_not_in_file, no_bases, not_the_aligned_read, incomplete_file, not_needed, repeated_read };
  static void describe(Describe<FollowedReadBases>& d) {
    d.id("followed_read_bases")
        .summary("read_bases from files that others still write: waits for reads that are not there yet")
        .map("read")
        .blocking();
    d.doc(
        "A file is taken up when it is whole: it has its mark at the end (BGZF), or has not changed for follow_settle seconds. A batch with a read "
        "that "
        "is in none of them waits for it until the end is told; its rows then fail as those of read_bases do, and files that are not whole are "
        "named.");
    d.option("path", &Parameters::path, "FASTA or FASTQ files or folders (.gz: use bgzip); left out: use the bases in the alignments")
        .reads()
        .several(text_endings)
        .beside(".fai")
        .beside(".gzi");
    describe_follow_ending(d);
    d.option("follow_settle", &Parameters::follow_settle, "a file without a mark at its end is whole when it has not changed for so long")
        .range(0, 1e9)
        .unit("s");
    describe_columns(d);
    d.reason("incomplete_file", "a followed file that could not be read: truncated, damaged, replaced or gone");
    d.reason("not_needed", "its bases had not come when enough rows were there (`head`)");
    d.reason("repeated_read", repeated_read_meaning);
  }
  FollowedReadBases(const Setup& setup, const Parameters& p) : ReadBases(setup, p.path.value_or(Path()), true) {
    if (takes_aligned()) return;
    FollowRules rules = p.rules(*p.path, text_endings);
    rules.settle_seconds = p.follow_settle;
    lookup_.emplace(std::move(rules), static_cast<std::uint32_t>(Reason::incomplete_file), "reads",
                    [this](const Call& call, FollowedLookup::File& file, FollowedLookup::Growth growth, std::uint64_t& records) {
                      if (growth == FollowedLookup::Growth::possible) return FollowedLookup::Taken::nothing;
                      records = add(file.path, call, static_cast<std::uint32_t>(Reason::repeated_read));
                      return FollowedLookup::Taken::all;
                    });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    if (lookup_ && lookup_->wait(call, [&] { return missing(in); }) == FollowedLookup::Rest::is_not_needed)
      look_up(call, in, out, [&](std::int64_t row) { out.filter(row, Reason::not_needed); });
    else
      ReadBases::process(call, in, out);
  }
  void finish(const Call& call, Output& out) {
    if (lookup_) lookup_->finish(call);
    ReadBases::finish(call, out);
  }

 private:
  std::optional<FollowedLookup> lookup_;
};

// Reads without alignments, in file order.
class ReadReader {
 public:
  struct Parameters : FollowParameters {
    Path path = "-";
    bool comments = true;
    std::optional<std::string> keep_tags;
  };
  enum class Reason : std::uint32_t { not_primary, empty_sequence, incomplete_file, repeated_read };
  static void describe(Describe<ReadReader>& d) {
    d.id("read_reader")
        .summary("streams reads from FASTA, FASTQ (plain, gzip or zstd) or unaligned BAM, SAM or CRAM")
        .source("read")
        .rows_named_by("read_id")
        .positions()
        .parts();
    d.doc(
        "Bases are given in upper case, U as T, in sequencing orientation; written_bases keeps the case. Of aligned input the primary record of each "
        "read is used. Reads of one name are all given, counted, and named in the account.\n\n"
        "Where a stage wants the column tags, the batches have an attribute sam_header: the lines @RG (if RG is kept) and @PG of all files.\n\n"
        "With `follow` files are read as they are written, whole records only; see the plugin's README for their order and for what ends it.");
    d.option("path", &Parameters::path, "input files or folders, read one after the other; - is standard input").reads().several(read_endings);
    d.option("comments", &Parameters::comments, "fill the column comment, if a stage wants it and keep_tags is left out");
    d.option("keep_tags", &Parameters::keep_tags,
             "which tags the column tags has: all, none, or names as MM,ML,RG; also of comments in FASTA and FASTQ that are tags with tabs between "
             "them; left out: all of BAM, SAM and CRAM, and none of comments");
    describe_follow(d);
    d.gives("read_id", "utf8", "name of the read");
    d.gives("bases", "utf8", "the read in sequencing orientation, upper case, T for U").row_length("bases", "base");
    d.gives("qualities", "utf8", "Phred scores + 33 as text, in the order of the bases; \"\" if the input has none", Needed::optional);
    d.gives("comment", "utf8", "what follows the name in FASTA and FASTQ; the tags of a BAM, SAM or CRAM record, as SAM has them", Needed::optional);
    d.gives("tags", "binary", "the tags of the read in its file, as BAM has them", Needed::optional);
    d.gives("basecaller_tags", "binary",
            "what the basecaller said of the read, as tags of BAM; of comments in FASTQ, too; layout: sluice/hts/basecaller_tags.hpp",
            Needed::optional);
    d.gives("written_bases", "utf8", "the bases as they stand in FASTA and FASTQ, where some are in lower case; else \"\"", Needed::optional);
    d.reason("not_primary", "a secondary or supplementary record of aligned input");
    d.reason("empty_sequence", "the record has no bases");
    d.reason("incomplete_file", "a followed file that could be read in part only, or not: truncated, damaged, replaced, gone or of another kind");
    d.reason("repeated_read", "an earlier read has the same name; both are given, and no row is lost");
    d.work_unit("base");
  }
  static void check_parameters(const Parameters& p) {
    if (p.keep_tags) TagChoice{*p.keep_tags};
  }

  ReadReader(const Setup& setup, const Parameters& p)
      : header_(!p.keep_tags || TagChoice(*p.keep_tags).takes("RG") ? InputHeader::ReadGroups::kept : InputHeader::ReadGroups::left_out) {
    hts::silence();
    if (p.keep_tags) choice_.emplace(*p.keep_tags);
    ReadFileWishes wishes;
    wishes.qualities = setup.wanted("qualities");
    wishes.comments = setup.wanted("comment");
    wishes.reads_comments = wishes.comments && p.comments && !p.keep_tags;
    wishes.tags = setup.wanted("tags");
    wishes.basecaller_tags = setup.wanted("basecaller_tags");
    wishes.choice = choice_ ? &*choice_ : nullptr;
    wishes.header = wishes.tags ? &header_ : nullptr;
    wishes.written_bases = setup.wanted("written_bases");
    wishes.threads = setup.threads();
    wishes.not_primary = static_cast<std::uint32_t>(Reason::not_primary);
    wishes.empty_sequence = static_cast<std::uint32_t>(Reason::empty_sequence);
    wishes.sharing = &sharing_;
    wishes.follows = p.follow;
    wishes.repeats = &repeats_;
    if (!p.follow) look_at(setup, input_files(p.path, read_endings), wishes.tags);
    turns_.emplace(setup, p.path, read_endings, p, static_cast<std::uint32_t>(Reason::incomplete_file), [this, wishes](const InputTurns::File& file) {
      if (!first_.empty()) refuse_two_kinds({first_, file.path});
      std::unique_ptr<InputReader> reader = open_read_file(file, wishes);
      if (reader && first_.empty()) first_ = file.path;
      return reader;
    });
  }

  bool process(const Call& call, Output& out) {
    const bool goes_on = turns_->process(call, out);
    turns_->keep_beside(call, repeats_.bytes());
    if (!goes_on) repeats_.say(call);
    if (const std::string lines = header_.text(); !lines.empty()) out.set_attribute("sam_header", lines);
    return goes_on;
  }
  std::string position() { return turns_->position(); }

 private:
  // The first batch says what the headers of all files say.
  void look_at(const Setup& setup, const std::vector<std::string>& files, bool headers) {
    refuse_two_kinds(files);
    if (!headers) return;
    for (const std::string& file : files) header_.add_file(file);
    for (const std::string& id : header_.conflicts())
      setup.warn("the read group '" + id + "' is another one in different files: the header will have that of the first");
  }
  // A folder with FASTQ and BAM has mostly the same reads twice.
  static void refuse_two_kinds(const std::vector<std::string>& files) {
    const auto is_alignments = [](const std::string& path) { return path.ends_with(".bam") || path.ends_with(".sam") || path.ends_with(".cram"); };
    const auto other =
        std::find_if(files.begin(), files.end(), [&](const std::string& path) { return is_alignments(path) != is_alignments(files.front()); });
    if (other != files.end())
      throw Failure::input("'" + files.front() + "' and '" + *other + "' are two kinds of files of reads, and may have the same ones",
                           "name those of one kind, for example 'FOLDER/*.fastq.gz'");
  }

  std::string first_;  // file that was opened
  std::optional<TagChoice> choice_;
  InputHeader header_;
  WorkSharing sharing_;
  RepeatsInStream repeats_{static_cast<std::uint32_t>(Reason::repeated_read), "the input has"};
  std::optional<InputTurns> turns_;
};

}  // namespace
}  // namespace sluice::read_bases

SLUICE_PLUGIN("read_bases", "0.1.0", "MIT", sluice::read_bases::ReadBases, sluice::read_bases::FollowedReadBases, sluice::read_bases::ReadReader);
