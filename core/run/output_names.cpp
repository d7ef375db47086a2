// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/output_names.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <utility>

namespace sluice {

void OutputNames::remove(const std::filesystem::path& file, const StagedFile& output) {
  Step step{nullptr, file, StagedFile::hidden_name(output.target(), file), Before::aside};
  steps_.reserve(steps_.size() + 1);
  if (std::rename(file.c_str(), step.before.c_str()) == 0) steps_.push_back(std::move(step));
}

void OutputNames::give(StagedFile& file, const std::filesystem::path& name) {
  Step step{&file, name, StagedFile::hidden_name(name, name), Before::none};
  steps_.reserve(steps_.size() + 1);
  // A second name, so that there is always one file under the first. Some file systems have none.
  if (::link(name.c_str(), step.before.c_str()) == 0)
    step.was = Before::aside;
  else if (errno != ENOENT)
    step.was = Before::lost;
  try {
    file.rename_to(name);
  } catch (...) {
    if (step.was == Before::aside) ::unlink(step.before.c_str());
    throw;
  }
  steps_.push_back(std::move(step));
}

void OutputNames::keep() noexcept {
  for (const Step& step : steps_) {
    if (step.was == Before::aside) ::unlink(step.before.c_str());
    if (step.file != nullptr) step.file->named(step.name);
  }
  steps_.clear();
}

bool OutputNames::undo(const Step& step) noexcept {
  if (step.was == Before::lost) return false;
  if (step.file == nullptr) return std::rename(step.before.c_str(), step.name.c_str()) == 0;
  const std::string& temporary = step.file->temporary();
  if (step.was == Before::none) return std::rename(step.name.c_str(), temporary.c_str()) == 0;
  return ::link(step.name.c_str(), temporary.c_str()) == 0 && std::rename(step.before.c_str(), step.name.c_str()) == 0;
}

std::vector<std::string> OutputNames::take_back() noexcept {
  std::vector<std::string> remain;
  while (!steps_.empty()) {
    const Step step = std::move(steps_.back());
    steps_.pop_back();
    if (undo(step)) continue;
    if (step.file != nullptr) step.file->named(step.name);
    try {
      remain.push_back(step.name.string());
    } catch (const std::bad_alloc&) {  // it is there, and goes unsaid
    }
  }
  return remain;
}

}  // namespace sluice
