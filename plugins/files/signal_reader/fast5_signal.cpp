// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/fast5_signal.hpp"

#include <libdeflate.h>
#include <zstd.h>

#include <cstring>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/fast5_table.hpp>

#include "signal_reader/signal_pieces.hpp"

namespace sluice::signal_reader {
namespace {

constexpr std::size_t sample_bytes = sizeof(std::int16_t);
constexpr std::size_t values_per_control = 4, most_value_bytes = 4;

std::size_t control_bytes(std::size_t values) { return svb_zd_control_bytes(values); }

// All low bytes lie in front of all high ones.
void unshuffle(std::span<const char> from, std::vector<char>& to) {
  to.resize(from.size());
  const std::size_t values = from.size() / sample_bytes;
  for (std::size_t i = 0; i < values; ++i) {
    to[sample_bytes * i] = from[i];
    to[sample_bytes * i + 1] = from[values + i];
  }
}

// StreamVByte of values as they are.
bool decode_plain_svb(std::span<const std::uint8_t> bytes, std::size_t values, char* out) {
  const std::uint8_t* control = bytes.data();
  std::size_t at = control_bytes(values);
  for (std::size_t i = 0; i < values; ++i) {
    const std::size_t size = 1 + (control[i / values_per_control] >> (2 * (i % values_per_control)) & 3U);
    if (bytes.size() - at < size) return false;
    const std::uint16_t value = static_cast<std::uint16_t>(bytes[at] | (size > 1 ? bytes[at + 1] << 8 : 0));
    std::memcpy(out + i * sample_bytes, &value, sample_bytes);
    at += size;
  }
  return at == bytes.size();
}

bool decode_svb(std::span<const std::uint8_t> bytes, std::size_t values, bool deltas, char* out) {
  if (bytes.size() < control_bytes(values) + values) return false;
  if (!deltas) return decode_plain_svb(bytes, values, out);
  const std::span<const std::uint8_t> data = bytes.subspan(control_bytes(values));
  if (svb_zd_data_bytes(bytes.data(), 0, values) != data.size()) return false;
  SvbZdPlace place;
  return decode_svb_zd(bytes.data(), data, values, place, reinterpret_cast<std::int16_t*>(out));
}

}  // namespace

struct Fast5Decoder::Contexts {
  ZSTD_DCtx* zstd = allocated(ZSTD_createDCtx());
  libdeflate_decompressor* deflate = allocated(libdeflate_alloc_decompressor());
  Contexts() = default;
  Contexts(const Contexts&) = delete;
  ~Contexts() {
    ZSTD_freeDCtx(zstd);
    libdeflate_free_decompressor(deflate);
  }
};

Fast5Decoder::Fast5Decoder() = default;
Fast5Decoder::~Fast5Decoder() = default;

bool Fast5Decoder::inflate(std::span<const char> from, std::size_t values, std::vector<char>& to) {
  to.resize(values * sample_bytes);
  std::size_t made = 0;
  return libdeflate_zlib_decompress(contexts_->deflate, from.data(), from.size(), to.data(), to.size(), &made) == LIBDEFLATE_SUCCESS &&
         made == to.size();
}

bool Fast5Decoder::undo_vbz(unsigned step, std::span<const char> from, std::size_t values, std::vector<char>& to) {
  std::uint32_t unpacked = 0;
  if (from.size() < sizeof unpacked) return false;
  std::memcpy(&unpacked, from.data(), sizeof unpacked);
  if (unpacked != values * sample_bytes) return false;
  from = from.subspan(sizeof unpacked);
  if ((step & Fast5Table::vbz_zstd) != 0) {
    streams_.resize(control_bytes(values) + most_value_bytes * values);
    const std::size_t size = ZSTD_decompressDCtx(contexts_->zstd, streams_.data(), streams_.size(), from.data(), from.size());
    if (ZSTD_isError(size) != 0) return false;
    from = {streams_.data(), size};
  }
  to.resize(unpacked);
  return decode_svb({reinterpret_cast<const std::uint8_t*>(from.data()), from.size()}, values, (step & Fast5Table::vbz_zigzag) != 0, to.data());
}

bool Fast5Decoder::undo(unsigned step, std::span<const char> from, std::size_t values, std::vector<char>& to) {
  if (step == Fast5Table::deflate) return inflate(from, values, to);
  if (step == Fast5Table::shuffle) return unshuffle(from, to), true;
  return (step & Fast5Table::vbz) != 0 && undo_vbz(step, from, values, to);
}

bool Fast5Decoder::decode(const Fast5Piece& piece, std::span<const char> bytes, std::int16_t* out) {
  if (piece.samples > piece.values || piece.values > most_samples(bytes.size(), fast5_format)) return false;
  if (!contexts_) contexts_ = std::make_unique<Contexts>();
  unsigned number = 0;
  for (std::uint32_t steps = piece.steps; steps != 0; steps >>= 8, number ^= 1U) {
    if (!undo(steps & 0xFFU, bytes, piece.values, buffers_[number])) return false;
    bytes = buffers_[number];
  }
  if (bytes.size() != std::size_t{piece.values} * sample_bytes) return false;
  if (piece.samples > 0) std::memcpy(out, bytes.data(), piece.samples * sample_bytes);
  return true;
}

RecordStatus Fast5Decoder::decode_beginning(std::span<const char> pieces, bool is_whole, const SamplesWanted& wanted, const SignalRecord& record,
                                            std::vector<std::int16_t>& samples) {
  return decode_pieces<Fast5Piece>(
      pieces, is_whole, fast5_format, wanted, record, samples,
      [this](const Fast5Piece& piece, std::span<const char> bytes, std::int16_t* out) { return decode(piece, bytes, out); });
}

}  // namespace sluice::signal_reader
