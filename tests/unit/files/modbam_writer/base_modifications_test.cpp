// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <map>

#include "modbam_writer/stage.cpp"  // the stage class has no header of its own
#include "unit/files/methylation_writer/expected_table.hpp"
#include "unit/mapping/hit_selection/tiny_index.hpp"
#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::modbam_writer;
using sluice::Strand;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

const sluice::Motif kCpg = sluice::parse_motif("cpg");

constexpr std::uint32_t M = 0, I = 1, D = 2, S = 4, H = 5, EQ = 7, X = 8;
std::uint32_t op(std::uint32_t length, std::uint32_t operation) { return length << 4 | operation; }

std::vector<std::uint8_t> packed(const std::string& bases) {
  std::vector<std::uint8_t> result((bases.size() + 1) / 2);
  for (std::size_t i = 0; i < bases.size(); ++i)
    result[i / 2] = static_cast<std::uint8_t>(result[i / 2] | seq_nt16_table[static_cast<unsigned char>(bases[i])] << (i % 2 == 0 ? 4 : 0));
  return result;
}

struct Tagged {
  bool ok;
  std::string positions;
  std::vector<std::uint8_t> probabilities;
};
Tagged tag(const std::string& bases, std::int64_t start, const std::vector<std::uint32_t>& cigar, Strand strand, const std::vector<SiteCall>& calls,
           const sluice::Motif& motif = kCpg) {
  const auto bytes = packed(bases);
  ModificationTags tags;
  const bool ok = make_tags({start, cigar, bytes.data(), static_cast<std::int64_t>(bases.size()), strand}, motif, calls, tags);
  return {ok, tags.positions, tags.probabilities};
}

// Alignments as a SAM file, its records as rows, and what is called on them.
class SmallRun {
 public:
  SmallRun() : folder_("") {
    std::ofstream(alignments()) << "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr\tLN:20\n@PG\tID:mapper\tPN:mapper\n"
                                   "forward\t0\tchr\t1\t60\t20M\t*\t0\t0\tAACGTTACGCGTTTACCGAA\t*\tNM:i:0\tMM:Z:C+h?,0;\tML:B:C,9\n"
                                   "reverse\t16\tchr\t3\t60\t2S10M1D5M\t*\t0\t0\tAACGTTACGCGTTACCG\t*\tMN:i:3\n"
                                   "failed\t0\tchr\t3\t60\t5M\t*\t0\t0\tCGTTA\t*\tMM:Z:C+m?,0;\tML:B:C,9\n"
                                   "no_bases\t0\tchr\t3\t60\t5M\t*\t0\t0\t*\t*\n"
                                   "no_calls\t0\tchr\t3\t60\t5M\t*\t0\t0\tCGTTA\t*\n";
  }
  std::string alignments() const { return folder_.path() + "/in.sam"; }
  TestBatch reference() const { return BatchBuilder("contig", 1).text("name", {"chr"}).text("bases", {"AACGTTACGCGTTTACCGAA"}).build(); }
  TestBatch rows() const { return rows_builder().build(); }
  BatchBuilder rows_builder() const {
    std::vector<std::string> records = records_of(alignments());
    return BatchBuilder("read", 5)
        .binary("bam_record", records)
        .list<std::int64_t>("site_start", {{2, 7, 16}, {7, 16}, {2}, {2}, {}})
        .list<std::int64_t>("site_end", {{2, 9, 16}, {9, 16}, {2}, {2}, {}})
        .list<std::int32_t>("site_motifs", {{1, 2, 1}, {2, 1}, {1}, {1}, {}})
        .list<float>("log_lik_methylated", {{-10, -20, -30}, {-20, -30}, {-1}, {-1}, {}})
        .list<float>("log_lik_unmethylated", {{-10, -120, -28}, {-21, -36}, {-1}, {-1}, {}})
        .failed(2);
  }
  static std::vector<std::string> records_of(const std::string& path) {
    std::vector<std::string> records;
    const sluice::hts::File file(hts_open(path.c_str(), "r"));
    const sluice::hts::Header header(sam_hdr_read(file.get()));
    const sluice::hts::Record record(bam_init1());
    while (sam_read1(file.get(), header.get(), record.get()) >= 0) sluice::hts::store_record(*record, records.emplace_back());
    return records;
  }
  sluice::testing::StageRun run(const std::string& output) const {
    auto prepared = run_stage<ModbamWriter>(rows());
    prepared.resource("reference", reference()).with({{"output", output}, {"alignments", alignments()}});
    return prepared;
  }
  std::string save(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  sluice::testing::TemporaryFolder folder_;
};

const std::vector<std::string> none;

}  // namespace

#ifdef SLUICE_SANITIZED
// HTSlib 1.16 leaks its file when closing a BAM fails.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhts"; }
#endif

TEST_CASE("a log-likelihood ratio becomes one of 256 steps of probability") {
  CHECK(probability_code(0) == 128);
  CHECK(probability_code(100) == 255);
  CHECK(probability_code(-100) == 0);
  CHECK(probability_code(std::log(3) - 1e-9) == 191);  // 3/4 is where 192 begins
  CHECK(probability_code(std::log(3) + 1e-9) == 192);
  CHECK(probability_code(std::numeric_limits<double>::infinity()) == 255);
  CHECK(probability_code(-std::numeric_limits<double>::infinity()) == 0);
  CHECK(probability_code(std::numeric_limits<double>::quiet_NaN()) == 0);
  int previous = 0;
  for (double ratio = -20; ratio < 20; ratio += 0.01) {
    CHECK(probability_code(ratio) >= previous);
    previous = probability_code(ratio);
  }
}

TEST_CASE("a group stands for each of its CpGs, if the reference has them") {
  std::vector<SiteCall> calls;
  const std::string bases = "AACGTTACGCGTTTACCG";
  CHECK(append_group(bases, kCpg.forward, {7, 9, 2}, 200, calls));
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].site == 7);
  CHECK(calls[1].site == 9);
  CHECK(calls[1].probability == 200);
  CHECK_FALSE(append_group(bases, kCpg.forward, {7, 9, 3}, 200, calls));
  CHECK_FALSE(append_group(bases, kCpg.forward, {6, 9, 2}, 200, calls));
  CHECK_FALSE(append_group(bases, kCpg.forward, {7, 8, 1}, 200, calls));
  CHECK_FALSE(append_group(bases, kCpg.forward, {-1, 9, 2}, 200, calls));
  CHECK_FALSE(append_group(bases, kCpg.forward, {9, 7, 2}, 200, calls));
  CHECK_FALSE(append_group(bases, kCpg.forward, {16, std::numeric_limits<std::int64_t>::max(), 2}, 200, calls));
  CHECK_FALSE(append_group(bases, kCpg.forward, {2, 2, -1}, 200, calls));
  CHECK(append_group(bases, kCpg.forward, {16, 16, 1}, 1, calls));
  CHECK(calls.size() == 3);
}

TEST_CASE("positions count the cytosines in between, in sequencing orientation") {
  //                          0123456789
  const std::string bases = "CACGCTCGCG";
  CHECK(tag(bases, 100, {op(10, M)}, Strand::forward, {{102, 7}, {108, 9}}).positions == "C+m?,1,2;");
  CHECK(tag(bases, 100, {op(10, M)}, Strand::forward, {{102, 7}, {108, 9}}).probabilities == std::vector<std::uint8_t>{7, 9});
  // The reverse complement is CGCGAGCGTG: the C of its CpGs at 0, 2 and 6.
  CHECK(tag(bases, 100, {op(10, M)}, Strand::reverse, {{102, 7}, {108, 9}}).positions == "C+m?,0,1;");
  CHECK(tag(bases, 100, {op(10, M)}, Strand::reverse, {{102, 7}, {108, 9}}).probabilities == std::vector<std::uint8_t>{9, 7});
  CHECK(tag(bases, 100, {op(10, M)}, Strand::forward, {}).positions == "C+m?;");
}

TEST_CASE("a call counts only where the read shows CG without a gap") {
  CHECK(tag("ACGT", 0, {op(4, M)}, Strand::forward, {{1, 5}}).positions == "C+m?,0;");
  CHECK(tag("ATGT", 0, {op(4, M)}, Strand::forward, {{1, 5}}).positions == "C+m?;");
  CHECK(tag("ACAT", 0, {op(4, M)}, Strand::forward, {{1, 5}}).positions == "C+m?;");
  CHECK(tag("ACTGT", 0, {op(2, M), op(1, I), op(2, M)}, Strand::forward, {{1, 5}}).positions == "C+m?;");
  CHECK(tag("ACCG", 0, {op(2, M), op(1, D), op(2, M)}, Strand::forward, {{1, 5}, {3, 6}}).positions == "C+m?,1;");
  CHECK(tag("ACGT", 0, {op(2, EQ), op(2, X)}, Strand::forward, {{1, 5}}).positions == "C+m?,0;");
  CHECK(tag("GGACGT", 0, {op(9, H), op(2, S), op(4, M), op(3, H)}, Strand::forward, {{1, 5}}).positions == "C+m?,0;");
  CHECK(tag("GGACGT", 0, {op(2, S), op(4, M)}, Strand::reverse, {{1, 5}}).positions == "C+m?,0;");
  CHECK(tag("AC", 0, {op(2, M)}, Strand::forward, {{1, 5}}).positions == "C+m?;");
  CHECK(tag("ACGT", 50, {op(4, M)}, Strand::forward, {{1, 5}, {51, 6}, {90, 7}}).probabilities == std::vector<std::uint8_t>{6});
}

TEST_CASE("other motifs have their own base and code, on both strands") {
  using sluice::parse_motif;
  const sluice::Motif dam = parse_motif("dam"), gpc = parse_motif("gpc"), dcm = parse_motif("dcm"), free = parse_motif("GAAGC:2:a");
  const std::string bases = "AAGATCTTGATC";  // A at 0 1 3 9, T at 4 6 7 10
  CHECK(tag(bases, 0, {op(12, M)}, Strand::forward, {{2, 7}, {8, 9}}, dam).positions == "A+a?,2,0;");
  // The reverse complement is GATCAAGATCTT: As at 1, 4, 5, 7; the modified ones pair with the Ts.
  CHECK(tag(bases, 0, {op(12, M)}, Strand::reverse, {{2, 7}, {8, 9}}, dam).positions == "A+a?,0,2;");
  CHECK(tag(bases, 0, {op(12, M)}, Strand::reverse, {{2, 7}, {8, 9}}, dam).probabilities == std::vector<std::uint8_t>{9, 7});
  CHECK(tag("CAGCC", 0, {op(5, M)}, Strand::forward, {{2, 1}}, gpc).positions == "C+m?,1;");
  CHECK(tag("CAGCC", 0, {op(5, M)}, Strand::reverse, {{2, 1}}, gpc).positions == "C+m?,0;");
  CHECK(tag("CCTGGCCAGG", 0, {op(10, M)}, Strand::forward, {{0, 1}, {5, 2}}, dcm).positions == "C+m?,1,1;");
  CHECK(tag("CCGGG", 0, {op(5, M)}, Strand::forward, {{0, 1}}, dcm).positions == "C+m?;");
  CHECK(tag("CCNGG", 0, {op(5, M)}, Strand::forward, {{0, 1}}, dcm).positions == "C+m?;");
  CHECK(tag("TGAAGCT", 0, {op(7, M)}, Strand::forward, {{1, 1}}, free).positions == "A+a?,1;");
  CHECK(tag("TGCTTCT", 0, {op(7, M)}, Strand::reverse, {{1, 1}}, free).positions == "A+a?,2;");
  CHECK(tag("TGCTTCT", 0, {op(7, M)}, Strand::forward, {{1, 1}}, free).positions == "A+a?;");
  CHECK(tag("GAT", 0, {op(3, M)}, Strand::forward, {{0, 1}}, dam).positions == "A+a?;");
  CHECK(tag("CG", 0, {op(2, M)}, Strand::forward, {{0, 1}}, parse_motif("CG:0:27551")).positions == "C+27551?,0;");
  std::vector<SiteCall> calls;
  CHECK(append_group("GATCAAGATC", dam.forward, {0, 6, 2}, 5, calls));
  CHECK_FALSE(append_group("GATCAAGAT", dam.forward, {0, 6, 2}, 5, calls));
}

TEST_CASE("records that contradict themselves have no tags") {
  CHECK_FALSE(tag("ACGT", 0, {op(5, M)}, Strand::forward, {{1, 5}}).ok);
  CHECK_FALSE(tag("ACGT", 0, {op(2, S), op(3, M)}, Strand::forward, {{1, 5}}).ok);
  CHECK_FALSE(tag("ACGT", 0, {op(4, I), op(1, I)}, Strand::forward, {{1, 5}}).ok);
  CHECK_FALSE(tag("ACGT", 0, {op(4, 12)}, Strand::forward, {{1, 5}}).ok);
  CHECK_FALSE(tag("ACGT", 0, {op(4, M)}, Strand::forward, {{1, 5}, {1, 5}}).ok);
  CHECK_FALSE(tag("ACGT", 0, {op(4, M)}, Strand::forward, {{2, 5}, {1, 5}}).ok);
}

TEST_CASE("records survive storing and loading, and damaged bytes are refused") {
  const SmallRun small;
  const sluice::hts::Record record(bam_init1());
  for (const std::string& bytes : SmallRun::records_of(small.alignments())) {
    REQUIRE(load_record(bytes, 1, *record) == RecordStatus::ok);
    std::string again;
    sluice::hts::store_record(*record, again);
    CHECK(again == bytes);
    CHECK(load_record(bytes, 0, *record) == RecordStatus::corrupt);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      CHECK(load_record(std::string_view(bytes).substr(0, length), 1, *record) == RecordStatus::corrupt);
    for (std::size_t at = 0; at < bytes.size(); ++at)
      for (const char flip : {'\x01', '\x80', '\xff'}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        const RecordStatus status = load_record(damaged, 1, *record);  // either is fine: it must only not read beyond the bytes
        CHECK((status == RecordStatus::ok || status == RecordStatus::corrupt));
      }
  }
}

TEST_CASE("tags are added to called records, removed from failed ones, and the rest is as it was") {
  const SmallRun small;
  const auto result = small.run("out.sam").run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.problems == none);
  CHECK(result.failed.empty());
  CHECK(result.logged("2 records had base modifications already (tags MM and ML): 'out.sam' has 5mC calls at CpGs in their place"));
  std::vector<std::string> lines = expected_table::lines(result.files.at("out.sam"));
  REQUIRE(lines.size() == 9);
  CHECK(lines[3].starts_with("@PG\tID:sluice\t"));
  CHECK(lines[3].find("\tPP:mapper") != std::string::npos);
  CHECK(lines[4] == "forward\t0\tchr\t1\t60\t20M\t*\t0\t0\tAACGTTACGCGTTTACCGAA\t*\tNM:i:0\tMM:Z:C+m?,0,0,0,1;\tML:B:C,128,255,255,30\tMN:i:20");
  CHECK(lines[5] == "reverse\t16\tchr\t3\t60\t2S10M1D5M\t*\t0\t0\tAACGTTACGCGTTACCG\t*\tMM:Z:C+m?,0,0,0;\tML:B:C,255,187,187\tMN:i:17");
  CHECK(lines[6] == "failed\t0\tchr\t3\t60\t5M\t*\t0\t0\tCGTTA\t*");
  CHECK(lines[7] == "no_bases\t0\tchr\t3\t60\t5M\t*\t0\t0\t*\t*");
  CHECK(lines[8] == "no_calls\t0\tchr\t3\t60\t5M\t*\t0\t0\tCGTTA\t*\tMM:Z:C+m?;\tML:B:C\tMN:i:5");
  const auto without = small.run("out.sam").with({{"keep_failed", false}}).run();
  CHECK(without.files.at("out.sam").find("\nfailed") == std::string::npos);
  CHECK(outcomes_of(small.run("out.sam")) == Outcomes{{"tagged", {2, 5}}});
}

TEST_CASE("BAM and CRAM hold the same records as SAM") {
  const SmallRun small;
  const std::string sam = small.save("out.sam", small.run("out.sam").run().files.at("out.sam"));
  const auto expected = SmallRun::records_of(sam);
  REQUIRE(expected.size() == 5);
  CHECK(SmallRun::records_of(small.save("out.bam", small.run("out.bam").run().files.at("out.bam"))) == expected);
  const auto cram = SmallRun::records_of(small.save("out.cram", small.run("out.cram").run().files.at("out.cram")));
  CHECK(cram.size() == 5);
}

TEST_CASE("sites of another reference fail the row") {
  const SmallRun small;
  const TestBatch other = BatchBuilder("contig", 1).text("name", {"chr"}).text("bases", {"AACGTTACGAAAAAAAAAAA"}).build();
  const auto result = small.run("out.bam").resource("reference", other).run();
  REQUIRE(result.ok());
  REQUIRE(result.failed.size() == 2);
  CHECK(result.failed[0].reason == "sites_not_on_reference");
  const TestBatch unrelated = BatchBuilder("contig", 1).text("name", {"chromosome"}).text("bases", {"ACGT"}).build();
  CHECK(small.run("out.bam").resource("reference", unrelated).run().message.find("contig 'chr'") != std::string::npos);
}

TEST_CASE("without a file of alignments the header has the index's contigs and the lines of the reads' files") {
  const SmallRun small;
  const TestBatch rows = small.rows();
  const auto run = [&](const TestBatch& batch, const char* output) {
    auto prepared = run_stage<ModbamWriter>(batch);
    prepared.resource("reference", small.reference()).resource("index", tiny_index::of({{"chr", 20}})).with({{"output", output}, {"command", "now"}});
    return prepared.run();
  };
  const std::string lines = small.run("out.sam").run().files.at("out.sam");
  const auto plain = run(rows, "out.sam");
  REQUIRE_MESSAGE(plain.ok(), plain.message);
  const std::string& text = plain.files.at("out.sam");
  CHECK(text.starts_with("@SQ\tSN:chr\tLN:20\n@PG\tID:sluice\tPN:sluice\tVN:"));
  CHECK(text.find("\tCL:now\n") != std::string::npos);
  CHECK(text.substr(text.find("\nforward")) == lines.substr(lines.find("\nforward")));
  const auto of_bam = run(small.rows_builder().attribute("sam_header", "@RG\tID:g\n@PG\tID:b\n").build(), "out.sam");
  REQUIRE_MESSAGE(of_bam.ok(), of_bam.message);
  CHECK(of_bam.files.at("out.sam").starts_with("@SQ\tSN:chr\tLN:20\n@RG\tID:g\n@PG\tID:b\n@PG\tID:sluice\tPP:b\tPN:sluice\t"));
  CHECK(SmallRun::records_of(small.save("out.cram", run(rows, "out.cram").files.at("out.cram"))).size() == 5);
  auto neither = run_stage<ModbamWriter>(rows);
  CHECK(neither.resource("reference", small.reference()).with({{"output", "out.sam"}}).run().status == SLUICE_ERROR_USAGE);
}

TEST_CASE("header errors name the file") {
  const SmallRun small;
  CHECK(small.run("out.bam").with({{"alignments", "/nowhere/in.bam"}}).run().message.find("/nowhere/in.bam") != std::string::npos);
  CHECK(small.run("out.bam").with({{"alignments", small.save("empty.bam", "")}}).run().status == SLUICE_ERROR_INPUT);
}

TEST_CASE("a full disk is an output error that names the file") {
  const SmallRun small;
  std::vector<TestBatch> many(3000, small.rows());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  for (const char* name : {"out.bam", "out.sam"}) {
    auto prepared = run_stage<ModbamWriter>(many);
    prepared.resource("reference", small.reference()).with({{"output", name}, {"alignments", small.alignments()}});
    const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{.rlim_cur = 4096, .rlim_max = before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
    const auto result = prepared.run();
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, ignored);
    CHECK(result.status == SLUICE_ERROR_OUTPUT);
    CHECK(result.message.find(name) != std::string::npos);
  }
}

TEST_CASE("modbam_writer keeps the contract of all stages") {
  const SmallRun small;
  const auto problems = sluice::testing::contract_problems(*sluice_plugin_init(nullptr, nullptr),
                                                           {{"modbam_writer",
                                                             {.parameters = {{"output", "out.bam"}, {"alignments", small.alignments()}},
                                                              .resources = {{"reference", small.reference()}},
                                                              .batches = {small.rows(), small.rows()}}}});
  CHECK(problems == none);
}

TEST_CASE("modBAM and its index go on behind an interruption") {
  const SmallRun small;
  const TestBatch rows = small.rows();
  const auto run = [&](const std::vector<TestBatch>& batches) {
    return run_stage<ModbamWriter>(batches).resource("reference", small.reference()).with({{"alignments", small.alignments()}});
  };
  CHECK(sluice::testing::resume_problems(run({rows.rows(0, 2), rows.rows(2, 3), rows.rows(3, 5)}), {"out.bam", "out.sam", "out.sam.gz"}) == none);
  CHECK(sluice::testing::resume_problems(run({rows, rows, rows}), {"out.bam"}) == none);  // not sorted: without an index
  const TestBatch with_header = small.rows_builder().attribute("sam_header", "@RG\tID:g\n@PG\tID:b\n").build();
  auto of_index = run_stage<ModbamWriter>(std::vector{with_header, with_header});
  of_index.resource("reference", small.reference()).resource("index", tiny_index::of({{"chr", 20}}));
  CHECK(sluice::testing::resume_problems(of_index, {"out.bam", "out.sam"}) == none);
  CHECK(sluice::testing::resume_problems(run({rows}), {"out.cram"}) == std::vector<std::string>{"out.cram: the instance does not save"});
}

TEST_CASE("HTSlib reads back the calls of real reads at the right bases") {
  const std::string data = SLUICE_SHARED_DIR "/data/ecoli_r9_real/";
  const std::string table = expected_table::contents(data + "expected/f5c_meth.tsv.gz");
  if (table.empty()) {
    MESSAGE("skipped: no " << data << "expected/f5c_meth.tsv.gz");
    return;
  }
  struct Calls {
    std::vector<std::int64_t> start, end;
    std::vector<std::int32_t> motifs;
    std::vector<float> methylated, unmethylated;
  };
  int lost = 0;
  std::map<std::string, Calls> by_read;
  for (const TestBatch& batch : expected_table::reads(table, 1'000'000, lost)) {
    const auto view = batch.view();
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      Calls calls;
      const auto copy = [&](auto& to, const auto& from) { to.assign(from.begin(), from.end()); };
      copy(calls.start, view.list<std::int64_t>("site_start")[row]);
      copy(calls.end, view.list<std::int64_t>("site_end")[row]);
      copy(calls.motifs, view.list<std::int32_t>("site_motifs")[row]);
      copy(calls.methylated, view.list<float>("log_lik_methylated")[row]);
      copy(calls.unmethylated, view.list<float>("log_lik_unmethylated")[row]);
      by_read.emplace(std::string(view.text("read_id")[row]), std::move(calls));
    }
  }
  std::vector<std::string> records;
  std::vector<Calls> calls;
  std::map<std::string, int> alignments_of;
  const sluice::hts::Record record(bam_init1());
  const std::vector<std::string> all_records = SmallRun::records_of(data + "reads.bam");
  for (const std::string& bytes : all_records) {
    REQUIRE(load_record(bytes, 1'000'000, *record) == RecordStatus::ok);
    ++alignments_of[bam_get_qname(record.get())];
  }
  for (const std::string& bytes : all_records) {
    REQUIRE(load_record(bytes, 1'000'000, *record) == RecordStatus::ok);
    const auto found = by_read.find(bam_get_qname(record.get()));
    if (found == by_read.end() || alignments_of.at(found->first) != 1) continue;  // else the table does not say which alignment a call is from
    records.push_back(bytes);
    calls.push_back(found->second);
  }
  REQUIRE(records.size() > 50);
  const auto column = [&](auto member) {
    std::vector<std::decay_t<decltype(calls[0].*member)>> rows;
    for (const Calls& c : calls) rows.push_back(c.*member);
    return rows;
  };
  const TestBatch reference = expected_table::reference(expected_table::contents(data + "draft.fa.gz"));
  const TestBatch batch = BatchBuilder("read", static_cast<std::int64_t>(records.size()))
                              .binary("bam_record", records)
                              .list<std::int64_t>("site_start", column(&Calls::start))
                              .list<std::int64_t>("site_end", column(&Calls::end))
                              .list<std::int32_t>("site_motifs", column(&Calls::motifs))
                              .list<float>("log_lik_methylated", column(&Calls::methylated))
                              .list<float>("log_lik_unmethylated", column(&Calls::unmethylated))
                              .build();
  const auto result = run_stage<ModbamWriter>(batch)
                          .resource("reference", reference)
                          .with({{"output", "out.bam"}, {"alignments", data + "reads.bam"}})
                          .threads(2)
                          .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.failed.empty());

  const SmallRun folder;
  const auto written = SmallRun::records_of(folder.save("out.bam", result.files.at("out.bam")));
  REQUIRE(written.size() == records.size());
  std::size_t listed = 0;
  std::size_t called = 0;
  const std::unique_ptr<hts_base_mod_state, void (*)(hts_base_mod_state*)> state(hts_base_mod_state_alloc(), hts_base_mod_state_free);
  for (std::size_t i = 0; i < written.size(); ++i) {
    REQUIRE(load_record(written[i], 1'000'000, *record) == RecordStatus::ok);
    std::map<std::int64_t, int> expected;  // site on the reference -> probability
    for (std::size_t g = 0; g < calls[i].start.size(); ++g) {
      std::vector<SiteCall> sites;
      REQUIRE(append_group(reference.view().text("bases")[record->core.tid], kCpg.forward, {calls[i].start[g], calls[i].end[g], calls[i].motifs[g]},
                           0, sites));
      const double ratio = static_cast<double>(calls[i].methylated[g]) - static_cast<double>(calls[i].unmethylated[g]);
      for (const SiteCall& site : sites) expected[site.site] = probability_code(ratio);
    }
    called += expected.size();
    std::vector<std::int64_t> on_reference(static_cast<std::size_t>(record->core.l_qseq), -1);
    std::int64_t at = record->core.pos;
    std::size_t base = 0;
    for (std::uint32_t c = 0; c < record->core.n_cigar; ++c) {
      const std::uint32_t operation = bam_get_cigar(record.get())[c];
      for (std::uint32_t n = 0; n < bam_cigar_oplen(operation); ++n) {
        const int type = bam_cigar_type(bam_cigar_op(operation));
        if (type == 3) on_reference[base] = at;
        if ((type & 1) != 0) ++base;
        if ((type & 2) != 0) ++at;
      }
    }
    REQUIRE(bam_parse_basemod(record.get(), state.get()) == 0);
    hts_base_mod modification{};
    int position = 0;
    while (bam_next_basemod(record.get(), state.get(), &modification, 1, &position) > 0) {
      const std::int64_t site = on_reference[static_cast<std::size_t>(position)] - (bam_is_rev(record.get()) ? 1 : 0);
      REQUIRE(expected.contains(site));
      CHECK(modification.modified_base == 'm');
      CHECK(modification.qual == expected.at(site));
      ++listed;
    }
  }
  MESSAGE(listed << " of " << called << " called CpGs are in the reads' own sequence");
  CHECK(static_cast<double>(listed) > 0.6 * static_cast<double>(called));
}
