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

std::shared_ptr<const SignalFile> SignalFiles::file(std::size_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (files_[number]) return files_[number];
  }
  auto opened = std::make_shared<const SignalFile>(paths_[number]);
  const std::lock_guard lock(mutex_);
  if (files_[number]) return files_[number];  // another thread was faster
  files_[number] = opened;
  if (opened->memory() == 0) return opened;
  passing_.push_back(number);
  passing_bytes_ += opened->memory();
  while (passing_bytes_ > most_kept && passing_.size() > 1) {
    passing_bytes_ -= files_[passing_.front()]->memory();
    files_[passing_.front()].reset();
    passing_.pop_front();
  }
  return opened;
}

void SignalFiles::goes_through(std::size_t number, const ParallelLoop& parallel) {
  if (number % opened_ahead != 0 || file(number)->fast5() == nullptr) return;
  parallel(std::min(opened_ahead, size() - number), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = number + begin; i < number + end; ++i) file(i);
  });
}

}  // namespace sluice::signal_reader
