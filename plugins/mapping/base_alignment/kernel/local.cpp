// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "base_alignment/kernel/local.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base_alignment/kernel/local.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SLUICE_LOCAL_STRIPES
#define SLUICE_LOCAL_STRIPES
namespace sluice::base_alignment {
// A gap on the target opens from a cell before insertions of other stripes are known. That matters only where an insertion with a deletion right
// behind it is worth more than the columns in their place.
constexpr bool is_free_of_stripes(const Scores& scores) { return scores.worst_column() <= 2 * scores.gap_extend; }
constexpr std::int32_t highest_byte = 255;
constexpr bool fits_bytes(const Scores& scores, std::int32_t wanted) { return wanted <= highest_byte - scores.match - scores.worst_column(); }
}  // namespace sluice::base_alignment
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Bases = std::span<const std::uint8_t>;

#if HWY_TARGET == HWY_SCALAR
LocalEnd align_chosen(const Scores& scores, Bases query, Bases target, Padding padding, LocalRows&) {
  return align_locally_plainly(scores, query, target, padding);
}
bool reaches_chosen(const Scores& scores, Bases query, Bases target, std::int32_t wanted, LocalRows&) {
  return align_locally_plainly(scores, query, target, Padding::costs).score >= wanted;
}
#else

// Striped rows: column p of the query stands in lane p / stripe of vector p % stripe.
template <class Tag>
class Stripes {
 public:
  using Lane = hn::TFromD<Tag>;
  static constexpr std::size_t lanes = hn::MaxLanes(Tag());
  static constexpr std::size_t codes = 5;

  // Memory for `rows` rows of zeros behind the scores of each code against the query. score(t, q): of a column; beyond(p): of one behind the query.
  template <class Score, class Beyond>
  Stripes(Bases query, std::size_t rows, LocalRows& memory, const Score& score, const Beyond& beyond)
      : vectors_((query.size() + lanes - 1) / lanes), memory_(memory) {
    const std::size_t all = (codes + rows) * columns();
    profile_ = reinterpret_cast<Lane*>(memory.bytes.start(all * sizeof(Lane)));
    for (std::size_t t = 0; t < codes; ++t)
      for (std::size_t j = 0; j < vectors_; ++j)
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const std::size_t p = lane * vectors_ + j;
          profile_[t * columns() + j * lanes + lane] =
              p < query.size() ? score(static_cast<std::uint8_t>(t), std::min<std::uint8_t>(query[p], codes - 1)) : beyond(p);
        }
    std::memset(profile_ + codes * columns(), 0, rows * columns() * sizeof(Lane));
  }
  Stripes(const Stripes&) = delete;
  Stripes& operator=(const Stripes&) = delete;
  ~Stripes() { memory_.bytes.give_back_beyond(LocalRows::most_kept); }

  std::size_t vectors() const { return vectors_; }
  std::size_t columns() const { return vectors_ * lanes; }
  const Lane* profile(std::uint8_t code) const { return profile_ + std::min<std::size_t>(code, codes - 1) * columns(); }
  Lane* row(std::size_t number) const { return profile_ + (codes + number) * columns(); }

 private:
  std::size_t vectors_;
  LocalRows& memory_;
  Lane* profile_;
};

// Every lane takes what the one below has, the first one 0.
template <class Tag>
HWY_INLINE hn::Vec<Tag> shift_up(Tag tag, hn::Vec<Tag> values) {
  if constexpr (sizeof(hn::TFromD<Tag>) * hn::MaxLanes(Tag()) == 16) {
    return hn::ShiftLeftLanes<1>(tag, values);
  } else {  // once per row, so through memory
    HWY_ALIGN hn::TFromD<Tag> shifted[2 * hn::MaxLanes(Tag())];
    hn::Store(hn::Zero(tag), tag, shifted);
    hn::StoreU(values, tag, shifted + 1);
    return hn::Load(tag, shifted);
  }
}

// Insertions that reach a column from stripes before its own; `insertion`: as each stripe ends with them. raise(j, insertion) puts them into vector j
// and returns its scores. Ends early where none is worth more than one that opens anew.
template <class Tag, class Less, class Raise>
HWY_INLINE void pass_insertions_on(Tag tag, std::size_t vectors, hn::Vec<Tag> insertion, hn::Vec<Tag> open, hn::Vec<Tag> extend, const Less& less,
                                   const Raise& raise) {
  using Lane = hn::TFromD<Tag>;
  constexpr std::size_t lanes = hn::MaxLanes(Tag());
  if (hn::AllTrue(tag, hn::Eq(insertion, hn::Zero(tag)))) return;
  HWY_ALIGN Lane of_lanes[lanes];
  hn::Store(insertion, tag, of_lanes);
  const std::int64_t through_stripe = static_cast<std::int64_t>(hn::GetLane(extend)) * static_cast<std::int64_t>(vectors);
  std::int64_t passed = 0;
  for (Lane& lane : of_lanes) {
    const std::int64_t behind = std::max<std::int64_t>(passed - through_stripe, lane);
    lane = static_cast<Lane>(passed);
    passed = behind;
  }
  insertion = hn::Load(tag, of_lanes);
  for (std::size_t j = 0; j < vectors; ++j) {
    const auto opened = less(raise(j, insertion), open);
    insertion = less(insertion, extend);
    if (hn::AllTrue(tag, hn::Eq(hn::Max(insertion, opened), opened))) return;
  }
}

// The result is that of eight stripes, whose last one is filled up. Any number of them gives it where is_free_of_stripes.
template <class Tag>
LocalEnd align_in(const Scores& scores, Bases query, Bases target, Padding padding, LocalRows& memory) {
  const Tag tag;
  constexpr std::size_t lanes = Stripes<Tag>::lanes;
  const std::size_t stripe = (query.size() + 7) / 8;
  static constexpr std::int32_t highest = 32767;
  const auto limited = [](std::int32_t value) { return static_cast<std::int16_t>(std::clamp(value, -highest, highest)); };
  const Stripes<Tag> stripes(
      query, 4, memory, [&](std::uint8_t t, std::uint8_t q) { return limited(t > 3 || q > 3 ? -scores.ambiguous : column_score(scores, t, q)); },
      [&](std::size_t p) { return limited(p < 8 * stripe ? score_of_padding(padding) : -highest); });
  const std::size_t vectors = stripes.vectors();
  const auto zero = hn::Zero(tag), open = hn::Set(tag, limited(scores.gap_open + scores.gap_extend)),
             extend = hn::Set(tag, limited(scores.gap_extend));
  const auto less = [zero](auto value, auto cost) { return hn::Max(hn::SaturatedSub(value, cost), zero); };
  std::int16_t* const deletions = stripes.row(3);
  // The row before, and the one in which the end was found; the next is written to the third place.
  std::size_t before = 0, found = 0;
  LocalEnd end;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const std::size_t made = before != 1 && found != 1 ? 1 : before != 2 && found != 2 ? 2 : 0;
    const std::int16_t *const substitution = stripes.profile(target[i]), *const above = stripes.row(before);
    std::int16_t* const row = stripes.row(made);
    auto diagonal = shift_up(tag, hn::Load(tag, above + (vectors - 1) * lanes));
    auto insertion = zero, row_best = zero;
    for (std::size_t j = 0; j < vectors; ++j) {
      const auto deletion = hn::Load(tag, deletions + j * lanes);
      const auto matched = hn::SaturatedAdd(diagonal, hn::Load(tag, substitution + j * lanes));
      const auto known = hn::Max(hn::Max(matched, deletion), insertion);  // both gaps are 0 at least
      row_best = hn::Max(row_best, known);
      hn::Store(known, tag, row + j * lanes);
      const auto opened = less(known, open);
      hn::Store(hn::Max(hn::SaturatedSub(deletion, extend), opened), tag, deletions + j * lanes);
      insertion = hn::Max(hn::SaturatedSub(insertion, extend), opened);
      diagonal = hn::Load(tag, above + j * lanes);
    }
    pass_insertions_on(tag, vectors, insertion, open, extend, less, [&](std::size_t j, auto passed) {
      const auto score = hn::Max(hn::Load(tag, row + j * lanes), passed);
      hn::Store(score, tag, row + j * lanes);
      row_best = hn::Max(row_best, score);
      return score;
    });
    before = made;
    HWY_ALIGN std::int16_t of_lanes[lanes];
    hn::Store(row_best, tag, of_lanes);
    const std::int16_t best_of_row = *std::max_element(of_lanes, of_lanes + lanes);
    if (best_of_row < end.score) continue;
    end.score = best_of_row;
    end.target = static_cast<std::int32_t>(i);
    found = made;
  }
  // Of equal columns the last one of a stripe; of these the last stripe's.
  const std::int16_t* const row = stripes.row(found);
  const auto score_of = [&](std::size_t p) { return row[p % vectors * lanes + p / vectors]; };
  for (std::size_t place = 8 * stripe; place-- > 0;) {
    const std::size_t p = place % 8 * stripe + place / 8;
    if (score_of(p) != end.score) continue;
    end.query = static_cast<std::int32_t>(p);
    break;
  }
  return end;
}

LocalEnd align_chosen(const Scores& scores, Bases query, Bases target, Padding padding, LocalRows& memory) {
  if (is_free_of_stripes(scores)) return align_in<hn::CappedTag<std::int16_t, 32> >(scores, query, target, padding, memory);
  return align_in<hn::FixedTag<std::int16_t, 8> >(scores, query, target, padding, memory);
}

// Does any local alignment score that much, wherever its gaps open? In 8 bits, as a row that comes to `wanted` is the last one.
bool reaches_chosen(const Scores& scores, Bases query, Bases target, std::int32_t wanted, LocalRows& memory) {
  using Tag = hn::CappedTag<std::uint8_t, 64>;
  const Tag tag;
  const std::size_t lanes = hn::MaxLanes(tag);
  const std::int32_t bias = scores.worst_column();
  const auto limited = [](std::int32_t value) { return static_cast<std::uint8_t>(std::min(value, highest_byte)); };
  const Stripes<Tag> stripes(
      query, 2, memory,
      [&](std::uint8_t t, std::uint8_t q) { return limited(bias + (t > 3 || q > 3 ? -scores.ambiguous : column_score(scores, t, q))); },
      [](std::size_t) { return std::uint8_t{0}; });
  const std::size_t vectors = stripes.vectors();
  const auto zero = hn::Zero(tag), lowered = hn::Set(tag, limited(bias)), needed = hn::Set(tag, limited(wanted));
  const auto open = hn::Set(tag, limited(scores.gap_open + scores.gap_extend)), extend = hn::Set(tag, limited(scores.gap_extend));
  const auto less = [](auto value, auto cost) { return hn::SaturatedSub(value, cost); };
  std::uint8_t *const row = stripes.row(0), *const deletions = stripes.row(1);
  for (const std::uint8_t code : target) {
    const std::uint8_t* const substitution = stripes.profile(code);
    auto diagonal = shift_up(tag, hn::Load(tag, row + (vectors - 1) * lanes));
    auto insertion = zero, row_best = zero;
    for (std::size_t j = 0; j < vectors; ++j) {
      const auto deletion = hn::Load(tag, deletions + j * lanes);
      const auto matched = hn::SaturatedSub(hn::SaturatedAdd(diagonal, hn::Load(tag, substitution + j * lanes)), lowered);
      const auto known = hn::Max(hn::Max(matched, deletion), insertion);
      row_best = hn::Max(row_best, known);
      diagonal = hn::Load(tag, row + j * lanes);
      hn::Store(known, tag, row + j * lanes);
      const auto opened = less(known, open);
      hn::Store(hn::Max(less(deletion, extend), opened), tag, deletions + j * lanes);
      insertion = hn::Max(less(insertion, extend), opened);
    }
    pass_insertions_on(tag, vectors, insertion, open, extend, less, [&](std::size_t j, auto passed) {
      const auto score = hn::Max(hn::Load(tag, row + j * lanes), passed);
      hn::Store(score, tag, row + j * lanes);
      hn::Store(hn::Max(hn::Load(tag, deletions + j * lanes), less(score, open)), tag, deletions + j * lanes);
      row_best = hn::Max(row_best, score);
      return score;
    });
    if (!hn::AllFalse(tag, hn::Eq(hn::Max(row_best, needed), row_best))) return true;
  }
  return false;
}
#endif

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::base_alignment {
namespace {
HWY_EXPORT(align_chosen);
HWY_EXPORT(reaches_chosen);
}  // namespace

LocalEnd align_locally(const Scores& scores, std::span<const std::uint8_t> query, std::span<const std::uint8_t> target, Padding padding,
                       LocalRows& rows) {
  return HWY_DYNAMIC_DISPATCH(align_chosen)(scores, query, target, padding, rows);
}

bool aligns_locally(const Scores& scores, std::span<const std::uint8_t> query, std::span<const std::uint8_t> target, std::int32_t wanted,
                    LocalRows& rows) {
  if (wanted <= 0) return true;
  if (fits_bytes(scores, wanted)) {
    const bool reaches = HWY_DYNAMIC_DISPATCH(reaches_chosen)(scores, query, target, wanted, rows);
    if (!reaches || is_free_of_stripes(scores)) return reaches;
  }
  return align_locally(scores, query, target, Padding::costs, rows).score >= wanted;
}

}  // namespace sluice::base_alignment
#endif
