// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/spool_file.hpp"

#include <algorithm>

namespace sluice {

SpillFile& SpoolFile::file() { return file_ ? *file_ : file_.emplace(beside_, advice_); }

void SpoolFile::append(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > buffer_bytes) {
    if (!buffer_.empty()) file().append(buffer_);
    buffer_.clear();
  }
  if (bytes.size() >= buffer_bytes)
    file().append(bytes);
  else
    buffer_ += bytes;
}

std::string SpoolFile::read(std::uint64_t at, std::size_t most) const {
  const std::uint64_t written = in_file();
  if (at >= written) return at - written < buffer_.size() ? buffer_.substr(at - written, most) : std::string();
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(most, written - at)), '\0');
  file_->read(at, text.data(), text.size());
  return text;
}

void SpoolFile::give(const std::function<void(std::string_view)>& take) const {
  for (std::uint64_t at = 0; at < bytes();) {
    const std::string piece = read(at, buffer_bytes);
    take(piece);
    at += piece.size();
  }
}

}  // namespace sluice
