// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/read_batches.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace sluice::read_bases {
namespace {

// What one thread copies at a time: some 50 microseconds.
constexpr std::uint64_t part_letters = std::uint64_t{1} << 17;
// What a row takes beside its letters: an offset in each of three columns, and its place while they are made.
constexpr std::uint64_t row_bytes = 3 * sizeof(std::int64_t) + sizeof(RecordPlace);

}  // namespace

std::optional<ReadBatch> ReadBatches::next(const Sizes& sizes, const MemorySource& memory, const ParallelFor& parallel_for,
                                           const std::function<bool()>& cancelled) {
  while (ready_.empty() && !ended() && !cancelled()) {
    std::size_t used = 0;
    const std::vector<Rows> rows = cut(sizes, rest_, used);
    if (rows.empty()) {
      if (std::exchange(rest_, Rest::waits) == Rest::goes && grows_) return std::nullopt;
      const std::uint64_t before = stream_.text_read();
      ended_ = !stream_.read(sizes.text_bytes, parallel_for);
      if (ended_ || (grows_ && stream_.text_read() == before)) rest_ = Rest::goes;
      continue;
    }
    std::vector<Part> parts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ready_.push_back(make_columns(rows[i], memory));
      divide(i, rows[i], parts);
    }
    std::vector<char> bad(parts.size());
    parallel_for(parts.size(), [&](std::size_t i) { bad[i] = copy(parts[i], rows[parts[i].batch], ready_[parts[i].batch]) ? 0 : 1; });
    if (const auto first = std::find(bad.begin(), bad.end(), 1); first != bad.end()) {
      const Part& part = parts[static_cast<std::size_t>(first - bad.begin())];
      ready_[part.batch].failure = failure_of(part, rows[part.batch]);
    }
    if (wanted_.written_bases) add_written_bases(rows, parts, memory, parallel_for);  // batches in front of a bad one are given, too
    stream_.drop(used);
  }
  if (ready_.empty()) return std::nullopt;
  ReadBatch batch = std::move(ready_.front());
  ready_.pop_front();
  if (batch.failure) std::rethrow_exception(batch.failure);
  return batch;
}

// The batches that can be made of the records at hand: whole ones, and one of the rest, where that does not wait for more.
std::vector<ReadBatches::Rows> ReadBatches::cut(const Sizes& sizes, Rest rest, std::size_t& used) const {
  std::vector<Rows> all;
  Rows rows;
  double work = 0;
  std::uint64_t bytes = 0;
  std::size_t next = 0;
  const auto close = [&] {
    all.push_back(std::exchange(rows, {}));
    work = 0, bytes = 0, used = rows.first = next;
  };
  for (const RecordPlace& record : stream_.records()) {
    if (record.bases.letters == 0) {
      rows.without_bases.emplace_back(stream_.name(record));
      ++next;
      if (rows.without_bases.size() >= most_without_bases) close();
      continue;
    }
    const auto bases = static_cast<double>(record.bases.letters);
    if (!rows.records.empty() && bases >= sizes.work) close();
    rows.records.push_back(&record);
    ++next;
    work += bases;
    bytes += row_bytes + record.name_letters + record.bases.letters * (wanted_.qualities && stream_.has_qualities() ? 2 : 1);
    if (work >= sizes.work || bytes >= sizes.bytes) close();
  }
  if (rest == Rest::goes && (!rows.records.empty() || !rows.without_bases.empty())) close();
  return all;
}

ReadBatch ReadBatches::make_columns(const Rows& rows, const MemorySource& memory) const {
  ReadBatch batch;
  const std::size_t count = rows.records.size();
  batch.rows = static_cast<std::int64_t>(count);
  batch.begin = stream_.place_of(stream_.records()[rows.first]);
  batch.without_bases = rows.without_bases;
  batch.name_ends = offsets_from_sizes(count, memory, [&](std::size_t row) { return rows.records[row]->name_letters; });
  batch.names = text_for(batch.name_ends, memory);
  batch.base_ends = offsets_from_sizes(count, memory, [&](std::size_t row) { return rows.records[row]->bases.letters; });
  batch.bases = text_for(batch.base_ends, memory);
  batch.bases_in_all = batch.bases.bytes();
  if (wanted_.qualities) {
    batch.quality_ends = stream_.has_qualities() ? batch.base_ends : offsets_from_sizes(count, memory, [](std::size_t) { return 0; });
    batch.qualities = text_for(batch.quality_ends, memory);
  }
  if (wanted_.comments) {
    batch.comment_ends = offsets_from_sizes(count, memory, [&](std::size_t row) { return stream_.comment(*rows.records[row]).size(); });
    batch.comments = text_for(batch.comment_ends, memory);
  }
  return batch;
}

void ReadBatches::divide(std::size_t batch, const Rows& rows, std::vector<Part>& parts) const {
  std::size_t first = 0;
  std::uint64_t letters = 0;
  for (std::size_t row = 0; row < rows.records.size(); ++row) {
    const RecordPlace& record = *rows.records[row];
    if (record.bases.letters >= 2 * part_letters && ReadStream::is_divisible(record.bases) && ReadStream::is_divisible(record.qualities)) {
      if (first < row) parts.push_back({batch, first, row, 0, 0});
      for (std::uint64_t from = 0; from < record.bases.letters; from += part_letters)
        parts.push_back({batch, row, row + 1, from, std::min(from + part_letters, record.bases.letters)});
      first = row + 1, letters = 0;
    } else if (letters += record.bases.letters; letters >= part_letters) {
      parts.push_back({batch, first, row + 1, 0, 0});
      first = row + 1, letters = 0;
    }
  }
  if (first < rows.records.size()) parts.push_back({batch, first, rows.records.size(), 0, 0});
}

bool ReadBatches::copy(const Part& part, const Rows& rows, const ReadBatch& batch) const {
  char* const names = static_cast<char*>(batch.names.data());
  char* const bases = static_cast<char*>(batch.bases.data());
  const bool copies_qualities = wanted_.qualities && stream_.has_qualities();
  char* const qualities = copies_qualities ? static_cast<char*>(batch.qualities.data()) : nullptr;
  bool good = true;
  for (std::size_t row = part.first_row; row < part.last_row; ++row) {
    const RecordPlace& record = *rows.records[row];
    const std::uint64_t to = part.end(record);
    const std::int64_t begin = batch.base_ends.as<std::int64_t>()[row] + static_cast<std::int64_t>(part.from);
    if (part.from == 0) {
      const std::string_view name = stream_.name(record);
      std::memcpy(names + batch.name_ends.as<std::int64_t>()[row], name.data(), name.size());
      if (wanted_.comments) {
        const std::string_view comment = stream_.comment(record);
        std::copy(comment.begin(), comment.end(), static_cast<char*>(batch.comments.data()) + batch.comment_ends.as<std::int64_t>()[row]);
      }
    }
    good &= stream_.copy_bases(record.bases, part.from, to, bases + begin);
    if (stream_.has_qualities()) good &= stream_.copy_qualities(record.qualities, part.from, to, copies_qualities ? qualities + begin : nullptr);
  }
  return good;
}

// Of reads that are all in upper case, which are nearly all, there is nothing to write.
void ReadBatches::add_written_bases(const std::vector<Rows>& rows, const std::vector<Part>& parts, const MemorySource& memory,
                                    const ParallelFor& parallel_for) {
  std::vector<std::vector<char>> lower;
  for (const Rows& batch : rows) lower.emplace_back(batch.records.size());
  const auto each_row = [&](const auto& body) {
    parallel_for(parts.size(), [&](std::size_t i) {
      const Part& part = parts[i];
      for (std::size_t row = part.first_row; row < part.last_row; ++row)
        body(part, row, rows[part.batch].records[row]->bases, part.end(*rows[part.batch].records[row]));
    });
  };
  // Parts of one read may find some at the same time.
  each_row([&](const Part& part, std::size_t row, const SequenceLines& bases, std::uint64_t to) {
    if (stream_.has_lower_case(bases, part.from, to)) std::atomic_ref(lower[part.batch][row]).store(1, std::memory_order_relaxed);
  });
  const std::size_t before = ready_.size() - rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ReadBatch& batch = ready_[before + i];
    batch.written_ends = offsets_from_sizes(rows[i].records.size(), memory,
                                            [&](std::size_t row) { return lower[i][row] != 0 ? rows[i].records[row]->bases.letters : 0; });
    batch.written = text_for(batch.written_ends, memory);
  }
  each_row([&](const Part& part, std::size_t row, const SequenceLines& bases, std::uint64_t to) {
    const ReadBatch& batch = ready_[before + part.batch];
    if (lower[part.batch][row] != 0)
      stream_.copy_letters(
          bases, part.from, to,
          static_cast<char*>(batch.written.data()) + batch.written_ends.as<std::int64_t>()[row] + static_cast<std::int64_t>(part.from));
  });
}

// What is wrong with the first row of a part that is not as it should be.
std::exception_ptr ReadBatches::failure_of(const Part& part, const Rows& rows) const {
  std::string letters;
  for (std::size_t row = part.first_row; row < part.last_row; ++row) {
    const RecordPlace& record = *rows.records[row];
    letters.resize(record.bases.letters);
    if (stream_.copy_bases(record.bases, 0, letters.size(), letters.data()) &&
        (!stream_.has_qualities() || stream_.copy_qualities(record.qualities, 0, letters.size(), nullptr)))
      continue;
    try {
      stream_.fail(record);
    } catch (...) {
      return std::current_exception();
    }
  }
  return {};
}

}  // namespace sluice::read_bases
