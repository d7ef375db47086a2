// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_batches.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::signal_reader {
namespace {

// Enough for every thread; the first ones are few, so that the stages behind begin early.
constexpr std::size_t most_records_at_a_time = 1024;
// What one thread reads at a time: some 50 microseconds.
constexpr std::size_t heads_grain = 4;
constexpr std::size_t part_bytes = std::size_t{256} << 10;
constexpr std::uint64_t least_read_ahead = std::uint64_t{16} << 20;

}  // namespace

SignalBatches::SignalBatches(const SignalFile& file, const BeginningParameters& beginning, Give give, RecordCursor from)
    : file_(file),
      cursor_(std::move(from)),
      wanted_(beginning),
      gives_beginnings_(give == Give::beginnings),
      asked_for_(cursor_.offset() + least_read_ahead) {
  file.will_need(cursor_.offset(), least_read_ahead);
}

std::uint64_t SignalBatches::next_offset() const {
  if (!ready_.empty()) return ready_.front().places.front().offset;
  return heads_.empty() ? cursor_.offset() : heads_.front().place.offset;
}

std::uint64_t SignalBatches::records_before() const {
  std::uint64_t waiting = heads_.size();
  for (const SignalBatch& batch : ready_) waiting += batch.places.size();
  return cursor_.records() - std::min(cursor_.records(), waiting);
}

std::optional<SignalBatch> SignalBatches::next(const Sizes& sizes, const MemorySource& memory, const ParallelLoop& parallel,
                                               const std::function<bool()>& cancelled) {
  while (ready_.empty() && !cancelled()) {
    bool nothing_new = true;
    if (!ended_) {
      const std::size_t known = heads_.size();
      find_records(sizes);
      nothing_new = heads_.size() == known;
      read_heads(known, parallel);
    }
    const bool waits = grows_ && !ended_ && nothing_new;
    make_batches(sizes, ended_ || waits ? Rest::goes : Rest::waits, memory, parallel);
    if (ready_.empty() && waits) return std::nullopt;
    if (ready_.empty() && ended_) {
      if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
      return std::nullopt;
    }
  }
  if (ready_.empty()) return std::nullopt;
  SignalBatch batch = std::move(ready_.front());
  ready_.pop_front();
  return batch;
}

void SignalBatches::find_records(const Sizes& sizes) {
  std::uint64_t bytes = 0;
  RecordPlace place;
  try {
    for (std::size_t found = 0; found < records_at_a_time_ && bytes < sizes.bytes_at_a_time; ++found) {
      if (!cursor_.next_place(place)) {
        ended_ = !grows_;
        break;
      }
      const std::size_t all = SignalFile::stored_bytes(file_.header(), place);
      bytes += gives_beginnings_ ? std::min(all, usual_bytes_) : all;
      heads_.emplace_back().place = place;
    }
  } catch (const Failure&) {
    failure_ = std::current_exception();
    ended_ = true;
  }
  records_at_a_time_ = std::min(2 * records_at_a_time_, most_records_at_a_time);
}

void SignalBatches::read_heads(std::size_t first, const ParallelLoop& parallel) {
  const std::size_t count = heads_.size() - first;
  if (count == 0) return;
  const std::uint64_t first_number = cursor_.records() - count + 1;
  // Nobody reads the file from one end to the other. So the file system is asked for what lies behind these records while they are read.
  const std::uint64_t next = heads_.back().place.offset + heads_.back().place.bytes;
  const std::uint64_t from = std::max(asked_for_, next);
  asked_for_ = std::max(from, next + std::max(2 * (next - heads_[first].place.offset), least_read_ahead));
  const auto asks = static_cast<std::size_t>((asked_for_ - from + read_ahead_piece - 1) / read_ahead_piece);
  parallel(asks, 1, [&](std::size_t begin, std::size_t end) {
    file_.will_need(from + begin * read_ahead_piece, std::min((end - begin) * read_ahead_piece, asked_for_ - from - begin * read_ahead_piece));
  });
  parallel(count, heads_grain, [&](std::size_t begin, std::size_t end) {
    auto workspace = workspaces_.take();
    for (std::size_t i = begin; i < end; ++i) read_head(heads_[first + i], first_number + i, *workspace);
  });
  std::size_t given = 0;
  for (std::size_t i = first; i < heads_.size(); ++i) {
    given += heads_[i].bytes;
    if (!heads_[i].failure) continue;
    failure_ = heads_[i].failure;
    ended_ = true;
    heads_.resize(i);
    return;
  }
  usual_bytes_ = given / count;
}

void SignalBatches::read_head(Head& head, std::uint64_t number, Workspace& workspace) const {
  const RecordFormat& format = file_.header().records;
  const std::size_t all = SignalFile::stored_bytes(file_.header(), head.place);
  const auto fail = [&](const std::string& how) {
    head.failure = std::make_exception_ptr(Failure::input("signal file '" + file_.path() + "' is damaged: " + cursor_.record_text(number) + " " + how,
                                                          "copy the file again and compare checksums"));
  };
  SignalRecord record;
  if (file_.read_fields(head.place, workspace.decoder, workspace.stored, record) != RecordStatus::ok) return fail("cannot be decompressed or parsed");
  if (record.sample_count > most_samples(all, format))
    return fail("says that it has " + std::to_string(record.sample_count) + " samples, in " + std::to_string(all) + " bytes");
  std::uint64_t samples = record.sample_count;
  head.bytes = all;
  if (gives_beginnings_) {
    samples = std::min<std::uint64_t>(samples, wanted_.at_first(record.sampling_rate));
    head.bytes = static_cast<std::size_t>(likely_stored_bytes(record, all, format, samples));
  }
  head.work = static_cast<double>(samples);
  head.name = record.read_id;
}

void SignalBatches::make_batches(const Sizes& sizes, Rest rest, const MemorySource& memory, const ParallelLoop& parallel) {
  std::vector<Part> parts;
  std::size_t first = 0;
  for (const std::size_t last : cut(sizes, rest)) {
    ready_.push_back(make_columns(first, last, memory));
    for (std::size_t row = first, bytes = 0, begin = first; row < last; ++row) {
      bytes += heads_[row].bytes;
      if (bytes < part_bytes && row + 1 < last) continue;
      parts.push_back({ready_.size() - 1, begin - first, row + 1 - first});
      begin = row + 1, bytes = 0;
    }
    first = last;
  }
  heads_.erase(heads_.begin(), heads_.begin() + static_cast<std::ptrdiff_t>(first));
  parallel(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) fill(parts[i]);
  });
}

// The ends of the batches that can be made of the records at hand: whole ones, and one of the rest, where that does not wait for more.
std::vector<std::size_t> SignalBatches::cut(const Sizes& sizes, Rest rest) const {
  std::vector<std::size_t> ends;
  double work = 0;
  std::uint64_t bytes = 0;
  std::size_t rows = 0;
  const auto close = [&](std::size_t end) {
    ends.push_back(end);
    work = 0, bytes = 0, rows = 0;
  };
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    const Head& head = heads_[i];
    if (rows > 0 && head.work >= sizes.work) close(i);
    ++rows;
    work += head.work;
    bytes += head.bytes + head.name.size();
    if (work >= sizes.work || bytes >= sizes.bytes) close(i + 1);
  }
  if (rest == Rest::goes && rows > 0) close(heads_.size());
  return ends;
}

SignalBatch SignalBatches::make_columns(std::size_t first, std::size_t last, const MemorySource& memory) const {
  SignalBatch batch;
  const std::size_t rows = last - first;
  batch.rows = static_cast<std::int64_t>(rows);
  batch.name_ends = offsets_from_sizes(rows, memory, [&](std::size_t row) { return heads_[first + row].name.size(); });
  batch.names = text_for(batch.name_ends, memory);
  batch.record_ends = offsets_from_sizes(rows, memory, [&](std::size_t row) { return heads_[first + row].bytes; });
  batch.records = text_for(batch.record_ends, memory);
  batch.places.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const Head& head = heads_[first + row];
    std::memcpy(static_cast<char*>(batch.names.data()) + batch.name_ends.as<std::int64_t>()[row], head.name.data(), head.name.size());
    batch.places.push_back(head.place);
    batch.work += head.work;
  }
  return batch;
}

void SignalBatches::fill(const Part& part) const {
  const SignalBatch& batch = ready_[part.batch];
  const std::span<const std::int64_t> ends = batch.record_ends.as<std::int64_t>();
  for (std::size_t row = part.first_row; row < part.last_row; ++row)
    file_.read_beginning(batch.places[row], static_cast<char*>(batch.records.data()) + ends[row],
                         static_cast<std::size_t>(ends[row + 1] - ends[row]));
}

}  // namespace sluice::signal_reader
