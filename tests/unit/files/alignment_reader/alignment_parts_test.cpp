// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Alignments from a position on, and parts of them: what comes together must be the whole, for any number of parts.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sluice/stage.hpp>
#include <sluice/testing.hpp>

#include "unit/files/written_files.hpp"

#undef SLUICE_PLUGIN
#define SLUICE_PLUGIN(...) static_assert(true)
#include "alignment_reader/stage.cpp"  // the stage classes have no header of their own

using namespace sluice::alignment_reader;
using namespace sluice::testing;

namespace {

using Texts = std::vector<std::string>;

// Sorted records of two contigs and none, of many lengths, some that the filters leave out; in blocks of a few records.
std::string write(const std::string& path, const char* mode, int records, int named_from = 0) {
  std::vector<sluice::written_files::MadeRecord> list;
  for (int i = 0; i < records; ++i) {
    const std::size_t length = 1 + static_cast<std::size_t>(i) * 977 % 3000;
    const int contig = i > records * 9 / 10 ? -1 : i > records / 2 ? 1 : 0;
    list.push_back(
        {.name = "r" + std::to_string(named_from + i),
         .bases = sluice::written_files::made_sequence(length, static_cast<std::size_t>(i), "ACGT"),
         .qualities = std::string(length, static_cast<char>(i % 60)),
         .flag = static_cast<std::uint16_t>((contig < 0 ? BAM_FUNMAP : 0) | (i % 11 == 5 ? BAM_FSECONDARY : 0) | (i % 2 == 0 ? BAM_FREVERSE : 0)),
         .contig = contig,
         .position = contig < 0 ? -1 : i * 100,
         .quality = static_cast<std::uint8_t>(i % 7 == 3 ? 5 : 60)});
  }
  return sluice::written_files::write_records(path, mode, "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:1000000\n@SQ\tSN:two\tLN:500000\n", list);
}

enum class Columns { all, needed };  // needed: no optional ones, the numbers of records among them

Texts problems_with(const StageUnderTest& stage, const ParameterTexts& parameters, Columns columns = Columns::all) {
  Texts problems;
  for (const double work : {1.0, 20'000.0, 1e9}) {
    const auto prepare = [&](const StageUnderTest& source) {
      StageRun run(source, {});
      run.with(parameters).target_work(work).threads(work > 1e6 ? 2 : 1);
      if (columns == Columns::needed) run.wanted({});
      return run;
    };
    for (const std::string& text : source_problems(stage, prepare, {{1, 2, 3, 7, 50}, 15})) problems.push_back(text);
  }
  return problems;
}
Texts alignment_problems(const ParameterTexts& parameters) {
  Texts problems = problems_with(stage_of<AlignmentReader>(), parameters);
  for (const std::string& text : problems_with(stage_of<AlignmentReader>(), parameters, Columns::needed))
    problems.push_back("without numbers: " + text);
  return problems;
}
Texts record_problems(const std::string& path) { return problems_with(stage_of<RecordReader>(), {{"path", path}}); }

std::string names(AlignmentFiles files) {
  std::string list;
  const ParallelFor here = [](std::size_t count, std::size_t, const auto& body) { body(0, count); };
  while (const AlignmentRecord* record = files.next(here, 1)) list += std::string(record->name) + " ";
  return list;
}

}  // namespace

TEST_CASE("BAM and SAM in parts and from each position are the whole, with the numbers of their records") {
  const TemporaryFolder folder;
  for (const int records : {0, 1, 150}) {
    const std::string bam = write(folder.path() + "/a" + std::to_string(records) + ".bam", "wb", records);
    CHECK(alignment_problems({{"path", bam}}) == Texts{});
    CHECK(alignment_problems({{"path", bam}, {"keep", "all"}}) == Texts{});
    CHECK(record_problems(bam) == Texts{});
    const std::string sam = write(folder.path() + "/a" + std::to_string(records) + ".sam", "w", records);
    for (const std::string& text : alignment_problems({{"path", sam}})) FAIL_CHECK(text);
    CHECK(record_problems(sam) == Texts{});
  }
}

TEST_CASE("records are found in the middle of a BAM file") {
  const TemporaryFolder folder;
  const std::string path = write(folder.path() + "/a.bam", "wb", 200);
  const std::string all = names(AlignmentFiles({path}, {}, FileOrder::as_given));
  for (const std::uint64_t look_back : {1, 64, 5000, 40'000})
    for (const std::uint64_t parts : {2, 3, 7, 50, 300}) {
      std::string together;
      for (std::uint64_t part = 0; part < parts; ++part)
        together += names(AlignmentFiles({path}, {}, FileOrder::as_given,
                                         {part, parts, AlignmentFile::Numbering::of_range, "", {.exact_below = 0, .look_back = look_back}}));
      CHECK(together == all);
    }
}

TEST_CASE("regions, with an index and without, come out whole in parts and from each position") {
  const TemporaryFolder folder;
  const std::string bam = write(folder.path() + "/a.bam", "wb", 150), sam = write(folder.path() + "/a.sam", "w", 150);
  const std::string bed = folder.path() + "/regions.bed";
  std::ofstream(bed) << "one\t500\t2500\none\t5000\t5200\ntwo\t9000\t11000\n";
  for (const std::string& path : {bam, sam}) {
    CHECK(alignment_problems({{"path", path}, {"region", "one:1000-6000"}}) == Texts{});
    CHECK(alignment_problems({{"path", path}, {"region", "two"}}) == Texts{});
    CHECK(alignment_problems({{"path", path}, {"bed", bed}}) == Texts{});
  }
}

TEST_CASE("several alignment files are cut as if they were one") {
  const TemporaryFolder folder;
  write(folder.path() + "/a.bam", "wb", 60);
  write(folder.path() + "/b.bam", "wb", 0);
  write(folder.path() + "/c.sam", "w", 40, 100);
  write(folder.path() + "/d.bam", "wb", 70, 200);
  CHECK(alignment_problems({{"path", folder.path()}}) == Texts{});
  CHECK(alignment_problems({{"path", folder.path()}, {"region", "one:1000-6000"}}) == Texts{});
}

TEST_CASE("what can't be cut says so") {
  const TemporaryFolder folder;
  const std::string bam = write(folder.path() + "/a.bam", "wb", 60), other = write(folder.path() + "/b.bam", "wb", 60, 100),
                    packed = write(folder.path() + "/a.sam.gz", "wz", 60);
  const auto half = in_part(stage_of<AlignmentReader>(), 1, 2);
  CHECK(run_stage(half).with({{"path", packed}}).run().status == SLUICE_ERROR_USAGE);
  CHECK(run_stage(half).with({{"path", bam + "\n" + other}, {"merge", true}}).run().status == SLUICE_ERROR_USAGE);
  CHECK(run_stage(half).with({{"path", "-"}}).run().status == SLUICE_ERROR_USAGE);
  CHECK(run_stage(half).with({{"path", folder.path()}, {"follow", true}}).run().status == SLUICE_ERROR_USAGE);
  for (const char* position : {"x", "0:0:0", "7:0:0:0"})
    CHECK(run_stage(beginning_at(stage_of<AlignmentReader>(), position)).with({{"path", bam}}).run().status == SLUICE_ERROR_USAGE);
  // From positions it is read on all the same.
  CHECK(alignment_problems({{"path", packed}}) == Texts{});
}
