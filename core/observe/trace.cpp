// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace sluice {
namespace {

std::string json_string(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace

std::string chrome_trace(const std::string& pipeline, const std::vector<TraceEvent>& events) {
  std::vector<std::string> lanes;
  std::vector<std::pair<std::string, std::string>> tracks;  // lane and name; the number of a named track is its place, behind the threads'
  std::uint32_t first_track = 0;
  const auto add = [](auto& list, const auto& value) {
    const auto found = std::find(list.begin(), list.end(), value);
    if (found == list.end()) list.push_back(value);
  };
  for (const TraceEvent& event : events) {
    add(lanes, event.lane);
    if (!event.track.empty()) add(tracks, std::pair(event.lane, event.track));
    first_track = std::max(first_track, event.thread + 1);
  }
  std::sort(tracks.begin(), tracks.end());
  const auto place = [](const auto& list, const auto& value) { return std::find(list.begin(), list.end(), value) - list.begin(); };

  // Written by hand: a tree of a million events would take a gigabyte.
  std::string text = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"pipeline\":" + json_string(pipeline) + "},\"traceEvents\":[";
  auto out = std::back_inserter(text);
  const char* separator = "\n";
  const auto name_of = [&](const char* what, std::ptrdiff_t process, std::ptrdiff_t track, const std::string& name) {
    fmt::format_to(out, "{}{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", separator, what, process, track,
                   json_string(name));
    separator = ",\n";
  };
  for (const std::string& lane : lanes) name_of("process_name", place(lanes, lane), 0, lane);
  for (const auto& track : tracks) name_of("thread_name", place(lanes, track.first), first_track + place(tracks, track), track.second);
  for (const TraceEvent& event : events) {
    const std::ptrdiff_t track = event.track.empty() ? event.thread : first_track + place(tracks, std::pair(event.lane, event.track));
    fmt::format_to(out,
                   "{}{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{\"batch\":{},"
                   "\"rows\":{}",
                   separator, json_string(event.name), event.bytes > 0 ? "copy" : "stage", place(lanes, event.lane), track, event.start_us,
                   event.duration_us, event.sequence, event.rows);
    if (event.bytes > 0) fmt::format_to(out, ",\"bytes\":{}", event.bytes);
    text += "}}";
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace sluice
