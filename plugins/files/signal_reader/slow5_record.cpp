// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {
namespace {

// After the read's name: read group, four doubles, number of samples or bytes of signal.
constexpr std::size_t fields_after_name = 4 + 4 * 8 + 8;
// Deflate cannot expand by more than 1032:1, zstd's frame header says how much.
constexpr std::size_t max_deflate_ratio = 1032;
// A block of at least 3 bytes holds at most 128 KiB.
constexpr std::size_t max_zstd_block_text = 128 * 1024, min_zstd_block = 3;

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The fixed fields of an uncompressed BLOW5 record; `signal` is set to where the samples start.
RecordStatus parse_binary_fields(std::span<const char> bytes, SignalRecord& record, std::size_t& signal) {
  if (bytes.size() < 2) return RecordStatus::incomplete;
  const std::size_t name_length = load<std::uint16_t>(bytes.data());
  if (name_length == 0) return RecordStatus::corrupt;
  signal = 2 + name_length + fields_after_name;
  if (bytes.size() < signal) return RecordStatus::incomplete;
  const char* at = bytes.data() + 2;
  record.read_id = {at, name_length};
  at += name_length;
  record.read_group = load<std::uint32_t>(at);
  record.digitisation = load<double>(at + 4);
  record.offset = load<double>(at + 12);
  record.range = load<double>(at + 20);
  record.sampling_rate = load<double>(at + 28);
  record.sample_count = load<std::uint64_t>(at + 36);
  return RecordStatus::ok;
}

RecordStatus parse_samples(std::span<const char> bytes, SignalCompression compression, SignalRecord& record, std::vector<std::int16_t>& samples) {
  if (compression == SignalCompression::svb_zd) {
    // The count field holds the compressed signal's bytes here.
    if (record.sample_count == 0) return RecordStatus::ok;
    if (record.sample_count > bytes.size()) return RecordStatus::corrupt;
    const std::size_t before = samples.size();
    if (!decode_svb_zd(bytes.first(static_cast<std::size_t>(record.sample_count)), samples)) return RecordStatus::corrupt;
    record.sample_count = samples.size() - before;
    return RecordStatus::ok;
  }
  if (record.sample_count > bytes.size() / sizeof(std::int16_t)) return RecordStatus::corrupt;
  const auto count = static_cast<std::size_t>(record.sample_count);
  const std::size_t before = samples.size();
  samples.resize(before + count);
  if (count != 0) std::memcpy(samples.data() + before, bytes.data(), count * sizeof(std::int16_t));
  return RecordStatus::ok;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_double(std::string_view text, double& value) {
  if (text == ".") return value = std::numeric_limits<double>::quiet_NaN(), true;
  return parse_number(text, value);
}

// The seven columns before the samples of a text record; `signal` is set to where the samples start.
RecordStatus parse_text_fields(std::span<const char> line, SignalRecord& record, std::size_t& signal) {
  std::string_view rest(line.data(), line.size());
  std::array<std::string_view, 7> fields;
  for (std::string_view& field : fields) {
    const std::size_t end = rest.find('\t');
    if (end == std::string_view::npos) return RecordStatus::incomplete;
    field = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  signal = line.size() - rest.size();
  record.read_id = fields[0];
  const bool fine = !fields[0].empty() && parse_number(fields[1], record.read_group) && parse_double(fields[2], record.digitisation) &&
                    parse_double(fields[3], record.offset) && parse_double(fields[4], record.range) &&
                    parse_double(fields[5], record.sampling_rate) && parse_number(fields[6], record.sample_count);
  return fine ? RecordStatus::ok : RecordStatus::corrupt;
}

RecordStatus parse_text_samples(std::string_view rest, const SignalRecord& record, std::vector<std::int16_t>& samples) {
  rest = rest.substr(0, std::min(rest.find('\t'), rest.size()));
  if (record.sample_count == 0) return rest.empty() || rest == "." ? RecordStatus::ok : RecordStatus::corrupt;
  if (record.sample_count > rest.size()) return RecordStatus::corrupt;
  const std::size_t before = samples.size();
  samples.reserve(before + static_cast<std::size_t>(record.sample_count));
  const char* at = rest.data();
  const char* const end = at + rest.size();
  while (true) {
    std::int16_t value = 0;
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec != std::errc()) break;
    samples.push_back(value);
    at = parsed.ptr;
    if (at == end || *at != ',') break;
    ++at;
  }
  if (at == end && end[-1] != ',' && samples.size() - before == record.sample_count) return RecordStatus::ok;
  samples.resize(before);
  return RecordStatus::corrupt;
}

}  // namespace

std::uint64_t most_samples(std::uint64_t stored_bytes, const RecordFormat& format) {
  if (format.format == FileFormat::slow5) return stored_bytes / 2 + 1;  // a digit and a comma each
  std::uint64_t plain = stored_bytes;
  if (format.record_compression == RecordCompression::zlib) plain *= max_deflate_ratio;
  if (format.record_compression == RecordCompression::zstd) plain = (stored_bytes / min_zstd_block + 1) * max_zstd_block_text;
  return format.signal_compression == SignalCompression::svb_zd ? plain : plain / sizeof(std::int16_t);
}

bool decode_svb_zd(std::span<const char> stored, std::vector<std::int16_t>& samples) {
  if (stored.size() < 4) return false;
  const std::size_t count = load<std::uint32_t>(stored.data());
  const std::size_t control_bytes = (count + 3) / 4;
  if (stored.size() - 4 < control_bytes + count) return false;
  const auto* control = reinterpret_cast<const std::uint8_t*>(stored.data()) + 4;
  const std::uint8_t* data = control + control_bytes;
  const std::uint8_t* const end = reinterpret_cast<const std::uint8_t*>(stored.data()) + stored.size();
  const std::size_t before = samples.size();
  samples.resize(before + count);
  std::int16_t* out = samples.data() + before;
  std::uint32_t level = 0;
  const auto add = [&level](std::uint32_t zigzag) {
    level += (zigzag >> 1) ^ (0U - (zigzag & 1U));
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(level));
  };
  static constexpr std::uint32_t mask[4] = {0xFFU, 0xFFFFU, 0xFFFFFFU, 0xFFFFFFFFU};
  std::size_t i = 0;
  // Groups of four while 16 bytes are left: any group can be read with whole words. Nearly all deltas of a nanopore signal fit one byte, hence
  // the first case (80 % of the groups of R9 data).
  for (; i + 4 <= count && end - data >= 16; i += 4, out += 4) {
    const std::uint32_t lengths = *control++;
    if (lengths == 0) {
      const auto four = load<std::uint32_t>(reinterpret_cast<const char*>(data));
      out[0] = add(four & 0xFFU);
      out[1] = add((four >> 8) & 0xFFU);
      out[2] = add((four >> 16) & 0xFFU);
      out[3] = add(four >> 24);
      data += 4;
      continue;
    }
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t code = (lengths >> (2 * j)) & 3U;
      out[j] = add(load<std::uint32_t>(reinterpret_cast<const char*>(data)) & mask[code]);
      data += code + 1;
    }
  }
  for (; i < count; ++i, ++out) {
    const std::uint32_t code = (static_cast<std::uint32_t>(*control) >> (2 * (i % 4))) & 3U;
    if (i % 4 == 3) ++control;
    if (static_cast<std::size_t>(end - data) < code + 1) break;
    std::uint32_t value = 0;
    for (std::uint32_t byte = 0; byte <= code; ++byte) value |= static_cast<std::uint32_t>(data[byte]) << (8 * byte);
    *out = add(value);
    data += code + 1;
  }
  if (i == count && data == end) return true;
  samples.resize(before);
  return false;
}

struct RecordDecoder::Streams {
  libdeflate_decompressor* deflate = libdeflate_alloc_decompressor();
  z_stream inflate{};
  bool inflate_ready = false;
  ZSTD_DStream* zstd = ZSTD_createDStream();
  std::vector<char> plain;   // a whole decompressed record
  std::vector<char> fields;  // the decompressed start of one

  Streams() {
    if (deflate == nullptr || zstd == nullptr) throw std::bad_alloc();
  }
  Streams(const Streams&) = delete;
  ~Streams() {
    libdeflate_free_decompressor(deflate);
    if (inflate_ready) inflateEnd(&inflate);
    ZSTD_freeDStream(zstd);
  }

  // The whole record into `plain`; the span is empty when it is corrupt.
  std::span<const char> whole_zlib(std::span<const char> stored) {
    const std::size_t most = stored.size() * max_deflate_ratio + 64;
    if (plain.size() < stored.size() * 3) plain.resize(stored.size() * 3);
    while (true) {
      std::size_t size = 0;
      const auto result = libdeflate_zlib_decompress(deflate, stored.data(), stored.size(), plain.data(), plain.size(), &size);
      if (result == LIBDEFLATE_SUCCESS) return {plain.data(), size};
      if (result != LIBDEFLATE_INSUFFICIENT_SPACE || plain.size() >= most) return {};
      plain.resize(std::min(most, plain.size() * 2 + 4096));
    }
  }
  std::span<const char> whole_zstd(std::span<const char> stored) {
    // Writers of BLOW5 store single frames with the content size; slow5lib refuses others, too.
    const unsigned long long size = ZSTD_getFrameContentSize(stored.data(), stored.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return {};
    if (size / max_zstd_block_text > stored.size() / min_zstd_block + 1) return {};
    if (plain.size() < size) plain.resize(static_cast<std::size_t>(size));
    const std::size_t got = ZSTD_decompressDCtx(zstd, plain.data(), plain.size(), stored.data(), stored.size());
    if (ZSTD_isError(got) != 0) return {};
    return {plain.data(), got};
  }

  // Up to `bytes` of the record's start into `fields`.
  RecordStatus start(std::span<const char> stored, RecordCompression compression, std::size_t bytes, std::span<const char>& out) {
    fields.resize(bytes);
    std::size_t made = 0;
    if (compression == RecordCompression::zlib) {
      if (!inflate_ready) {
        if (inflateInit(&inflate) != Z_OK) throw std::bad_alloc();
        inflate_ready = true;
      } else {
        inflateReset(&inflate);
      }
      inflate.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
      inflate.avail_in = static_cast<uInt>(std::min<std::size_t>(stored.size(), std::numeric_limits<uInt>::max()));
      inflate.next_out = reinterpret_cast<Bytef*>(fields.data());
      inflate.avail_out = static_cast<uInt>(bytes);
      const int result = ::inflate(&inflate, Z_SYNC_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return RecordStatus::corrupt;
      made = bytes - inflate.avail_out;
    } else {
      ZSTD_DCtx_reset(zstd, ZSTD_reset_session_only);
      ZSTD_inBuffer in{stored.data(), stored.size(), 0};
      ZSTD_outBuffer to{fields.data(), bytes, 0};
      while (to.pos < bytes) {
        const std::size_t before_in = in.pos;
        const std::size_t before_out = to.pos;
        const std::size_t result = ZSTD_decompressStream(zstd, &to, &in);
        if (ZSTD_isError(result) != 0) return RecordStatus::corrupt;
        if (result == 0 || (in.pos == before_in && to.pos == before_out)) break;
      }
      made = to.pos;
    }
    out = {fields.data(), made};
    return RecordStatus::ok;
  }
};

RecordDecoder::RecordDecoder() : streams_(std::make_unique<Streams>()) {}
RecordDecoder::~RecordDecoder() = default;

std::size_t RecordDecoder::capacity() const { return streams_->plain.capacity() + streams_->fields.capacity(); }

RecordStatus RecordDecoder::decode(std::span<const char> stored, const RecordFormat& format, SignalRecord& record,
                                   std::vector<std::int16_t>& samples) {
  std::size_t signal = 0;
  if (format.format == FileFormat::slow5) {
    if (parse_text_fields(stored, record, signal) != RecordStatus::ok) return RecordStatus::corrupt;
    return parse_text_samples({stored.data() + signal, stored.size() - signal}, record, samples);
  }
  std::span<const char> plain = stored;
  if (format.record_compression == RecordCompression::zlib) plain = streams_->whole_zlib(stored);
  if (format.record_compression == RecordCompression::zstd) plain = streams_->whole_zstd(stored);
  if (parse_binary_fields(plain, record, signal) != RecordStatus::ok) return RecordStatus::corrupt;
  return parse_samples(plain.subspan(signal), format.signal_compression, record, samples);
}

RecordStatus RecordDecoder::decode_fields(std::span<const char> stored, const RecordFormat& format, SignalRecord& record) {
  std::size_t signal = 0;
  if (format.format == FileFormat::slow5) return parse_text_fields(stored, record, signal);
  const bool counts_bytes = format.signal_compression == SignalCompression::svb_zd;
  // 256 bytes hold the fields of a record with an ordinary name (36 letters); the second round those of any.
  for (const std::size_t bytes : {std::size_t{256}, 2 + std::size_t{65535} + fields_after_name + 4}) {
    std::span<const char> start = stored;
    if (format.record_compression != RecordCompression::none) {
      const RecordStatus status = streams_->start(stored, format.record_compression, bytes, start);
      if (status != RecordStatus::ok) return status;
    }
    const RecordStatus status = parse_binary_fields(start, record, signal);
    if (status == RecordStatus::corrupt) return status;
    if (status == RecordStatus::incomplete || (counts_bytes && start.size() < signal + 4)) continue;
    // The compressed signal begins with its number of samples.
    if (counts_bytes) record.sample_count = load<std::uint32_t>(start.data() + signal);
    return RecordStatus::ok;
  }
  return RecordStatus::incomplete;
}

}  // namespace sluice::signal_reader
