// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <string>
#include <vector>

#include "simulated_read.hpp"

namespace sluice::abea {
namespace {

using sluice::testing::BatchBuilder;
using sluice::testing::TestBatch;

TestBatch batch_of(const std::vector<simulation::Read>& reads) {
  std::vector<std::vector<float>> events;
  std::vector<std::vector<std::uint32_t>> ranks;
  std::vector<float> shift, scale;
  for (const simulation::Read& read : reads) {
    events.push_back(read.event_means);
    ranks.push_back(read.kmer_ranks);
    shift.push_back(read.scaling.shift);
    scale.push_back(read.scaling.scale);
  }
  return BatchBuilder("read", static_cast<std::int64_t>(reads.size()))
      .list<float>("event_mean", events)
      .list<std::uint32_t>("kmer_rank", ranks)
      .column<float>("moment_shift", shift)
      .column<float>("moment_scale", scale)
      .build();
}

TEST_CASE("a read whose traces take more than is kept leaves nothing behind") {
  const simulation::Model model = simulation::make_model();
  const auto read_of = [&](std::size_t kmers, std::uint64_t seed) {
    simulation::ReadParameters parameters;
    parameters.kmer_count = kmers;
    return simulation::make_read(model, parameters, seed);
  };
  const auto resource = BatchBuilder("kmer", static_cast<std::int64_t>(model.level_mean.size()))
                            .column<float>("level_mean", model.level_mean)
                            .column<float>("level_stdv", model.level_stdv)
                            .column<float>("log_level_stdv", model.log_level_stdv)
                            .attribute("k", std::to_string(model.k))
                            .attribute("alphabet", "nucleotide")
                            .build();
  std::vector<simulation::Read> small;
  for (const std::size_t kmers : {3000U, 50U, 700U, 1U, 20000U}) small.push_back(read_of(kmers, kmers));
  const simulation::Read huge = read_of(180'000, 9);
  REQUIRE(abea_workspace_bytes(huge.event_means.size(), huge.kmer_ranks.size()) > std::size_t{17} << 20);
  const auto* plugin = sluice::testing::load_plugin(SLUICE_PLUGIN_DIR "/abea.so");
  const sluice::testing::ContractSample sample{.resources = {{"model", resource}}, .batches = {batch_of(small)}};
  CHECK(sluice::testing::kept_memory_problems(sluice::testing::stage_of(*plugin, "abea"), sample, batch_of({huge})) == std::vector<std::string>{});
}

}  // namespace
}  // namespace sluice::abea
