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
};

}  // namespace sluice
