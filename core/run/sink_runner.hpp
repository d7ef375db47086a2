// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Prepares batches as a map does, and writes them in order.

#include "run/map_runner.hpp"

namespace sluice {

class SinkRunner : public MapRunner {
 public:
  using MapRunner::MapRunner;

  // Writes one prepared batch. False: not written.
  bool commit(const BatchHandle& prepared);

 private:
  sluice_call make_host_call() const override;
  std::uint64_t share_of_memory() const;
  const std::uint64_t share_of_memory_ = share_of_memory();  // the system is asked once: it takes as long as a small batch
};

}  // namespace sluice
