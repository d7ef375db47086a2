// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The beginning of what a zlib stream holds (RFC 1950, 1951), as far as somebody asks for it. zlib can do that, too, at half of the speed;
// libdeflate, which is as fast, gives whole streams only.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::signal_reader {

class ZlibBeginning {
 public:
  // Begins a stream of which `stored` is the beginning, or all.
  // The checksum stands at the end of a stream, where few come to.
  enum class Checksum : std::uint8_t { checked, ignored };
  void begin(std::span<const char> stored, Checksum checksum);
  // Decompresses until there are so many bytes, or `stored` or the stream ends. False: it is corrupt before that.
  bool reach(std::size_t bytes);
  // What there is of the stream that was begun, at times more than was asked for. Valid until the next call.
  std::span<const char> bytes() const { return {reinterpret_cast<const char*>(text_.data()), made_}; }
  std::size_t capacity() const { return text_.capacity(); }

 private:
  enum class State : std::uint8_t { block_header, stored_block, coded_block, ended, corrupt };
  // Looks up as many bits as most codes have; longer ones go on in a table of their own, all of one size.
  template <int bits, int longest, int symbols>
  struct CodeTable {
    static constexpr int primary_bits = bits, rest_bits = longest - bits;
    std::array<std::uint32_t, (std::size_t{1} << bits) + (std::size_t{symbols} << rest_bits)> entries;
  };
  using LetterTable = CodeTable<11, 15, 288>;
  using DistanceTable = CodeTable<9, 15, 32>;

  // The bits that have been taken from `stored` and not been used.
  struct Bits {
    const std::uint8_t* next = nullptr;
    const std::uint8_t* end = nullptr;
    std::uint64_t buffer = 0;
    unsigned count = 0;
    void refill();       // as many as there are; at least 56 if there are
    void refill_fast();  // at least 56; there are 8 bytes more
    bool take(unsigned bits, std::uint32_t& value);
    void use(unsigned bits) { buffer >>= bits, count -= bits; }
  };

  State stream_header();
  State next_block();
  State dynamic_codes();
  State copy_stored(std::size_t until);
  State decode(std::size_t until);
  State decode_fast(std::size_t until);
  State decode_symbol();
  State check_trailer();
  bool make_tables(std::span<const std::uint8_t> letter_lengths, std::span<const std::uint8_t> distance_lengths);

  Bits bits_;
  State state_ = State::ended;
  Checksum checksum_ = Checksum::checked;
  bool is_last_block_ = false;
  std::size_t stored_left_ = 0;  // of a stored block
  std::vector<std::uint8_t> text_;
  std::size_t made_ = 0;
  LetterTable letters_;
  DistanceTable distances_;
};

}  // namespace sluice::signal_reader
