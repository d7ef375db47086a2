// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One run of a sequencer and its basecaller: what the headers of files say of all reads together. A view of a resource of row type "sequencing_run".

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sluice/batch.hpp>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>

namespace sluice {

// The texts belong to the resource. Throws Failure::input if it has not one row.
struct SequencingRun {
  explicit SequencingRun(const Batch& run) {
    if (run.rows() != 1) throw Failure::input("the resource of the sequencing run has " + std::to_string(run.rows()) + " rows", "it needs one");
    run_id = run.text("run_id")[0];
    experiment_type = run.text("experiment_type")[0];
    sequencing_kit = run.text("sequencing_kit")[0];
    flow_cell_product = run.text("flow_cell_product")[0];
    flow_cell_id = run.text("flow_cell_id")[0];
    basecall_model = run.text("basecall_model")[0];
    basecaller_version = run.text("basecaller_version")[0];
    sampling_rate = run.column<double>("sampling_rate")[0];
    acquisition_start = run.column<std::int64_t>("acquisition_start")[0];
  }
  // As dorado names its read groups: RUN_MODEL.
  std::string read_group() const { return std::string(run_id) + "_" + std::string(basecall_model); }

  std::string_view run_id, experiment_type, sequencing_kit, flow_cell_product, flow_cell_id, basecall_model, basecaller_version;
  double sampling_rate = 0;            // Hz
  std::int64_t acquisition_start = 0;  // ms since 1970, UTC
};

// 2026-01-01T00:00:00.000+00:00, of ms since 1970, UTC, not before 1970.
inline std::string utc_text(std::int64_t milliseconds) {
  constexpr std::int64_t day_ms = 86'400'000;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(milliseconds / day_ms))};
  const std::int64_t of_day = milliseconds % day_ms;
  const auto padded = [](std::int64_t value, std::size_t width) {
    const std::string digits = std::to_string(value);
    return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
  };
  return padded(static_cast<int>(date.year()), 4) + "-" + padded(static_cast<unsigned>(date.month()), 2) + "-" +
         padded(static_cast<unsigned>(date.day()), 2) + "T" + padded(of_day / 3'600'000, 2) + ":" + padded(of_day / 60'000 % 60, 2) + ":" +
         padded(of_day / 1000 % 60, 2) + "." + padded(of_day % 1000, 3) + "+00:00";
}

}  // namespace sluice
