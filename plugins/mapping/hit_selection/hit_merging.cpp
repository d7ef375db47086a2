// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "hit_selection/hit_merging.hpp"

#include <algorithm>
#include <cstring>
#include <sluice/minimizer_index.hpp>

namespace sluice::hit_selection {

using overlap::ReadHit;
namespace {

constexpr std::size_t bytes_at_once = std::size_t{1} << 20;
// Of one part from disk, however many parts there are.
constexpr std::size_t least_read = 4096;
constexpr std::uint32_t failed = 0xFFFFFFFF;  // in place of a number of hits

// As make_hits orders hits: by score, anchors and hash, downwards. Equal ones are of different targets, or as good as impossible.
bool comes_first(const ReadHit& a, const ReadHit& b) {
  const auto key = [](const ReadHit& hit) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(hit.score)) << 32 | static_cast<std::uint32_t>(hit.anchors)) ^ hit.hash;
  };
  if (key(a) != key(b)) return key(a) > key(b);
  if (a.target != b.target) return a.target > b.target;
  return a.target_start > b.target_start;
}

Failure other_reads() {
  return Failure::input("hit_merging: the parts of the index do not have the same reads",
                        "let stored_reads read them, which gives all of them for each part");
}

}  // namespace

void PartHits::write_pending() {
  if (!file_) file_.emplace("-", "give larger --part-bases: fewer parts have fewer hits to keep");
  file_->append(pending_);
  pending_.clear();
}

void PartHits::add(std::uint32_t part, std::optional<std::span<const ReadHit>> hits) {
  if (part_begin_.empty() ? part != 0 : part + 1 != part_begin_.size() && part != part_begin_.size())
    throw Failure::input("reads for part " + std::to_string(part) + " of the index come behind those of another one");
  if (part == part_begin_.size()) part_begin_.push_back(written_);
  const std::uint32_t count = hits ? static_cast<std::uint32_t>(hits->size()) : failed;
  pending_.append(reinterpret_cast<const char*>(&count), sizeof count);
  if (hits) pending_.append(reinterpret_cast<const char*>(hits->data()), hits->size_bytes());
  written_ += sizeof count + (hits ? hits->size_bytes() : 0);
  if (pending_.size() >= bytes_at_once) write_pending();
}

std::string_view PartHits::read(Cursor& cursor, std::size_t bytes) const {
  if (cursor.bytes.size() - cursor.used < bytes) {
    cursor.bytes.erase(0, cursor.used);
    cursor.used = 0;
    const std::size_t have = cursor.bytes.size();
    const auto more =
        static_cast<std::size_t>(std::min<std::uint64_t>(cursor.end - cursor.next, std::max({bytes, bytes_at_once / cursors_.size(), least_read})));
    if (have + more < bytes) throw other_reads();
    cursor.bytes.resize(have + more);
    file_->read(cursor.next, cursor.bytes.data() + have, more);
    file_->release(cursor.next, more);
    cursor.next += more;
  }
  const std::string_view found(cursor.bytes.data() + cursor.used, bytes);
  cursor.used += bytes;
  return found;
}

bool PartHits::take(std::uint32_t parts, std::vector<ReadHit>& hits) {
  if (cursors_.empty()) {
    if (part_begin_.size() != parts) throw other_reads();
    write_pending();
    part_begin_.push_back(written_);
    for (std::size_t p = 0; p + 1 < part_begin_.size(); ++p) cursors_.push_back({part_begin_[p], part_begin_[p + 1], {}});
  }
  bool is_good = true;
  for (Cursor& cursor : cursors_) {
    std::uint32_t count = 0;
    std::memcpy(&count, read(cursor, sizeof count).data(), sizeof count);
    if (count == failed) {
      is_good = false;
      continue;
    }
    const std::size_t before = hits.size();
    hits.resize(before + count);
    const std::string_view bytes = read(cursor, count * sizeof(ReadHit));
    if (count > 0) std::memcpy(hits.data() + before, bytes.data(), bytes.size());
  }
  return is_good;
}

void PartHits::check_all_taken() const {
  if (cursors_.empty() ? written_ > 0 : std::ranges::any_of(cursors_, [](const Cursor& c) { return c.next != c.end || c.used != c.bytes.size(); }))
    throw other_reads();
}

void HitMerging::describe(Describe<HitMerging>& d) {
  d.id("hit_merging")
      .summary("makes one row of the rows that a read has for the parts of an index")
      .regroup("read", "read")
      .rows_named_by("read_id")
      .work_unit("base")
      .concatenates();
  d.doc(
      "Of an index in several parts the reads come once for each part, one part after the other. Their hits wait on the disk (TMPDIR), and come with "
      "the "
      "last part's, by descending score, as hits on one index come. With an index of one part reads pass as they are.\n\n"
      "Only for hits of which none is primary (map_selection with `all_chains`): which hit is the best one would have to be asked of all parts "
      "together.");
  d.needs("read_id", "utf8", "name of the read").needs("read_length", "i32", "bases of the read");
  d.needs("repeat_length", "i32", "bases under minimizers that were too frequent to be looked up");
  d.needs("index_part", "i32", "part of the index that the row is for, from 0");
  d.gives("read_id", "utf8", "name of the read").gives("read_length", "i32", "bases of the read");
  d.gives("repeat_length", "i32", "bases under minimizers that were too frequent to be looked up");
  overlap::needs_hits(d);
  overlap::gives_hits(d);
  d.needs("hit_hash", "list<u32>", overlap::hit_hash_doc);
  d.uses("index", "minimizer_index", "the index that the reads were looked up in");
}

HitMerging::HitMerging(const Setup& setup, const Parameters&)
    : parts_(static_cast<std::uint32_t>(minimizer_index_view(setup.resource("index")).parts())) {}

void HitMerging::process(const Call& call, const Batch& in, Output& out) {
  const TextView read_id = in.text("read_id");
  const auto length = in.column<std::int32_t>("read_length"), repeat_length = in.column<std::int32_t>("repeat_length");
  const auto index_part = in.column<std::int32_t>("index_part");
  const overlap::HitColumns columns(in);
  rows_.clear();
  hits_.clear();
  for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
    const auto i = static_cast<std::size_t>(row);
    const auto part = static_cast<std::uint32_t>(index_part[i]);
    if (in.ok(row) && part >= parts_)
      throw Failure::input("hit_merging: read '" + std::string(read_id[row]) + "' is of part " + std::to_string(index_part[i]) + " of an index of " +
                           std::to_string(parts_));
    const std::size_t first = hits_.size();
    const std::size_t count = in.ok(row) ? columns.count(row, read_id[row]) : 0;
    for (std::size_t h = 0; h < count; ++h) hits_.push_back(columns.hit(row, h));
    if (part + 1 < parts_) {
      part_hits_.add(part, in.ok(row) ? std::optional(std::span<const ReadHit>(hits_)) : std::nullopt);
      hits_.clear();
      continue;
    }
    const bool is_good = parts_ == 1 || part_hits_.take(parts_ - 1, hits_);
    if (!is_good || !in.ok(row)) {
      hits_.resize(first);
      continue;
    }
    const auto begin = hits_.begin() + static_cast<std::ptrdiff_t>(first);
    if (parts_ > 1) {
      if (std::any_of(begin, hits_.end(), [](const ReadHit& hit) { return hit.is_primary != 0; }))
        throw Failure::usage("hit_merging: read '" + std::string(read_id[row]) + "' has a primary hit, but the index comes in parts",
                             "set all_chains of map_selection");
      std::sort(begin, hits_.end(), comes_first);
    }
    rows_.push_back({read_id[row], length[i], repeat_length[i], hits_.size()});
  }
  call.keeps(part_hits_.bytes() == 0 ? 0 : bytes_at_once + parts_ * least_read);
  if (!rows_.empty()) emit(out);
}

void HitMerging::finish(const Call& call, Output&) const {
  if (!call.cancelled()) part_hits_.check_all_taken();
}

void HitMerging::emit(Output& out) {
  out.set_rows(static_cast<std::int64_t>(rows_.size()));
  double work = 0;
  std::vector<std::string_view> names;
  const auto length = out.column<std::int32_t>("read_length"), repeat_length = out.column<std::int32_t>("repeat_length");
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    names.push_back(rows_[i].read_id);
    length[i] = rows_[i].length;
    repeat_length[i] = rows_[i].repeat_length;
    work += rows_[i].length;
  }
  out.set_work(work);
  out.text_rows("read_id", names);
  const Buffer offsets = out.offsets([&](std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    return rows_[i].hits_end - (i == 0 ? 0 : rows_[i - 1].hits_end);
  });
  const auto give = [&]<class T>(const char* name, T ReadHit::*member) {
    const std::span<T> values = out.list<T>(name, offsets);
    for (std::size_t i = 0; i < hits_.size(); ++i) values[i] = hits_[i].*member;
  };
  give("hit_target", &ReadHit::target);
  give("hit_query_start", &ReadHit::query_start);
  give("hit_query_end", &ReadHit::query_end);
  give("hit_target_start", &ReadHit::target_start);
  give("hit_target_end", &ReadHit::target_end);
  give("hit_score", &ReadHit::score);
  give("hit_second_score", &ReadHit::second_score);
  give("hit_anchors", &ReadHit::anchors);
  give("hit_matches", &ReadHit::matches);
  give("hit_block", &ReadHit::block);
  give("hit_is_reverse", &ReadHit::is_reverse);
  give("hit_is_primary", &ReadHit::is_primary);
  give("hit_mapq", &ReadHit::mapping_quality);
  give("hit_divergence", &ReadHit::divergence);
  out.emit();
}

}  // namespace sluice::hit_selection
