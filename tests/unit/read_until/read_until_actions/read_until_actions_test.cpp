// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing/contract.hpp>
#include <sluice/testing/restarts.hpp>
#include <string>

#include "read_until_actions/stage.cpp"  // the stages have no header of their own

using namespace sluice;
using namespace sluice::read_until_actions;
using namespace sluice::testing;

namespace {

const Condition usual{"enrich", Select::enrich, 1, 0, "", usual_actions(Select::enrich, ReadAction::stop_receiving)};

std::string problem_of(const char* table) {
  Conditions conditions;
  std::string problem;
  CHECK_FALSE(parse_conditions(table, usual, ReadAction::stop_receiving, conditions, problem));
  return problem;
}

std::vector<std::int32_t> channels_of(const char* text) {
  std::vector<std::int32_t> channels;
  return parse_channels(text, channels) ? channels : std::vector<std::int32_t>{-1};
}

TestBatch regions() {
  return BatchBuilder("contig", 4)
      .text("name", {"c", "c", "c", "d"})
      .text("label", {"x", "y", "z", "d"})
      .text("bases", {std::string(100, 'A'), std::string(100, 'A'), std::string(100, 'A'), std::string(50, 'A')})
      .column<std::int64_t>("region_start", {1000, 1050, 5000, 0})
      .column<std::uint8_t>("region_strand", {1, 2, 0, 0})
      .build();
}
TestBatch conditions(std::vector<std::int32_t> channels = {0, 0, 1}, std::int32_t minimum = 1, std::int32_t maximum = 0) {
  return BatchBuilder("read_until_condition", 3)
      .text("name", {"enrich", "control", "deplete"})
      .column<std::uint8_t>("select", {0, 2, 1})
      .column<std::int32_t>("minimum_chunks", {minimum, 1, 1})
      .column<std::int32_t>("maximum_chunks", {maximum, 0, 0})
      .text("targets", {"x,d", "", ""})
      .list<std::uint8_t>("actions", {{1, 2, 1, 2}, {1, 1, 1, 1}, {2, 1, 1, 1}})
      .list<std::int32_t>("channel_condition", {channels, {}, {}})
      .build();
}
struct Row {
  std::int32_t channel, index;
  int decision;
  std::int32_t target = 0;
  int is_last = 0, is_reverse = 0;
};
TestBatch chunks(const std::vector<Row>& rows) {
  const auto of = [&]<class T>(T Row::*member, auto type) {
    std::vector<decltype(type)> values;
    for (const Row& row : rows) values.push_back(static_cast<decltype(type)>(row.*member));
    return values;
  };
  return BatchBuilder("read", std::ssize(rows))
      .column<std::uint8_t>("decision", of(&Row::decision, std::uint8_t{}))
      .column<std::int32_t>("sdtw_target", of(&Row::target, std::int32_t{}))
      .column<std::uint8_t>("sdtw_is_reverse", of(&Row::is_reverse, std::uint8_t{}))
      .column<std::int64_t>("sdtw_start", std::vector<std::int64_t>(rows.size(), 10))
      .column<std::int64_t>("sdtw_end", std::vector<std::int64_t>(rows.size(), 40))
      .column<std::int32_t>("channel", of(&Row::channel, std::int32_t{}))
      .column<std::int32_t>("chunk_index", of(&Row::index, std::int32_t{}))
      .column<std::uint8_t>("is_last_chunk", of(&Row::is_last, std::uint8_t{}))
      .build();
}
std::vector<int> actions_of(const Result& result) {
  REQUIRE_MESSAGE(result.ok(), result.message);
  std::vector<int> actions;
  for (const TestBatch& batch : result.batches)
    for (const std::uint8_t action : batch.view().column<std::uint8_t>("action")) actions.push_back(action);
  return actions;
}

}  // namespace

TEST_CASE("Channels are numbers from 1, and ranges of them") {
  CHECK(channels_of("1-3,7") == std::vector<std::int32_t>{0, 1, 2, 6});
  CHECK(channels_of("1") == std::vector<std::int32_t>{0});
  CHECK(channels_of("2-2") == std::vector<std::int32_t>{1});
  CHECK(channels_of("1000000") == std::vector<std::int32_t>{999'999});
  CHECK(channels_of("1-1000000").size() == 1'000'000);
  for (const char* wrong : {"", "0", "3-2", "a", "1-", "1,,2", "1-2000000", "1000001", "1-1000000,1", "1-1000000,1-1000000", "-5"}) {
    CAPTURE(wrong);
    CHECK(channels_of(wrong) == std::vector<std::int32_t>{-1});
  }
}

TEST_CASE("A table of conditions gives channels their condition, and other channels the last one") {
  Conditions made;
  std::string problem;
  REQUIRE(
      parse_conditions("# c\ncondition\tchannels\tselect\ttargets\tminimum_chunks\tmaximum_chunks\toff_target\tabove_maximum\n"
                       "a\t1-2\tenrich\tx,y\t3\t9\tproceed\tunblock\nb\t4\tdeplete\t.\t\t.\t.\t.\r\n",
                       usual, ReadAction::stop_receiving, made, problem));
  REQUIRE(made.conditions.size() == 3);
  CHECK(made.channel_condition == std::vector<std::int32_t>{0, 0, 2, 1});
  CHECK(made.conditions[0].minimum_chunks == 3);
  CHECK(made.conditions[0].maximum_chunks == 9);
  CHECK(made.conditions[0].targets == "x,y");
  CHECK(made.conditions[0].actions == Actions{ReadAction::stop_receiving, ReadAction::proceed, ReadAction::stop_receiving, ReadAction::unblock});
  CHECK(made.conditions[1].actions ==
        Actions{ReadAction::unblock, ReadAction::stop_receiving, ReadAction::stop_receiving, ReadAction::stop_receiving});
  CHECK(made.conditions[2].name == "enrich");
  CHECK(made.conditions[0].select == Select::enrich);
  CHECK(made.conditions[1].select == Select::deplete);
  CHECK(made.conditions[1].targets.empty());
  CHECK(made.conditions[1].minimum_chunks == 1);
  CHECK(made.conditions[1].maximum_chunks == 0);
}

TEST_CASE("The other channels have what the table says of them, or the usual under a name of its own") {
  const auto made = [](const std::string& lines) {
    Conditions conditions;
    std::string problem;
    REQUIRE_MESSAGE(parse_conditions("condition\tchannels\tselect\n" + lines, usual, ReadAction::stop_receiving, conditions, problem), problem);
    return conditions;
  };
  const Conditions other = made("a\t2\tcontrol\nrest\tother\tdeplete\n");
  REQUIRE(other.conditions.size() == 2);
  CHECK(other.conditions[0].select == Select::control);
  CHECK(other.conditions[1].name == "rest");
  CHECK(other.conditions[1].select == Select::deplete);
  CHECK(other.channel_condition == std::vector<std::int32_t>{1, 0});
  const Conditions taken = made("enrich\t1\tcontrol\n");
  CHECK(taken.conditions[1].name == "other enrich");
}

TEST_CASE("What is wrong with a table of conditions is said with its line") {
  CHECK(problem_of("") == "it is empty");
  CHECK(problem_of("condition\tchannels\n") == "line 1: there is no column 'select'");
  CHECK(problem_of("condition\tchannels\tselect\tcolour\n") == "line 1: there is no column 'colour' in a table of conditions");
  const std::string head = "condition\tchannels\tselect\ton_target\tminimum_chunks\tmaximum_chunks\n";
  CHECK(problem_of((head + "a\t1\tenrich\n").c_str()) == "line 2: 3 columns instead of 6");
  CHECK(problem_of((head + "a\t1\teject\t.\t.\t.\n").c_str()) == "line 2: select is 'eject', not enrich, deplete or control");
  CHECK(problem_of((head + ".\t1\tenrich\t.\t.\t.\n").c_str()) == "line 2: the condition has no name");
  CHECK(problem_of((head + "a\t1\tcontrol\tunblock\t.\t.\n").c_str()) == "line 2: a control condition unblocks nothing");
  CHECK(problem_of((head + "a\t1\tenrich\tkeep\t.\t.\n").c_str()) == "line 2: on_target is 'keep', not unblock, stop_receiving or proceed");
  CHECK(problem_of((head + "a\t1\tenrich\t.\t5\t2\n").c_str()) == "line 2: minimum_chunks is greater than maximum_chunks");
  CHECK(problem_of((head + "a\t1\tenrich\t.\t5\t5\nb\t2\tenrich\t.\t5\t0\nc\t1\tenrich\t.\t.\t.\n").c_str()) ==
        "line 4: channel 1 is in two conditions");
  CHECK(problem_of((head + "a\t1\tenrich\t.\t-1\t.\n").c_str()) == "line 2: minimum_chunks is '-1', not a number of chunks");
  CHECK(problem_of((head + "a\t1\tenrich\t.\t.\tx\n").c_str()) == "line 2: maximum_chunks is 'x', not a number of chunks");
  CHECK(problem_of((head + "a\tone\tenrich\t.\t.\t.\n").c_str()) == "line 2: 'one' are no channels: write 1-256,300, or other");
  CHECK(problem_of((head + "a\t1\tenrich\t.\t.\t.\na\t2\tenrich\t.\t.\t.\n").c_str()) == "line 3: condition 'a' comes twice");
  CHECK(problem_of((head + "a\tother\tenrich\t.\t.\t.\nb\tother\tenrich\t.\t.\t.\n").c_str()) == "line 3: two conditions are for the other channels");
}

TEST_CASE("An action follows from the judgement, between the minimum and the maximum of chunks") {
  const Actions enrich = usual_actions(Select::enrich, ReadAction::unblock);
  const auto act = [&](Judgement judgement, std::int32_t chunks, bool is_whole = false, bool on_target = true) {
    return action_on({judgement, on_target, chunks, is_whole}, 2, 4, enrich);
  };
  CHECK(act(Judgement::reject, 1) == ReadAction::proceed);
  CHECK(act(Judgement::reject, 2) == ReadAction::unblock);
  CHECK(act(Judgement::accept, 2) == ReadAction::stop_receiving);
  CHECK(act(Judgement::accept, 2, false, false) == ReadAction::unblock);
  CHECK(act(Judgement::wait, 3) == ReadAction::proceed);
  CHECK(act(Judgement::wait, 4) == ReadAction::unblock);
  CHECK(act(Judgement::reject, 1, true) == ReadAction::unblock);
  CHECK(act(Judgement::wait, 1, true) == ReadAction::unblock);
  // Without a maximum there is none.
  CHECK(action_on({Judgement::wait, true, 1'000'000, false}, 1, 0, enrich) == ReadAction::proceed);
  CHECK(action_on({Judgement::wait, true, 1, false}, 1, 1, enrich) == ReadAction::unblock);
}

TEST_CASE("The options make one condition, and a control for the channels that are named") {
  const auto made = [](const ParameterTexts& parameters) {
    const Result result = run_stage<ReadUntilConditions>(std::vector<TestBatch>{}).with(parameters).run();
    if (!result.ok()) return result.message;
    const Batch rows = result.batch().view();
    const auto select = rows.column<std::uint8_t>("select");
    const auto minimum = rows.column<std::int32_t>("minimum_chunks"), maximum = rows.column<std::int32_t>("maximum_chunks");
    std::string text;
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      const auto i = static_cast<std::size_t>(row);
      text += std::string(rows.text("name")[row]) + "/" + std::to_string(select[i]) + "/" + std::to_string(minimum[i]) + "/" +
              std::to_string(maximum[i]) + "/";
      for (const std::uint8_t action : rows.list<std::uint8_t>("actions")[row]) text += std::to_string(action);
      text += "/" + std::string(rows.text("targets")[row]) + "/";
      for (const std::int32_t condition : rows.list<std::int32_t>("channel_condition")[row]) text += std::to_string(condition);
      text += " ";
    }
    return text;
  };
  CHECK(made({}) == "enrich/0/1/0/1211// ");
  CHECK(made({{"select", "deplete"}, {"undecided", "eject"}, {"minimum_chunks", 2}, {"maximum_chunks", 2}}) == "deplete/1/2/2/2122// ");
  CHECK(made({{"select", "control"}, {"undecided", "eject"}}) == "control/2/1/0/1111// ");
  CHECK(made({{"control_channels", "1,3-4"}}) == "control/2/1/0/1111//0100 enrich/0/1/0/1211// ");
  CHECK(made({{"minimum_chunks", 3}, {"maximum_chunks", 2}}) == "the minimum of chunks, 3, is greater than the maximum, 2");
  CHECK(made({{"control_channels", "0"}}) == "control channels '0' are no channels");
}

TEST_CASE("A read is on target where it lies on a wanted region and strand, whichever region the alignment names") {
  const std::vector<TargetRegion> targets = {{"x", "c", 1000, 1100, 1}, {"y", "c", 1050, 1150, 2}, {"z", "c", 5000, 5100, 0}, {"d", "d", 0, 50, 0}};
  std::string unknown;
  const WantedTargets all(targets, "", unknown), some(targets, "x,d", unknown);
  CHECK(unknown.empty());
  CHECK(all.has(0, 1010, 1040, false));
  CHECK_FALSE(all.has(0, 1010, 1040, true));
  CHECK(all.has(0, 1060, 1090, true));  // also on y
  CHECK(all.has(1, 1060, 1090, false));
  CHECK_FALSE(all.has(1, 1110, 1140, false));
  CHECK(all.has(2, 5099, 5200, true));
  CHECK_FALSE(all.has(2, 5100, 5200, true));
  CHECK(some.has(1, 1060, 1090, false));
  CHECK_FALSE(some.has(2, 5000, 5050, false));
  CHECK(some.has(3, 0, 50, true));
  WantedTargets(targets, "q,x,r", unknown);
  CHECK(unknown == "q");
  // One region that covers many others is not missed.
  std::vector<TargetRegion> nested = {{"long", "c", 0, 100000, 0}};
  for (std::int64_t i = 0; i < 100; ++i) nested.push_back({"short", "c", 10 + i, 11 + i, 0});
  CHECK(WantedTargets(nested, "", unknown).has(1, 90000, 90010, false));
  // A short region within a long one of the other strand ends in front of its end.
  const WantedTargets strands(std::vector<TargetRegion>{{"long", "c", 0, 1000, 1}, {"short", "c", 10, 20, 2}}, "", unknown);
  CHECK(strands.has(1, 19, 30, true));
  CHECK_FALSE(strands.has(1, 20, 30, true));
}

TEST_CASE("The stages keep the contract of stages") {
  ContractSample stream;
  stream.batches = {chunks({{0, 0, 0}, {1, 0, 2}, {2, 0, 1}}), chunks({{0, 1, 2}, {1, 1, 2}, {2, 1, 1, 0, 1}}).with_sequence(1)};
  stream.resources = {{"regions", regions()}, {"conditions", conditions()}};
  for (const std::string& problem : contract_problems<ReadUntilActionStream>(stream)) FAIL_CHECK(problem);
  for (const std::string& problem : contract_problems<ReadUntilAction>(stream)) FAIL_CHECK(problem);
  for (const std::string& problem : contract_problems<ReadUntilConditions>(ContractSample{})) FAIL_CHECK(problem);
}

TEST_CASE("What was done with the reads of the channels is saved") {
  const auto run =
      run_stage<ReadUntilActionStream>({chunks({{0, 0, 0}, {1, 0, 2}, {2, 0, 1}}), chunks({{0, 1, 2}, {1, 1, 1}, {2, 1, 0, 0, 1}}).with_sequence(1),
                                        chunks({{0, 2, 1}, {1, 2, 0}, {2, 0, 2}}).with_sequence(2)})
          .resource("regions", regions())
          .resource("conditions", conditions());
  CHECK(resume_problems(run) == std::vector<std::string>{});
}

TEST_CASE("Channels act by their condition, and what is done once is said again") {
  const auto run = [](const std::vector<Row>& rows, const TestBatch& by) {
    return actions_of(run_stage<ReadUntilActionStream>(chunks(rows)).resource("regions", regions()).resource("conditions", by).run());
  };
  // Channel 0 enriches x and d, 2 is control, 3 depletes.
  CHECK(run({{0, 0, 1, 0}, {0, 0, 1, 2}, {0, 0, 2, 0}, {2, 0, 2, 0}, {3, 0, 1, 2}, {3, 0, 2, 2}}, conditions()) ==
        std::vector<int>{1, 2, 2, 1, 2, 1});
  CHECK(run({{0, 0, 2}, {0, 1, 1}, {0, 2, 1, 0, 1}, {0, 0, 1}}, conditions()) == std::vector<int>{2, 2, 2, 1});
  CHECK(run({{0, 0, 2}, {0, 1, 2}, {0, 2, 2}}, conditions({0, 0, 1}, 3)) == std::vector<int>{0, 0, 2});
  CHECK(run({{0, 0, 0}, {0, 1, 0}, {0, 2, 1}}, conditions({0, 0, 1}, 1, 2)) == std::vector<int>{0, 2, 2});
}
