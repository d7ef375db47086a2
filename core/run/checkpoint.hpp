// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run needs to go on from a point that it has passed; the journal that keeps it is run/journal_file.hpp.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine/spool_file.hpp"
#include "plan/plan.hpp"
#include "plugin/registry.hpp"
#include "record/statistics.hpp"

namespace sluice {

// Where a stage stands: batches in front of `next` are behind it.
struct StagePoint {
  std::uint64_t next = 0;     // sequence number of the batch that it takes next; sources: that they give next
  std::uint64_t emitted = 0;  // regroups: sequence number of the batch that they give next
  bool ended = false;         // sources: there is nothing more; regroups: finish() is over
  std::string position;       // sources
  // Others: what save() gave. On the disk while the run that was asked goes on; of a journal that was read: in Checkpoint::mapping.
  std::shared_ptr<const SpoolFile> spooled;
  std::string_view state;
};

struct FilePoint {
  std::string path;       // as the stage opened it
  std::string temporary;  // where its bytes are
  std::uint64_t bytes = 0;
  std::string xxh3;  // of these bytes
};

struct Checkpoint {
  std::map<std::string, StagePoint> stages;  // sources, and all that keep state, by name
  std::vector<FilePoint> files;
  std::map<std::string, StageCounts> counts;  // of all stages
  // What the listener of the run has heard: as states.
  std::shared_ptr<const SpoolFile> spooled_account;
  std::string_view account;
  std::shared_ptr<const void> mapping;
};

// Why runs of the plan can't be gone on with, naming the stage; "": they can. made: see RunOptions.
std::string why_not_resumable(const Plan& plan, const Registry& registry, const std::vector<std::uint8_t>& made = {});

// Where the journal of the plan's runs is: ".NAME.resume" beside the first output. Only of plans that can be resumed.
std::filesystem::path journal_of(const Plan& plan, const Registry& registry);

}  // namespace sluice
