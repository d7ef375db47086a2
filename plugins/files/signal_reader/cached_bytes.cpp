// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/cached_bytes.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace sluice::signal_reader {

CachedBytes::~CachedBytes() {
  if (pages_ != nullptr) ::munmap(pages_, static_cast<std::size_t>(size_));
}

bool CachedBytes::read(std::uint64_t offset, std::span<const iovec> parts) const {
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  const auto take = [&](int flags) {
    return ::preadv2(descriptor_, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset), flags);
  };
  if (way_.load(std::memory_order_relaxed) == Way::asks) {
    const ssize_t got = take(RWF_NOWAIT);
    if (got >= 0) return static_cast<std::size_t>(got) == bytes;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
    way_.store(Way::looks, std::memory_order_relaxed);
  }
  if (!are_there(offset, bytes)) return false;
  const ssize_t got = take(0);
  return got >= 0 && static_cast<std::size_t>(got) == bytes;
}

bool CachedBytes::are_there(std::uint64_t offset, std::uint64_t bytes) const {
  std::call_once(is_mapped_, [&] {
    struct stat info {};
    if (::fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return;
    void* const mapped = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_SHARED, descriptor_, 0);
    if (mapped == MAP_FAILED) return;
    pages_ = static_cast<unsigned char*>(mapped);
    size_ = static_cast<std::uint64_t>(info.st_size);
  });
  if (bytes == 0 || offset >= size_ || bytes > size_ - offset) return false;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 256> there;
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset / page * page; at < end; at += there.size() * page) {
    const std::uint64_t some = std::min<std::uint64_t>(end - at, there.size() * page);
    if (::mincore(pages_ + at, static_cast<std::size_t>(some), there.data()) != 0) return false;
    if (!std::all_of(there.begin(), there.begin() + static_cast<std::ptrdiff_t>((some + page - 1) / page),
                     [](unsigned char one) { return (one & 1U) != 0; }))
      return false;
  }
  return true;
}

}  // namespace sluice::signal_reader
