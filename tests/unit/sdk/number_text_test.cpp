// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <sluice/number_text.hpp>
#include <string>
#include <vector>

namespace {

std::string by_printf(const char* format, double value) {
  std::vector<char> text(400);
  const int length = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<std::size_t>(length)};
}
std::string general(double value) {
  char text[sluice::general_text_bytes];
  return {text, sluice::put_general(text, value)};
}
template <int decimals, class Number>
std::string fixed(Number value) {
  char text[sluice::fixed_text_bytes<Number>];
  return {text, sluice::put_fixed<decimals>(text, value)};
}

// Numbers of a fixed seed.
class Mixed {
 public:
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ ^ (state_ >> 29);
  }

 private:
  std::uint64_t state_ = 1;
};

template <class Number>
int differences(Number value) {
  const double wide = value;
  int count = 0;
  count += fixed<2>(value) != by_printf("%.2f", wide);
  count += fixed<3>(value) != by_printf("%.3f", wide);
  count += general(wide) != by_printf("%g", wide);
  if constexpr (sizeof(Number) == 4) count += fixed<5>(value) != by_printf("%.5f", wide);
  return count;
}

}  // namespace

TEST_CASE_TEMPLATE("fixed and general text is printf's where it is hard", Number, float, double) {
  using Limits = std::numeric_limits<Number>;
  const double hard[] = {0,
                         0.005,
                         0.015,
                         0.125,
                         0.375,
                         0.0005,
                         0.000005,
                         0.000015,
                         0.995,
                         9.995,
                         2.675,
                         2.5,
                         99.9949,
                         99.995,
                         999999.5,
                         1e-5,
                         333333333333333.3,
                         8388607.5,
                         8388608,
                         16777216,
                         4294967296.0,
                         42949672.95,
                         42949672.96,
                         4503599627370495.5,
                         9007199254740992.0,
                         1e22};
  std::vector<Number> values = {Limits::denorm_min(), Limits::min(), Limits::max(), Limits::epsilon(), Limits::infinity(), Limits::quiet_NaN()};
  for (const double value : hard) values.push_back(static_cast<Number>(value));
  for (int power = -80; power < 80; ++power) values.push_back(std::ldexp(Number{1}, power));
  for (const Number value : values) {
    CAPTURE(value);
    CHECK(differences(value) == 0);
    CHECK(differences(-value) == 0);
    CHECK(differences(std::nextafter(value, Limits::infinity())) == 0);
    CHECK(differences(std::nextafter(value, -Limits::infinity())) == 0);
  }
}

TEST_CASE("fixed and general text is printf's for any bits, usual values and ties") {
  Mixed mixed;
  int count = 0;
  for (int i = 0; i < 150'000; ++i) {
    const std::uint64_t bits = mixed.next();
    const auto low = static_cast<std::uint32_t>(bits);
    count += differences(std::bit_cast<double>(bits));
    count += differences(std::bit_cast<float>(low));
    const float usual = static_cast<float>(static_cast<std::int64_t>(bits) >> 32) * 1e-7F;  // +-215, as levels and log-likelihoods are
    count += differences(usual);
    count += differences(static_cast<double>(usual));
    const auto tie = static_cast<float>(static_cast<std::int32_t>(low) >> 12) / 64;  // exact halves of a hundredth and of a thousandth among them
    count += differences(tie);
    count += differences(static_cast<double>(tie));
  }
  CHECK(count == 0);
}

TEST_CASE("integers are printf's") {
  const auto text = [](auto value) {
    char characters[sluice::integer_text_bytes];
    return std::string(characters, sluice::put_integer(characters, value));
  };
  for (int power = 0; power < 64; ++power)
    for (const std::uint64_t near : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const std::uint64_t value = (std::uint64_t{1} << power) + near;
      CHECK(text(value) == std::to_string(value));
      CHECK(text(static_cast<std::int64_t>(value)) == std::to_string(static_cast<std::int64_t>(value)));
      CHECK(text(static_cast<std::int32_t>(value)) == std::to_string(static_cast<std::int32_t>(value)));
    }
  for (std::uint64_t value = 1; value < 1'000'000'000'000'000'000; value *= 10) {
    CHECK(text(value) == std::to_string(value));
    CHECK(text(value - 1) == std::to_string(value - 1));
  }
  std::string line = "at ";
  sluice::append_integer(line, -12);
  sluice::append_fixed<3>(line, -0.5F);
  CHECK(line == "at -12-0.500");
}
