// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/spool_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>
#include <sluice/staged_file.hpp>

namespace sluice {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

}  // namespace

SpoolFile::SpoolFile(const std::filesystem::path& beside) {
  const std::filesystem::path folder = beside.parent_path();
  const bool is_file = beside != "-" && !is_special_file(beside);
  place_ = (is_file ? folder.empty() ? std::filesystem::path(".") : folder : std::filesystem::temp_directory_path()).string();
}

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SpoolFile::append(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= buffer_bytes) flush();
}

void SpoolFile::flush() {
  const auto fail = [&] { throw Failure::output("no room to keep lines in '" + place_ + "': " + std::strerror(errno)); };
  if (descriptor_ < 0) {
    std::string name = place_ + "/.sluice-XXXXXX";
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail();
    ::unlink(name.c_str());
  }
  for (std::string_view left = buffer_; !left.empty();) {
    const ssize_t written = ::pwrite(descriptor_, left.data(), left.size(), static_cast<off_t>(bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    left.remove_prefix(static_cast<std::size_t>(written));
    bytes_ += static_cast<std::uint64_t>(written);
  }
  buffer_.clear();
}

std::string SpoolFile::read(std::uint64_t at, std::size_t most) {
  if (at >= bytes_) return at - bytes_ < buffer_.size() ? buffer_.substr(at - bytes_, most) : std::string();
  std::string text(most, '\0');
  for (;;) {
    const ssize_t got = ::pread(descriptor_, text.data(), std::min<std::uint64_t>(most, bytes_ - at), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Failure::output("lines kept in '" + place_ + "' can't be read again: " + std::strerror(errno));
    text.resize(static_cast<std::size_t>(got));
    return text;
  }
}

}  // namespace sluice
