// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/parallel_scan.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <sluice/failure.hpp>
#include <string_view>
#include <vector>

namespace sluice::sequence_store {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 18;  // stays in the second-level cache while it is scanned

// Bytes from `offset` on; none at the end of the file, and where it can't be read: the scan from the beginning says why.
std::string_view read_piece(int file, std::int64_t offset, std::vector<char>& buffer) {
  buffer.resize(piece_bytes);
  ssize_t got = 0;
  do got = ::pread(file, buffer.data(), buffer.size(), offset);
  while (got < 0 && errno == EINTR);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

// Goes through a file's lines.
class Lines {
 public:
  explicit Lines(int file) : file_(file) {}
  // The byte there; none at the end.
  std::optional<char> at(std::int64_t offset) {
    if (!hold(offset)) return {};
    return piece_[static_cast<std::size_t>(offset - begin_)];
  }
  // Where the line after the one with this byte begins; none: that is the last one.
  std::optional<std::int64_t> next(std::int64_t offset) {
    for (; hold(offset); offset = begin_ + static_cast<std::int64_t>(piece_.size()))
      if (const std::size_t end = piece_.find('\n', static_cast<std::size_t>(offset - begin_)); end != std::string_view::npos)
        return begin_ + static_cast<std::int64_t>(end) + 1;
    return {};
  }

 private:
  bool hold(std::int64_t offset) {
    if (offset >= begin_ && offset < begin_ + static_cast<std::int64_t>(piece_.size())) return true;
    begin_ = offset;
    piece_ = read_piece(file_, offset, buffer_);
    return !piece_.empty();
  }
  int file_;
  std::vector<char> buffer_;
  std::string_view piece_;
  std::int64_t begin_ = 0;
};

// A line of qualities may begin with '@', but then the line after the next has bases.
bool seems_record(Lines& lines, char mark, std::int64_t begin) {
  if (lines.at(begin) != mark) return false;
  if (mark == '>') return true;
  const auto bases = lines.next(begin);
  const auto plus = bases ? lines.next(*bases) : bases;
  const auto qualities = plus ? lines.next(*plus) : plus;
  return qualities && lines.at(*plus) == '+' && lines.next(*qualities).value_or(*qualities + *plus - *bases) - *qualities == *plus - *bases;
}

// The first record that begins in [begin, end), as far as one can tell without what is before it.
std::optional<std::int64_t> guess_record(int file, char mark, std::int64_t begin, std::int64_t end) {
  Lines lines(file);
  for (auto line = lines.next(begin - 1); line && *line < end; line = lines.next(*line))
    if (seems_record(lines, mark, *line)) return line;
  return {};
}

struct PartOfFile {
  std::int64_t wanted_end = 0;
  std::optional<std::int64_t> begin;  // of the first record, none: it seems that none begins before wanted_end
  std::optional<std::int64_t> end;    // of the last record that begins before wanted_end; none: it was not found
  SequenceTable table;
};

void scan_part(int file, SequenceFormat format, const std::function<bool()>& cancelled, PartOfFile& part) {
  std::vector<char> buffer;
  SequenceScan scan({}, Places::in_text, nullptr, part.table);
  scan.begin_within(format, static_cast<std::uint64_t>(*part.begin), static_cast<std::uint64_t>(part.wanted_end));
  try {
    for (std::int64_t at = *part.begin; !cancelled();) {
      const std::string_view text = read_piece(file, at, buffer);
      const bool goes_on = text.empty() ? scan.finish() : scan.feed(text);
      at += static_cast<std::int64_t>(text.size());
      if (scan.reached_end())
        part.end = static_cast<std::int64_t>(scan.position());
      else if (goes_on && text.empty())
        part.end = at;
      if (!goes_on || text.empty()) return;
    }
  } catch (const Failure&) {
    // The scan from the beginning says what and where; its line and record are not known here.
  }
}

void append(const SequenceTable& part, SequenceTable& table) {
  const auto names = static_cast<std::int64_t>(table.names.size());
  table.names += part.names;
  for (std::size_t i = 1; i < part.name_offsets.size(); ++i) table.name_offsets.push_back(names + part.name_offsets[i]);
  for (const auto column : {&SequenceTable::length, &SequenceTable::bases_offset, &SequenceTable::qualities_offset, &SequenceTable::line_bases,
                            &SequenceTable::line_bytes})
    (table.*column).insert((table.*column).end(), (part.*column).begin(), (part.*column).end());
  table.total_bases += part.total_bases;
}

}  // namespace

bool scan_in_parts(int file, std::int64_t file_bytes, std::int64_t part_bytes, const Parallel& parallel, const std::function<bool()>& cancelled,
                   SequenceTable& table) {
  const auto count = static_cast<std::size_t>(file_bytes / part_bytes);
  const auto mark = Lines(file).at(0);
  if (count < 2 || (mark != '>' && mark != '@')) return false;
  std::vector<PartOfFile> parts(count);
  parallel(count, [&](std::size_t i) {
    PartOfFile& part = parts[i];
    const auto begin = static_cast<std::int64_t>(i) * part_bytes;
    part.wanted_end = i + 1 == count ? file_bytes : begin + part_bytes;
    part.begin = i == 0 ? 0 : guess_record(file, *mark, begin, part.wanted_end);
    if (part.begin) scan_part(file, *mark == '>' ? SequenceFormat::fasta : SequenceFormat::fastq, cancelled, part);
  });
  table = {};
  std::int64_t end = 0;
  for (const PartOfFile& part : parts) {
    // Within a record that is longer than a part none begins.
    if (!part.begin && end >= part.wanted_end) continue;
    if (part.begin != end || !part.end) return false;
    append(part.table, table);
    end = *part.end;
  }
  return end == file_bytes;
}

}  // namespace sluice::sequence_store
