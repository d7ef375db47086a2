// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Source of windows from a file.

#include <cstdint>
#include <sluice/stage.hpp>
#include <string>

#include "poa_consensus/window_file.hpp"

namespace sluice::poa_consensus {

class WindowReader {
 public:
  struct Parameters {
    Path path;
  };
  static void describe(Describe<WindowReader>& d);
  WindowReader(const Setup& setup, const Parameters& parameters);
  bool process(const Call& call, Output& out);

 private:
  WindowFile file_;
  std::int64_t index_ = 0;
};

}  // namespace sluice::poa_consensus
