// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/reference_repeats.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "simulate_signal/simulate_read.hpp"

using namespace sluice::simulate_signal;

namespace {

std::string contig(std::size_t length, std::uint64_t number = 0) { return synthesize_contig(5, number, static_cast<std::int64_t>(length), 0.5, 1); }

std::string with(const RepeatParameters& parameters, std::size_t length, std::uint64_t number = 0, std::uint64_t seed = 5) {
  std::string bases = contig(length, number);
  Repeats(seed, parameters).add_to(number, bases);
  return bases;
}

// The share of 16-mers that another place has too.
double repeated_share(const std::string& bases) {
  std::unordered_map<std::string_view, int> count;
  const std::string_view text = bases;
  for (std::size_t i = 0; i + 16 <= text.size(); ++i) ++count[text.substr(i, 16)];
  std::size_t repeated = 0;
  for (std::size_t i = 0; i + 16 <= text.size(); ++i) repeated += count[text.substr(i, 16)] > 1 ? 1 : 0;
  return static_cast<double>(repeated) / static_cast<double>(text.size());
}

double changed_share(const std::string& a, const std::string& b) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < a.size(); ++i) changed += a[i] != b[i] ? 1 : 0;
  return static_cast<double>(changed) / static_cast<double>(a.size());
}

}  // namespace

TEST_CASE("ranges of lengths") {
  CHECK(parse_length_range("300..6000") == LengthRange{300, 6000});
  CHECK(parse_length_range("171") == LengthRange{171, 171});
  for (const char* text : {"", "..", "300..", "..6000", "6000..300", "0..5", "-3", "3..1000001", "3...4", "3..4 ", "a", "99999999999999999999"})
    CHECK(!parse_length_range(text));
}

TEST_CASE("without repeats nothing changes") { CHECK(with({}, 5000) == contig(5000)); }

TEST_CASE("copies of families cover about the share that was asked for, alike where they differ little") {
  RepeatParameters parameters;
  parameters.interspersed = 0.5;
  parameters.divergence = 0;
  const std::size_t length = 400000;
  const std::string exact = with(parameters, length);
  REQUIRE(exact.size() == length);
  CHECK(exact.find_first_not_of("ACGT") == std::string::npos);
  // Three of four bases of a random copy differ from what was there, and later copies cover earlier ones: 1 - exp(-1/2) of the contig.
  CHECK(changed_share(exact, contig(length)) > 0.25);
  CHECK(changed_share(exact, contig(length)) < 0.4);
  CHECK(repeated_share(contig(length)) < 0.01);
  CHECK(repeated_share(exact) > 0.3);
  parameters.divergence = 0.2;
  CHECK(repeated_share(with(parameters, length)) < 0.2);
}

TEST_CASE("contigs share families, and seeds do not") {
  RepeatParameters parameters;
  parameters.interspersed = 0.6;
  parameters.divergence = 0;
  const std::string one = with(parameters, 60000), two = with(parameters, 60000, 1), other = with(parameters, 60000, 1, 6);
  CHECK(one == with(parameters, 60000));
  CHECK(repeated_share(one + two) > repeated_share(one + other) + 0.05);
}

TEST_CASE("arrays repeat their unit, whatever its length, in contigs of any length") {
  RepeatParameters parameters;
  parameters.tandem = 0.3;
  CHECK(repeated_share(with(parameters, 100000)) > 0.15);
  parameters.unit_length = {1, 400};
  parameters.unit_divergence = 0.5;
  parameters.interspersed = 0.9;
  parameters.family_length = {1, 5000};
  for (const std::size_t length : {1U, 2U, 100U, 7000U}) CHECK(with(parameters, length).size() == length);
}
