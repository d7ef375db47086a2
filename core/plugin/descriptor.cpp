// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plugin/descriptor.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <sluice/descriptor_check.hpp>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// A copy lives as long as the plugin, which is never unloaded.
sluice_stage_descriptor* keep_for_ever(std::unique_ptr<sluice_stage_descriptor> descriptor) {
  static std::mutex guards_descriptors;
  static auto& descriptors = *new std::vector<std::unique_ptr<sluice_stage_descriptor>>;  // never destroyed
  const std::lock_guard lock(guards_descriptors);
  return descriptors.emplace_back(std::move(descriptor)).get();
}

// Elements of `stride` bytes become elements of the host's size.
template <class T>
const T* take_array(const T* items, std::size_t& count, std::size_t& stride) {
  if (items == nullptr) count = 0;
  auto* copy = new T[count]{};  // see keep_for_ever
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&copy[i], SLUICE_AT(T, items, stride, i), std::min(stride, sizeof(T)));
  stride = sizeof(T);
  return copy;
}

void take_port(sluice_port& port) { port.columns = take_array(port.columns, port.column_count, port.column_stride); }

}  // namespace

const char* kind_name(sluice_stage_kind kind) { return detail::noun_of(kind); }

const sluice_stage_descriptor* take_descriptor(const sluice_stage_descriptor* foreign, std::string& problem) {
  if (foreign == nullptr || !SLUICE_HAS(foreign, sluice_stage_descriptor, summary) || detail::is_empty(foreign->id) || foreign->summary == nullptr) {
    problem = "has an incomplete descriptor";
    return nullptr;
  }
  // What called itself 2.0 before it was frozen ends earlier.
  if (!SLUICE_HAS(foreign, sluice_stage_descriptor, row_length_unit)) {
    problem = "stage '" + std::string(foreign->id) + "' has a descriptor of " + std::to_string(foreign->struct_size) +
              " bytes, which is less than ABI 2.0 has (rebuild it with this sluice's SDK)";
    return nullptr;
  }
  sluice_stage_descriptor* const taken = keep_for_ever(std::make_unique<sluice_stage_descriptor>());
  std::memcpy(taken, foreign, std::min<std::size_t>(foreign->struct_size, sizeof *taken));
  taken->struct_size = sizeof *taken;
  for (sluice_port* port : {&taken->input, &taken->output, &taken->feedback}) take_port(*port);
  taken->parameters = take_array(taken->parameters, taken->parameter_count, taken->parameter_stride);
  taken->roles = take_array(taken->roles, taken->role_count, taken->role_stride);
  taken->resources = take_array(taken->resources, taken->resource_count, taken->resource_stride);
  taken->reasons = take_array(taken->reasons, taken->reason_count, taken->reason_stride);
  taken->implementations = take_array(taken->implementations, taken->implementation_count, taken->implementation_stride);
  if (taken->doc == nullptr) taken->doc = "";
  if (taken->work_unit == nullptr) taken->work_unit = "row";
  problem = descriptor_problem(*taken);
  if (problem.empty()) return taken;
  problem = std::string("stage '") + taken->id + "': " + problem;
  return nullptr;
}

}  // namespace sluice
