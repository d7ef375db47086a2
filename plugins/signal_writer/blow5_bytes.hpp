// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The bytes of a BLOW5 file (SLOW5 specification 1.0.0; Gamaarachchi et al. 2022), piece by piece: header, records, end marker, index.
// slow5lib encodes; nothing here opens a file, so that records can be encoded on many threads and written in order.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::signal_writer {

enum class RecordCompression : std::uint8_t { none, zlib, zstd };
enum class SignalCompression : std::uint8_t { none, svb_zd };

struct SignalRecord {
  std::string_view read_id;
  double digitisation = 0, offset = 0, range = 0, sampling_rate = 0;
  std::span<const std::int16_t> raw_signal;
};

// Encodes records. One per thread: it owns a compression stream.
class Blow5Encoder {
 public:
  // Throws Failure::usage if slow5lib was built without this compression.
  Blow5Encoder(RecordCompression record, SignalCompression signal);
  // Replaces `bytes` by the record as stored, its 8-byte size first. False: slow5lib refused it (an identifier of 65,536 or more
  // characters, no memory).
  bool encode(const SignalRecord& record, std::string& bytes);

 private:
  struct Release {
    void operator()(void* press) const;
  };
  std::unique_ptr<void, Release> press_;
};

// Header of a file with one read group and these attributes.
std::string blow5_header(std::span<const std::pair<std::string, std::string>> attributes, RecordCompression record, SignalCompression signal);
std::string_view blow5_end_marker();

// The .idx file that slow5lib would make: built while the records are written, so that nothing is read back.
class Blow5Index {
 public:
  explicit Blow5Index(std::uint64_t header_bytes) : next_offset_(header_bytes) {}
  void add(std::string_view read_id, std::uint64_t record_bytes);
  // The whole file; the index is spent.
  std::string take();

 private:
  std::string entries_;
  std::uint64_t next_offset_;
};

}  // namespace sluice::signal_writer
