// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "read_until_calibration/calibration.hpp"
#include "read_until_calibration/roc_plot.hpp"
#include "read_until_calibration/score_table.hpp"
#include "unit/outcomes_of.hpp"

using namespace sluice::read_until_calibration;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;
using sluice::testing::TestBatch;
namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = testing::load_plugin(SLUICE_PLUGIN_DIR "/read_until_calibration.so");
  return *info;
}

std::vector<LabelledScore> random_scores(std::size_t count, std::mt19937& random) {
  std::vector<LabelledScore> scores = {{0.5, Label::target}, {0.5, Label::other}};
  for (std::size_t i = 0; i < count; ++i) {
    const Label label = random() % 2 == 0 ? Label::target : Label::other;
    scores.push_back({static_cast<double>(random() % 40 + (label == Label::other ? 12 : 0)) / 100, label});
  }
  return scores;
}

// Scores in steps: two reads at two prefixes each.
TestBatch reads(const std::vector<std::string>& id, const std::vector<std::int64_t>& score) {
  std::vector<double> bases;
  std::vector<std::int32_t> length;
  for (std::size_t i = 0; i < id.size(); ++i) {
    bases.push_back(i % 2 == 0 ? 50 : 100);
    length.push_back(i % 2 == 0 ? 100 : 200);
  }
  return BatchBuilder("read", static_cast<std::int64_t>(id.size()))
      .text("read_id", id)
      .column<double>("prefix_bases", bases)
      .column<std::int64_t>("sdtw_score", score)
      .column<std::int32_t>("sdtw_length", length)
      .column<std::uint8_t>("query_complete", std::vector<std::uint8_t>(id.size(), 1))
      .build();
}

}  // namespace

TEST_CASE("a ROC curve counts what each threshold accepts") {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    const std::vector<LabelledScore> scores = random_scores(random() % 60, random);
    const RocCurve curve = roc_curve(scores);
    CHECK(curve.points.front().accepted_targets + curve.points.front().accepted_others == 0);
    for (const OperatingPoint& point : curve.points) {
      std::size_t targets = 0, others = 0;
      for (const LabelledScore& read : scores)
        if (read.score <= point.threshold) ++(read.label == Label::target ? targets : others);
      CHECK(point.accepted_targets == targets);
      CHECK(point.accepted_others == others);
    }
    double wins = 0;
    for (const LabelledScore& target : scores)
      for (const LabelledScore& other : scores)
        if (target.label == Label::target && other.label == Label::other)
          wins += target.score < other.score ? 1 : target.score == other.score ? 0.5 : 0;
    CHECK(curve.area == doctest::Approx(wins / static_cast<double>(curve.targets * curve.others)));
  }
}

TEST_CASE("no threshold has a larger F1 than the chosen one, and the early ones keep their promises") {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    const RocCurve curve = roc_curve(random_scores(random() % 60, random));
    const ChosenThresholds chosen = choose_thresholds(curve, 0.1);
    for (const OperatingPoint& point : curve.points) CHECK(point.f1 <= chosen.best.f1);
    for (const OperatingPoint& point : {chosen.best, chosen.accept, chosen.reject}) {
      const OperatingPoint again = operating_point(curve, point.threshold);
      CHECK(again.accepted_targets == point.accepted_targets);
      CHECK(again.accepted_others == point.accepted_others);
    }
    CHECK(chosen.accept.false_positive_rate <= 0.1);
    CHECK(chosen.reject.recall >= 0.9);
    CHECK(chosen.accept.threshold <= chosen.best.threshold);
    CHECK(chosen.best.threshold <= chosen.reject.threshold);
  }
}

TEST_CASE("a threshold lies halfway between the reads that it separates") {
  const std::vector<LabelledScore> scores = {{0.1, Label::target}, {0.2, Label::target}, {0.4, Label::other}, {0.5, Label::other}};
  const ChosenThresholds chosen = choose_thresholds(roc_curve(scores), 0);
  CHECK(chosen.best.threshold == doctest::Approx(0.3));
  CHECK(chosen.best.f1 == 1);
  CHECK(roc_curve(scores).area == 1);
}

TEST_CASE("labels and scores are read from tables, and wrong lines are named") {
  Labels labels;
  std::string problem;
  REQUIRE(parse_labels("read_id\tlabel\n# x\na\ttarget\nb\t0\r\n", labels, problem));
  CHECK(labels.size() == 2);
  CHECK(labels.at("a") == Label::target);
  CHECK(labels.at("b") == Label::other);
  CHECK(!parse_labels("a\ttarget\nb\tperhaps\n", labels, problem));
  CHECK(problem == "line 2: 'perhaps' is no label: target or other");
  CHECK(!parse_labels("a\ttarget\na\tother\n", labels, problem));
  CHECK(problem == "line 2: read 'a' has both labels");
  CHECK(!parse_labels("a\n", labels, problem));
  CHECK(!parse_labels("a\ttarget\tx\ty\n", labels, problem));
  CHECK(problem == "line 1: 4 columns instead of 2");
  CHECK(!parse_labels("a\ttarget\n\nb\tother\n#\nc\t2\n", labels, problem));
  CHECK(problem == "line 5: '2' is no label: target or other");
  REQUIRE(parse_labels("a\t1\nb\t0\na\ttarget", labels, problem));
  CHECK(labels == Labels{{"a", Label::target}, {"b", Label::other}});
  ScoresByPrefix scores;
  std::string table(score_header());
  append_score_line(table, "a", Label::target, 250, 740, 0.25);
  REQUIRE(parse_scores(table, scores, problem));
  CHECK(scores.at(250).levels == 740);
  CHECK(scores.at(250).scores.front().score == 0.25);
  CHECK(!parse_scores("a\ttarget\t250\t0\t1\n", scores, problem));
  CHECK(!parse_scores("a\ttarget\t250\t1\tinf\n", scores, problem));
  CHECK(parse_scores("a\ttarget\t251\t1\t1\n", scores, problem));
  CHECK(parse_scores("a\ttarget\t252\t2147483647\t1\n", scores, problem));
  CHECK(!parse_scores("a\ttarget\t253\t2147483648\t1\n", scores, problem));
  CHECK(!parse_scores("a\ttarget\t250\n", scores, problem));
}

TEST_CASE("the picture has both axes, and a curve with its corners for each prefix with reads of both labels") {
  // Rates run logarithmically from 0.1 % at x = 70 to 100 % at x = 630, recalls from y = 420 up to y = 20.
  const ScoresByPrefix scores = {
      {50, {100, {{0.1, Label::target}, {0.2, Label::other}, {0.3, Label::target}, {0.4, Label::other}}}},
      {75, {150, {{0.1, Label::target}}}},
      {100, {200, {{0.1, Label::target}, {0.2, Label::other}}}},
  };
  const auto gridline = [](const char* x, const char* label) {
    return "<line x1=\"" + std::string(x) + "\" x2=\"" + x + "\" y1=\"20\" y2=\"420\" stroke=\"#ccc\"/><text x=\"" + x +
           "\" y=\"438\" text-anchor=\"middle\">" + label + " %</text>\n";
  };
  const auto level = [](const char* y, const char* below, const char* label) {
    return "<line x1=\"70\" x2=\"630\" y1=\"" + std::string(y) + "\" y2=\"" + y + "\" stroke=\"#ccc\"/><text x=\"64\" y=\"" + below +
           "\" text-anchor=\"end\">" + label + " %</text>\n";
  };
  const auto curve = [](const char* colour, const char* points, const char* y, const char* below, const char* legend) {
    return "<polyline fill=\"none\" stroke=\"" + std::string(colour) + "\" stroke-width=\"1.5\" points=\"" + points +
           "\"/>\n<line x1=\"440\" x2=\"465\" y1=\"" + y + "\" y2=\"" + y + "\" stroke=\"" + colour + "\" stroke-width=\"2\"/><text x=\"472\" y=\"" +
           below + "\">" + legend + "</text>\n";
  };
  CHECK(
      roc_plot(scores) ==
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" height=\"475\" viewBox=\"0 0 660 475\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<rect x=\"70\" y=\"20\" width=\"560\" height=\"400\" fill=\"none\" stroke=\"#000\"/>\n" +
          gridline("70.0", "0.1") + gridline("256.7", "1") + gridline("443.3", "10") + gridline("630.0", "100") + level("420.0", "424.0", "0") +
          level("340.0", "344.0", "20") + level("260.0", "264.0", "40") + level("180.0", "184.0", "60") + level("100.0", "104.0", "80") +
          level("20.0", "24.0", "100") +
          "<text x=\"350\" y=\"460\" text-anchor=\"middle\">false positive rate</text>\n"
          "<text transform=\"translate(16,220) rotate(-90)\" text-anchor=\"middle\">recall</text>\n" +
          curve("#000000", "70.0,420.0 70.0,220.0 573.8,220.0 573.8,20.0 630.0,20.0 630.0,20.0 ", "400", "404", "50 bases, area 0.7500") +
          curve("#E69F00", "70.0,420.0 70.0,20.0 630.0,20.0 630.0,20.0 ", "382", "386", "100 bases, area 1.0000") + "</svg>\n");
}

TEST_CASE("two runs, one for each label, give thresholds, points and a picture") {
  const auto stage = testing::stage_of(plugin(), "read_until_calibration");
  const Result others = run_stage(stage, reads({"n1", "n1", "n2", "n2"}, {1600, 3200, 800, 1600})).with({{"label", "other"}, {"scores", "s"}}).run();
  REQUIRE_MESSAGE(others.ok(), others.message);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/scores.tsv";
  std::ofstream(path) << others.files.at("s");
  const Result both = run_stage(stage, reads({"p1", "p1", "p2", "p2"}, {160, 320, 480, 640}))
                          .with({{"other_scores", path}, {"scores", "all"}, {"thresholds", "t"}, {"roc", "r"}, {"plot", "p"}})
                          .run();
  REQUIRE_MESSAGE(both.ok(), both.message);
  CHECK(both.files.at("t") ==
        "bases\tlevels\tthreshold\taccept_below\treject_above\ttargets\tothers\trecall\tfalse_positive_rate\tf1\tarea\n"
        "50\t100\t0.400000\t0.400000\t0.400000\t2\t2\t1.0000\t0.0000\t1.0000\t1.0000\n"
        "100\t200\t0.350000\t0.350000\t0.350000\t2\t2\t1.0000\t0.0000\t1.0000\t1.0000\n");
  CHECK(both.files.at("all").starts_with(others.files.at("s")));
  CHECK(both.files.at("r").starts_with("bases\tthreshold\trecall\tfalse_positive_rate\tf1\n50\t-1.000000\t0.000000\t0.000000\t0.000000\n"));
  CHECK(both.files.at("p").starts_with("<svg"));
  CHECK(both.files.at("p").find("100 bases, area 1.0000") != std::string::npos);
}

TEST_CASE("one run with a table of labels does the same, and leaves out what has none") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/labels.tsv";
  std::ofstream(path) << "p1\ttarget\nn1\tother\n";
  const Result result =
      run_stage(testing::stage_of(plugin(), "read_until_calibration"), reads({"p1", "p1", "n1", "n1", "x", "x"}, {160, 320, 1600, 3200, 5, 5}))
          .with({{"labels", path}, {"thresholds", "t"}})
          .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.files.at("t").find("50\t100\t0.550000\t0.550000\t0.550000\t1\t1\t") != std::string::npos);
  CHECK(result.counters.at("prefixes of reads without a label") == 2);
  CHECK(outcomes_of(
            run_stage(testing::stage_of(plugin(), "read_until_calibration"), reads({"p1", "n1", "x"}, {160, 1600, 5})).with({{"labels", path}})) ==
        Outcomes{{"used", {2, 3}}});
}

TEST_CASE("exchanged labels are warned of, and the scores of another run may lack their last newline") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/scores";
  const auto with_others = [&](const std::string& score) {
    std::ofstream(path) << "\xef\xbb\xbf#read_id\tlabel\tprefix_bases\tlevels\tscore\nn1\tother\t50\t100\t" << score;
    return run_stage(testing::stage_of(plugin(), "read_until_calibration"), reads({"p1"}, {1600}))
        .with({{"other_scores", path}, {"scores", "s"}, {"thresholds", "t"}})
        .run();
  };
  const Result exchanged = with_others("0.1");
  CHECK(exchanged.logged("at 50 bases targets fit the reference worse than other reads do"));
  CHECK(exchanged.files.at("s") == "#read_id\tlabel\tprefix_bases\tlevels\tscore\nn1\tother\t50\t100\t0.1\np1\ttarget\t50\t100\t1.000000\n");
  CHECK_FALSE(with_others("1.5\n").logged("worse"));
}

TEST_CASE("reads of one label alone have no threshold") {
  const Result result = run_stage(testing::stage_of(plugin(), "read_until_calibration"), reads({"a"}, {160})).with({{"thresholds", "t"}}).run();
  CHECK(result.message == "no prefix has reads of both labels, so there is no threshold");
}

TEST_CASE("the stage keeps the contract") {
  testing::ContractSample sample{.parameters = {{"scores", "s"}, {"roc", "r"}, {"plot", "p"}}, .batches = {reads({"a", "b", "c"}, {160, 320, 640})}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"read_until_calibration", sample}})) FAIL_CHECK(problem);
}
