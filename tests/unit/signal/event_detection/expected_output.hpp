// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The real R9.4 E. coli reads of the shared test data, and what f5c 1.6 printed about them.

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "event_detection/events.hpp"
#include "signal_reader/signal_file.hpp"

#ifndef SLUICE_SHARED_DIR
#define SLUICE_SHARED_DIR ""
#endif

namespace sluice::expected_output {

inline const std::string shared_folder = SLUICE_SHARED_DIR;
inline const std::string reads_folder = shared_folder + "/data/ecoli_r9_real/";

inline bool is_available() {
  if (std::filesystem::exists(reads_folder + "reads.blow5")) return true;
  MESSAGE("skipped: no shared data at '" << reads_folder << "'");
  return false;
}

// A text file packed with xz or gzip.
inline std::string unpack(const std::string& program, const std::string& path) {
  struct ClosePipe {
    void operator()(std::FILE* pipe) const { pclose(pipe); }
  };
  const std::unique_ptr<std::FILE, ClosePipe> pipe(popen((program + " -dc '" + path + "'").c_str(), "r"));
  REQUIRE(pipe);
  std::string text;
  char buffer[1 << 16];
  for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof(buffer), pipe.get())) > 0;) text.append(buffer, size);
  REQUIRE_FALSE(text.empty());
  return text;
}

struct Signal {
  std::vector<std::int16_t> raw;
  event_detection::Calibration calibration;
};

inline std::map<std::string, Signal> read_signals() {
  using namespace signal_reader;
  std::map<std::string, Signal> signals;
  const SignalFile file(reads_folder + "reads.blow5");
  RecordCursor cursor(file);
  RecordDecoder decoder;
  std::span<const char> stored;
  RecordPlace place;
  while (cursor.next(stored, place)) {
    Signal signal;
    SignalRecord record;
    REQUIRE(decoder.decode(stored, file.header().records, record, signal.raw) == RecordStatus::ok);
    signal.calibration = {static_cast<float>(record.offset), static_cast<float>(record.range), static_cast<float>(record.digitisation)};
    signals.emplace(std::string(record.read_id), std::move(signal));
  }
  return signals;
}

// The text after each header line that begins with '>' and the read's id: "{...}" entries separated by tabs.
inline std::map<std::string, std::string> split_by_read(const std::string& text) {
  std::map<std::string, std::string> lines;
  for (std::size_t at = text.find('>'); at != std::string::npos; at = text.find('>', at + 1)) {
    const std::size_t begin = text.find('\n', at) + 1;
    lines[text.substr(at + 1, text.find('\t', at) - at - 1)] = text.substr(begin, text.find('\n', begin) - begin);
  }
  return lines;
}

}  // namespace sluice::expected_output
