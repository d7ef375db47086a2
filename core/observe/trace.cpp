// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

std::string json_string(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace

std::string chrome_trace(const std::string& pipeline, const std::vector<TraceEvent>& events) {
  std::vector<std::string> lanes;
  for (const TraceEvent& event : events)
    if (std::find(lanes.begin(), lanes.end(), event.lane) == lanes.end()) lanes.push_back(event.lane);

  // Written by hand: a tree of a million events would take a gigabyte.
  std::string text = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"pipeline\":" + json_string(pipeline) + "},\"traceEvents\":[";
  const char* separator = "\n";
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    fmt::format_to(std::back_inserter(text), "{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}}", separator,
                   lane, json_string(lanes[lane]));
    separator = ",\n";
  }
  for (const TraceEvent& event : events) {
    const auto lane = std::find(lanes.begin(), lanes.end(), event.lane) - lanes.begin();
    fmt::format_to(
        std::back_inserter(text),
        "{}{{\"ph\":\"X\",\"name\":{},\"cat\":\"stage\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{\"batch\":{},\"rows\":{}}}}}",
        separator, json_string(event.name), lane, event.thread, event.start_us, event.duration_us, event.sequence, event.rows);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace sluice
