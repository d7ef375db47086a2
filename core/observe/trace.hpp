// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A run's calls as a Chrome trace ("Trace Event Format", JSON object form): open it in chrome://tracing or ui.perfetto.dev.

#include <string>
#include <vector>

#include "observe/statistics.hpp"

namespace sluice {

// One process per device (and one each for readers, the CPU and writers); tracks are threads, or a device's streams with their copies and the threads
// that fetch from it; one complete event ("X") per call or copy with the batch's number and rows, and a copy's bytes.
std::string chrome_trace(const std::string& pipeline, const std::vector<TraceEvent>& events);

}  // namespace sluice
