// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Decompresses one zlib stream (RFC 1950, 1951) by the 32 lanes of a warp.
//
// A block's codes are taken in windows of 32 stretches of bits, one for each lane. Who begins in the middle of a code reads nonsense, but soon falls
// into step, so each lane begins some codes in front of its stretch; and where a lane ends is where the next one should have begun. Lanes that should
// have begun elsewhere do it again until no beginning moves (32 times at worst), as in the self-synchronising decoder of Weissenberger and Schmidt
// (ICPP 2018). Then each lane knows where the bytes that it makes go: letters are written at once, and matches copied in rounds, each when the bytes
// it repeats are there.
//
// Host and device have the same code, so that tests reach it without a device. What Lanes offers, called by all lanes with the same values but for
// what is per lane:
//   count (32), Value<T>: a T for each lane, value[lane]
//   each(body): body(lane) for every lane; what it writes to memory is seen by all behind it
//   first(body): body() by one of them, seen likewise; from_first(value): what that one has in a variable
//   any(Value<bool>), lowest(Value<bool>): the first lane that is true, or count; at(Value<T>, lane)
//   up(Value<T>): every lane's value one lane further on; sum_before(Value<u32>&): exclusive sums in place, and the sum
//
// It is stricter than it has to be: a stream that is unusual in any way is unresolved, and the caller asks the CPU's decoder, whose answer counts.

#include <cstddef>
#include <cstdint>
#include <sluice/host_device.hpp>

#include "signal_reader/code_book.hpp"
#include "signal_reader/deflate_codes.hpp"

namespace sluice::signal_reader {

SLUICE_HOST_DEVICE constexpr std::uint32_t smaller(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

// A stream's bytes as words of 32 bits, the first of which may begin before it. Behind its end come zeros.
class StreamWords {
 public:
  SLUICE_HOST_DEVICE StreamWords(const std::uint8_t* stream, std::uint32_t bytes)
      : first_bit_(8 * static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream) % 4)),
        words_(reinterpret_cast<const std::uint32_t*>(stream - first_bit_ / 8)),
        whole_((bytes + first_bit_ / 8) / 4),
        rest_((bytes + first_bit_ / 8) % 4) {}
  SLUICE_HOST_DEVICE std::uint32_t operator[](std::uint32_t at) const {
    if (at < whole_) return words_[at];
    std::uint32_t word = 0;
    if (at == whole_)
      for (std::uint32_t i = 0; i < rest_; ++i) word |= std::uint32_t{reinterpret_cast<const std::uint8_t*>(words_ + at)[i]} << (8 * i);
    return word;
  }
  // Of the first word, where the stream begins; of all words, where it ends.
  SLUICE_HOST_DEVICE std::uint32_t first_bit() const { return first_bit_; }
  SLUICE_HOST_DEVICE std::uint64_t end_bit() const { return 32 * std::uint64_t{whole_} + 8 * rest_; }

 private:
  std::uint32_t first_bit_;
  const std::uint32_t* words_;
  std::uint32_t whole_, rest_;
};

// Bits one after the other, the lowest of a word first. At least 32 are there behind refill().
template <class Words>
class BitCursor {
 public:
  SLUICE_HOST_DEVICE BitCursor(const Words& words, std::uint64_t bit) : words_(words), next_(static_cast<std::uint32_t>(bit / 32)) {
    ahead_ = words_[next_++];
    refill();
    use(static_cast<unsigned>(bit % 32));
    refill();
  }
  SLUICE_HOST_DEVICE std::uint64_t buffer() const { return buffer_; }
  SLUICE_HOST_DEVICE void refill() {
    if (count_ >= 32) return;
    buffer_ |= std::uint64_t{ahead_} << count_;
    count_ += 32;
    ahead_ = words_[next_++];
  }
  SLUICE_HOST_DEVICE void use(unsigned bits) { buffer_ >>= bits, count_ -= bits; }
  // Up to 16, which are there.
  SLUICE_HOST_DEVICE std::uint32_t take(unsigned bits) {
    const std::uint32_t value = static_cast<std::uint32_t>(buffer_) & ((1U << bits) - 1);
    use(bits);
    return value;
  }
  SLUICE_HOST_DEVICE std::uint64_t position() const { return 32 * std::uint64_t{next_ - 1} - count_; }

 private:
  const Words& words_;
  std::uint64_t buffer_ = 0;
  std::uint32_t ahead_ = 0, next_;  // the word behind the buffer, and the number of the one behind that
  unsigned count_ = 0;
};

enum class InflateStatus : std::uint32_t { ok, unresolved, no_room };
struct Inflated {
  InflateStatus status = InflateStatus::unresolved;
  std::uint32_t bytes = 0;     // that were made
  std::uint32_t checksum = 0;  // Adler-32 of them, as the stream says
};

// A match that has not been copied: behind so many bytes that its lane makes.
struct PendingMatch {
  std::uint16_t to = 0, length = 0;
  std::uint16_t distance_before = 0;  // distance - 1
};

// Working memory of one stream, 19 KB: on a device a warp's shared memory.
struct InflateMemory {
  static constexpr std::uint32_t lanes = 32;
  // An odd number of words, so that lanes at the same place of their stretches read different banks of shared memory.
  static constexpr std::uint32_t stretch_words = 11, stretch_bits = 32 * stretch_words, words_ahead = 8;
  // What a lane has room for: of a nanopore signal a stretch has some fifty letters, or some twenty matches.
  static constexpr std::uint32_t most_matches = 32, most_letters = 64;
  static_assert(most_matches * longest_match + most_letters <= 0xFFFF);

  CodeBook<10, letter_symbols, 1024> letters;
  CodeBook<8, distance_symbols, 128> distances;
  std::uint8_t lengths[letter_symbols + distance_symbols];
  std::uint32_t words[lanes * stretch_words + words_ahead];
  PendingMatch matches[most_matches][lanes];
  std::uint8_t letters_of[most_letters / 4][lanes][4];
  std::uint32_t begin[lanes + 1];  // of each lane's part of the text
  std::uint32_t done[lanes];       // up to where that part is there
};

// stream: up to 2^30 bytes, of which those of the words at both ends are read, too, in front; text: room for `room` bytes, up to 2^30.
template <class Lanes>
class Inflater {
 public:
  SLUICE_HOST_DEVICE Inflater(Lanes& lanes, const std::uint8_t* stream, std::uint32_t bytes, std::uint8_t* text, std::uint32_t room,
                              InflateMemory& memory)
      : lanes_(lanes), stream_(stream), words_(stream, bytes), text_(text), room_(room), memory_(memory), bit_(words_.first_bit()) {}

  SLUICE_HOST_DEVICE Inflated run() {
    Step step = in_front<&Inflater::stream_header>();
    while (true) {
      if (step == Step::block) {
        step = is_last_ ? Step::end : in_front<&Inflater::block_header>();
      } else if (step == Step::codes) {
        memory_.letters.fill(lanes_, letter_entry);
        memory_.distances.fill(lanes_, distance_entry);
        do step = decode_window();
        while (step == Step::codes);
      } else if (step == Step::stored) {
        step = copy_stored();
      } else {
        break;
      }
    }
    if (step == Step::end) return trailer();
    return {step == Step::no_room ? InflateStatus::no_room : InflateStatus::unresolved, at_, 0};
  }

 private:
  enum class Step : std::uint32_t { block, codes, stored, end, unresolved, no_room };
  using Flags = typename Lanes::template Value<bool>;
  using Numbers = typename Lanes::template Value<std::uint32_t>;

  // ---- what is read bit by bit: by one lane, from bit_ on
  using Bits = BitCursor<StreamWords>;
  template <Step (Inflater::*read)(Bits&)>
  SLUICE_HOST_DEVICE Step in_front() {
    Step step = Step::unresolved;
    lanes_.first([&] {
      Bits bits(words_, bit_);
      step = (this->*read)(bits);
      bit_ = bits.position();
      if (bit_ > words_.end_bit()) step = Step::unresolved;
    });
    bit_ = lanes_.from_first(bit_);
    is_last_ = lanes_.from_first(is_last_ ? 1U : 0U) != 0;
    return static_cast<Step>(lanes_.from_first(static_cast<std::uint32_t>(step)));
  }
  SLUICE_HOST_DEVICE Step stream_header(Bits& bits) {
    const std::uint32_t method = bits.take(8), flags = bits.take(8);
    const bool has_dictionary = (flags & 0x20) != 0;
    return (method & 15) == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0 && !has_dictionary ? Step::block : Step::unresolved;
  }
  SLUICE_HOST_DEVICE Step block_header(Bits& bits) {
    is_last_ = bits.take(1) != 0;
    const std::uint32_t type = bits.take(2);
    if (type == 0) return Step::stored;
    if (type == 3) return Step::unresolved;
    return (type == 1 ? fixed_codes() : dynamic_codes(bits)) ? Step::codes : Step::unresolved;
  }
  SLUICE_HOST_DEVICE bool fixed_codes() {
    std::uint8_t* const lengths = memory_.lengths;
    for (std::uint32_t symbol = 0; symbol < letter_symbols; ++symbol) lengths[symbol] = fixed_letter_length(symbol);
    for (std::uint32_t symbol = 0; symbol < distance_symbols; ++symbol) lengths[letter_symbols + symbol] = fixed_distance_length;
    return memory_.letters.order(lengths, letter_symbols) && memory_.distances.order(lengths + letter_symbols, distance_symbols);
  }
  SLUICE_HOST_DEVICE bool dynamic_codes(Bits& bits) {
    bits.refill();
    std::uint8_t* const lengths = memory_.lengths;
    const std::uint32_t letters = 257 + bits.take(5), distances = 1 + bits.take(5), count = 4 + bits.take(4);
    if (letters > 286 || distances > 30) return false;
    for (std::uint32_t i = 0; i < length_symbols; ++i) lengths[i] = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      bits.refill();
      lengths[length_symbol(i)] = static_cast<std::uint8_t>(bits.take(3));
    }
    // The book of distances is not needed yet.
    auto& book = memory_.distances;
    if (!book.order(lengths, length_symbols) || book.codes() < 2) return false;
    const auto symbol_entry = [](std::uint32_t symbol) { return symbol << 16; };
    std::uint8_t before = 0;
    for (std::uint32_t at = 0; at < letters + distances;) {
      bits.refill();
      const std::uint32_t entry = book.search(bits.buffer(), 1, symbol_entry);
      if (entry == is_invalid) return false;
      bits.use(code_bits(entry));
      std::uint32_t times = 1;
      const std::uint32_t symbol = value_of(entry);
      if (symbol == 16 && at == 0) return false;
      if (symbol >= 16) times = symbol == 18 ? 11 + bits.take(7) : 3 + bits.take(symbol == 16 ? 2 : 3);
      if (symbol != 16) before = symbol > 16 ? 0 : static_cast<std::uint8_t>(symbol);
      if (at + times > letters + distances) return false;
      for (; times > 0; --times) lengths[at++] = before;
    }
    return lengths[end_of_block] != 0 && memory_.letters.order(lengths, letters) && memory_.distances.order(lengths + letters, distances);
  }
  SLUICE_HOST_DEVICE Inflated trailer() {
    std::uint32_t checksum = 0;
    bit_ = (bit_ + 7) / 8 * 8;
    lanes_.first([&] {
      Bits bits(words_, bit_);
      for (int i = 0; i < 4; ++i) checksum = checksum << 8 | bits.take(8);
    });
    return {bit_ + 32 == words_.end_bit() ? InflateStatus::ok : InflateStatus::unresolved, at_, lanes_.from_first(checksum)};
  }

  SLUICE_HOST_DEVICE Step copy_stored() {
    bit_ = (bit_ + 7) / 8 * 8;
    std::uint32_t lengths = 0;
    lanes_.first([&] {
      Bits bits(words_, bit_);
      lengths = bits.take(16);
      lengths |= bits.take(16) << 16;
    });
    lengths = lanes_.from_first(lengths);
    const std::uint32_t length = lengths & 0xFFFF;
    bit_ += 32;
    if (length != (lengths >> 16 ^ 0xFFFF) || bit_ + 8 * std::uint64_t{length} > words_.end_bit()) return Step::unresolved;
    if (length > room_ - at_) return Step::no_room;
    const std::uint8_t* const from = stream_ + (bit_ - words_.first_bit()) / 8;
    lanes_.each([&](std::uint32_t lane) {
      for (std::uint32_t i = lane; i < length; i += Lanes::count) text_[at_ + i] = from[i];
    });
    bit_ += 8 * std::uint64_t{length};
    at_ += length;
    return Step::block;
  }

  // ---- a window of codes
  // A lane begins so much in front of its stretch: some twenty codes.
  static constexpr std::uint32_t bits_in_front = 160;
  struct WindowWords {
    const std::uint32_t* words;
    SLUICE_HOST_DEVICE std::uint32_t operator[](std::uint32_t at) const { return words[at]; }
  };
  // What a lane makes of its stretch: its letters and matches lie in memory_.
  struct Stretch {
    std::uint32_t end = 0;    // the bit behind its last code
    std::uint32_t bytes = 0;  // that it makes
    std::uint16_t letters = 0, matches = 0;
    std::uint32_t mark = none;
  };
  // Why a lane has ended before its stretch did.
  static constexpr std::uint32_t none = 0, ended = 1, broken = 2, full = 3;

  // Codes that begin in bits [from, until) of the window, up to the block's end, or as many as there is room for.
  template <bool keeps>
  SLUICE_HOST_DEVICE Stretch read(std::uint32_t lane, std::uint32_t from, std::uint32_t until) {
    const WindowWords window{memory_.words};
    BitCursor<WindowWords> bits(window, from);
    Stretch made;
    while (true) {
      made.end = static_cast<std::uint32_t>(bits.position());
      if (made.end >= until) return made;
      std::uint32_t entry = memory_.letters.look_up(bits.buffer(), letter_entry);
      bits.use(code_bits(entry));
      if ((entry & is_literal) != 0) {
        if (keeps) {
          if (made.letters == InflateMemory::most_letters) return made.mark = full, made;
          letter(lane, made.letters++) = static_cast<std::uint8_t>(value_of(entry));
        }
        ++made.bytes;
        bits.refill();
        continue;
      }
      if ((entry & (is_end | is_invalid)) != 0) {
        made.end = static_cast<std::uint32_t>(bits.position());
        return made.mark = (entry & is_end) != 0 ? ended : broken, made;
      }
      const std::uint32_t length = value_of(entry) + bits.take(extra_bits(entry));
      bits.refill();
      entry = memory_.distances.look_up(bits.buffer(), distance_entry);
      bits.use(code_bits(entry));
      const std::uint32_t distance = value_of(entry) + bits.take(extra_bits(entry));
      if ((entry & is_invalid) != 0) return made.mark = broken, made;
      if (keeps) {
        if (made.matches == InflateMemory::most_matches) return made.mark = full, made;
        memory_.matches[made.matches++][lane] = {static_cast<std::uint16_t>(made.bytes), static_cast<std::uint16_t>(length),
                                                 static_cast<std::uint16_t>(distance - 1)};
      }
      made.bytes += length;
      bits.refill();
    }
  }
  SLUICE_HOST_DEVICE std::uint8_t& letter(std::uint32_t lane, std::uint32_t i) { return memory_.letters_of[i / 4][lane][i % 4]; }

  SLUICE_HOST_DEVICE Step decode_window() {
    if (bit_ >= words_.end_bit()) return Step::unresolved;
    const auto first_word = static_cast<std::uint32_t>(bit_ / 32);
    lanes_.each([&](std::uint32_t lane) {
      for (std::uint32_t i = lane; i < sizeof memory_.words / 4; i += Lanes::count) memory_.words[i] = words_[first_word + i];
    });
    find_stretches(static_cast<std::uint32_t>(bit_ % 32));
    const std::uint32_t marked = lanes_.lowest(marked_), last = smaller(marked, Lanes::count - 1);
    const Stretch end = lanes_.at(stretch_, last);
    if (end.mark == broken) return Step::unresolved;
    Numbers begin;
    lanes_.each([&](std::uint32_t lane) {
      if (lane > last) stretch_[lane] = Stretch();
      begin[lane] = stretch_[lane].bytes;
    });
    const std::uint32_t bytes = lanes_.sum_before(begin);
    if (bytes > room_ - at_) return Step::no_room;
    lanes_.each([&](std::uint32_t lane) {
      memory_.begin[lane] = at_ + begin[lane];
      if (lane == 0) memory_.begin[Lanes::count] = at_ + bytes;
    });
    if (!write_letters()) return Step::unresolved;
    copy_matches();
    at_ += bytes;
    bit_ = 32 * std::uint64_t{first_word} + end.end;
    return end.mark == ended ? Step::block : Step::codes;
  }

  // Where each lane's first code begins, and what it makes of them.
  SLUICE_HOST_DEVICE void find_stretches(std::uint32_t first_bit) {
    Numbers from, next;
    Flags moves;
    lanes_.each([&](std::uint32_t lane) {
      from[lane] = first_bit + lane * InflateMemory::stretch_bits;
      if (lane > 0) {
        const Stretch in_front = read<false>(lane, from[lane] - bits_in_front, from[lane]);
        if (in_front.mark == none) from[lane] = in_front.end;
      }
      moves[lane] = true;
    });
    do {
      lanes_.each([&](std::uint32_t lane) {
        const std::uint32_t until = first_bit + (lane + 1) * InflateMemory::stretch_bits;
        if (moves[lane]) stretch_[lane] = read<true>(lane, from[lane], until);
        marked_[lane] = stretch_[lane].mark != none;
        // Nonsense may seem to end the block: then the next lane stays where it is.
        next[lane] = stretch_[lane].end;
      });
      next = lanes_.up(next);
      const Flags before = lanes_.up(marked_);
      lanes_.each([&](std::uint32_t lane) {
        moves[lane] = lane > 0 && !before[lane] && next[lane] != from[lane];
        if (moves[lane]) from[lane] = next[lane];
      });
    } while (lanes_.any(moves));
  }

  // False where a match repeats what is in front of the text.
  SLUICE_HOST_DEVICE bool write_letters() {
    Flags is_broken;
    lanes_.each([&](std::uint32_t lane) {
      const Stretch& made = stretch_[lane];
      const std::uint32_t begin = memory_.begin[lane];
      std::uint8_t* const to = text_ + begin;
      is_broken[lane] = false;
      std::uint32_t match = 0, letters = 0;
      PendingMatch next = memory_.matches[0][lane];
      for (std::uint32_t at = 0; at < made.bytes;) {
        if (match < made.matches && at == next.to) {
          is_broken[lane] = is_broken[lane] || next.distance_before >= begin + at;
          at += next.length;
          if (++match < made.matches) next = memory_.matches[match][lane];
        } else {
          to[at++] = letter(lane, letters++);
        }
      }
    });
    return !lanes_.any(is_broken);
  }

  // ---- matches
  static constexpr std::uint32_t short_match = 8;

  SLUICE_HOST_DEVICE void copy_matches() {
    Numbers taken;
    Flags waits, is_long;
    lanes_.each([&](std::uint32_t lane) {
      taken[lane] = 0;
      waits[lane] = stretch_[lane].matches > 0;
    });
    while (lanes_.any(waits)) {
      lanes_.each([&](std::uint32_t lane) { memory_.done[lane] = waits[lane] ? copy_of(lane, taken[lane]).to : memory_.begin[lane + 1]; });
      lanes_.each([&](std::uint32_t lane) {
        is_long[lane] = false;
        if (!waits[lane]) return;
        const Copy match = copy_of(lane, taken[lane]);
        if (!is_there(match, lane)) return;
        is_long[lane] = match.length > short_match;
        if (!is_long[lane]) copy_short(match);
        waits[lane] = ++taken[lane] < stretch_[lane].matches;
      });
      for (std::uint32_t lane = lanes_.lowest(is_long); lane < Lanes::count; lane = lanes_.lowest(is_long)) {
        copy_long(copy_of(lane, lanes_.at(taken, lane) - 1));
        lanes_.each([&](std::uint32_t own) { is_long[own] = is_long[own] && own != lane; });
      }
    }
  }
  struct Copy {
    std::uint32_t to, length, distance;  // `to`: in the text
  };
  SLUICE_HOST_DEVICE Copy copy_of(std::uint32_t lane, std::uint32_t i) const {
    const PendingMatch match = memory_.matches[i][lane];
    return {memory_.begin[lane] + match.to, match.length, match.distance_before + 1U};
  }
  // Whether all bytes that a match of the lane repeats are there.
  SLUICE_HOST_DEVICE bool is_there(const Copy& match, std::uint32_t lane) const {
    std::uint32_t from = match.to - match.distance;
    const std::uint32_t end = from + smaller(match.length, match.distance);
    if (end <= memory_.begin[0] || from >= memory_.begin[lane]) return true;
    std::uint32_t owner = 0;  // of byte `from`: the last lane that begins there or before
    for (std::uint32_t step = Lanes::count / 2; step > 0; step /= 2)
      if (memory_.begin[owner + step] <= from) owner += step;
    for (; from < end; from = memory_.begin[++owner])
      if (memory_.done[owner] < smaller(end, memory_.begin[owner + 1])) return false;
    return true;
  }
  SLUICE_HOST_DEVICE void copy_short(const Copy& match) {
    std::uint8_t* const to = text_ + match.to;
    const std::uint8_t* const from = to - match.distance;
    std::uint8_t bytes[short_match];
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < short_match; ++i) {
      if (i < match.length) bytes[i] = from[at];
      at = at + 1 == match.distance ? 0 : at + 1;
    }
    for (std::uint32_t i = 0; i < short_match; ++i)
      if (i < match.length) to[i] = bytes[i];
  }
  SLUICE_HOST_DEVICE void copy_long(const Copy& match) {
    std::uint8_t* const to = text_ + match.to;
    lanes_.each([&](std::uint32_t lane) {
      for (std::uint32_t i = lane; i < match.length; i += Lanes::count) to[i] = *(to - match.distance + i % match.distance);
    });
  }

  Lanes& lanes_;
  const std::uint8_t* stream_;
  StreamWords words_;
  std::uint8_t* text_;
  std::uint32_t room_;
  InflateMemory& memory_;
  std::uint64_t bit_;  // of words_: what comes next
  std::uint32_t at_ = 0;
  bool is_last_ = false;
  typename Lanes::template Value<Stretch> stretch_;
  Flags marked_;
};

}  // namespace sluice::signal_reader
