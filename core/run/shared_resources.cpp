// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/shared_resources.hpp"

#include <algorithm>
#include <utility>

#include "machine/checksum.hpp"
#include "plan/plan_files.hpp"
#include "run/run_identity.hpp"

namespace sluice {
namespace {

// "" where one of its files speaks against sharing.
std::string own_key(const ResolvedStage& resource) {
  if (follows(resource)) return "";
  RunIdentity identity;
  add_resource(resource, identity);
  for (const PlannedFile& file : files_of(resource, "resource")) {
    if (file.use == FileUse::writes) return "";
    // What lies beside an input may come, and go, without the resource being another one.
    if (!file.side && !add_input(file, identity)) return "";
  }
  std::string key;
  for (const auto& [what, value] : identity) key += what + '\0' + value + '\0';
  return key;
}

}  // namespace

std::vector<std::string> resource_keys(const Plan& plan) {
  std::vector<std::string> keys;
  for (const ResolvedStage& resource : plan.pipeline.resources) {
    std::string key = own_key(resource);
    for (const int used : resource.resources) {
      if (key.empty()) break;
      const std::string& of_used = used < 0 ? "none" : keys[static_cast<std::size_t>(used)];
      key = of_used.empty() ? "" : key + "(" + Checksum::text_of(of_used) + ")";  // as it is, it would double with every level
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

void SharedResources::begin(const Plan& plan, const Plan* next) {
  keep_only(resource_keys(plan));
  next_ = next;
}

const SharedResources::Resource* SharedResources::find(std::string_view key) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return !key.empty() && entry.key == key; });
  return found == entries_.end() ? nullptr : &found->resource;
}

void SharedResources::made(const std::string& key, Resource resource) {
  if (!key.empty() && next_ != nullptr) entries_.push_back({key, nullptr, std::move(resource)});
}

void SharedResources::leave(const std::vector<std::shared_ptr<Device>>& devices) const {
  for (const Entry& entry : entries_)
    for (const ColumnHandle& column : entry.resource.batch->columns)
      for (const auto& device : devices) column->leave(*device);
}

void SharedResources::end(const std::shared_ptr<const void>& run) {
  keep_only(next_ != nullptr ? resource_keys(*next_) : std::vector<std::string>());
  for (Entry& entry : entries_)
    if (!entry.run) entry.run = run;
}

void SharedResources::keep_only(const std::vector<std::string>& keys) {
  std::erase_if(entries_, [&](const Entry& entry) { return std::find(keys.begin(), keys.end(), entry.key) == keys.end(); });
}

}  // namespace sluice
