// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/shorter_kmers.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace sluice::kmer_model;

namespace {

// 3-mers whose level is told by the middle base, and a little by the last one.
KmerModel three_mers() {
  KmerModel model;
  model.k = 3;
  model.name = "made";
  for (std::uint32_t rank = 0; rank < 64; ++rank) {
    model.level_mean.push_back(60.0F + 10.0F * static_cast<float>(rank >> 2 & 3) + static_cast<float>(rank & 3));
    model.level_stdv.push_back(2);
    model.log_level_stdv.push_back(std::log(2.0F));
  }
  return model;
}

}  // namespace

TEST_CASE("a model of shorter k-mers keeps the bases that tell most, and counts the others as spread") {
  std::uint32_t first = 9;
  const KmerModel one = shortened(three_mers(), 1, first);
  CHECK(first == 1);
  CHECK(one.k == 1);
  CHECK(one.name == "made, 1-mers");
  REQUIRE(one.level_mean.size() == 4);
  for (std::size_t base = 0; base < 4; ++base) {
    CHECK(one.level_mean[base] == doctest::Approx(61.5 + 10 * static_cast<double>(base)));
    CHECK(one.level_stdv[base] == doctest::Approx(std::sqrt(4 + 1.25)));  // 0, 1, 2, 3: variance 1.25
    CHECK(one.log_level_stdv[base] == doctest::Approx(std::log(std::sqrt(5.25))));
  }
  const KmerModel two = shortened(three_mers(), 2, first);
  CHECK(first == 1);
  for (std::size_t rank = 0; rank < 16; ++rank) {
    CHECK(two.level_mean[rank] == three_mers().level_mean[rank]);
    CHECK(two.level_stdv[rank] == doctest::Approx(2));
  }
}

TEST_CASE("a model of k-mers as long as its own is the same") {
  std::uint32_t first = 9;
  const KmerModel model = three_mers(), same = shortened(model, 3, first);
  CHECK(first == 0);
  CHECK(same.level_mean == model.level_mean);
  for (std::size_t rank = 0; rank < 64; ++rank) CHECK(same.level_stdv[rank] == doctest::Approx(2));
}
