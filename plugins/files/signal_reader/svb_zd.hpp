// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// StreamVByte of zigzag deltas: u32 count, (count + 3) / 4 control bytes, then 1 to 4 bytes a value, all little-endian. A control byte holds the
// lengths of four values, less one, 2 bits each. All control bytes lie in front of all values, so whoever wants the first samples reads past the
// rest.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::signal_reader {

// Appends the samples; false, with `samples` as it was, when the bytes are too few or too many.
bool decode_svb_zd(std::span<const char> stored, std::vector<std::int16_t>& samples);

constexpr std::size_t svb_zd_control_bytes(std::size_t samples) { return samples / 4 + (samples % 4 != 0 ? 1 : 0); }

// Where decoding has come to.
struct SvbZdPlace {
  std::size_t sample = 0;   // the next; a multiple of four, or the number of samples
  std::size_t data = 0;     // bytes of values before it
  std::uint32_t level = 0;  // of the sample before it
};

// Bytes of the values of samples [begin, end). `begin` is a multiple of four.
std::size_t svb_zd_data_bytes(const std::uint8_t* control, std::size_t begin, std::size_t end);

// Decodes the samples from `place` to `until`, to `out`. `until` is a multiple of four, or the number of samples. False when the values end before,
// and some of `out` may then have been written.
bool decode_svb_zd(const std::uint8_t* control, std::span<const std::uint8_t> data, std::size_t until, SvbZdPlace& place, std::int16_t* out);

}  // namespace sluice::signal_reader
