// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What the device finds of chains must give the hits that the CPU finds from their anchors; what no stage gives is left to the host, and nothing
// else. Amount: millions of anchors.

#include <cstdio>

#include "gpu/kernel_check.hpp"
#include "gpu/simulated_chains.hpp"
#include "hit_selection/cuda.hpp"

namespace {

using namespace sluice::gpu_test;
using namespace sluice::hit_selection;
using simulated::ChainedRead;

int failures = 0;
const std::vector<std::int32_t> targets = {2'000'000, 700, 90'000, 40};

template <class T>
class ListColumn {
 public:
  template <class Member>
  ListColumn(const std::vector<ChainedRead>& reads, Member member) : offsets_(offsets_of(reads, member)), values_(values_of(reads, member)) {}
  cuda::Lists<T> lists() const { return {offsets_.data(), values_.data(), static_cast<std::int64_t>(values_.size())}; }

 private:
  template <class Member>
  static std::vector<std::int64_t> offsets_of(const std::vector<ChainedRead>& reads, Member member) {
    std::vector<std::int64_t> offsets{0};
    for (const ChainedRead& read : reads) offsets.push_back(offsets.back() + static_cast<std::int64_t>((read.*member).size()));
    return offsets;
  }
  template <class Member>
  static std::vector<T> values_of(const std::vector<ChainedRead>& reads, Member member) {
    std::vector<T> values;
    for (const ChainedRead& read : reads) values.insert(values.end(), (read.*member).begin(), (read.*member).end());
    return values;
  }
  DeviceArray<std::int64_t> offsets_;
  DeviceArray<T> values_;
};

class Measurer {
 public:
  Measurer(const std::vector<ChainedRead>& reads, const std::vector<std::uint16_t>& status)
      : length_(lengths(reads)),
        status_(status),
        seeds_(reads, &ChainedRead::seeds),
        x_(reads, &ChainedRead::x),
        y_(reads, &ChainedRead::y),
        score_(reads, &ChainedRead::score),
        count_(reads, &ChainedRead::count),
        targets_(targets),
        first_word_(first_words(reads)),
        words_(static_cast<std::size_t>(first_words(reads).back())),
        rows_(reads.size(), Contents::poison),
        first_anchor_(static_cast<std::size_t>(count_.lists().count), Contents::poison),
        chain_row_(static_cast<std::size_t>(count_.lists().count), Contents::poison),
        chains_(static_cast<std::size_t>(count_.lists().count), Contents::poison) {
    reads_ = {static_cast<std::int64_t>(reads.size()),
              status_.data(),
              length_.data(),
              seeds_.lists(),
              score_.lists(),
              count_.lists(),
              x_.lists(),
              y_.lists()};
  }
  void run() {
    words_.fill_bytes(0);
    const cuda::Workspace workspace{first_word_.data(), words_.data(), first_anchor_.data(), chain_row_.data()};
    require(cuda::prepare_rows(reads_, workspace, rows_.data(), nullptr), "prepare_rows");
    require(
        cuda::measure_chains(reads_, {targets_.data(), static_cast<std::uint32_t>(targets.size())}, workspace, rows_.data(), chains_.data(), nullptr),
        "measure_chains");
    require(cudaDeviceSynchronize(), "the kernels");
  }
  std::vector<cuda::MeasuredRow> rows() const { return rows_.download(); }
  std::vector<MeasuredChain> chains() const { return chains_.download(); }

 private:
  static std::vector<std::int32_t> lengths(const std::vector<ChainedRead>& reads) {
    std::vector<std::int32_t> lengths;
    for (const ChainedRead& read : reads) lengths.push_back(read.length);
    return lengths;
  }
  static std::vector<std::int64_t> first_words(const std::vector<ChainedRead>& reads) {
    std::vector<std::int64_t> first{0};
    for (const ChainedRead& read : reads) first.push_back(first.back() + cuda::seed_words(std::max(read.length, 0)));
    return first;
  }
  DeviceArray<std::int32_t> length_;
  DeviceArray<std::uint16_t> status_;
  ListColumn<std::uint64_t> seeds_, x_, y_;
  ListColumn<std::int32_t> score_, count_;
  DeviceArray<std::int32_t> targets_;
  DeviceArray<std::int64_t> first_word_;
  DeviceArray<cuda::SeedWord> words_;
  DeviceArray<cuda::MeasuredRow> rows_;
  DeviceArray<std::int64_t> first_anchor_;
  DeviceArray<std::uint32_t> chain_row_;
  DeviceArray<MeasuredChain> chains_;
  cuda::DeviceReads reads_;
};

bool ascending(const ChainedRead& read) {
  std::int64_t last = -1;
  for (const std::uint64_t seed : read.seeds) {
    const auto at = static_cast<std::int64_t>(position(seed));
    if (at <= last || at >= read.length) return false;
    last = at;
  }
  return true;
}

bool same_hits(const ChainedRead& read, const ReadChains& measured) {
  for (const Selection selection : {Selection::all, Selection::best}) {
    SelectionScratch scratch;
    std::vector<Hit> wanted, got;
    const Settings settings{.selection = selection};
    select_hits(read.view(), targets, settings, scratch, wanted);
    select_hits(measured, targets, settings, scratch, got);
    if (wanted.size() != got.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (simulated::fields(wanted[i]) != simulated::fields(got[i])) return false;
  }
  return true;
}

void check(const char* name, const std::vector<ChainedRead>& reads) {
  std::vector<std::uint16_t> status(reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) status[i] = i % 17 == 16 ? 1 : 0;
  Measurer measurer(reads, status);
  measurer.run();
  const std::vector<cuda::MeasuredRow> rows = measurer.rows();
  const std::vector<MeasuredChain> chains = measurer.chains();
  std::size_t first = 0, by_host = 0, compared = 0, wrong = 0;
  for (std::size_t i = 0; i < reads.size(); first += reads[i++].count.size()) {
    if (status[i] != 0) continue;
    ReadChains read = reads[i].view();
    const bool fine = problem_of(read, targets).empty() && ascending(reads[i]);
    by_host += rows[i].by_host;
    if (fine != (rows[i].by_host == 0)) {
      ++wrong;
    } else if (fine && !reads[i].count.empty()) {
      read.anchors = {};
      read.seed_position = {};
      read.measured = std::span(chains).subspan(first, reads[i].count.size());
      read.mean_span = mean_span_of(rows[i].spans, reads[i].seeds.size());
      wrong += same_hits(reads[i], read) ? 0 : 1;
      ++compared;
    }
  }
  std::printf("%s %s: %zu reads, %zu compared, %zu for the host, %zu wrong\n", wrong == 0 ? "ok  " : "FAIL", name, reads.size(), compared, by_host,
              wrong);
  if (wrong > 0 || compared == 0) ++failures;
}

void measure(double millions, int runs) {
  simulated::ChainMaker make(3, targets);
  std::vector<ChainedRead> reads;
  for (std::size_t anchors = 0; static_cast<double>(anchors) < millions * 1e6; anchors += reads.back().x.size())
    reads.push_back(make.read(8000, 155, 600));
  Measurer measurer(reads, std::vector<std::uint16_t>(reads.size()));
  std::size_t anchors = 0;
  for (const ChainedRead& read : reads) anchors += read.x.size();
  const double milliseconds = median_milliseconds(runs, [&] { measurer.run(); });
  const double bytes = static_cast<double>(anchors) * 16;
  std::printf("TIME measured chains %8.3f ms, %.1f M anchors: %.0f GB/s of them\n", milliseconds, static_cast<double>(anchors) / 1e6,
              bytes / 1e6 / milliseconds);
}

}  // namespace

int main(int count, char** arguments) {
  const CommandLine command = parse_command_line(count, arguments, 30);
  if (command.checks != Extent::none) {
    const std::size_t reads = command.checks == Extent::small ? 100 : 4000;
    simulated::ChainMaker make(1, targets);
    std::vector<ChainedRead> good, damaged, short_ones;
    for (std::size_t i = 0; i < reads; ++i) {
      good.push_back(make.read(static_cast<std::int32_t>(200 + make.below(20000)), make.below(200), 1 + make.below(600)));
      short_ones.push_back(make.read(static_cast<std::int32_t>(46 + make.below(60)), make.below(5), 1 + make.below(4)));
      damaged.push_back(make.damaged(make.read(static_cast<std::int32_t>(200 + make.below(3000)), 1 + make.below(20), 1 + make.below(60))));
    }
    damaged.front().length = 0;
    check("good reads", good);
    check("short reads", short_ones);
    check("damaged reads", damaged);
    check("one read of many anchors", {make.read(1'500'000, 20, 200'000)});
  }
  if (command.amount > 0) measure(command.amount, command.runs);
  std::printf(failures == 0 ? "all the same\n" : "FAILED: %d sets differ\n", failures);
  return failures == 0 ? 0 : 1;
}
