// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/svb_zd.hpp"

#include <array>
#include <cstring>

namespace sluice::signal_reader {
namespace {

std::uint32_t load_word(const void* at) {
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Bytes of the four values of a control byte.
constexpr std::array<std::uint8_t, 256> group_bytes = [] {
  std::array<std::uint8_t, 256> bytes{};
  for (std::size_t control = 0; control < bytes.size(); ++control)
    bytes[control] = static_cast<std::uint8_t>(4 + (control & 3U) + (control >> 2 & 3U) + (control >> 4 & 3U) + (control >> 6));
  return bytes;
}();

}  // namespace

std::size_t svb_zd_data_bytes(const std::uint8_t* control, std::size_t begin, std::size_t end) {
  std::size_t bytes = 0;
  for (std::size_t group = begin / 4; group < end / 4; ++group) bytes += group_bytes[control[group]];
  for (std::size_t i = end / 4 * 4; i < end; ++i) bytes += (static_cast<std::uint32_t>(control[i / 4]) >> (2 * (i % 4)) & 3U) + 1;
  return bytes;
}

bool decode_svb_zd(const std::uint8_t* control, std::span<const std::uint8_t> values, std::size_t until, SvbZdPlace& place, std::int16_t* out) {
  const std::uint8_t* data = values.data() + place.data;
  const std::uint8_t* const end = values.data() + values.size();
  std::uint32_t level = place.level;
  std::size_t i = place.sample;
  control += i / 4;
  const auto add = [&level](std::uint32_t zigzag) {
    level += (zigzag >> 1) ^ (0U - (zigzag & 1U));
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(level));
  };
  static constexpr std::uint32_t mask[4] = {0xFFU, 0xFFFFU, 0xFFFFFFU, 0xFFFFFFFFU};
  // Groups of four while 16 bytes are left: any group can be read with whole words. Nearly all deltas of a nanopore signal fit one byte, hence
  // the first case (80 % of the groups of R9 data).
  for (; i + 4 <= until && end - data >= 16; i += 4, out += 4) {
    const std::uint32_t lengths = *control++;
    if (lengths == 0) {
      const std::uint32_t four = load_word(data);
      out[0] = add(four & 0xFFU);
      out[1] = add((four >> 8) & 0xFFU);
      out[2] = add((four >> 16) & 0xFFU);
      out[3] = add(four >> 24);
      data += 4;
      continue;
    }
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t code = (lengths >> (2 * j)) & 3U;
      out[j] = add(load_word(data) & mask[code]);
      data += code + 1;
    }
  }
  for (; i < until; ++i, ++out) {
    const std::uint32_t code = (static_cast<std::uint32_t>(*control) >> (2 * (i % 4))) & 3U;
    if (i % 4 == 3) ++control;
    if (static_cast<std::size_t>(end - data) < code + 1) return false;
    std::uint32_t value = 0;
    for (std::uint32_t byte = 0; byte <= code; ++byte) value |= static_cast<std::uint32_t>(data[byte]) << (8 * byte);
    *out = add(value);
    data += code + 1;
  }
  place = {i, static_cast<std::size_t>(data - values.data()), level};
  return true;
}

bool decode_svb_zd(std::span<const char> stored, std::vector<std::int16_t>& samples) {
  if (stored.size() < 4) return false;
  const std::size_t count = load_word(stored.data());
  const std::size_t control_bytes = svb_zd_control_bytes(count);
  if (stored.size() - 4 < control_bytes + count) return false;
  const auto* control = reinterpret_cast<const std::uint8_t*>(stored.data()) + 4;
  const std::span<const std::uint8_t> data(control + control_bytes, stored.size() - 4 - control_bytes);
  const std::size_t before = samples.size();
  samples.resize(before + count);
  SvbZdPlace place;
  if (decode_svb_zd(control, data, count, place, samples.data() + before) && place.data == data.size()) return true;
  samples.resize(before);
  return false;
}

}  // namespace sluice::signal_reader
