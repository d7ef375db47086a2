// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>

namespace sluice::signal_reader {

SignalFiles::SignalFiles(std::string_view paths) {
  std::uint64_t begin = 0;
  while (!paths.empty()) {
    const std::size_t end = std::min(paths.find('\n'), paths.size());
    const std::string& path = paths_.emplace_back(paths.substr(0, end));
    paths.remove_prefix(std::min(end + 1, paths.size()));
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0)
      throw Failure::input("cannot open signal file '" + path + "': " + std::strerror(errno), "check the path of the signal file");
    begins_.push_back(begin);
    begin += static_cast<std::uint64_t>(info.st_size);
  }
  begins_.push_back(begin);
  files_.resize(paths_.size());
}

std::size_t SignalFiles::file_at(std::uint64_t byte) const {
  return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), byte) - begins_.begin()) - 1;
}

const SignalFile& SignalFiles::file(std::size_t file) {
  const std::lock_guard lock(mutex_);
  if (!files_[file]) files_[file] = std::make_unique<SignalFile>(paths_[file]);
  return *files_[file];
}

}  // namespace sluice::signal_reader
