// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_training/level_prior.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "unit/signal/kmer_training/made_reads.hpp"

namespace sluice::kmer_training {
namespace {

struct Problem {
  std::vector<LevelPrior::Sample> samples;
  std::vector<std::vector<Term>> terms;
};

// y = 2 + 3 x - own deviation of 0.5, errors of 1; columns 2 to 21 have nothing to do with it.
Problem made_problem(std::size_t count, double outliers) {
  RandomStream random(3, count, Purpose::noise);
  Problem problem;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = random.uniform() * 2 - 1;
    double y = 2 + 3 * x + 0.5 * static_cast<double>(normal()(random.next32())) + static_cast<double>(normal()(random.next32()));
    if (random.uniform() < outliers) y += 40;
    problem.samples.push_back({y, 1});
    problem.terms.push_back({{0, 1}, {1, x}, {2 + random.next32() % 20, 1}});
  }
  return problem;
}

LevelPrior fitted(const Problem& problem) {
  LevelPrior prior(22, {{0, 1}, {1, 2}, {2, 22}});
  prior.fit(problem.samples, [&](std::size_t i, std::vector<Term>& to) { to = problem.terms[i]; });
  return prior;
}

TEST_CASE("a prior finds what its terms tell, how much is left, and nothing where there is nothing") {
  const LevelPrior prior = fitted(made_problem(4000, 0));
  CHECK(prior.predict(std::vector<Term>{{0, 1}}) == doctest::Approx(2).epsilon(0.05));
  CHECK(prior.predict(std::vector<Term>{{1, 1}}) == doctest::Approx(3).epsilon(0.05));
  for (std::uint32_t column = 2; column < 22; ++column) CHECK(std::fabs(prior.predict(std::vector<Term>{{column, 1}})) < 0.1);
  CHECK(std::sqrt(prior.deviation_variance()) == doctest::Approx(0.5).epsilon(0.2));
}

TEST_CASE("one in fifty that lies far off moves neither") {
  const LevelPrior prior = fitted(made_problem(4000, 0.02));
  CHECK(prior.predict(std::vector<Term>{{0, 1}}) == doctest::Approx(2).epsilon(0.1));
  CHECK(prior.predict(std::vector<Term>{{1, 1}}) == doctest::Approx(3).epsilon(0.1));
  CHECK(std::sqrt(prior.deviation_variance()) < 1);
}

TEST_CASE("with few samples or none the prior stays near nothing, and is finite") {
  for (const std::size_t count : {0, 1, 2, 3, 10}) {
    const LevelPrior prior = fitted(made_problem(count, 0));
    for (std::uint32_t column = 0; column < 22; ++column) CHECK(std::fabs(prior.predict(std::vector<Term>{{column, 1}})) < 6);
    CHECK(std::isfinite(prior.deviation_variance()));
  }
  CHECK(fitted(made_problem(0, 0)).predict(std::vector<Term>{{0, 1}}) == 0);
}

TEST_CASE("the weight of outliers") {
  CHECK(outlier_weight(2.5, 1) == 1);
  CHECK(outlier_weight(-5, 1) == 0.5);
  CHECK(outlier_weight(5, 4) == 1);
}

TEST_CASE("terms of k-mers: each base in its place, each M with its neighbours and its other bases") {
  const Levels start = levels_in(Alphabet::methylation, random_pore(3, 7).view(), 'C');
  const auto rank = [](const char* kmer) { return std::size_t{kmer_rank(Alphabet::methylation, kmer)}; };
  std::vector<Term> terms;
  const BaseTerms bases(start);
  bases.add(rank("ATG"), terms);
  std::vector<std::uint32_t> columns;
  for (const Term& term : terms) columns.push_back(term.column);
  CHECK(columns == std::vector<std::uint32_t>{0, 1, 1 + 4 + 3, 1 + 8 + 2});
  CHECK(*std::max_element(columns.begin(), columns.end()) < bases.columns());

  const ShiftTerms shifts(start, 'C');
  CHECK(shifts.unmodified(rank("MGM")) == rank("CGC"));
  terms.clear();
  shifts.add(rank("ACG"), terms);
  CHECK(terms.empty());
  shifts.add(rank("AMG"), terms);
  REQUIRE(terms.size() == 1 + 2 + 3);
  CHECK(terms[0].column == 1);
  CHECK(terms[3].value == doctest::Approx(start.mean[rank("AAG")] - start.mean[rank("ACG")]));
  CHECK(terms[5].value == doctest::Approx(start.mean[rank("ATG")] - start.mean[rank("ACG")]));
  terms.clear();
  shifts.add(rank("MGM"), terms);
  CHECK(terms.size() == 12);
  for (const Term& term : terms) CHECK(term.column < shifts.columns());
  CHECK(shifts.groups().back().end == shifts.columns());
  const ShiftTerms of_adenine(start, 'A');
  CHECK(of_adenine.unmodified(rank("GMT")) == rank("GAT"));
}

}  // namespace
}  // namespace sluice::kmer_training
