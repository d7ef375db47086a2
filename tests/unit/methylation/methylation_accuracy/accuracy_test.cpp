// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_accuracy/accuracy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace sluice::methylation_accuracy;

TEST_CASE("the area under the curve is 1 for a perfect order, 0.5 for ties, 0 for the wrong order") {
  std::vector<Call> perfect{{-1, false}, {2, true}, {-3, false}, {5, true}};
  CHECK(area_under_curve(perfect) == 1);
  std::vector<Call> tied{{1, false}, {1, true}, {1, true}};
  CHECK(area_under_curve(tied) == 0.5);
  std::vector<Call> wrong{{1, false}, {0, true}};
  CHECK(area_under_curve(wrong) == 0);
  std::vector<Call> mixed{{1, false}, {2, true}, {3, false}, {4, true}};
  CHECK(area_under_curve(mixed) == 0.75);
}

TEST_CASE("with one class only there is no area") {
  std::vector<Call> calls{{1, true}, {2, true}}, none;
  CHECK(std::isnan(area_under_curve(calls)));
  CHECK(std::isnan(area_under_curve(none)));
}

TEST_CASE("frequencies are compared by correlation and root mean square") {
  const std::vector<double> truth{0, 0.5, 1}, called{0.1, 0.6, 1.1};
  const FrequencyAgreement agreement = compare_frequencies(truth, called);
  CHECK(agreement.sites == 3);
  CHECK(agreement.correlation == doctest::Approx(1));
  CHECK(agreement.rmse == doctest::Approx(0.1));
  CHECK(std::isnan(compare_frequencies({}, {}).rmse));
  CHECK(std::isnan(compare_frequencies(std::vector{0.5}, std::vector{0.5}).correlation));
}

TEST_CASE("frequencies that agree by half, by hand") {
  // Distances from the means of 0.5: -0.5, 0.5, 0 and -0.5, 0, 0.5.
  const FrequencyAgreement agreement = compare_frequencies(std::vector{0.0, 1.0, 0.5}, std::vector{0.0, 0.5, 1.0});
  CHECK(agreement.correlation == doctest::Approx(0.5));
  CHECK(agreement.rmse == doctest::Approx(std::sqrt(0.5 / 3)));
  CHECK(compare_frequencies(std::vector{0.0, 1.0}, std::vector{1.0, 0.0}).correlation == doctest::Approx(-1));
  CHECK(std::isnan(compare_frequencies(std::vector{0.0, 1.0}, std::vector{0.25, 0.25}).correlation));
  CHECK(std::isnan(compare_frequencies(std::vector{0.25, 0.25}, std::vector{0.0, 1.0}).correlation));
}

TEST_CASE("site frequencies are read with and without header and further columns") {
  SiteFrequencies frequencies;
  CHECK(parse_site_frequencies("contig\tposition\tfrequency\treads\nx\t3\t0.25\t7\ny\t4\t1\n", frequencies).empty());
  CHECK(frequencies.at("x").at(3) == 0.25);
  CHECK(frequencies.at("y").at(4) == 1);
  CHECK(parse_site_frequencies("z\t0\t0\n", frequencies).empty());
  CHECK(frequencies.at("z").at(0) == 0);
  CHECK(parse_site_frequencies("w\t5\t0.25\r\n", frequencies).empty());  // of Windows
  CHECK(frequencies.at("w").at(5) == 0.25);
  for (const char* bad : {"x\t3\n", "x\t3\tnan\n", "x\t3\t1.5\n", "x\tthree\t1\n", "x 3 1\n"})
    CHECK(parse_site_frequencies(std::string("x\t1\t0\n") + bad, frequencies).starts_with("line 2:"));
}

TEST_CASE("read truths are grouped by read and sorted") {
  ReadTruths truths;
  CHECK(parse_read_truths("contig\tposition\tstrand\tread_id\tmethylated\nx\t9\t+\ta\t1\nx\t5\t-\tb\t0\nx\t3\t+\ta\t0\n", truths).empty());
  CHECK(truths.at("a").positions == std::vector<std::int64_t>{3, 9});
  CHECK(truths.at("a").methylated == std::vector<bool>{false, true});
  CHECK(parse_read_truths("x\t9\t+\ta\t2\n", truths).starts_with("line 1:"));
  CHECK(parse_read_truths("x\t9\t+\t\t1\n", truths).starts_with("line 1:"));  // of no read
}

TEST_CASE("molecules are read from FASTA of any line length") {
  Molecules molecules;
  CHECK(parse_molecules(">a comment\nACM\nGT\n>b\r\nacg\r\n", molecules).empty());
  CHECK(molecules.at("a") == "ACMGT");
  CHECK(molecules.at("b") == "ACG");
  CHECK(parse_molecules("ACGT\n", molecules).starts_with("line 1:"));
  CHECK(parse_molecules(">\nACGT\n", molecules).starts_with("line 1:"));
}

TEST_CASE("a molecule is found on either strand and its cytosines are put on the forward strand") {
  //                            0123456789
  const std::string reference = "TTACGTACGGATT";
  ReadTruth truth;
  REQUIRE(locate_molecule("ACGTAMGGA", Strand::forward, reference, 7, truth));
  CHECK(truth.positions == std::vector<std::int64_t>{3, 7});
  CHECK(truth.methylated == std::vector<bool>{false, true});
  // Reverse complement of ACGTACGGA is TCCGTACGT: its first CG is the one at 7, its second the one at 3.
  REQUIRE(locate_molecule("TCMGTACGT", Strand::reverse, reference, 3, truth));
  CHECK(truth.positions == std::vector<std::int64_t>{3, 7});
  CHECK(truth.methylated == std::vector<bool>{false, true});
  // Its last two bases are a CpG, too.
  REQUIRE(locate_molecule("ACGTAMG", Strand::forward, reference, 7, truth));
  CHECK(truth.positions == std::vector<std::int64_t>{3, 7});
  CHECK(truth.methylated == std::vector<bool>{false, true});
  CHECK_FALSE(locate_molecule("GGGGG", Strand::forward, reference, 3, truth));
  CHECK_FALSE(locate_molecule("", Strand::forward, reference, 3, truth));
  CHECK_FALSE(locate_molecule("ACG", Strand::forward, reference, 1'000'000, truth));
  CHECK_FALSE(locate_molecule("ACG", Strand::forward, reference, -5, truth));
}
