// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A FAST5 file as a table of records, in the order of the names of its groups of reads.

#include <cstddef>
#include <cstdint>
#include <sluice/fast5_table.hpp>
#include <string>
#include <vector>

#include "signal_reader/byte_source.hpp"
#include "signal_reader/record_table.hpp"

namespace sluice::signal_reader {

class Fast5Reads final : public RecordTable {
 public:
  // The file must outlive the object. Throws FormatProblem where the table can't be one of this file.
  Fast5Reads(Fast5Table table, const ByteSource& file);

  const Slow5Header& header() const override { return header_; }
  std::size_t size() const override { return table_.reads.size(); }
  std::uint64_t bytes() const override { return begins_.back(); }
  RecordPlace place_at(std::uint64_t offset) const override;
  std::uint64_t begin_from(std::uint64_t offset, std::uint64_t& before) const override;
  void copy(RecordPlace place, char* to, std::size_t bytes) const override;
  std::string fields(RecordPlace place) const override { return fields_of(read_at(place)); }

  const Fast5Table::Read& read_at(RecordPlace place) const;
  const Fast5Table& table() const { return table_; }
  // Bytes of memory that the object takes, about.
  std::uint64_t memory() const { return memory_; }

 private:
  void check() const;
  void make_header();
  std::string fields_of(const Fast5Table::Read& read) const;
  std::span<const Fast5Table::Chunk> chunks_of(const Fast5Table::Read& read) const {
    return std::span(table_.chunks).subspan(static_cast<std::size_t>(read.first_chunk), read.chunks);
  }

  const ByteSource& file_;
  Fast5Table table_;
  Slow5Header header_;
  std::vector<std::uint64_t> begins_;  // of the records, and the end of the last one
  std::uint64_t memory_ = 0;
};

}  // namespace sluice::signal_reader
