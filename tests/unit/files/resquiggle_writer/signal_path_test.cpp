// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "resquiggle_writer/stage.cpp"  // the stage class has no header of its own
#include "unit/resumed_forms.hpp"

using namespace sluice::resquiggle_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

using Integers = std::vector<std::int32_t>;

struct Read {
  Integers start, length, first, last;
  AlignedEvents view() const { return {start, length, first, last}; }
};

// Five events from sample 4 on; k-mer 0 has event 1, k-mer 1 none, k-mer 2 events 2 and 3, k-mer 3 event 4, k-mer 4 none.
Read dna() { return {{0, 4, 10, 13, 20}, {4, 6, 3, 7, 5}, {1, -1, 2, 4, -1}, {1, -1, 3, 4, -1}}; }
// The same samples, but the 3' end came first: event 0 is the last in time.
Read rna() { return {{20, 13, 10, 4, 0}, {5, 7, 3, 6, 4}, {0, -1, 1, 3, -1}, {0, -1, 2, 3, -1}}; }

std::string table_of(const Read& read) {
  std::string text;
  append_table(text, "r", read.view());
  return text;
}
std::string paf_of(const Read& read) {
  std::string text;
  append_paf_columns(text, "r", 30, read.view());
  append_scaling_tags(text, 0.98F, -3.5F);
  append_path_tag(text, read.view());
  return text;
}

TEST_CASE("a table has a line per k-mer, in the order of the bases") {
  CHECK(table_of(dna()) == "r\t0\t4\t10\nr\t1\t.\t.\nr\t2\t10\t20\nr\t3\t20\t25\nr\t4\t.\t.\n");
  CHECK(table_of(rna()) == "r\t0\t20\t25\nr\t1\t.\t.\nr\t2\t10\t20\nr\t3\t4\t10\nr\t4\t.\t.\n");
}

TEST_CASE("a PAF line goes through the signal in order of time") {
  CHECK(paf_of(dna()) == "r\t30\t4\t25\t+\tr\t5\t0\t4\t3\t5\t255\tsc:f:0.980000\tsh:f:-3.500000\tss:Z:6,1D10,5,\n");
  CHECK(paf_of(rna()) == "r\t30\t4\t25\t+\tr\t5\t4\t0\t3\t5\t255\tsc:f:0.980000\tsh:f:-3.500000\tss:Z:6,10,1D5,\n");
}

TEST_CASE("of a part of a signal the samples of the whole are counted") {
  const Read read = dna();
  AlignedEvents part = read.view();
  part.signal_begin = 1000;
  std::string table, paf;
  append_table(table, "r", part);
  append_paf_columns(paf, "r", 2000, part);
  append_path_tag(paf, part);
  CHECK(table == "r\t0\t1004\t1010\nr\t1\t.\t.\nr\t2\t1010\t1020\nr\t3\t1020\t1025\nr\t4\t.\t.\n");
  CHECK(paf == "r\t2000\t1004\t1025\t+\tr\t5\t0\t4\t3\t5\t255\tss:Z:6,1D10,5,\n");
}

TEST_CASE("samples between k-mers are said") {
  const Read gap{{0, 5, 9}, {5, 4, 3}, {0, 2}, {0, 2}};
  CHECK(paf_of(gap).ends_with("ss:Z:5,4I3,\n"));
}

TEST_CASE("the tags sc and sh are printf's %f") {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const float scale = static_cast<float>(static_cast<std::int32_t>(random())) * 1e-6F, shift = static_cast<float>(random()) * 1e-8F;
    std::string text;
    append_scaling_tags(text, scale, shift);
    char expected[100];
    std::snprintf(expected, sizeof expected, "sc:f:%f\tsh:f:%f\t", static_cast<double>(scale), static_cast<double>(shift));
    REQUIRE(text == expected);
  }
}

TEST_CASE("the path of any read adds up to its columns") {
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    const bool backwards = round % 2 == 1;
    Read read;
    const auto kmers = static_cast<std::int32_t>(2 + random() % 50);
    std::int32_t event = static_cast<std::int32_t>(random() % 3);
    for (std::int32_t kmer = 0; kmer < kmers; ++kmer) {
      const auto stays = static_cast<std::int32_t>(kmer == 0 ? 1 : random() % 4);
      read.first.push_back(stays == 0 ? -1 : event);
      read.last.push_back(stays == 0 ? -1 : event + stays - 1);
      event += stays;
    }
    const std::int32_t events = event + static_cast<std::int32_t>(random() % 3) + (event < 2 ? 2 : 0);
    std::int32_t sample = 0;
    for (std::int32_t i = 0; i < events; ++i) {
      read.start.push_back(sample);
      read.length.push_back(static_cast<std::int32_t>(1 + random() % 40));
      sample += read.length.back();
    }
    if (backwards) {
      std::reverse(read.start.begin(), read.start.end());
      std::reverse(read.length.begin(), read.length.end());
    }
    REQUIRE(problem_with(read.view()).empty());
    std::string paf;
    append_paf_columns(paf, "r", sample, read.view());
    long long samples = 0, begin = 0, end = 0, all = 0, start_kmer = 0, end_kmer = 0, matches = 0;
    REQUIRE(std::sscanf(paf.c_str(), "r\t%lld\t%lld\t%lld\t+\tr\t%lld\t%lld\t%lld\t%lld", &samples, &begin, &end, &all, &start_kmer, &end_kmer,
                        &matches) == 7);
    std::string path;
    append_path_tag(path, read.view());
    long long moved = 0, passed = 0, runs = 0;
    for (const char* at = path.c_str() + 5; *at != '\n';) {
      char kind = 0;
      long long count = 0;
      int used = 0;
      REQUIRE(std::sscanf(at, "%lld%c%n", &count, &kind, &used) == 2);
      at += used;
      if (kind == 'D') passed += count;
      if (kind == ',') {
        moved += count;
        ++passed;
        ++runs;
      }
    }
    CHECK(moved == end - begin);
    CHECK(passed == (backwards ? start_kmer - end_kmer : end_kmer - start_kmer));
    CHECK(runs == matches);
    CHECK(all == kmers);
  }
}

TEST_CASE("lists that do not fit each other are named") {
  const auto problem = [](void (*change)(Read&)) {
    Read read = dna();
    change(read);
    return std::string(problem_with(read.view()));
  };
  CHECK(problem([](Read&) {}).empty());
  CHECK(problem([](Read& r) { r.length.pop_back(); }) == "its lists of events differ in length");
  CHECK(problem([](Read& r) { r.last.pop_back(); }) == "its lists of the k-mers' events differ in length");
  CHECK(problem([](Read& r) { r.last[3] = 5; }) == "a k-mer has events that the read does not have");
  CHECK(problem([](Read& r) { r.last[2] = 1; }) == "a k-mer has events that the read does not have");
  CHECK(problem([](Read& r) { r.first = r.last = Integers(5, -1); }) == "none of its k-mers has an event");
  CHECK(problem([](Read& r) { r = {}; }) == "none of its k-mers has an event");
  CHECK(problem([](Read& r) { std::swap(r.first[0], r.first[3]), std::swap(r.last[0], r.last[3]); }) ==
        "the events of its k-mers do not follow each other");
  CHECK(problem([](Read& r) { r.length[4] = -3; }) == "the events of its k-mers do not follow each other");
}

// `count` reads with these numbers of bases and scalings that count upwards.
TestBatch reads(std::size_t count, std::size_t bases, std::size_t number = 0, const std::vector<std::int64_t>& failed = {}) {
  std::vector<std::string> ids;
  std::vector<float> shift;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back("r" + std::to_string(number + i));
    shift.push_back(static_cast<float>(number + i));
  }
  const Read read = dna();
  const auto repeat = [count](const Integers& list) { return std::vector<Integers>(count, list); };
  BatchBuilder builder("read", static_cast<std::int64_t>(count));
  builder.text("read_id", ids)
      .text("bases", std::vector<std::string>(count, std::string(bases, 'A')))
      .column("sample_count", std::vector<std::int64_t>(count, 30))
      .list("event_start", repeat(read.start))
      .list("event_length", repeat(read.length))
      .list("first_event", repeat(read.first))
      .list("last_event", repeat(read.last))
      .column("shift", shift)
      .column("scale", std::vector<float>(count, 1.0F));
  for (const std::int64_t row : failed) builder.failed(row);
  return builder.build();
}

std::vector<std::string> shifts_of(const std::string& paf) {
  std::vector<std::string> shifts;
  for (std::size_t at = paf.find("sh:f:"); at != std::string::npos; at = paf.find("sh:f:", at + 1))
    shifts.push_back(paf.substr(at + 5, paf.find('.', at) - at - 5));
  return shifts;
}

TEST_CASE("failed reads have no lines, and a run without reads gives the header") {
  const Result result = run_stage<ResquiggleWriter>(reads(2, 10, 0, {0})).with({{"output", "-"}}).run();
  CHECK(result.files.at("-") ==
        "read_id\tkmer_idx\tstart_raw_idx\tend_raw_idx\nr1\t0\t4\t10\nr1\t1\t.\t.\nr1\t2\t10\t20\nr1\t3\t20\t25\nr1\t4\t.\t.\n");
  CHECK(result.outcomes.at("written") == std::pair<std::uint64_t, std::uint64_t>{1, 2});
  CHECK(run_stage<ResquiggleWriter>(reads(0, 0)).with({{"output", "x.tsv"}}).run().files.at("x.tsv") == table_header());
  CHECK(run_stage<ResquiggleWriter>(reads(0, 0)).with({{"output", "x.paf"}, {"format", "paf"}}).run().files.at("x.paf").empty());
}

TEST_CASE("each read has its own scaling, or with compat that of the first read of f5c's batch") {
  std::vector<TestBatch> batches;
  std::size_t number = 0;
  for (const std::size_t count : {300, 400, 1, 330}) {
    batches.push_back(reads(count, 10, number, number == 0 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{}));
    number += count;
  }
  const auto shifts = [&](const char* compat) {
    return shifts_of(
        run_stage<ResquiggleWriter>(batches).with({{"output", "-"}, {"format", "paf"}, {"compat", compat}}).threads(2).run().files.at("-"));
  };
  const std::vector<std::string> own = shifts("none"), shared = shifts("f5c");
  REQUIRE(own.size() == 1029);
  REQUIRE(shared.size() == 1029);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t read = i + 2;
    CHECK(own[i] == std::to_string(read));
    CHECK(shared[i] == std::to_string(read < 512 ? 2 : read < 1024 ? 512 : 1024));
  }
  // 5 Mbases end a batch, too.
  const std::string paf =
      run_stage<ResquiggleWriter>(reads(7, 2'000'000)).with({{"output", "-"}, {"format", "paf"}, {"compat", "f5c"}}).run().files.at("-");
  CHECK(shifts_of(paf) == std::vector<std::string>{"0", "0", "0", "3", "3", "3", "6"});
}

TEST_CASE("a name that ends with .gz makes BGZF") {
  const std::string gz = run_stage<ResquiggleWriter>(reads(3, 10)).with({{"output", "x.tsv.gz"}}).run().files.at("x.tsv.gz");
  CHECK(gz.starts_with("\x1f\x8b"));
  CHECK(gz.ends_with(std::string_view(sluice::hts::BgzfBlock::end.data(), sluice::hts::BgzfBlock::end.size())));
}

// A read of 70 k-mers of length 3: k-mer i has the samples [10 i, 10 i + 10), of value i, or with `backwards` the other way round.
struct LongRead {
  Integers start, length, first;
  std::vector<std::int16_t> samples;
  std::string bases;
  explicit LongRead(bool backwards) {
    constexpr std::int32_t kmers = 70;
    for (std::int32_t kmer = 0; kmer < kmers; ++kmer) {
      start.push_back(10 * (backwards ? kmers - 1 - kmer : kmer));
      length.push_back(10);
      first.push_back(kmer);
      samples.insert(samples.end(), 10, static_cast<std::int16_t>(backwards ? kmers - 1 - kmer : kmer));
    }
    for (std::int32_t base = 0; base < kmers + 2; ++base) bases += "ACGT"[base % 4];
  }
  AlignedEvents view() const { return {start, length, first, first, 100}; }
};

TEST_CASE("the squiggle of a read: k-mers from its middle, as high as their samples") {
  for (const bool backwards : {false, true}) {
    CAPTURE(backwards);
    const LongRead read(backwards);
    const CalibratedSignal signal{read.samples, 5, 200, 100};
    const auto squiggle = squiggle_of("r", read.bases, read.view(), signal, 4, 30);
    REQUIRE(squiggle.has_value());
    REQUIRE(squiggle->events.size() == 4);
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t kmer = 33 + i, place = backwards ? 69 - kmer : kmer;
      const auto& event = squiggle->events[static_cast<std::size_t>(i)];
      CHECK(event.begin == 100 + 10 * place);
      CHECK(event.end == 110 + 10 * place);
      CHECK(event.level == (kmer + 5) * 2 * 10);
      CHECK(event.label == "k-mer " + std::to_string(kmer) + " " + read.bases.substr(static_cast<std::size_t>(kmer), 3));
    }
    CHECK(squiggle->first == 430);
    CHECK(squiggle->step == 2);
    CHECK(squiggle->samples.size() == 20);
    CHECK(squiggle->samples.front() == (backwards ? 36 + 5 : 33 + 5) * 20);
    CHECK_FALSE(squiggle_of("r", read.bases, read.view(), signal, 71).has_value());
    const CalibratedSignal cut{std::span(read.samples).first(300), 5, 200, 100};
    CHECK_FALSE(squiggle_of("r", read.bases, read.view(), cut, 4).has_value());
  }
}

TEST_CASE("the report shows three reads that have their signal") {
  const LongRead read(false);
  const auto batch = [&](std::int64_t count, bool has_signal) {
    const auto n = static_cast<std::size_t>(count);
    BatchBuilder builder("read", count);
    builder.text("read_id", std::vector<std::string>(n, "r"))
        .text("bases", std::vector<std::string>(n, read.bases))
        .column("sample_count", std::vector<std::int64_t>(n, 700))
        .list("event_start", std::vector<Integers>(n, read.start))
        .list("event_length", std::vector<Integers>(n, read.length))
        .list("first_event", std::vector<Integers>(n, read.first))
        .list("last_event", std::vector<Integers>(n, read.first))
        .column("shift", std::vector<float>(n, 0))
        .column("scale", std::vector<float>(n, 1));
    if (has_signal)
      builder.list("raw_signal", std::vector(n, read.samples))
          .column("digitisation", std::vector<double>(n, 1))
          .column("range", std::vector<double>(n, 1))
          .column("offset", std::vector<double>(n, 0));
    return builder.build();
  };
  const auto shown = [](const Result& result) {
    return std::count_if(result.counters.begin(), result.counters.end(), [](const auto& counter) {
      return counter.first.starts_with(
                 "\x1F"
                 "03\x1F"
                 "0000") &&
             counter.second == 1;
    });
  };
  CHECK(shown(run_stage<ResquiggleWriter>(std::vector{batch(2, true), batch(3, true)}).with({{"output", "-"}}).run()) == 3);
  CHECK(shown(run_stage<ResquiggleWriter>(batch(2, false)).with({{"output", "-"}}).run()) == 0);
}

TEST_CASE("a read whose lists do not fit ends the run with its name") {
  const TestBatch broken = BatchBuilder("read", 1)
                               .text("read_id", {"odd"})
                               .text("bases", {"ACGTA"})
                               .column<std::int64_t>("sample_count", {30})
                               .list<std::int32_t>("event_start", {{0, 5}})
                               .list<std::int32_t>("event_length", {{5}})
                               .list<std::int32_t>("first_event", {{0}})
                               .list<std::int32_t>("last_event", {{0}})
                               .column<float>("shift", {0})
                               .column<float>("scale", {1})
                               .build();
  const Result result = run_stage<ResquiggleWriter>(broken).with({{"output", "-"}}).run();
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(result.message == "read 'odd': its lists of events differ in length");
}

TEST_CASE("the stage keeps the stage contract") {
  CHECK(sluice::testing::contract_problems<ResquiggleWriter>({.parameters = {{"output", "-"}}, .resources = {}, .batches = {reads(3, 10)}}) ==
        std::vector<std::string>{});
}

TEST_CASE("paths go on behind an interruption") {
  const auto run = sluice::testing::run_stage<ResquiggleWriter>(std::vector{reads(3, 10), reads(2, 10)});
  CHECK(sluice::testing::resume_problems(run, {"a.tsv", "a.tsv.gz", "a.tsv.zst", "a.arrow", "a.parquet"}) == std::vector<std::string>{});
  CHECK(sluice::testing::resume_problems(sluice::testing::StageRun(run).with({{"format", "paf"}}), {"a.paf", "a.arrow", "a.parquet"}) ==
        std::vector<std::string>{});
  // The scaling of a batch of f5c's is that of its first read, which another run may have written.
  const auto shared = sluice::testing::run_stage<ResquiggleWriter>(std::vector{reads(3, 10), reads(300, 10), reads(300, 10)})
                          .with({{"format", "paf"}, {"compat", "f5c"}});
  CHECK(sluice::testing::resume_problems(shared, {"a.paf", "a.paf.gz"}) == std::vector<std::string>{});
  const auto part = sluice::testing::StageRun(shared).part(0, 2).with({{"output", "a.paf"}}).run();
  CHECK(part.status == SLUICE_ERROR_USAGE);
}

}  // namespace
