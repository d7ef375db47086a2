// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <htslib/bgzf.h>
#include <htslib/sam.h>

#include <filesystem>
#include <fstream>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/stored_record.hpp>

#include "unit/files/event_alignment_writer/made_alignments.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::testing;

namespace {

const char* const text_stages[] = {"event_alignment_tsv", "event_alignment_m6anet", "event_alignment_paf", "event_alignment_summary"};

std::vector<made::Read> random_reads(int count) {
  std::mt19937 random(11);
  std::vector<made::Read> reads;
  for (int i = 0; i < count; ++i) reads.push_back(made::random_read(random, i));
  return reads;
}

// A SAM file with a record for each read, and the records as rows.
class Alignments {
 public:
  Alignments() : folder_("") {
    made::Read dna;
    dna.name = "dna", dna.contig = "one";
    dna.event_start = {0, 4, 7, 12}, dna.event_length = {4, 3, 5, 6}, dna.raw.assign(40, 500);
    dna.event_mean = {80, 80, 80, 80}, dna.event_stdv = {1, 1, 1, 1};
    dna.path_event = {1, 2, 3}, dna.path_position = {2, 2, 5}, dna.path_state = {1, 1, 1};
    made::Read reverse = dna;
    reverse.name = "reverse", reverse.is_reverse = true, reverse.path_event = {3, 2, 1};
    made::Read empty = dna;
    empty.name = "empty", empty.path_event.clear(), empty.path_position.clear(), empty.path_state.clear();
    reads_ = {dna, reverse, empty};
    std::ofstream(path()) << "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:20\n@SQ\tSN:two\tLN:33\n@PG\tID:mapper\tPN:mapper\n"
                          << "dna\t0\tone\t3\t60\t6M\t*\t0\t0\tGTACGT\t*\tNM:i:0\tss:Z:old\n"
                          << "reverse\t16\tone\t3\t60\t6M\t*\t0\t0\tGTACGT\t*\n"
                          << "empty\t0\tone\t3\t60\t6M\t*\t0\t0\tGTACGT\t*\n";
  }
  std::string path() const { return folder_.path() + "/in.sam"; }
  std::string other(const char* name) const { return folder_.path() + "/" + name; }
  TestBatch rows(const std::vector<std::string>& records) const { return made::batch(reads_, records); }
  TestBatch rows() const { return rows(records()); }
  std::vector<std::string> records() const {
    std::vector<std::string> records;
    const sluice::hts::File file(hts_open(path().c_str(), "r"));
    const sluice::hts::Header header(sam_hdr_read(file.get()));
    const sluice::hts::Record record(bam_init1());
    while (sam_read1(file.get(), header.get(), record.get()) >= 0) sluice::hts::store_record(*record, records.emplace_back());
    return records;
  }
  StageRun run(const TestBatch& rows, const ParameterTexts& parameters) const {
    ParameterTexts all = parameters;
    all.emplace("alignments", path());
    return made::run("event_alignment_sam", {rows}).with(all);
  }

 private:
  TemporaryFolder folder_;
  std::vector<made::Read> reads_;
};

std::string without_header(const std::string& sam) {
  std::size_t at = 0;
  while (at < sam.size() && sam[at] == '@') at = sam.find('\n', at) + 1;
  return sam.substr(at);
}

const char* const tagged =
    "dna\t0\tone\t3\t60\t6M\t*\t0\t0\tGTACGT\t*\tNM:i:0\tsi:Z:4,18,2,6\tss:Z:8,2D6,\tsc:f:0.97\tsh:f:2.5\n"
    "reverse\t16\tone\t3\t60\t6M\t*\t0\t0\tGTACGT\t*\tsi:Z:4,18,2,6\tss:Z:3,2D11,\tsc:f:0.97\tsh:f:2.5\n";
const char* const event_records =
    "dna.template\t0\tone\t3\t60\t1S1M1I2D1M\t*\t0\t0\t*\t*\tES:i:1\n"
    "reverse.template\t16\tone\t3\t60\t3S1M1I2D1M\t*\t0\t0\t*\t*\tES:i:-1\n";

std::string inflated(const std::string& bytes, const std::string& path) {
  std::ofstream(path, std::ios::binary) << bytes;
  BGZF* file = bgzf_open(path.c_str(), "r");
  REQUIRE(file != nullptr);
  std::string text(std::size_t{1} << 22U, '\0');
  text.resize(static_cast<std::size_t>(bgzf_read(file, text.data(), text.size())));
  CHECK(bgzf_check_EOF(file) == 1);
  bgzf_close(file);
  return text;
}

}  // namespace

TEST_CASE("SAM has the input's records with tags, or records of events") {
  const Alignments alignments;
  const Result result = alignments.run(alignments.rows(), {{"output", "x.sam"}}).run();
  REQUIRE(result.ok());
  CHECK(without_header(result.files.at("x.sam")) == tagged);
  CHECK(result.files.at("x.sam").find("@PG\tID:sluice") != std::string::npos);
  CHECK(result.outcomes.at("aligned") == std::pair<std::uint64_t, std::uint64_t>{2, 3});
  CHECK(without_header(alignments.run(alignments.rows(), {{"output", "-"}, {"version", 1}}).run().files.at("-")) == event_records);
}

TEST_CASE("a name that ends with .bam makes BAM") {
  const Alignments alignments;
  for (const int version : {1, 2}) {
    const std::string bam = alignments.other("x.bam");
    std::ofstream(bam, std::ios::binary) << alignments.run(alignments.rows(), {{"output", "x.bam"}, {"version", version}}).run().files.at("x.bam");
    const sluice::hts::File file(hts_open(bam.c_str(), "r"));
    const sluice::hts::Header header(sam_hdr_read(file.get()));
    REQUIRE(header != nullptr);
    const sluice::hts::Record record(bam_init1());
    sluice::hts::Line line;
    std::string text;
    while (sam_read1(file.get(), header.get(), record.get()) >= 0) {
      REQUIRE(sam_format1(header.get(), record.get(), &line) >= 0);
      text.append(line.s, line.l).push_back('\n');
    }
    CHECK(text == (version == 1 ? event_records : tagged));
  }
}

TEST_CASE("a record that contradicts itself or the header fails, and the others are written") {
  const Alignments alignments;
  std::vector<std::string> records = alignments.records();
  records[0].resize(60);
  const Result result = alignments.run(alignments.rows(records), {{"output", "x"}}).run();
  CHECK(result.failed == std::vector<FailedRow>{{0, 0, "corrupt_record"}});
  CHECK(without_header(result.files.at("x")) == std::string(tagged).substr(std::string(tagged).find("reverse")));
}

TEST_CASE("a path that does not fit its read fails, whatever is wrong, and the others are written") {
  const std::vector<made::Read> good = random_reads(3);
  using Change = void (*)(made::Read&);
  const Change changes[] = {
      [](made::Read& r) { r.path_event[0] = -1; },       [](made::Read& r) { r.path_event[0] = static_cast<std::int32_t>(r.event_start.size()); },
      [](made::Read& r) { r.path_position[0] = -1; },    [](made::Read& r) { r.path_position[0] = 100; },
      [](made::Read& r) { r.path_position.pop_back(); }, [](made::Read& r) { r.path_state.pop_back(); },
      [](made::Read& r) { r.event_length.pop_back(); },  [](made::Read& r) { r.contig = "three"; },
  };
  for (const Change change : changes) {
    std::vector<made::Read> reads = good;
    change(reads[1]);
    for (const char* stage : text_stages) {
      CAPTURE(stage);
      const Result result = made::run(stage, {made::batch(reads)}).with({{"output", "x"}}).run();
      CHECK(result.failed == std::vector<FailedRow>{{0, 1, "unsound_path"}});
      CHECK(result.files.at("x") == [&] {
        const std::string text = made::run(stage, {made::batch({good[0], good[2]})}).with({{"output", "x"}}).run().files.at("x");
        return text;
      }());
    }
  }
  std::vector<made::Read> reads = good;
  reads[1].raw.resize(5);  // its events lie behind the end of its signal
  CHECK(made::run("event_alignment_tsv", {made::batch(reads)}).with({{"output", "x"}, {"samples", true}}).run().failed ==
        std::vector<FailedRow>{{0, 1, "unsound_path"}});
  CHECK(made::run("event_alignment_tsv", {made::batch(reads)}).with({{"output", "x"}}).run().failed.empty());
}

TEST_CASE("text is the same however the rows are cut, and in BGZF") {
  const std::vector<made::Read> reads = random_reads(200);
  const Alignments files;
  for (const char* stage : text_stages) {
    CAPTURE(stage);
    const std::string whole = made::run(stage, {made::batch(reads)}).with({{"output", "x"}}).run().files.at("x");
    std::vector<TestBatch> batches;
    for (std::size_t at = 0; at < reads.size(); at += 7)
      batches.push_back(made::batch(
          {reads.begin() + static_cast<std::ptrdiff_t>(at), reads.begin() + static_cast<std::ptrdiff_t>(std::min(at + 7, reads.size()))}));
    CHECK((made::run(stage, batches).with({{"output", "x"}}).threads(4).run().files.at("x") == whole));
    const std::string compressed = made::run(stage, batches).with({{"output", "x.gz"}}).threads(4).run().files.at("x.gz");
    CHECK((inflated(compressed, files.other("x.gz")) == whole));
  }
}

TEST_CASE("what a form can't do is refused") {
  const std::vector<TestBatch> rows = {made::batch(random_reads(1))};
  const auto message = [&](const char* stage, const ParameterTexts& parameters) { return made::run(stage, rows).with(parameters).run().message; };
  CHECK(message("event_alignment_tsv", {{"output", "x"}, {"samples", true}, {"collapse_events", true}}).find("exclude each other") !=
        std::string::npos);
  CHECK(message("event_alignment_tsv", {{"output", "x.bam"}}).find("is text") != std::string::npos);
  CHECK(message("event_alignment_paf", {{"output", "x"}, {"table_options", "scale_events=false samples=true"}}) ==
        "samples is an option of the event table, not of PAF");
  CHECK(message("event_alignment_m6anet", {{"output", "x"}, {"table_options", "scale_events=true"}}).find("scale_events is an option") == 0);
  CHECK(message("event_alignment_paf", {{"output", "x"}, {"table_options", "scale_events=false samples=false"}}).empty());
  const Alignments alignments;
  CHECK(alignments.run(alignments.rows(), {{"output", "x.cram"}}).run().message.find("CRAM") != std::string::npos);
  CHECK(alignments.run(alignments.rows(), {{"output", "x"}, {"table_options", "samples=true"}}).run().message.find("not of SAM") !=
        std::string::npos);
}

TEST_CASE("the sinks of all forms keep the contract") {
  const std::vector<TestBatch> rows = {made::batch(random_reads(20))};
  const ContractSample table{.parameters = {{"output", "x"}, {"samples", true}},
                             .resources = {{"reference", made::reference()}, {"model", made::Model().batch()}},
                             .batches = rows};
  ContractSample other = table, summary = table;
  other.parameters = {{"output", "x"}};
  summary.parameters = {{"output", "x.gz"}};
  summary.resources.erase("model");
  const Alignments alignments;
  ContractSample sam = other;
  sam.parameters.emplace("alignments", alignments.path());
  sam.batches = {alignments.rows()};
  for (const std::string& problem : contract_problems(made::plugin(), {{"event_alignment_tsv", table},
                                                                       {"event_alignment_m6anet", other},
                                                                       {"event_alignment_paf", other},
                                                                       {"event_alignment_sam", sam},
                                                                       {"event_alignment_summary", summary}}))
    FAIL_CHECK(problem);
}

TEST_CASE("all forms go on behind an interruption") {
  const std::vector<TestBatch> rows = {made::batch(random_reads(5)), made::batch(random_reads(1)), made::batch(random_reads(4))};
  for (const char* stage : text_stages) {
    CAPTURE(stage);
    CHECK(resume_problems(made::run(stage, rows), {"x", "x.gz", "x.zst", "x.arrow", "x.parquet"}) == std::vector<std::string>{});
  }
  const Alignments alignments;
  CHECK(resume_problems(alignments.run(alignments.rows(), {{"output", "x"}}), {"x.sam", "x.sam.gz", "x.bam"}) == std::vector<std::string>{});
}
