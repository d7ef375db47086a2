// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/vbz.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <sluice/allocated.hpp>

#include "signal_reader/signal_pieces.hpp"

namespace sluice::signal_reader {
namespace {

std::uint16_t unzigzag(std::uint16_t value) { return static_cast<std::uint16_t>((value >> 1) ^ (0U - (value & 1U))); }

constexpr std::size_t values_per_key = 8;

// Of a key: how many of its values have two bytes. Without an instruction for it, which not every processor has, counting is a call.
constexpr std::array<std::uint8_t, 256> wide_values = [] {
  std::array<std::uint8_t, 256> counts{};
  for (unsigned key = 0; key < counts.size(); ++key) counts[key] = static_cast<std::uint8_t>(std::popcount(key));
  return counts;
}();

}  // namespace

bool decode_svb16(std::span<const std::uint8_t> bytes, std::size_t count, std::int16_t* out) {
  const std::size_t keys = (count + values_per_key - 1) / values_per_key;
  if (bytes.size() < keys + count) return false;
  const std::uint8_t* key = bytes.data();
  const std::uint8_t* at = key + keys;
  const std::uint8_t* const end = key + bytes.size();
  std::uint16_t level = 0;
  std::size_t i = 0;
  for (; i + values_per_key <= count; i += values_per_key, ++key) {
    if (static_cast<std::size_t>(end - at) < values_per_key + wide_values[*key]) return false;
    // Most keys of a signal say that all values are short: then nothing depends on the value before but the sum.
    if (*key == 0) {
      std::array<std::uint16_t, values_per_key> steps;
      for (std::size_t j = 0; j < values_per_key; ++j) steps[j] = unzigzag(at[j]);
      for (std::size_t j = 0; j < values_per_key; ++j) out[i + j] = static_cast<std::int16_t>(level = static_cast<std::uint16_t>(level + steps[j]));
      at += values_per_key;
      continue;
    }
    unsigned bits = *key;
    for (std::size_t j = 0; j < values_per_key; ++j, bits >>= 1) {
      const unsigned is_wide = bits & 1U;
      const unsigned high = at[is_wide];  // of a short value its only byte, which is left out
      level = static_cast<std::uint16_t>(level + unzigzag(static_cast<std::uint16_t>(at[0] | ((high & (0U - is_wide)) << 8))));
      out[i + j] = static_cast<std::int16_t>(level);
      at += 1 + is_wide;
    }
  }
  for (unsigned bits = i < count ? *key : 0; i < count; ++i, bits >>= 1) {
    const std::size_t size = 1 + (bits & 1U);
    if (static_cast<std::size_t>(end - at) < size) return false;
    const unsigned value = size == 1 ? at[0] : at[0] | static_cast<unsigned>(at[1]) << 8;
    level = static_cast<std::uint16_t>(level + unzigzag(static_cast<std::uint16_t>(value)));
    out[i] = static_cast<std::int16_t>(level);
    at += size;
  }
  return at == end;
}

struct VbzDecoder::Context {
  ZSTD_DCtx* zstd = allocated(ZSTD_createDCtx());
  Context() = default;
  Context(const Context&) = delete;
  ~Context() { ZSTD_freeDCtx(zstd); }
};

VbzDecoder::VbzDecoder() : context_(std::make_unique<Context>()) {}
VbzDecoder::~VbzDecoder() = default;

bool VbzDecoder::decode(std::span<const char> piece, std::size_t count, std::int16_t* out) {
  if (count == 0) return true;
  const std::size_t most = (count + values_per_key - 1) / values_per_key + 2 * count;
  if (plain_.size() < most) plain_.resize(most);
  const std::size_t size = ZSTD_decompressDCtx(context_->zstd, plain_.data(), most, piece.data(), piece.size());
  return ZSTD_isError(size) == 0 && decode_svb16({plain_.data(), size}, count, out);
}

RecordStatus VbzDecoder::decode_beginning(std::span<const char> pieces, bool is_whole, const SamplesWanted& wanted, const SignalRecord& record,
                                          std::vector<std::int16_t>& samples) {
  return decode_pieces<VbzPiece>(
      pieces, is_whole, vbz_format, wanted, record, samples,
      [this](const VbzPiece& piece, std::span<const char> bytes, std::int16_t* out) { return decode(bytes, piece.samples, out); });
}

}  // namespace sluice::signal_reader
