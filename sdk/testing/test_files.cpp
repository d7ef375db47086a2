// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "testing/test_files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sluice/stage.hpp>
#include <utility>

namespace sluice::testing::detail {

TestFiles::~TestFiles() {
  for (const auto& file : files_)
    if (file->stream != nullptr) std::fclose(file->stream);
}

std::vector<SavedFile> TestFiles::contents() const {
  std::vector<SavedFile> contents;
  for (const auto& file : files_) {
    if (file->stream != nullptr) std::fflush(file->stream);
    contents.push_back({file->path, file_bytes(file->real), file->header});
  }
  return contents;
}

void TestFiles::finish(bool succeeded, Result& result) {
  for (const auto& file : files_) {
    if (file->stream != nullptr && succeeded) problem_("file '" + file->path + "' was never closed");
    if (file->stream != nullptr) continue;
    result.files[file->path] = file_bytes(file->real);
    result.headers[file->path] = file->header;
  }
}

sluice_status TestFiles::open(const char* path, sluice_file** file, sluice_error* error) {
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<File>();
  made->home = this;
  made->path = path;
  const bool standard_output = made->path == "-";
  // The suffix stays, because libraries choose the format by it.
  const std::string name = std::to_string(files_.size()) + "-" + std::filesystem::path(made->path).filename().string();
  if (!folder_) folder_.emplace(parent_);
  made->real = folder_->path() + "/" + (standard_output ? "standard-output" : name);
  made->temporary = standard_output ? "-" : made->real;
  made->stream = std::fopen(made->real.c_str(), "wb");
  if (made->stream == nullptr) return error_of(error, *made, "cannot be opened");
  if (files_.size() < kept_.size()) {
    const SavedFile& kept = kept_[files_.size()];
    if (kept.path != made->path) problem_("file '" + made->path + "' was opened in place of '" + kept.path + "'");
    std::fwrite(kept.bytes.data(), 1, kept.bytes.size(), made->stream);
    std::fflush(made->stream);
    made->written = kept.bytes.size();
  }
  *file = reinterpret_cast<sluice_file*>(made.get());
  files_.push_back(std::move(made));
  return SLUICE_OK;
}

sluice_status TestFiles::write(sluice_file* file, const void* data, std::size_t bytes, sluice_error* error) {
  File& state = of(file);
  if (state.stream == nullptr) {
    state.home->problem_("write to file '" + state.path + "' after it was closed");
    return error_of(error, state, "is closed");
  }
  state.written += bytes;
  if (state.written > state.home->capacity_) {
    state.home->wrote_beyond_capacity_ = true;
    return error_of(error, state, "cannot be written: No space left on device");
  }
  if (std::fwrite(data, 1, bytes, state.stream) != bytes) return error_of(error, state, std::string("cannot be written: ") + std::strerror(errno));
  return SLUICE_OK;
}

const char* TestFiles::path(const sluice_file* file) { return reinterpret_cast<const File*>(file)->temporary.c_str(); }

sluice_status TestFiles::close(sluice_file* file, sluice_error* error) {
  File& state = of(file);
  if (state.stream == nullptr) {
    state.home->problem_("file '" + state.path + "' was closed twice");
    return SLUICE_OK;
  }
  // A library may have replaced the file under its name: closing our own empty handle does no harm.
  if (std::fclose(std::exchange(state.stream, nullptr)) != 0)
    return error_of(error, state, std::string("cannot be written: ") + std::strerror(errno));
  return SLUICE_OK;
}

sluice_status TestFiles::set_header(sluice_file* file, std::uint64_t bytes) {
  of(file).header = bytes;
  return SLUICE_OK;
}

sluice_status TestFiles::error_of(sluice_error* error, const File& file, const std::string& what) {
  sluice::detail::fill(error, SLUICE_ERROR_OUTPUT, ("file '" + file.path + "' " + what).c_str(), "");
  return SLUICE_ERROR_OUTPUT;
}

}  // namespace sluice::testing::detail
