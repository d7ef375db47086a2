// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// m6anet's and xpore's files against what is computed here from the event table as these tools do it (columns of text, one line an event).
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "event_alignment_writer/rna_sites.hpp"
#include "unit/files/event_alignment_writer/made_alignments.hpp"

using sluice::testing::TestBatch;

namespace {

constexpr std::uint32_t k = 5;
const std::vector<made::Contig> contigs = {{"one", "GGACTGGAACATTNTAGACATGGACTTTAAACTGGGACAAATTTGAACACC"},
                                           {"t,w\"o", "TTGGACTTTTTGGACTTTTTAAACAAAAGAACTCC"}};

TestBatch reference() {
  return sluice::testing::BatchBuilder("contig", 2)
      .text("name", {contigs[0].name, contigs[1].name})
      .text("bases", {contigs[0].bases, contigs[1].bases})
      .build();
}
TestBatch model(std::uint32_t size = k) {
  const std::size_t count = std::size_t{1} << 2 * size;
  std::vector<float> mean, other(count, 1.5F);
  for (std::size_t rank = 0; rank < count; ++rank) mean.push_back(60.0F + 0.05F * static_cast<float>(rank));
  return sluice::testing::BatchBuilder("kmer", static_cast<std::int64_t>(count))
      .attribute("k", std::to_string(size))
      .attribute("alphabet", "nucleotide")
      .column("level_mean", mean)
      .column("level_stdv", other)
      .column("log_level_stdv", other)
      .build();
}

std::vector<made::Read> random_reads(std::mt19937& random, std::size_t contig, std::size_t count) {
  std::vector<made::Read> reads;
  while (reads.size() < count) {
    made::Read read = made::random_read(random, static_cast<std::int64_t>(reads.size()));
    read.contig = contigs[contig].name;
    read.is_reverse = random() % 8 == 0;
    read.path_event.clear(), read.path_position.clear(), read.path_state.clear();
    auto position = static_cast<std::int32_t>(random() % 4);
    for (std::size_t e = 0; e < read.event_start.size() && static_cast<std::size_t>(position) + k <= contigs[contig].bases.size(); ++e) {
      read.path_event.push_back(static_cast<std::int32_t>(e));
      read.path_position.push_back(position);
      read.path_state.push_back(random() % 12 == 0 ? 0 : 1);
      position += static_cast<std::int32_t>(random() % 16 == 0 ? 2 : random() % 4 == 0 ? 0 : 1);
    }
    reads.push_back(read);
  }
  reads.front().path_event.clear(), reads.front().path_position.clear(), reads.front().path_state.clear();
  return reads;
}

sluice::testing::StageRun run(const char* stage, const std::vector<TestBatch>& batches) {
  auto prepared = sluice::testing::run_stage(sluice::testing::stage_of(made::plugin(), stage), batches);
  prepared.resource("reference", reference());
  prepared.resource("model", model());
  return prepared;
}

// Of each contig and read, the levels at each position: seconds, standard deviation, mean.
using Levels = std::map<std::string, std::map<std::int64_t, std::map<std::int64_t, std::array<double, 3>>>>;
Levels levels_of(const std::string& table) {
  // Kahan's, which pandas has: means of decimals lie on .05 often.
  struct Sum {
    double sum = 0, lost = 0;
    void operator+=(double value) {
      const double corrected = value - lost, next = sum + corrected;
      lost = next - sum - corrected;
      sum = next;
    }
  };
  struct Sums {
    Sum mean, stdv, seconds, samples;
  };
  std::map<std::string, std::map<std::int64_t, std::map<std::int64_t, Sums>>> sums;
  std::istringstream lines(table);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::vector<std::string> field;
    for (std::string one; std::getline(fields, one, '\t');) field.push_back(one);
    REQUIRE(field.size() == 15);
    if (field[2] != field[9]) continue;
    Sums& at = sums[field[0]][std::stoll(field[3])][std::stoll(field[1])];
    const double weight = std::stod(field[14]) - std::stod(field[13]);
    at.mean += std::stod(field[6]) * weight, at.stdv += std::stod(field[7]) * weight, at.seconds += std::stod(field[8]) * weight;
    at.samples += weight;
  }
  Levels levels;
  for (const auto& [contig, reads] : sums)
    for (const auto& [read, positions] : reads)
      for (const auto& [position, s] : positions)
        levels[contig][read][position] = {s.seconds.sum / s.samples.sum, s.stdv.sum / s.samples.sum,
                                          std::nearbyint(s.mean.sum / s.samples.sum * 10) / 10};
  return levels;
}

// Numbers of a text, in their order.
std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size();) {
    if (text.find_first_of("0123456789-", at) != at) {
      ++at;
      continue;
    }
    std::size_t used = 0;
    numbers.push_back(std::stod(text.substr(at), &used));
    at += used;
  }
  return numbers;
}

struct Made {
  std::vector<TestBatch> rows;
  Levels levels;
  explicit Made(std::uint32_t seed) {
    std::mt19937 random(seed);
    for (const std::size_t contig : {0U, 1U}) rows.push_back(made::batch(random_reads(random, contig, contig == 0 ? 60 : 25)));
    levels = levels_of(run("event_alignment_tsv", rows).with({{"output", "x"}, {"scale_events", true}, {"signal_index", true}}).run().files.at("x"));
  }
};

}  // namespace

TEST_CASE("m6anet's files have what its own preparation makes of the event table") {
  const Made made(3);
  auto files = run("event_alignment_m6anet_sites", made.rows).with({{"output", "data.json"}, {"index", "data.info"}}).run().files;
  const std::string &data = files.at("data.json"), &info = files.at("data.info");
  std::istringstream lines(info);
  std::string line;
  std::getline(lines, line);
  CHECK(line == "transcript_id,transcript_position,start,end,n_reads");
  std::size_t sites = 0, end_before = 0;
  std::set<std::string> seen;
  while (std::getline(lines, line)) {
    const std::string quoted = R"("t,w""o")";  // as pandas reads it
    const std::size_t comma = line.starts_with('"') ? quoted.size() : line.find(',');
    if (line.starts_with('"')) REQUIRE(line.starts_with(quoted + ","));
    const std::string contig = line.starts_with('"') ? contigs[1].name : line.substr(0, comma);
    const std::vector<double> place = numbers_of(line.substr(comma));
    REQUIRE(place.size() == 4);
    const auto site = static_cast<std::int64_t>(place[0]);
    const auto begin = static_cast<std::size_t>(place[1]), end = static_cast<std::size_t>(place[2]);
    CHECK(begin == end_before);
    end_before = end;
    const std::string& bases = contig == "one" ? contigs[0].bases : contigs[1].bases;
    const std::string word = bases.substr(static_cast<std::size_t>(site - 3), 7);
    const std::string head = (contig == "one" ? R"({"one":{")" : R"({"t,w\"o":{")") + std::to_string(site) + "\":{\"" + word + "\":[[";
    const std::string text = data.substr(begin, end - begin);
    REQUIRE(text.starts_with(head));
    CHECK(text.ends_with("]]}}}\n"));
    const std::vector<double> found = numbers_of(text.substr(head.size()));
    std::vector<double> expected;
    for (const auto& [read, positions] : made.levels.at(contig)) {
      const std::int64_t p = site - 2;
      if (!positions.contains(p - 1) || !positions.contains(p) || !positions.contains(p + 1)) continue;
      for (const std::int64_t at : {p - 1, p, p + 1}) expected.insert(expected.end(), positions.at(at).begin(), positions.at(at).end());
      expected.push_back(static_cast<double>(read));
    }
    CHECK(found.size() == expected.size());
    CHECK(static_cast<double>(found.size()) == place[3] * 10);
    CHECK(place[3] >= 20);
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
    seen.insert(word.substr(1, 5));
    ++sites;
  }
  CHECK(end_before == data.size());
  CHECK(sites >= 4);
  CHECK(seen.contains("GGACT"));
  for (const std::string& word : seen) CHECK_MESSAGE(word.find_first_not_of("ACGT") == std::string::npos, word);
}

TEST_CASE("xpore's files have the means of all reads at each position") {
  const Made made(4);
  auto files = run("event_alignment_xpore_sites", made.rows)
                   .with({{"output", "data.json"}, {"index", "data.index"}, {"read_counts", "data.readcount"}})
                   .run()
                   .files;
  std::string expected, index = "idx,start,end\n", counts = "idx,n_reads\n";
  for (const auto& [contig, reads] : made.levels) {
    std::map<std::int64_t, std::string> values;
    std::size_t used = 0;
    for (const auto& [read, positions] : reads) {
      if (positions.size() < 2) continue;
      ++used;
      for (const auto& [position, level] : positions) {
        std::string& text = values[position];
        if (!text.empty()) text += ',';
        sluice::event_alignment_writer::append_python_number(level[2], text);
      }
    }
    const std::string& bases = contig == "one" ? contigs[0].bases : contigs[1].bases;
    const std::size_t begin = expected.size();
    expected += contig == "one" ? R"({"one":{)" : R"({"t,w\"o":{)";
    for (const auto& [position, text] : values) {
      if (position != values.begin()->first) expected += ',';
      expected += "\"" + std::to_string(position + 2) + "\":{\"" + bases.substr(static_cast<std::size_t>(position), 5) + "\":[" + text + "]}";
    }
    expected += "}}\n";
    const std::string field = contig == "one" ? "one" : R"("t,w""o")";
    index += field + "," + std::to_string(begin) + "," + std::to_string(expected.size()) + "\n";
    counts += field + "," + std::to_string(used) + "\n";
  }
  CHECK(files.at("data.json") == expected);
  CHECK(files.at("data.index") == index);
  CHECK(files.at("data.readcount") == counts);
}

TEST_CASE("numbers are printed as Python prints them") {
  for (const auto& [value, text] : {std::pair{3.0, "3.0"},
                                    {0.0, "0.0"},
                                    {-2.5, "-2.5"},
                                    {0.1, "0.1"},
                                    {1e-5, "1e-05"},
                                    {0.0001, "0.0001"},
                                    {123456789012345.0, "123456789012345.0"},
                                    {1e16, "1e+16"},
                                    {0.30000000000000004, "0.30000000000000004"}}) {
    std::string made;
    sluice::event_alignment_writer::append_python_number(value, made);
    CHECK(made == text);
  }
}

TEST_CASE("no more than the first 1,001 reads of a contig are m6anet's, and a site has 20 or more") {
  using namespace sluice::event_alignment_writer;
  ContigSites<M6anetForm> contig;
  contig.name = "c", contig.bases = "AGGACTGGGG";
  for (std::int64_t read = 0; read < 19; ++read) contig.entries.push_back({{.site = 3}, read});
  CHECK(lines_of(contig).data.empty());
  contig.entries.push_back({{.site = 3}, 19});
  const SiteLines lines = lines_of(contig);
  CHECK(lines.index == "c,3,0," + std::to_string(lines.data.size()) + ",20\n");
  std::mt19937 random(1);
  std::vector<made::Read> reads(1100, random_reads(random, 1, 2).back());
  for (std::size_t i = 0; i < reads.size(); ++i) reads[i].record_index = static_cast<std::int64_t>(i);
  reads.front().is_reverse = false;
  for (made::Read& read : reads) {
    read.is_reverse = false;
    std::fill(read.path_state.begin(), read.path_state.end(), 1);
  }
  const auto written = [](const std::vector<made::Read>& of) {
    return run("event_alignment_m6anet_sites", {made::batch(of)}).with({{"output", "a"}, {"index", "b"}}).run();
  };
  const auto all = written(reads);
  CHECK(all.files.at("b").find(",1001\n") != std::string::npos);
  const char* warning = "no DRACH site has the 20 reads that m6anet asks for";
  CHECK_FALSE(all.logged(warning));
  // On a genome half of the reads are left out.
  const char* antisense = "alignments are to the reverse strand";
  const std::size_t tenth = reads.size() / 10;
  for (std::size_t i = 1; i < tenth; ++i) reads[i].is_reverse = true;
  CHECK_FALSE(written(reads).logged(antisense));
  reads[tenth].is_reverse = true;
  const std::string said = std::to_string(tenth) + " of " + std::to_string(reads.size()) + " " + antisense;
  CHECK(written(reads).logged(said + ", and m6anet and xpore leave them out"));
  CHECK(run("event_alignment_nanocompore", {made::batch(reads)}).with({{"output", "x.db"}}).run().logged(said));
  for (made::Read& read : reads) read.is_reverse = false;
  reads.resize(19);
  const auto few = written(reads);
  CHECK(few.files.at("a").empty());
  CHECK(few.logged(warning));
}

TEST_CASE("reads of a contig that do not come together, and models of other k-mers, are refused") {
  const Made made(5);
  std::vector<TestBatch> rows = made.rows;
  rows.push_back(made.rows[0]);
  const auto message = [](auto prepared) { return prepared.with({{"output", "a"}, {"index", "b"}}).run().message; };
  CHECK(message(run("event_alignment_m6anet_sites", rows)).find("whose reads came before those of") != std::string::npos);
  auto other = run("event_alignment_m6anet_sites", made.rows);
  other.resource("model", model(6));
  CHECK(message(other).find("the model has 6-mers") != std::string::npos);
}

TEST_CASE("with any_order reads of a contig need not come together") {
  std::mt19937 random(8);
  const TestBatch first = made::batch(random_reads(random, 0, 30)), second = made::batch(random_reads(random, 0, 30)),
                  other = made::batch(random_reads(random, 1, 25));
  const auto files = [](const std::vector<TestBatch>& rows, bool any_order) {
    return run("event_alignment_xpore_sites", rows)
        .with({{"output", "a"}, {"index", "b"}, {"read_counts", "c"}, {"any_order", any_order}})
        .run()
        .files;
  };
  CHECK(files({first, other, second}, true) == files({first, second, other}, false));
}

TEST_CASE("sites keep the contract, and go on behind an interruption") {
  const Made made(6);
  using namespace sluice::testing;
  const ContractSample m6anet{
      .parameters = {{"output", "a"}, {"index", "b"}}, .resources = {{"reference", reference()}, {"model", model()}}, .batches = made.rows};
  ContractSample xpore = m6anet;
  xpore.parameters.emplace("read_counts", "c");
  for (const std::string& problem :
       contract_problems(made::plugin(), {{"event_alignment_m6anet_sites", m6anet}, {"event_alignment_xpore_sites", xpore}}))
    FAIL_CHECK(problem);
  CHECK(resume_problems(run("event_alignment_m6anet_sites", made.rows).with(m6anet.parameters)) == std::vector<std::string>{});
  CHECK(resume_problems(run("event_alignment_xpore_sites", made.rows).with(xpore.parameters)) == std::vector<std::string>{});
  CHECK(resume_problems(run("event_alignment_m6anet_sites", made.rows).with(m6anet.parameters).with({{"any_order", true}})) ==
        std::vector<std::string>{});
}
