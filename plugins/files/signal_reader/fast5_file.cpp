// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/fast5_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>
#include <utility>

#include "signal_reader/arrow_file.hpp"

namespace sluice::signal_reader {

ReopenedFile::ReopenedFile(std::string path, int descriptor) : path_(std::move(path)) {
  if (::fstat(descriptor, &info_) != 0) throw Failure::input("cannot read signal file '" + path_ + "': " + std::strerror(errno));
}

// Times are not compared: network file systems put theirs in the place of the writer's a little later.
void ReopenedFile::read(std::uint64_t offset, char* to, std::size_t bytes) const {
  const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) throw Failure::input("cannot open signal file '" + path_ + "' again: " + std::strerror(errno));
  struct stat now {};
  bool is_same = ::fstat(file.number(), &now) == 0 && now.st_dev == info_.st_dev && now.st_ino == info_.st_ino && now.st_size == info_.st_size;
  while (is_same && bytes > 0) {
    const ssize_t part = ::pread(file.number(), to, bytes, static_cast<off_t>(offset));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) throw Failure::input("cannot read signal file '" + path_ + "': " + std::strerror(errno));
    is_same = part > 0;
    to += part;
    offset += static_cast<std::uint64_t>(part);
    bytes -= static_cast<std::size_t>(part);
  }
  if (!is_same)
    throw Failure::input("signal file '" + path_ + "' was changed or cut while it was read", "run again when nothing writes to it any more");
}

Fast5File::Fast5File(const std::string& path, int descriptor) : file_(path, descriptor) {
  try {
    reads_ = std::make_unique<Fast5Reads>(Fast5Programs::shared()->table_of(path, descriptor, file_.size()), file_);
  } catch (const FormatProblem& problem) {
    throw Failure::input("signal file '" + path + "' is damaged: " + problem.what(), "copy the file again and compare checksums");
  }
}

}  // namespace sluice::signal_reader
