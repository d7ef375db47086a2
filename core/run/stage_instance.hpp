// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One instance of a plugin's stage, with everything that the plugin may point to while it lives.

#include <sluice/abi.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "batch/batch.hpp"
#include "run/host.hpp"

namespace sluice {

// What an instance is made with beside its parameters.
struct InstanceWishes {
  const std::uint8_t* wanted = nullptr;     // per output column
  const std::uint8_t* available = nullptr;  // per input column
  const char* begin_at = nullptr;           // sources: a position
  std::uint64_t part = 0, parts = 1;        // of the input; 0 of 1: all of it
  std::vector<std::string_view> saved;      // others: what instances before have saved
};

class StageInstance {
 public:
  // resources: of the run, of which the stage uses some. Throws Failure.
  StageInstance(const sluice_host& host, const std::vector<BatchHandle>& resources, const InstanceWishes& wishes);
  ~StageInstance();
  StageInstance(const StageInstance&) = delete;

  const sluice_stage* operator->() const { return &stage_; }
  void* self() const { return stage_.self; }

 private:
  void throw_if_incomplete() const;

  const sluice_host& host_;
  std::deque<BatchView> resources_;
  std::vector<sluice_value> values_;  // of the parameters
  std::deque<std::string> texts_;     // of these
  sluice_stage stage_{};
};

}  // namespace sluice
