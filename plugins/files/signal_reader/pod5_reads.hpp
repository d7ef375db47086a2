// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A POD5 file as a table of records, in the order of its table of reads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "signal_reader/arrow_file.hpp"
#include "signal_reader/byte_source.hpp"
#include "signal_reader/record_table.hpp"

namespace sluice::signal_reader {

// What is said of the reads is held in memory, their signal is read where it is asked for. Throws FormatProblem.
class Pod5Reads final : public RecordTable {
 public:
  // The file must outlive the object.
  explicit Pod5Reads(const ByteSource& file);

  const Slow5Header& header() const override { return header_; }
  std::size_t size() const override { return reads_.size(); }
  std::uint64_t bytes() const override { return reads_.empty() ? 0 : end_; }
  RecordPlace place_at(std::uint64_t offset) const override;
  std::uint64_t begin_from(std::uint64_t offset, std::uint64_t& before) const override;
  // Where the read of the record at a place that place_at() gave stands in the table of reads, and its run and samples.
  struct TableRow {
    std::size_t batch = 0, row = 0;
    std::uint32_t run = 0;
    std::uint64_t samples = 0;
    double sampling_rate = 0;
  };
  TableRow row_at(RecordPlace place) const;
  const ArrowFile& reads_table() const { return *reads_table_; }
  void copy(RecordPlace place, char* to, std::size_t bytes) const override;
  bool copy_if_at_hand(RecordPlace place, char* to, std::size_t bytes) const override;
  std::string fields(RecordPlace place) const override { return fields_of(read_at(place)); }

 private:
  struct Run {
    std::string id;
    double digitisation = 0, sample_rate = 0;
  };
  struct Read {
    std::uint64_t begin = 0, end = 0;  // of the record
    std::uint32_t batch = 0, row = 0;  // of the reads table
    std::uint32_t run = 0;
    std::uint64_t samples = 0;
  };
  // The columns of one batch of a table.
  struct ReadColumns {
    std::string_view ids;
    Values<float> offset = {}, scale = {};  // or
    Values<std::int16_t> calibration = {};  // numbers of offsets_ and scales_
    Values<std::int16_t> run;
    Extents signal;
    Values<std::uint64_t> signal_row = {};
  };
  struct SignalColumns {
    std::uint64_t first_row = 0;
    Values<std::uint32_t> samples;
    Extents extents;          // of items of `item_bytes` ...
    std::uint64_t begin = 0;  // ... that begin here in the file
    std::size_t item_bytes = 1;
    std::string_view ids = {};  // of the reads, where nothing else tells that a piece is missing
  };
  struct Piece {
    std::uint64_t begin = 0;  // in the file
    std::uint32_t bytes = 0, samples = 0;
  };

  // Null where there is none.
  std::unique_ptr<ArrowFile> table(int content) const;
  void read_runs(const ArrowColumns& table);
  void read_signal(const ArrowFile& table);
  void read_reads(const ArrowFile& table);
  std::vector<std::uint32_t> runs_of(const FieldPlace& column) const;
  const SignalColumns& columns_of(std::uint64_t signal_row) const;
  Piece piece(std::uint64_t signal_row) const;
  void require_whole(const Piece& piece) const;
  void check_owner(const ReadColumns& columns, std::size_t row) const;
  const Read& read_at(RecordPlace place) const;
  // Calls use(piece) for the pieces of a read that hold samples.
  template <class Use>
  void for_each_piece(const Read& read, Use&& use) const;
  template <class ReadBytes>
  bool copy_by(const ReadBytes& read_bytes, RecordPlace place, char* to, std::size_t bytes) const;
  std::string fields_of(const Read& read) const;
  bool is_compressed() const { return header_.records.signal_compression == SignalCompression::vbz; }

  const ByteSource& file_;
  std::unique_ptr<ArrowFile> reads_table_, signal_table_;  // which the columns point into
  Slow5Header header_;
  std::vector<Run> runs_;
  std::vector<double> offsets_, scales_;  // of the first versions
  std::vector<ReadColumns> read_columns_;
  std::vector<SignalColumns> signal_columns_;
  std::vector<Read> reads_;
  std::uint64_t end_ = 0;
};

}  // namespace sluice::signal_reader
