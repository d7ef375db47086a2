// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// POD5 files as lib-pod5 0.3.49 lays them out (version 7 of its tables): three Arrow files, of pieces of signal, of runs and of reads, one after the
// other, and a footer that says where they are. Only signal is written while reads come; rows of reads stay in memory, some 150 bytes each.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "signal_writer/blow5_bytes.hpp"

namespace sluice::signal_writer {

using Uuid = std::array<char, 16>;
// Of 36 characters: 8-4-4-4-12 hexadecimal digits. Nothing: it is none.
std::optional<Uuid> parse_uuid(std::string_view text);
// One that depends on the text alone.
Uuid uuid_of(std::string_view text);

// A row of the signal table has so many samples at most.
inline constexpr std::size_t pod5_piece_samples = 102'400;

// VBZ: differences of samples, zigzag, StreamVByte with one or two bytes (a bit each), Zstandard at level 1. One per thread.
class VbzEncoder {
 public:
  VbzEncoder();
  VbzEncoder(const VbzEncoder&) = delete;
  ~VbzEncoder();
  // Appends the signal's pieces, each behind u32 samples and u32 bytes.
  void encode(std::span<const std::int16_t> samples, std::string& bytes);

 private:
  struct Compressor;
  Compressor* compressor_;
  std::string plain_;
};

// POD5 has whole digitisations of 1 to 65,536 steps, whole sampling rates to 65,535 Hz, and f32 for pA a step and offset. False: the read's are
// others, and would be read back as such, or they are no calibration (sluice/calibration.hpp).
bool is_held_by_pod5(const SignalRecord& read);

// What the file says of the run.
struct Pod5Run {
  std::string run_id, experiment_type, sequencing_kit, flow_cell_id, flow_cell_product;
  std::int64_t acquisition_start = 0;  // ms since 1970
};

class Pod5File {
 public:
  explicit Pod5File(Pod5Run run);

  // What the file begins with.
  std::string begin();
  // Adds a read that is_held_by_pod5() and whose signal is `pieces`, as VbzEncoder makes them, and returns what is to be written, often nothing.
  std::string add(const SignalRecord& read, const Uuid& id, std::string_view pieces);
  // The rest of the file.
  std::string end();

 private:
  // Where a message lies in its Arrow file.
  struct Block {
    std::int64_t offset;
    std::int32_t metadata_bytes;
    std::int64_t body_bytes;
  };
  struct Table {
    std::int64_t begin = 0;  // in the file
    std::vector<Block> batches, dictionaries;
  };
  enum class Kind : std::uint8_t { reads = 0, signal = 1, runs = 4 };  // as the footer calls them
  struct Message;
  // A run has one converter and one rate: reads with others get a run of their own.
  struct Converter {
    double digitisation, sampling_rate;
    bool operator==(const Converter&) const = default;
  };
  struct Row {
    Uuid id;
    std::uint64_t first_piece, pieces, samples, start_sample;
    std::uint32_t read_number, channel;
    float median_before, offset, scale;
    std::uint8_t mux;
    std::int16_t end_reason, run;
  };
  std::string file_identifier() const;
  std::string schema(Kind kind) const;
  std::string place(const Message& message, std::vector<Block>& blocks) const;
  std::string take_signal_batch();
  std::string table_end(Kind kind, const Table& table) const;
  std::string begin_table(Kind kind, Table& table);
  std::string runs_table();
  std::string reads_table();
  std::string with_marker(std::string bytes);
  std::string footer(const std::vector<std::pair<Kind, std::pair<std::int64_t, std::int64_t>>>& tables) const;
  std::string acquisition_id(std::size_t run) const;

  Pod5Run run_;
  std::vector<Converter> converters_;
  std::vector<Row> rows_;
  std::uint64_t pieces_ = 0;  // in all
  std::int64_t written_ = 0;  // bytes given out
  Table signal_;
  // The batch of signal that is being filled.
  std::string ids_, data_;
  std::vector<std::int64_t> ends_;
  std::vector<std::uint32_t> samples_;
};

}  // namespace sluice::signal_writer
