// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <htslib/sam.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "unit/outcomes_of.hpp"

namespace hts = sluice::hts;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/record_writer.so");
  return *info;
}

class Random {
 public:
  std::uint32_t below(std::uint32_t limit) { return (state_ = state_ * 1664525U + 1013904223U) / 16 % limit; }

 private:
  std::uint32_t state_ = 1;
};

struct Place {
  std::string name;
  int contig = -1;
  std::int64_t start = -1, end = 0;
  bool is_reverse = false;
};

// What the order is, said once more.
auto order(const Place& place) { return std::tuple(static_cast<std::uint32_t>(place.contig), place.start, place.is_reverse); }

struct Records {
  std::vector<Place> places;
  std::vector<std::string> bytes;

  void add(const Place& place, const std::string& bases, std::size_t operations = 1) {
    hts::Record record(bam_init1());
    std::vector<std::uint32_t> cigar{static_cast<std::uint32_t>(bases.size() - 2 * (operations / 2)) << BAM_CIGAR_SHIFT | BAM_CMATCH};
    for (std::size_t i = 1; i < operations; ++i) cigar.push_back(1U << BAM_CIGAR_SHIFT | (i % 2 == 1 ? BAM_CINS : BAM_CMATCH));
    const bool is_placed = place.contig >= 0;
    const std::uint16_t flag = static_cast<std::uint16_t>((is_placed ? 0 : BAM_FUNMAP) | (place.is_reverse ? BAM_FREVERSE : 0));
    REQUIRE(bam_set1(record.get(), place.name.size(), place.name.c_str(), flag, place.contig, place.start, 60, is_placed ? cigar.size() : 0,
                     cigar.data(), -1, -1, 0, bases.size(), bases.c_str(), nullptr, 0) >= 0);
    places.push_back(place);
    places.back().end = bam_endpos(record.get());
    REQUIRE(hts::append_bam_record(*record, bytes.emplace_back()));
  }
  std::vector<TestBatch> batches(std::size_t rows) const {
    std::vector<TestBatch> cut;
    for (std::size_t i = 0; i < bytes.size(); i += rows) {
      const std::vector<std::string> some(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                                          bytes.begin() + static_cast<std::ptrdiff_t>(std::min(i + rows, bytes.size())));
      cut.push_back(BatchBuilder("alignment", static_cast<std::int64_t>(some.size())).binary("bam_bytes", some).build());
    }
    return cut;
  }
  std::vector<std::string> sorted_names() const {
    std::vector<Place> sorted = places;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Place& a, const Place& b) { return order(a) < order(b); });
    std::vector<std::string> names;
    for (const Place& place : sorted) names.push_back(place.name);
    return names;
  }
};

// Of few places, so that many records share one.
Records many_records(std::size_t count) {
  Random random;
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_placed = random.below(10) > 0;
    std::string bases(100 + random.below(900), 'A');
    for (char& base : bases) base = "ACGT"[random.below(4)];
    records.add({"r" + std::to_string(i), is_placed ? static_cast<int>(random.below(2)) : -1, is_placed ? std::int64_t{1000} * random.below(40) : -1,
                 0, random.below(2) == 0},
                bases);
  }
  return records;
}

class AlignmentFiles {
 public:
  explicit AlignmentFiles(std::int64_t contig_bases = 50'000) {
    std::ofstream(path("in.sam")) << "@HD\tVN:1.5\tSO:unsorted\tGO:query\n@SQ\tSN:one\tLN:" << contig_bases << "\n@SQ\tSN:two\tLN:50000\n";
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  StageRun sorting(const std::vector<TestBatch>& batches) const {
    return StageRun(stage_of(plugin(), "sorted_record_writer"), batches).with({{"alignments", path("in.sam")}, {"output", "x.bam"}});
  }
  // Puts a result beside, to open it.
  std::string keep(const Result& result, const std::string& name) const {
    std::ofstream(path(name), std::ios::binary) << result.files.at(name);
    return path(name);
  }

 private:
  TemporaryFolder folder_;
};

struct OpenedFile {
  explicit OpenedFile(const std::string& path) : file(hts_open(path.c_str(), "r")), header(sam_hdr_read(file.get())) { REQUIRE(header != nullptr); }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    int got = 0;
    while ((got = sam_read1(file.get(), header.get(), record.get())) >= 0) found.emplace_back(bam_get_qname(record.get()));
    CHECK(got == -1);
    return found;
  }
  hts::File file;
  hts::Header header;
  hts::Record record{bam_init1()};
};

}  // namespace

TEST_CASE("records come in the order of samtools sort, however little memory there is") {
  const Records records = many_records(4000);
  const AlignmentFiles files;
  const Result whole = files.sorting(records.batches(500)).run();
  REQUIRE(whole.ok());
  CHECK(!whole.counters.contains("sorted runs on the disk"));
  OpenedFile sorted(files.keep(whole, "x.bam"));
  CHECK(sorted.names() == records.sorted_names());
  CHECK(std::string(sam_hdr_str(sorted.header.get())).starts_with("@HD\tVN:1.5\tSO:coordinate\n"));

  for (const std::uint64_t memory : {1, 300'000, 2'000'000})
    for (const int threads : {1, 4}) {
      const Result result = files.sorting(records.batches(77)).target_bytes(memory).threads(threads).run();
      REQUIRE(result.ok());
      CHECK(result.counters.at("sorted runs on the disk") > (memory == 1 ? 24.0 : 0.0));
      CHECK(result.files.at("x.bam") == whole.files.at("x.bam"));
      CHECK(result.files.at("x.bam.bai") == whole.files.at("x.bam.bai"));
    }
}

TEST_CASE("the index leads to the records of every place") {
  const Records records = many_records(3000);
  const AlignmentFiles files;
  const Result result = files.sorting(records.batches(1000)).target_bytes(500'000).run();
  REQUIRE(result.ok());
  OpenedFile opened(files.keep(result, "x.bam"));
  files.keep(result, "x.bam.bai");
  const hts::Index index(sam_index_load(opened.file.get(), files.path("x.bam").c_str()));
  REQUIRE(index != nullptr);
  for (int contig = 0; contig < 2; ++contig)
    for (std::int64_t begin = 0; begin < 50'000; begin += 3'300) {
      std::vector<std::string> found, expected;
      const hts::Iterator iterator(sam_itr_queryi(index.get(), contig, begin, begin + 500));
      while (sam_itr_next(opened.file.get(), iterator.get(), opened.record.get()) >= 0) found.emplace_back(bam_get_qname(opened.record.get()));
      for (const Place& place : records.places)
        if (place.contig == contig && place.start < begin + 500 && place.end > begin) expected.push_back(place.name);
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      CHECK(found == expected);
    }
  std::uint64_t mapped = 0, unmapped = 0, unplaced = 0;
  for (int contig = 0; contig < 2; ++contig) {
    std::uint64_t here = 0;
    REQUIRE(hts_idx_get_stat(index.get(), contig, &here, &unmapped) == 0);
    mapped += here;
  }
  for (const Place& place : records.places) unplaced += place.contig < 0 ? 1 : 0;
  CHECK(hts_idx_get_n_no_coor(index.get()) == unplaced);
  CHECK(mapped == records.places.size() - unplaced);
}

TEST_CASE("a contig of more than 2^29 bases has a CSI index") {
  const AlignmentFiles files(std::int64_t{1} << 30);
  Records records;
  records.add({"far", 0, 900'000'000}, "ACGTACGT");
  records.add({"near", 0, 5}, "ACGT");
  const Result result = files.sorting(records.batches(2)).run();
  REQUIRE(result.ok());
  CHECK(!result.files.contains("x.bam.bai"));
  OpenedFile opened(files.keep(result, "x.bam"));
  const hts::Index index(sam_index_load2(opened.file.get(), files.path("x.bam").c_str(), files.keep(result, "x.bam.csi").c_str()));
  REQUIRE(index != nullptr);
  const hts::Iterator iterator(sam_itr_queryi(index.get(), 0, 900'000'003, 900'000'004));
  REQUIRE(sam_itr_next(opened.file.get(), iterator.get(), opened.record.get()) >= 0);
  CHECK(std::string(bam_get_qname(opened.record.get())) == "far");
}

TEST_CASE("a record larger than the memory, and one with a CIGAR in a tag, are sorted like others") {
  const AlignmentFiles files;
  Records records = many_records(300);
  records.add({"large", 1, 7}, std::string(400'000, 'G'));
  records.add({"operations", 0, 12'345}, std::string(90'000, 'C'), 80'001);
  records.add({"last", 0, 3}, "ACGT");
  const Result result = files.sorting(records.batches(50)).target_bytes(1).run();
  REQUIRE(result.ok());
  CHECK(OpenedFile(files.keep(result, "x.bam")).names() == records.sorted_names());
}

TEST_CASE("records that are none fail, and the others are written") {
  const AlignmentFiles files;
  Records records;
  records.add({"beyond", 7, 5}, "ACGT");
  records.add({"fine", 1, 5}, "ACGT");
  std::vector<std::string> bytes = records.bytes;
  bytes.emplace_back("");
  bytes.push_back(records.bytes[1].substr(0, 20));
  bytes.push_back(records.bytes[1] + "x");
  const auto run = files.sorting({BatchBuilder("alignment", 5).binary("bam_bytes", bytes).build()});
  const Result result = run.run();
  REQUIRE(result.ok());
  CHECK(result.failed.size() == 4);
  CHECK(OpenedFile(files.keep(result, "x.bam")).names() == std::vector<std::string>{"fine"});
  CHECK(outcomes_of(run) == Outcomes{{"written", {1, 5}}});
}

TEST_CASE("a full disk is an error of the output") {
  const AlignmentFiles files;
  const StageRun run = files.sorting(many_records(2000).batches(100));
  const Result whole = run.run();
  REQUIRE(whole.ok());
  const Result result = StageRun(run).file_capacity(whole.files.at("x.bam").size() / 2).run();
  CHECK(result.status == SLUICE_ERROR_OUTPUT);
}

TEST_CASE("without records there is a file with a header, and its index") {
  const AlignmentFiles files;
  const Result result = files.sorting({BatchBuilder("alignment", 0).binary("bam_bytes", {}).build()}).run();
  REQUIRE(result.ok());
  CHECK(OpenedFile(files.keep(result, "x.bam")).names().empty());
  CHECK(result.files.at("x.bam.bai").starts_with(std::string("BAI\1", 4)));
}

TEST_CASE("CRAM holds the same records, and has an index") {
  const AlignmentFiles files;
  const Records records = many_records(500);
  std::ofstream(files.path("reference.fa")) << ">one\n" << std::string(50'000, 'A') << "\n>two\n" << std::string(50'000, 'C') << "\n";
  const auto run = [&](std::uint64_t memory) {
    return files.sorting(records.batches(100)).with({{"output", "x.cram"}, {"reference", files.path("reference.fa")}}).target_bytes(memory).run();
  };
  const Result result = run(1), whole = run(std::uint64_t{64} << 20);
  REQUIRE(result.ok());
  CHECK(result.files.at("x.cram") == whole.files.at("x.cram"));
  CHECK(result.files.at("x.cram.crai") == whole.files.at("x.cram.crai"));
  CHECK(!result.files.at("x.cram.crai").empty());
  OpenedFile opened(files.keep(result, "x.cram"));
  REQUIRE(hts_set_opt(opened.file.get(), CRAM_OPT_REFERENCE, files.path("reference.fa").c_str()) == 0);
  CHECK(opened.names() == records.sorted_names());
}

TEST_CASE("CRAM is compressed against a reference that has the contigs of the header") {
  const AlignmentFiles files;
  const Records records = many_records(20);
  const auto message = [&](const std::string& fasta) {
    std::error_code ignored;
    std::filesystem::remove(files.path("other.fa") + ".fai", ignored);
    std::ofstream(files.path("other.fa")) << fasta;
    return files.sorting(records.batches(100)).with({{"output", "x.cram"}, {"reference", files.path("other.fa")}}).run().message;
  };
  const std::string one = ">one\n" + std::string(50'000, 'A') + "\n", two = ">two\n" + std::string(50'000, 'C') + "\n";
  CHECK(message(one + two).empty());
  CHECK(message(">1\n" + std::string(50'000, 'A') + "\n").find("no contig of its header is in the reference") != std::string::npos);
  CHECK(message(one).find("contig 'two' of its header is not in the reference") != std::string::npos);
  CHECK(message(one + ">two\nCC\n").find("contig 'two' has 50000 bases in its header and 2 in the reference") != std::string::npos);
}

TEST_CASE("the writer keeps the contract of every stage") {
  const AlignmentFiles files;
  CHECK(contract_problems(plugin(), {{"sorted_record_writer",
                                      {.parameters = {{"output", "x.bam"}, {"alignments", files.path("in.sam")}},
                                       .batches = many_records(300).batches(100)}}}) == std::vector<std::string>{});
}
