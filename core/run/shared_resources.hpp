// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Resources that runs one after the other have in common: made by the first of them, used by the next (--samples).

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "batch/batch.hpp"
#include "plan/plan.hpp"
#include "record/statistics.hpp"
#include "run/spooled_inputs.hpp"

namespace sluice {

class Device;

// What each resource of a plan is made from: its stage and plugin, its parameters, its inputs as they lie there now, and the resources that it uses.
// "": it can't be shared, because it writes files, follows them, or reads what can be read only once.
std::vector<std::string> resource_keys(const Plan& plan);

// Of runs on one thread. What is kept is what the next run uses, so that no run has more in memory than it would have made by itself.
class SharedResources {
 public:
  struct Resource {
    BatchHandle batch;
    StageCounts counts;  // what was counted while it was made
  };
  // Before a run. next: the plan of the one after it; null: there is none.
  void begin(const Plan& plan, const Plan* next);
  // Null: it has to be made.
  const Resource* find(std::string_view key) const;
  void made(const std::string& key, Resource resource);
  // Behind a run: copies on its devices are given up.
  void leave(const std::vector<std::shared_ptr<Device>>& devices) const;
  // After a run. run: what owns the memory of what it has made; it lives as long as that.
  void end(const std::shared_ptr<const void>& run);

  SpooledInputs inputs;  // of all runs

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const void> run;  // null: the one that goes on
    Resource resource;                // goes before its run
  };
  void keep_only(const std::vector<std::string>& keys);
  const Plan* next_ = nullptr;
  std::vector<Entry> entries_;
};

}  // namespace sluice
