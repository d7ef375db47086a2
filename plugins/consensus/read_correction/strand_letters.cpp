// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "read_correction/strand_letters.hpp"

#include <array>

// AVX3_DL adds nothing that these loops could use.
#define HWY_DISABLED_TARGETS HWY_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "read_correction/strand_letters.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SLUICE_READ_CORRECTION_LETTER_CHANGE
#define SLUICE_READ_CORRECTION_LETTER_CHANGE
namespace sluice::read_correction {

// By the lowest four bits of a letter, which are others for each of A, C, G, T and U: that letter, and what becomes of it. All other letters become
// `other`.
struct LetterChange {
  std::uint8_t kept_bits;  // of a letter: 0xDF makes no difference between the cases
  std::array<std::uint8_t, 16> letter, to;
  std::uint8_t other;
  std::uint8_t of(std::uint8_t given) const {
    const std::uint8_t known = given & kept_bits, place = known & 15U;
    return known != 0 && letter[place] == known ? to[place] : other;
  }
};

}  // namespace sluice::read_correction
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::read_correction::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
template <class Tag>
class VectorChange {
 public:
  using Vector = hn::Vec<Tag>;
  explicit VectorChange(const LetterChange& change)
      : kept_bits_(hn::Set(Tag(), change.kept_bits)),
        letter_(hn::LoadDup128(Tag(), change.letter.data())),
        to_(hn::LoadDup128(Tag(), change.to.data())),
        other_(hn::Set(Tag(), change.other)) {}
  HWY_INLINE Vector of(Vector letters) const {
    const auto known = hn::And(letters, kept_bits_), place = hn::And(known, hn::Set(Tag(), 15));
    return hn::IfThenElse(hn::Eq(hn::TableLookupBytes(letter_, place), known), hn::TableLookupBytes(to_, place), other_);
  }

 private:
  Vector kept_bits_, letter_, to_, other_;
};
#endif

#if HWY_TARGET != HWY_SCALAR
// As many letters as whole vectors take; how many those are.
template <class Tag>
HWY_INLINE std::size_t change_vectors(Tag tag, const LetterChange& change, const std::uint8_t* letters, std::size_t size, std::uint8_t* to) {
  const VectorChange<Tag> vectors(change);
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(vectors.of(hn::LoadU(tag, letters + i)), tag, to + i);
  return i;
}
#endif

void ChangeLetters(const LetterChange& change, const std::uint8_t* letters, std::size_t size, std::uint8_t* to) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  i = change_vectors(hn::CappedTag<std::uint8_t, 64>(), change, letters, size, to);
  // A piece of a read has some hundred letters: what is left of whole vectors counts.
  i += change_vectors(hn::FixedTag<std::uint8_t, 16>(), change, letters + i, size - i, to + i);
#endif
  for (; i < size; ++i) to[i] = change.of(letters[i]);
}

// In place, the last one first.
void ReverseLetters(const LetterChange& change, std::uint8_t* letters, std::size_t size) {
  std::uint8_t *begin = letters, *end = letters + size;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t at_once = 16;
  using Tag = hn::FixedTag<std::uint8_t, at_once>;
  const Tag tag;
  const VectorChange<Tag> vectors(change);
  const auto from_behind = hn::Sub(hn::Set(tag, at_once - 1), hn::Iota(tag, 0));
  for (; end - begin >= std::ptrdiff_t{2 * at_once}; begin += at_once, end -= at_once) {
    const auto first = hn::LoadU(tag, begin), last = hn::LoadU(tag, end - at_once);
    hn::StoreU(vectors.of(hn::TableLookupBytes(last, from_behind)), tag, begin);
    hn::StoreU(vectors.of(hn::TableLookupBytes(first, from_behind)), tag, end - at_once);
  }
#endif
  for (; end - begin >= 2; ++begin) {
    --end;
    const std::uint8_t first = change.of(*begin);
    *begin = change.of(*end);
    *end = first;
  }
  if (begin != end) *begin = change.of(*begin);
}

}  // namespace sluice::read_correction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::read_correction {
namespace {

HWY_EXPORT(ChangeLetters);
HWY_EXPORT(ReverseLetters);

constexpr LetterChange change_of(std::uint8_t kept_bits, const std::array<std::uint8_t, 5>& to, std::uint8_t other) {
  LetterChange change{kept_bits, {}, {}, other};
  change.to.fill(other);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto letter = static_cast<std::uint8_t>("ACGTU"[i]);
    change.letter[letter & 15U] = letter;
    change.to[letter & 15U] = to[i];
  }
  return change;
}
constexpr LetterChange four_bases = change_of(0xFF, {'A', 'C', 'G', 'T', 'T'}, 'N');
constexpr LetterChange complements = change_of(0xFF, {'T', 'G', 'C', 'A', 'T'}, 'N');
constexpr LetterChange codes_of_bases = change_of(0xDF, {0, 1, 2, 3, 3}, 4);

}  // namespace

void to_strand(Strand strand, char* letters, std::size_t size) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(letters);
  if (strand == Strand::reverse)
    HWY_DYNAMIC_DISPATCH(ReverseLetters)(complements, bytes, size);
  else
    HWY_DYNAMIC_DISPATCH(ChangeLetters)(four_bases, bytes, size, bytes);
}

void to_codes(const char* letters, std::size_t size, char* codes) {
  HWY_DYNAMIC_DISPATCH(ChangeLetters)(codes_of_bases, reinterpret_cast<const std::uint8_t*>(letters), size, reinterpret_cast<std::uint8_t*>(codes));
}

}  // namespace sluice::read_correction
#endif
