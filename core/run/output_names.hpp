// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files that get their names together: all of them, or none.

#include <filesystem>
#include <sluice/staged_file.hpp>
#include <string>
#include <vector>

namespace sluice {

class OutputNames {
 public:
  OutputNames() = default;
  OutputNames(const OutputNames&) = delete;
  // What has not been kept is taken back.
  ~OutputNames() { take_back(); }

  // A file of before that lies beside an output goes, if there is one.
  void remove(const std::filesystem::path& file, const StagedFile& output);
  // A synced file gets a name in its own folder; what has it until then is replaced. It lives as long as this. Throws Failure::output.
  void give(StagedFile& file, const std::filesystem::path& name);
  void keep() noexcept;
  // Everything is as it was, but for the files that are returned: those have their new names, as what they replaced could not be kept aside.
  std::vector<std::string> take_back() noexcept;

 private:
  enum class Before { none, aside, lost };  // what had the name until then: nothing, what is at `before` now, what can't be had again
  struct Step {
    StagedFile* file;  // null: only `before` went
    std::filesystem::path name, before;
    Before was;
  };
  static bool undo(const Step& step) noexcept;

  std::vector<Step> steps_;
};

}  // namespace sluice
