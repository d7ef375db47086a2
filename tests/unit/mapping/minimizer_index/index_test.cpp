// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sluice/testing.hpp>
#include <string>
#include <thread>
#include <vector>

#include "minimizer_index/stage.cpp"  // the stage class has no header of its own

using namespace sluice;
using namespace sluice::minimizer_index;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;

namespace {

std::string random_bases(std::mt19937& random, std::size_t length) {
  std::string bases;
  for (std::size_t i = 0; i < length; ++i) bases += "ACGT"[random() % 4];
  return bases;
}

struct Contig {
  std::string name, bases;
};
// Repeats, ambiguous bases, lower case, an empty contig and one longer than a part.
std::vector<Contig> made_up_contigs(std::mt19937& random) {
  const std::string repeat = random_bases(random, 500);
  std::vector<Contig> contigs{{"long", random_bases(random, 600000)}, {"empty", ""}, {"short", "ACGT"}, {"all_ambiguous", std::string(100, 'N')}};
  for (int i = 0; i < 50; ++i) {
    std::string bases = random_bases(random, random() % 5000) + repeat + std::string(random() % 40, "NnRy"[random() % 4]) + repeat;
    for (char& base : bases)
      if (random() % 3 == 0) base = static_cast<char>(base | 0x20);
    contigs.push_back({"c" + std::to_string(i), bases});
  }
  for (int i = 0; i < 30; ++i) contigs[0].bases.replace(random() % 599000, 500, repeat);
  contigs[0].bases.replace(300000, 3, "NNN");
  contigs[0].bases.replace((1 << 18) - 2, 1, "N");
  return contigs;
}

std::string fasta(const std::vector<Contig>& contigs, std::size_t width = 60) {
  std::string text;
  for (const Contig& contig : contigs) {
    text += ">" + contig.name + " and more\n";
    for (std::size_t i = 0; i < contig.bases.size(); i += width) text += contig.bases.substr(i, width) + "\n";
  }
  return text;
}

// A new file each time: some file systems wait for the disk when a file is cut and written again.
std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder.path() + "/" + name;
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}
std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const ForEach one_thread = [](std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
};
ForEach on_threads(std::size_t threads) {
  return [threads](std::size_t count, const std::function<void(std::size_t)>& body) {
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t)
      running.emplace_back([&] {
        for (std::size_t i; (i = next++) < count;) body(i);
      });
    for (std::thread& thread : running) thread.join();
  };
}

MinimizerIndex build(const std::string& path, const SketchParameters& p, const ForEach& for_each, std::size_t memory = build_bytes) {
  ReferenceBases reference = read_sequences({path}, sketch_kernels(), [] { return false; });
  MinimizerTable table = build_table(sketch_parts(reference, p, sketch_kernels()), for_each, memory);
  return make_index(p, std::move(reference), std::move(table));
}

std::string bytes_of(const MinimizerIndexView& view) {
  std::string bytes;
  write_index(view, {"made up", 0, 0}, one_thread, [&](std::string_view part) { bytes += part; });
  return bytes;
}

using Positions = std::map<std::uint64_t, std::vector<std::uint64_t>>;
Positions positions_of(const std::vector<Contig>& contigs, const SketchParameters& p) {
  Positions positions;
  SketchScratch scratch;
  for (std::size_t i = 0; i < contigs.size(); ++i) {
    std::vector<Minimizer> minimizers;
    sketch_one_by_one(pack_bases(contigs[i].bases, sketch_kernels(), scratch), p, minimizers);
    for (const Minimizer& m : minimizers) positions[m.x >> 8].push_back(static_cast<std::uint64_t>(i) << 32 | m.y);
  }
  return positions;
}

void check_positions(const MinimizerIndexView& view, const Positions& positions) {
  std::size_t keys = 0;
  for (std::size_t i = 0; i < view.slots.size(); i += 2) keys += view.slots[i] != empty_slot ? 1 : 0;
  CHECK(keys == positions.size());
  for (const auto& [hash, list] : positions) {
    const MinimizerOccurrences found = view.find(hash);
    REQUIRE(std::vector<std::uint64_t>(found.positions, found.positions + found.count) == list);
    const std::uint64_t other = hash + 1;
    if (!positions.contains(other)) REQUIRE(view.find(other).count == 0);
  }
}

Result load(const sluice::testing::ParameterTexts& parameters) { return run_stage<MinimizerIndexResource>().with(parameters).run(); }
bool says(const Result& result, const std::string& part) { return result.message.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("counts of minimizers are those of the table, whatever the memory and the threads") {
  std::mt19937 random(77);
  std::string bases = random_bases(random, 60000);
  for (int i = 0; i < 30; ++i) bases += bases.substr(1000, 300 + 10 * static_cast<std::size_t>(i));
  const TemporaryFolder folder;
  const std::string path = write(folder, "counted.fa", ">a\n" + bases + "\n>b\n" + bases.substr(0, 5000) + "\n");
  const SketchParameters sketching{15, 5};
  ReferenceBases reference = read_sequences({path}, sketch_kernels(), [] { return false; });
  const MinimizerParts parts = sketch_parts(reference, sketching, sketch_kernels());
  const MinimizerIndex whole = build(path, sketching, one_thread);
  for (const std::size_t memory : {build_bytes, std::size_t{200000}, std::size_t{1}}) {
    const auto counts = minimizer_table::count_minimizers(parts, 10, on_threads(3), memory);
    CHECK(std::ranges::equal(counts.occurrence_count, whole.view.occurrence_count));
    CHECK(std::ranges::equal(counts.occurrence_minimizers, whole.view.occurrence_minimizers));
    std::uint64_t frequent = 0;
    for (std::size_t c = 0; c < counts.occurrence_count.size(); ++c)
      if (counts.occurrence_count[c] > 10) frequent += counts.occurrence_minimizers[c];
    REQUIRE(frequent > 0);
    CHECK(counts.frequent_hash.size() == frequent);
    for (std::size_t h = 0; h < counts.frequent_hash.size(); ++h) REQUIRE(whole.view.find(counts.frequent_hash[h]).count == counts.frequent_count[h]);
  }
}

TEST_CASE("more bases than part_bases make an index in parts of whole sequences, without a table") {
  std::mt19937 random(78);
  const TemporaryFolder folder;
  std::string fasta;
  for (const std::size_t length : {300, 400, 900, 100, 2500, 50}) fasta += ">c" + std::to_string(length) + "\n" + random_bases(random, length) + "\n";
  const std::string path = write(folder, "parts.fa", fasta);
  const auto begins = [&](const char* part_bases, const sluice::testing::ParameterTexts& more = {}) {
    sluice::testing::ParameterTexts given{{"path", path}, {"part_bases", part_bases}};
    given.insert(more.begin(), more.end());
    const Result result = load(given);
    REQUIRE(result.ok());
    const MinimizerIndexView view = minimizer_index_view(result.batch().view());
    if (!more.contains("seeds")) CHECK((view.parts() == 1) == (view.slots.size() > 16));
    return std::vector<std::int64_t>(view.part_begin.begin(), view.part_begin.end());
  };
  CHECK(begins("1000") == std::vector<std::int64_t>{0, 2, 4, 5, 6});
  CHECK(begins("1") == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(begins("4250").empty());
  CHECK(begins("0").empty());
  CHECK(begins("1000", {{"save", folder.path() + "/saved.index"}}).empty());
  CHECK(begins("1000", {{"seeds", "mem"}}).empty());
}

TEST_CASE("the index has every minimizer with all its positions, and the bases") {
  std::mt19937 random(1);
  const std::vector<Contig> contigs = made_up_contigs(random);
  const TemporaryFolder folder;
  const std::string path = write(folder, "reference.fa", fasta(contigs));
  for (const auto& kmers : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{15, 10}, {4, 3}, {14, 5}, {19, 19}, {28, 255}}) {
    const std::uint32_t k = kmers.first, w = kmers.second;
    for (const auto homopolymers : {HomopolymerCompression::off, HomopolymerCompression::on}) {
      const SketchParameters p{k, w, homopolymers};
      CAPTURE(k);
      const MinimizerIndex index = build(path, p, one_thread);
      check_positions(index.view, positions_of(contigs, p));
      std::uint64_t distinct = 0;
      for (const std::uint64_t minimizers : index.view.occurrence_minimizers) distinct += minimizers;
      CHECK(distinct == positions_of(contigs, p).size());
    }
  }
  const MinimizerIndex index = build(path, {}, one_thread);
  std::size_t gap = 0;
  for (std::size_t i = 0; i < contigs.size(); ++i) {
    REQUIRE(index.view.contig_name(i) == contigs[i].name);
    REQUIRE(index.view.contig_length[i] == static_cast<std::int32_t>(contigs[i].bases.size()));
    for (std::uint32_t place = 0; place < contigs[i].bases.size(); ++place) {
      const std::uint8_t code = nucleotide_code(contigs[i].bases[place]);
      REQUIRE(index.view.base(i, place) == code % 4U);
      const std::int64_t at = index.view.contig_base_begin[i] + place;
      while (gap < index.view.ambiguous_end.size() && index.view.ambiguous_end[gap] <= at) ++gap;
      REQUIRE((code == 4) == (gap < index.view.ambiguous_end.size() && index.view.ambiguous_begin[gap] <= at));
    }
  }
}

TEST_CASE("the index has the same bytes with any number of threads and however little memory") {
  std::mt19937 random(2);
  const TemporaryFolder folder;
  const std::vector<Contig> contigs = made_up_contigs(random);
  const std::string path = write(folder, "reference.fa", fasta(contigs));
  for (const std::uint32_t k : {12U, 15U, 19U}) {
    const std::string expected = bytes_of(build(path, {k, 10}, one_thread).view);
    for (const std::size_t threads : {2, 7}) CHECK(bytes_of(build(path, {k, 10}, on_threads(threads)).view) == expected);
    const MinimizerIndex in_groups = build(path, {k, 10}, on_threads(2), 2000000);
    check_positions(in_groups.view, positions_of(contigs, {k, 10}));
    CHECK(bytes_of(in_groups.view) == bytes_of(build(path, {k, 10}, one_thread, 2000000).view));
  }
}

TEST_CASE("FASTA and FASTQ, compressed or not, with any line ends, give the same index") {
  std::mt19937 random(3);
  const std::vector<Contig> contigs = made_up_contigs(random);
  const TemporaryFolder folder;
  const std::string expected = bytes_of(build(write(folder, "a.fa", fasta(contigs)), {}, one_thread).view);
  std::string crlf, fastq, one_line = fasta(contigs, 1 << 20);
  for (const char c : fasta(contigs, 7)) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const Contig& contig : contigs) fastq += "@" + contig.name + "\n" + contig.bases + "\n+\n" + std::string(contig.bases.size(), '@') + "\n";
  CHECK(bytes_of(build(write(folder, "b.fa", crlf), {}, one_thread).view) == expected);
  CHECK(bytes_of(build(write(folder, "c.fq", fastq), {}, one_thread).view) == expected);
  one_line.pop_back();
  CHECK(bytes_of(build(write(folder, "d.fa", "\n\n" + one_line), {}, one_thread).view) == expected);
  const std::string compressed = folder.path() + "/e.fa.gz";
  gzFile file = gzopen(compressed.c_str(), "wb");
  gzwrite(file, one_line.data(), static_cast<unsigned>(one_line.size()));
  gzclose(file);
  CHECK(bytes_of(build(compressed, {}, one_thread).view) == expected);
}

TEST_CASE("a saved index is mapped as it was, and refused if anything is wrong with it") {
  std::mt19937 random(4);
  const TemporaryFolder folder;
  const std::string source =
      write(folder, "r.fa", ">a\n" + random_bases(random, 300) + "NN" + random_bases(random, 80) + "\n>b\n" + random_bases(random, 50) + "\n");
  const std::string saved = folder.path() + "/saved.index";
  Result made = load({{"path", source}, {"k", "9"}, {"w", "4"}, {"save", saved}});
  REQUIRE(made.message == "");
  const std::string bytes = made.files.at(saved);
  write(folder, "saved.index", bytes);
  REQUIRE(bytes.size() > 1000);
  Result mapped = load({{"path", saved}});
  REQUIRE(mapped.message == "");
  const auto view = [](const Result& result) { return minimizer_index_view(result.batch().view()); };
  CHECK(bytes_of(view(mapped)) == bytes_of(view(made)));
  CHECK(says(load({{"path", saved}, {"k", "15"}}), "was made with k = 9, not 15"));
  CHECK(says(load({{"path", saved}, {"w", "10"}}), "was made with w = 4, not 10"));
  CHECK(says(load({{"path", saved}, {"hpc", "true"}}), "hpc = 0, not 1"));

  const std::string broken = folder.path() + "/broken";
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    write(folder, "broken", bytes.substr(0, length));
    const Result result = load({{"path", broken}});
    REQUIRE(result.status == SLUICE_ERROR_INPUT);
  }
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1 << random() % 8);
    write(folder, "broken", changed);
    refused += load({{"path", broken}}).status == SLUICE_ERROR_INPUT ? 1 : 0;
  }
  // Between columns up to 63 bytes belong to none.
  CHECK(refused > bytes.size() - 12 * 64);

  std::ofstream(source, std::ios::app) << "ACGT\n";
  CHECK(says(load({{"path", saved}}), "is stale"));
  std::filesystem::remove(source);
  CHECK(load({{"path", saved}}).message == "");
}

TEST_CASE("what is not a reference is refused with the place") {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) { return load({{"path", write(folder, "x.fa", text)}}).message; };
  const auto has = [&](const std::string& text, const std::string& part) { return message(text).find(part) != std::string::npos; };
  CHECK(load({{"path", folder.path() + "/absent.fa"}}).message.find("cannot open reference") != std::string::npos);
  CHECK(has("", "is empty"));
  CHECK(has("\n\n", "is empty"));
  CHECK(has(">one\n\n>two\n", "none of its sequences has a base"));
  CHECK(has("ACGT\n", "line 1: the file starts with neither '>' nor '@'"));
  CHECK(has(">a\nAC\n>b\nAC\n>a\n", "line 5: there is an earlier sequence named 'a'"));
  CHECK(has("> \nAC\n", "the record has no name"));
  CHECK(has("@a\nACGT\n+\nIII", "ends within the qualities of 'a'"));
  CHECK(has("@a\nACGT\n+\nIIIII\n", "line 4: the qualities of 'a' are longer"));
  CHECK(has("@a\nACGT\n+", "ends within the qualities of 'a'"));
  CHECK(has("SLUICEMI", "is truncated"));
  CHECK(has("MMI\3", "is of version 3"));
  CHECK(has("MMI\2abc", "is truncated"));
  CHECK(message(">a\nACGT\n") == "");
}

TEST_CASE("an index of minimap2 gives the minimizers that the sequences give") {
  if (std::system("minimap2 --version > /dev/null 2>&1") != 0) {
    MESSAGE("skipped: there is no minimap2 to make one");
    return;
  }
  std::mt19937 random(6);
  const std::vector<Contig> contigs = made_up_contigs(random);
  const TemporaryFolder folder;
  const std::string source = write(folder, "r.fa", fasta(contigs));
  const auto make = [&](const std::string& options) {
    const std::string path = folder.path() + "/r.mmi";
    REQUIRE(std::system(("minimap2 " + options + " -d " + path + " " + source + " 2> /dev/null").c_str()) == 0);
    return path;
  };
  const auto bytes = [&](const std::string& path) {
    Minimap2Index read = read_minimap2_index(path, sketch_kernels());
    MinimizerTable table = build_table(read.parts(), one_thread);
    return bytes_of(make_index(read.parameters, std::move(read.reference), std::move(table)).view);
  };
  CHECK(bytes(make("-k 15 -w 10")) == bytes_of(build(source, {15, 10}, one_thread).view));
  CHECK(bytes(make("-k 12 -w 5 -H")) == bytes_of(build(source, {12, 5, HomopolymerCompression::on}, one_thread).view));
  CHECK(bytes(make("-k 19 -w 19 -I 1000")) == bytes_of(build(source, {19, 19}, one_thread).view));  // in parts

  const std::string small = write(folder, "s.fa", ">a\n" + random_bases(random, 100) + "\n>b\n" + random_bases(random, 50) + "\n");
  REQUIRE(std::system(("minimap2 -k 5 -w 3 -d " + small + ".mmi " + small + " 2> /dev/null").c_str()) == 0);
  const std::string whole = read(small + ".mmi");
  const std::string broken = folder.path() + "/broken";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(folder, "broken", whole.substr(0, length));
    REQUIRE(load({{"path", broken}}).status == SLUICE_ERROR_INPUT);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {  // anything but a crash
    std::string changed = whole;
    changed[at] = static_cast<char>(random());
    write(folder, "broken", changed);
    const Result result = load({{"path", broken}});
    REQUIRE((result.status == SLUICE_OK || result.status == SLUICE_ERROR_INPUT));
  }
}

TEST_CASE("of a minimizer with more positions than asked for those of the same contigs stay, whatever the threads") {
  // 300 contigs of the same bases, each with a few of its own.
  std::mt19937 random(8);
  const auto bases = [&](std::size_t count) {
    std::string text(count, 'A');
    for (char& base : text) base = "ACGT"[random() % 4];
    return text;
  };
  const std::string shared = bases(2000);
  std::string fasta;
  for (int i = 0; i < 300; ++i) fasta += ">c" + std::to_string(i) + "\n" + shared + bases(200) + "\n";
  const TemporaryFolder folder;
  ReferenceBases reference = read_sequences({write(folder, "c.fa", fasta)}, sketch_kernels(), [] { return false; });
  const MinimizerParts parts = sketch_parts(reference, {15, 10}, sketch_kernels());
  const MinimizerTable all = build_table(parts, one_thread), some = build_table(parts, one_thread, build_bytes, 40),
                       more_threads = build_table(parts, on_threads(3), build_bytes / 100000, 40);
  CHECK(all.occurrence_count.back() >= 300);
  CHECK(some.occurrence_count.back() == 40);
  CHECK(some.occurrence_count.front() == 1);
  CHECK(some.occurrence_minimizers.front() == all.occurrence_minimizers.front());
  CHECK(std::equal(some.positions.span().begin(), some.positions.span().end(), more_threads.positions.span().begin(),
                   more_threads.positions.span().end()));
  std::set<std::uint64_t> contigs;
  for (const std::uint64_t position : some.positions.span())
    if ((position & 0xFFFFFFFF) >> 1 < 1900) contigs.insert(position >> 32);  // what lies behind is near their own bases
  CHECK(contigs.size() == 40);
}
