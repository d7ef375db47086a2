// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Tables whose names end with .gz and .zst: the text in them, and the index beside them.
#include <doctest/doctest.h>
#include <htslib/tbx.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/testing.hpp>
#include <sluice/testing/temporary_folder.hpp>

using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;
using sluice::testing::TestBatch;

namespace {

// Writes lines as they come.
class LineSink {
 public:
  struct Parameters {
    sluice::Path output;
    bool paf = false;
  };
  static void describe(sluice::Describe<LineSink>& d) {
    d.id("line_sink").summary("writes lines").sink("line").work_unit("row");
    d.needs("line", "utf8", "a line with its end");
    d.option("output", &Parameters::output, "the file").required().writes();
    d.option("paf", &Parameters::paf, "lines are PAF, not BED");
  }
  LineSink(const sluice::Setup& setup, const Parameters& p)
      : file_(setup, p.output, {}, p.paf ? sluice::hts::paf_target_columns : sluice::hts::bed_columns) {}
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    std::vector<std::string_view> lines;
    for (std::int64_t row = 0; row < in.rows(); ++row) lines.push_back(in.text("line")[row]);
    out.text_rows("_line", lines);
  }
  void commit(const sluice::Call& call, const sluice::Batch& in) { file_.write_rows(call, in.text("_line")); }
  void finish(const sluice::Call& call, sluice::Output&) { file_.finish(call); }

 private:
  sluice::arrow::IndexedTable file_;
};

struct Line {
  std::string contig;
  std::int64_t begin, end;
  std::string text;
};
Line bed_line(const std::string& contig, std::int64_t begin, std::int64_t end, const std::string& rest) {
  return {contig, begin, end, contig + "\t" + std::to_string(begin) + "\t" + std::to_string(end) + "\t" + rest + "\n"};
}
Line paf_line(const std::string& contig, std::int64_t begin, std::int64_t end) {
  const std::string place = contig + "\t5000000\t" + std::to_string(begin) + "\t" + std::to_string(end);
  return {contig, begin, end, "read\t10\t0\t10\t+\t" + place + "\t5\t9\t60\n"};
}

// As a site caller writes them: sorted, of three contigs, some far apart, and a few that span much.
std::vector<Line> many_lines(std::size_t count, std::int64_t step) {
  std::vector<Line> lines;
  std::uint32_t state = 7;
  const auto random = [&state](std::uint32_t below) { return (state = state * 1664525U + 1013904223U) / 16 % below; };
  for (const char* contig : {"chr2", "chr10", "plasmid"}) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      at += random(static_cast<std::uint32_t>(step));
      const std::int64_t span = i % 997 == 5 ? 40'000 : 1 + random(3);
      lines.push_back(bed_line(contig, at, at + span, std::to_string(random(1000000)) + "\t" + std::to_string(i)));
    }
  }
  return lines;
}

Result written(const std::vector<Line>& lines, const std::string& name, std::size_t lines_at_once, int threads, bool paf = false) {
  std::vector<TestBatch> batches;
  for (std::size_t at = 0; at < lines.size() || at == 0; at += lines_at_once) {
    std::vector<std::string> texts;
    for (std::size_t i = at; i < std::min(lines.size(), at + lines_at_once); ++i) texts.push_back(lines[i].text);
    batches.push_back(BatchBuilder("line", static_cast<std::int64_t>(texts.size())).text("line", texts).sequence(batches.size()).build());
  }
  Result result = run_stage<LineSink>(std::move(batches)).with({{"output", name}, {"paf", paf}}).threads(threads).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result;
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) text += line.text;
  return text;
}

// The files of a run, in a folder.
std::string in_folder(const Result& result, const TemporaryFolder& folder, const std::string& name) {
  for (const auto& [path, bytes] : result.files) std::ofstream(folder.path() + "/" + path, std::ios::binary) << bytes;
  return folder.path() + "/" + name;
}

std::string found_by_index(const std::string& path, const std::string& contig, std::int64_t begin, std::int64_t end) {
  const sluice::hts::File file(hts_open(path.c_str(), "r"));
  const std::unique_ptr<tbx_t, void (*)(tbx_t*)> index(tbx_index_load(path.c_str()), tbx_destroy);
  REQUIRE(index);
  const int number = tbx_name2id(index.get(), contig.c_str());
  if (number < 0) return "";
  const sluice::hts::Iterator lines(tbx_itr_queryi(index.get(), number, begin, end));
  REQUIRE(lines);
  std::string text;
  sluice::hts::Line line;
  while (tbx_itr_next(file.get(), index.get(), lines.get(), &line) >= 0) text += std::string(line.s, line.l) + "\n";
  return text;
}
std::string found_by_looking(const std::vector<Line>& lines, const std::string& contig, std::int64_t begin, std::int64_t end) {
  std::string text;
  for (const Line& line : lines)
    if (line.contig == contig && line.begin < end && line.end > begin) text += line.text;
  return text;
}

std::string zstd_text(const std::string& file) {
  std::string text;
  std::size_t frames = 0;
  for (std::size_t at = 0; at < file.size(); ++frames) {
    const std::size_t bytes = ZSTD_findFrameCompressedSize(file.data() + at, file.size() - at);
    REQUIRE(ZSTD_isError(bytes) == 0);
    std::string frame(ZSTD_getFrameContentSize(file.data() + at, bytes), '\0');
    REQUIRE(ZSTD_decompress(frame.data(), frame.size(), file.data() + at, bytes) == frame.size());
    text += frame;
    at += bytes;
  }
  CHECK(frames == std::max<std::size_t>(1, (text.size() + sluice::hts::ZstdOutput::frame_text - 1) / sluice::hts::ZstdOutput::frame_text));
  return text;
}

}  // namespace

TEST_CASE("the index of a BED table finds what is found by looking at every line") {
  const std::vector<Line> lines = many_lines(60'000, 90);
  const TemporaryFolder folder;
  const Result result = written(lines, "x.bed.gz", 1000, 4);
  REQUIRE(result.files.size() == 2);
  REQUIRE(result.files.contains("x.bed.gz.tbi"));
  const std::string path = in_folder(result, folder, "x.bed.gz");
  const std::int64_t last = lines.back().end;
  for (const char* contig : {"chr2", "chr10", "plasmid", "chr3"})
    for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1},
                                                                                       {0, 300},
                                                                                       {16383, 16385},
                                                                                       {100'000, 100'050},
                                                                                       {last / 2, last / 2 + 20'000},
                                                                                       {last - 5, last + 5},
                                                                                       {last + 50'000, last + 60'000},
                                                                                       {0, last + 100'000}}) {
      const auto place = begin;  // a binding can't be captured
      CAPTURE(contig);
      CAPTURE(place);
      CHECK((found_by_index(path, contig, begin, end) == found_by_looking(lines, contig, begin, end)));
    }
  // The same bytes, however lines come and whoever compresses.
  const Result other = written(lines, "x.bed.gz", 37'777, 1), one = written(lines, "x.bed.gz", lines.size(), 3);
  CHECK((other.files == result.files));
  CHECK((one.files == result.files));
  // And those of tabix.
  std::filesystem::remove(path + ".tbi");
  REQUIRE(tbx_index_build(path.c_str(), 0, &tbx_conf_bed) == 0);
  std::ifstream made(path + ".tbi", std::ios::binary);
  const std::string tabix((std::istreambuf_iterator<char>(made)), {});
  CHECK((tabix == result.files.at("x.bed.gz.tbi")));
}

TEST_CASE("positions beyond 2^29 make a .csi index") {
  std::vector<Line> lines = many_lines(3000, 500'000);
  lines.push_back(bed_line("far", 4'000'000'000, 4'000'000'001, "x"));
  const TemporaryFolder folder;
  const Result result = written(lines, "x.bed.gz", 500, 2);
  CHECK_FALSE(result.files.contains("x.bed.gz.tbi"));
  REQUIRE(result.files.contains("x.bed.gz.csi"));
  const std::string path = in_folder(result, folder, "x.bed.gz");
  for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1'000'000}, {600'000'000, 610'000'000}, {0, 4'100'000'000}})
    CHECK((found_by_index(path, "chr10", begin, end) == found_by_looking(lines, "chr10", begin, end)));
  CHECK(found_by_index(path, "far", 3'999'999'999, 4'000'000'001) == lines.back().text);
  CHECK(written({bed_line("further", 5'000'000'000, 5'000'000'001, "x")}, "x.bed.gz", 1, 1).files.size() == 1);
}

TEST_CASE("what comes unsorted, and what is on no contig, has no index") {
  const Line a = bed_line("a", 5, 6, "x"), later = bed_line("a", 9, 10, "x"), b = bed_line("b", 1, 2, "x");
  CHECK(written({a, later, b}, "x.bed.gz", 1, 1).files.size() == 2);
  for (const std::vector<Line>& lines : {std::vector<Line>{later, a},
                                         {a, b, later},
                                         {},
                                         {a, {"", 0, 0, "*\t*\t*\n"}},
                                         {a, {"", 0, 0, "a\t7\n"}},
                                         {a, {"", 0, 0, "a\t7\t7\n"}},
                                         {a, {"", 0, 0, "\n"}}}) {
    const Result result = written(lines, "x.bed.gz", 1, 1);
    CHECK(result.files.size() == 1);
  }
  std::vector<Line> lines = many_lines(30'000, 90);
  std::swap(lines[70'000], lines[70'001]);  // most of it was pushed by then
  lines[70'000].text.swap(lines[70'001].text);
  lines.insert(lines.begin() + 85'000, lines[50]);
  CHECK(written(lines, "x.bed.gz", 1000, 2).files.size() == 1);
  for (const char* name : {"x.bed", "x.bed.zst", "-", "/dev/null"}) CHECK(written({a, b}, name, 1, 1).files.size() <= 1);
}

TEST_CASE("a first line that is longer than what is compressed at once") {
  const std::vector<Line> lines = {bed_line("a", 5, 6, std::string(5'000'000, 'x')), bed_line("a", 9, 10, std::string(5'000'000, 'y')),
                                   bed_line("b", 1, 2, "z")};
  const TemporaryFolder folder;
  const std::string path = in_folder(written(lines, "x.bed.gz", 1, 2), folder, "x.bed.gz");
  CHECK((found_by_index(path, "a", 0, 8) == lines[0].text));
  CHECK((found_by_index(path, "a", 9, 10) == lines[1].text));
  CHECK(found_by_index(path, "b", 0, 8) == lines[2].text);
}

TEST_CASE("PAF is indexed by its targets") {
  const std::vector<Line> lines = {paf_line("one", 100, 900), paf_line("one", 100, 200), paf_line("one", 700'000, 700'100), paf_line("two", 3, 40)};
  const TemporaryFolder folder;
  const std::string path = in_folder(written(lines, "x.paf.gz", 2, 1, true), folder, "x.paf.gz");
  CHECK(found_by_index(path, "one", 150, 151) == lines[0].text + lines[1].text);
  CHECK(found_by_index(path, "one", 300, 301) == lines[0].text);
  CHECK(found_by_index(path, "one", 700'099, 800'000) == lines[2].text);
  CHECK(found_by_index(path, "two", 0, 4) == lines[3].text);
}

TEST_CASE("a table in zstd has its text in frames that depend on the text alone") {
  const std::vector<Line> lines = many_lines(200'000, 90);
  const Result result = written(lines, "x.tsv.zst", 10'000, 4);
  REQUIRE(result.files.size() == 1);
  const std::string& file = result.files.at("x.tsv.zst");
  CHECK((zstd_text(file) == text_of(lines)));
  CHECK(file.size() < text_of(lines).size() / 2);
  CHECK((written(lines, "x.tsv.zst", 333'333, 1).files.at("x.tsv.zst") == file));
  CHECK((written(lines, "x.tsv.zst", lines.size(), 3).files.at("x.tsv.zst") == file));
  CHECK(zstd_text(written({}, "x.tsv.zst", 1, 1).files.at("x.tsv.zst")).empty());
  CHECK(zstd_text(written({lines[0]}, "x.tsv.zst", 1, 1).files.at("x.tsv.zst")) == lines[0].text);
}
