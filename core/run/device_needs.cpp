// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/device_needs.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "plan/plan_files.hpp"

namespace sluice {

double SecondsLeft::operator()(double now, const Dispatcher& dispatcher) {
  const SourceProgress progress = dispatcher.progress();
  if (dispatcher.regroups_go_on()) return times_as_long_behind_regroup * (now - began_);
  if (progress.ended) return 0;
  if (first_share_ < 0 && progress.share > 0) first_share_ = progress.share, first_at_ = now;
  const double read = progress.share - first_share_;
  std::rotate(answers_.begin(), answers_.end() - 1, answers_.end());
  answers_.front() = first_share_ > 0 && read > 0 ? (now - first_at_) * (1.0 - progress.share) / read : now - began_;
  const double of_a_moment = *std::min_element(answers_.begin(), answers_.begin() + 3), of_all = *std::min_element(answers_.begin(), answers_.end());
  return std::max(of_all, of_a_moment / 2);
}

double least_seconds(const Plan& plan, const Registry& registry, int threads) {
  constexpr double bytes_a_second_and_thread = 128e6;
  double bytes = 0;
  for (const PlannedFile& file : files_of(plan, registry)) {
    std::error_code error;
    const std::uintmax_t size = file.use == FileUse::reads && !file.side ? std::filesystem::file_size(file.path, error) : 0;
    if (!error) bytes += static_cast<double>(size);
  }
  return bytes / (bytes_a_second_and_thread * threads);
}

DeviceNeeds device_needs(const Plan& plan, const std::string& wish) {
  DeviceNeeds needs;
  if (wish == "cpu") return needs;
  for (const PlannedStage& stage : plan.stages) {
    bool cpu = stage.implementations.empty();
    // A stage that keeps state can't move to a device later.
    if ((stage.stage->entry.descriptor->traits & SLUICE_TRAIT_ORDERED) != 0 && stage.implementations.size() > 1) needs.wait = Wait::for_devices;
    for (const std::uint32_t k : stage.implementations) {
      if (std::string_view(stage.stage->entry.descriptor->implementations[k].device) == "cpu")
        cpu = true;
      else
        needs.devices = Devices::possible;
    }
    if (!cpu) needs.wait = Wait::for_devices;
  }
  return needs;
}

}  // namespace sluice
