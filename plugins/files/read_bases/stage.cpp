// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <htslib/hfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/record_bases.hpp>
#include <sluice/input_files.hpp>
#include <sluice/stage.hpp>
#include <sluice/work_sharing.hpp>

#include "read_bases/bam_reads.hpp"
#include "read_bases/read_batches.hpp"
#include "read_bases/sequence_file.hpp"

namespace sluice::read_bases {
namespace {

constexpr std::uint32_t hard_clip = BAM_CHARD_CLIP;
constexpr const char* text_endings = ".fastq .fq .fasta .fa .fastq.gz .fq.gz .fasta.gz .fa.gz";
constexpr const char* read_endings = ".fastq .fq .fasta .fa .fastq.gz .fq.gz .fasta.gz .fa.gz .bam .sam .cram";
// What read_reader reads at a time: enough for all threads, and not much of anybody's memory.
constexpr std::size_t least_text_bytes = std::size_t{1} << 18, most_text_bytes = std::size_t{1} << 25;

// The whole read of each row, from the file that the base caller wrote.
class ReadBases {
 public:
  struct Parameters {
    std::optional<Path> path;
  };
  enum class Reason : std::uint32_t { read_not_in_file, no_bases };
  static void describe(Describe<ReadBases>& d) {
    d.id("read_bases").summary("fetches each read's bases by read id from FASTA or FASTQ files, or takes those of its alignment").map("read");
    d.doc(
        "A file may be plain or bgzip-compressed; its index (.fai, .gzi as samtools faidx makes them) is made when missing or older than the file, "
        "and only in memory "
        "when the folder cannot be written to. A gzip file that is not BGZF is decompressed to the temporary folder first. Of reads with the same "
        "name the first is used, in the order of the files.\n\n"
        "Without `path` the SEQ field of the alignment is used; a record whose SEQ is absent or hard-clipped then fails, because events belong to "
        "the whole read.\n\n"
        "Bases are given in upper case, U as T.");
    d.option("path", &Parameters::path, "FASTA or FASTQ files or folders (.gz: use bgzip); left out: use the bases in the alignments")
        .reads()
        .several(text_endings)
        .beside(".fai")
        .beside(".gzi");
    d.needs("read_id", "utf8", "name of the read");
    d.needs("aligned_bases", "utf8", "SEQ of the alignment in sequencing orientation", Needed::optional);
    d.needs("cigar", "list<u32>", "CIGAR of the alignment, to see hard clips", Needed::optional);
    d.gives("bases", "utf8", "the whole read in sequencing orientation, upper case, T for U");
    d.reason("read_not_in_file", "the FASTA or FASTQ file has no read of this name, or it is empty");
    d.reason("no_bases", "the alignment has no SEQ or only a hard-clipped part of the read, and no file of reads was given");
    d.work_unit("base");
  }
  ReadBases(const Setup& setup, const Parameters& p) : has_cigar_(setup.available("cigar")) {
    if (!p.path || p.path->empty()) {
      if (!setup.available("aligned_bases"))
        throw Failure::usage("stage 'read_bases' has neither a file of reads nor a column 'aligned_bases'",
                             "give `path`, or read alignments with alignment_reader");
      return;
    }
    for (const std::string& path : input_files(*p.path, text_endings)) {
      OpenReport report;
      files_.push_back(std::make_unique<SequenceFile>(path, report));
      for (const std::string& text : report.infos) setup.info(text);
      for (const std::string& text : report.warnings) setup.warn(text);
    }
  }

  Estimate estimate(const Batch& in) const {
    const TextView texts = in.text(files_.empty() ? "aligned_bases" : "read_id");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const std::uint64_t bases = files_.empty() ? texts[row].size() : find(texts[row]).bases();
      e.work += static_cast<double>(bases);
      e.largest_row_work = std::max(e.largest_row_work, static_cast<double>(bases));
      e.output_bytes += bases;
    }
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    if (files_.empty())
      take_aligned(in, out);
    else
      look_up(call, in, out);
  }

 private:
  struct Found {
    const SequencePlace* place = nullptr;
    std::size_t file = 0;
    std::uint64_t bases() const { return place == nullptr ? 0 : place->bases; }
  };
  Found find(std::string_view name) const {
    for (std::size_t file = 0; file < files_.size(); ++file)
      if (const SequencePlace* place = files_[file]->index().find(name)) return {place, file};
    return {};
  }

  void look_up(const Call& call, const Batch& in, Output& out) {
    const TextView read_ids = in.text("read_id");
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<Found> found(rows);
    std::vector<std::size_t> order;
    order.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto r = static_cast<std::int64_t>(row);
      if (!in.ok(r)) continue;
      found[row] = find(read_ids[r]);
      if (found[row].bases() == 0) {
        out.fail(r, Reason::read_not_in_file);
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
        if (!call.cancelled()) body(first, end);
      });
    };
    std::vector<SequenceFile::Wanted> wanted;
    for (auto row = order.begin(); row != order.end();) {
      const std::size_t file = found[*row].file;
      wanted.clear();
      for (; row != order.end() && found[*row].file == file; ++row)
        wanted.push_back({read_ids[static_cast<std::int64_t>(*row)], found[*row].place, bases.data() + begin[*row]});
      files_[file]->fetch(wanted, parallel_for);
    }
  }

  void take_aligned(const Batch& in, Output& out) const {
    const TextView aligned = in.text("aligned_bases");
    std::optional<ListView<std::uint32_t>> cigars;
    if (has_cigar_) cigars.emplace(in.list<std::uint32_t>("cigar"));
    std::vector<std::string_view> taken(static_cast<std::size_t>(in.rows()));
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto cigar = cigars ? (*cigars)[row] : std::span<const std::uint32_t>();
      const bool clipped = !cigar.empty() && ((cigar.front() & 15U) == hard_clip || (cigar.back() & 15U) == hard_clip);
      if (clipped || aligned[row].empty())
        out.fail(row, Reason::no_bases);
      else
        taken[static_cast<std::size_t>(row)] = aligned[row];
    }
    const Buffer offsets = out.offsets([&](std::int64_t r) { return taken[static_cast<std::size_t>(r)].size(); });
    const std::span<char> bases = out.text("bases", offsets);
    std::size_t at = 0;
    for (const std::string_view text : taken) {
      std::copy(text.begin(), text.end(), bases.begin() + static_cast<std::ptrdiff_t>(at));
      at += text.size();
    }
    normalise_bases(bases);
  }

  std::vector<std::unique_ptr<SequenceFile>> files_;  // none: the alignments' own bases
  bool has_cigar_;
};

// Reads without alignments, in file order.
class ReadReader {
 public:
  struct Parameters {
    Path path = "-";
    bool comments = true;
  };
  enum class Reason : std::uint32_t { not_primary, empty_sequence };
  static void describe(Describe<ReadReader>& d) {
    d.id("read_reader")
        .summary("streams reads from FASTA, FASTQ (plain or gzip) or unaligned BAM, SAM or CRAM")
        .source("read")
        .rows_named_by("read_id");
    d.doc(
        "Bases are given in upper case, U as T, in sequencing orientation; written_bases keeps the case. Of aligned input the primary record of each "
        "read is used.");
    d.option("path", &Parameters::path, "input files or folders, read one after the other; - is standard input").reads().several(read_endings);
    d.option("comments", &Parameters::comments, "fill the column comment, if a stage wants it");
    d.gives("read_id", "utf8", "name of the read");
    d.gives("bases", "utf8", "the read in sequencing orientation, upper case, T for U");
    d.gives("qualities", "utf8", "Phred scores + 33 as text, in the order of the bases; \"\" if the input has none", Needed::optional);
    d.gives("comment", "utf8", "what follows the name in FASTA and FASTQ; the tags of a BAM, SAM or CRAM record, as SAM has them", Needed::optional);
    d.gives("written_bases", "utf8", "the bases as they stand in FASTA and FASTQ, where some are in lower case; else \"\"", Needed::optional);
    d.reason("not_primary", "a secondary or supplementary record of aligned input");
    d.reason("empty_sequence", "the record has no bases");
    d.work_unit("base");
  }
  ReadReader(const Setup& setup, const Parameters& p)
      : files_(input_files(p.path, read_endings)),
        wants_qualities_(setup.wanted("qualities")),
        wants_comments_(setup.wanted("comment")),
        reads_comments_(wants_comments_ && p.comments),
        wants_written_bases_(setup.wanted("written_bases")),
        threads_(setup.threads()) {
    hts::silence();
    refuse_two_kinds();
    for (const std::string& path : files_)
      if (struct stat info{}; ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) all_bytes_ += info.st_size;
    open();
  }

  bool process(const Call& call, Output& out) {
    if (text_ ? give_text(call, out) : give_records(call, out)) return true;
    if (++file_ == files_.size() || call.cancelled()) return false;
    bytes_before_ += file_bytes_;
    open();
    return true;
  }

 private:
  // A folder with FASTQ and BAM has mostly the same reads twice.
  void refuse_two_kinds() const {
    const auto is_alignments = [](const std::string& path) { return path.ends_with(".bam") || path.ends_with(".sam") || path.ends_with(".cram"); };
    const auto other =
        std::find_if(files_.begin(), files_.end(), [&](const std::string& path) { return is_alignments(path) != is_alignments(files_.front()); });
    if (other != files_.end())
      throw Failure::input("'" + files_.front() + "' and '" + *other + "' are two kinds of files of reads, and may have the same ones",
                           "name those of one kind, for example 'FOLDER/*.fastq.gz'");
  }
  // The file whose turn it is.
  void open() {
    const std::string& path = files_[file_];
    text_.reset();
    records_.reset();
    file_bytes_ = 0;
    // Where standard input stands, if it is a file.
    const std::int64_t begin = path == "-" ? ::lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    hFILE* opened = hopen(path.c_str(), "r");
    if (opened == nullptr) throw Failure::input("cannot open '" + path + "': " + std::strerror(errno), "check the path of the reads");
    if (struct stat info{}; ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) file_bytes_ = info.st_size;
    htsFormat format{};
    const bool known = hts_detect_format(opened, &format) == 0;
    // Each of the two below takes `opened` over when it succeeds.
    if (known && format.category == sequence_data && (format.format == bam || format.format == sam || format.format == cram)) {
      records_.emplace(opened, path, BamReads::Wanted{wants_qualities_, reads_comments_}, threads_);
    } else {
      text_.emplace(open_text_input(path, FileHandle(opened), begin), path,
                    ReadBatches::Wanted{wants_qualities_, reads_comments_, wants_written_bases_});
    }
  }

  // FASTA and FASTQ: read_batches.hpp.
  bool give_text(const Call& call, Output& out) {
    const ParallelFor parallel_for = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
      const auto each = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) body(i);
      };
      sharing_.share(count, each, [&](const auto& some) { call.parallel_for(count, 1, some); });
    };
    // One batch for each thread, with as many qualities as bases: then every thread has a part in reading, and something to do behind it.
    const double text_bytes = 2.1 * call.target_work() * std::max(call.threads(), 4);
    const ReadBatches::Sizes sizes{call.target_work(), call.target_bytes(),
                                   static_cast<std::size_t>(std::clamp(text_bytes, double{least_text_bytes}, double{most_text_bytes}))};
    if (text_->needs_text()) sharing_.begin();
    const std::optional<ReadBatch> batch = text_->next(sizes, call.memory(), parallel_for, [&call] { return call.cancelled(); });
    if (const std::size_t kept = text_->stream().kept_bytes(); kept != kept_) call.keeps(kept_ = kept);
    if (!batch) {
      if (text_->ended()) text_->check_end();
      out.set_rows(0);
      return !text_->ended();
    }
    for (const std::string& name : batch->without_bases) call.account(Reason::empty_sequence, 1, name);
    out.set_rows(batch->rows);
    out.add("read_id", text_column(batch->rows, batch->name_ends, batch->names));
    out.add("bases", text_column(batch->rows, batch->base_ends, batch->bases));
    if (wants_qualities_) out.add("qualities", text_column(batch->rows, batch->quality_ends, batch->qualities));
    if (wants_written_bases_) out.add("written_bases", text_column(batch->rows, batch->written_ends, batch->written));
    give_comments(*batch, out);
    out.set_work(static_cast<double>(batch->bases_in_all));
    if (file_bytes_ > 0) say_progress(call, static_cast<std::int64_t>(text_->stream().consumed()));
    return true;
  }

  // The others: bam_reads.hpp.
  bool give_records(const Call& call, Output& out) {
    const hts::ParallelFor parallel_for = [&call](std::size_t count, std::size_t grain, const auto& body) { call.parallel_for(count, grain, body); };
    const auto threads = static_cast<std::size_t>(std::max(call.threads(), 4));
    // What comes through a pipe may come slowly, and has to be waited for. Else two blocks for each thread.
    const std::size_t window_bytes = (file_bytes_ > 0 ? std::min<std::size_t>(threads, 16) : 2) << 17;
    const std::optional<BamBatch> batch = records_->next({call.target_work(), call.target_bytes(), file_bytes_ > 0 ? threads : 1, window_bytes},
                                                         call.memory(), parallel_for, [&call] { return call.cancelled(); });
    if (const std::size_t kept = records_->kept_bytes(); kept != kept_) call.keeps(kept_ = kept);
    out.set_rows(batch ? batch->rows : 0);
    if (!batch) return !records_->ended();
    for (const std::string& name : batch->not_primary) call.account(Reason::not_primary, 1, name);
    for (const std::string& name : batch->without_bases) call.account(Reason::empty_sequence, 1, name);
    out.add("read_id", text_column(batch->rows, batch->name_ends, batch->names));
    out.add("bases", text_column(batch->rows, batch->base_ends, batch->bases));
    if (wants_qualities_) out.add("qualities", text_column(batch->rows, batch->quality_ends, batch->qualities));
    if (wants_written_bases_) out.text_rows("written_bases", std::vector<std::string_view>(static_cast<std::size_t>(batch->rows)));
    give_comments(*batch, out);
    out.set_work(static_cast<double>(batch->bases_in_all));
    if (const std::int64_t read = records_->consumed(); file_bytes_ > 0 && read >= 0) say_progress(call, read);
    return true;
  }

  template <class SomeBatch>
  void give_comments(const SomeBatch& batch, Output& out) const {
    if (reads_comments_)
      out.add("comment", text_column(batch.rows, batch.comment_ends, batch.comments));
    else if (wants_comments_)
      out.text_rows("comment", std::vector<std::string_view>(static_cast<std::size_t>(batch.rows)));
  }
  void say_progress(const Call& call, std::int64_t read) const {
    call.progress(std::min(1.0, static_cast<double>(bytes_before_ + read) / static_cast<double>(all_bytes_)));
  }

  std::vector<std::string> files_;
  std::size_t file_ = 0;  // the one whose turn it is
  bool wants_qualities_, wants_comments_, reads_comments_, wants_written_bases_;
  int threads_;
  std::optional<ReadBatches> text_;  // FASTA and FASTQ
  WorkSharing sharing_;              // of text_
  std::optional<BamReads> records_;  // the others
  std::size_t kept_ = 0;             // by either
  std::int64_t file_bytes_ = 0;      // 0: no regular file
  std::int64_t bytes_before_ = 0, all_bytes_ = 0;
};

}  // namespace
}  // namespace sluice::read_bases

SLUICE_PLUGIN("read_bases", "0.1.0", "MIT", sluice::read_bases::ReadBases, sluice::read_bases::ReadReader);
