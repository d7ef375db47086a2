// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The events of real R9.4 reads against those that f5c 1.6 printed. Needs slow5lib and the xz program.
#include <doctest/doctest.h>
#include <slow5/slow5.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "event_detection/events.hpp"

#ifndef SLUICE_SHARED_DIR
#define SLUICE_SHARED_DIR ""
#endif

namespace sluice::event_detection {
namespace {

struct CloseSlow5 {
  void operator()(slow5_file_t* file) const { slow5_close(file); }
};
struct FreeRecord {
  void operator()(slow5_rec_t* record) const { slow5_rec_free(record); }
};
struct ClosePipe {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};

std::string unpack(const std::string& path) {
  const std::unique_ptr<std::FILE, ClosePipe> pipe(popen(("xz -dc '" + path + "'").c_str(), "r"));
  std::string text;
  char buffer[1 << 16];
  for (std::size_t size = 0; pipe && (size = std::fread(buffer, 1, sizeof(buffer), pipe.get())) > 0;) text.append(buffer, size);
  return text;
}

std::string print_events(const EventTable& events) {
  std::string text;
  char entry[128];
  for (std::size_t i = 0; i < events.size(); ++i) {
    const int size = std::snprintf(entry, sizeof(entry), "{%d,%f,%f,%f}\t", events.start_sample[i],
                                   static_cast<double>(events.length_samples[i]), static_cast<double>(events.mean[i]),
                                   static_cast<double>(events.stdv[i]));
    text.append(entry, static_cast<std::size_t>(size));
  }
  return text;
}

TEST_CASE("events of ten real E. coli reads are those that f5c prints, to the last digit") {
  const std::string folder = std::string(SLUICE_SHARED_DIR) + "/data/ecoli_r9_real/";
  if (!std::filesystem::exists(folder + "reads.blow5")) {
    MESSAGE("skipped: no shared data at '" << folder << "'");
    return;
  }
  const std::string expected = unpack(folder + "expected/f5c_print_events.first10reads.txt.xz");
  const std::unique_ptr<slow5_file_t, CloseSlow5> file(slow5_open((folder + "reads.blow5").c_str(), "r"));
  REQUIRE(file);
  // The folder may be read-only, so that no index can be written: go through all reads instead.
  DetectorWorkspace workspace;
  EventTable events;
  int compared = 0;
  slow5_rec_t* record = nullptr;
  while (slow5_get_next(&record, file.get()) >= 0) {
    const std::size_t header = expected.find(">" + std::string(record->read_id) + "\t");
    if (header == std::string::npos) continue;
    const std::size_t begin = expected.find('\n', header) + 1;
    const std::size_t end = expected.find('\n', begin);
    const Calibration calibration{static_cast<float>(record->offset), static_cast<float>(record->range),
                                  static_cast<float>(record->digitisation)};
    REQUIRE(detect_events(std::span<const std::int16_t>(record->raw_signal, record->len_raw_signal), calibration,
                          DetectorParams::dna(), workspace, events) == DetectionStatus::ok);
    CHECK((print_events(events) == expected.substr(begin, end - begin)));
    ++compared;
  }
  const std::unique_ptr<slow5_rec_t, FreeRecord> last(record);
  CHECK(compared == 10);
}

}  // namespace
}  // namespace sluice::event_detection
