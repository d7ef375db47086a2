// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "read_correction/banded_alignments.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

// AVX3_DL adds nothing that these loops could use, SSSE3 nothing over SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "read_correction/banded_alignments.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::read_correction::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Which of 64 letters are this one.
HWY_INLINE std::uint64_t places_of(std::uint8_t letter, const char* letters) {
  const hn::CappedTag<std::uint8_t, 64> tag;
  std::uint64_t places = 0;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(tag)) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(tag, hn::Eq(hn::LoadU(tag, reinterpret_cast<const std::uint8_t*>(letters + i)), hn::Set(tag, letter)), bytes);
    std::uint64_t part = 0;
    std::memcpy(&part, bytes, sizeof part);
    if constexpr (std::endian::native == std::endian::big) part = __builtin_bswap64(part);
    places |= part << i;
  }
  return places;
}

void ListEqual(std::string_view text, const BandedTexts& texts, std::size_t lane) {
  for (std::size_t letter = 0; letter < BandedTexts::letters; ++letter) {
    std::uint32_t* const to = texts.equal.data() + letter * texts.words * texts.stride + lane;
    std::uint64_t before = 0;
    for (std::size_t word = 0; word < texts.words; word += 2) {
      const std::size_t at = word * BandedTexts::word_bits;
      const std::uint64_t places = at < text.size() ? places_of(static_cast<std::uint8_t>(letter), text.data() + at) : 0;
      const std::uint64_t moved = places << BandedTexts::middle | before >> (64 - BandedTexts::middle);
      to[word * texts.stride] = static_cast<std::uint32_t>(moved);
      to[(word + 1) * texts.stride] = static_cast<std::uint32_t>(moved >> BandedTexts::word_bits);
      before = places;
    }
  }
}

using Tag = hn::CappedTag<std::uint32_t, BandedTexts::most_lanes>;
using Vector = hn::Vec<Tag>;

// As many texts as there are lanes.
class Lanes {
 public:
  // cells: where two words of each column and text go, `column_cells` from column to column.
  Lanes(const BandedTexts& texts, std::size_t first, std::uint32_t* cells, std::size_t column_cells)
      : texts_(texts),
        first_(first),
        cells_(cells),
        column_cells_(column_cells),
        plus_(hn::Set(Tag(), 0xFFFFFFFFU << BandedTexts::middle)),
        minus_(hn::Zero(Tag())) {}

  // Column `column` + 1, from the one before. Of each cell two bits: 0 the letters are equal, 1 the pattern's letter is missing, 2 another letter, 3
  // a letter that the pattern lacks; the first that holds of 3, 1, 0 and 2.
  HWY_INLINE void fill(std::size_t column) {
    const Tag tag;
    const auto letter = static_cast<std::size_t>(texts_.pattern[column]);
    const std::uint32_t* const words = texts_.equal.data() + (letter * texts_.words + column / BandedTexts::word_bits) * texts_.stride + first_;
    const auto shift = static_cast<int>(column % BandedTexts::word_bits);
    const auto equal = hn::Or(hn::ShiftRightSame(hn::LoadU(tag, words), shift),
                              hn::ShiftLeftSame(hn::ShiftLeft<1>(hn::LoadU(tag, words + texts_.stride)), 31 - shift));
    const auto same_diagonal = hn::Or(hn::Or(hn::Xor(hn::Add(hn::And(equal, plus_), plus_), plus_), equal), minus_);
    const auto more_than_left = hn::Or(minus_, hn::Not(hn::Or(same_diagonal, plus_)));
    const auto less_than_left = hn::And(same_diagonal, plus_);
    const auto next_diagonal = hn::ShiftRight<1>(same_diagonal);
    plus_ = hn::Or(less_than_left, hn::Not(hn::Or(next_diagonal, more_than_left)));
    minus_ = hn::And(next_diagonal, more_than_left);
    const auto more_than_above = hn::ShiftLeft<1>(plus_);
    std::uint32_t* const cells = cells_ + column * column_cells_;
    hn::StoreU(hn::Or(more_than_above, more_than_left), tag, cells);
    hn::StoreU(hn::Or(more_than_above, hn::Not(hn::Or(same_diagonal, more_than_left))), tag, cells + hn::Lanes(tag));
  }

  HWY_INLINE void begin_path() {
    const Tag tag;
    end_ = hn::BitCast(tag, hn::LoadU(hn::RebindToSigned<Tag>(), texts_.end_bit.data() + first_));
    at_ = end_;
    differences_ = hn::Sub(end_, hn::Set(tag, BandedTexts::middle));
    highest_ = most_inserted_ = missing_ = others_ = inserted_ = hn::Zero(tag);
    store_place(texts_.pattern.size());
  }

  // From column `column` + 1 to the one before.
  HWY_INLINE void step_back(std::size_t column) {
    const Tag tag;
    const auto one = hn::Set(tag, 1);
    const std::uint32_t* const cells = cells_ + column * column_cells_;
    const auto low = hn::LoadU(tag, cells), high = hn::LoadU(tag, cells + hn::Lanes(tag));
    // The letters that the pattern lacks are ones from the highest bit on: up to three by a table of their number, two bits for each three bits.
    const auto lacking = hn::Shl(hn::And(low, high), hn::Sub(hn::Set(tag, 31), at_));
    const auto twice_three_bits = hn::And(hn::ShiftRight<28>(lacking), hn::Set(tag, 14));
    const auto inserted = hn::And(hn::Shr(hn::Set(tag, 0xE500U), twice_three_bits), hn::Set(tag, 3));
    most_inserted_ = hn::Max(most_inserted_, inserted);
    const auto at = hn::Sub(at_, inserted);
    const auto missing = hn::And(hn::Shr(low, at), one), other = hn::And(hn::Shr(high, at), one);
    const auto next = hn::Add(at, missing);
    highest_ = hn::Max(highest_, next);
    at_ = hn::Min(next, hn::Set(tag, 31));
    missing_ = hn::Or(hn::ShiftLeft<1>(missing_), missing);
    others_ = hn::Or(hn::ShiftLeft<1>(others_), other);
    inserted_ = hn::Or(hn::ShiftLeft<1>(inserted_), hn::Min(inserted, one));
    store_place(column);
    if (column % BandedTexts::word_bits == 0) store_steps(column / BandedTexts::word_bits);
  }

  // Paths of no more differences cannot leave the band, nor can others of as few.
  HWY_INLINE void end_path() {
    const Tag tag;
    const auto length = hn::Sub(end_, hn::Set(tag, BandedTexts::middle));
    const auto in_band = hn::And(hn::Add(differences_, length) < hn::Set(tag, 32), hn::Sub(differences_, length) < hn::Set(tag, 33));
    const auto is_known = hn::And(in_band, hn::And(highest_ < hn::Set(tag, 32), most_inserted_ < hn::Set(tag, 3)));
    hn::StoreU(hn::IfThenElse(is_known, differences_, hn::Set(tag, 0xFFFFFFFFU)), tag, texts_.differences.data() + first_);
  }

 private:
  HWY_INLINE void store_place(std::size_t column) { hn::StoreU(at_, Tag(), texts_.place.data() + column * texts_.stride + first_); }
  HWY_INLINE void store_steps(std::size_t word) {
    const Tag tag;
    std::uint32_t* const to = texts_.steps.data() + word * 3 * texts_.stride + first_;
    hn::StoreU(missing_, tag, to);
    hn::StoreU(others_, tag, to + texts_.stride);
    hn::StoreU(inserted_, tag, to + 2 * texts_.stride);
    // Letters that the pattern lacks are as many as the text is longer by, and one for each missing letter.
    const auto missing = hn::PopulationCount(missing_);
    differences_ = hn::Add(hn::Add(differences_, hn::PopulationCount(others_)), hn::Add(missing, missing));
    missing_ = others_ = inserted_ = hn::Zero(tag);
  }

  const BandedTexts& texts_;
  std::size_t first_;
  std::uint32_t* cells_;
  std::size_t column_cells_;
  Vector plus_, minus_;  // of the column before: where a cell has one difference more, and less, than the one above
  Vector end_, at_, differences_, highest_, most_inserted_, missing_, others_, inserted_;
};

template <class... Vectors>
HWY_INLINE void align_lanes(std::size_t columns, Vectors&... vectors) {
  for (std::size_t column = 0; column < columns; ++column) (vectors.fill(column), ...);
  (vectors.begin_path(), ...);
  for (std::size_t column = columns; column-- > 0;) (vectors.step_back(column), ...);
  (vectors.end_path(), ...);
}

// Two vectors at a time: each operation waits for the one before.
void AlignTexts(const BandedTexts& texts) {
  const std::size_t lanes = hn::Lanes(Tag()), columns = texts.pattern.size();
  std::uint32_t* const cells = texts.cells.data();
  std::size_t first = 0;
  for (; first + 2 * lanes <= texts.stride; first += 2 * lanes) {
    Lanes one(texts, first, cells, 4 * lanes), other(texts, first + lanes, cells + 2 * lanes, 4 * lanes);
    align_lanes(columns, one, other);
  }
  if (first == texts.stride) return;
  Lanes last(texts, first, cells, 2 * lanes);
  align_lanes(columns, last);
}

}  // namespace sluice::read_correction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::read_correction {
namespace {

HWY_EXPORT(ListEqual);
HWY_EXPORT(AlignTexts);

constexpr std::size_t round_up(std::size_t number, std::size_t step) { return (number + step - 1) / step * step; }

template <class Value>
void reserve(std::vector<Value>& values, std::size_t size) {
  if (values.size() < size) values.resize(size);
}

}  // namespace

void BandedAlignments::align(std::string_view pattern, std::span<const std::string_view> texts) {
  is_known_.assign(texts.size(), 0);
  if (pattern.empty() || pattern.size() > most_columns || texts.empty()) return;
  columns_ = pattern.size();
  stride_ = round_up(texts.size(), BandedTexts::most_lanes);
  const std::size_t words = round_up(columns_ / BandedTexts::word_bits + 3, 2), step_words = 2 * ((columns_ + 63) / 64);
  reserve(equal_, BandedTexts::letters * words * stride_);
  reserve(cells_, columns_ * 4 * BandedTexts::most_lanes);
  reserve(steps_, step_words * 3 * stride_);
  std::fill_n(steps_.begin() + static_cast<std::ptrdiff_t>((step_words - 1) * 3 * stride_), 3 * stride_, 0U);  // unless it is filled
  reserve(place_, (columns_ + 1) * stride_);
  reserve(differences_, stride_);
  end_bit_.assign(stride_, BandedTexts::middle);
  const BandedTexts banded{.pattern = pattern,
                           .stride = stride_,
                           .words = words,
                           .equal = equal_,
                           .end_bit = end_bit_,
                           .cells = cells_,
                           .steps = steps_,
                           .place = place_,
                           .differences = differences_};
  for (std::size_t text = 0; text < texts.size(); ++text) {
    const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(texts[text].size()) - static_cast<std::ptrdiff_t>(columns_) + BandedTexts::middle;
    if (end < 0 || end >= static_cast<std::ptrdiff_t>(BandedTexts::word_bits)) continue;
    end_bit_[text] = static_cast<std::int32_t>(end);
    is_known_[text] = 1;
    HWY_DYNAMIC_DISPATCH(ListEqual)(texts[text], banded, text);
  }
  HWY_DYNAMIC_DISPATCH(AlignTexts)(banded);
  for (std::size_t text = 0; text < texts.size(); ++text)
    if (differences_[text] > BandedTexts::most_differences) is_known_[text] = 0;
}

}  // namespace sluice::read_correction
#endif
