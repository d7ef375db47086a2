// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_frequency/frequency_shards.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <thread>

using namespace sluice::methylation_frequency;
using sluice::Strand;

namespace {

const FrequencyShards::Parallel on_threads = [](std::size_t count, const auto& body) {
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 4; ++part)
    threads.emplace_back([&body, part, count] {
      for (std::size_t i = part; i < count; i += 4) body(i);
    });
  for (std::thread& thread : threads) thread.join();
};

std::string line_of(const Site& site) {
  std::string line(site.contig);
  for (const std::int64_t number : {site.start, site.end, std::int64_t{site.motifs}, static_cast<std::int64_t>(site.called_sites),
                                    static_cast<std::int64_t>(site.called_sites_methylated), static_cast<std::int64_t>(site.called_forward),
                                    static_cast<std::int64_t>(site.methylated_forward)})
    line += ' ' + std::to_string(number);
  return line + ' ' + std::string(site.sequence) + '\n';
}

}  // namespace

TEST_CASE("sites that are summed in shards are those of one accumulator") {
  std::mt19937 random(3);
  const std::vector<std::string> contigs = {"chr2", "chr10", "chr1"};
  const std::vector<std::string> sequences = {"AACGTT", "TACGACGGCGAA", "ACGCGCGT", "TTTT"};
  for (const Groups groups : {Groups::keep, Groups::split}) {
    FrequencyAccumulator one(2.5, groups);
    FrequencyShards many(2.5, groups);
    CHECK(many.sorted(on_threads).empty());
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const std::size_t kind = random() % sequences.size();
      const auto start = static_cast<std::int64_t>(random() % 3000) - 1;
      const Call call{.contig = contigs[random() % 3],
                      .start = start,
                      .end = start + static_cast<std::int64_t>(kind * 3) - (random() % 100 == 0 ? 10 : 0),
                      .motifs = static_cast<std::int32_t>(kind == 1 ? 3 : random() % 3),
                      .log_lik_ratio = random() % 50 == 0 ? std::nan("") : static_cast<double>(random() % 2000) / 100 - 10,
                      .strand = random() % 2 == 0 ? Strand::forward : Strand::reverse,
                      .sequence = sequences[kind],
                      .order = i};
      CHECK(many.add(call) == one.add(call));
      if (i % 777 == 0) many.count(on_threads);
    }
    many.count(on_threads);
    CHECK(many.waiting() == 0);
    CHECK(many.memory_bytes() > one.size() * 40);
    std::vector<std::uint32_t> order;
    one.sort(order);
    std::string expected, given;
    for (const std::uint32_t site : order) expected += line_of(one.site(site));
    for (const FrequencyShards::Place place : many.sorted(on_threads)) given += line_of(many.site(place));
    CHECK(order.size() > 3000);
    CHECK((given == expected));
  }
}
