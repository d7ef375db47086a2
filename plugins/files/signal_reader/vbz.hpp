// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The signal of POD5 files: pieces of at most some 100,000 samples, each compressed by VBZ: zstd over StreamVByte of 16-bit values, which are zigzag
// deltas. One bit a value in front of all values: 0 one byte, 1 two bytes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

// How many of a record's bytes are likely to hold its first samples, if its pieces are as large as sequencers make them.
inline std::uint64_t likely_vbz_bytes(std::uint64_t sample_count, std::uint64_t whole_bytes, std::uint64_t samples) {
  constexpr std::uint64_t usual_piece = 102400;
  const std::uint64_t decoded = (samples + usual_piece - 1) / usual_piece * usual_piece;
  if (decoded >= sample_count) return whole_bytes;
  const double share = 1.1 * static_cast<double>(decoded) / static_cast<double>(sample_count);
  return share < 1 ? static_cast<std::uint64_t>(share * static_cast<double>(whole_bytes)) : whole_bytes;
}

inline constexpr RecordFormat vbz_format = {FileFormat::pod5, RecordCompression::none, SignalCompression::vbz};

// The pieces of one record: u32 pieces; of each u32 samples, u32 bytes; then their bytes.
struct VbzPiece {
  std::uint32_t samples = 0, bytes = 0;
};

// Decodes `count` samples to `out`; false when the bytes are too few or too many, and some of `out` may then have been written.
bool decode_svb16(std::span<const std::uint8_t> bytes, std::size_t count, std::int16_t* out);

// Working memory for it, used for one record after the other.
class VbzDecoder {
 public:
  VbzDecoder();
  VbzDecoder(const VbzDecoder&) = delete;
  ~VbzDecoder();

  // False as above.
  bool decode(std::span<const char> piece, std::size_t count, std::int16_t* out);

  // Appends the first samples of a record, as many as `wanted` asks for. `pieces` is what follows its fields, or the beginning of that. On failure
  // leaves `samples` as it was.
  RecordStatus decode_beginning(std::span<const char> pieces, bool is_whole, const SamplesWanted& wanted, const SignalRecord& record,
                                std::vector<std::int16_t>& samples);

  std::size_t capacity() const { return plain_.capacity(); }

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  std::vector<std::uint8_t> plain_;
};

}  // namespace sluice::signal_reader
