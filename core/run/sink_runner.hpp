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
  // After the last batch: closes the files.
  void finish();

 private:
  sluice_call make_sink_call();
};

}  // namespace sluice
