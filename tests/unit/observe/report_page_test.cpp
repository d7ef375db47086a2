// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The report as a page, and for MultiQC.
#include "observe/report_page.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "../config/example_stages.hpp"
#include "observe/file_digest.hpp"
#include "observe/multiqc.hpp"
#include "observe/output_figures.hpp"
#include "observe/page_text.hpp"
#include "observe/report_writer.hpp"
#include "observe/scheduling_words.hpp"
#include "plan/xml_text.hpp"

using namespace sluice;

namespace {

Plan page_plan() {
  Diagnostics diagnostics;
  const char* text = R"([pipeline]
name = "m"
[stages.read]
use = "reader"
params.path = "x"
[stages.events]
use = "lookup"
[stages.write]
use = "write_reads"
params.output = "y"
)";
  auto resolved = resolve_pipeline(parse_pipeline(text, "test.toml", diagnostics), {}, example::registry(), diagnostics);
  Plan plan = make_plan(std::move(resolved), "auto", {"cpu"}, diagnostics);
  REQUIRE(!diagnostics.has_errors());
  plan.pipeline.name = "m</script><b>";
  return plan;
}

// 10 of 100 rows fail.
RunResult page_result() {
  RunResult result;
  RunStatistics& s = result.statistics;
  s.elapsed_seconds = 4, s.cpu_seconds = 6, s.threads = 2;
  StageStatistics read, events, write;
  read.name = "read", read.role = "source", read.id = "reader", read.work_unit = "base", read.row_type = read.row_noun = "read", read.rows_out = 100;
  read.lengths.unit = "base", read.lengths.rows = 100, read.lengths.total = 100'000, read.lengths.maximum = 1000,
  read.lengths.p50 = read.lengths.n50 = 1000;
  read.lengths.classes = {{1000.0, 100}};
  read.implementations.push_back({"cpu", 3, 100, 4e6, 0.2});
  read.busy_seconds = 0.2, read.wait_seconds = 2;
  events.name = "events", events.role = "map", events.id = "lookup", events.row_type = "read", events.rows_in = 100, events.rows_out = 90;
  events.failed = {{"too_short", 10}}, events.busy_seconds = 5;
  write.name = "write", write.role = "sink", write.id = "write_reads", write.row_type = "read", write.rows_in = 100, write.rows_out = 90;
  s.stages = {read, events, write};
  return result;
}

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"run\">";
  const std::size_t from = page.find(begin) + begin.size();
  REQUIRE(from >= begin.size());
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("names in a page are shown, not obeyed") {
  RunResult result = page_result();
  result.statistics.stages[1].examples.push_back({"</script><script>alert(1)</script> \xff <!-- \"'&", "too_short"});
  const std::string page = report_page(result, page_plan(), example::registry(), {"1.0", {"sluice", "run", "it's <here>"}, 0, {}}, RunHistory{});
  CHECK(occurrences(page, "</script>") == 3);  // the library, the data and what draws
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(page.find("<title>m&lt;/script&gt;&lt;b&gt;: finished</title>") != std::string::npos);
  CHECK(page.find("http-equiv=\"Content-Security-Policy\"") != std::string::npos);
  const auto data = data_of(page);
  CHECK(data["report"]["stages"][1]["examples"][0]["row"] == "</script><script>alert(1)</script> \xEF\xBF\xBD <!-- \"'&");
  CHECK(data["command_line"] == "sluice run 'it'\\''s <here>'");
  CHECK(data["report"]["account"][0]["losses"][0]["meaning"] == "fewer than ten bases");
}

TEST_CASE("a page stays small, whatever a run has to say") {
  RunResult result = page_result();
  const std::string long_name(5000, '<');
  for (int i = 0; i < 400; ++i) {
    result.statistics.stages[1].failed[long_name + std::to_string(i)] = 1;
    result.statistics.outputs.push_back(long_name + std::to_string(i));
    result.statistics.decisions.push_back(long_name);
    result.statistics.parameters[long_name + std::to_string(i)] = long_name;
    if (i < 20) result.statistics.stages[1].examples.push_back({long_name, long_name});
  }
  ReportContext context{"1.0", {}, 0, {}};
  for (int i = 0; i < 5000; ++i) {
    context.command_line.push_back(long_name);
    context.files.push_back({FileUse::reads, long_name, long_name, 1, "0123456789abcdef", true});
  }
  RunHistory history;
  for (int i = 0; i < 255; ++i) history.samples.push_back(sample_of(result.statistics, 1));
  result.statistics.elapsed_seconds = 256;
  history.interval_seconds = 1;
  for (int i = 0; i < 300; ++i) history.tracks.push_back({"cpu", "stage " + std::to_string(i), std::vector<double>(most_points, 0.123456789)});
  const std::string page = report_page(result, page_plan(), example::registry(), context, history);
  CHECK(page.size() < largest_page);
  const auto data = data_of(page);
  CHECK(data.contains("left_out"));
  CHECK(data["history"]["tracks"]["list"].size() == 40);
  CHECK(data["history"]["seconds"].size() <= 129);
}

TEST_CASE("a series of samples is as long as it may be, and covers the run") {
  SampleSeries series;
  for (int i = 0; i < 100'000; ++i) {
    HistorySample sample;
    sample.seconds = i;
    series.add(sample);
  }
  CHECK(series.interval() > 1);
  const auto samples = series.take();
  CHECK(samples.size() < most_points);
  CHECK(samples.size() >= most_points / 2);
  CHECK(samples.front().seconds == 0);
  CHECK(samples.back().seconds > 99'000);
}

TEST_CASE("calls are spread over the intervals that they lasted, and none is lost when these grow") {
  ActivityListener listener;
  listener.happened({"events", "cpu", 0, 0, 5e3, 0, 1, "", 0});         // half of the first interval of 10 ms
  listener.happened({"events", "cpu", 1, 5e3, 10e3, 0, 1, "", 0});      // over the border of two
  listener.happened({"copy", "cuda:0", 1, 5e3, 10e3, 0, 1, "", 4096});  // is in its call
  RunHistory history;
  listener.give(history);
  REQUIRE(history.tracks.size() == 1);
  REQUIRE(history.tracks[0].busy_seconds.size() == 2);
  CHECK(history.tracks[0].busy_seconds[0] == doctest::Approx(0.01));
  CHECK(history.tracks[0].busy_seconds[1] == doctest::Approx(0.005));
  listener.happened({"write", "writer", 0, 3.6e9, 1e6, 0, 1, "", 0});  // an hour later
  listener.give(history);
  REQUIRE(history.tracks.size() == 2);
  CHECK(history.tracks[1].busy_seconds.size() <= most_points);
  CHECK(history.interval_seconds * static_cast<double>(most_points) > 3601);
  for (const ActivityTrack& track : history.tracks) {
    double sum = 0;
    for (const double seconds : track.busy_seconds) sum += seconds;
    CHECK(sum == doctest::Approx(track.stage == "events" ? 0.015 : 1));
  }
}

TEST_CASE("a run is looked at while it lasts") {
  std::atomic<int> asked{0};
  RunSampler sampler([&] {
    RunStatistics s;
    s.elapsed_seconds = ++asked;
    s.cpu_seconds = 7;
    return s;
  });
  while (asked < 3) std::this_thread::yield();
  const auto samples = sampler.stop();
  REQUIRE(samples.size() >= 2);
  CHECK(samples[1].seconds == 2);
  CHECK(samples[0].cpu_seconds == 7);
  CHECK(samples[0].resident_bytes > 1 << 20);
}

TEST_CASE("what devices held is in the page and in the JSON, at each moment") {
  RunHistory history;
  for (const std::uint64_t held : {0, 3 << 20, 7 << 20, 1 << 20}) {
    RunStatistics s;
    s.elapsed_seconds = 1 + static_cast<double>(history.samples.size());
    if (!history.samples.empty()) s.devices.push_back({.name = "cuda:0", .memory_now = held});  // opened after the first look
    history.samples.push_back(sample_of(s, 1));
  }
  RunResult result = page_result();
  result.statistics.elapsed_seconds = 5;
  result.statistics.devices.push_back({.name = "cuda:0", .memory_peak = 7 << 20});
  const std::vector<double> expected = {0, 3 << 20, 7 << 20, 1 << 20, 0};
  const auto rounded = [](double bytes) { return doctest::Approx(bytes).epsilon(1e-3); };
  const ReportContext context{"1.0", {"sluice"}, 0, {}};
  const auto page = data_of(report_page(result, page_plan(), example::registry(), context, history));
  const auto file = std::filesystem::temp_directory_path() / ("sluice-report-" + std::to_string(::getpid()) + ".json");
  REQUIRE(write_report(file.string(), result, page_plan(), example::registry(), context, history).empty());
  const auto json = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  CHECK(json["history"] == page["history"]);
  CHECK(json["pipeline"] == page["report"]["pipeline"]);
  const auto series = json["history"]["devices"][0]["memory_bytes"];
  REQUIRE(series.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(series[i].get<double>() == rounded(expected[i]));
}

TEST_CASE("text from anywhere becomes text of a page") {
  CHECK(xml_text("a<b>&\"'\n") == "a&lt;b&gt;&amp;&quot;&#39;\n");
  CHECK(xml_text("\xff\x01 \xc3\xa9 \xed\xa0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD \xc3\xa9 \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(xml_text("\xe2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(json_for_script("{\"a\":\"</script>\"}") == "{\"a\":\"\\u003c/script>\"}");
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened("abcdefg", 6) == "abc...");
  CHECK(shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4) == "\xc3\xa9...");
}

TEST_CASE("what was read and written is known again by its checksum") {
  const auto folder = std::filesystem::temp_directory_path() / ("sluice_digest_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "f").string();
  const auto write = [&](const std::string& text) { std::ofstream(file, std::ios::binary) << text; };
  write("");
  CHECK(digest_of(file, FileUse::reads, "x").xxh3 == "2d06800538d394c2");  // XXH3 of nothing, as its specification has it
  std::string text(std::size_t{5} << 20, 'a');
  write(text);
  const FileDigest whole = digest_of(file, FileUse::reads, "x"), ends = digest_of(file, FileUse::reads, "x", 0);
  CHECK(whole.is_whole);
  CHECK(whole.bytes == text.size());
  CHECK_FALSE(ends.is_whole);
  CHECK(ends.xxh3 != whole.xxh3);
  text[text.size() / 2] = 'b';
  write(text);
  CHECK(digest_of(file, FileUse::reads, "x").xxh3 != whole.xxh3);
  CHECK(digest_of(file, FileUse::reads, "x", 0).xxh3 == ends.xxh3);  // which is why it is said what they are of
  text.back() = 'b';
  write(text);
  CHECK(digest_of(file, FileUse::reads, "x", 0).xxh3 != ends.xxh3);
  CHECK(digest_of((folder / "none").string(), FileUse::reads, "x").xxh3.empty());
  CHECK(digest_of(folder.string(), FileUse::reads, "x").xxh3.empty());
  CHECK(digest_of("/dev/zero", FileUse::reads, "x").xxh3.empty());
  std::filesystem::remove_all(folder);
}

TEST_CASE("figures are taken from outputs by their form") {
  const auto folder = std::filesystem::temp_directory_path() / ("sluice_figures_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto put = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  };
  std::string roc = "bases\tthreshold\trecall\tfalse_positive_rate\n";
  for (int bases : {100, 200})
    for (int i = 0; i <= 1000; ++i) roc += std::to_string(bases) + "\t0\t" + std::to_string(i / 1000.0) + "\t" + std::to_string(i / 2000.0) + "\n";
  const auto figures =
      figures_of({put("a.json", R"({"auc": 0.5, "reads": 3, "list": [1], "name": "x"})"), put("roc.tsv", roc), put("small.tsv", "a\tb\n1\t2\n"),
                  put("gap.tsv", "bases\trecall\tfalse_positive_rate\tnote\n100\t0\t0\t\n100\t0.5\t0.1\tx\n100\t1\t1\t\n"),
                  put("calls.tsv", "read\tscore\nr1\t2\n"), put("broken.json", "{"), put("empty.tsv", ""), (folder / "none.tsv").string()});
  REQUIRE(figures.size() == 4);
  CHECK(figures[0].values.size() == 3);
  CHECK(figures[0].values[0] == std::pair<std::string, std::string>("auc", "0.5"));
  REQUIRE(figures[1].roc.size() == 2);
  CHECK(figures[1].roc[1].name == "bases 200");
  CHECK(figures[1].roc[0].points.size() <= 201);
  CHECK(figures[1].roc[0].points.back() == std::pair(0.5, 1.0));
  CHECK(figures[2].rows.size() == 1);
  REQUIRE(figures[3].roc.size() == 1);  // the last cell of a line may be empty
  CHECK(figures[3].roc[0].points.size() == 3);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a report's name says who reads it") {
  CHECK(report_kind("run.json") == ReportKind::json);
  CHECK(report_kind("run") == ReportKind::json);
  CHECK(report_kind("/dev/stdout") == ReportKind::json);
  CHECK(report_kind("run.html") == ReportKind::page);
  CHECK(report_kind("sample_mqc.json") == ReportKind::multiqc);
  CHECK(report_kind("sample/") == ReportKind::multiqc_folder);
  CHECK(report_kind("/tmp") == ReportKind::multiqc_folder);
  CHECK(files_of_report("sample/").size() == 3);
  CHECK(files_of_report("run.html") == std::vector<std::string>{"run.html"});
}

TEST_CASE("MultiQC gets a run under its name, each reason by itself") {
  const auto fates = nlohmann::json::parse(multiqc_fates(page_result(), page_plan(), "sample"));
  CHECK(fates["plot_type"] == "bargraph");
  CHECK(fates["data"]["sample"] == nlohmann::json({{"Came out", 90}, {"events: too_short", 10}}));
  const auto general = nlohmann::json::parse(multiqc_general(page_result(), page_plan(), "sample"));
  CHECK(general["data"]["sample"]["sluice_read"] == 100);
  CHECK(general["data"]["sample"]["sluice_failed"] == 10);
  CHECK(general["data"]["sample"]["sluice_n50_base"] == 1000);
  const auto lengths = nlohmann::json::parse(multiqc_lengths(page_result(), "sample"));
  CHECK(lengths["data"]["sample"].size() == 1);
  RunResult without = page_result();
  without.statistics.stages[0].lengths = {};
  CHECK(multiqc_lengths(without, "sample").empty());
}

TEST_CASE("MultiQC calls rows what they are") {
  const auto reads = nlohmann::json::parse(multiqc_fates(page_result(), page_plan(), "sample"));
  CHECK(reads["id"] == "sluice_fates");
  CHECK(reads["section_name"] == "Fates of reads (sluice)");
  RunResult contigs = page_result();
  contigs.statistics.stages[0].row_noun = "contig";
  const auto fates = nlohmann::json::parse(multiqc_fates(contigs, page_plan(), "sample"));
  CHECK(fates["id"] == "sluice_fates_contig");
  CHECK(fates["pconfig"]["ylab"] == "Contigs");
  const std::string general = multiqc_general(contigs, page_plan(), "sample");
  CHECK(nlohmann::json::parse(general)["data"]["sample"]["sluice_contig"] == 100);
  CHECK(general.find("Contigs that went in") != std::string::npos);
  CHECK(general.find("eads") == std::string::npos);
  CHECK(multiqc_lengths(contigs, "sample").find("eads") == std::string::npos);
}

TEST_CASE("what waited for what, and what was decided, is said in words") {
  const Plan plan = page_plan();
  RunStatistics s = page_result().statistics;
  CHECK(scheduling_sentences(plan, s) ==
        std::vector<std::string>{"There was nothing to choose: no device took part, and every stage ran on the CPU."});
  const auto waits = waiting_of(plan, s);
  REQUIRE(waits.size() >= 2);
  CHECK(waits[0].busy == doctest::Approx(0.75));
  CHECK(waits[1].who == "read (reading)");
  CHECK(waits[1].waited == doctest::Approx(0.5));
  LaneStatistics lane;
  lane.name = "cuda:0", lane.kind = "cuda", lane.calls = 3, lane.retired = true, lane.retired_because = "it is gone";
  s.scheduler.lanes = {lane};
  s.scheduler.stages.resize(3);
  s.scheduler.stages[1] = {9, 4};
  PlacementStatistics placement;
  placement.stage = 1, placement.lane = "cuda:0", placement.work = 10, placement.whole_batches = 1, placement.constant = 2e-3;
  s.scheduler.placements = {placement};
  const auto sentences = scheduling_sentences(plan, s);
  REQUIRE(sentences.size() == 2);
  CHECK(sentences[0] == "Device cuda:0: used from 0.00 s on, 3 calls; given up: it is gone.");
  CHECK(sentences[1] == "Stage 'events', 9 batches, 4 of them divided: cuda:0 did 100.0 % of the work (1 whole batch), where a call takes 2 ms.");
}
