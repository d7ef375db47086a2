// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/output_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sluice/failure.hpp>

namespace sluice {
namespace {

namespace fs = std::filesystem;

// 1 MiB: writes are few, and a sink that writes lines costs no system call per line.
constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

Failure write_failure(const sluice_file& file, int code) {
  const std::string name = file.path == "-" ? "standard output" : "'" + file.path + "'";
  const char* remedy = code == ENOSPC || code == EDQUOT ? "free space there or write elsewhere"
                       : code == EPIPE                  ? "the reader of the pipe has gone"
                                                        : "";
  return Failure::output("cannot write " + name + ": " + std::strerror(code), remedy);
}

void write_all(sluice_file& file, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(file.descriptor, data, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw write_failure(file, errno);
    }
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

}  // namespace

sluice_file* OutputFiles::open(const std::string& path) {
  if (path.empty()) throw Failure::usage("an output has no name");
  const std::lock_guard lock(mutex_);
  for (const sluice_file& other : files_)
    if (other.path == path) throw Failure::usage("two stages write '" + path + "'", "give each output a name of its own");
  sluice_file& file = files_.emplace_back();
  file.path = path;
  if (path == "-") {
    file.temporary = "-";
    file.descriptor = STDOUT_FILENO;
    return &file;
  }
  const fs::path final_path(path);
  std::error_code error;
  struct stat info {};
  // A device or a pipe (/dev/null, /dev/stdout, a FIFO) is written directly: it can't be renamed.
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      files_.pop_back();
      throw Failure::usage("output '" + path + "' is a folder", "name a file in it");
    }
    file.temporary = path;
    file.descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    const fs::path folder = final_path.parent_path().empty() ? fs::path(".") : final_path.parent_path();
    if (!fs::is_directory(folder, error)) {
      files_.pop_back();
      throw Failure::usage("the folder of output '" + path + "' does not exist", "make it first: mkdir -p '" + folder.string() + "'");
    }
    file.temporary = (folder / ("." + final_path.filename().string() + "." + std::to_string(::getpid()) + ".partial")).string();
    file.descriptor = ::open(file.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (file.descriptor < 0) {
    const int code = errno;
    files_.pop_back();
    throw Failure::output("cannot create '" + path + "': " + std::strerror(code));
  }
  return &file;
}

void OutputFiles::write(sluice_file& file, const char* data, std::size_t bytes) {
  if (file.closed) throw Failure(SLUICE_ERROR_INTERNAL, "write to '" + file.path + "' after it was closed");
  file.pending.append(data, bytes);
  if (file.pending.size() < buffer_bytes) return;
  write_all(file, file.pending.data(), file.pending.size());
  file.pending.clear();
}

void OutputFiles::close(sluice_file& file) {
  if (file.closed) return;
  file.closed = true;
  write_all(file, file.pending.data(), file.pending.size());
  file.pending.clear();
  if (file.path == "-") return;
  const int descriptor = file.descriptor;
  file.descriptor = -1;
  if (::close(descriptor) != 0) throw write_failure(file, errno);
}

std::vector<std::string> OutputFiles::commit() {
  std::vector<std::string> names;
  const std::lock_guard lock(mutex_);
  for (sluice_file& file : files_) close(file);
  for (sluice_file& file : files_) {
    names.push_back(file.path);
    if (file.temporary == file.path) continue;
    // In the order of opening: an index, opened after its file, must not look older than it.
    ::utimensat(AT_FDCWD, file.temporary.c_str(), nullptr, 0);
    if (std::rename(file.temporary.c_str(), file.path.c_str()) != 0) throw write_failure(file, errno);
    file.temporary = file.path;
  }
  return names;
}

std::vector<std::string> OutputFiles::keep_partial() {
  std::vector<std::string> names;
  const std::lock_guard lock(mutex_);
  for (sluice_file& file : files_) {
    close(file);
    if (file.temporary == file.path) continue;
    const std::string name = file.path + ".partial";
    if (std::rename(file.temporary.c_str(), name.c_str()) != 0) throw write_failure(file, errno);
    file.temporary = file.path;
    names.push_back(name);
  }
  return names;
}

void OutputFiles::discard() {
  const std::lock_guard lock(mutex_);
  for (sluice_file& file : files_) {
    if (file.descriptor >= 0 && file.path != "-") ::close(file.descriptor);
    file.descriptor = -1;
    file.closed = true;
    if (file.temporary != file.path) ::unlink(file.temporary.c_str());
  }
  files_.clear();
}

}  // namespace sluice
