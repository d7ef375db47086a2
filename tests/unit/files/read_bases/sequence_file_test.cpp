// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Looking reads up from several threads at once.
#include "read_bases/sequence_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sluice/testing.hpp>
#include <thread>

#include "simulate_signal/counter_random.hpp"
#include "unit/files/written_files.hpp"

using namespace sluice::read_bases;
using sluice::simulate_signal::Purpose;
using sluice::simulate_signal::RandomStream;
using sluice::testing::TemporaryFolder;
using sluice::written_files::Packing;

namespace {

struct Read {
  std::string id, bases;
};
std::vector<Read> random_reads(std::size_t count) {
  std::vector<Read> reads;
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream random(7, i, Purpose::molecule);
    std::string bases(1 + random.below(i % 7 == 0 ? 90000 : 6000), 'A');
    for (char& base : bases) base = "ACGT"[random.below(4)];
    reads.push_back({"read" + std::to_string(i * 7919), bases});
  }
  return reads;
}

std::string write_reads(const std::string& path, const std::vector<Read>& reads, Packing packing) {
  std::string text;
  for (const Read& read : reads) text += "@" + read.id + " of a test\n" + read.bases + "\n+\n" + std::string(read.bases.size(), 'I') + "\n";
  return sluice::written_files::write_packed(path, text, packing);
}

// As many threads as parts, at most four.
void on_threads(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (std::size_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain)) body(begin, std::min(count, begin + grain));
    });
  for (std::thread& thread : threads) thread.join();
}

// Some reads of the file, in its order, with room for their bases.
struct Batch {
  std::vector<std::string> bases;
  std::vector<std::size_t> reads;
  std::vector<SequenceFile::Wanted> wanted;
  Batch(const SequenceFile& file, const std::vector<Read>& all, std::uint64_t seed) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (RandomStream random(seed, i, Purpose::placement); random.below(3) == 0) reads.push_back(i);
    bases.resize(reads.size());
    for (std::size_t i = 0; i < reads.size(); ++i) {
      bases[i].resize(all[reads[i]].bases.size());
      wanted.push_back({all[reads[i]].id, file.index().find(all[reads[i]].id), bases[i].data()});
    }
  }
  bool is_right(const std::vector<Read>& all) const {
    for (std::size_t i = 0; i < reads.size(); ++i)
      if (bases[i] != all[reads[i]].bases) return false;
    return true;
  }
};

void drop_from_memory(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  ::fsync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

std::string failure_of(SequenceFile& file, Batch& batch) {
  try {
    file.fetch(batch.wanted, on_threads);
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace

TEST_CASE("several batches of several threads get their reads, whether the file is in memory or not") {
  const std::vector<Read> reads = random_reads(150);
  for (const Packing packing : {Packing::plain, Packing::bgzf}) {
    const TemporaryFolder folder;
    OpenReport report;
    const std::string path = write_reads(folder.path() + "/r.fq", reads, packing);
    SequenceFile file(path, report);
    for (const bool in_memory : {true, false}) {
      if (!in_memory) drop_from_memory(path);
      std::vector<Batch> batches;
      for (std::uint64_t i = 0; i < 6; ++i) batches.emplace_back(file, reads, i);
      std::vector<std::thread> threads;
      for (Batch& batch : batches) threads.emplace_back([&] { file.fetch(batch.wanted, on_threads); });
      for (std::thread& thread : threads) thread.join();
      for (const Batch& batch : batches) CHECK(batch.is_right(reads));
    }
  }
}

TEST_CASE("a .gzi that turns out to be wrong is made again once, whoever notices it") {
  const std::vector<Read> reads = random_reads(100);
  const TemporaryFolder folder;
  const std::string path = write_reads(folder.path() + "/r.fq.gz", reads, Packing::bgzf);
  OpenReport report;
  { SequenceFile made(path, report); }
  const std::string gzi = sluice::testing::detail::file_bytes(path + ".gzi");
  for (std::uint64_t i = 0; i < 20; ++i) {
    RandomStream random(8, i, Purpose::errors);
    std::string bytes = gzi;
    bytes[8 + random.below(bytes.size() - 8)] ^= static_cast<char>(1U << random.below(4));
    sluice::written_files::write_file(path + ".gzi", bytes);
    SequenceFile file(path, report);
    std::vector<Batch> batches;
    for (std::uint64_t b = 0; b < 4; ++b) batches.emplace_back(file, reads, b);
    std::vector<std::thread> threads;
    for (Batch& batch : batches) threads.emplace_back([&] { file.fetch(batch.wanted, on_threads); });
    for (std::thread& thread : threads) thread.join();
    for (const Batch& batch : batches) CHECK(batch.is_right(reads));
  }
}

TEST_CASE("of several reads in damaged blocks the first in the file is the one that is named") {
  const std::vector<Read> reads = random_reads(120);
  const TemporaryFolder folder;
  const std::string path = write_reads(folder.path() + "/r.fq.gz", reads, Packing::bgzf);
  OpenReport report;
  { SequenceFile made(path, report); }
  std::string bytes = sluice::testing::detail::file_bytes(path);
  for (std::size_t at = bytes.size() / 3; at < bytes.size() - 100; at += 20000) bytes[at] ^= 0x10;
  sluice::written_files::write_file(path, bytes);
  const auto later = std::filesystem::last_write_time(path) + std::chrono::seconds(10);
  for (const char* index : {".fai", ".gzi"}) std::filesystem::last_write_time(path + index, later);
  std::string first;
  for (int round = 0; round < 20; ++round) {
    SequenceFile file(path, report);
    Batch batch(file, reads, 1);
    const std::string failure = failure_of(file, batch);
    CHECK(failure.find("' has no whole BGZF block of ") != std::string::npos);
    if (round == 0) first = failure;
    CHECK(failure == first);
  }
}
