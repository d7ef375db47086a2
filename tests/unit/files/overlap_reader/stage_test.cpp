// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sluice/input_part.hpp>
#include <sluice/testing.hpp>
#include <string>

using namespace sluice;
using namespace sluice::testing;

namespace {

// A folder that goes away with the test.
class Files {
 public:
  Files() : folder_(std::filesystem::temp_directory_path() / ("sluice_overlap_test." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

 private:
  std::filesystem::path folder_;
};

const sluice_plugin_info& plugin(const std::string& name) { return *load_plugin(SLUICE_PLUGIN_DIR "/" + name + ".so"); }
TestBatch store(const std::string& path) {
  StageUnderTest stage = stage_of(plugin("sequence_store"), "sequence_store");
  return StageRun(stage, {}).with({{"path", path}}).run().batch();
}

const std::string ten(10, 'A');
struct Sample {
  Files files;
  TestBatch reads = store(files.write("reads.fa", ">a\n" + ten + "\n>b\n" + ten + ten + "\n>t\n" + ten + "\n"));
  TestBatch targets = store(files.write("targets.fa", ">t\n" + ten + "\n>u\n" + ten + ten + ten + "\n"));
  Result read(const std::string& name, const std::string& text, ParameterTexts parameters = {}) const {
    parameters.insert_or_assign("path", files.write(name, text));
    return StageRun(stage_of(plugin("overlap_reader"), "overlap_reader"), {})
        .with(parameters)
        .resource("reads", reads)
        .resource("targets", targets)
        .run();
  }
};
std::vector<std::int64_t> ordinals(const Result& result) {
  std::vector<std::int64_t> all;
  for (const TestBatch& batch : result.batches) {
    const auto column = batch.view().column<std::int64_t>("overlap_index");
    all.insert(all.end(), column.begin(), column.end());
  }
  return all;
}

// Rows of all parts, one part behind the other.
std::vector<std::int64_t> ordinals_of_parts(std::uint64_t parts, const std::function<Result(std::uint64_t part)>& run) {
  std::vector<std::int64_t> all;
  for (std::uint64_t part = 0; part < parts; ++part)
    for (const std::int64_t ordinal : ordinals(run(part))) all.push_back(ordinal);
  return all;
}

const std::string good =
    "b\t20\t0\t20\t+\tu\t30\t5\t25\t9\t20\t60\n"
    "a\t10\t0\t10\t-\tu\t30\t0\t10\t9\t10\t60\n"
    "a\t10\t2\t10\t-\tt\t10\t0\t8\t9\t10\t60\n"
    "b\t20\t0\t9\t+\tt\t10\t0\t10\t9\t10\t60\n";

}  // namespace

TEST_CASE("overlaps come in the order of targets and places") {
  const Sample sample;
  const Result result = sample.read("x.paf", good);
  CHECK(result.ok());
  CHECK(ordinals(result) == std::vector<std::int64_t>{3, 1, 0});
  CHECK(result.accounts.at("not_the_longest").count == 1);
  const auto overlaps = result.batches.front().view().column<std::int64_t>("target_overlaps");
  CHECK(overlaps[0] == 1);
  CHECK(overlaps[1] == 2);
  CHECK(ordinals(sample.read("x.paf", good, {{"keep", "all"}, {"order", "query"}})) == std::vector<std::int64_t>{1, 2, 0, 3});
}

TEST_CASE("overlaps that come in order are given as they come, and others end the run") {
  const Sample sample;
  std::string sorted, line;
  for (int i = 0; i < 40; ++i)
    for (const char* read : {"a", "b"})
      sorted += std::string(read) + "\t" + (*read == 'a' ? "10" : "20") + "\t0\t9\t+\t" + (i < 20 ? "t\t10" : "u\t30") + "\t" +
                std::to_string(i < 20 ? 0 : i - 20) + "\t" + std::to_string(i < 20 ? 9 : i - 11) + "\t9\t9\t60\n";
  const Result any = sample.read("x.paf", sorted), in_order = sample.read("x.paf", sorted, {{"arrival", "in_order"}});
  REQUIRE(any.ok());
  REQUIRE(in_order.ok());
  CHECK(ordinals(in_order) == ordinals(any));
  CHECK(ordinals(in_order).size() == 80);
  CHECK(in_order.batches.back().view().column<std::int64_t>("target_overlaps").back() == 40);
  const Result wrong = sample.read("x.paf", "a\t10\t0\t9\t+\tu\t30\t5\t14\t9\t9\t60\nb\t20\t0\t9\t+\tu\t30\t4\t13\t9\t9\t60\n",
                                   {{"arrival", "in_order"}, {"keep", "all"}});
  CHECK(!wrong.ok());
  CHECK(wrong.message.find("does not come in the order of the targets") != std::string::npos);
}

TEST_CASE("what can't be used is counted") {
  const Sample sample;
  const Result result = sample.read("x.paf", good +
                                                 "zz\t20\t0\t20\t+\tu\t30\t5\t25\t9\t20\t60\n"
                                                 "a\t10\t0\t11\t+\tu\t30\t5\t25\t9\t20\t60\n"
                                                 "a\t10\t0\t10\t+\tu\t30\t25\t35\t9\t20\t60\n"
                                                 "t\t10\t0\t10\t+\tt\t10\t0\t10\t9\t20\t60\n"
                                                 "b\t20\t0\t5\t+\tu\t30\t0\t10\t9\t20\t60\n");
  CHECK(result.ok());
  CHECK(result.accounts.at("unknown_sequence").count == 1);
  CHECK(result.accounts.at("past_the_end").count == 2);
  CHECK(result.accounts.at("itself").count == 1);
  CHECK(result.accounts.at("too_different").count == 1);
  // By the read that each belongs to, also one that is in no file.
  CHECK(result.accounts.at("unknown_sequence").names == std::vector<std::string>{"zz"});
  CHECK(result.accounts.at("past_the_end").names == std::vector<std::string>{"a"});
  CHECK(result.accounts.at("itself").names == std::vector<std::string>{"t"});
}

TEST_CASE("MHAP is known by its content, or taken as it is called") {
  const Sample sample;
  // Read 2 is b, target 2 is u.
  const std::string line = "2 2 0.1 9 0 0 20 20 1 5 25 30\n";
  for (const char* format : {"auto", "mhap"}) {
    const Result result = sample.read("x.mhap", line, {{"format", format}});
    REQUIRE_MESSAGE(result.ok(), result.message);
    const Batch batch = result.batches.front().view();
    CHECK(batch.column<std::int64_t>("query_index")[0] == 1);
    CHECK(batch.column<std::int64_t>("target_index")[0] == 1);
    CHECK(batch.column<std::int64_t>("target_end")[0] == 25);
    CHECK(batch.column<std::uint8_t>("is_reverse")[0] == 1);
  }
  CHECK(sample.read("x.mhap", line, {{"format", "paf"}}).message.find("a PAF line has at least 12 columns") != std::string::npos);
  CHECK(sample.read("x.paf", good, {{"format", "paf"}}).rows() == 3);
}

TEST_CASE("SAM alignments are taken over, without clips and in the target's orientation") {
  const Sample sample;
  const Result result = sample.read("x.sam",
                                    "@SQ\tSN:u\tLN:30\n"
                                    "a\t16\tu\t3\t60\t1H2S3M1I2=1X\t*\t0\t0\t*\t*\n"
                                    "b\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n");
  CHECK(result.ok());
  CHECK(result.rows() == 1);
  const Batch batch = result.batches.front().view();
  CHECK(batch.column<std::int64_t>("query_start")[0] == 0);
  CHECK(batch.column<std::int64_t>("query_end")[0] == 7);
  CHECK(batch.column<std::int64_t>("target_start")[0] == 2);
  CHECK(batch.column<std::int64_t>("target_end")[0] == 8);
  const auto cigar = batch.list<std::uint32_t>("given_cigar")[0];
  CHECK(std::vector<std::uint32_t>(cigar.begin(), cigar.end()) == std::vector<std::uint32_t>{3U << 4U, 1U << 4U | 1U, 2U << 4U, 1U << 4U});
  CHECK(result.accounts.at("unmapped").count == 1);
  CHECK(result.accounts.at("unmapped").names == std::vector<std::string>{"b"});
}

TEST_CASE("files that do not fit end the run and say where") {
  const Sample sample;
  const auto problem = [&](const std::string& text) { return sample.read("x.paf", text).message; };
  CHECK(problem("a\t11\t0\t10\t-\tu\t30\t0\t10\t9\t10\t60\n").find("line 1: read 'a' is said to have 11 bases, but has 10") != std::string::npos);
  CHECK(problem("a\t10\t0\t10\t-\tu\t31\t0\t10\t9\t10\t60\n").find("target 'u'") != std::string::npos);
  CHECK(problem(good + "a\t10\t0\t").find("line 5") != std::string::npos);
}

TEST_CASE("a file without overlaps gives none and a warning, and so does one that ends inside a line") {
  const Sample sample;
  for (const char* nothing : {"", "\n\n"}) {
    const Result result = sample.read("x.paf", nothing);
    CHECK(result.ok());
    CHECK(result.logged("x.paf' is empty"));
  }
  CHECK_FALSE(sample.read("x.paf", good).logged("ends inside a line"));
  CHECK(sample.read("x.paf", good.substr(0, good.size() - 1)).logged("x.paf' ends inside a line"));
}

TEST_CASE("hits of mapped reads become overlaps in the order of the targets") {
  const Sample sample;
  const std::string path = sample.files.write("index.fa", ">t\n" + ten + "\n>u\n" + ten + ten + ten + "\n>other\nACGT\n");
  const TestBatch index =
      StageRun(stage_of(plugin("minimizer_index"), "minimizer_index"), {}).with({{"path", path}, {"k", 5}, {"w", 2}}).run().batch();
  const TestBatch hits = BatchBuilder("read", 4)
                             .text("read_id", {"b", "a", "nobody", "t"})
                             .column<std::int32_t>("read_length", {20, 10, 5, 10})
                             .list<std::int32_t>("hit_target", {{1, 0}, {0, 1, 2}, {0}, {0}})
                             .list<std::uint8_t>("hit_is_reverse", {{1, 0}, {0, 0, 0}, {0}, {0}})
                             .list<std::int32_t>("hit_query_start", {{0, 0}, {2, 0, 0}, {0}, {0}})
                             .list<std::int32_t>("hit_query_end", {{20, 9}, {10, 10, 4}, {5}, {10}})
                             .list<std::int32_t>("hit_target_start", {{5, 0}, {0, 0, 0}, {0}, {0}})
                             .list<std::int32_t>("hit_target_end", {{25, 10}, {8, 10, 4}, {5}, {10}})
                             .list<std::int32_t>("hit_matches", {{9, 9}, {9, 9, 4}, {5}, {10}})
                             .build();
  const auto run = [&](const ParameterTexts& parameters, std::uint64_t part = 0, std::uint64_t parts = 1) {
    return run_stage(in_part(stage_of(plugin("overlap_reader"), "overlap_collection"), part, parts), hits)
        .with(parameters)
        .resource("index", index)
        .resource("reads", sample.reads)
        .resource("targets", sample.targets)
        .run();
  };
  const Result longest = run({});
  CHECK(longest.ok());
  CHECK(ordinals(longest) == std::vector<std::int64_t>{3, 0});
  CHECK(longest.accounts.at("unknown_sequence").count == 2);
  CHECK(longest.accounts.at("not_the_longest").count == 2);
  CHECK(longest.accounts.at("itself").count == 1);
  CHECK(longest.batch().view().column<std::uint8_t>("is_reverse")[1] == 1);
  CHECK(ordinals(run({{"keep", "all"}})) == std::vector<std::int64_t>{1, 2, 3, 0});
  // A part has all reads, and gives what lies on its targets.
  for (const std::uint64_t parts : {2, 3, 7})
    for (const ParameterTexts& parameters : {ParameterTexts{}, ParameterTexts{{"keep", "all"}}})
      CHECK(ordinals_of_parts(parts, [&](std::uint64_t part) { return run(parameters, part, parts); }) == ordinals(run(parameters)));
  // A contig that the index does not have.
  const TestBatch beyond = BatchBuilder("read", 1)
                               .text("read_id", {"a"})
                               .column<std::int32_t>("read_length", {10})
                               .list<std::int32_t>("hit_target", {{3, -1, 1}})
                               .list<std::uint8_t>("hit_is_reverse", {{0, 0, 0}})
                               .list<std::int32_t>("hit_query_start", {{0, 0, 0}})
                               .list<std::int32_t>("hit_query_end", {{10, 10, 10}})
                               .list<std::int32_t>("hit_target_start", {{0, 0, 0}})
                               .list<std::int32_t>("hit_target_end", {{10, 10, 10}})
                               .list<std::int32_t>("hit_matches", {{9, 9, 9}})
                               .build();
  const auto over = [&](std::vector<TestBatch> batches) {
    return StageRun(stage_of(plugin("overlap_reader"), "overlap_collection"), std::move(batches))
        .resource("index", index)
        .resource("reads", sample.reads)
        .resource("targets", sample.targets);
  };
  CHECK(over({beyond}).run().accounts.at("unknown_sequence").count == 2);
  // What waits to be compared is saved, too. A state that names what there is not is refused.
  const std::vector<TestBatch> in_two = {hits.rows(0, 2), hits.rows(2, 4).with_sequence(1)};
  for (const char* keep : {"longest", "all"}) CHECK(resume_problems(over(in_two).with({{"keep", keep}})) == std::vector<std::string>{});
  std::vector<SavedInstance> saved;
  REQUIRE(over(in_two).saves_to(&saved).run().ok());
  const auto resumed_with = [&](std::size_t behind_record, std::int32_t value) {
    SavedInstance state = saved.at(1);  // read a waits
    constexpr std::size_t record_and_numbers = 56 + 8 + 8;
    std::memcpy(state.state.data() + state.state.size() - record_and_numbers + behind_record, &value, sizeof value);
    return over(in_two).only_inputs(1, 2).resumes({state}).run();
  };
  CHECK(resumed_with(0, 2).ok());
  for (const std::int32_t value : {-1, 3}) CHECK(resumed_with(0, value).status == SLUICE_ERROR_INPUT);
  CHECK(resumed_with(4, 1).ok());
  for (const std::int32_t value : {-1, 2}) CHECK(resumed_with(4, value).status == SLUICE_ERROR_INPUT);
  const ContractSample contract{.resources = {{"index", index}, {"reads", sample.reads}, {"targets", sample.targets}}, .batches = {hits}};
  for (const std::string& text : contract_problems(plugin("overlap_reader"), {{"overlap_collection", contract}})) FAIL_CHECK(text);
}

TEST_CASE("overlaps are read in parts of the targets, and from any row on; one part says what is left out") {
  const Sample sample;
  const std::string lost = "zz\t20\t0\t20\t+\tu\t30\t5\t25\t9\t20\t60\n";
  for (const ParameterTexts& parameters : {ParameterTexts{}, ParameterTexts{{"keep", "all"}}, ParameterTexts{{"keep", "all"}, {"order", "query"}}}) {
    ParameterTexts all = parameters;
    all.insert_or_assign("path", sample.files.write("p.paf", good + lost));
    const PrepareRun prepare = [&](const StageUnderTest& source) {
      return StageRun(source, {}).with(all).resource("reads", sample.reads).resource("targets", sample.targets).target_work(1);
    };
    const StageUnderTest source = stage_of(plugin("overlap_reader"), "overlap_reader");
    for (const std::string& problem : source_problems(source, prepare)) FAIL_CHECK(problem);
    CHECK(prepare(in_part(source, 0, 2)).run().accounts.at("unknown_sequence").count == 1);
    CHECK(prepare(in_part(source, 1, 2)).run().accounts.empty());
    CHECK(prepare(beginning_at(source, "1")).run().accounts.empty());
  }
}

TEST_CASE("overlaps in order are read in parts and from any row on, and each that is left out is accounted once") {
  const Sample sample;
  std::string sorted;
  for (int i = 0; i < 20; ++i)
    sorted += std::string(i % 5 == 4   ? "zz"
                          : i % 2 == 0 ? "a"
                                       : "b") +
              "\t" + (i % 2 == 0 ? "10" : "20") + "\t0\t9\t+\t" +
              (i < 8 ? "t\t10\t0\t9" : "u\t30\t" + std::to_string(i) + "\t" + std::to_string(i + 9)) + "\t9\t9\t60\n";
  const ParameterTexts parameters = {{"arrival", "in_order"}, {"keep", "all"}, {"path", sample.files.write("s.paf", sorted)}};
  const PrepareRun prepare = [&](const StageUnderTest& source) {
    return StageRun(source, {}).with(parameters).resource("reads", sample.reads).resource("targets", sample.targets).target_work(1);
  };
  const StageUnderTest source = stage_of(plugin("overlap_reader"), "overlap_reader");
  for (const std::string& problem : source_problems(source, prepare)) FAIL_CHECK(problem);
  CHECK(prepare(source).run().accounts.at("unknown_sequence").count == 4);
  CHECK(prepare(in_part(source, 1, 2)).run().accounts.empty());
  CHECK(prepare(beginning_at(source, position_text({16, 20}))).run().accounts.empty());
  CHECK(prepare(beginning_at(source, position_text({8, 10}))).run().accounts.at("unknown_sequence").count == 2);
}

TEST_CASE("who goes on behind the end of overlaps in order does not account its last lines again") {
  const Sample sample;
  const std::string sorted = "a\t10\t0\t9\t+\tt\t10\t0\t9\t9\t9\t60\nb\t20\t0\t2\t+\tu\t30\t0\t9\t2\t9\t60\n";
  const ParameterTexts parameters = {{"arrival", "in_order"}, {"path", sample.files.write("e.paf", sorted)}};
  const PrepareRun prepare = [&](const StageUnderTest& source) {
    return StageRun(source, {}).with(parameters).resource("reads", sample.reads).resource("targets", sample.targets);
  };
  const StageUnderTest source = stage_of(plugin("overlap_reader"), "overlap_reader");
  std::vector<SaidPosition> said;
  CHECK(prepare(asked_for_positions(source, &said)).run().accounts.at("too_different").count == 1);
  REQUIRE(!said.empty());
  CHECK(prepare(beginning_at(source, said.back().text)).run().accounts.empty());
}

TEST_CASE("overlap_reader keeps the contract") {
  const Sample sample;
  const ContractSample contract{.parameters = {{"path", sample.files.write("c.paf", good)}},
                                .resources = {{"reads", sample.reads}, {"targets", sample.targets}}};
  for (const std::string& text : contract_problems(plugin("overlap_reader"), {{"overlap_reader", contract}})) FAIL_CHECK(text);
}
