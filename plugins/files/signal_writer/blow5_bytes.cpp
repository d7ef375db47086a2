// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_writer/blow5_bytes.hpp"

#include <libdeflate.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <sluice/allocated.hpp>

namespace sluice::signal_writer {
namespace {

// The format is little-endian, as is every machine that sluice runs on.
template <class T>
void append(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

// StreamVByte (Lemire, Kurz, Rupp 2018) of the zigzag differences: u32 count, two control bits a value, then 1 to 4 bytes a value.
void append_svb_zd(std::string& bytes, std::span<const std::int16_t> samples) {
  const std::size_t count = samples.size();
  append(bytes, static_cast<std::uint32_t>(count));
  const std::size_t start = bytes.size();
  const std::size_t control_bytes = (count + 3) / 4;
  bytes.resize(start + control_bytes + 3 * count);  // a difference of 16-bit samples needs 17 bits
  char* control = bytes.data() + start;
  char* data = control + control_bytes;
  std::int32_t previous = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t difference = samples[i] - previous;
    previous = samples[i];
    const std::uint32_t zigzag = (static_cast<std::uint32_t>(difference) << 1U) ^ (difference < 0 ? 0xFFFFFFFFU : 0U);
    const std::uint32_t extra_bytes = (zigzag > 0xFFU ? 1U : 0U) + (zigzag > 0xFFFFU ? 1U : 0U);
    if (i % 4 == 0) control[i / 4] = 0;
    control[i / 4] = static_cast<char>(static_cast<std::uint8_t>(control[i / 4]) | extra_bytes << (2 * (i % 4)));
    *data++ = static_cast<char>(zigzag & 0xFFU);
    if (extra_bytes > 0) *data++ = static_cast<char>((zigzag >> 8U) & 0xFFU);
    if (extra_bytes > 1) *data++ = static_cast<char>((zigzag >> 16U) & 0xFFU);
  }
  bytes.resize(static_cast<std::size_t>(data - bytes.data()));
}

constexpr std::size_t header_bytes = 64;

}  // namespace

struct Blow5Encoder::Compressors {
  libdeflate_compressor* zlib = nullptr;
  ZSTD_CCtx* zstd = nullptr;
  ~Compressors() {
    libdeflate_free_compressor(zlib);
    ZSTD_freeCCtx(zstd);
  }
};

Blow5Encoder::Blow5Encoder(RecordCompression record, SignalCompression signal)
    : compressors_(std::make_unique<Compressors>()), record_(record), signal_(signal) {
  if (record == RecordCompression::zlib) compressors_->zlib = allocated(libdeflate_alloc_compressor(4));
  if (record == RecordCompression::zstd) compressors_->zstd = allocated(ZSTD_createCCtx());
}
Blow5Encoder::~Blow5Encoder() = default;

bool Blow5Encoder::encode(const SignalRecord& record, std::string& bytes) {
  if (record.read_id.empty() || record.read_id.size() > std::numeric_limits<std::uint16_t>::max()) return false;
  if (record.raw_signal.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  plain_.clear();
  append(plain_, static_cast<std::uint16_t>(record.read_id.size()));
  plain_.append(record.read_id);
  append(plain_, std::uint32_t{0});  // read group
  append(plain_, record.digitisation);
  append(plain_, record.offset);
  append(plain_, record.range);
  append(plain_, record.sampling_rate);
  if (signal_ == SignalCompression::none) {
    append(plain_, static_cast<std::uint64_t>(record.raw_signal.size()));
    plain_.append(reinterpret_cast<const char*>(record.raw_signal.data()), record.raw_signal.size_bytes());
  } else {
    // With a compressed signal this field holds its bytes, not its samples.
    const std::size_t field = plain_.size();
    append(plain_, std::uint64_t{0});
    append_svb_zd(plain_, record.raw_signal);
    const std::uint64_t stored = plain_.size() - field - sizeof stored;
    std::memcpy(plain_.data() + field, &stored, sizeof stored);
  }
  // The auxiliary fields that MinKNOW's files have and nanopolish complains without.
  const std::string channel = std::to_string(record.channel);
  append(plain_, static_cast<std::uint64_t>(channel.size()));
  plain_ += channel;
  append(plain_, record.median_before);
  append(plain_, record.read_number);
  append(plain_, record.mux);
  append(plain_, record.start_sample);
  const auto reason = std::find(slow5_end_reasons.begin(), slow5_end_reasons.end(), record.end_reason);
  append(plain_, static_cast<std::uint8_t>(reason == slow5_end_reasons.end() ? 0 : reason - slow5_end_reasons.begin()));

  const std::size_t size_field = bytes.size();
  const std::size_t start = size_field + sizeof(std::uint64_t);
  std::uint64_t size = 0;
  if (record_ == RecordCompression::none) {
    bytes.resize(start);
    bytes.append(plain_);
    size = plain_.size();
  } else {
    const std::size_t bound =
        record_ == RecordCompression::zlib ? libdeflate_zlib_compress_bound(compressors_->zlib, plain_.size()) : ZSTD_compressBound(plain_.size());
    bytes.resize(start + bound);
    size = record_ == RecordCompression::zlib
               ? libdeflate_zlib_compress(compressors_->zlib, plain_.data(), plain_.size(), bytes.data() + start, bound)
               : ZSTD_compressCCtx(compressors_->zstd, bytes.data() + start, bound, plain_.data(), plain_.size(), 1);
    if (size == 0 || (record_ == RecordCompression::zstd && ZSTD_isError(size) != 0)) throw std::bad_alloc();  // the bound leaves no other cause
    bytes.resize(start + size);
  }
  std::memcpy(bytes.data() + size_field, &size, sizeof size);
  return true;
}

std::string blow5_header(std::span<const std::pair<std::string, std::string>> attributes, RecordCompression record, SignalCompression signal) {
  std::string text;
  for (const auto& [name, value] : attributes) text += "@" + name + "\t" + (value.empty() ? "." : value) + "\n";
  text += "#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\tchar*\tdouble\tint32_t\tuint8_t\tuint64_t\tenum{";
  for (const std::string_view reason : slow5_end_reasons) (text += reason) += ',';
  text.back() = '}';
  text += '\n';
  text +=
      "#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal"
      "\tchannel_number\tmedian_before\tread_number\tstart_mux\tstart_time\tend_reason\n";

  std::string bytes("BLOW5\1", 6);
  append(bytes, std::uint8_t{0});  // version 0.2.0: the first with signal compression, read by every slow5lib since 2022
  append(bytes, std::uint8_t{2});
  append(bytes, std::uint8_t{0});
  append(bytes, static_cast<std::uint8_t>(record));  // 0 none, 1 zlib, 2 zstd
  append(bytes, std::uint32_t{1});                   // read groups
  append(bytes, static_cast<std::uint8_t>(signal));  // 0 none, 1 svb-zd
  bytes.resize(header_bytes);
  append(bytes, static_cast<std::uint32_t>(text.size()));
  return bytes + text;
}

std::string_view blow5_end_marker() { return "5WOLB"; }

void Blow5Index::add(std::string_view read_id, std::uint64_t record_bytes) {
  append(entries_, static_cast<std::uint16_t>(read_id.size()));
  entries_.append(read_id);
  append(entries_, next_offset_);
  append(entries_, record_bytes);
  next_offset_ += record_bytes;
}

void Blow5Index::save(StateWriter& to) const {
  to.value(next_offset_);
  to.text(entries_);
}

void Blow5Index::restore(StateReader& from) {
  next_offset_ = from.value<std::uint64_t>();
  entries_ = from.text();
}

std::string Blow5Index::take() {
  std::string bytes("SLOW5IDX\1", 9);
  append(bytes, std::uint8_t{0});  // the version of the signal file
  append(bytes, std::uint8_t{2});
  append(bytes, std::uint8_t{0});
  bytes.resize(header_bytes);
  bytes += entries_;
  entries_ = {};
  return bytes += "XDI5WOLS";
}

}  // namespace sluice::signal_writer
