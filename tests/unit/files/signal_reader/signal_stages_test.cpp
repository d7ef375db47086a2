// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <limits>
#include <sluice/testing.hpp>
#include <string>
#include <tuple>

#include "signal_fixture.hpp"
#include "signal_reader/stage.cpp"  // the stage classes have no header of their own
#include "unit/small_files.hpp"

using namespace sluice::signal_reader;
using namespace signal_fixture;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;
using sluice::testing::TestBatch;
using sluice::testing::detail::file_bytes;

namespace {

const std::string shared = SLUICE_SHARED_DIR;

Result open_signal(const std::string& path) { return run_stage<SignalFileResource>().with({{"path", path}}).run(); }

TestBatch read_ids(const std::vector<std::string>& ids) {
  return BatchBuilder("read", static_cast<std::int64_t>(ids.size())).text("read_id", ids).build();
}

std::string file_in(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder.path() + "/" + name;
  write_file(path, bytes);
  return path;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("of several read groups those speak for the file that have a kit or a flow cell") {
  const TemporaryFolder folder;
  const auto opened = [&](const std::string& kits, const std::string& flow_cells) {
    std::string text = slow5(some_reads(), "@run_id\ta\tb\n@sequencing_kit\t" + kits + "\n@flow_cell_product_code\t" + flow_cells +
                                               "\n@sample_frequency\t.\t.\n" + header_lines().substr(header_lines().find("#char")));
    text.replace(text.find("groups\t1"), 8, "groups\t2");
    return open_signal(file_in(folder, "groups.slow5", text));
  };
  for (const auto& [kits, flow_cells, chemistry] :
       {std::tuple(".\tSQK-LSK114", ".\tFLO-PRO114M", "dna_r10"), std::tuple("SQK-LSK114\t.", "FLO-PRO114M\t.", "dna_r10"),
        std::tuple("\t", "\tFLO-MIN004RA", "rna_004"), std::tuple("SQK-LSK109\t.", "FLO-MIN106\t.", "dna_r9")}) {
    const Result signal = opened(kits, flow_cells);
    REQUIRE_MESSAGE(signal.ok(), signal.message);
    const auto view = signal.batch().view();
    CHECK(view.attribute("chemistry") == chemistry);
    CHECK(view.text("chemistry")[0] == chemistry);
    CHECK(view.text("chemistry")[1] == chemistry);
    CHECK(signal.logged(std::string("does not say its sequencing kit or its flow cell: it is taken for ") + chemistry + ", as read group "));
    CHECK_FALSE(signal.logged("is dna_r9, read group"));
  }
  CHECK(opened("SQK-LSK114\tSQK-LSK109", "FLO-PRO114M\tFLO-MIN106")
            .logged("read group 1 is dna_r9, read group 0 dna_r10; all reads are treated as dna_r10"));
  const Result none = opened(".\t.", ".\t.");
  CHECK(none.batch().view().attribute("chemistry") == "dna_r9");
  CHECK_FALSE(none.logged("read group"));
}

TEST_CASE("reads are looked up by id in any order and decoded, whatever the file's format and compression") {
  const auto reads = some_reads();
  const TemporaryFolder folder;
  std::vector<std::string> paths = {file_in(folder, "text.slow5", slow5(reads))};
  for (const auto record : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd})
    for (const auto signal : {SignalCompression::none, SignalCompression::svb_zd, SignalCompression::ex_zd})
      paths.push_back(file_in(folder, std::string(name(record)) + name(signal) + ".blow5", blow5(reads, record, signal)));
  for (const std::string& path : paths) {
    CAPTURE(path);
    const Result opened = open_signal(path);
    REQUIRE(opened.ok());
    const auto signal = opened.batch();
    CHECK(signal.view().attribute("chemistry") == "dna_r9");
    CHECK(signal.view().attribute("sampling_rate") == "4000");
    const Result found =
        run_stage<SignalLookup>(read_ids({"read-3", "missing", "read-1", "read-3", "read-0"})).resource("signal", signal).run().expect_rows(4);
    CHECK(found.failed == std::vector<sluice::testing::FailedRow>{{0, 1, "no_signal"}});
    CHECK(found.logged("made the index"));
    CHECK(std::filesystem::exists(path + ".idx"));
    const Result decoded = run_stage<SignalDecode>(found.batch()).resource("signal", signal).run().expect_rows(4);
    const auto raw = decoded.batch().view().list<std::int16_t>("raw_signal");
    const std::size_t expected[] = {3, 99, 1, 3, 0};
    for (std::int64_t row = 0; row < 5; ++row) {
      if (row == 1) continue;
      const auto& samples = reads[expected[row]].samples;
      CHECK(std::equal(raw[row].begin(), raw[row].end(), samples.begin(), samples.end()));
    }
    CHECK(decoded.batch().view().column<double>("range")[0] == 1400);
    const Result again = run_stage<SignalLookup>(read_ids({"read-2"})).resource("signal", signal).run().expect_rows(1);
    CHECK_FALSE(again.logged("index"));

    const Result streamed = run_stage<SignalStream>().resource("signal", signal).target_work(1500).run().expect_rows(5);
    CHECK(streamed.batches.size() > 2);
    CHECK(streamed.batches[0].view().text("read_id")[0] == "read-0");
  }
}

TEST_CASE("records that the system has in memory are those of the file, and where it has them not they are read") {
  const auto reads = some_reads();
  const TemporaryFolder folder;
  for (const std::string& path : {file_in(folder, "plain.blow5", blow5(reads, RecordCompression::none, SignalCompression::none)),
                                  file_in(folder, "text.slow5", slow5(reads))}) {
    CAPTURE(path);
    const SignalFile file(path);
    RecordCursor records(file);
    for (RecordPlace place; records.next_place(place);) {
      std::vector<char> read(SignalFile::stored_bytes(file.header(), place)), at_hand(read.size());
      file.read(place, read.data());
      if (file.read_if_at_hand(place, at_hand.data())) CHECK(at_hand == read);  // a temporary folder may lie where the system can't tell
    }
    if (file.header().records.format == FileFormat::blow5) {
      RecordPlace wrong = file.place_at(file.extent().begin);
      wrong.bytes += 1;  // another size than the record says
      std::vector<char> more(SignalFile::stored_bytes(file.header(), wrong));
      CHECK_FALSE(file.read_if_at_hand(wrong, more.data()));
    }
    std::vector<char> behind(4096);
    CHECK_FALSE(file.read_if_at_hand({file.file_bytes() - 100, 4096}, behind.data()));
  }
}

TEST_CASE("an index that is stale, broken or of another file is made anew and said so") {
  const TemporaryFolder folder;
  const std::string path = file_in(folder, "a.blow5", blow5(some_reads(), RecordCompression::zlib, SignalCompression::none));
  const auto look_up = [&] {
    const auto signal = open_signal(path).batch();
    return run_stage<SignalLookup>(read_ids({"read-4"})).resource("signal", signal).run().expect_rows(1);
  };
  CHECK(look_up().logged("there is none"));
  const std::string good = file_bytes(path + ".idx");
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path + ".idx") + std::chrono::seconds(10));
  CHECK(look_up().logged("older than the file"));
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path + ".idx") - std::chrono::seconds(10));
  write_file(path + ".idx", good.substr(0, 100));
  CHECK(look_up().logged("truncated"));
  write_file(path + ".idx", "nonsense");
  CHECK(look_up().logged("damaged"));
  SignalIndex other;
  other.add("read-4", {5, 1000});
  write_file(path + ".idx", serialise_index(other, {0, 2, 0}));
  CHECK(look_up().logged("another file"));
  CHECK(file_bytes(path + ".idx") == good);
  // An index that fits in size but not in place is noticed when a record is read.
  SignalIndex shifted;
  const RecordExtent extent = SignalFile(path).extent();
  shifted.add("read-4", {extent.begin + 1, 20});
  write_file(path + ".idx", serialise_index(shifted, {0, 2, 0}));
  const auto signal = open_signal(path).batch();
  const Result result = run_stage<SignalLookup>(read_ids({"read-4"})).resource("signal", signal).run();
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(says(result.remedy, ".idx"));
}

TEST_CASE("of a read in several files the first file's record is used, streams give all, and both say so") {
  const TemporaryFolder folder;
  const auto reads = some_reads(6);
  const std::vector<Read> first(reads.begin(), reads.begin() + 5), second(reads.begin() + 1, reads.end());
  for (const bool text : {false, true}) {
    const auto stored = [&](const std::vector<Read>& some) {
      return text ? slow5(some) : blow5(some, RecordCompression::zlib, SignalCompression::none);
    };
    const std::string ending = text ? ".slow5" : ".blow5";
    const std::string paths = file_in(folder, "a" + ending, stored(first)) + "\n" + file_in(folder, "b" + ending, stored(second));
    const auto signal = open_signal(paths).batch();
    for (int time = 0; time < 2; ++time) {  // the second time with indexes that are there
      const Result found = run_stage<SignalLookup>(read_ids({"read-4", "read-5", "read-0"})).resource("signal", signal).run().expect_rows(3);
      CHECK(found.logged(
          "the signal files have 4 records of reads that an earlier record has, which is used: 'read-1', 'read-2', 'read-3' and 1 more"));
      CHECK(found.counters.at("repeated_reads") == 4);
      CHECK(found.counters.at("indexed_reads") == 6);
    }
    const Result streamed = run_stage<SignalStream>().resource("signal", signal).target_work(1e9).run();
    CHECK(streamed.counters.at("repeated_reads") == 4);
    CHECK(
        streamed.logged("the signal has 4 records of reads that an earlier record has, and all are given: 'read-1', 'read-2', 'read-3' and 1 more"));
    const auto once = open_signal(file_in(folder, "once" + ending, stored(reads))).batch();
    CHECK_FALSE(run_stage<SignalStream>().resource("signal", once).target_work(1e9).run().logged("earlier record"));
  }
}

TEST_CASE("in a folder that cannot be written to the index stays in memory") {
  const TemporaryFolder folder;
  const std::string inner = folder.path() + "/inner";
  std::filesystem::create_directory(inner);
  write_file(inner + "/a.blow5", blow5(some_reads(), RecordCompression::zlib, SignalCompression::svb_zd));
  ::chmod(inner.c_str(), 0555);
  const auto signal = open_signal(inner + "/a.blow5").batch();
  const Result result = run_stage<SignalLookup>(read_ids({"read-4"})).resource("signal", signal).run().expect_rows(1);
  CHECK(result.logged("cannot be written to"));
  CHECK_FALSE(std::filesystem::exists(inner + "/a.blow5.idx"));
  ::chmod(inner.c_str(), 0755);
}

namespace {

std::string without_end(const std::string& blow5, std::size_t bytes) { return blow5.substr(0, blow5.size() - bytes); }

// Looks up in what is there when the end is told.
Result look_up_followed(const TemporaryFolder& folder, const std::vector<std::string>& ids) {
  write_file(folder.path() + "/sluice.stop", "");
  const Result opened = run_stage<SignalFileResource>().with({{"path", folder.path()}, {"follow", "true"}}).run();
  REQUIRE(opened.ok());
  return run_stage<SignalLookup>(read_ids(ids)).resource("signal", opened.batch()).with({{"follow", "true"}}).run();
}

}  // namespace

TEST_CASE("followed signal: whole records of several files, also of one that is cut, which is named; no index is written") {
  for (const bool text : {false, true}) {
    const TemporaryFolder folder;
    auto reads = some_reads(4);
    const auto bytes = [&](const std::vector<Read>& some) {
      return text ? slow5(some) : blow5(some, RecordCompression::zlib, SignalCompression::svb_zd);
    };
    const std::string ending = text ? ".slow5" : ".blow5";
    file_in(folder, "a" + ending, bytes({reads[0]}));
    file_in(folder, "b" + ending, without_end(bytes({reads[1], reads[2]}), 20));
    file_in(folder, "c" + ending, bytes({reads[3]}));
    file_in(folder, "other.blow5", blow5({reads[0]}, RecordCompression::none, SignalCompression::none));
    file_in(folder, "garbage" + ending, "nothing of the kind");
    const Result result = look_up_followed(folder, {"read-3", "read-2", "read-1", "missing", "read-0"}).expect_rows(3);
    CHECK(result.failed == std::vector<sluice::testing::FailedRow>{{0, 1, "no_signal"}, {0, 3, "no_signal"}});
    const auto& named = result.accounts.at("incomplete_file");
    CHECK(named.count == 3);
    CHECK(says(named.names[0], "/b" + ending + "': 1 reads were taken, then: "));
    CHECK(says(named.names[0], "truncated"));
    CHECK(says(named.names[1], "/garbage" + ending));
    CHECK(says(named.names[2], "/other.blow5"));
    CHECK(says(named.names[2], "differ"));
    const Result decoded = run_stage<SignalDecode>(result.batch()).resource("signal", open_signal(folder.path() + "/a" + ending).batch()).run();
    const auto raw = decoded.batch().view().list<std::int16_t>("raw_signal");
    for (const auto& [row, read] : {std::pair{0, 3}, {2, 1}, {4, 0}})
      CHECK(std::equal(raw[row].begin(), raw[row].end(), reads[static_cast<std::size_t>(read)].samples.begin(),
                       reads[static_cast<std::size_t>(read)].samples.end()));
    CHECK_FALSE(std::filesystem::exists(folder.path() + "/a" + ending + ".idx"));
  }
}

TEST_CASE("followed signal: what is not whole is named at the end, though nobody has asked for it") {
  const TemporaryFolder folder;
  const auto reads = some_reads(2);
  file_in(folder, "a.blow5", blow5({reads[0]}, RecordCompression::zlib, SignalCompression::none));
  const std::string cut = without_end(blow5({reads[1]}, RecordCompression::zlib, SignalCompression::none), 5);
  file_in(folder, "b.blow5", cut);
  const Result result = look_up_followed(folder, {}).expect_rows(0);
  CHECK(result.accounts.at("incomplete_file").count == 1);
  CHECK(says(result.accounts.at("incomplete_file").names.at(0), "/b.blow5': 1 reads were taken, then: "));

  // A record that is damaged: those before it are there.
  const TemporaryFolder damaged;
  std::string bytes = blow5(some_reads(3), RecordCompression::zlib, SignalCompression::none);
  const std::string second = blow5_record(some_reads(3)[1], RecordCompression::zlib, SignalCompression::none);
  bytes.replace(bytes.find(second), 10, "0123456789");
  file_in(damaged, "a.blow5", bytes);
  const Result some = look_up_followed(damaged, {"read-0", "read-1", "read-2"}).expect_rows(1);
  CHECK(says(some.accounts.at("incomplete_file").names.at(0), "1 reads were taken, then: "));
  CHECK(says(some.accounts.at("incomplete_file").names.at(0), "record 2 cannot be decompressed"));
}

TEST_CASE("the first record of a repeated read id is used, and the repetition is said") {
  const TemporaryFolder folder;
  auto reads = some_reads(2);
  reads.push_back({"read-1", {1, 2, 3}});
  const auto signal = open_signal(file_in(folder, "a.blow5", blow5(reads, RecordCompression::zlib, SignalCompression::none))).batch();
  const Result result = run_stage<SignalLookup>(read_ids({"read-1"})).resource("signal", signal).run().expect_rows(1);
  const std::string said = "has 1 records of reads that an earlier record has, which is used: 'read-1'";
  CHECK(result.logged(said));
  CHECK(result.counters.at("repeated_reads") == 1);
  CHECK(result.counters.at("indexed_reads") == 2);
  const Result decoded = run_stage<SignalDecode>(result.batch()).resource("signal", signal).run().expect_rows(1);
  CHECK(decoded.batch().view().list<std::int16_t>("raw_signal")[0].size() == 1001);
  const Result loaded = run_stage<SignalLookup>(read_ids({"read-1"})).resource("signal", signal).run().expect_rows(1);
  CHECK_FALSE(loaded.logged("made"));
  CHECK(loaded.logged(said));
  CHECK(loaded.counters.at("repeated_reads") == 1);
}

TEST_CASE("files that are missing, empty, truncated or something else are named with what is wrong") {
  const TemporaryFolder folder;
  const std::string whole = blow5(some_reads(), RecordCompression::zlib, SignalCompression::none);
  CHECK(says(open_signal(folder.path() + "/none.blow5").message, "cannot open"));
  CHECK(says(open_signal(folder.path()).message, "there is no input in"));
  CHECK(says(open_signal(file_in(folder, "empty.blow5", "")).message, "is empty"));
  CHECK(says(open_signal(file_in(folder, "head.blow5", whole.substr(0, 200))).message, "header does not end"));
  CHECK(says(open_signal(file_in(folder, "fast5.blow5", "\x89HDF\r\n\x1a\n")).message, "FAST5"));
  CHECK(says(open_signal(file_in(folder, "text.blow5", "neither of them")).message, "neither as BLOW5 nor as SLOW5"));
  const Result truncated = open_signal(file_in(folder, "cut.blow5", whole.substr(0, whole.size() - 100)));
  CHECK(truncated.status == SLUICE_ERROR_INPUT);
  CHECK(says(truncated.message, "truncated"));
  CHECK(says(truncated.message, "after 4 complete ones"));
  CHECK(says(truncated.message, "cut.blow5"));
  CHECK_FALSE(truncated.remedy.empty());
  const std::string text = slow5(some_reads());
  const auto signal = open_signal(file_in(folder, "cut.slow5", text.substr(0, text.size() - 10))).batch();
  const Result looked_up = run_stage<SignalLookup>(read_ids({"read-0"})).resource("signal", signal).run();
  CHECK(says(looked_up.message, "without a newline in record 5"));
}

TEST_CASE("a corrupt record or a calibration that is not one fails its row only") {
  auto reads = some_reads(6);
  reads[1].range = std::nan("");
  reads[2].digitisation = 0;
  reads[3].offset = std::numeric_limits<double>::infinity();
  std::vector<std::string> stored, ids;
  for (const Read& read : reads) stored.push_back(blow5_record(read, RecordCompression::zlib, SignalCompression::svb_zd)), ids.push_back(read.id);
  stored[4].resize(stored[4].size() / 2);
  ids[5] = "another-read";
  ids.push_back(reads[0].id);
  stored.push_back(stored[0]);
  const TestBatch signal = BatchBuilder("signal_file", 0)
                               .attribute("format", "blow5")
                               .attribute("record_compression", "zlib")
                               .attribute("signal_compression", "svb-zd")
                               .build();
  const Result result = run_stage<SignalDecode>(BatchBuilder("read", 7).text("read_id", ids).binary("signal_record", stored).build())
                            .resource("signal", signal)
                            .run()
                            .expect_rows(2);
  const std::vector<sluice::testing::FailedRow> expected = {
      {0, 1, "bad_calibration"}, {0, 2, "bad_calibration"}, {0, 3, "bad_calibration"}, {0, 4, "corrupt_signal"}, {0, 5, "corrupt_signal"}};
  CHECK(result.failed == expected);
  CHECK(result.batch().view().list<std::int16_t>("raw_signal")[1].empty());
}

TEST_CASE("a record that says it has more samples than its bytes can hold ends the stream") {
  const TemporaryFolder folder;
  std::vector<Read> reads = some_reads();
  for (const RecordCompression compression : {RecordCompression::none, RecordCompression::zlib}) {
    std::string bytes = blow5(reads, compression, SignalCompression::none);
    if (compression == RecordCompression::none) {
      // The number of samples of the last record lies in front of its samples.
      const std::string last(reinterpret_cast<const char*>(reads.back().samples.data()), reads.back().samples.size() * 2);
      const std::size_t at = bytes.rfind(last) - 8;
      bytes[at + 6] = '\x7f';
    }
    const auto signal = open_signal(file_in(folder, "a.blow5", bytes)).batch();
    const Result result = run_stage<SignalStream>().resource("signal", signal).run();
    if (compression != RecordCompression::none) {
      CHECK(result.ok());
      continue;
    }
    CHECK(result.status == SLUICE_ERROR_INPUT);
    CHECK(says(result.message, "record " + std::to_string(reads.size()) + " says that it has "));
    for (const TestBatch& batch : result.batches) CHECK(batch.rows() < static_cast<std::int64_t>(reads.size()));
  }
}

TEST_CASE("an index that cannot be written whole stays in memory, with the reason, and leaves nothing") {
  const TemporaryFolder folder;
  const std::string path = file_in(folder, "a.blow5", blow5(some_reads(), RecordCompression::zlib, SignalCompression::svb_zd));
  const auto signal = open_signal(path).batch();
  {
    const SmallFiles full(40);
    const Result result = run_stage<SignalLookup>(read_ids({"read-1"})).resource("signal", signal).run().expect_rows(1);
    CHECK(result.logged("it is not kept: cannot write '" + path + ".idx': File too large"));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()) == 1);
}

TEST_CASE("with prefix_bases the beginnings of records are read and decoded, and whole records where they are not enough") {
  std::vector<Read> reads;
  for (std::uint32_t i = 0; i < 6; ++i) reads.push_back({"read-" + std::to_string(i), wandering_signal(60'000 + i, i)});
  reads[2].samples = wandering_signal(50, 2);
  std::fill_n(reads[3].samples.begin(), 50'000, std::int16_t{500});  // its strand begins late
  reads[4].samples.assign(60'000, 500);                              // and this one's never
  reads[5].samples.clear();
  const TemporaryFolder folder;
  std::vector<std::string> paths = {file_in(folder, "text.slow5", slow5(reads))};
  for (const auto record : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd})
    for (const auto signal : {SignalCompression::none, SignalCompression::svb_zd, SignalCompression::ex_zd})
      paths.push_back(file_in(folder, std::string(name(record)) + name(signal) + ".blow5", blow5(reads, record, signal)));
  for (const std::string& path : paths) {
    CAPTURE(path);
    const auto signal = open_signal(path).batch();
    const Result streamed =
        run_stage<SignalStream>().with({{"prefix_bases", "250"}}).resource("signal", signal).target_work(1e9).run().expect_rows(6);
    const auto records = streamed.batch().view();
    const Result whole = run_stage<SignalStream>().resource("signal", signal).target_work(1e9).run().expect_rows(6);
    for (std::int64_t row = 0; row < 6; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const std::string_view all = whole.batch().view().text("signal_record")[row];
      const std::string_view given = records.text("signal_record")[row];
      CHECK(records.text("read_id")[row] == reads[r].id);
      CHECK(records.column<std::int64_t>("record_bytes")[r] == static_cast<std::int64_t>(all.size()));
      CHECK(file_bytes(path).substr(static_cast<std::size_t>(records.column<std::int64_t>("record_offset")[r]) + (path.ends_with(".slow5") ? 0 : 8),
                                    all.size()) == all);
      CHECK(all.starts_with(given));
      if (row < 2 && says(path, "/none")) CHECK(given.size() < all.size() / 2);
    }
    const Result decoded = run_stage<SignalDecode>(streamed.batch()).with({{"prefix_bases", "250"}}).resource("signal", signal).run().expect_rows(6);
    const auto columns = decoded.batch().view();
    for (std::int64_t row = 0; row < 6; ++row) {
      const auto raw = columns.list<std::int16_t>("raw_signal")[row];
      const auto& samples = reads[static_cast<std::size_t>(row)].samples;
      CHECK(columns.column<std::int64_t>("sample_count")[static_cast<std::size_t>(row)] == static_cast<std::int64_t>(samples.size()));
      REQUIRE(raw.size() <= samples.size());
      CHECK(std::equal(raw.begin(), raw.end(), samples.begin()));
      if (row < 2) CHECK(raw.size() == 3022);
      if (row == 3) CHECK(raw.size() > 52'000);
      if (row == 4) CHECK(raw.size() == 60'000);
    }
    // What stands in front of an ex-zd signal is longer where many deltas are large.
    if (says(path, "/none")) CHECK(decoded.counters.at("records_read_again") == (says(path, "ex-zd") ? 4 : 2));
    // A stage that wants all takes beginnings, too.
    const Result all = run_stage<SignalDecode>(streamed.batch()).resource("signal", signal).run().expect_rows(6);
    for (std::int64_t row = 0; row < 6; ++row) {
      const auto raw = all.batch().view().list<std::int16_t>("raw_signal")[row];
      const auto& samples = reads[static_cast<std::size_t>(row)].samples;
      CHECK(std::equal(raw.begin(), raw.end(), samples.begin(), samples.end()));
    }
    // Without the columns that say where the rest is, records are given whole.
    const Result alone =
        run_stage<SignalStream>().with({{"prefix_bases", "250"}}).wanted({}).resource("signal", signal).target_work(1e9).run().expect_rows(6);
    CHECK(alone.batch().view().text("signal_record")[0] == whole.batch().view().text("signal_record")[0]);
  }
}

TEST_CASE("damage behind the beginning is not noticed, and a beginning whose rest is not there fails its row") {
  const Read read{"read-0", wandering_signal(60'000, 1)};
  const TemporaryFolder folder;
  std::string bytes = blow5({read}, RecordCompression::zlib, SignalCompression::svb_zd);
  bytes[bytes.size() - 2000] = static_cast<char>(bytes[bytes.size() - 2000] + 1);
  const auto signal = open_signal(file_in(folder, "a.blow5", bytes)).batch();
  const auto streamed = run_stage<SignalStream>().resource("signal", signal).run().expect_rows(1).batch();
  const Result whole = run_stage<SignalDecode>(streamed).resource("signal", signal).run();
  CHECK(whole.failed == std::vector<sluice::testing::FailedRow>{{0, 0, "corrupt_signal"}});
  const auto decode_beginning = [&](const TestBatch& batch) {
    return run_stage<SignalDecode>(batch).with({{"prefix_bases", "250"}}).resource("signal", signal).run();
  };
  CHECK(decode_beginning(streamed).expect_rows(1).batch().view().list<std::int16_t>("raw_signal")[0].size() == 3022);

  const std::string stored(streamed.view().text("signal_record")[0]);
  const auto place = [&](std::int64_t offset, std::int64_t size) {
    return BatchBuilder("read", 1)
        .text("read_id", {"read-0"})
        .binary("signal_record", {stored.substr(0, 1000)})
        .column<std::int64_t>("record_offset", {offset})
        .column<std::int64_t>("record_bytes", {size})
        .build();
  };
  const auto right = streamed.view().column<std::int64_t>("record_offset")[0];
  const auto size = static_cast<std::int64_t>(stored.size());
  CHECK(decode_beginning(place(right, size)).failed.empty());
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  for (const auto& [offset, all] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{right + 1, size},
                                                                                                {right, size - 1},
                                                                                                {right, size + 1},
                                                                                                {0, size},
                                                                                                {-1, size},
                                                                                                {least, size},
                                                                                                {most, size},
                                                                                                {right, most},
                                                                                                {right, 0},
                                                                                                {right, least}})
    CHECK(decode_beginning(place(offset, all)).failed == std::vector<sluice::testing::FailedRow>{{0, 0, "corrupt_signal"}});
}

TEST_CASE("the stages keep the stage contract with beginnings") {
  const TemporaryFolder folder;
  const std::vector<Read> reads = {{"a", wandering_signal(60'000, 1)}, {"b", wandering_signal(100, 2)}, {"c", std::vector<std::int16_t>(40'000, 5)}};
  const auto signal = open_signal(file_in(folder, "a.blow5", blow5(reads, RecordCompression::none, SignalCompression::svb_zd))).batch();
  const auto found = run_stage<SignalStream>().with({{"prefix_bases", "250"}}).resource("signal", signal).target_work(1e9).run().batch();
  CHECK(sluice::testing::contract_problems<SignalDecode>(
            {.parameters = {{"prefix_bases", "250"}}, .resources = {{"signal", signal}}, .batches = {found}}) == std::vector<std::string>{});
  CHECK(sluice::testing::contract_problems<SignalStream>({.parameters = {{"prefix_bases", "250"}}, .resources = {{"signal", signal}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("the stages keep the stage contract") {
  const TemporaryFolder folder;
  const auto signal = open_signal(file_in(folder, "a.blow5", blow5(some_reads(), RecordCompression::zstd, SignalCompression::svb_zd))).batch();
  const auto ids = read_ids({"read-3", "missing", "read-1"});
  // Idle soon: the suite tries `follow`, too, and one read never comes.
  for (const std::string& problem : sluice::testing::contract_problems<SignalLookup>(
           {.parameters = {{"follow_idle", "0.001"}}, .resources = {{"signal", signal}}, .batches = {ids}}))
    FAIL_CHECK(problem);
  const auto found = run_stage<SignalLookup>(ids).resource("signal", signal).run().batch();
  CHECK(sluice::testing::contract_problems<SignalDecode>({.resources = {{"signal", signal}}, .batches = {found}}) == std::vector<std::string>{});
  CHECK(sluice::testing::contract_problems<SignalStream>({.resources = {{"signal", signal}}}) == std::vector<std::string>{});
  CHECK(sluice::testing::contract_problems<SignalMetadata>({.resources = {{"signal", signal}}, .batches = {ids}}) == std::vector<std::string>{});
  const auto streamed = run_stage<SignalStream>().resource("signal", signal).target_work(1e9).run().batch();
  CHECK(sluice::testing::contract_problems<SignalMetadata>({.resources = {{"signal", signal}}, .batches = {streamed}}) == std::vector<std::string>{});
  CHECK(sluice::testing::contract_problems<SignalFileResource>({.parameters = {{"path", folder.path() + "/a.blow5"}}}) == std::vector<std::string>{});
}

TEST_CASE("a real svb-zd record gives the samples whose events f5c printed") {
  const std::string path = shared + "/data/ecoli_r9_real/reads.blow5";
  if (shared.empty() || !std::filesystem::exists(path)) {
    MESSAGE("skipped: ", path, " is absent");
    return;
  }
  const auto signal = open_signal(path).batch();
  const auto found =
      run_stage<SignalLookup>(read_ids({"0a238451-b9ed-446d-a152-badd074006c4"})).resource("signal", signal).run().expect_rows(1).batch();
  const auto decoded = run_stage<SignalDecode>(found).resource("signal", signal).run().expect_rows(1).batch();
  const auto raw = decoded.view().list<std::int16_t>("raw_signal")[0];
  const double unit = decoded.view().column<double>("range")[0] / decoded.view().column<double>("digitisation")[0];
  const double offset = decoded.view().column<double>("offset")[0];
  const auto mean = [&](std::size_t begin, std::size_t length) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + length; ++i) sum += (raw[i] + offset) * unit;
    return sum / static_cast<double>(length);
  };
  REQUIRE(raw.size() > 2048);
  CHECK(mean(0, 5) == doctest::Approx(131.010986));
  CHECK(mean(5, 6) == doctest::Approx(90.068581));
  CHECK(mean(1699, 4) == doctest::Approx(139.027206));
  CHECK(mean(2042, 6) == doctest::Approx(89.480675));
}

TEST_CASE("all reads of the shared sets decode") {
  if (shared.empty() || !std::filesystem::exists(shared + "/data")) {
    MESSAGE("skipped: ", shared, "/data is absent");
    return;
  }
  const std::pair<const char*, std::int64_t> sets[] = {{"ecoli_r10", 60},     {"ecoli_r9", 350},  {"ecoli_r9_real", 112},
                                                       {"human_r9_real", 10}, {"lambda_r9", 500}, {"lambda_r9_real", 250},
                                                       {"outliers_r9", 217},  {"rna004", 40},     {"rna_r9", 40}};
  for (const auto& entry : sets) {
    const auto& set = entry.first;
    const auto& reads = entry.second;
    CAPTURE(set);
    const auto signal = open_signal(shared + "/data/" + set + "/reads.blow5").batch();
    const Result streamed = run_stage<SignalStream>().resource("signal", signal).target_work(1e9).target_bytes(1ULL << 40).run().expect_rows(reads);
    const Result decoded = run_stage<SignalDecode>(streamed.batch()).resource("signal", signal).run().expect_rows(reads);
    const std::string chemistry(signal.view().attribute("chemistry"));
    CHECK(chemistry == (std::string(set) == "ecoli_r10" ? "dna_r10"
                        : std::string(set) == "rna004"  ? "rna_004"
                        : std::string(set) == "rna_r9"  ? "rna_r9"
                                                        : "dna_r9"));
  }
}

TEST_CASE("a read has its part of the signal that its tags name, whatever the file") {
  const auto reads = some_reads();
  const auto all = static_cast<std::int64_t>(reads[3].samples.size());
  REQUIRE(all > 20);
  const TemporaryFolder folder;
  const TestBatch children = BatchBuilder("read", 6)
                                 .text("read_id", {"child-1", "read-3", "child-2", "read-1", "child-3", "orphan"})
                                 .text("signal_read", {"read-3", "read-3", "read-3", "read-1", "read-3", "nobody"})
                                 .list<std::int64_t>("signal_part", {{2, 12, 3, -1, 0}, {4, all}, {0, 10, 3, -1, -1}, {}, {0, all, 3, -1, 0}, {}})
                                 .build();
  for (const auto signal_compression : {SignalCompression::none, SignalCompression::svb_zd}) {
    const std::string path =
        file_in(folder, std::string(name(signal_compression)) + ".blow5", blow5(reads, RecordCompression::zlib, signal_compression));
    const auto signal = open_signal(path).batch();
    const Result found = run_stage<SignalLookup>(children).resource("signal", signal).run();
    CHECK(found.failed == std::vector<sluice::testing::FailedRow>{{0, 4, "bad_signal_part"}, {0, 5, "no_signal"}});
    CHECK(found.logged("split reads whose tags say neither"));
    const auto begin = found.batch().view().column<std::int64_t>("signal_begin"), end = found.batch().view().column<std::int64_t>("signal_end");
    CHECK(begin[0] == 5);
    CHECK(end[0] == 15);
    CHECK(begin[3] == 0);
    CHECK(end[3] == -1);
    const Result decoded = run_stage<SignalDecode>(found.batch()).resource("signal", signal).run();
    const auto raw = decoded.batch().view().list<std::int16_t>("raw_signal");
    const auto is_part = [&](std::int64_t row, std::size_t read, std::int64_t first, std::int64_t last) {
      const auto& samples = reads[read].samples;
      return std::equal(raw[row].begin(), raw[row].end(), samples.begin() + first, samples.begin() + last);
    };
    CHECK(is_part(0, 3, 5, 15));
    CHECK(is_part(1, 3, 4, all));
    CHECK(is_part(2, 3, 3, 13));
    CHECK(is_part(3, 1, 0, static_cast<std::int64_t>(reads[1].samples.size())));
    CHECK(decoded.batch().view().column<std::int64_t>("sample_count")[0] == all);
  }
}
