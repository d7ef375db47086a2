// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/fast5_reads.hpp"

#include <algorithm>
#include <cstring>

#include "signal_reader/arrow_file.hpp"
#include "signal_reader/fast5_signal.hpp"

namespace sluice::signal_reader {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw FormatProblem(what);
}

}  // namespace

Fast5Reads::Fast5Reads(Fast5Table table, const ByteSource& file) : file_(file), table_(std::move(table)) {
  header_.version[0] = 1;
  header_.records = fast5_format;
  check();
  make_header();
  begins_.reserve(size() + 1);
  begins_.push_back(0);
  for (const Fast5Table::Read& read : table_.reads) {
    std::uint64_t record = fields_of(read).size() + sizeof(std::uint32_t) + std::uint64_t{read.chunks} * sizeof(Fast5Piece);
    for (const Fast5Table::Chunk& chunk : chunks_of(read)) record += chunk.bytes;
    begins_.push_back(begins_.back() + record);
  }
  // A group with its attributes takes more room than the fields of a record, and every chunk belongs to one read.
  require(bytes() <= file.size(), "its reads claim more signal than it has");
  memory_ = sizeof *this + table_.names.size() + table_.stored.size() + table_.chunks.size() * sizeof(Fast5Table::Chunk) +
            table_.reads.size() * (sizeof(Fast5Table::Read) + sizeof(std::uint64_t));
  for (const auto& [name, values] : header_.attributes) memory_ += 2 * sizeof(std::string) + values.size() * 2 * sizeof(std::string);
}

// What another process says is believed no more than a file is.
void Fast5Reads::check() const {
  for (const Fast5Table::Read& read : table_.reads) {
    require(read.name_bytes > 0 && read.name_bytes <= 0xFFFF && read.name_begin <= table_.names.size() &&
                read.name_bytes <= table_.names.size() - read.name_begin,
            "a read has no name");
    require(read.first_chunk <= table_.chunks.size() && read.chunks <= table_.chunks.size() - read.first_chunk && read.run < table_.runs.size() &&
                (read.end_reason < 0 || static_cast<std::size_t>(read.end_reason) < table_.end_reasons.size()) &&
                (read.problem < 0 || static_cast<std::size_t>(read.problem) < table_.problems.size()),
            "what it says of a read is damaged");
    std::uint64_t samples = 0;
    for (const Fast5Table::Chunk& chunk : chunks_of(read)) {
      const std::uint64_t all = chunk.is_stored != 0 ? table_.stored.size() : file_.size();
      require(chunk.begin <= all && chunk.bytes <= all - chunk.begin, "the signal of a read lies outside of it");
      samples += chunk.samples;
    }
    require(samples == read.samples, "a read has another number of samples than it says");
  }
}

// Names in the order in which they are first seen, as the header of a BLOW5 file has them.
void Fast5Reads::make_header() {
  header_.read_groups = std::max(static_cast<std::uint32_t>(table_.runs.size()), 1U);
  for (std::size_t run = 0; run < table_.runs.size(); ++run)
    for (const auto& [name, value] : table_.runs[run]) {
      auto found = std::find_if(header_.attributes.begin(), header_.attributes.end(),
                                [&name = name](const auto& attribute) { return attribute.first == name; });
      if (found == header_.attributes.end()) found = header_.attributes.insert(found, {name, std::vector<std::string>(header_.read_groups)});
      found->second[run] = value;
    }
  table_.runs.clear();
  table_.runs.resize(header_.read_groups);
}

// A read without signal that can be read says that it has a sample, which is not there.
std::string Fast5Reads::fields_of(const Fast5Table::Read& read) const {
  return fields_text({.read_id = table_.read_id(read),
                      .read_group = read.run,
                      .digitisation = read.digitisation,
                      .offset = read.offset,
                      .range = read.range,
                      .sampling_rate = read.sampling_rate,
                      .sample_count = read.problem < 0 ? read.samples : 1});
}

const Fast5Table::Read& Fast5Reads::read_at(RecordPlace place) const {
  return table_.reads[static_cast<std::size_t>(std::lower_bound(begins_.begin(), begins_.end(), place.offset) - begins_.begin())];
}

RecordPlace Fast5Reads::place_at(std::uint64_t offset) const {
  const auto found = std::lower_bound(begins_.begin(), begins_.end(), offset);
  if (found == begins_.end() || found + 1 == begins_.end() || *found != offset) return {offset, 0};
  return {offset, *(found + 1) - offset};
}

std::uint64_t Fast5Reads::begin_from(std::uint64_t offset, std::uint64_t& before) const {
  const auto found = std::lower_bound(begins_.begin(), begins_.end() - 1, offset);
  before = static_cast<std::uint64_t>(found - begins_.begin());
  return *found;
}

void Fast5Reads::copy(RecordPlace place, char* to, std::size_t bytes) const {
  const Fast5Table::Read& read = read_at(place);
  std::string head = fields_of(read);
  head.append(reinterpret_cast<const char*>(&read.chunks), sizeof read.chunks);
  for (const Fast5Table::Chunk& chunk : chunks_of(read)) {
    const Fast5Piece piece{chunk.samples, chunk.bytes, chunk.values, chunk.steps};
    head.append(reinterpret_cast<const char*>(&piece), sizeof piece);
  }
  const std::size_t head_bytes = std::min(head.size(), bytes);
  std::memcpy(to, head.data(), head_bytes);
  to += head_bytes;
  bytes -= head_bytes;
  for (const Fast5Table::Chunk& chunk : chunks_of(read)) {
    const std::size_t part = std::min<std::size_t>(chunk.bytes, bytes);
    if (part == 0) continue;
    if (chunk.is_stored != 0)
      std::memcpy(to, table_.stored.data() + chunk.begin, part);
    else
      file_.read(chunk.begin, to, part);
    to += part;
    bytes -= part;
  }
}

}  // namespace sluice::signal_reader
