// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// DEFLATE (RFC 1951) of text in sections, each with a code of its own. Bases and qualities of long reads hardly ever repeat: what can be saved is
// that some letters are rarer than others, and that differs between bases, qualities and what stands between them. A search for repetitions, which
// takes nearly all of the time of other programs, is made in the sections in between only.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sluice/hts/prefix_code.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::hts {

// A section goes to where the next one begins.
struct TextSection {
  enum class Kind : std::uint32_t { mixed, bases, qualities };  // of one read
  std::uint64_t begin = 0;
  Kind kind = Kind::mixed;
  std::uint32_t unused = 0;  // no padding: sections are saved
};

// Not thread-safe: one for each thread.
class SectionDeflater {
 public:
  static constexpr std::size_t most_text = 0xFFFF;

  // Writes at most `room` bytes to `out`. sections: of the text, by their begin; the first begins at 0. Returns the bytes written; 0 if this is no
  // text for it: one of short reads, one that repeats itself, or one that has no room.
  std::size_t deflate(std::string_view text, std::span<const TextSection> sections, char* out, std::size_t room) {
    if (text.empty() || text.size() > most_text || sections.size() * least_mean_section > text.size() || room <= spare_bytes) return 0;
    text_ = text;
    set_pieces(sections);
    if (repeats_itself()) return 0;
    bits_.begin(out, room - spare_bytes);
    table_.fill(0);
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (!add_piece(pieces_[i], i + 1 == pieces_.size())) return 0;
    return bits_.finish();
  }

 private:
  // A section's code takes some 60 bytes.
  static constexpr std::size_t least_mean_section = 1024;
  static constexpr std::size_t spare_bytes = 16;  // the bits are stored eight bytes at a time
  static constexpr std::size_t end_of_block = 256, least_match = 3, most_match = 258, most_distance = 32768;
  // So that four letters and what is left of the byte before fit in 64 bits.
  static constexpr std::size_t longest_code = 14, longest_length_code = 7;
  static constexpr std::array<std::uint8_t, 19> length_code_order = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

  class Bits {
   public:
    void begin(char* out, std::size_t room) {
      out_ = first_ = out;
      room_bits_ = std::uint64_t{room} * 8;
      held_ = 0;
      count_ = 0;
    }
    bool has_room(std::uint64_t bits) const { return static_cast<std::uint64_t>(out_ - first_) * 8 + count_ + bits <= room_bits_; }
    // At most 56 bits between two calls of store().
    void add(std::uint64_t bits, std::uint32_t count) {
      held_ |= bits << count_;
      count_ += count;
    }
    void add(PrefixCode::Entry entry) { add(entry.bits, entry.length); }
    void store() {
      std::memcpy(out_, &held_, sizeof held_);
      out_ += count_ >> 3;
      held_ >>= count_ & ~7U;
      count_ &= 7U;
    }
    std::size_t finish() {
      store();
      return static_cast<std::size_t>(out_ - first_) + (count_ > 0 ? 1 : 0);
    }

   private:
    char *out_ = nullptr, *first_ = nullptr;
    std::uint64_t room_bits_ = 0, held_ = 0;
    std::uint32_t count_ = 0;
  };
  static_assert(std::endian::native == std::endian::little);

  // Letters, then a match of `length` bytes as they stand `distance` bytes before; length 0: the letters end the section.
  struct Run {
    std::uint32_t letters = 0;
    std::uint16_t length = 0;
    std::uint16_t distance_less_1 = 0;
  };
  // A symbol with bits behind it.
  struct Extended {
    std::uint32_t symbol = 0, bits = 0, extra = 0;
  };
  static Extended length_symbol(std::uint32_t length) {
    const std::uint32_t over = length - least_match;
    if (over == most_match - least_match) return {285, 0, 0};
    if (over < 8) return {257 + over, 0, 0};
    const auto width = static_cast<std::uint32_t>(std::bit_width(over)) - 1, extra = width - 2;
    return {257 + 4 * (width - 1) + ((over >> extra) & 3U), over & ((1U << extra) - 1), extra};
  }
  static Extended distance_symbol(std::uint32_t distance_less_1) {
    if (distance_less_1 < 2) return {distance_less_1, 0, 0};
    const auto width = static_cast<std::uint32_t>(std::bit_width(distance_less_1)) - 1, extra = width - 1;
    return {2 * width + ((distance_less_1 >> extra) & 1U), distance_less_1 & ((1U << extra) - 1), extra};
  }

  template <class T>
  T load(std::size_t at) const {
    T value;
    std::memcpy(&value, text_.data() + at, sizeof value);
    return value;
  }
  std::uint8_t byte(std::size_t at) const { return static_cast<std::uint8_t>(text_[at]); }
  struct Piece {
    std::size_t begin, end;
    TextSection::Kind kind;
  };
  void set_pieces(std::span<const TextSection> sections) {
    pieces_.clear();
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const auto begin = static_cast<std::size_t>(sections[i].begin);
      const std::size_t end = i + 1 < sections.size() ? static_cast<std::size_t>(sections[i + 1].begin) : text_.size();
      if (begin < end) pieces_.push_back({begin, end, sections[i].kind});
    }
  }

  // Do bases occur again so often that a search pays, as where reads lie above each other? Looks at one place in 32, chosen by what
  // stands there, so that the same stretch is chosen wherever it lies.
  bool repeats_itself() {
    constexpr std::size_t stretch = sizeof(std::uint64_t);
    table_.fill(0);
    std::size_t chosen = 0, again = 0;
    for (const Piece& piece : pieces_) {
      if (piece.kind != TextSection::Kind::bases) continue;
      for (std::size_t at = piece.begin; at + stretch <= piece.end; ++at) {
        const auto here = load<std::uint64_t>(at);
        const std::uint64_t hash = here * 0x9E3779B97F4A7C15U;
        if ((hash >> 40 & 31U) != 0) continue;
        std::uint16_t& before = table_[static_cast<std::size_t>(hash >> (64 - table_bits))];
        ++chosen;
        if (load<std::uint64_t>(before) == here && before != at) ++again;
        before = static_cast<std::uint16_t>(at);
      }
    }
    return again * 16 > chosen;
  }

  bool add_piece(const Piece& piece, bool is_last) {
    runs_.clear();
    std::array<std::uint32_t, PrefixCode::most_symbols> counts{};
    std::array<std::uint32_t, 30> distances{};
    std::uint64_t bits = 0;
    const std::size_t size = piece.end - piece.begin;
    if (piece.kind != TextSection::Kind::mixed) count_letters(piece, counts);
    const bool is_one_letter = counts[byte(piece.begin)] == size;
    if (piece.kind != TextSection::Kind::mixed && !is_one_letter) {
      runs_.push_back({static_cast<std::uint32_t>(size), 0, 0});
    } else {
      counts.fill(0);
      find_matches(piece.begin, piece.end);
      bits = count_runs(piece.begin, counts, distances);
    }
    counts[end_of_block] = 1;
    letters_.make(counts, longest_code);
    distances_.make(distances, longest_code);
    make_length_codes();
    bits += 3 + 14 + 3 * length_codes_end() + length_bits_;
    for (std::size_t symbol = 0; symbol < counts.size(); ++symbol) bits += std::uint64_t{counts[symbol]} * letters_[symbol].length;
    for (std::size_t symbol = 0; symbol < distances.size(); ++symbol) bits += std::uint64_t{distances[symbol]} * distances_[symbol].length;
    // Few bits a letter: then most are alike, and a good search finds runs of them.
    if (runs_.size() == 1 && bits < 2 * std::uint64_t{size}) return false;
    if (!bits_.has_room(bits)) return false;
    bits_.add(is_last ? 1 : 0, 1);
    bits_.add(2, 2);
    write_lengths();
    std::size_t at = piece.begin;
    for (const Run& run : runs_) write_run(run, at);
    bits_.add(letters_[end_of_block]);
    bits_.store();
    return true;
  }

  // Several counts of each letter, as those of equal neighbours would wait for each other.
  void count_letters(const Piece& piece, std::array<std::uint32_t, PrefixCode::most_symbols>& counts) const {
    std::array<std::array<std::uint32_t, 256>, 4> parts{};
    std::size_t at = piece.begin;
    for (; at + 4 <= piece.end; at += 4)
      for (std::size_t part = 0; part < 4; ++part) ++parts[part][byte(at + part)];
    for (; at < piece.end; ++at) ++parts[0][byte(at)];
    for (std::size_t letter = 0; letter < 256; ++letter)
      for (const auto& part : parts) counts[letter] += part[letter];
  }

  std::size_t match_length(std::size_t at, std::size_t before, std::size_t end) const {
    const std::size_t most = std::min(end - at, most_match);
    std::size_t length = 0;
    for (; length + sizeof(std::uint64_t) <= most; length += sizeof(std::uint64_t))
      if (const std::uint64_t other = load<std::uint64_t>(at + length) ^ load<std::uint64_t>(before + length); other != 0)
        return length + static_cast<std::size_t>(std::countr_zero(other)) / 8;
    while (length < most && byte(at + length) == byte(before + length)) ++length;
    return length;
  }
  // Greedy: the last place with the same four bytes, and four bytes before, where CIGARs have the operation before.
  void find_matches(std::size_t begin, std::size_t end) {
    constexpr std::size_t word = sizeof(std::uint32_t), worth_a_distance = 5;
    std::size_t letters_from = begin, at = begin;
    const auto take = [&](std::size_t length, std::size_t before) {
      runs_.push_back(
          {static_cast<std::uint32_t>(at - letters_from), static_cast<std::uint16_t>(length), static_cast<std::uint16_t>(at - before - 1)});
      at += length;
      letters_from = at;
    };
    while (at + word <= end) {
      std::uint16_t& entry = place_of(at);
      const std::size_t before = entry;
      entry = static_cast<std::uint16_t>(at);
      const std::size_t near = at >= word ? match_length(at, at - word, end) : 0;
      const bool may_match = before < at && at - before <= most_distance && load<std::uint32_t>(before) == load<std::uint32_t>(at);
      const std::size_t far = may_match ? match_length(at, before, end) : 0;
      if (far >= worth_a_distance && far > near + 2)
        take(far, before);
      else if (near >= least_match)
        take(near, at - word);
      else
        ++at;
    }
    runs_.push_back({static_cast<std::uint32_t>(end - letters_from), 0, 0});
  }
  std::uint16_t& place_of(std::size_t at) { return table_[load<std::uint32_t>(at) * 0x9E3779B1U >> (32 - table_bits)]; }

  // Returns the bits behind symbols.
  std::uint64_t count_runs(std::size_t at, std::array<std::uint32_t, PrefixCode::most_symbols>& counts,
                           std::array<std::uint32_t, 30>& distances) const {
    std::uint64_t bits = 0;
    for (const Run& run : runs_) {
      for (const std::size_t end = at + run.letters; at < end; ++at) ++counts[byte(at)];
      if (run.length == 0) continue;
      const Extended length = length_symbol(run.length), distance = distance_symbol(run.distance_less_1);
      ++counts[length.symbol];
      ++distances[distance.symbol];
      bits += length.extra + distance.extra;
      at += run.length;
    }
    return bits;
  }
  void write_run(const Run& run, std::size_t& at) {
    write_letters(at, at + run.letters);
    at += run.letters;
    if (run.length == 0) return;
    const Extended length = length_symbol(run.length), distance = distance_symbol(run.distance_less_1);
    bits_.add(letters_[length.symbol]);
    bits_.add(length.bits, length.extra);
    bits_.add(distances_[distance.symbol]);
    bits_.add(distance.bits, distance.extra);
    bits_.store();
    at += run.length;
  }

  void write_letters(std::size_t at, std::size_t end) {
    Bits bits = bits_;  // a copy: bytes that are written through a pointer could be any member's
    for (; at + 4 <= end; at += 4) {
      for (std::size_t i = 0; i < 4; ++i) bits.add(letters_[byte(at + i)]);
      bits.store();
    }
    for (; at < end; ++at) bits.add(letters_[byte(at)]);
    bits.store();
    bits_ = bits;
  }

  // ---- the lengths of both codes, which come before what they code (section 3.2.7)

  // A length, or how often the one before (16) or zero (17, 18) comes again.
  struct LengthSymbol {
    std::uint8_t symbol, bits, extra;
  };
  void make_length_codes() {
    lengths_.clear();
    letters_end_ = letters_.end();
    distances_end_ = std::max<std::size_t>(distances_.end(), 1);
    std::array<std::uint8_t, PrefixCode::most_symbols + 30> all;
    for (std::size_t i = 0; i < letters_end_; ++i) all[i] = static_cast<std::uint8_t>(letters_[i].length);
    for (std::size_t i = 0; i < distances_end_; ++i) all[letters_end_ + i] = static_cast<std::uint8_t>(distances_[i].length);
    const std::size_t end = letters_end_ + distances_end_;
    for (std::size_t at = 0; at < end;) {
      std::size_t same = 1;
      while (at + same < end && all[at + same] == all[at]) ++same;
      add_lengths(all[at], same);
      at += same;
    }
    std::array<std::uint32_t, length_code_order.size()> counts{};
    for (const LengthSymbol& length : lengths_) ++counts[length.symbol];
    length_code_.make(counts, longest_length_code);
    length_bits_ = 0;
    for (const LengthSymbol& length : lengths_) length_bits_ += length_code_[length.symbol].length + std::uint64_t{length.extra};
  }
  void add_lengths(std::uint8_t length, std::size_t count) {
    const auto repeat = [&](std::uint8_t symbol, std::size_t least, std::size_t most, std::uint8_t extra) {
      while (count >= least) {
        const std::size_t some = std::min(count, most);
        lengths_.push_back({symbol, static_cast<std::uint8_t>(some - least), extra});
        count -= some;
      }
    };
    if (length == 0) {
      repeat(18, 11, 138, 7);
      repeat(17, 3, 10, 3);
    } else {
      lengths_.push_back({length, 0, 0});
      --count;
      repeat(16, 3, 6, 2);
    }
    for (; count > 0; --count) lengths_.push_back({length, 0, 0});
  }
  std::size_t length_codes_end() const {
    std::size_t end = length_code_order.size();
    while (end > 4 && length_code_[length_code_order[end - 1]].length == 0) --end;
    return end;
  }
  void write_lengths() {
    const std::size_t end = length_codes_end();
    bits_.add(letters_end_ - 257, 5);
    bits_.add(distances_end_ - 1, 5);
    bits_.add(end - 4, 4);
    bits_.store();
    for (std::size_t i = 0; i < end; ++i) {
      bits_.add(length_code_[length_code_order[i]].length, 3);
      bits_.store();
    }
    for (const LengthSymbol& length : lengths_) {
      bits_.add(length_code_[length.symbol]);
      bits_.add(length.bits, length.extra);
      bits_.store();
    }
  }

  static constexpr int table_bits = 12;
  std::string_view text_;
  Bits bits_;
  std::array<std::uint16_t, std::size_t{1} << table_bits> table_{};
  std::vector<Piece> pieces_;
  std::vector<Run> runs_;
  PrefixCode letters_, distances_, length_code_;
  std::vector<LengthSymbol> lengths_;
  std::size_t letters_end_ = 0, distances_end_ = 0;
  std::uint64_t length_bits_ = 0;
};

// Appends the sections of a BAM record (SAM specification, section 4.2), which will stand at `at`. What does not fit it is mixed.
inline void append_record_sections(std::string_view record, std::uint64_t at, std::vector<TextSection>& sections) {
  constexpr std::size_t fixed_bytes = 36;
  if (sections.empty() || sections.back().kind != TextSection::Kind::mixed) sections.push_back({at, TextSection::Kind::mixed});
  if (record.size() < fixed_bytes) return;
  std::uint16_t operations = 0;
  std::uint32_t bases = 0;
  std::memcpy(&operations, record.data() + 16, sizeof operations);
  std::memcpy(&bases, record.data() + 20, sizeof bases);
  const std::size_t sequence = fixed_bytes + static_cast<std::uint8_t>(record[12]) + std::size_t{operations} * sizeof(std::uint32_t);
  const std::size_t qualities = sequence + (std::size_t{bases} + 1) / 2, tags = qualities + bases;
  if (bases == 0 || tags > record.size()) return;
  sections.push_back({at + sequence, TextSection::Kind::bases});
  sections.push_back({at + qualities, TextSection::Kind::qualities});
  sections.push_back({at + tags, TextSection::Kind::mixed});
}

}  // namespace sluice::hts
