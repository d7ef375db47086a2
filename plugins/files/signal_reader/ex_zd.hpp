// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Zigzag deltas of a byte each, and exceptions, which take two (ex-zd: Jayasooriya et al. 2025, figure 5; slow5tools 1.3). Little-endian:
// u8 version (0), u64 samples, u8 shift, u16 zigzag of the first sample, u32 exceptions, the exceptions, then a byte for each other delta.
// Samples are those of `shift` bits less, and deltas of 16 bits. One exception: u32 place among the deltas, u16 zigzag - 256. More: u32 bytes and
// StreamVByte of the places' differences, less one; the same of the zigzags less 256.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::signal_reader {

// What tells the number of samples.
inline constexpr std::size_t ex_zd_count_bytes = 9;
// Everything before the exceptions.
inline constexpr std::size_t ex_zd_fixed_bytes = 16;

class ExZdSignal {
 public:
  enum class Status : std::uint8_t { ok, incomplete, corrupt };
  // Reads what stands before the one-byte deltas. `begin` is the beginning of a signal of `all_bytes`, of which needed() is enough, or asks for more.
  Status parse(std::span<const char> begin, std::size_t all_bytes);
  std::size_t needed() const { return needed_; }

  std::uint64_t count() const { return count_; }
  // Bytes of the signal that its first samples take, with all before them.
  std::size_t bytes_until(std::size_t samples) const;
  // The samples behind those that were decoded before, up to `until`. `begin` has bytes_until(until) bytes.
  void decode(std::span<const char> begin, std::size_t until, std::int16_t* out);
  // Of those that were decoded.
  std::size_t decoded() const { return next_; }

 private:
  struct Exception {
    std::uint32_t delta;  // the how manieth
    std::uint16_t zigzag;
  };
  Status parse_exceptions(std::span<const char> begin, std::size_t all_bytes, std::uint32_t number);
  std::uint64_t count_ = 0;
  unsigned shift_ = 0;
  std::uint16_t first_ = 0;  // zigzag
  std::vector<Exception> exceptions_;
  std::size_t data_ = 0;  // where the one-byte deltas begin
  std::size_t needed_ = ex_zd_fixed_bytes;

  std::size_t next_ = 0, next_exception_ = 0, next_byte_ = 0;
  std::uint16_t level_ = 0;
};

// Appends the samples; false, with `samples` as it was, when the bytes are too few or too many.
bool decode_ex_zd(std::span<const char> stored, std::vector<std::int16_t>& samples);

}  // namespace sluice::signal_reader
