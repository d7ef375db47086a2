// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run needs to go on from a point that it has passed, and the journal that keeps it: one file beside the outputs, whole or not there.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "record/statistics.hpp"
#include "run/run_identity.hpp"

namespace sluice {

// Where a stage stands: batches in front of `next` are behind it.
struct StagePoint {
  std::uint64_t next = 0;     // sequence number of the batch that it takes next; sources: that they give next
  std::uint64_t emitted = 0;  // regroups: sequence number of the batch that they give next
  bool ended = false;         // sources: there is nothing more; regroups: finish() is over
  std::string state;          // sources: the position; others: what save() gave
};

struct FilePoint {
  std::string path;       // as the stage opened it
  std::string temporary;  // where its bytes are
  std::uint64_t bytes = 0;
};

struct Checkpoint {
  std::map<std::string, StagePoint> stages;  // sources, and all that keep state, by name
  std::vector<FilePoint> files;
  std::map<std::string, StageCounts> counts;  // of all stages
  std::string account;                        // what the listener of the run has heard
};

// Why runs of the plan can't be gone on with, naming the stage; "": they can. made: see RunOptions.
std::string why_not_resumable(const Plan& plan, const Registry& registry, const std::vector<std::uint8_t>& made = {});

// Where the journal of the plan's runs is: ".NAME.resume" beside the first output. Only of plans that can be resumed.
std::filesystem::path journal_of(const Plan& plan, const Registry& registry);
// Synced, then under its name. Throws Failure::output.
void write_journal(const std::filesystem::path& journal, const RunIdentity& identity, const Checkpoint& checkpoint);
struct Journal {
  RunIdentity identity;
  Checkpoint checkpoint;
};
// Nothing: there is no such file. Throws Failure::input for one that is damaged or of another version of sluice.
std::optional<Journal> read_journal(const std::filesystem::path& journal);

}  // namespace sluice
