// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The host as one stage instance sees it, and what one of its calls produces: the objects behind the ABI's opaque pointers.

#include <sluice/abi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "batch/batch.hpp"

namespace sluice {
class DeviceStream;
class RunContext;
class StageRecorder;
struct ResolvedStage;
}  // namespace sluice

struct sluice_host {
  sluice::RunContext* run = nullptr;
  sluice::StageRecorder* recorder = nullptr;
  const sluice::ResolvedStage* stage = nullptr;
  std::uint16_t first_reason = 0;             // row status of the stage's reason 0
  bool follows = false;                       // sluice::follows(*stage)
  const std::atomic<bool>* enough = nullptr;  // of a stage: nobody needs more of its rows
  std::atomic<std::uint64_t> kept{0};         // bytes that the instance says it keeps

  const sluice_stage_descriptor& descriptor() const;
};

struct sluice_output {
  // Of maps and sinks: the rows are the input's. `device`: where device columns may lie; null on the CPU.
  sluice_output(const sluice_host& owner, std::int64_t input_rows, sluice::DeviceStream* device);
  // Of sources, regroups and resources, which say how many rows there are.
  explicit sluice_output(const sluice_host& owner);
  sluice_output(const sluice_output&) = delete;

  void set_rows(std::int64_t rows);
  // Closes the batch, rows that failed included, and opens the next. Null: nothing has been put into it.
  std::shared_ptr<sluice::BatchData> take_batch();
  // The row statuses of the batch, with those of the input where rows had failed already. Null: no row failed in this call.
  std::shared_ptr<const std::vector<std::uint16_t>> failures_with(const sluice::BatchData& input) const;
  // Remembers the first thing that was refused.
  sluice_status refuse(const std::string& problem);
  // "" if nothing was.
  const char* problem() const;
  // Throws Failure if something was refused.
  void throw_if_refused() const;
  // Throws Failure unless every wanted column is there.
  void throw_if_incomplete(const std::vector<std::uint8_t>& wanted) const;

  const sluice_host& host;
  sluice::DeviceStream* const device;
  const bool makes_rows;  // else they are the input's
  bool open = false;      // the number of rows is known
  std::shared_ptr<sluice::BatchData> batch;
  std::vector<std::uint16_t> failures;
  // Regroups: takes each batch that is emitted, and may wait. False: the run ends.
  std::function<bool(std::shared_ptr<sluice::BatchData>)> emit;

 private:
  mutable std::mutex mutex_;  // guards problem_, as rows may fail on several threads
  std::string problem_;
};

namespace sluice {

// What the host offers: every function looks at what it is given, and no exception leaves it.
const sluice_host_api& host_api();

}  // namespace sluice
