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
// What is as large goes to the kernel as it is.
constexpr std::size_t least_direct_bytes = std::size_t{128} << 10;
// The kernel is told to begin writing every so often, so that the sync at the end does not wait for a whole file.
constexpr std::uint64_t sync_stride = std::uint64_t{16} << 20;

Failure write_failure(const sluice_file& file, int code) {
  const std::string name = file.path == "-" ? "standard output" : "'" + file.path + "'";
  if (code == EPIPE) return {SLUICE_ERROR_CLOSED_PIPE, "the reader of " + name + " has gone", ""};
  return Failure::output("cannot write " + name + ": " + std::strerror(code), remedy_of_write(code));
}

void write_all(sluice_file& file, const char* data, std::size_t bytes) {
  const int descriptor = file.is_staged() ? file.staged.descriptor() : file.direct.number();
  file.written += bytes;
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, data, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw write_failure(file, errno);
    }
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  if (!file.is_staged() || file.written - file.syncing < sync_stride) return;
  ::sync_file_range(descriptor, static_cast<off64_t>(file.syncing), static_cast<off64_t>(file.written - file.syncing), SYNC_FILE_RANGE_WRITE);
  file.syncing = file.written;
}

}  // namespace

bool RunningChecksum::read_to(std::uint64_t end, int descriptor, const std::function<bool()>& stopping) {
  std::string piece(std::size_t{256} << 10, '\0');
  while (bytes_ < end && !stopping()) {
    const ssize_t got = ::pread(descriptor, piece.data(), std::min<std::uint64_t>(piece.size(), end - bytes_), static_cast<off_t>(bytes_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    checksum_.add({piece.data(), static_cast<std::size_t>(got)});
    bytes_ += static_cast<std::uint64_t>(got);
  }
  return bytes_ == end;
}

sluice_file* OutputFiles::open(const std::string& path, const void* owner) {
  if (path.empty()) throw Failure::usage("an output has no name");
  const std::lock_guard lock(mutex_);
  for (const sluice_file& other : files_)
    if (other.path == path && (path == "-" || !is_special_file(path)))
      throw Failure::usage("two stages write '" + path + "'", "give each output a name of its own");
  sluice_file file;
  file.path = file.temporary = path;
  file.owner = owner;
  if (path == "-" || is_special_file(path)) {
    file.direct = open_special_file(path);
    if (!file.direct.is_open()) throw write_failure(file, errno);
    if (path == "-" || descriptor_named(path) == STDOUT_FILENO) uses_standard_output_ = true;
  } else {
    std::error_code error;  // what cannot be asked about is found out by creating the file
    if (fs::is_directory(path, error)) throw Failure::usage("output '" + path + "' is a folder", "name a file in it");
    const fs::path parent = followed(path).parent_path(), folder = parent.empty() ? "." : parent;
    if (!fs::is_directory(folder, error))
      throw Failure::usage("the folder of output '" + path + "' does not exist", "make it first: mkdir -p '" + folder.string() + "'");
    const auto earlier = earlier_.find(path);
    if (earlier == earlier_.end()) {
      file.staged = StagedFile(path);
    } else {
      const FilePoint& left = earlier->second;
      RunningChecksum& checksum = checksums_[path];
      file.staged = StagedFile::going_on(path, left.temporary, left.bytes, [&](int descriptor) {
        const bool is_whole = checksum.read_to(left.bytes, descriptor, stopping_);
        if (!is_whole && stopping_()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
        return is_whole && checksum.text() == left.xxh3;
      });
      file.written = file.syncing = left.bytes;
    }
    file.temporary = file.staged.temporary();
  }
  return &files_.emplace_back(std::move(file));
}

void OutputFiles::write(sluice_file& file, const char* data, std::size_t bytes) {
  if (file.closed) throw Failure(SLUICE_ERROR_INTERNAL, "write to '" + file.path + "' after it was closed");
  if (bytes < least_direct_bytes) {
    file.pending.append(data, bytes);
    if (file.pending.size() < buffer_bytes) return;
  }
  write_all(file, file.pending.data(), file.pending.size());
  file.pending.clear();
  if (bytes >= least_direct_bytes) write_all(file, data, bytes);
}

void OutputFiles::close(sluice_file& file) {
  if (file.closed) return;
  file.closed = true;
  write_all(file, file.pending.data(), file.pending.size());
  file.pending = {};
  if (const int code = file.direct.close(); code != 0) throw write_failure(file, code);
}

void OutputFiles::sync_all() {
  for (sluice_file& file : files_) close(file);
  for (sluice_file& file : files_)
    if (file.is_staged()) file.staged.sync();
}

std::vector<std::string> OutputFiles::give_names(OutputNames& names, const std::string& suffix, const GoesOn& goes_on) {
  std::vector<std::string> given;
  try {
    for (sluice_file& file : files_) {
      if (file.is_staged()) {
        if (!goes_on(Step::next)) return {};
        // In the order of opening: an index, opened after its file, must not look older than it.
        ::utimensat(AT_FDCWD, file.temporary.c_str(), nullptr, 0);
        names.give(file.staged, file.staged.target().string() + suffix);
      }
      if (file.is_staged() || suffix.empty()) given.push_back(file.path + suffix);
    }
  } catch (const Failure& failure) {
    std::string have;
    for (const std::string& name : names.take_back()) have += (have.empty() ? "" : ", ") + name;
    throw Failure(failure.status(), failure.what() + (have.empty() ? " (no output was given its name)" : " (these outputs are new: " + have + ")"),
                  failure.remedy());
  }
  if (!goes_on(Step::last)) return {};
  names.keep();
  return given;
}

std::vector<std::string> OutputFiles::commit(const std::vector<std::string>& beside, const GoesOn& goes_on) {
  const std::lock_guard lock(mutex_);
  sync_all();
  const auto is_new = [this](const std::string& path) {
    return std::any_of(files_.begin(), files_.end(), [&](const sluice_file& file) { return file.path == path; });
  };
  OutputNames names;
  for (const std::string& path : beside)
    for (const sluice_file& whole : files_)
      if (whole.is_staged() && path.starts_with(whole.path + ".") && !is_new(path)) names.remove(path, whole.staged);
  // An index of before must never lie beside a file of now, also if the process is killed between two renames.
  for (const sluice_file& file : files_)
    for (const sluice_file& whole : files_)
      if (&whole != &file && file.is_staged() && file.path.starts_with(whole.path + ".")) names.remove(file.staged.target(), file.staged);
  return give_names(names, "", goes_on);
}

void OutputFiles::go_on_with(const std::vector<FilePoint>& files, std::function<bool()> stopping) {
  for (const FilePoint& file : files) earlier_[file.path] = file;
  stopping_ = std::move(stopping);
}

std::vector<FilePoint> OutputFiles::flush(const void* owner) {
  std::vector<FilePoint> points;
  const std::lock_guard lock(mutex_);
  for (sluice_file& file : files_) {
    if (file.owner != owner || !file.is_staged()) continue;
    write_all(file, file.pending.data(), file.pending.size());
    file.pending.clear();
    points.push_back({file.path, file.temporary, file.written, {}});
  }
  return points;
}

void OutputFiles::sync(std::vector<FilePoint>& points) {
  std::map<std::string, const StagedFile*> files;
  {
    const std::lock_guard lock(mutex_);
    for (const sluice_file& file : files_)
      if (file.is_staged()) files[file.path] = &file.staged;
  }
  for (FilePoint& point : points) {
    const StagedFile* const file = files.at(point.path);
    file->sync();
    RunningChecksum& checksum = checksums_[point.path];
    if (!checksum.read_to(point.bytes, file->descriptor(), [] { return false; }))
      throw Failure::output("what was written to '" + point.path + "' can't be read again");
    point.xxh3 = checksum.text();
  }
}

std::vector<std::string> OutputFiles::keep_partial(const GoesOn& goes_on) {
  const std::lock_guard lock(mutex_);
  sync_all();
  OutputNames names;
  return give_names(names, ".partial", goes_on);
}

void OutputFiles::discard() {
  const std::lock_guard lock(mutex_);
  if (kept_)
    for (sluice_file& file : files_) file.staged.leave();
  files_.clear();
}

std::map<std::string, std::uint64_t> OutputFiles::header_bytes() const {
  std::map<std::string, std::uint64_t> bytes;
  const std::lock_guard lock(mutex_);
  for (const sluice_file& file : files_)
    if (file.header_bytes > 0) bytes[file.path] = file.header_bytes;
  return bytes;
}

bool OutputFiles::uses_standard_output() const {
  const std::lock_guard lock(mutex_);
  return uses_standard_output_;
}

std::vector<std::string> OutputFiles::temporaries() const {
  std::vector<std::string> names;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || kept_) return names;
  for (const sluice_file& file : files_)
    if (file.is_staged()) names.push_back(file.temporary);
  return names;
}

}  // namespace sluice
