// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The bytes of a BLOW5 file (SLOW5 specification 0.2.0; Gamaarachchi et al. 2022), piece by piece: header, records, end marker, index.
// Nothing here opens a file, so that records are encoded on many threads and written in order. slow5lib is not used: it writes to its
// own file handle, and the one that Debian 12 ships does not link (undefined streamvbyte symbols).

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
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
  // Auxiliary fields, with the format's null values.
  std::int32_t channel = 0;  // 0: unknown
  double median_before = std::numeric_limits<double>::quiet_NaN();
  std::int32_t read_number = std::numeric_limits<std::int32_t>::max();
  std::uint8_t mux = std::numeric_limits<std::uint8_t>::max();
  std::uint64_t start_sample = 0;
  std::string_view end_reason;  // one of slow5_end_reasons; another one is the first, "unknown"
};

// Why a read ended, in the order of the enumeration in the header, as MinKNOW has it since 2021.
inline constexpr std::array<std::string_view, 7> slow5_end_reasons = {
    "unknown", "partial", "mux_change", "unblock_mux_change", "data_service_unblock_mux_change", "signal_positive", "signal_negative"};

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
