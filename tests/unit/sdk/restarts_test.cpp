// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Instances that are ended and gone on with: the outputs of sinks over many blocks, and what the harness says of stages that forget something.
#include <doctest/doctest.h>

#include <optional>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/resume.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/resumed_forms.hpp"

using namespace sluice::testing;

namespace {

const std::vector<std::string> none;

enum class Forgets : std::uint8_t { nothing, header, count, file };

// Lines of places, behind a header that says of how many contigs, if it has one.
template <Forgets forgets>
struct Places {
  struct Parameters {
    sluice::Path output;
    bool header = false;
  };
  static void describe(sluice::Describe<Places>& d) {
    d.id("places").summary("writes places").doc("Writes lines.").sink("place").work_unit("row").concatenates();
    d.needs("lines", "utf8", "contig, begin and end, with newlines");
    d.option("output", &Parameters::output, "file").required().writes();
    d.option("header", &Parameters::header, "names of the columns");
  }
  Places(const sluice::Setup& setup, const Parameters& p)
      : file(setup, p.output, sluice::arrow::table_schema("contig\tbegin\tend\n", {"utf8", "i64", "i64"}),
             p.header ? std::nullopt : std::optional(sluice::hts::bed_columns)) {
    if (p.header) file.table().header("contig\tbegin\tend\n");
    resume(setup, [&](sluice::StateReader& from) {
      if (forgets != Forgets::file) file.restore(from);
      if (forgets != Forgets::count) lines = from.value<std::uint64_t>();
      if (forgets == Forgets::header) file.table().header("contig\tbegin\tend\n");
    });
  }
  void commit(const sluice::Call& call, const sluice::Batch& in) {
    file.write_rows(call, in.text("lines"));
    lines += static_cast<std::uint64_t>(in.rows());
  }
  void finish(const sluice::Call& call, sluice::Output&) { file.finish(call); }
  void save(const sluice::Call& call, sluice::StateWriter& to) {
    file.save(call, to);
    to.value(lines);
  }
  sluice::arrow::IndexedTable file;
  std::uint64_t lines = 0;
};

// Places on two contigs, in order: so many lines in each of some batches.
std::vector<TestBatch> places(int batches, int lines) {
  std::vector<TestBatch> made;
  int begin = 0;
  for (int batch = 0; batch < batches; ++batch) {
    std::string text;
    for (int line = 0; line < lines; ++line, ++begin)
      text += std::string(batch * 2 < batches ? "first" : "second") + '\t' + std::to_string(begin * 7) + '\t' +
              std::to_string(begin * 7 + line % 97 + 1) + '\n';
    made.push_back(BatchBuilder("place", 1).text("lines", {text}).build());
  }
  return made;
}

const std::vector<std::string> forms = {"a.bed", "a.bed.gz", "a.bed.zst", "a.arrow", "a.parquet", "-"};

// A regroup that counts rows, and gives the number in the end.
template <Forgets forgets>
struct Count {
  using Parameters = sluice::NoParameters;
  static void describe(sluice::Describe<Count>& d) {
    d.id("count").summary("counts").doc("Counts rows.").regroup("place", "number").work_unit("row").sums();
    d.needs("lines", "utf8", "anything").gives("rows", "i64", "how many");
  }
  Count(const sluice::Setup& setup, const Parameters&) {
    resume(setup, [&](sluice::StateReader& from) {
      const auto saved = from.value<std::int64_t>();
      rows = forgets == Forgets::count ? saved : rows + saved;
    });
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output&) { rows += in.rows(); }
  void finish(const sluice::Call&, sluice::Output& out) {
    out.set_rows(1);
    out.column<std::int64_t>("rows")[0] = rows;
    out.emit();
  }
  void save(const sluice::Call&, sluice::StateWriter& to) const { to.value(rows); }
  std::int64_t rows = 0;
};

bool says(const std::vector<std::string>& problems, const std::string& part) {
  return std::any_of(problems.begin(), problems.end(), [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a table goes on with the same bytes, also over many blocks") {
  using Sink = Places<Forgets::nothing>;
  CHECK(resume_problems(run_stage<Sink>(places(4, 3)), forms) == none);
  CHECK(resume_problems(run_stage<Sink>(places(4, 3)).with({{"header", true}}), forms) == none);
  CHECK(resume_problems(run_stage<Sink>(places(0, 0)), forms) == none);
  CHECK(resume_problems(run_stage<Sink>(places(3, 30000)).threads(3), forms) == none);
  CHECK(resume_problems(run_stage<Sink>(places(2, 210000)), {"a.bed.gz"}) == none);  // beyond the blocks that are compressed at once
}

TEST_CASE("an index is made again of what is in the file") {
  const std::vector<TestBatch> batches = places(5, 20000);
  const Result whole = run_stage<Places<Forgets::nothing>>(batches).with({{"output", "a.bed.gz"}}).run();
  REQUIRE(whole.files.contains("a.bed.gz.tbi"));
  std::vector<SavedInstance> saved;
  const StageRun run = run_stage<Places<Forgets::nothing>>(batches).with({{"output", "a.bed.gz"}});
  REQUIRE(StageRun(run).saves_to(&saved).run().ok());
  SavedInstance damaged = saved.at(3);
  damaged.files.at(0).bytes[damaged.files.at(0).bytes.size() / 2] ^= 1;
  const Result refused = StageRun(run).only_inputs(3, 5).resumes({damaged}).run();
  CHECK(refused.status == SLUICE_ERROR_INPUT);
  CHECK(refused.message.find("is not what the interrupted run had written") != std::string::npos);
  damaged.files.at(0).bytes = saved.at(2).files.at(0).bytes;
  CHECK(StageRun(run).only_inputs(3, 5).resumes({damaged}).run().status == SLUICE_ERROR_INPUT);
}

TEST_CASE("the harness finds what a stage forgets") {
  const auto problems_of = [](auto stage, const char* output) {
    return resume_problems(StageRun(stage, places(3, 4)).with({{"output", output}, {"header", true}}));
  };
  CHECK(problems_of(stage_of<Places<Forgets::nothing>>(), "a.bed") == none);
  CHECK(says(problems_of(stage_of<Places<Forgets::header>>(), "a.bed"), "file 'a.bed' differs"));
  CHECK(says(problems_of(stage_of<Places<Forgets::count>>(), "a.bed"), "the saved state of a stage is damaged"));
  CHECK(says(problems_of(stage_of<Places<Forgets::file>>(), "a.bed"), "the saved state of a stage is damaged"));
  CHECK(resume_problems(run_stage<Count<Forgets::nothing>>(places(3, 4))) == none);
  CHECK(says(resume_problems(run_stage<Count<Forgets::count>>(places(3, 4))), "the sum of parts"));
}

TEST_CASE("headers are said, and parts are told apart from the whole by them") {
  const Result whole = run_stage<Places<Forgets::nothing>>(places(2, 2)).with({{"output", "a.bed"}, {"header", true}}).run();
  REQUIRE(whole.ok());
  CHECK(whole.headers.at("a.bed") == std::string("contig\tbegin\tend\n").size());
  const Result plain = run_stage<Places<Forgets::nothing>>(places(2, 2)).with({{"output", "a.bed"}}).run();
  CHECK(plain.headers.at("a.bed") == 0);
}
