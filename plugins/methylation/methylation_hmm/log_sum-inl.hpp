// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Log-sums of vectors, to the bit those of the table (profile_hmm.hpp). Included once per instruction set.

#if defined(SLUICE_METHYLATION_HMM_LOG_SUM) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_METHYLATION_HMM_LOG_SUM
#undef SLUICE_METHYLATION_HMM_LOG_SUM
#else
#define SLUICE_METHYLATION_HMM_LOG_SUM
#endif

#include <hwy/highway.h>

#include <utility>

#include "methylation_hmm/log_sum_polynomials.hpp"
#include "methylation_hmm/profile_hmm.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::methylation_hmm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Integers = hn::RebindToSigned<Floats>;
using V = hn::Vec<Floats>;

// Truncates values that fit. ConvertTo of Highway 1.0 spends four more instructions on values that do not, a quarter of a log-sum.
HWY_INLINE hn::Vec<Integers> truncate(V value) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return hn::Vec<Integers>{_mm512_cvttps_epi32(value.raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<Integers>{_mm256_cvttps_epi32(value.raw)};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  return hn::Vec<Integers>{_mm_cvttps_epi32(value.raw)};
#elif HWY_TARGET == HWY_SCALAR
  return hn::Vec<Integers>(static_cast<std::int32_t>(value.raw));
#else
  return hn::ConvertTo(Integers(), value);
#endif
}

struct Terms {
  V a, b;
};

// The place of |a - b| in the table, not yet truncated.
HWY_INLINE V place_in_table(const Terms& terms) {
  const Floats d;
  const V scaled = hn::Mul(hn::Sub(terms.a, terms.b), hn::Set(d, kLogSumScale));
  const V limit = hn::Set(d, static_cast<float>(kLogSumLast));
  // Where both terms are -inf `scaled` is NaN, and the index must still be within the table.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return V{_mm512_range_ps(scaled.raw, limit.raw, 0b1010)};  // min(|scaled|, limit) in one instruction; a NaN yields the limit
#else
  return hn::Min(hn::Abs(scaled), limit);  // a NaN yields the limit where the second operand wins (x86), else 0 or the limit (Arm)
#endif
}

// Both kinds of log-sums take `count` pairs of terms none of which waits for another's sum.

// The entries come from the table in memory.
class GatheredLogSums {
 public:
  template <std::size_t count>
  HWY_INLINE void operator()(const Terms (&terms)[count], V (&sums)[count]) const {
    each(terms, sums, std::make_index_sequence<count>());
  }
  HWY_INLINE V sum(const Terms& terms) const {
    return hn::Add(hn::Max(terms.a, terms.b), hn::GatherIndex(Floats(), table_, truncate(place_in_table(terms))));
  }

 private:
  template <std::size_t count, std::size_t... i>
  HWY_INLINE void each(const Terms (&terms)[count], V (&sums)[count], std::index_sequence<i...>) const {
    ((sums[i] = sum(terms[i])), ...);
  }

  const float* HWY_RESTRICT table_ = log_sum_table();
};

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// The entries are computed, from coefficients in registers: the entry or its lower neighbour among the floats. Which of both rarely changes the sum,
// whose last place is that of the larger term, some 100 times an entry's; where it does, the entry is looked up: in methylation calls
// for fewer than 3 % of the pairs of vectors.
// All sums of a call are computed step by step side by side: each is 15 dependent instructions, 60 cycles.
class ComputedLogSums {
 public:
  template <std::size_t count>
  HWY_INLINE void operator()(const Terms (&terms)[count], V (&sums)[count]) const {
    each(terms, sums, std::make_index_sequence<count>());
  }

 private:
  template <int power>
  static HWY_INLINE V pick(__m512i segment) {
    const float* coefficients = kLogSumPolynomials[power];
    return V{_mm512_permutex2var_ps(_mm512_load_ps(coefficients), segment, _mm512_load_ps(coefficients + 16))};
  }
  static HWY_INLINE __mmask16 differs(V sum, V high_term, V entry) {
    const __m512i neighbour = _mm512_add_epi32(_mm512_castps_si512(entry.raw), _mm512_set1_epi32(1));
    return _mm512_cmp_ps_mask(sum.raw, _mm512_add_ps(high_term.raw, _mm512_castsi512_ps(neighbour)), _CMP_NEQ_UQ);
  }
  struct Place {
    __m512i segment;
    V x;  // in its segment, from the centre
  };
  static HWY_INLINE Place place(const Terms& terms) {
    // Rounded towards zero the sum is the truncated index, as an integer in the low bits of the mantissa.
    const __m512 shifted =
        _mm512_add_round_ps(place_in_table(terms).raw, _mm512_set1_ps(0x1p23F + kFirstSegmentEntry), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m512i bits = _mm512_castps_si512(shifted);
    constexpr int kOr = 0xEA;  // (a & b) | c
    const __m512i centre = _mm512_ternarylogic_epi32(bits, _mm512_set1_epi32(-(1 << kSegmentBits)), _mm512_set1_epi32(kSegmentCentre), kOr);
    // Of the segment the picks look at the lowest five bits only.
    return {_mm512_srli_epi32(bits, kSegmentBits), V{_mm512_sub_ps(shifted, _mm512_castsi512_ps(centre))}};
  }
  template <int power>
  static HWY_INLINE V add_power(V entry, const Place& place) {
    return hn::MulAdd(entry, place.x, pick<power>(place.segment));
  }
  // Where the upper neighbour of the entry gives another sum, the entry is looked up: by pairs, a branch each.
  template <std::size_t first, std::size_t count>
  HWY_INLINE void sum_pair(const Terms (&terms)[count], const V (&entries)[count], V (&sums)[count]) const {
    constexpr std::size_t second = first + 1 < count ? first + 1 : first;
    if constexpr (first % 2 == 0) {
      const V first_high = hn::Max(terms[first].a, terms[first].b), second_high = hn::Max(terms[second].a, terms[second].b);
      const V first_sum = hn::Add(first_high, entries[first]), second_sum = hn::Add(second_high, entries[second]);
      if (HWY_UNLIKELY(_kortestz_mask16_u8(differs(first_sum, first_high, entries[first]), differs(second_sum, second_high, entries[second])) == 0)) {
        sums[first] = gathered_.sum(terms[first]);
        sums[second] = gathered_.sum(terms[second]);
      } else {
        sums[first] = first_sum;
        sums[second] = second_sum;
      }
    }
  }
  template <std::size_t count, std::size_t... i>
  HWY_INLINE void each(const Terms (&terms)[count], V (&sums)[count], std::index_sequence<i...>) const {
    static_assert(kPolynomialDegree == 5);
    const Place places[] = {place(terms[i])...};
    V entries[] = {pick<5>(places[i].segment)...};
    ((entries[i] = add_power<4>(entries[i], places[i])), ...);
    ((entries[i] = add_power<3>(entries[i], places[i])), ...);
    ((entries[i] = add_power<2>(entries[i], places[i])), ...);
    ((entries[i] = add_power<1>(entries[i], places[i])), ...);
    ((entries[i] = add_power<0>(entries[i], places[i])), ...);
    (sum_pair<i>(terms, entries, sums), ...);
  }

  GatheredLogSums gathered_;
};
#endif

}  // namespace sluice::methylation_hmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
