// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Reads from a position on, and parts of files of reads: what comes together must be the whole, for any number of parts.
#include <doctest/doctest.h>

#include <filesystem>
#include <sluice/input_turns.hpp>
#include <sluice/stage.hpp>
#include <sluice/testing.hpp>

#include "read_bases/read_file.hpp"
#include "read_bases/record_search.hpp"
#include "unit/files/written_files.hpp"

#undef SLUICE_PLUGIN
#define SLUICE_PLUGIN(...) static_assert(true)
#include "read_bases/stage.cpp"  // the stage classes have no header of their own

using namespace sluice;
using namespace sluice::read_bases;
using namespace sluice::testing;
using sluice::written_files::Packing;

namespace {

constexpr const char* test_endings = ".fastq .fasta .bam .sam .gz";

// read_reader with other rules for what is looked through, so that small files are.
class SearchedReads {
 public:
  struct Parameters : FollowParameters {
    Path path;
    int exact_below = 0;
    int look_back = 64;
  };
  enum class Reason : std::uint32_t { not_primary, empty_sequence, incomplete_file };
  static void describe(Describe<SearchedReads>& d) {
    d.id("searched_reads").summary("reads").source("read").positions().parts().work_unit("base");
    d.option("path", &Parameters::path, "files").reads().several(test_endings);
    d.option("exact_below", &Parameters::exact_below, "bytes");
    d.option("look_back", &Parameters::look_back, "bytes");
    describe_follow(d);
    d.gives("read_id", "utf8", "name").gives("bases", "utf8", "bases").gives("qualities", "utf8", "qualities");
    d.reason("not_primary", "no").reason("empty_sequence", "no").reason("incomplete_file", "no");
  }
  SearchedReads(const Setup& setup, const Parameters& p) {
    hts::silence();
    ReadFileWishes wishes;
    wishes.not_primary = static_cast<std::uint32_t>(Reason::not_primary);
    wishes.empty_sequence = static_cast<std::uint32_t>(Reason::empty_sequence);
    wishes.threads = setup.threads();
    wishes.sharing = &sharing_;
    wishes.text_rules = {static_cast<std::uint64_t>(p.exact_below), static_cast<std::uint64_t>(p.look_back), 4};
    wishes.record_rules = {static_cast<std::uint64_t>(p.exact_below), static_cast<std::uint64_t>(p.look_back), 4};
    turns_.emplace(setup, p.path, test_endings, p, static_cast<std::uint32_t>(Reason::incomplete_file),
                   [wishes](const InputTurns::File& file) { return open_read_file(file, wishes); });
  }
  bool process(const Call& call, Output& out) { return turns_->process(call, out); }
  std::string position() { return turns_->position(); }

 private:
  WorkSharing sharing_;
  std::optional<InputTurns> turns_;
};

constexpr std::size_t small_blocks = 3000;  // of BGZF: a test's files have many
void write_in_blocks(const std::string& path, const std::string& text, Packing packing) {
  written_files::write_packed(path, text, packing, small_blocks);
}

std::string sequence(std::size_t length, std::size_t number) { return written_files::made_sequence(length, number, "ACGTNacg"); }

// Qualities that look like other lines.
std::string hostile_qualities(std::size_t length, std::size_t number) {
  std::string text;
  const std::string beginnings[] = {"@r" + std::to_string(number), "+", "@", "ACGT", ">x", "IIII", "++@@", "@ACGT+"};
  for (std::size_t i = number; text.size() < length; ++i) text += beginnings[i % 8];
  return text.substr(0, length);
}

struct Shape {
  std::size_t reads = 150, width = 0, longest = 700;  // width 0: a line each
  std::string line_end = "\n";
  bool hostile = true, last_newline = true, plus_names = false;
};

std::string lines_of(const std::string& letters, const Shape& shape) {
  if (shape.width == 0) return letters + shape.line_end;
  std::string text;
  for (std::size_t at = 0; at < letters.size(); at += shape.width) text += letters.substr(at, shape.width) + shape.line_end;
  return text;
}

std::string fastq(const Shape& shape) {
  std::string text;
  for (std::size_t i = 0; i < shape.reads; ++i) {
    const std::size_t length = 1 + i * 977 % shape.longest;
    const std::string qualities = shape.hostile ? hostile_qualities(length, i) : std::string(length, 'I');
    const std::string name = "r" + std::to_string(i) + (i % 3 == 0 ? " a comment" : "");
    text += "@" + name + shape.line_end + lines_of(sequence(length, i), shape) + "+" + (shape.plus_names ? name : "") + shape.line_end +
            lines_of(qualities, shape);
  }
  if (!shape.last_newline) text.resize(text.size() - shape.line_end.size());
  return text;
}

std::string fasta(const Shape& shape) {
  std::string text;
  for (std::size_t i = 0; i < shape.reads; ++i)
    text += ">r" + std::to_string(i) + shape.line_end + lines_of(sequence(1 + i * 977 % shape.longest, i), shape);
  if (!shape.last_newline) text.resize(text.size() - shape.line_end.size());
  return text;
}

using Texts = std::vector<std::string>;

// The shipped stage, and the one that looks through small files, with small and large batches.
Texts problems_with(const std::string& path) {
  Texts problems;
  const StageUnderTest shipped = stage_of<ReadReader>(), searched = stage_of<SearchedReads>();
  const auto check = [&](const StageUnderTest& stage, const ParameterTexts& parameters, double work, int threads, const SourceChecks& checks) {
    const auto prepare = [&](const StageUnderTest& source) {
      StageRun run(source, {});
      run.with(parameters).target_work(work).threads(threads);
      return run;
    };
    for (const std::string& text : source_problems(stage, prepare, checks)) problems.push_back(std::string(stage.descriptor->id) + ": " + text);
  };
  check(shipped, {{"path", path}}, 500, 1, {});
  check(searched, {{"path", path}}, 2000, 2, {{1, 2, 3, 7, 50, 211}, 12});
  check(searched, {{"path", path}, {"look_back", 1000}, {"exact_below", 500}}, 1e6, 1, {{2, 5, 23}, 3});
  return problems;
}

Result part_of(const std::string& path, std::uint64_t part, std::uint64_t parts) {
  return run_stage(in_part(stage_of<SearchedReads>(), part, parts)).with({{"path", path}}).run();
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Records of many lengths, some secondary, some without bases.
void write_records(const std::string& path, const char* mode, int records, std::size_t longest) {
  std::vector<written_files::MadeRecord> list;
  for (int i = 0; i < records; ++i) {
    const std::size_t length = i % 9 == 3 ? 0 : 1 + static_cast<std::size_t>(i) * 977 % longest;
    list.push_back({.name = "r" + std::to_string(i),
                    .bases = sequence(length, static_cast<std::size_t>(i)),
                    .qualities = std::string(length, static_cast<char>(i % 60)),
                    .flag = static_cast<std::uint16_t>(BAM_FUNMAP | (i % 11 == 5 ? BAM_FSECONDARY : 0)),
                    .text_tag = "hello"});
  }
  written_files::write_records(path, mode, "@HD\tVN:1.6\n@SQ\tSN:one\tLN:100000000\n", list);
}

}  // namespace

TEST_CASE("FASTQ in parts and from each position is the whole: plain and BGZF, with qualities that look like headers") {
  const TemporaryFolder folder;
  Shape windows, unended, named, single, long_reads, simple;
  windows.line_end = "\r\n";
  unended.last_newline = false;
  named.plus_names = true;
  single.reads = 1, single.longest = 20;
  long_reads.reads = 12, long_reads.longest = 30'000;
  simple.hostile = false;
  for (const Shape& shape : {Shape{}, windows, unended, named, single, long_reads, simple})
    for (const Packing packing : {Packing::plain, Packing::bgzf}) {
      const std::string path = folder.path() + "/reads.fastq.gz";
      write_in_blocks(path, fastq(shape), packing);
      CHECK(problems_with(path) == Texts{});
    }
}

TEST_CASE("FASTQ of several lines a section is read from its beginning, and comes out whole") {
  const TemporaryFolder folder;
  for (const std::size_t width : {7, 60, 400})
    for (const Packing packing : {Packing::plain, Packing::bgzf}) {
      Shape shape;
      shape.width = width;
      const std::string path = folder.path() + "/reads.fastq.gz";
      write_in_blocks(path, fastq(shape) + "\n\n", packing);
      for (const std::uint64_t exact : {1, 1'000'000}) {
        const auto prepare = [&](const StageUnderTest& source) {
          StageRun run(source, {});
          return run.with({{"path", path}, {"exact_below", exact}}).target_work(3000), run;
        };
        // What is cut wrongly must at least be said.
        for (const std::string& text : source_problems(stage_of<SearchedReads>(), prepare)) CHECK(says(text, "can't be cut"));
        if (exact > 1) CHECK(source_problems(stage_of<SearchedReads>(), prepare) == Texts{});
      }
    }
}

TEST_CASE("what looks like four-line records inside of one is found out, and never given") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fastq";
  // The qualities of a read of many lines are records themselves.
  std::string inner, bases;
  for (int i = 0; i < 200; ++i) inner += "@x" + std::to_string(i + 100) + "\nACGT\n+\nIIII\n";
  for (const char c : inner) bases += c == '\n' ? '\n' : 'A';
  write_in_blocks(path, "@big\n" + bases + "+\n" + inner + fastq({}), Packing::plain);
  const Result whole = run_stage<SearchedReads>().with({{"path", path}}).run();
  REQUIRE(whole.rows() == 151);
  for (const std::uint64_t parts : {2, 3, 7, 50}) {
    bool refused = false;
    Texts rows;
    for (std::uint64_t part = 0; part < parts; ++part) {
      const Result result = part_of(path, part, parts);
      if (!result.ok()) CHECK(says(result.message, "can't be cut"));
      refused = refused || !result.ok();
      for (const std::string& row : row_texts(result)) rows.push_back(row);
    }
    CHECK((refused || rows == row_texts(whole)));
  }
}

TEST_CASE("FASTA in parts and from each position is the whole") {
  const TemporaryFolder folder;
  Shape wrapped, windows, unended, few;
  wrapped.width = 60;
  windows.width = 50, windows.line_end = "\r\n";
  unended.last_newline = false;
  few.reads = 3, few.longest = 40'000, few.width = 70;
  for (const Shape& shape : {Shape{}, wrapped, windows, unended, few})
    for (const Packing packing : {Packing::plain, Packing::bgzf}) {
      const std::string path = folder.path() + "/reads.fasta.gz";
      write_in_blocks(path, fasta(shape), packing);
      CHECK(problems_with(path) == Texts{});
    }
}

TEST_CASE("BAM and SAM in parts and from each position are the whole") {
  const TemporaryFolder folder;
  for (const int records : {0, 1, 200}) {
    write_records(folder.path() + "/reads.bam", "wb", records, 3000);
    CHECK(problems_with(folder.path() + "/reads.bam") == Texts{});
    write_records(folder.path() + "/reads.sam", "w", records, 900);
    CHECK(problems_with(folder.path() + "/reads.sam") == Texts{});
  }
  write_records(folder.path() + "/long.bam", "wb", 40, 200'000);
  CHECK(problems_with(folder.path() + "/long.bam") == Texts{});
}

TEST_CASE("several files are cut as if they were one; a compressed one without blocks belongs to one part") {
  const TemporaryFolder folder;
  Shape small;
  small.reads = 20;
  write_in_blocks(folder.path() + "/a.fastq", fastq({}), Packing::plain);
  write_in_blocks(folder.path() + "/b.fastq.gz", fastq(small), Packing::gzip);
  write_in_blocks(folder.path() + "/c.fastq.gz", fastq(small), Packing::bgzf);
  small.reads = 1;
  write_in_blocks(folder.path() + "/d.fastq", fastq(small), Packing::plain);
  CHECK(problems_with(folder.path()) == Texts{});
}

TEST_CASE("a single file without places to begin at is not cut, but begun at any position") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fastq.gz";
  write_in_blocks(path, fastq({}), Packing::gzip);
  const Result result = part_of(path, 0, 2);
  CHECK(result.status == SLUICE_ERROR_USAGE);
  CHECK(says(result.message, "can't be read in parts"));
  CHECK(says(result.remedy, "bgzip"));
  CHECK(problems_with(path) == Texts{});
}

TEST_CASE("standard input and files that are followed have no parts, and only the latter positions") {
  for (const ParameterTexts& parameters : {ParameterTexts{{"path", "-"}}, ParameterTexts{{"path", "/tmp"}, {"follow", true}}}) {
    CHECK(run_stage(in_part(stage_of<SearchedReads>(), 0, 2)).with(parameters).run().status == SLUICE_ERROR_USAGE);
    CHECK(run_stage(beginning_at(stage_of<SearchedReads>(), "0:0:0:0:0:0:0")).with(parameters).run().status == SLUICE_ERROR_USAGE);
  }
  std::vector<SaidPosition> said;
  run_stage(asked_for_positions(stage_of<SearchedReads>(), &said)).with({{"path", "/tmp"}, {"follow", true}}).at_most_calls(0).run();
  REQUIRE(said.size() == 1);
  CHECK(said[0].text != no_position);
}

TEST_CASE("a position that is none is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fastq";
  write_in_blocks(path, fastq({}), Packing::plain);
  for (const char* position : {no_position, "x", "0", "0:", "2:0", "0:1:2", "0:0:0:0:0:0:x", "-1", "1:0:0:0:0:0:2"}) {
    const Result result = run_stage(beginning_at(stage_of<SearchedReads>(), position)).with({{"path", path}}).run();
    CHECK_MESSAGE(result.status == SLUICE_ERROR_USAGE, position);
  }
}

TEST_CASE("a damaged file is an error in the part that holds the damage, with its place") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fastq";
  const std::string text = fastq({});
  // Cut in the last record; a record in the middle that lacks qualities.
  write_in_blocks(path, text.substr(0, text.size() - 20), Packing::plain);
  for (const std::uint64_t parts : {1, 2, 7}) {
    for (std::uint64_t part = 0; part + 1 < parts; ++part) CHECK(part_of(path, part, parts).ok());
    const Result last = part_of(path, parts - 1, parts);
    CHECK(last.status == SLUICE_ERROR_INPUT);
    CHECK(says(last.message, "line"));
  }
  const std::size_t middle = text.find("\n+\n", text.size() / 2);
  write_in_blocks(path, text.substr(0, middle + 3) + text.substr(middle + 13), Packing::plain);
  for (const std::uint64_t parts : {1, 2, 3, 7}) {
    int failed = 0;
    for (std::uint64_t part = 0; part < parts; ++part) failed += part_of(path, part, parts).ok() ? 0 : 1;
    CHECK(failed > 0);
    CHECK(part_of(path, 0, 7).ok());
  }
  // Without its mark at the end.
  write_in_blocks(path, text, Packing::bgzf);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 28);
  CHECK(part_of(path, 0, 3).ok());
  CHECK(part_of(path, 1, 3).ok());
  CHECK(says(part_of(path, 2, 3).message, "end-of-file block"));
}

TEST_CASE("an empty file has no reads in any part") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fastq";
  write_in_blocks(path, "", Packing::plain);
  for (std::uint64_t part = 0; part < 3; ++part) {
    const Result result = part_of(path, part, 3);
    CHECK(result.ok());
    CHECK(result.rows() == 0);
  }
}

TEST_CASE("ranges of parts tile the bytes of all files") {
  for (const std::vector<std::uint64_t>& sizes :
       std::vector<std::vector<std::uint64_t>>{{}, {0}, {1}, {10, 0, 3}, {0, 0, 5, 0}, {1'000'000'000'000'000'000ULL, 7}}) {
    for (const std::uint64_t parts : {1, 2, 3, 7, 50}) {
      for (std::size_t file = 0; file < sizes.size(); ++file) {
        std::uint64_t next = 0;
        int holders = 0;
        for (std::uint64_t part = 0; part < parts; ++part) {
          const std::optional<ByteRange> range = InputPart(sizes, part, parts).of(file);
          if (!range) continue;
          ++holders;
          CHECK(range->begin == next);
          next = range->end;
        }
        CHECK(holders > 0);
        CHECK(next == ByteRange::no_end);
        if (sizes[file] == 0) CHECK(holders == 1);
      }
    }
  }
}
