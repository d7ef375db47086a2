// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Huffman codes of DEFLATE as a warp uses them.

#include <cstdint>
#include <sluice/host_device.hpp>

#include "signal_reader/deflate_codes.hpp"

namespace sluice::signal_reader {

// The lowest bit becomes the highest of so many.
SLUICE_HOST_DEVICE inline std::uint32_t reversed(std::uint32_t value, unsigned bits) {
#ifdef __CUDA_ARCH__
  return __brev(value) >> (32 - bits);
#else
  std::uint32_t result = 0;
  for (unsigned i = 0; i < bits; ++i) result |= (value >> i & 1) << (bits - 1 - i);
  return result;
#endif
}

// Codes in canonical order. What the next bits mean is said by a table of `primary` bits; of longer codes, which are the last ones in that order, by
// a second one that begins where they do; where that would be too large they are searched for.
template <unsigned primary, std::uint32_t symbols, std::uint32_t long_slots>
class CodeBook {
 public:
  // From the lengths of all codes; false where zlib would not take them. By one lane.
  SLUICE_HOST_DEVICE bool order(const std::uint8_t* lengths, std::uint32_t used_symbols) {
    for (unsigned bits = 0; bits <= longest_code; ++bits) count_[bits] = 0;
    for (std::uint32_t symbol = 0; symbol < used_symbols; ++symbol) ++count_[lengths[symbol]];
    count_[0] = 0;
    std::uint32_t code = 0, place = 0;
    longest_ = 0;
    for (unsigned bits = 1; bits <= longest_code; ++bits) {
      code <<= 1;
      first_[bits] = static_cast<std::uint16_t>(code);
      place_[bits] = static_cast<std::uint16_t>(place);
      code += count_[bits];
      place += count_[bits];
      if (code > 1U << bits) return false;
      if (count_[bits] != 0) longest_ = bits;
      if (bits == primary) long_begin_ = code;
    }
    codes_ = place;
    if (code != 1U << longest_code && longest_ > 1) return false;
    const unsigned behind = longest_ > primary ? longest_ - primary : 0;
    long_begin_ <<= behind;
    has_long_table_ = longest_ > primary && (1U << longest_) - long_begin_ <= long_slots;
    for (std::uint32_t symbol = 0; symbol < used_symbols; ++symbol)
      if (lengths[symbol] != 0) by_length_[place_[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
    for (unsigned bits = 1; bits <= longest_code; ++bits) place_[bits] = static_cast<std::uint16_t>(place_[bits] - count_[bits]);
    return true;
  }
  // How many there are.
  SLUICE_HOST_DEVICE std::uint32_t codes() const { return codes_; }

  // Makes the tables behind order(). Lanes: see inflate.hpp.
  template <class Lanes, class EntryOf>
  SLUICE_HOST_DEVICE void fill(Lanes& lanes, EntryOf entry_of) {
    lanes.each([&](std::uint32_t lane) {
      for (std::uint32_t i = lane; i < 1U << primary; i += Lanes::count) entries_[i] = goes_on;
    });
    lanes.each([&](std::uint32_t lane) {
      unsigned bits = 1;
      for (std::uint32_t i = lane; i < codes_; i += Lanes::count) {
        while (i >= place_[bits] + std::uint32_t{count_[bits]}) ++bits;
        const std::uint32_t code = first_[bits] + (i - place_[bits]);
        if (bits <= primary) {
          const std::uint32_t entry = entry_of(by_length_[i]) | bits;
          for (std::uint32_t at = reversed(code, bits); at < 1U << primary; at += 1U << bits) entries_[at] = entry;
        } else if (has_long_table_) {
          const unsigned behind = longest_ - bits;
          for (std::uint32_t at = code << behind; at < (code + 1) << behind; ++at)
            long_[at - long_begin_] = static_cast<std::uint16_t>(by_length_[i] << 4 | bits);
        }
      }
    });
  }

  // What the lowest bits of `buffer` begin with, 15 of which are there or zero.
  template <class EntryOf>
  SLUICE_HOST_DEVICE std::uint32_t look_up(std::uint64_t buffer, EntryOf entry_of) const {
    const std::uint32_t entry = entries_[static_cast<std::uint32_t>(buffer) & ((1U << primary) - 1)];
    if (entry != goes_on) return entry;
    if (!has_long_table_) return search(buffer, primary + 1, entry_of);
    const std::uint32_t found = long_[(ahead(buffer) >> (longest_code - longest_)) - long_begin_];
    return entry_of(found >> 4) | (found & 15);
  }
  template <class EntryOf>
  SLUICE_HOST_DEVICE std::uint32_t search(std::uint64_t buffer, unsigned from_bits, EntryOf entry_of) const {
    for (unsigned bits = from_bits; bits <= longest_code; ++bits) {
      const std::uint32_t behind_first = (ahead(buffer) >> (longest_code - bits)) - first_[bits];
      if (behind_first < count_[bits]) return entry_of(by_length_[place_[bits] + behind_first]) | bits;
    }
    return is_invalid;
  }

 private:
  // The next 15 bits, the first one highest.
  SLUICE_HOST_DEVICE static std::uint32_t ahead(std::uint64_t buffer) {
    return reversed(static_cast<std::uint32_t>(buffer) & ((1U << longest_code) - 1), longest_code);
  }
  std::uint32_t entries_[1U << primary];
  std::uint16_t long_[long_slots];                                   // symbol << 4 | bits, by the next `longest_` bits
  std::uint16_t by_length_[symbols];                                 // symbols, shorter codes first
  std::uint16_t count_[longest_code + 1];                            // codes of a length
  std::uint16_t first_[longest_code + 1], place_[longest_code + 1];  // the first code of a length, and its place in by_length_
  std::uint32_t codes_, longest_, long_begin_;
  bool has_long_table_;
};

}  // namespace sluice::signal_reader
