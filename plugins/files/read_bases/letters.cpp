// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/letters.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <sluice/sequence/bases.hpp>

// AVX-512, AVX2, SSE4, plain code: the others have nothing that these loops could use.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "read_bases/letters.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::read_bases {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Byte = std::uint8_t;
// 32 bytes at most: lines of wrapped FASTA have 60 to 80, and memory is the limit of longer ones.
using Bytes = hn::CappedTag<Byte, 32>;
using HalfBytes = hn::CappedTag<Byte, 16>;

const Byte* bytes_of(const char* text) { return reinterpret_cast<const Byte*>(text); }

// Bit i: whether character i is a newline.
template <class D>
HWY_INLINE std::uint64_t newline_bits(D d, const Byte* text) {
  Byte bits[8] = {};
  hn::StoreMaskBits(d, hn::Eq(hn::LoadU(d, text), hn::Set(d, '\n')), bits);
  std::uint64_t word = 0;
  std::memcpy(&word, bits, sizeof word);
  return word;
}

std::size_t find_line_ends(const char* text, std::size_t size, std::vector<LineEnd>& ends) {
  const Bytes d;
  const std::size_t lanes = hn::Lanes(d);
  const Byte* const from = bytes_of(text);
  std::size_t found = 0;
  const auto add = [&](std::size_t at) {
    LineEnd& end = ends[found++];
    end.at = at & (largest_piece - 1);
    end.after_return = at > 0 && text[at - 1] == '\r';
    end.next = at + 1 < size ? from[at + 1] : Byte{0};
  };
  const auto add_bits = [&](std::uint64_t bits, std::size_t begin) {
    for (; bits != 0; bits &= bits - 1) add(begin + static_cast<std::size_t>(std::countr_zero(bits)));
  };
  const auto newline = hn::Set(d, '\n');
  std::size_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    // Lines of long reads are much longer than this.
    const auto any = hn::Or(
        hn::Or(hn::VecFromMask(d, hn::Eq(hn::LoadU(d, from + i), newline)), hn::VecFromMask(d, hn::Eq(hn::LoadU(d, from + i + lanes), newline))),
        hn::Or(hn::VecFromMask(d, hn::Eq(hn::LoadU(d, from + i + 2 * lanes), newline)),
               hn::VecFromMask(d, hn::Eq(hn::LoadU(d, from + i + 3 * lanes), newline))));
    if (hn::AllTrue(d, hn::Eq(any, hn::Zero(d)))) continue;
    if (ends.size() < found + 4 * lanes) ends.resize(2 * ends.size() + 4 * lanes);
    for (std::size_t part = 0; part < 4; ++part) add_bits(newline_bits(d, from + i + part * lanes), i + part * lanes);
  }
  if (ends.size() < found + (size - i)) ends.resize(found + (size - i));
  for (; i < size; ++i)
    if (text[i] == '\n') add(i);
  return found;
}

// What becomes of the letters 0x40 to 0x5F, and of 0x60 to 0x7F: 0 for what is no base.
alignas(32) constexpr auto normal_letters = [] {
  std::array<Byte, 32> letters{};
  for (std::size_t i = 0; i < letters.size(); ++i) letters[i] = static_cast<Byte>(normal_bases[0x40 + i]);
  return letters;
}();

// Each takes a vector of characters and says what is written for them; `bad` has a lane that is not 0 where one must not be there.
struct Bases {
  template <class D, class V>
  static HWY_INLINE V convert(D d, V letters, V& bad) {
    const auto place = hn::And(letters, hn::Set(d, 0x0F));
    const auto first = hn::TableLookupBytes(hn::LoadDup128(d, normal_letters.data()), place);
    const auto second = hn::TableLookupBytes(hn::LoadDup128(d, normal_letters.data() + 16), place);
    const auto normal = hn::IfThenElse(hn::TestBit(letters, hn::Set(d, 0x10)), second, first);
    const auto row = hn::And(letters, hn::Set(d, 0xC0));
    const auto is_none = hn::Or(hn::Eq(normal, hn::Zero(d)), hn::Ne(row, hn::Set(d, 0x40)));
    bad = hn::Or(bad, hn::VecFromMask(d, is_none));
    return normal;
  }
  static HWY_INLINE Byte convert(Byte letter, bool& bad) {
    const char normal = normal_bases[letter];
    bad |= normal == '\0';
    return static_cast<Byte>(normal);
  }
};
struct Qualities {
  template <class D, class V>
  static HWY_INLINE V convert(D d, V letters, V& bad) {
    // x - '!' is above '~' - '!' iff the larger of both is not the bound.
    const auto bound = hn::Set(d, '~' - '!');
    const auto above = hn::Ne(hn::Max(hn::Sub(letters, hn::Set(d, '!')), bound), bound);
    bad = hn::Or(bad, hn::VecFromMask(d, above));
    return letters;
  }
  static HWY_INLINE Byte convert(Byte letter, bool& bad) {
    bad |= letter < '!' || letter > '~';
    return letter;
  }
};

// Bases in lower case are the bad ones.
struct UpperCase {
  template <class D, class V>
  static HWY_INLINE V convert(D d, V letters, V& bad) {
    bad = hn::Or(bad, hn::And(letters, hn::Set(d, 0x20)));
    return letters;
  }
  static HWY_INLINE Byte convert(Byte letter, bool& bad) {
    bad |= (letter & 0x20) != 0;
    return letter;
  }
};

// A last vector overlaps the one before it, so that ends cost no loop and nothing behind them is touched.
template <class Kind, bool writes, class D>
HWY_INLINE bool convert_all(D d, const Byte* from, std::size_t size, Byte* to) {
  const std::size_t lanes = hn::Lanes(d);
  auto bad = hn::Zero(d);
  for (std::size_t i = 0;; i += lanes) {
    if (i + lanes > size) {
      if (i == size) break;
      i = size - lanes;
    }
    const auto made = Kind::convert(d, hn::LoadU(d, from + i), bad);
    if constexpr (writes) hn::StoreU(made, d, to + i);
  }
  return hn::AllTrue(d, hn::Eq(bad, hn::Zero(d)));
}

template <class Kind, bool writes>
HWY_INLINE bool convert(const Byte* from, std::size_t size, Byte* to) {
  if constexpr (HWY_TARGET != HWY_SCALAR) {  // whose vectors of one byte have no table of 16
    if (size >= hn::Lanes(Bytes())) return convert_all<Kind, writes>(Bytes(), from, size, to);
    if (size >= hn::Lanes(HalfBytes())) return convert_all<Kind, writes>(HalfBytes(), from, size, to);
  }
  bool bad = false;
  for (std::size_t i = 0; i < size; ++i) {
    const Byte made = Kind::convert(from[i], bad);
    if constexpr (writes) to[i] = made;
  }
  return !bad;
}

template <class Kind, bool writes>
bool convert_lines(const LetterLines& lines, std::size_t letters, char* to) {
  const Byte* from = bytes_of(lines.text);
  auto* out = reinterpret_cast<Byte*>(to);
  bool good = true;
  for (std::size_t in_line = lines.in_line; letters > 0; in_line = 0) {
    const std::size_t here = std::min(lines.line_letters - in_line, letters);
    good &= convert<Kind, writes>(from, here, out);
    from += here + (lines.line_bytes - lines.line_letters);
    letters -= here;
    if constexpr (writes) out += here;
  }
  return good;
}

bool copy_bases(const LetterLines& lines, std::size_t letters, char* to) { return convert_lines<Bases, true>(lines, letters, to); }
bool any_lower_case(const LetterLines& lines, std::size_t letters) { return !convert_lines<UpperCase, false>(lines, letters, nullptr); }
bool copy_qualities(const LetterLines& lines, std::size_t letters, char* to) {
  return to == nullptr ? convert_lines<Qualities, false>(lines, letters, to) : convert_lines<Qualities, true>(lines, letters, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice::read_bases
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::read_bases {

HWY_EXPORT(find_line_ends);
HWY_EXPORT(copy_bases);
HWY_EXPORT(any_lower_case);
HWY_EXPORT(copy_qualities);

std::size_t find_line_ends(std::string_view piece, std::vector<LineEnd>& ends) {
  return HWY_DYNAMIC_DISPATCH(find_line_ends)(piece.data(), piece.size(), ends);
}
bool copy_bases(const LetterLines& lines, std::size_t letters, char* to) { return HWY_DYNAMIC_DISPATCH(copy_bases)(lines, letters, to); }
bool any_lower_case(const LetterLines& lines, std::size_t letters) { return HWY_DYNAMIC_DISPATCH(any_lower_case)(lines, letters); }
bool copy_qualities(const LetterLines& lines, std::size_t letters, char* to) { return HWY_DYNAMIC_DISPATCH(copy_qualities)(lines, letters, to); }

}  // namespace sluice::read_bases
#endif  // HWY_ONCE
