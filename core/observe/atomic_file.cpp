// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice {
namespace {

namespace fs = std::filesystem;

bool is_written_directly(const fs::path& file) {
  std::error_code ignored;  // what cannot be asked about is not a device
  const auto status = fs::status(file, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

std::string problem(const fs::path& file, int error) { return "'" + file.string() + "' cannot be written: " + std::strerror(error); }

fs::path temporary_name(const fs::path& file) { return file.string() + "." + std::to_string(::getpid()) + ".partial"; }

int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

std::string write_atomically(const fs::path& file, std::string_view content) {
  const bool directly = is_written_directly(file);
  const fs::path target = directly ? file : temporary_name(file);
  const int descriptor = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | (directly ? 0 : O_CREAT | O_TRUNC), 0666);
  if (descriptor < 0) return problem(file, errno);
  int error = write_all(descriptor, content);
  if (error == 0 && !directly && ::fsync(descriptor) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && !directly && ::rename(target.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return "";
  if (!directly) ::unlink(target.c_str());
  return problem(file, error);
}

std::string why_not_writable(const fs::path& file) {
  std::error_code ignored;  // what cannot be asked about is found out by opening it
  if (fs::is_directory(file, ignored)) return problem(file, EISDIR);
  if (is_written_directly(file)) return ::access(file.c_str(), W_OK) == 0 ? "" : problem(file, errno);
  const fs::path target = temporary_name(file);
  const int descriptor = ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return problem(file, errno);
  ::close(descriptor);
  ::unlink(target.c_str());
  return "";
}

}  // namespace sluice
