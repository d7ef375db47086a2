// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "alignment_reader/alignment_file.hpp"

#include <fcntl.h>
#include <htslib/bgzf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sluice/allocated.hpp>
#include <sluice/hts/fasta_index.hpp>
#include <sluice/hts/header_input.hpp>
#include <sluice/hts/open_input.hpp>
#include <sluice/hts/record_input.hpp>
#include <sluice/staged_file.hpp>
#include <unordered_map>

namespace sluice::alignment_reader {
namespace {

using Where = hts::BamPart::Where;

// A .bai index cannot describe contigs of 2^29 bases or more; a .csi index with this shift (16 kb bins) can.
constexpr std::int64_t longest_bai_contig = std::int64_t{1} << 29;
constexpr int csi_shift = 14;

// May the user of this program write into the folder? A folder whose mode has no write bit at all is left alone even by root, who could.
bool may_write_beside(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const char* name = folder.empty() ? "." : folder.c_str();
  struct stat info {};
  return ::stat(name, &info) == 0 && (info.st_mode & 0222U) != 0 && ::access(name, W_OK) == 0;
}

std::vector<std::string> existing_indexes(const std::string& path) {
  std::vector<std::string> found;
  const std::filesystem::path without_extension = std::filesystem::path(path).replace_extension();
  for (const char* extension : {".csi", ".bai", ".crai"})
    for (const std::string& candidate : {path + extension, without_extension.string() + extension}) {
      struct stat info {};
      if (::stat(candidate.c_str(), &info) == 0) found.push_back(candidate);
    }
  return found;
}

bool older(const std::string& a, const std::string& b) {
  struct stat x {
  }, y{};
  if (::stat(a.c_str(), &x) != 0 || ::stat(b.c_str(), &y) != 0) return false;
  return x.st_mtim.tv_sec != y.st_mtim.tv_sec ? x.st_mtim.tv_sec < y.st_mtim.tv_sec : x.st_mtim.tv_nsec < y.st_mtim.tv_nsec;
}

}  // namespace

void AlignmentFile::fail(const std::string& what, const std::string& remedy) const {
  throw Failure::input("alignment file '" + path_ + "' " + what, remedy);
}

AlignmentFile::AlignmentFile(const OpenOptions& options)
    : path_(options.path), fasta_(options.reference), window_bytes_(options.window_bytes), grows_(options.grows) {
  hts::silence();
  file_ = hts::open_file(path_);
  if (!file_) {
    const int reason = errno;
    throw Failure::input("cannot open alignment file '" + path_ + "': " + (reason == ENOEXEC ? std::string("unknown format") : std::strerror(reason)),
                         reason == EMFILE ? "raise the limit (`ulimit -n`), or put files together with `samtools merge`"
                                          : "check the path of the BAM, SAM or CRAM file");
  }
  const htsFormat* format = hts_get_format(file_.get());
  if (format->format == empty_format) fail("is empty", "give a BAM, SAM or CRAM file");
  if (format->format != bam && format->format != sam && format->format != cram)
    fail("is not BAM, SAM or CRAM", "align the reads with `minimap2 -a`, sort with `samtools sort`");
  if (grows_ && !has_blocks()) fail("can't be followed: it is not BAM", "convert it with `samtools view -b`");
  if (!grows_) hts::RecordsInOrder::check_mark(*file_, "alignment file '" + path_ + "'");
  if (!has_blocks() || !options.region.empty() || !options.bed.empty()) hts::add_threads(*file_, options.threads);
  std::string doubt;
  header_ = hts::read_header(*file_, "alignment file '" + path_ + "'");  // before HTSlib has the reference, after whose lengths it changes it
  if (!options.reference.empty() && format->format == cram) doubt = hts::renew_fasta_index(options.reference);
  if (!options.reference.empty() && format->format == cram && hts_set_opt(file_.get(), CRAM_OPT_REFERENCE, options.reference.c_str()) != 0)
    fail("cannot be decoded with reference '" + options.reference + "'", "check the path of the reference that the CRAM file was made with");
  record_.reset(allocated(bam_init1()));
  struct stat info {};
  if (::stat(path_.c_str(), &info) == 0 && S_ISREG(info.st_mode)) file_bytes_ = info.st_size;
  if (!options.region.empty()) regions_ = parse_region(options.region, header_.get(), path_);
  if (!options.bed.empty()) {
    Regions of_bed = read_bed(options.bed, header_.get(), path_, warning_);
    regions_ = regions_ ? of_bed.within(regions_->list().front()) : std::move(of_bed);
    if (regions_->list().empty())
      throw Failure::input("no region of '" + options.bed + "' is in the region " + options.region, "give one of them, or others");
    if (byte_of(options.bed, 0) != '\x1f' && byte_of(options.bed, -1) != '\n') bed_warning_ = hts::open_end_text("BED file '" + options.bed + "'");
  }
  if (!doubt.empty()) warning_ += (warning_.empty() ? "" : "; ") + doubt;
  if (regions_ && !grows_) open_regions();
  if (grows_ && (growing_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) < 0) fail("cannot be opened: " + std::string(std::strerror(errno)), "");
}

AlignmentFile::~AlignmentFile() {
  if (growing_ >= 0) ::close(growing_);
}

void AlignmentFile::end_here() {
  grows_ = false;
  if (text_) text_->end_here();
}

std::vector<Contig> AlignmentFile::contigs() const {
  std::vector<Contig> list;
  for (int i = 0; i < sam_hdr_nref(header_.get()); ++i) list.push_back({sam_hdr_tid2name(header_.get(), i), sam_hdr_tid2len(header_.get(), i)});
  return list;
}

bool AlignmentFile::sorted_by_coordinate() const {
  kstring_t order = KS_INITIALIZE;
  const bool sorted = sam_hdr_find_tag_hd(header_.get(), "SO", &order) == 0 && std::string_view(ks_c_str(&order)) == "coordinate";
  ks_free(&order);
  return sorted;
}

void AlignmentFile::open_regions() {
  if (!is_regular_file(path_) || !load_index()) return;
  const std::vector<Region>& list = regions_->list();
  if (list.size() == 1) {
    iterator_.reset(sam_itr_queryi(index_.get(), list[0].contig, list[0].begin, list[0].end));
  } else {
    std::vector<std::string> texts;
    for (const Region& region : list)  // braces: names may have colons
      texts.push_back(std::string("{") + contig_name(region.contig) + "}:" + std::to_string(region.begin + 1) + "-" + std::to_string(region.end));
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    iterator_.reset(sam_itr_regarray(index_.get(), header_.get(), pointers.data(), static_cast<unsigned>(pointers.size())));
  }
  if (!iterator_)
    fail("has an index that does not know a region on '" + std::string(contig_name(list[0].contig)) + "'",
         "make the index again with `samtools index`");
}

IndexedFile AlignmentFile::indexed_file() const {
  IndexedFile file;
  file.bytes = file_bytes_ > 0 ? static_cast<std::uint64_t>(file_bytes_) : std::numeric_limits<std::uint64_t>::max();
  for (const Contig& contig : contigs()) file.contig_lengths.push_back(contig.length);
  return file;
}

bool AlignmentFile::take_index(const std::string& index_path) {
  index_.reset(sam_index_load3(file_.get(), path_.c_str(), index_path.c_str(), HTS_IDX_SILENT_FAIL));
  return index_ != nullptr;
}

void AlignmentFile::say(const std::string& note) { note_ += (note_.empty() ? "" : "; ") + note; }

// False: the file cannot have an index, so the region is found by reading everything.
bool AlignmentFile::load_index() {
  std::string why;
  for (const std::string& existing : existing_indexes(path_)) {
    std::string problem = "the one beside the file is older than the file";
    if (!older(existing, path_)) {
      problem = index_problem(existing, indexed_file());
      if (problem.empty() && take_index(existing)) return true;
      problem = "the one beside the file is damaged" + (problem.empty() ? std::string() : ": it " + problem);
    }
    if (why.empty()) why = problem;
  }
  if (why.empty()) why = "there is none";
  const htsFormat* format = hts_get_format(file_.get());
  if (!sorted_by_coordinate() || (format->format == sam && format->compression != bgzf)) {
    say("'" + path_ + "' " + (format->format == sam ? "is SAM text" : "is not sorted by coordinate") + ": all of it is read to find the region");
    return false;
  }
  const std::vector<Contig> all = contigs();
  const bool long_contigs = std::any_of(all.begin(), all.end(), [](const Contig& c) { return c.length >= longest_bai_contig; });
  const std::string extension = format->format == cram ? ".crai" : long_contigs ? ".csi" : ".bai";
  const int shift = long_contigs ? csi_shift : 0;
  std::string not_kept = "the folder cannot be written to";
  if (may_write_beside(path_)) {
    try {
      StagedFile staged(path_ + extension);
      if (build_index(staged.temporary(), shift)) {
        staged.publish();
        say("made the index '" + staged.path() + "': " + why);
        return true;
      }
      not_kept = "it cannot be written: " + std::string(std::strerror(errno));
    } catch (const Failure& failure) {
      not_kept = failure.what();
    }
  }
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-index-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    throw Failure::output("cannot make a temporary folder '" + folder + "': " + std::strerror(errno), "set TMPDIR");
  const bool built = build_index(folder + "/index" + extension, shift);
  const int reason = errno;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!built)
    throw Failure::output("cannot write an index of '" + path_ + "', neither beside it (" + not_kept + ") nor in '" +
                              std::filesystem::temp_directory_path().string() + "': " + std::strerror(reason),
                          "free space in one of them, or set TMPDIR");
  say("made for this run an index of '" + path_ + "': " + why + ", and " + not_kept);
  return true;
}

// Makes the index in a file and loads it. False: it cannot be written, for the reason in errno.
bool AlignmentFile::build_index(const std::string& index_path, int shift) {
  constexpr int cannot_be_saved = -4;
  errno = 0;
  const int built = sam_index_build3(path_.c_str(), index_path.c_str(), shift, 0);
  // HTSlib does not notice every write that fails.
  if (built == 0 && index_problem(index_path, indexed_file()).empty() && take_index(index_path)) return true;
  if (built == 0 || built == cannot_be_saved) {
    if (errno == 0) errno = ENOSPC;
    return false;
  }
  fail("cannot be indexed, although its header says that it is sorted", "sort it with `samtools sort`, which indexes it with --write-index");
}

std::string AlignmentFile::take_warning() {
  if (taken_as_unmapped_ == 0) return std::exchange(warning_, {});
  return std::to_string(std::exchange(taken_as_unmapped_, 0)) + " records of '" + path_ +
         "' are taken as unmapped though their flags say that they are aligned: they have no contig, position or CIGAR; the first is '" +
         first_unmapped_ + "'";
}

double AlignmentFile::share_read() const {
  const htsFormat* format = hts_get_format(file_.get());
  if (file_bytes_ <= 0 || iterator_ || format->format != bam || format->compression != bgzf) return -1;
  const std::int64_t read = text_ ? text_->file_offset() : bgzf_tell(file_->fp.bgzf) >> 16;
  return std::min(1.0, static_cast<double>(read) / static_cast<double>(file_bytes_));
}

void AlignmentFile::fail_damaged(const std::string& problem) const {
  throw hts::record_failure("alignment file '" + path_ + "'", *file_, visited_, problem);
}

bool AlignmentFile::read_record() {
  bool is_unmapped = false;
  if (iterator_) {
    const int got = hts::read_record(*file_, *iterator_, *record_);
    if (got < -1) fail_damaged(hts::record_problem(got, *file_, *header_, *record_));
    if (got < 0) return false;
    if (!reference_ && file_->format.format == cram) reference_.emplace(*header_, fasta_, "alignment file '" + path_ + "'");
    if (reference_) reference_->check(record_->core.tid);
    is_unmapped = got == hts::taken_as_unmapped;
  } else {
    if (!in_order_) in_order_.emplace(*file_, *header_, path_, "alignment file '" + path_ + "'", fasta_);
    in_order_->count_from(visited_);
    if (!in_order_->next(*record_)) return false;
    is_unmapped = in_order_->was_taken_as_unmapped();
  }
  ++read_;
  if (is_unmapped && taken_as_unmapped_++ == 0) first_unmapped_ = bam_get_qname(record_.get());
  return true;
}

std::string AlignmentFile::end_warning() const {
  const std::string label = "'" + path_ + "'";
  if (read_ == 0 && !regions_) return hts::empty_text(label);
  return in_order_ && in_order_->ends_inside_line() ? hts::open_end_text(label) : bed_warning_;
}

const bam1_t* AlignmentFile::next() {
  while (true) {
    last_ = here();
    Where at = where(last_);
    if (at == Where::behind || read_ == end_read_) return nullptr;
    if (!read_record()) return nullptr;
    if (iterator_) at = where(here());  // with an index it is known only where a record ends
    if (at == Where::behind) return nullptr;
    visited_bytes_ += static_cast<std::uint64_t>(record_->l_data);
    const bool is_outside = regions_ && !iterator_ && !regions_->overlap(record_->core.tid, record_->core.pos, bam_endpos(record_.get()));
    if (is_passed(at)) {
      pass(!is_outside);
    } else if (is_outside) {
      ++outside_region_;
    } else {
      ++visited_;
      return record_.get();
    }
  }
}

bool AlignmentFile::has_blocks() const {
  const htsFormat* format = hts_get_format(file_.get());
  return format->format == bam && format->compression == bgzf;
}

const AlignmentRecord* AlignmentFile::next(const ParallelFor& parallel_for, int threads) {
  if (!begun_ && has_blocks() && !iterator_ && file_->fp.bgzf->mt == nullptr) {
    // For each thread two blocks at a time. What comes through a pipe may come slowly, and has to be waited for.
    if (window_bytes_ == 0) window_bytes_ = static_cast<std::size_t>(file_bytes_ > 0 ? std::clamp(threads, 4, 64) : 2) << 17;
    text_.emplace(file_->fp.bgzf, sam_hdr_nref(header_.get()), window_bytes_);
    if (growing_ >= 0) text_->follow(growing_);
    if (!grows_) text_->end_here();
  }
  begun_ = true;
  waits_ = false;
  if (read_ == end_read_) return nullptr;
  while (text_) {
    const AlignmentRecord* found = nullptr;
    last_ = here();
    if (part_ && part_->is_behind(static_cast<std::int64_t>(last_.place))) return nullptr;
    switch (text_->next(parallel_for, found)) {
      case BamText::Outcome::record: {
        const Where at = where({static_cast<std::uint64_t>(text_->last_position()), read_});
        if (at == Where::behind) return nullptr;
        ++read_;
        visited_bytes_ += found->data_bytes();
        const bool is_outside = regions_ && !regions_->overlap(found->core.tid, found->core.pos, found->end());
        if (is_passed(at)) {
          pass(!is_outside);
        } else if (is_outside) {
          ++outside_region_;
        } else {
          ++visited_;
          return found;
        }
        continue;
      }
      case BamText::Outcome::end:
        return nullptr;
      case BamText::Outcome::end_without_mark:
        throw hts::lacks_end_failure("alignment file '" + path_ + "'");
      case BamText::Outcome::nothing_yet:
        waits_ = true;
        return nullptr;
      case BamText::Outcome::damaged:
        // HTSlib reads on where it can (there may be gzip among the blocks), and knows best where it can't.
        if (file_bytes_ <= 0 || bgzf_seek(file_->fp.bgzf, text_->position(), SEEK_SET) != 0) fail_damaged(text_->problem());
        text_.reset();
    }
  }
  if (next() == nullptr) return nullptr;
  hts::Record another(allocated(bam_init1()));
  std::swap(record_, another);
  by_htslib_ = as_alignment_record(std::move(another));
  return &by_htslib_;
}

std::string contig_mismatch(const std::vector<Contig>& alignment, const std::vector<Contig>& reference) {
  std::unordered_map<std::string_view, std::int64_t> lengths;
  for (const Contig& contig : reference) lengths.emplace(contig.name, contig.length);
  for (const Contig& contig : alignment) {
    const auto found = lengths.find(contig.name);
    if (found == lengths.end()) return "contig '" + contig.name + "' (" + std::to_string(contig.length) + " bases) is not in the reference";
    if (found->second != contig.length)
      return "contig '" + contig.name + "' has " + std::to_string(contig.length) + " bases in the alignments and " + std::to_string(found->second) +
             " in the reference";
  }
  return {};
}

}  // namespace sluice::alignment_reader
