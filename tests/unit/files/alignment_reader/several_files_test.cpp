// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sluice/failure.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/testing/temporary_folder.hpp>
#include <tuple>

#include "alignment_reader/alignment_files.hpp"

using namespace sluice::alignment_reader;
using sluice::testing::TemporaryFolder;

namespace {

struct Written {
  std::string name, contig;
  int position;  // from 1
  int flag = 0;
};

// Records of this file are named after it, and placed anywhere: the n-th of each file somewhere else.
std::vector<Written> some_records(const std::string& file, int count, int stride) {
  std::vector<Written> list;
  for (int i = 0; i < count; ++i) list.push_back({file + std::to_string(i), i * stride % 3 == 0 ? "two" : "one", 1 + i * stride % 89, 0});
  return list;
}

constexpr const char* contig_lines = "@SQ\tSN:one\tLN:1000\n@SQ\tSN:two\tLN:500\n";

void sort_by_position(std::vector<Written>& records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const Written& a, const Written& b) { return std::tie(a.contig, a.position) < std::tie(b.contig, b.position); });
}

std::string write(const std::string& path, const std::vector<Written>& records, const std::string& header, const char* mode = "wb") {
  {
    std::ofstream sam(path + ".text");
    sam << header;
    for (const Written& r : records) sam << r.name << '\t' << r.flag << '\t' << r.contig << '\t' << r.position << "\t60\t4M\t*\t0\t0\tACGT\t*\n";
  }
  const sluice::hts::File in(hts_open((path + ".text").c_str(), "r")), out(hts_open(path.c_str(), mode));
  const sluice::hts::Header lines(sam_hdr_read(in.get()));
  REQUIRE(sam_hdr_write(out.get(), lines.get()) == 0);
  const sluice::hts::Record record(bam_init1());
  while (sam_read1(in.get(), lines.get(), record.get()) >= 0) REQUIRE(sam_write1(out.get(), lines.get(), record.get()) >= 0);
  return path;
}

const ParallelFor here = [](std::size_t count, std::size_t, const auto& body) { body(0, count); };

std::string names(AlignmentFiles files) {
  std::string list;
  while (const AlignmentRecord* record = files.next(here, 2)) list += std::string(record->name) + " ";
  return list;
}
std::string names(const std::vector<Written>& records) {
  std::string list;
  for (const Written& record : records) list += record.name + " ";
  return list;
}

std::string failure_of(const std::vector<std::string>& paths, FileOrder order = FileOrder::as_given) {
  try {
    AlignmentFiles files(paths, {}, order);
    while (files.next(here, 1) != nullptr) {
    }
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string sorted = std::string("@HD\tVN:1.6\tSO:coordinate\n") + contig_lines, unsorted = std::string("@HD\tVN:1.6\n") + contig_lines;

}  // namespace

TEST_CASE("several files come one after the other, or by position as the sorted file of all their records") {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  std::vector<Written> all;
  for (const auto& [name, count, stride] : {std::tuple("a", 70, 7), std::tuple("b", 1, 5), std::tuple("c", 0, 1), std::tuple("d", 200, 11)}) {
    std::vector<Written> records = some_records(name, count, stride);
    sort_by_position(records);
    records.push_back({std::string(name) + "_nowhere", "*", 0, 4});
    const bool is_text = name[0] == 'b';
    paths.push_back(write(folder.path() + "/" + name + (is_text ? ".sam" : ".bam"), records, sorted, is_text ? "w" : "wb"));
    all.insert(all.end(), records.begin(), records.end());
  }
  CHECK(names(AlignmentFiles(paths, {}, FileOrder::as_given)) == names(all));
  std::vector<Written> by_position = all;
  for (Written& record : by_position)
    if (record.contig == "*") record.contig = "~";  // behind the others
  sort_by_position(by_position);
  CHECK(names(AlignmentFiles(paths, {}, FileOrder::by_position)) == names(by_position));

  AlignmentFiles files(paths, {}, FileOrder::by_position);
  std::uint64_t read = 0;
  for (; files.next(here, 2) != nullptr; ++read) CHECK(files.visited() == read + 1);
  CHECK(read == all.size());
  CHECK(files.take_notes().empty());
}

TEST_CASE("files that are not all sorted are read one after the other, and that is said") {
  const TemporaryFolder folder;
  const std::vector<Written> first{{"x", "one", 50}, {"y", "one", 10}}, second{{"z", "one", 20}};
  const std::vector<std::string> paths = {write(folder.path() + "/a.bam", first, unsorted), write(folder.path() + "/b.bam", second, sorted)};
  AlignmentFiles files(paths, {}, FileOrder::by_position);
  const std::vector<std::string> notes = files.take_notes();
  REQUIRE(notes.size() == 1);
  CHECK(says(notes[0], "a.bam' is not sorted"));
  CHECK(files.take_notes().empty());
  CHECK(names(std::move(files)) == "x y z ");
}

TEST_CASE("a region is looked for in every file, with an index where there can be one") {
  const TemporaryFolder folder;
  const std::vector<std::string> paths = {write(folder.path() + "/a.bam", {{"a1", "one", 10}, {"a2", "one", 90}}, sorted),
                                          write(folder.path() + "/b.sam", {{"b1", "one", 9}, {"b2", "two", 9}}, sorted, "w")};
  OpenOptions options;
  options.region = "one:1-20";
  CHECK(names(AlignmentFiles(paths, options, FileOrder::as_given)) == "a1 b1 ");
  AlignmentFiles files(paths, options, FileOrder::by_position);
  CHECK(files.take_notes().size() == 1);  // of the text; the first file has its index by now
  CHECK(says(std::string(files.next(here, 1)->name), "b1"));
  CHECK(says(std::string(files.next(here, 1)->name), "a1"));
  CHECK(files.next(here, 1) == nullptr);
  CHECK(files.outside_region() == 1);
}

TEST_CASE("one read group of two samples is refused, because their reads could not be told apart") {
  const TemporaryFolder folder;
  const auto made = [&](const char* name, const std::string& groups) {
    return write(folder.path() + "/" + name, {{"b", "one", 5}}, sorted + groups);
  };
  const std::string of_x = made("x.bam", "@RG\tID:g\tSM:x\n@RG\tID:h\tSM:x\n"), of_y = made("y.bam", "@RG\tID:h\tSM:y\tLB:l\n"),
                    like_x = made("like_x.bam", "@RG\tID:g\tSM:x\tDS:another day\n"), unnamed = made("unnamed.bam", "@RG\tID:g\n"),
                    other = made("o.bam", "@RG\tID:o\tSM:y\n");
  for (const FileOrder order : {FileOrder::as_given, FileOrder::by_position}) {
    const std::string problem = failure_of({of_x, other, of_y}, order);
    CHECK(says(problem, "read group 'h' is of sample 'x' in '" + of_x + "', and of sample 'y' in '" + of_y + "'"));
    CHECK(failure_of({of_x, like_x, unnamed, other}, order).empty());
  }
  CHECK_THROWS_AS(sluice::hts::read_alignment_headers({of_x, of_y}, sluice::hts::SeveralFiles::merged_if_sorted), sluice::Failure);
}

TEST_CASE("files of other contigs, damaged and missing ones are named before the first record") {
  const TemporaryFolder folder;
  const std::string fine = write(folder.path() + "/fine.bam", {{"a", "one", 10}}, sorted);
  const auto made = [&](const char* name, const std::string& header) { return write(folder.path() + "/" + name, {{"b", "one", 5}}, header); };
  const auto refused = [&](const std::string& other, const char* words) {
    for (const FileOrder order : {FileOrder::as_given, FileOrder::by_position}) {
      CAPTURE(other);
      const std::string failure = failure_of({fine, other}, order);
      CHECK_MESSAGE(says(failure, words), failure);
    }
  };
  refused(made("short.bam", "@SQ\tSN:one\tLN:1000\n"), "of number 2 it is 'two' (500 bases) in the first, and there is none in the second");
  refused(made("long.bam", sorted + "@SQ\tSN:three\tLN:7\n"), "of number 3 there is none in the first, and it is 'three' (7 bases) in the second");
  refused(made("length.bam", "@SQ\tSN:one\tLN:1001\n@SQ\tSN:two\tLN:500\n"),
          "of number 1 it is 'one' (1000 bases) in the first, and it is 'one' (1001");
  refused(made("order.bam", "@SQ\tSN:two\tLN:500\n@SQ\tSN:one\tLN:1000\n"), "number 1 it is 'one' (1000 bases) in the first, and it is 'two'");
  refused(folder.path() + "/none.bam", "none.bam'");
  const std::string cut = made("cut.bam", sorted);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 28);
  refused(cut, "cut.bam' is truncated");
}

TEST_CASE("the header for several files has the read groups and programs of all, and says only the order that there is") {
  const TemporaryFolder folder;
  const auto made = [&](const char* name, const std::string& more) { return write(folder.path() + "/" + name, {}, sorted + more); };
  const std::vector<std::string> paths = {made("a.bam", "@RG\tID:x\tSM:s\n@PG\tID:p\tPN:p\n"),
                                          made("b.bam", "@RG\tID:y\tSM:t\n@RG\tID:x\tSM:s\tLB:other\n"), made("c.bam", "@PG\tID:q\tPN:q\n")};
  using sluice::hts::SeveralFiles;
  const auto text = [](const std::vector<std::string>& of, SeveralFiles order) {
    return sluice::hts::sam_header_text(*sluice::hts::read_alignment_headers(of, order));
  };
  const std::string rest = std::string(contig_lines) + "@RG\tID:x\tSM:s\n@PG\tID:p\tPN:p\n@RG\tID:y\tSM:t\n@PG\tID:q\tPN:q\n";
  CHECK(text(paths, SeveralFiles::merged_if_sorted) == "@HD\tVN:1.6\tSO:coordinate\n" + rest);
  CHECK(text(paths, SeveralFiles::one_after_the_other) == "@HD\tVN:1.6\tSO:unknown\n" + rest);
  CHECK(text({paths[0]}, SeveralFiles::one_after_the_other) == sorted + "@RG\tID:x\tSM:s\n@PG\tID:p\tPN:p\n");
  CHECK(text({paths[0], write(folder.path() + "/d.bam", {}, unsorted)}, SeveralFiles::merged_if_sorted).starts_with("@HD\tVN:1.6\tSO:unknown\n"));
}
