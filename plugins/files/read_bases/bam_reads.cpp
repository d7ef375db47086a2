// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/bam_reads.hpp"

#include <fcntl.h>
#include <htslib/hfile.h>
#include <htslib/kstring.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sluice/allocated.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/header_input.hpp>
#include <sluice/hts/record_bases.hpp>
#include <sluice/hts/record_input.hpp>
#include <sluice/input_part.hpp>
#include <string_view>
#include <utility>

namespace sluice::read_bases {
namespace {

// Reads of 8 kb take 5 microseconds.
constexpr std::size_t rows_grain = 16;
// CRAM and SAM: HTSlib's own. One thread behind them takes what they make, and does not need more.
constexpr int most_hts_threads = 4;
// Records that are no rows are remembered until the batch is given.
constexpr std::size_t most_left_out = 4096;

std::size_t bases_of(const hts::AlignmentRecord& record) { return static_cast<std::size_t>(record.core.l_qseq); }
const std::uint8_t* scores_of(const hts::AlignmentRecord& record) { return record.packed_bases() + (bases_of(record) + 1) / 2; }
bool has_scores(const hts::AlignmentRecord& record) { return bases_of(record) != 0 && scores_of(record)[0] != 0xFF; }

std::span<const std::uint8_t> tags_of(const hts::AlignmentRecord& record) {
  return {reinterpret_cast<const std::uint8_t*>(record.tags().data()), record.tags().size()};
}

// Tags as SAM has them, with tabs between them. What is no tag ends them.
std::string tags_as_text(const hts::AlignmentRecord& record) {
  kstring_t text = KS_INITIALIZE;
  const std::uint8_t* at = tags_of(record).data();
  const std::uint8_t* const end = at + tags_of(record).size();
  while (at != nullptr && end - at >= 4) {
    const std::size_t before = text.l;
    if (text.l > 0) kputc_('\t', &text);
    at = sam_format_aux1(at, at[2], at + 3, end, &text);
    if (at == nullptr) text.l = before;
  }
  std::string tags(text.s == nullptr ? "" : text.s, text.l);
  ks_free(&text);
  return tags;
}

}  // namespace

BamReads::BamReads(hFILE* opened, std::string path, Wanted wanted, int threads, Growth growth)
    : path_(std::move(path)), wanted_(wanted), is_followed_(growth != Growth::none) {
  file_.reset(hts_hopen(opened, path_.c_str(), "r"));
  if (!file_) throw Failure::input("'" + path_ + "' has no readable header", "copy the file again and compare checksums");
  if (file_->format.format != bam && threads > 1) hts::add_threads(*file_, std::min(threads, most_hts_threads));
  header_ = hts::read_header(*file_, "'" + path_ + "'");
  if (wanted_.basecaller_tags) basecaller_tags_ = hts::BasecallerTags(*header_);
  if (growth == Growth::possible && (growing_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) < 0)
    throw Failure::input("cannot open '" + path_ + "': " + std::strerror(errno), "check the path of the reads");
}

BamReads::~BamReads() {
  if (growing_ >= 0) ::close(growing_);
}

void BamReads::end_here() {
  if (text_) text_->end_here();
}

std::int64_t BamReads::consumed() const {
  if (text_) return text_->file_offset();
  const BGZF* blocks = file_->format.compression == bgzf ? file_->fp.bgzf : nullptr;
  return blocks == nullptr ? -1 : htell(blocks->fp);
}

void BamReads::fail_damaged(const std::string& problem) const { throw hts::record_failure("'" + path_ + "'", *file_, records_, problem); }

void BamReads::seek(std::uint64_t place) {
  // A place in BGZF is loaded, so that what lies before it in its block is passed over.
  if (bgzf_seek(file_->fp.bgzf, static_cast<std::int64_t>(place), SEEK_SET) != 0 || bgzf_peek(file_->fp.bgzf) < -1) fail_damaged();
}

void BamReads::set_range(ByteRange range, const hts::RecordSearchRules& rules) {
  if (range.is_whole()) return;
  if (has_blocks()) {
    part_.emplace(path_, range, sam_hdr_nref(header_.get()), bgzf_tell(file_->fp.bgzf), rules);
    return seek(static_cast<std::uint64_t>(part_->start()));
  }
  lines_.emplace(path_);
  const std::uint64_t begin = std::max(lines_->first_record(), lines_->line_from(range.begin));
  most_records_ = lines_->skip(begin, most_records_, range.end).lines;
  begin_at({begin, 0});
}

void BamReads::begin_at(RecordMark mark) {
  if (is_plain_sam()) {
    if (!lines_) lines_.emplace(path_);
    if (mark.place > lines_->first_record()) {
      ks_free(&file_->line);                                     // HTSlib has looked at the first line behind the header
      file_->lineno = std::numeric_limits<std::int64_t>::min();  // no message has a number
      if (hseek(file_->fp.hfile, static_cast<off_t>(mark.place), SEEK_SET) < 0) fail_damaged();
    }
    lines_at_ = mark;
    records_ = mark.records;
    most_records_ -= std::min(most_records_, records_);
  } else if (has_blocks()) {
    seek(mark.place);
    if (part_) part_->begin_at(static_cast<std::int64_t>(mark.place));
    records_ = mark.records;
  } else {
    while (records_ < mark.records && next_by_htslib() != nullptr) {
    }
  }
}

RecordMark BamReads::mark() {
  if (text_) return {static_cast<std::uint64_t>(text_->position()), records_};
  if (has_blocks()) return {static_cast<std::uint64_t>(bgzf_tell(file_->fp.bgzf)), records_};
  return {0, records_};
}

RecordMark BamReads::next_place() {
  RecordMark next = !ready_.empty() ? ready_.front().begin : ahead_ ? ahead_begin_ : mark();
  if (!is_plain_sam()) return next;
  if (!lines_) lines_.emplace(path_);
  if (lines_at_.place == 0) lines_at_ = {lines_->first_record(), 0};
  const hts::SamLines::Skipped passed = lines_->skip(lines_at_.place, next.records - lines_at_.records);
  return lines_at_ = {passed.offset, next.records};
}

const hts::AlignmentRecord* BamReads::next_record(const Sizes& sizes, const hts::ParallelFor& parallel_for) {
  if (!part_) return next_of_file(sizes, parallel_for);
  while (true) {
    const auto next = static_cast<std::int64_t>(mark().place);
    if (part_->is_behind(next)) return nullptr;
    const hts::AlignmentRecord* record = next_of_file(sizes, parallel_for);
    if (record == nullptr) return nullptr;
    const hts::BamPart::Where where = part_->where(text_ ? text_->last_position() : next);
    if (where == hts::BamPart::Where::behind) return nullptr;
    if (where == hts::BamPart::Where::within) return record;
  }
}

const hts::AlignmentRecord* BamReads::next_of_file(const Sizes& sizes, const hts::ParallelFor& parallel_for) {
  if (!std::exchange(begun_, true) && file_->format.format == bam && file_->format.compression == bgzf) {
    text_.emplace(file_->fp.bgzf, sam_hdr_nref(header_.get()), sizes.window_bytes);
    if (growing_ >= 0) text_->follow(growing_);
  }
  if (!text_) return next_by_htslib();
  const hts::AlignmentRecord* found = nullptr;
  switch (text_->next(parallel_for, found)) {
    case hts::BamText::Outcome::record:
      ++records_;
      return found;
    case hts::BamText::Outcome::end:
      return nullptr;
    case hts::BamText::Outcome::end_without_mark:
      // Of a file the mark was looked for when it was opened; here it may have been read behind it.
      if (is_followed_ || is_regular_file(path_)) return nullptr;
      throw hts::lacks_end_failure("'" + path_ + "'");
    case hts::BamText::Outcome::nothing_yet:
      waits_ = true;
      return nullptr;
    case hts::BamText::Outcome::damaged:
      break;
  }
  // HTSlib reads on where it can (there may be gzip among the blocks), and knows best where it can't.
  if (bgzf_seek(file_->fp.bgzf, text_->position(), SEEK_SET) != 0) fail_damaged(text_->problem());
  text_.reset();
  return next_by_htslib();
}

const hts::AlignmentRecord* BamReads::next_by_htslib() {
  if (most_records_ == 0) return nullptr;
  hts::Record record(allocated(bam_init1()));
  if (!in_order_) in_order_.emplace(*file_, *header_, path_, "'" + path_ + "'");
  in_order_->count_from(records_);
  if (!in_order_->next(*record)) return nullptr;
  ++records_;
  --most_records_;
  read_ = hts::as_alignment_record(std::move(record));
  return &read_;
}

BamReads::Rows BamReads::next_rows(const Sizes& sizes, const hts::ParallelFor& parallel_for, const std::function<bool()>& cancelled) {
  Rows rows;
  rows.begin = ahead_ ? ahead_begin_ : mark();
  double work = 0;
  std::uint64_t bytes = 0;
  try {
    while ((rows.records.empty() || (work < sizes.work && bytes < sizes.bytes)) && rows.not_primary.size() < most_left_out &&
           rows.without_bases.size() < most_left_out && !cancelled()) {
      if (!ahead_) {
        ahead_begin_ = mark();
        const hts::AlignmentRecord* record = next_record(sizes, parallel_for);
        if (record == nullptr) {
          ended_ = !waits_;
          break;
        }
        if ((record->core.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) != 0) {
          rows.not_primary.emplace_back(record->name);
          continue;
        }
        if (record->core.l_qseq == 0) {
          rows.without_bases.emplace_back(record->name);
          continue;
        }
        ahead_ = *record;
      }
      const auto bases = static_cast<double>(bases_of(*ahead_));
      if (!rows.records.empty() && bases >= sizes.work) break;
      work += bases;
      bytes += std::strlen(ahead_->name) + bases_of(*ahead_) * (wanted_.qualities && has_scores(*ahead_) ? 2 : 1);
      if (wanted_.comments) rows.comments.push_back(tags_as_text(*ahead_));
      if (wanted_.tags != nullptr) {
        if (append_tags(tags_of(*ahead_), *wanted_.tags, rows.tags.emplace_back()) == TagState::damaged)
          rows.with_damaged_tags.emplace_back(ahead_->name);
        bytes += rows.tags.back().size();
      }
      if (wanted_.basecaller_tags) {
        basecaller_tags_.append(ahead_->tags(), rows.basecaller_tags.emplace_back());
        bytes += rows.basecaller_tags.back().size();
      }
      rows.records.push_back(*std::exchange(ahead_, std::nullopt));
    }
  } catch (const Failure&) {
    failure_ = std::current_exception();
    ended_ = true;
  }
  return rows;
}

std::optional<BamBatch> BamReads::next(const Sizes& sizes, const MemorySource& memory, const hts::ParallelFor& parallel_for,
                                       const std::function<bool()>& cancelled) {
  if (ready_.empty() && !ended_) {
    struct Place {
      std::size_t batch, row;
    };
    std::vector<Rows> all;
    std::vector<Place> places;
    waits_ = false;
    while (all.size() < sizes.batches && !ended_ && !waits_ && !cancelled()) {
      all.push_back(next_rows(sizes, parallel_for, cancelled));
      if (waits_ && all.back().is_empty()) break;
      for (std::size_t row = 0; row < all.back().records.size(); ++row) places.push_back({all.size() - 1, row});
      ready_.push_back(make_columns(all.back(), memory));
    }
    parallel_for(places.size(), rows_grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Place& place = places[i];
        copy(all[place.batch].records[place.row], place.row, ready_[place.batch]);
      }
    });
  }
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return std::nullopt;
  }
  BamBatch batch = std::move(ready_.front());
  ready_.pop_front();
  return batch;
}

BamBatch BamReads::make_columns(Rows& rows, const MemorySource& memory) const {
  BamBatch batch;
  const std::vector<hts::AlignmentRecord>& records = rows.records;
  batch.rows = static_cast<std::int64_t>(records.size());
  batch.begin = rows.begin;
  batch.without_bases = std::move(rows.without_bases);
  batch.not_primary = std::move(rows.not_primary);
  batch.with_damaged_tags = std::move(rows.with_damaged_tags);
  batch.name_ends = offsets_from_sizes(records.size(), memory, [&](std::size_t row) { return std::strlen(records[row].name); });
  batch.names = text_for(batch.name_ends, memory);
  batch.base_ends = offsets_from_sizes(records.size(), memory, [&](std::size_t row) { return bases_of(records[row]); });
  batch.bases = text_for(batch.base_ends, memory);
  batch.bases_in_all = batch.bases.bytes();
  const auto join = [&](const std::vector<std::string>& texts, Buffer& ends, Buffer& joined) {
    ends = offsets_from_sizes(records.size(), memory, [&](std::size_t row) { return texts[row].size(); });
    joined = text_for(ends, memory);
    char* to = static_cast<char*>(joined.data());
    for (const std::string& text : texts) to = std::copy(text.begin(), text.end(), to);
  };
  if (wanted_.comments) join(rows.comments, batch.comment_ends, batch.comments);
  if (wanted_.tags != nullptr) join(rows.tags, batch.tag_ends, batch.tags);
  if (wanted_.basecaller_tags) join(rows.basecaller_tags, batch.basecaller_tag_ends, batch.basecaller_tags);
  if (!wanted_.qualities) return batch;
  batch.quality_ends =
      offsets_from_sizes(records.size(), memory, [&](std::size_t row) { return has_scores(records[row]) ? bases_of(records[row]) : 0; });
  batch.qualities = text_for(batch.quality_ends, memory);
  return batch;
}

void BamReads::copy(const hts::AlignmentRecord& record, std::size_t row, const BamBatch& batch) const {
  const auto at = [row](const Buffer& ends, const Buffer& text) { return static_cast<char*>(text.data()) + ends.as<std::int64_t>()[row]; };
  const std::size_t length = bases_of(record);
  std::memcpy(at(batch.name_ends, batch.names), record.name, std::strlen(record.name));
  hts::sequenced_bases(record.packed_bases(), length, record.is_reverse(), at(batch.base_ends, batch.bases));
  if (!wanted_.qualities || !has_scores(record)) return;
  char* out = at(batch.quality_ends, batch.qualities);
  const std::uint8_t* scores = scores_of(record);
  for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<char>('!' + std::min<int>(scores[i], '~' - '!'));
  if (record.is_reverse()) std::reverse(out, out + length);
}

}  // namespace sluice::read_bases
