// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/zlib_beginning.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "signal_reader/deflate_codes.hpp"

namespace sluice::signal_reader {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t low(std::uint64_t buffer, unsigned bits) { return static_cast<std::uint32_t>(buffer & ((std::uint64_t{1} << bits) - 1)); }

// Copies of matches write a little too much.
constexpr std::size_t room_behind = longest_match + 16;
// The fast loop takes so much of the input at most in one round.
constexpr std::ptrdiff_t input_of_round = 16;
template <std::size_t symbols, class EntryOf>
constexpr std::array<std::uint32_t, symbols> entries_of(EntryOf entry_of) {
  std::array<std::uint32_t, symbols> entries{};
  for (std::uint32_t symbol = 0; symbol < symbols; ++symbol) entries[symbol] = entry_of(symbol);
  return entries;
}
constexpr auto letter_entries = entries_of<letter_symbols>(letter_entry);
constexpr auto distance_entries = entries_of<distance_symbols>(distance_entry);

// Fills a table for codes of these lengths (RFC 1951, 3.2.2). Codes that leave room are refused, but for a single one of one bit, as zlib does; what
// that leaves is invalid.
template <class Table, class Entries>
bool fill_table(std::span<const std::uint8_t> lengths, const Entries& entry_of, Table& table) {
  std::array<std::uint16_t, longest_code + 1> count{}, next{};
  for (const std::uint8_t length : lengths) ++count[length];
  std::uint32_t used = 0, longest = 0;
  for (unsigned bits = 1; bits <= longest_code; ++bits) {
    used = 2 * used + count[bits];
    if (used > 1U << bits) return false;
    if (count[bits] != 0) longest = bits;
    next[bits] = static_cast<std::uint16_t>(next[bits - 1] + (bits > 1 ? count[bits - 1] : 0));
  }
  if (used != 1U << longest_code) {
    if (longest > 1) return false;
    table.entries.fill(is_invalid | 1);
  }
  std::array<std::uint16_t, 288> by_length;
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
    if (lengths[symbol] != 0) by_length[next[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);

  constexpr unsigned primary = Table::primary_bits, rest = Table::rest_bits;
  std::uint32_t free = 1U << primary, last_prefix = 1U << primary;
  std::uint32_t code = 0;  // its first bit is the lowest
  for (std::size_t i = 0; i < next[longest]; ++i) {
    const std::size_t symbol = by_length[i];
    const unsigned bits = lengths[symbol];
    if (bits <= primary) {
      for (std::uint32_t at = code; at < 1U << primary; at += 1U << bits) table.entries[at] = entry_of(symbol) | bits;
    } else {
      // Codes with one beginning follow each other.
      if (const std::uint32_t prefix = low(code, primary); prefix != last_prefix) {
        table.entries[prefix] = goes_on | primary | free << 16;
        last_prefix = prefix;
        free += 1U << rest;
      }
      std::uint32_t* const further = &table.entries[value_of(table.entries[last_prefix])];
      for (std::uint32_t at = code >> primary; at < 1U << rest; at += 1U << (bits - primary)) further[at] = entry_of(symbol) | (bits - primary);
    }
    std::uint32_t bit = 1U << (bits - 1);
    for (; (code & bit) != 0; bit >>= 1) code ^= bit;
    code |= bit;
  }
  return true;
}

// Returns where it ends; may write some bytes behind that.
[[gnu::always_inline]] inline std::uint8_t* copy_match(std::uint8_t* to, std::size_t distance, std::size_t length) {
  const std::uint8_t* from = to - distance;
  std::uint8_t* const end = to + length;
  if (distance >= 8) {
    for (; to < end; to += 8, from += 8) std::memcpy(to, from, 8);
  } else if (distance == 1) {
    std::memset(to, *from, length);
  } else {
    while (to < end) *to++ = *from++;
  }
  return end;
}

template <class Table>
std::uint32_t look_up(const Table& table, std::uint64_t buffer) {
  return table.entries[low(buffer, Table::primary_bits)];
}
template <class Table>
std::uint32_t look_further(const Table& table, std::uint32_t entry, std::uint64_t buffer) {
  return table.entries[value_of(entry) + low(buffer, Table::rest_bits)];
}

}  // namespace

void ZlibBeginning::Bits::refill() {
  for (; count <= 56 && next != end; count += 8) buffer |= std::uint64_t{*next++} << count;
}

void ZlibBeginning::Bits::refill_fast() {
  std::uint64_t more = 0;
  std::memcpy(&more, next, sizeof more);
  buffer |= more << count;
  next += (63 - count) >> 3;
  count |= 56;
}

bool ZlibBeginning::Bits::take(unsigned bits, std::uint32_t& value) {
  if (count < bits) refill();
  if (count < bits) return false;
  value = low(buffer, bits);
  use(bits);
  return true;
}

void ZlibBeginning::begin(std::span<const char> stored, Checksum checksum) {
  checksum_ = checksum;
  const auto* data = reinterpret_cast<const std::uint8_t*>(stored.data());
  bits_ = {data, data + stored.size(), 0, 0};
  made_ = 0;
  is_last_block_ = false;
  state_ = stream_header();
}

ZlibBeginning::State ZlibBeginning::stream_header() {
  std::uint32_t method = 0, flags = 0;
  if (!bits_.take(8, method) || !bits_.take(8, flags)) return State::ended;
  const bool has_dictionary = (flags & 0x20) != 0;
  return (method & 15) == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0 && !has_dictionary ? State::block_header : State::corrupt;
}

bool ZlibBeginning::reach(std::size_t bytes) {
  while (made_ < bytes && state_ != State::ended && state_ != State::corrupt) {
    // What a damaged record asks for is not believed before it is there.
    const std::size_t until = std::min(bytes, std::max(2 * made_, std::size_t{256} << 10));
    if (text_.size() < until + room_behind) text_.resize(until + room_behind);
    switch (state_) {
      case State::block_header:
        state_ = next_block();
        break;
      case State::stored_block:
        state_ = copy_stored(until);
        break;
      case State::coded_block:
        state_ = decode(until);
        break;
      default:
        break;
    }
  }
  return made_ >= bytes || state_ != State::corrupt;
}

ZlibBeginning::State ZlibBeginning::next_block() {
  if (is_last_block_) return check_trailer();
  std::uint32_t last = 0, type = 0;
  if (!bits_.take(1, last) || !bits_.take(2, type)) return State::ended;
  is_last_block_ = last != 0;
  if (type == 3) return State::corrupt;
  if (type == 2) return dynamic_codes();
  if (type == 1) {
    std::array<std::uint8_t, letter_symbols> letters{};
    for (std::uint32_t symbol = 0; symbol < letter_symbols; ++symbol) letters[symbol] = fixed_letter_length(symbol);
    std::array<std::uint8_t, distance_symbols> distances{};
    distances.fill(fixed_distance_length);
    return make_tables(letters, distances) ? State::coded_block : State::corrupt;
  }
  bits_.use(bits_.count % 8);
  std::uint32_t length = 0, complement = 0;
  if (!bits_.take(16, length) || !bits_.take(16, complement)) return State::ended;
  if (length != (complement ^ 0xFFFF)) return State::corrupt;
  stored_left_ = length;
  return State::stored_block;
}

ZlibBeginning::State ZlibBeginning::dynamic_codes() {
  std::uint32_t letters = 0, distances = 0, lengths = 0;
  if (!bits_.take(5, letters) || !bits_.take(5, distances) || !bits_.take(4, lengths)) return State::ended;
  letters += 257, distances += 1, lengths += 4;
  if (letters > 286 || distances > 30) return State::corrupt;
  std::array<std::uint8_t, length_symbols> length_lengths{};
  for (std::uint32_t i = 0; i < lengths; ++i) {
    std::uint32_t length = 0;
    if (!bits_.take(3, length)) return State::ended;
    length_lengths[length_symbol(i)] = static_cast<std::uint8_t>(length);
  }
  CodeTable<7, 7, 0> table;
  const bool is_single = std::all_of(length_lengths.begin(), length_lengths.end(), [](std::uint8_t length) { return length <= 1; }) &&
                         std::count(length_lengths.begin(), length_lengths.end(), 1) == 1;
  const auto entry_of = [](std::size_t symbol) { return static_cast<std::uint32_t>(symbol) << 16; };
  if (is_single || !fill_table(length_lengths, entry_of, table)) return State::corrupt;
  std::array<std::uint8_t, 286 + 30> all{};
  for (std::uint32_t at = 0; at < letters + distances;) {
    bits_.refill();
    const std::uint32_t entry = look_up(table, bits_.buffer);
    if (code_bits(entry) > bits_.count) return State::ended;
    bits_.use(code_bits(entry));
    const std::uint32_t symbol = value_of(entry);
    if (symbol < 16) {
      all[at++] = static_cast<std::uint8_t>(symbol);
      continue;
    }
    std::uint32_t times = 0;
    if (!bits_.take(symbol == 16 ? 2 : symbol == 17 ? 3 : 7, times)) return State::ended;
    times += symbol == 18 ? 11 : 3;
    if ((symbol == 16 && at == 0) || at + times > letters + distances) return State::corrupt;
    std::fill_n(all.begin() + at, times, symbol == 16 ? all[at - 1] : std::uint8_t{0});
    at += times;
  }
  if (all[end_of_block] == 0) return State::corrupt;
  return make_tables(std::span(all).first(letters), std::span(all).subspan(letters, distances)) ? State::coded_block : State::corrupt;
}

bool ZlibBeginning::make_tables(std::span<const std::uint8_t> letter_lengths, std::span<const std::uint8_t> distance_lengths) {
  return fill_table(
             letter_lengths, [](std::size_t symbol) { return letter_entries[symbol]; }, letters_) &&
         fill_table(
             distance_lengths, [](std::size_t symbol) { return distance_entries[symbol]; }, distances_);
}

ZlibBeginning::State ZlibBeginning::copy_stored(std::size_t until) {
  // Whole bytes that have been taken go back.
  bits_.next -= bits_.count / 8;
  bits_.buffer = 0, bits_.count = 0;
  const std::size_t bytes = std::min({stored_left_, until - made_, static_cast<std::size_t>(bits_.end - bits_.next)});
  if (bytes > 0) std::memcpy(text_.data() + made_, bits_.next, bytes);
  bits_.next += bytes;
  made_ += bytes;
  stored_left_ -= bytes;
  if (stored_left_ == 0) return State::block_header;
  return bits_.next == bits_.end ? State::ended : State::stored_block;
}

ZlibBeginning::State ZlibBeginning::decode(std::size_t until) {
  State state = decode_fast(until);
  // The rest of the input, symbol by symbol.
  while (state == State::coded_block && made_ < until) state = decode_symbol();
  return state;
}

// As decode_symbol(), while there is enough input not to ask for every bit.
ZlibBeginning::State ZlibBeginning::decode_fast(std::size_t until) {
  Bits bits = bits_;
  State state = State::coded_block;
  const std::uint8_t* const begin = text_.data();
  std::uint8_t* out = text_.data() + made_;
  const std::uint8_t* const end = begin + until;
  std::uint32_t entry = 0;
  const auto put_letter = [&] {
    *out++ = static_cast<std::uint8_t>(value_of(entry));
    bits.use(code_bits(entry));
  };
  while (out < end && bits.end - bits.next >= input_of_round) {
    bits.refill_fast();
    entry = look_up(letters_, bits.buffer);
    // Four of 11 bits at most.
    int literals = 0;
    for (; (entry & is_literal) != 0 && literals < 4; ++literals) {
      put_letter();
      entry = look_up(letters_, bits.buffer);
    }
    if (literals == 4) continue;
    if (literals > 0) bits.refill_fast();
    // 15 + 5 + 15 + 13 bits at most.
    if ((entry & goes_on) != 0) {
      bits.use(code_bits(entry));
      entry = look_further(letters_, entry, bits.buffer);
      if ((entry & is_literal) != 0) {
        put_letter();
        continue;
      }
    }
    bits.use(code_bits(entry));
    if ((entry & (is_end | is_invalid)) != 0) {
      state = (entry & is_end) != 0 ? State::block_header : State::corrupt;
      break;
    }
    const std::size_t length = value_of(entry) + low(bits.buffer, extra_bits(entry));
    bits.use(extra_bits(entry));
    entry = look_up(distances_, bits.buffer);
    if ((entry & goes_on) != 0) {
      bits.use(code_bits(entry));
      entry = look_further(distances_, entry, bits.buffer);
    }
    bits.use(code_bits(entry));
    const std::size_t distance = value_of(entry) + low(bits.buffer, extra_bits(entry));
    bits.use(extra_bits(entry));
    if ((entry & is_invalid) != 0 || distance > static_cast<std::size_t>(out - begin)) {
      state = State::corrupt;
      break;
    }
    out = copy_match(out, distance, length);
  }
  bits.buffer &= (std::uint64_t{1} << bits.count) - 1;
  bits_ = bits;
  made_ = static_cast<std::size_t>(out - begin);
  return state;
}

ZlibBeginning::State ZlibBeginning::decode_symbol() {
  bits_.refill();
  Bits bits = bits_;
  // A code that is not there as a whole is not looked at.
  const auto next_entry = [&bits](const auto& table, std::uint32_t& entry) {
    entry = look_up(table, bits.buffer);
    if ((entry & goes_on) != 0) {
      if (code_bits(entry) > bits.count) return false;
      bits.use(code_bits(entry));
      entry = look_further(table, entry, bits.buffer);
    }
    if (code_bits(entry) > bits.count) return false;
    bits.use(code_bits(entry));
    return true;
  };
  std::uint32_t entry = 0, more = 0;
  if (!next_entry(letters_, entry)) return State::ended;
  if ((entry & is_literal) != 0) {
    text_[made_++] = static_cast<std::uint8_t>(value_of(entry));
    bits_ = bits;
    return State::coded_block;
  }
  if ((entry & is_invalid) != 0) return State::corrupt;
  if ((entry & is_end) != 0) {
    bits_ = bits;
    return State::block_header;
  }
  if (!bits.take(extra_bits(entry), more)) return State::ended;
  const std::size_t length = value_of(entry) + more;
  if (!next_entry(distances_, entry)) return State::ended;
  if ((entry & is_invalid) != 0) return State::corrupt;
  if (!bits.take(extra_bits(entry), more)) return State::ended;
  const std::size_t distance = value_of(entry) + more;
  if (distance > made_) return State::corrupt;
  bits_ = bits;
  copy_match(text_.data() + made_, distance, length);
  made_ += length;
  return State::coded_block;
}

ZlibBeginning::State ZlibBeginning::check_trailer() {
  bits_.use(bits_.count % 8);
  std::uint32_t checksum = 0;
  for (int i = 0; i < 4; ++i) {
    std::uint32_t byte = 0;
    if (!bits_.take(8, byte)) return State::ended;
    checksum = checksum << 8 | byte;
  }
  return checksum_ == Checksum::ignored || checksum == libdeflate_adler32(1, text_.data(), made_) ? State::ended : State::corrupt;
}

}  // namespace sluice::signal_reader
