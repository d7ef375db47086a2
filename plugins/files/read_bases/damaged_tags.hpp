// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is said of reads with tags that can't be.

#include <atomic>
#include <sluice/call.hpp>
#include <string>
#include <vector>

namespace sluice::read_bases {

class DamagedTags {
 public:
  // The first read is named, all are counted. From any thread.
  void say(const std::vector<std::string>& reads, const Call& call) {
    if (reads.empty()) return;
    call.count("reads with damaged tags", static_cast<double>(reads.size()));
    if (!said_.exchange(true))
      call.warn("read '" + reads.front() +
                "' has a damaged tag, which is left out, with what can't be found behind it; the report counts such reads");
  }

 private:
  std::atomic<bool> said_{false};
};

}  // namespace sluice::read_bases
