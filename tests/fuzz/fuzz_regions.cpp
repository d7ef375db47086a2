// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as places on a reference: one region, a BED file or a table of them, and the conditions of channels.
// Run: build/fuzz/bin/fuzz_regions -max_len=2000 CORPUS tests/fuzz/regions_seeds
#include <sluice/region.hpp>

#include "fuzzed_file.hpp"
#include "read_until_actions/conditions.hpp"
#include "target_regions/regions.hpp"

using namespace fuzzing;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  read_or_refuse([&] {
    const auto length_of = [](std::string_view contig) {
      return contig == "chr1" || contig == "A*01:01" ? std::optional<std::int64_t>(1000) : std::nullopt;
    };
    const sluice::Region region = sluice::resolve_region(std::string(text), length_of, "the fuzzer");
    require(region.start >= 0 && region.start < region.end && length_of(region.contig));
  });
  std::string problem;
  std::vector<sluice::target_regions::TargetRegion> regions;
  const sluice::target_regions::Contig contigs[] = {{"chr1", 1000}, {"chr2", 1}, {"3", 1'000'000'000'000}};
  if (!sluice::parse_region_table(text, regions, problem)) {
    require(!problem.empty());
  } else {
    for (const auto& region : regions) require(region.start >= 0 && region.start < region.end);
    if (sluice::target_regions::place_regions(contigs, regions, 1000, problem))
      for (const auto& region : regions) require(region.start >= 0 && region.start < region.end && region.end <= contigs[2].size);
    else
      require(!problem.empty());
  }
  using namespace sluice::read_until_actions;
  Conditions conditions;
  if (!parse_conditions(text, {"other", sluice::Select::enrich, 1, 0, "", usual_actions(sluice::Select::enrich, sluice::ReadAction::proceed)},
                        sluice::ReadAction::proceed, conditions, problem)) {
    require(!problem.empty());
  } else {
    require(!conditions.conditions.empty() && conditions.channel_condition.size() <= static_cast<std::size_t>(largest_channel));
    for (const std::int32_t condition : conditions.channel_condition)
      require(condition >= 0 && static_cast<std::size_t>(condition) < conditions.conditions.size());
  }
  return 0;
}
