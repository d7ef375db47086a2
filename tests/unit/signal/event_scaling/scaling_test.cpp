// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sluice/methods/event_scaling/scaling.hpp>
#include <sluice/natural_log.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::event_scaling {
namespace {

// A model of 2-mers whose levels are 60, 64, 68 ... pA.
struct TwoMers {
  std::vector<float> level_mean;
  std::vector<float> level_stdv;
  KmerModelView view;

  TwoMers() {
    for (int rank = 0; rank < 16; ++rank) {
      level_mean.push_back(60.0F + 4.0F * static_cast<float>(rank));
      level_stdv.push_back(rank % 2 == 0 ? 1.0F : 2.0F);
    }
    view.k = 2;
    view.level_mean = level_mean;
    view.level_stdv = level_stdv;
  }
};

std::vector<std::uint32_t> ranks_of(std::string_view bases, Alphabet alphabet, std::uint32_t k) {
  std::vector<std::uint32_t> ranks(read_kmer_count(bases.size(), k));
  REQUIRE(kmer_ranks(bases, alphabet, k, ranks) == ScalingStatus::ok);
  return ranks;
}

std::string random_bases(std::size_t count, std::string_view letters, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string bases;
  for (std::size_t i = 0; i < count; ++i) bases += letters[random() % letters.size()];
  return bases;
}

// A read on the two-mer model: k-mer j has the events 2j and 2j + 1, at scale * level + shift.
struct AlignedRead {
  TwoMers model;
  std::vector<std::uint32_t> ranks;
  std::vector<float> event_means;
  std::vector<std::int32_t> first_event;
  std::vector<std::int32_t> last_event;

  explicit AlignedRead(std::string_view bases, float scale, float shift) : ranks(ranks_of(bases, Alphabet::nucleotide, 2)) {
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      const float mean = scale * model.level_mean[ranks[j]] + shift;
      event_means.insert(event_means.end(), {mean, mean + 1000.0F});  // the second event must not count
      first_event.push_back(static_cast<std::int32_t>(2 * j));
      last_event.push_back(static_cast<std::int32_t>(2 * j + 1));
    }
  }

  ScalingStatus recalibrate(Recalibration& result, const RecalibrationParams& params = {}) const {
    return event_scaling::recalibrate(event_means, ranks, first_event, last_event, model.view, params, result);
  }
};

TEST_CASE("rolling ranks are the ranks of the k-mers, in both alphabets and for any letters") {
  const std::string bases = random_bases(300, "ACGTMNacgtU-\xFF", 1);
  for (const Alphabet alphabet : {Alphabet::nucleotide, Alphabet::methylation}) {
    for (const std::uint32_t k : {1U, 2U, 5U, 6U, 9U, 13U}) {
      const auto ranks = ranks_of(bases, alphabet, k);
      for (std::size_t i = 0; i < ranks.size(); ++i) CHECK(ranks[i] == kmer_rank(alphabet, std::string_view(bases).substr(i, k)));
    }
  }
}

TEST_CASE("ranks of known k-mers") {
  CHECK(ranks_of("AAAAAAC", Alphabet::nucleotide, 6) == std::vector<std::uint32_t>{0, 1});
  CHECK(ranks_of("TTTTTT", Alphabet::nucleotide, 6) == std::vector<std::uint32_t>{4095});
  CHECK(ranks_of("CMG", Alphabet::methylation, 2) == std::vector<std::uint32_t>{8, 17});
  CHECK(ranks_of("NacgT", Alphabet::nucleotide, 5) == std::vector<std::uint32_t>{3});
}

TEST_CASE("reads, sizes and k-mer lengths that give no ranks are refused") {
  std::vector<std::uint32_t> ranks(3);
  CHECK(kmer_ranks("", Alphabet::nucleotide, 6, {}) == ScalingStatus::read_too_short);
  CHECK(kmer_ranks("ACGTA", Alphabet::nucleotide, 6, {}) == ScalingStatus::read_too_short);
  CHECK(kmer_ranks("ACGTACG", Alphabet::nucleotide, 6, ranks) == ScalingStatus::bad_input);
  CHECK(kmer_ranks("ACGTACG", Alphabet::nucleotide, 0, ranks) == ScalingStatus::bad_model);
  CHECK(kmer_ranks("ACGTACG", Alphabet::nucleotide, 14, ranks) == ScalingStatus::bad_model);
}

TEST_CASE("the method of moments by hand: the mean difference, and a ratio of second moments that is not a square root") {
  const TwoMers model;
  const std::vector<std::uint32_t> ranks{0, 10};          // levels 60 and 100, mean 80, mean square 6800
  const std::vector<float> events{70.0F, 90.0F, 110.0F};  // mean 90
  MomentScaling scaling;
  REQUIRE(moments(events, EventOrder::ascending, ranks, model.view, scaling) == ScalingStatus::ok);
  CHECK(scaling.shift == 10.0F);
  CHECK(scaling.scale == static_cast<float>((3600.0 + 6400.0 + 10000.0) / 3.0 / 6800.0));
}

TEST_CASE("events that come last in time first have the moments, to the last bit, of the same events in order of time") {
  const TwoMers model;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> current(0.001F, 140.0F);
  const std::vector<std::uint32_t> ranks{0, 10, 3, 7};
  std::size_t order_matters = 0;
  for (int read = 0; read < 50; ++read) {
    std::vector<float> events(1000);
    for (float& mean : events) mean = current(random);
    std::vector<float> reversed(events.rbegin(), events.rend());
    MomentScaling in_time, against_time, wrong;
    REQUIRE(moments(events, EventOrder::ascending, ranks, model.view, in_time) == ScalingStatus::ok);
    REQUIRE(moments(reversed, EventOrder::descending, ranks, model.view, against_time) == ScalingStatus::ok);
    REQUIRE(moments(reversed, EventOrder::ascending, ranks, model.view, wrong) == ScalingStatus::ok);
    CHECK(in_time.shift == against_time.shift);
    CHECK(in_time.scale == against_time.scale);
    order_matters += in_time.shift != wrong.shift || in_time.scale != wrong.scale ? 1 : 0;
  }
  MESSAGE("reads where the order of the sums shows: " << order_matters << " of 50");
}

TEST_CASE("the method of moments refuses what has no moments") {
  const TwoMers model;
  KmerModelView truncated = model.view;
  truncated.level_mean = truncated.level_mean.first(15);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::uint32_t> ranks{0, 10};
  const std::vector<float> events{70.0F, 90.0F};
  MomentScaling scaling{1.5F, 2.5F};
  CHECK(moments({}, EventOrder::ascending, ranks, model.view, scaling) == ScalingStatus::no_events);
  CHECK(moments(events, EventOrder::ascending, {}, model.view, scaling) == ScalingStatus::read_too_short);
  CHECK(moments(events, EventOrder::ascending, std::vector<std::uint32_t>{0, 16}, model.view, scaling) == ScalingStatus::bad_input);
  CHECK(moments(events, EventOrder::ascending, std::vector<std::uint32_t>{0, 1, 2, 16}, model.view, scaling) == ScalingStatus::bad_input);
  CHECK(moments(events, EventOrder::ascending, ranks, truncated, scaling) == ScalingStatus::bad_model);
  CHECK(moments(events, EventOrder::ascending, ranks, KmerModelView{}, scaling) == ScalingStatus::bad_model);
  CHECK(moments(std::vector<float>{70.0F, infinity}, EventOrder::ascending, ranks, model.view, scaling) == ScalingStatus::singular);
  CHECK(scaling.shift == 1.5F);
  CHECK(scaling.scale == 2.5F);
}

TEST_CASE("recalibration finds the scaling that events were made with, from the first event of each k-mer") {
  const AlignedRead read(random_bases(2'000, "ACGT", 2), 1.25F, -7.5F);
  Recalibration result;
  CHECK(read.recalibrate(result) == ScalingStatus::singular);  // no spread at all: var is 0, and has no logarithm

  AlignedRead noisy = read;
  for (std::size_t i = 0; i < noisy.event_means.size(); ++i) noisy.event_means[i] += i % 4 == 0 ? 0.75F : -0.75F;
  REQUIRE(noisy.recalibrate(result) == ScalingStatus::ok);
  CHECK(result.scale == doctest::Approx(1.25).epsilon(0.01));
  CHECK(result.shift == doctest::Approx(-7.5).epsilon(0.05));
  CHECK(result.var > 0.375F);
  CHECK(result.var < 0.75F);
  CHECK(result.log_var == doctest::Approx(std::log(static_cast<double>(result.var))).epsilon(1e-5));
  CHECK(result.events_used > 1'000);
}

TEST_CASE("a fit of three events by hand") {
  const TwoMers model;
  // Levels 60, 64, 68 with stdv 1, 2, 1: weights 1, 1/4, 1. Events 60, 70, 68.
  const std::vector<std::uint32_t> ranks{0, 1, 2};
  const std::vector<float> events{60.0F, 70.0F, 68.0F};
  const std::vector<std::int32_t> index{0, 1, 2};
  Recalibration result;
  REQUIRE(recalibrate(events, ranks, index, index, model.view, {3, 2.5F}, result) == ScalingStatus::ok);
  // By symmetry scale = 1; the middle event is 6 above: shift = 6 * (1/4) / (9/4) = 2/3.
  CHECK(result.scale == doctest::Approx(1.0));
  CHECK(result.shift == doctest::Approx(2.0 / 3.0));
  // Residuals -2/3, 16/3, -2/3 in units of 1, 2, 1: var = sqrt((4/9 + 64/9 + 4/9) / 3).
  CHECK(result.var == doctest::Approx(std::sqrt(72.0 / 27.0)));
  CHECK(result.events_used == 3);
}

TEST_CASE("equal k-mers in a row count once, also across k-mers without events") {
  AlignedRead read("AAAACAA", 1.0F, 0.0F);  // AA AA AA AC CA AA
  Recalibration result;
  read.recalibrate(result, {100, 2.5F});
  CHECK(result.events_used == 4);
  read.first_event[3] = read.last_event[3] = -1;
  read.first_event[4] = read.last_event[4] = -1;
  read.recalibrate(result, {100, 2.5F});
  CHECK(result.events_used == 1);
}

TEST_CASE("reads that cannot be recalibrated say why") {
  Recalibration result;
  AlignedRead read(random_bases(1'000, "ACGT", 3), 1.0F, 0.0F);
  for (std::size_t i = 0; i < read.event_means.size(); ++i) read.event_means[i] += i % 4 == 0 ? 1.0F : -1.0F;
  REQUIRE(read.recalibrate(result) == ScalingStatus::ok);
  const std::uint32_t used = result.events_used;
  CHECK(read.recalibrate(result, {used, 2.5F}) == ScalingStatus::ok);
  CHECK(read.recalibrate(result, {used + 1, 2.5F}) == ScalingStatus::too_few_events);
  CHECK(read.recalibrate(result, {used, 0.1F}) == ScalingStatus::var_too_large);

  const AlignedRead one_level(random_bases(1'000, "A", 4), 1.0F, 0.0F);
  CHECK(one_level.recalibrate(result, {1, 2.5F}) == ScalingStatus::singular);
  CHECK(one_level.recalibrate(result, {0, 2.5F}) == ScalingStatus::singular);

  AlignedRead hostile = read;
  hostile.event_means[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(hostile.recalibrate(result) == ScalingStatus::singular);
  hostile = read;
  hostile.first_event[0] = hostile.last_event[0] = static_cast<std::int32_t>(read.event_means.size());
  CHECK(hostile.recalibrate(result) == ScalingStatus::bad_input);
  hostile = read;
  hostile.ranks[0] = 16;
  CHECK(hostile.recalibrate(result) == ScalingStatus::bad_input);
  hostile = read;
  hostile.last_event.pop_back();
  CHECK(hostile.recalibrate(result) == ScalingStatus::bad_input);
  hostile = read;
  hostile.first_event.assign(hostile.first_event.size(), -1);
  CHECK(hostile.recalibrate(result, {0, 2.5F}) == ScalingStatus::too_few_events);
  CHECK(name(ScalingStatus::var_too_large) == "var_too_large");
}

TEST_CASE("the logarithm is that of the mathematicians to 1.5 units of the last place") {
  CHECK(natural_log(1.0) == 0.0);
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> exponent(-20.0, 20.0);
  double worst = 0.0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = i % 2 == 0 ? std::exp2(exponent(random)) : 1.0 + exponent(random) * 0.01;
    const long double exact = std::log(static_cast<long double>(x));
    const double place = std::nextafter(std::fabs(static_cast<double>(exact)), 1e9) - std::fabs(static_cast<double>(exact));
    worst = std::max(worst, static_cast<double>(std::fabs(natural_log(x) - exact)) / place);
  }
  CHECK(worst < 1.5);
  MESSAGE("worst error: " << worst << " units of the last place");
}

}  // namespace
}  // namespace sluice::event_scaling
