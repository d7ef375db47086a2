// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Where in a file records are read: from a position on, or in a part of it.
#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/kstring.h>

#include <algorithm>
#include <limits>

#include "alignment_reader/alignment_file.hpp"

namespace sluice::alignment_reader {
namespace {

using Where = hts::BamPart::Where;
constexpr std::uint64_t all_records = std::numeric_limits<std::uint64_t>::max();

}  // namespace

bool AlignmentFile::is_plain_sam() const {
  const htsFormat* format = hts_get_format(file_.get());
  return format->format == sam && format->compression == no_compression;
}

RecordMark AlignmentFile::here() const {
  if (text_) return {static_cast<std::uint64_t>(text_->position()), read_};
  if (!has_blocks()) return {0, read_};
  return {iterator_ ? iterator_->curr_off : static_cast<std::uint64_t>(bgzf_tell(file_->fp.bgzf)), read_};
}

// Of plain SAM: the byte at which so many records have been passed.
RecordMark AlignmentFile::placed(RecordMark mark) {
  if (!is_plain_sam() || file_bytes_ <= 0) return mark;
  if (!lines_) lines_.emplace(path_);
  if (lines_at_.place == 0 || mark.read < lines_at_.read) lines_at_ = {lines_->first_record(), 0};
  return lines_at_ = {lines_->skip(lines_at_.place, mark.read - lines_at_.read).offset, mark.read};
}

Where AlignmentFile::where(RecordMark mark) {
  if (part_) return part_->where(static_cast<std::int64_t>(mark.place));
  if (!iterator_ || !has_blocks() || mark.read == 0) return Where::within;
  const std::uint64_t block = mark.place >> 16;
  return block < range_.begin ? Where::before : block < range_.end ? Where::within : Where::behind;
}

void AlignmentFile::pass(bool is_in_region) {
  if (!is_in_region) return;
  ++visited_;
  ++passed_;
}

void AlignmentFile::seek(std::uint64_t place) {
  if (is_plain_sam()) {
    ks_free(&file_->line);                                     // HTSlib has looked at the first line behind the header
    file_->lineno = std::numeric_limits<std::int64_t>::min();  // no message has a number
    if (hseek(file_->fp.hfile, static_cast<off_t>(place), SEEK_SET) < 0) fail_damaged();
  } else if (bgzf_seek(file_->fp.bgzf, static_cast<std::int64_t>(place), SEEK_SET) != 0) {
    fail_damaged();
  } else if (growing_ < 0 && bgzf_peek(file_->fp.bgzf) < -1) {  // the next block of one that grows may not be there yet
    fail_damaged();
  }
}

// Of what the index says: only what lies behind a place.
void AlignmentFile::skip_chunks(std::uint64_t place) {
  hts_itr_t& chunks = *iterator_;
  int kept = 0;
  for (int i = 0; i < chunks.n_off; ++i) {
    if (chunks.off[i].v <= place) continue;
    chunks.off[kept] = chunks.off[i];
    chunks.off[kept].u = std::max(chunks.off[kept].u, place);
    ++kept;
  }
  chunks.n_off = kept;
  if (kept == 0) chunks.finished = 1;
}

void AlignmentFile::set_range(std::optional<ByteRange> range, Numbering numbering, const hts::RecordSearchRules& rules) {
  if (range && range->is_whole()) return;
  const bool is_counted = numbering == Numbering::all;
  if (!range || (!can_be_cut() && range->begin > 0)) {
    first_read_ = all_records;
    if (!is_counted) end_read_ = 0;
    if (!is_counted || !is_plain_sam() || regions_) return;
    hts::SamLines lines(path_);
    visited_ = passed_ = lines.skip(lines.first_record(), all_records).lines;
    end_read_ = 0;
  } else if (!can_be_cut()) {
    return;
  } else if (iterator_) {
    range_ = *range;
  } else if (has_blocks()) {
    hts::RecordSearchRules how = rules;
    if (is_counted) how.exact_below = all_records;
    part_.emplace(path_, *range, sam_hdr_nref(header_.get()), bgzf_tell(file_->fp.bgzf), how);
    if (!is_counted) seek(static_cast<std::uint64_t>(part_->start()));
  } else {
    lines_.emplace(path_);
    const std::uint64_t first = lines_->first_record(), begin = std::max(first, lines_->line_from(range->begin));
    const std::uint64_t before = lines_->skip(first, all_records, begin).lines;
    end_read_ = before + lines_->skip(begin, all_records, range->end).lines;
    if (regions_ && is_counted) {
      first_read_ = before;
    } else {
      if (begin > first) seek(begin);
      read_ = before;
      lines_at_ = {begin, before};
      if (is_counted) visited_ = passed_ = before;
    }
  }
}

void AlignmentFile::begin_at(RecordMark mark) {
  passed_ = visited_ = 0;
  if (is_plain_sam() && file_bytes_ > 0) {
    if (mark.read > read_) seek(mark.place);
    read_ = mark.read;
    lines_at_ = mark;
  } else if (has_blocks()) {
    if (iterator_ && mark.read > 0) skip_chunks(mark.place);
    const bool is_end = !iterator_ && growing_ < 0 && mark.place >> 16 >= static_cast<std::uint64_t>(file_bytes_);
    if (is_end) end_read_ = mark.read;
    if (!iterator_ && !is_end) seek(mark.place);
    if (part_) part_->begin_at(static_cast<std::int64_t>(mark.place));
    read_ = mark.read;
  } else {
    while (read_ < mark.read && read_record() >= 0) {
    }
  }
}

}  // namespace sluice::alignment_reader
