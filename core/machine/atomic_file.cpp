// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sluice/staged_file.hpp>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string problem(const fs::path& file, int error) { return "'" + file.string() + "' cannot be written: " + std::strerror(error); }

std::string write_directly(const fs::path& file, const std::function<std::string()>& next) {
  FileDescriptor opened = open_special_file(file);
  if (!opened.is_open()) return problem(file, errno);
  int error = 0;
  for (std::string piece = next(); !piece.empty() && error == 0; piece = next())
    for (std::string_view left = piece; !left.empty() && error == 0;) {
      const ssize_t written = ::write(opened.number(), left.data(), left.size());
      if (written >= 0)
        left.remove_prefix(static_cast<std::size_t>(written));
      else if (errno != EINTR)
        error = errno;
    }
  if (const int code = opened.close(); error == 0) error = code;
  return error == 0 ? "" : problem(file, error);
}

}  // namespace

std::string write_atomically(const fs::path& file, const std::function<std::string()>& next) {
  try {
    if (file == "-" || is_special_file(file)) return write_directly(file, next);
    StagedFile staged(file);
    for (std::string piece = next(); !piece.empty(); piece = next()) staged.write(piece);
    staged.publish();
    return "";
  } catch (const Failure& failure) {
    return failure.what();
  }
}

std::string write_atomically(const fs::path& file, std::string_view content) {
  return write_atomically(file, [&] { return std::string(std::exchange(content, std::string_view())); });
}

std::string why_not_writable(const fs::path& file) {
  std::error_code ignored;  // what cannot be asked about is found out by creating it
  if (fs::is_directory(file, ignored)) return problem(file, EISDIR);
  if (file == "-") return "";
  if (is_special_file(file)) return ::access(file.c_str(), W_OK) == 0 ? "" : problem(file, errno);
  try {
    const StagedFile staged(file);
    return "";
  } catch (const Failure& failure) {
    return failure.what();
  }
}

}  // namespace sluice
