// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Source of windows from files.

#include <cstdint>
#include <optional>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "poa_consensus/window_file.hpp"

namespace sluice::poa_consensus {

class WindowReader {
 public:
  struct Parameters {
    Path path;
    std::string format = "auto";
  };
  static void describe(Describe<WindowReader>& d);
  WindowReader(const Setup& setup, const Parameters& parameters);
  bool process(const Call& call, Output& out);
  std::string position() const;

 private:
  void begin_at(const std::string& position);
  bool next(const Call& call, FileWindow& window);
  double progress() const;

  std::vector<std::string> paths_;
  WindowFormat format_;
  bool wants_qualities_;
  std::size_t number_ = 0;  // of the file that is open
  std::optional<WindowFile> file_;
  std::uint64_t of_file_ = 0;  // windows of it that were read
  std::int64_t index_ = 0;
};

}  // namespace sluice::poa_consensus
