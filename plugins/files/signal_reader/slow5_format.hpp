// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// SLOW5 (text) and BLOW5 (binary) signal files: header and records as plain functions over memory.
// Source: the SLOW5 specification 0.2.0 / 1.0.0 (Gamaarachchi et al. 2022). See README.md for the layout and for why slow5lib does not do it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "signal_reader/svb_zd.hpp"

namespace sluice::signal_reader {

enum class FileFormat : std::uint8_t { slow5, blow5, pod5, fast5 };
enum class RecordCompression : std::uint8_t { none = 0, zlib = 1, zstd = 2 };
enum class SignalCompression : std::uint8_t {
  none = 0,
  svb_zd = 1,
  ex_zd = 2,
  vbz = 3,
  hdf5 = 4
};  // vbz: POD5 only; hdf5: FAST5, as each signal says

// What is needed to decode a record apart from its own bytes.
struct RecordFormat {
  FileFormat format = FileFormat::blow5;
  RecordCompression record_compression = RecordCompression::none;
  SignalCompression signal_compression = SignalCompression::none;
};

// Names as users and the attributes of the `signal_file` resource spell them: "blow5", "zlib", "svb-zd" ...
const char* name(FileFormat format);
const char* name(RecordCompression compression);
const char* name(SignalCompression compression);
// The inverse. Returns false when a text is none of the names.
bool parse_names(std::string_view format, std::string_view record_compression, std::string_view signal_compression, RecordFormat& out);

struct Slow5Header {
  RecordFormat records;
  std::uint8_t version[3] = {0, 0, 0};
  std::uint32_t read_groups = 0;
  std::uint64_t first_record = 0;  // file offset, bytes
  // Name and one value a read group, in file order. A value that the file leaves out (".") is empty.
  std::vector<std::pair<std::string, std::vector<std::string>>> attributes;
  // Type and name of each field behind the signal, as the header spells them: "char*", "channel_number".
  std::vector<std::pair<std::string, std::string>> auxiliary;

  // "" when the file does not say.
  std::string_view attribute(std::string_view name, std::uint32_t read_group = 0) const;
};

enum class HeaderStatus : std::uint8_t { ok, incomplete, not_slow5, unsupported, malformed };

// Parses the header at the start of a file. `incomplete`: more bytes are needed. For all other failures `problem` says what is wrong.
HeaderStatus parse_header(std::span<const char> start_of_file, Slow5Header& header, std::string& problem);

// The fixed fields of one record. `read_id` points into the decoder's or the caller's memory, until the next call.
struct SignalRecord {
  std::string_view read_id;
  std::uint32_t read_group = 0;
  double digitisation = 0, offset = 0, range = 0, sampling_rate = 0;  // levels, levels, pA, Hz; NaN when the file says "."
  std::uint64_t sample_count = 0;
};

enum class RecordStatus : std::uint8_t { ok, incomplete, corrupt };

// The beginning of a record as it lies in the file, or all of it.
struct StoredRecord {
  std::span<const char> bytes;
  std::uint64_t whole_bytes = 0;  // of the record
  bool is_whole() const { return bytes.size() >= whole_bytes; }
};

// How many of a record's samples are wanted, given the first ones of them (at first none). When it is no more than those, it is asked no further.
using SamplesWanted = std::function<std::size_t(const SignalRecord& record, std::span<const std::int16_t> first)>;

class PlainRecord;
class VbzDecoder;
class Fast5Decoder;

// Decodes records; holds the working memory for it, so one per thread. `stored` is a record as it lies in the file: BLOW5 without its
// leading 8-byte size, SLOW5 without its newline.
class RecordDecoder {
 public:
  RecordDecoder();
  RecordDecoder(const RecordDecoder&) = delete;
  ~RecordDecoder();

  // Appends the record's samples to `samples` (on failure: leaves it as it was).
  RecordStatus decode(std::span<const char> stored, const RecordFormat& format, SignalRecord& record, std::vector<std::int16_t>& samples);

  // The same for the beginning of the samples: as many as `wanted` asks for, or all. What is behind them is not read, and damage there not noticed,
  // unless decompressing all of the record is faster. sample_count is that of the whole record. `incomplete` asks for the whole record.
  RecordStatus decode_beginning(StoredRecord stored, const RecordFormat& format, const SamplesWanted& wanted, SignalRecord& record,
                                std::vector<std::int16_t>& samples);

  // The fixed fields only, decompressing no more than needed. `stored` may be a prefix of the record: `incomplete` then asks for more of it.
  RecordStatus decode_fields(std::span<const char> stored, const RecordFormat& format, SignalRecord& record);

  // The fixed fields and what stands behind the signal (of SLOW5 with its tab), decompressing all of the record but its signal. `auxiliary` points
  // into the decoder's or the caller's memory, until the next call.
  RecordStatus decode_auxiliary(std::span<const char> stored, const RecordFormat& format, SignalRecord& record, std::span<const char>& auxiliary);

  // Bytes of working memory held.
  std::size_t capacity() const;

 private:
  RecordStatus decode_in_pieces(std::span<const char> pieces, bool is_whole, const RecordFormat& format, const SamplesWanted& wanted,
                                const SignalRecord& record, std::vector<std::int16_t>& samples);
  std::unique_ptr<PlainRecord> plain_;
  std::unique_ptr<VbzDecoder> vbz_;
  std::unique_ptr<Fast5Decoder> fast5_;
};

// After a BLOW5 record's name: read group, four doubles, number of samples or bytes of signal.
inline constexpr std::size_t record_fields_after_name = 4 + 4 * 8 + 8;

// The fixed fields of an uncompressed BLOW5 record; `signal` is set to where the samples start. sample_count is as stored: of a compressed signal its
// bytes. `incomplete`: there are fewer bytes.
RecordStatus parse_fields(std::span<const char> bytes, SignalRecord& record, std::size_t& signal);

// More samples than a record of so many stored bytes can hold: what a damaged one says must not be believed before it is decompressed.
std::uint64_t most_samples(std::uint64_t stored_bytes, const RecordFormat& format);

// How many of a record's stored bytes are likely to hold its first `samples`; fields as decode_fields() gives them. A guess: for reading files.
std::uint64_t likely_stored_bytes(const SignalRecord& record, std::uint64_t whole_bytes, const RecordFormat& format, std::uint64_t samples);

}  // namespace sluice::signal_reader
