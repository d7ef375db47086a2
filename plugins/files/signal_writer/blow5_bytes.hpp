// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The bytes of a BLOW5 file (SLOW5 specification 0.2.0; Gamaarachchi et al. 2022), piece by piece: header, records, end marker, index.
// Nothing here opens a file, so that records are encoded on many threads and written in order. slow5lib is not used: it writes to its
// own file handle, and the one that Debian 12 ships does not link (undefined streamvbyte symbols).

#include <cstdint>
#include <memory>
#include <sluice/saved_state.hpp>
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

// Encodes records. One per thread: it owns a compressor and working memory.
class Blow5Encoder {
 public:
  // zlib at level 4 of libdeflate, zstd at level 1 (as slow5lib). Throws std::bad_alloc.
  Blow5Encoder(RecordCompression record, SignalCompression signal);
  Blow5Encoder(const Blow5Encoder&) = delete;
  ~Blow5Encoder();
  // Appends the record as stored, its 8-byte size first. False, and nothing appended: the identifier is empty or has 65,536 or more
  // characters, or there are 2^32 or more samples.
  bool encode(const SignalRecord& record, std::string& bytes);

 private:
  struct Compressors;
  std::unique_ptr<Compressors> compressors_;
  RecordCompression record_;
  SignalCompression signal_;
  std::string plain_;
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
  void save(StateWriter& to) const;
  void restore(StateReader& from);

 private:
  std::string entries_;
  std::uint64_t next_offset_;
};

}  // namespace sluice::signal_writer
