// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// How the host lays out a batch for the device; the kernels themselves are checked by tests/gpu/abea_gpu_test.cu.
#ifdef SLUICE_WITH_CUDA

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <sluice/methods/abea/abea.hpp>
#include <vector>

#include "abea/cuda.hpp"
#include "simulated_read.hpp"

using namespace sluice::abea;

namespace {

struct Offsets {
  std::vector<std::int64_t> events{0}, kmers{0};
  void add(std::int64_t event_count, std::int64_t kmer_count) {
    events.push_back(events.back() + event_count);
    kmers.push_back(kmers.back() + kmer_count);
  }
};

Offsets random_offsets(std::size_t rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Offsets offsets;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto kmers = static_cast<std::int64_t>(random() % 9000);
    offsets.add(random() % 20 == 0 ? 0 : kmers + static_cast<std::int64_t>(random() % 5000), kmers);
  }
  return offsets;
}

// What a read takes in a part, as the header says it: 128 bytes for four bands, and a level for each k-mer.
std::int64_t trace_rows(const cuda::ReadPlan& read) { return (std::int64_t{read.event_count} + read.kmer_count + 2 + 3) / 4; }

}  // namespace

TEST_SUITE("abea: the plan of a batch for a device") {
  const simulation::Model model = simulation::make_model();

  TEST_CASE("without a limit of memory there is one part, with each row once and the longest reads first") {
    const Offsets offsets = random_offsets(500, 1);
    const cuda::BatchPlan plan = cuda::plan_batch(offsets.events, offsets.kmers, model.view(), {});
    REQUIRE(plan.parts.size() == 1);
    CHECK(plan.parts[0].first_read == 0);
    CHECK(plan.parts[0].read_count == 500);
    REQUIRE(plan.reads.size() == 500);
    std::vector<int> seen(500);
    for (std::size_t i = 0; i < plan.reads.size(); ++i) {
      const cuda::ReadPlan& read = plan.reads[i];
      ++seen[static_cast<std::size_t>(read.row)];
      CHECK(read.event_begin == offsets.events[static_cast<std::size_t>(read.row)]);
      CHECK(read.kmer_begin == offsets.kmers[static_cast<std::size_t>(read.row)]);
      if (i > 0) CHECK(plan.reads[i - 1].event_count + plan.reads[i - 1].kmer_count >= read.event_count + read.kmer_count);
    }
    CHECK(seen == std::vector<int>(500, 1));
  }

  TEST_CASE("parts follow each other, stay within the memory, and no two reads of a part share any of it") {
    const Offsets offsets = random_offsets(700, 2);
    for (const std::size_t limit : {std::size_t{1} << 20, std::size_t{4} << 20, std::size_t{40} << 20}) {
      const cuda::BatchPlan plan = cuda::plan_batch(offsets.events, offsets.kmers, model.view(), {}, {}, limit);
      CHECK(plan.parts.size() > 1);
      CHECK(plan.workspace_bytes <= limit);
      std::int64_t next = 0;
      for (const cuda::BatchPart& part : plan.parts) {
        CHECK(part.first_read == next);
        CHECK(part.read_count > 0);
        next += part.read_count;
        std::int64_t traces = 0, levels = 0, segments = 0;
        for (std::int64_t i = part.first_read; i < next; ++i) {
          const cuda::ReadPlan& read = plan.reads[static_cast<std::size_t>(i)];
          if (read.status != AlignmentStatus::ok) continue;
          CHECK(read.trace_begin >= traces);
          CHECK(read.level_begin >= levels);
          CHECK(read.segment_begin >= segments);
          traces = read.trace_begin + trace_rows(read);
          levels = read.level_begin + read.kmer_count;
          segments = read.segment_begin + std::int64_t{(read.kmer_count - 1) / 1024 + 1};
        }
        CHECK(levels <= part.level_count);
        CHECK(segments <= part.segment_count);
        CHECK(static_cast<std::size_t>(traces) * 128 + static_cast<std::size_t>(part.level_count) * 20 <= plan.workspace_bytes);
      }
      CHECK(next == 700);
    }
  }

  TEST_CASE("a read that alone exceeds the memory is a part of its own") {
    Offsets offsets;
    offsets.add(900, 400);
    offsets.add(40000, 20000);
    offsets.add(800, 400);
    const cuda::BatchPlan plan = cuda::plan_batch(offsets.events, offsets.kmers, model.view(), {}, {}, std::size_t{1} << 20);
    REQUIRE(plan.parts.size() == 2);
    CHECK(plan.reads[0].row == 1);
    CHECK(plan.parts[0].read_count == 1);
    CHECK(plan.parts[1].read_count == 2);
    CHECK(plan.workspace_bytes > std::size_t{1} << 20);
  }

  TEST_CASE("reads that cannot be aligned have the status of the CPU and take no traces") {
    Offsets offsets;
    offsets.add(0, 100);
    offsets.add(100, 0);
    offsets.add(100 * 105, 100);
    offsets.add(200, 100);
    offsets.add(std::int64_t{1} << 31, 100);
    offsets.add(300, 150);
    const std::vector<std::uint16_t> row_status{0, 0, 0, 1, 0, 0};
    const cuda::BatchPlan plan = cuda::plan_batch(offsets.events, offsets.kmers, model.view(), {}, row_status);
    std::vector<AlignmentStatus> status(6);
    for (const cuda::ReadPlan& read : plan.reads) status[static_cast<std::size_t>(read.row)] = read.status;
    CHECK(status[0] == AlignmentStatus::no_events);
    CHECK(status[1] == AlignmentStatus::too_few_kmers);
    CHECK(status[2] == AlignmentStatus::too_many_events_per_base);
    CHECK(status[3] == AlignmentStatus::output_size_mismatch);
    CHECK(status[4] == AlignmentStatus::read_too_long);
    CHECK(status[5] == AlignmentStatus::ok);
    CHECK(plan.workspace_bytes < 30000);
  }

  TEST_CASE("offsets that descend or differ in number make no reads, and an unequal model aligns none") {
    const std::vector<std::int64_t> descending{0, 100, 50}, ascending{0, 50, 100}, shorter{0, 50};
    const cuda::BatchPlan plan = cuda::plan_batch(descending, ascending, model.view(), {});
    REQUIRE(plan.reads.size() == 2);
    for (const cuda::ReadPlan& read : plan.reads) CHECK(read.status == (read.row == 0 ? AlignmentStatus::ok : AlignmentStatus::no_events));
    CHECK(cuda::plan_batch(ascending, shorter, model.view(), {}).reads.empty());
    CHECK(cuda::plan_batch({}, {}, model.view(), {}).parts.empty());
    simulation::Model unequal = model;
    unequal.level_stdv.pop_back();
    for (const cuda::ReadPlan& read : cuda::plan_batch(ascending, ascending, unequal.view(), {}).reads)
      CHECK(read.status == AlignmentStatus::invalid_model);
  }
}

#endif
