// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/vbz.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

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

std::uint32_t load_u32(const char* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The pieces of a record one after the other.
class PieceCursor {
 public:
  explicit PieceCursor(std::span<const char> bytes) : bytes_(bytes) {}

  // False: the bytes end before.
  bool begin() {
    if (bytes_.size() < sizeof(std::uint32_t)) return false;
    pieces_ = load_u32(bytes_.data());
    data_ = sizeof(std::uint32_t) + std::uint64_t{pieces_} * sizeof(VbzPiece);
    return bytes_.size() >= data_;
  }
  bool at_end() const { return next_ == pieces_; }
  bool is_complete() const { return at_end() && data_ == bytes_.size(); }
  VbzPiece piece() const {
    VbzPiece piece;
    std::memcpy(&piece, bytes_.data() + sizeof(std::uint32_t) + std::size_t{next_} * sizeof piece, sizeof piece);
    return piece;
  }
  bool is_here() const { return piece().bytes <= bytes_.size() - data_; }
  std::span<const char> take() {
    const std::span<const char> piece_bytes = bytes_.subspan(static_cast<std::size_t>(data_), piece().bytes);
    data_ += piece_bytes.size();
    ++next_;
    return piece_bytes;
  }

 private:
  std::span<const char> bytes_;
  std::uint32_t pieces_ = 0, next_ = 0;
  std::uint64_t data_ = 0;  // of the next piece
};

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
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  Context() {
    if (zstd == nullptr) throw std::bad_alloc();
  }
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

RecordStatus VbzDecoder::decode_all(std::span<const char> pieces, const SignalRecord& record, std::vector<std::int16_t>& samples) {
  const auto all = [](const SignalRecord& r, std::span<const std::int16_t>) { return static_cast<std::size_t>(r.sample_count); };
  return decode_beginning(pieces, true, all, record, samples);
}

RecordStatus VbzDecoder::decode_beginning(std::span<const char> pieces, bool is_whole, const SamplesWanted& wanted, const SignalRecord& record,
                                          std::vector<std::int16_t>& samples) {
  const std::size_t before = samples.size();
  const auto give_up = [&](RecordStatus status) {
    samples.resize(before);
    return status == RecordStatus::incomplete && is_whole ? RecordStatus::corrupt : status;
  };
  PieceCursor cursor(pieces);
  if (!cursor.begin()) return give_up(RecordStatus::incomplete);
  const auto count = static_cast<std::size_t>(record.sample_count);
  std::size_t want = std::min(wanted(record, {}), count);
  for (std::size_t have = 0, decoded = 0;;) {
    while (decoded < want) {
      if (cursor.at_end()) return give_up(RecordStatus::corrupt);
      if (!cursor.is_here()) return give_up(RecordStatus::incomplete);
      const VbzPiece piece = cursor.piece();
      if (piece.samples > count - decoded || piece.samples > most_samples(piece.bytes, vbz_format)) return give_up(RecordStatus::corrupt);
      samples.resize(before + decoded + piece.samples);
      if (!decode(cursor.take(), piece.samples, samples.data() + before + decoded)) return give_up(RecordStatus::corrupt);
      decoded += piece.samples;
    }
    if (want == count && !(decoded == count && cursor.is_complete())) return give_up(RecordStatus::corrupt);
    have = want;
    want = std::min(wanted(record, std::span(samples).subspan(before, have)), count);
    if (want <= have) break;
  }
  samples.resize(before + want);
  return RecordStatus::ok;
}

}  // namespace sluice::signal_reader
