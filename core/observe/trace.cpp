// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/trace.hpp"

#include <fmt/format.h>

#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>

#include "machine/atomic_file.hpp"
#include "machine/gzip_text.hpp"

namespace sluice {
namespace {

// Behind the numbers of all threads.
constexpr int first_track = 1 << 20;

std::string json_string(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace

TraceWriter::TraceWriter(std::filesystem::path file, const std::string& pipeline) : file_(std::move(file)), spool_(file_, "run it without --trace") {
  spool_.append("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"pipeline\":" + json_string(pipeline) + "},\"traceEvents\":[");
}

void TraceWriter::happened(const TraceEvent& event) noexcept {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) return;
  try {
    spool_.append(text_of(event));
  } catch (const std::exception& exception) {
    problem_ = exception.what();
  }
}

// Written by hand: a tree of a million events would take a gigabyte. Lanes and tracks get their names when they first appear.
std::string TraceWriter::text_of(const TraceEvent& event) {
  std::string text;
  auto out = std::back_inserter(text);
  const auto name = [&](const char* what, int process, int track, const std::string& words) {
    fmt::format_to(out, "{}{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", separator_, what, process, track,
                   json_string(words));
    separator_ = ",\n";
  };
  const auto [lane, new_lane] = lanes_.try_emplace(event.lane, static_cast<int>(lanes_.size()));
  if (new_lane) name("process_name", lane->second, 0, event.lane);
  int track = static_cast<int>(event.thread);
  if (!event.track.empty()) {
    const auto [named, new_track] = tracks_.try_emplace({event.lane, event.track}, first_track + static_cast<int>(tracks_.size()));
    track = named->second;
    if (new_track) name("thread_name", lane->second, track, event.track);
  }
  fmt::format_to(out,
                 "{}{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{\"batch\":{},"
                 "\"rows\":{}",
                 separator_, json_string(event.name), event.bytes > 0 ? "copy" : "stage", lane->second, track, event.start_us, event.duration_us,
                 event.sequence, event.rows);
  if (event.bytes > 0) fmt::format_to(out, ",\"bytes\":{}", event.bytes);
  separator_ = ",\n";
  return text + "}}";
}

std::string TraceWriter::finish() {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) return "'" + file_.string() + "' cannot be written: " + problem_;
  std::uint64_t at = 0;
  std::string end = "\n]}\n";
  const auto next = [&] {
    std::string piece = spool_.read(at, std::size_t{1} << 20);
    at += piece.size();
    return piece.empty() ? std::exchange(end, "") : piece;
  };
  return write_atomically(file_, packed_by_name(file_, next));
}

}  // namespace sluice
