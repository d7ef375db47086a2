// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The t-statistic on a CUDA device: operations that are cheaper than the definition's and give the same bits. Everything also compiles for the host,
// so that it can be tested there. Compile with -fmad=false and IEEE division and square root (nvcc's default).

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "event_detection/events.hpp"

namespace sluice::event_detection::cuda {

enum class ReadPath : std::uint32_t {
  skipped,  // no events: failed, or left out by the caller
  chunked,  // cut into chunks that threads walk at once
  slow,     // one block walks the read position by position
};

struct Read {
  float offset, unit;
  std::int64_t begin;  // first sample in the batch
  std::int32_t length;
  ReadPath path;
};

template <class To, class From>
__host__ __device__ __forceinline__ To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

// f32 to f64 for positive normal numbers: the conversion instruction has an eighth of the integer units' rate.
__host__ __device__ __forceinline__ double widen_positive(float x) {
  const auto bits = same_bits<std::uint32_t>(x);
#ifdef __CUDA_ARCH__
  return __hiloint2double(static_cast<int>((bits >> 3) + 0x38000000U), static_cast<int>(bits << 29));
#else
  return same_bits<double>((std::uint64_t{(bits >> 3) + 0x38000000U} << 32) | (bits << 29));
#endif
}

__host__ __device__ __forceinline__ std::uint32_t low_word(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__double2loint(x));
#else
  return static_cast<std::uint32_t>(same_bits<std::uint64_t>(x));
#endif
}

// Eight samples; two to a word, the earlier one in its lower half.
struct SampleGroup {
  std::uint32_t words[4];
};

// One of them as f32. Offset by 2^15 it fills the last places of 2^23: cheaper than a conversion.
__host__ __device__ __forceinline__ float raw_sample(const SampleGroup& group, int n) {
  const std::uint32_t shifted = group.words[n / 2] ^ 0x80008000U;
#ifdef __CUDA_ARCH__
  const std::uint32_t bits = __byte_perm(shifted, 0x4B000000U, n % 2 == 0 ? 0x7610 : 0x7632);
#else
  const std::uint32_t bits = 0x4B000000U | (n % 2 == 0 ? shifted & 0xFFFFU : shifted >> 16);
#endif
  return same_bits<float>(bits) - (0x1p23F + 0x1p15F);
}

// Lowest and highest samples, separately for the two halves of words.
struct RawRange {
  std::uint32_t lowest = 0x7FFF7FFFU, highest = 0x80008000U;

  __host__ __device__ __forceinline__ void extend(std::uint32_t word) {
#ifdef __CUDA_ARCH__
    lowest = __vmins2(lowest, word);
    highest = __vmaxs2(highest, word);
#else
    const auto half = [](std::uint32_t w, int n) { return static_cast<std::int16_t>(w >> (16 * n)); };
    const auto join = [](std::int16_t a, std::int16_t b) {
      return static_cast<std::uint16_t>(a) | std::uint32_t{static_cast<std::uint16_t>(b)} << 16;
    };
    lowest = join(std::min(half(lowest, 0), half(word, 0)), std::min(half(lowest, 1), half(word, 1)));
    highest = join(std::max(half(highest, 0), half(word, 0)), std::max(half(highest, 1), half(word, 1)));
#endif
  }
  __host__ __device__ int least() const { return min(static_cast<std::int16_t>(lowest), static_cast<std::int16_t>(lowest >> 16)); }
  __host__ __device__ int greatest() const { return max(static_cast<std::int16_t>(highest), static_cast<std::int16_t>(highest >> 16)); }
};

// 1 / sqrt(x), to 2^-22, for positive normal x.
__host__ __device__ __forceinline__ float approximate_inverse_root(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0F / std::sqrt(x);
#endif
}

// x / W, correctly rounded (Markstein; the reasoning is at Divisor in events.cpp).
template <int W>
__host__ __device__ __forceinline__ float divide_by(float x) {
  constexpr float reciprocal = 1.0F / static_cast<float>(W);
  const float quotient = x * reciprocal;
  return fmaf(fmaf(-static_cast<float>(W), quotient, x), reciprocal, quotient);
}

// 1 / x, to 2^-23, for positive normal x.
__host__ __device__ __forceinline__ float approximate_reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0F / x;
#endif
}

// x / n, correctly rounded, for an integer n below 2^16 and x that is 0 or far from the ends of f32's range, by an approximate reciprocal of n: the
// quotient errs by 3 of its last places at most, so the remainder is exact, and 2^-21 of a last place are left before the rounding; a point where
// rounding changes is 2^-17 away.
__host__ __device__ __forceinline__ float divide_by_integer(float x, float n, float reciprocal) {
  const float quotient = x * reciprocal;
  return fmaf(fmaf(-n, quotient, x), reciprocal, quotient);
}

// distance / sqrt(variance), both operations correctly rounded, for a variance and distance far from the ends of f32's range (or distance 0). The
// approximate inverse root serves both: one Newton step makes it the root (as IEEE square roots are made from it), another the reciprocal of the
// root, with which the quotient is corrected twice (as IEEE division does). tests/gpu compares all mantissas of the root, and many quotients.
__host__ __device__ __forceinline__ float divide_by_root(float distance, float variance) {
  const float y = approximate_inverse_root(variance);
  const float g = variance * y;
  const float root = fmaf(fmaf(-g, g, variance), 0.5F * y, g);
  const float reciprocal = fmaf(fmaf(-root, y, 1.0F), y, y);
  const float q0 = distance * reciprocal;
  const float q1 = fmaf(fmaf(-root, q0, distance), reciprocal, q0);
  return fmaf(fmaf(-root, q1, distance), reciprocal, q1);
}

__host__ __device__ __forceinline__ float picoamps_of(float raw, const Read& read) { return (raw + read.offset) * read.unit; }

// Value of the last place of a positive f32: a number that it is a multiple of.
__device__ inline double last_place(float x) { return ldexp(1.0, max(static_cast<int>(__float_as_uint(x) >> 23), 1) - 127 - 23); }

// The largest power of two that a sum, which is 0 or far from the ends of f64's range, is a multiple of.
__device__ inline double granularity(double sum) {
  if (sum == 0.0) return HUGE_VAL;
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(sum));
  const unsigned long long mantissa = (bits & 0xFFFFFFFFFFFFFULL) | 0x10000000000000ULL;
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
  return ldexp(1.0, exponent - 1023 - 52 + __ffsll(static_cast<long long>(mantissa)) - 1);
}

// The definition of the t-statistic, from the sums of the windows before and after a position.
__host__ __device__ inline float statistic(double sum_before, double square_before, double sum_after, double square_after, std::uint32_t window) {
  const auto w = static_cast<float>(window);
  const auto w64 = static_cast<double>(window);
  const auto mean_before = static_cast<float>(sum_before / w64);
  const float mean_after = static_cast<float>(sum_after) / w;
  const float square_mean_after = static_cast<float>(square_after) / w;
  const float mean_before_squared = mean_before * mean_before;
  const float mean_after_squared = mean_after * mean_after;
  const double a = square_before / w64 - static_cast<double>(mean_before_squared);
  const double b = a + static_cast<double>(square_mean_after);
  auto variance = static_cast<float>(b - static_cast<double>(mean_after_squared));
  if (!(variance > FLT_MIN)) variance = FLT_MIN;
  return fabsf(mean_after - mean_before) / sqrtf(variance / w);
}

// The same at one position of a read whose sums are exact in any order.
__host__ __device__ __noinline__ inline float statistic_at(const std::int16_t* samples, Read read, std::int32_t position, std::uint32_t window) {
  const auto w = static_cast<std::int32_t>(window);
  if (position < w || position > read.length - w) return 0.0F;
  double sum[2] = {0.0, 0.0};
  double square[2] = {0.0, 0.0};
  for (std::int32_t i = 0; i < 2 * w; ++i) {
    const float x = picoamps_of(static_cast<float>(samples[read.begin + position - w + i]), read);
    sum[i >= w] += x;
    square[i >= w] += x * x;
  }
  return statistic(sum[0], square[0], sum[1], square[1], window);
}

// With windows of W and 2 W samples, the long statistic at a position where the short one is t is at most
// sqrt(2 W) * sqrt(2 t^2 / W + 2) in exact arithmetic: let v be the short windows' sum of variances, A and B half the differences between the means
// of the two halves of each long window. The long windows' means differ by at most t sqrt(v / W) + |A| + |B|, their sum of variances is at least v /
// 2 + A^2 + B^2, and Cauchy-Schwarz joins them. So it cannot exceed its threshold unless t exceeds this bound. 4 % are taken off, as rounding may
// change the variance by that where it is at least least_certain_variance.
inline float statistic_bound(const DetectorParams& p) {
  const double square = (static_cast<double>(p.threshold_long) * p.threshold_long / p.window_long - 2.0) * p.window_short / 2.0;
  return square > 0.0 ? static_cast<float>(0.96 * std::sqrt(square)) : 0.0F;
}

// Times the square of the mean. Rounding changes a variance by less than 2^-20 times that square (nine roundings of quantities of its size).
constexpr float least_certain_variance = 0x1p-15F;

// What chunks can do: a read whose samples lie in [least_picoamps, most_picoamps] pA (besides the condition on its sums).
constexpr float least_picoamps = 0.25F;
constexpr float most_picoamps = 512.0F;

// The last samples of a read and the t-statistic of the short window at the position W - 1 before the newest.
//
// All window sums are exact, so sliding them is free of rounding. The variance of the definition is
//   RN32(((RN64(Q / W) - M) + R) - N), Q the sum of squares before, M and N the squared means before and after (f32), R the mean square after (f32),
// with f64 operations that round. Here it is RN32((Q - W M + W (R - N)) / W) with an exact dividend D: R - N is exact in f32 as R <= 2 N, the rest in
// f64. Why the result is the same:
//  - The f64 roundings of the definition come to less than 2^-51 * 512^2 (most_picoamps squared).
//  - D is a multiple of l, the last place of the smallest square. D / W is no midpoint between f32 numbers, then it lies at least 2^-25 v / W or l /
//  W
//    from one, v being its size; this exceeds 2^-33 for v >= W * 2^-8 and samples of at least 0.25 pA.
//  - D / W is a midpoint: only where v > 2^23 l; seen in the last bits of the quotient, and left to the definition.
// 1 / W rounded to f64 errs by a quarter of its last place for W = 3 and 7, so a product with it is exact wherever D / W has 25 bits, and else errs
// by less than the distances above.
template <int W>
class ShortStatistic {
 public:
  static_assert(W == 3 || W == 7, "the reciprocal must be as exact as said above");

  struct Value {
    float t;
    bool certain;         // else t has to be computed by the definition
    bool variance_small;  // less than least_certain_variance
  };

  __host__ __device__ __forceinline__ Value push(float picoamps) {
    constexpr double reciprocal = 1.0 / static_cast<double>(W);
    const float squared = picoamps * picoamps;
    const double x = widen_positive(picoamps);
    const double p = widen_positive(squared);
    sum_ += x - x_[W - 1];
    square_sum_ += p - p_[W - 1];
    for (int n = W - 1; n > 0; --n) x_[n] = x_[n - 1];
    for (int n = W - 1; n > 0; --n) p_[n] = p_[n - 1];
    x_[0] = x;
    p_[0] = p;

    const float mean_after = divide_by<W>(static_cast<float>(sum_));
    const float square_mean_after = divide_by<W>(static_cast<float>(square_sum_));
    const float square_after = mean_after * mean_after;
    const float mean_before = mean_[W - 1];
    const float excess = square_mean_after - square_after;
    const double quotient = fma(static_cast<double>(W), static_cast<double>(excess), dividend_[W - 1]) * reciprocal;

    // This window is the one before W positions later.
    for (int n = W - 1; n > 0; --n) mean_[n] = mean_[n - 1];
    for (int n = W - 1; n > 0; --n) dividend_[n] = dividend_[n - 1];
    mean_[0] = static_cast<float>(sum_ * reciprocal);
    dividend_[0] = fma(-static_cast<double>(W), widen_positive(mean_[0] * mean_[0]), square_sum_);

    const auto variance = static_cast<float>(quotient);
    constexpr std::uint32_t dropped = (1U << 29) - 1;
    Value value;
    value.t = divide_by_root(fabsf(mean_after - mean_before), divide_by<W>(variance));
    value.certain = (variance >= W * 0x1p-8F) & (excess <= square_after) & ((low_word(quotient) & dropped) != (1U << 28));
    value.variance_small = variance < square_after * least_certain_variance;
    return value;
  }

 private:
  double x_[W] = {}, p_[W] = {}, dividend_[W] = {};
  float mean_[W] = {};
  double sum_ = 0.0, square_sum_ = 0.0;
};

}  // namespace sluice::event_detection::cuda
