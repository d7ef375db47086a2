// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "alignment_reader/alignment_files.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sluice/empty_inputs.hpp>
#include <sluice/hts/read_group_samples.hpp>
#include <system_error>
#include <tuple>

namespace sluice::alignment_reader {
namespace {

// Compressed bytes that all files of a merge are read ahead by, and of one of them at least.
constexpr std::size_t merge_window_bytes = std::size_t{4} << 20, least_window_bytes = std::size_t{1} << 17;

double bytes_of(const std::string& path) {
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(path, none);
  return none ? 0 : static_cast<double>(bytes);
}

[[noreturn]] void refuse_merged() {
  throw Failure::usage("alignment files that are merged by position can't be read from a position on, nor in parts",
                       "merge them with `samtools merge`, or leave `merge` out");
}

std::string contig_text(const std::vector<Contig>& contigs, std::size_t number) {
  if (number >= contigs.size()) return "there is none";
  return "it is '" + contigs[number].name + "' (" + std::to_string(contigs[number].length) + " bases)";
}

}  // namespace

void check_same_contigs(const std::string& path, const std::vector<Contig>& contigs, const std::string& other_path,
                        const std::vector<Contig>& others) {
  const auto same = [](const Contig& a, const Contig& b) { return a.name == b.name && a.length == b.length; };
  const auto [here, there] = std::mismatch(contigs.begin(), contigs.end(), others.begin(), others.end(), same);
  if (here == contigs.end() && there == others.end()) return;
  const auto number = static_cast<std::size_t>(here - contigs.begin());
  throw Failure::input("alignment files '" + path + "' and '" + other_path + "' have other contigs: of number " + std::to_string(number + 1) + " " +
                           contig_text(contigs, number) + " in the first, and " + contig_text(others, number) + " in the second",
                       "give files that were aligned to the same reference");
}

AlignmentFiles::AlignmentFiles(std::unique_ptr<AlignmentFile> file, const std::string& position) {
  paths_ = {file->path()};
  note_sizes();
  contigs_ = file->contigs();
  take_note(*files_.emplace_back(std::move(file)));
  if (position.empty()) return;
  const std::vector<std::uint64_t> numbers = position_numbers(position, 4);
  current().begin_at({numbers[1], numbers[2]});
  visited_ = numbers[3];
}

AlignmentFiles::AlignmentFiles(std::vector<std::string> paths, OpenOptions options, FileOrder order, Beginning beginning)
    : options_(std::move(options)), beginning_(std::move(beginning)), paths_(std::move(paths)) {
  for (const std::string& path : take_empty_files(paths_)) warnings_.push_back(hts::empty_text("'" + path + "'"));
  if (beginning_.is_elsewhere())
    for (const std::string& path : paths_) refuse_unless_file(path);
  std::vector<std::uint64_t> sizes;
  for (const std::string& path : paths_) sizes.push_back(regular_file_bytes(path));
  part_ = InputPart(std::move(sizes), beginning_.part, beginning_.parts);
  bool is_nothing = true;
  for (std::size_t file = 0; file < paths_.size(); ++file)
    if (part_.of(file)) last_turn_ = file, is_nothing = false;
  if (is_nothing) beginning_.numbering = AlignmentFile::Numbering::of_range;
  note_sizes();
  if (paths_.size() > 1) look_at_headers(order);
  if (merges_ && beginning_.is_elsewhere()) refuse_merged();
  if (merges_)
    for (const std::string& path : paths_) take_note(*files_.emplace_back(open(path, true)));
  else
    begin(beginning_.position);
  contigs_ = current().contigs();
}

void AlignmentFiles::begin(const std::string& position) {
  files_.resize(1);
  if (position.empty()) return open_turn();
  const std::vector<std::uint64_t> numbers = position_numbers(position, 4);
  if (numbers[0] >= paths_.size())
    throw Failure::usage("'" + position + "' is no position in these " + std::to_string(paths_.size()) + " files",
                         "give the files that the position was said of");
  for (; turn_ < numbers[0]; ++turn_) bytes_before_ += bytes_[turn_];
  open_turn();
  current().begin_at({numbers[1], numbers[2]});
  visited_ = numbers[3];
}

std::string AlignmentFiles::position(Of of) {
  if (merges_ || !is_regular_file(paths_[turn_])) return no_position;
  const RecordMark mark = of == Of::last ? current().last_mark() : current().mark();
  // What has been passed in front of a part is not taken before the first record of it.
  return position_text({turn_, mark.place, mark.read, of == Of::last ? visited_ - 1 : visited_ + current().passed()});
}

void AlignmentFiles::open_turn() {
  files_[0] = open(paths_[turn_], true);
  take_note(current());
  if (part_.is_all()) return;
  if (paths_.size() == 1 && !current().can_be_cut())
    refuse_to_cut(paths_[0], "it is not BAM, nor plain SAM", "convert it with `samtools view -b`, or give several files");
  current().set_range(part_.of(turn_), beginning_.numbering, beginning_.rules);
}

void AlignmentFiles::note_sizes() {
  for (const std::string& path : paths_) all_bytes_ += bytes_.emplace_back(bytes_of(path));
}

void AlignmentFiles::look_at_headers(FileOrder order) {
  std::vector<Contig> contigs;
  std::string unsorted;
  hts::ReadGroupSamples samples;
  for (const std::string& path : paths_) {
    const std::unique_ptr<AlignmentFile> file = open(path, false);
    samples.add(file->header(), path);
    if (contigs.empty())
      contigs = file->contigs();
    else
      check_same_contigs(paths_[0], contigs, path, file->contigs());
    if (unsorted.empty() && !file->sorted_by_coordinate()) unsorted = path;
  }
  merges_ = order == FileOrder::by_position && unsorted.empty();
  if (order == FileOrder::by_position && !merges_)
    notes_.push_back("'" + unsorted + "' is not sorted by coordinate: the alignment files are read one after the other");
  if (merges_) options_.window_bytes = std::max(least_window_bytes, merge_window_bytes / paths_.size());
}

std::unique_ptr<AlignmentFile> AlignmentFiles::open(const std::string& path, bool with_regions) const {
  OpenOptions options = options_;
  options.path = path;
  if (!with_regions) options.region.clear(), options.bed.clear();
  return std::make_unique<AlignmentFile>(options);
}

void AlignmentFiles::take_note(AlignmentFile& file) {
  if (!file.note().empty()) notes_.push_back(file.note());
  // Of the regions, which are the same for all files.
  if (std::string warning = file.take_warning(); !warning.empty() && !std::exchange(warned_of_regions_, true))
    warnings_.push_back(std::move(warning));
}

void AlignmentFiles::look_at_end(const AlignmentFile& file) {
  if (beginning_.is_elsewhere()) return;
  if (std::string warning = file.end_warning(); !warning.empty()) warnings_.push_back(std::move(warning));
}

const AlignmentRecord* AlignmentFiles::next(const ParallelFor& parallel_for, int threads) {
  const AlignmentRecord* record = merges_ ? next_by_position(parallel_for, threads) : next_in_order(parallel_for, threads);
  if (record != nullptr) ++visited_;
  return record;
}

const AlignmentRecord* AlignmentFiles::advance(AlignmentFile& file, const ParallelFor& parallel_for, int threads) {
  const std::uint64_t before = file.visited_bytes();
  const AlignmentRecord* record = file.next(parallel_for, threads);
  visited_bytes_ += file.visited_bytes() - before;
  visited_ += file.take_passed();
  if (record == nullptr)
    if (std::string warning = file.take_warning(); !warning.empty()) warnings_.push_back(std::move(warning));
  return record;
}

const AlignmentRecord* AlignmentFiles::next_in_order(const ParallelFor& parallel_for, int threads) {
  while (true) {
    const AlignmentRecord* record = advance(current(), parallel_for, threads);
    if (record != nullptr || current().waits()) return record;
    look_at_end(current());
    if (turn_ >= last_turn_) return nullptr;
    outside_before_ += current().outside_region();
    bytes_before_ += bytes_[turn_++];
    open_turn();
  }
}

// Records that are placed nowhere come last, as in a sorted file.
bool AlignmentFiles::comes_later(const Head& a, const Head& b) {
  const auto place = [](const Head& head) {
    return std::tuple(static_cast<std::uint32_t>(head.record->core.tid), head.record->core.pos, head.file);  // -1 is the largest number
  };
  return place(a) > place(b);
}

void AlignmentFiles::push_head(std::size_t file, const ParallelFor& parallel_for, int threads) {
  const AlignmentRecord* record = advance(*files_[file], parallel_for, threads);
  if (record == nullptr) return look_at_end(*files_[file]);
  heads_.push_back({record, file});
  std::push_heap(heads_.begin(), heads_.end(), comes_later);
}

const AlignmentRecord* AlignmentFiles::next_by_position(const ParallelFor& parallel_for, int threads) {
  if (begun_)
    push_head(current_, parallel_for, threads);
  else
    for (std::size_t file = 0; file < files_.size(); ++file) push_head(file, parallel_for, threads);
  begun_ = true;
  if (heads_.empty()) return nullptr;
  std::pop_heap(heads_.begin(), heads_.end(), comes_later);
  const Head first = heads_.back();
  heads_.pop_back();
  current_ = first.file;
  return first.record;
}

std::uint64_t AlignmentFiles::memory() const {
  std::uint64_t bytes = 0;
  for (const auto& file : files_) bytes += file->memory();
  return bytes;
}

std::uint64_t AlignmentFiles::outside_region() const {
  std::uint64_t records = outside_before_;
  for (const auto& file : files_) records += file->outside_region();
  return records;
}

double AlignmentFiles::share_read() const {
  if (paths_.size() == 1) return current().share_read();
  double read = bytes_before_;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const double share = files_[i]->share_read();
    if (share < 0) return -1;
    read += share * bytes_[merges_ ? i : turn_];
  }
  return all_bytes_ > 0 ? std::min(1.0, read / all_bytes_) : -1;
}

}  // namespace sluice::alignment_reader
