// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A run's calls as a Chrome trace ("Trace Event Format", JSON object form): open it in chrome://tracing or ui.perfetto.dev. One process per device
// (and one each for readers, the CPU and writers); tracks are threads, or a device's streams with their copies and the threads that fetch from it;
// one complete event ("X") per call or copy with the batch's number and rows, and a copy's bytes. Events wait on the disk.

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "machine/spool_file.hpp"
#include "record/run_listener.hpp"

namespace sluice {

class TraceWriter : public RunListener {
 public:
  TraceWriter(std::filesystem::path file, const std::string& pipeline);

  bool traces() const override { return true; }
  void happened(const TraceEvent& event) noexcept override;
  // Writes the file. Returns "" or what went wrong.
  std::string finish();

 private:
  std::string text_of(const TraceEvent& event);

  const std::filesystem::path file_;
  std::mutex mutex_;  // guards everything below
  SpoolFile spool_;
  std::map<std::string, int> lanes_;                           // their numbers
  std::map<std::pair<std::string, std::string>, int> tracks_;  // of a lane
  const char* separator_ = "\n";
  std::string problem_;
};

}  // namespace sluice
