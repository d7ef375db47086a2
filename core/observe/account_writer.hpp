// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The table of every row that is not in the outputs: its name, the stage and the reason, sorted. Lines wait on the disk, in sorted runs, so that an
// account of any length takes little memory.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "machine/spool_file.hpp"
#include "record/run_listener.hpp"

namespace sluice {

class AccountWriter : public RunListener {
 public:
  // run_bytes: of lines that are sorted in memory.
  explicit AccountWriter(std::filesystem::path file, std::size_t run_bytes = std::size_t{32} << 20);

  // Every line so far.
  void save(const std::function<void(std::string_view)>& write) override;
  // What save() of an account that ended early gave.
  void go_on_from(std::string_view lines);
  void lost(const std::string& stage, const FailedRow& row) noexcept override;
  // Writes the file; what has no name is taken from the statistics. Returns "" or what went wrong.
  std::string finish(const RunStatistics& statistics);

 private:
  void add(const std::string& line);
  void spill();

  const std::filesystem::path file_;
  const std::size_t run_bytes_;
  std::mutex mutex_;  // guards everything below
  SpoolFile spool_;
  std::vector<std::string> lines_;
  std::size_t bytes_ = 0;            // of lines_
  std::vector<std::uint64_t> runs_;  // where each sorted run begins
  std::string problem_;
};

}  // namespace sluice
