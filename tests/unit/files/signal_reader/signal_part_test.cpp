// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_part.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice::signal_reader;

namespace {

// "begin-end", with what is said of it.
std::string range_of(const std::vector<std::int64_t>& column, const ParentRead& parent) {
  const auto part = SignalPart::of(column);
  if (!part) return "no part";
  const ResolvedPart resolved = resolve(*part, parent);
  if (resolved.status == PartStatus::impossible) return "impossible";
  return std::to_string(resolved.samples.begin) + "-" + std::to_string(resolved.samples.end) +
         (resolved.status == PartStatus::guessed ? " guessed" : "");
}
constexpr std::int64_t run_began = 1'700'000'000'000;
ParentRead parent(std::int64_t samples, bool is_rna = false) {
  return {.samples = samples, .sampling_rate = 5000, .start_sample = 29'767'426, .acquisition_ms = run_began, .is_rna = is_rna};
}
// The start of a sample of the parent, as dorado says it of children: rounded.
std::int64_t start_of(double sample) { return run_began + static_cast<std::int64_t>((29'767'426 + sample) / 5 + 0.5); }

}  // namespace

TEST_CASE("a whole read begins at ts and ends at ns") {
  CHECK(range_of({10, 900}, parent(1000)) == "10-900");
  CHECK(range_of({10, 1000}, parent(1000)) == "10-1000");
  CHECK(range_of({10, -1}, parent(1000)) == "10-1000");
  CHECK(range_of({0, 1000}, parent(1000)) == "0-1000");
}

TEST_CASE("what names no samples of the signal is refused, each in its way") {
  CHECK(range_of({900, 900}, parent(1000)) == "impossible");
  CHECK(range_of({-1, 900}, parent(1000)) == "impossible");
  CHECK(range_of({10, 0}, parent(1000)) == "impossible");
  CHECK(range_of({10, 1001}, parent(1000)) == "impossible");
  CHECK(range_of({1000, -1}, parent(1000)) == "impossible");
  CHECK(range_of({10, 900, 200, -1, 0}, parent(1000)) == "impossible");
  CHECK(range_of({10, -1, 200, -1, 0}, parent(1000)) == "impossible");  // a split read of unknown length
  CHECK(range_of({10, 100, -2, -1, 0}, parent(1000)) == "impossible");
  CHECK(range_of({10, 100, -1, -1, 0}, parent(1000)) == "impossible");  // nothing says where it begins
  CHECK(range_of({10}, parent(1000)) == "no part");
}

TEST_CASE("an end that is too large by ts is dorado 0.5's of direct RNA, of which nothing was cut") {
  CHECK(range_of({300, 1300}, parent(1000, true)) == "0-1000");
  CHECK(range_of({300, 1299}, parent(1000, true)) == "impossible");
}

TEST_CASE("sp counts from the parent's first sample since dorado 2.1.0, and of direct RNA always") {
  CHECK(range_of({30, 5030, 1000, -1, 0}, parent(9000)) == "1030-6030");
  CHECK(range_of({30, 5030, 1000, start_of(1000), 0}, parent(9000)) == "1030-6030");
  CHECK(range_of({50, 5030, 1000, -1, -1}, parent(9000, true)) == "1050-6030");
  CHECK(range_of({50, 5030, 1000, start_of(1000), 10}, parent(9000, true)) == "1050-6030");
}

TEST_CASE("before it counts from behind what was cut, which the start in time tells") {
  // dorado's own test of a split read of DNA: four children, 10 samples were cut.
  for (const std::int64_t child : {0, 97'230, 152'310, 206'305})
    for (const std::int64_t front : {std::int64_t{-1}, std::int64_t{10}}) {
      const std::string expected = std::to_string(child + 10) + "-" + std::to_string(child + 10 + 1000);
      CHECK(range_of({0, 1000, child, start_of(static_cast<double>(child) + 10), front}, parent(300'000)) == expected);
    }
  // Models with scaling by quantiles cut windows of 40 samples more.
  CHECK(range_of({0, 1000, 500, start_of(500 + 10 + 40 * 3), -1}, parent(9000)) == "630-1630");
  // Without a time: the version, then nothing.
  CHECK(range_of({0, 1000, 500, -1, 10}, parent(9000)) == "510-1510");
  CHECK(range_of({0, 1000, 500, -1, -1}, parent(9000)) == "500-1500 guessed");
  ParentRead unknown = parent(9000);
  unknown.acquisition_ms = -1;
  CHECK(range_of({0, 1000, 500, start_of(510), 10}, unknown) == "510-1510");
  // A time that lies outside of the parent says nothing.
  CHECK(range_of({0, 1000, 500, start_of(20'000), 10}, parent(9000)) == "510-1510");
  CHECK(range_of({0, 1000, 500, start_of(-900), -1}, parent(9000)) == "500-1500 guessed");
}

TEST_CASE("a read that was split twice lies where its start in time says") {
  CHECK(range_of({0, 1000, 40, start_of(4004), 0}, parent(9000)) == "4004-5004");
  CHECK(range_of({0, 1000, 40, start_of(12'004), 10}, parent(29'000)) == "12004-13004");
  CHECK(range_of({0, 1000, -1, start_of(4004), -1}, parent(9000)) == "4004-5004");
}

TEST_CASE("times of headers are text or milliseconds") {
  CHECK(time_of_header("1700000000000") == run_began);
  CHECK(time_of_header("2023-11-14T22:13:20Z") == run_began);
  CHECK(time_of_header("") == -1);
  CHECK(time_of_header("yesterday") == -1);
}
