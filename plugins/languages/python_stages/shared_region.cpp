// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "python_stages/shared_region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <sluice/failure.hpp>
#include <string>

namespace sluice::python {
namespace {

std::int64_t next_number() {
  static std::atomic<std::int64_t> last{0};
  return ++last;
}

}  // namespace

SharedRegion::SharedRegion(std::size_t bytes) : bytes_(bytes), number_(next_number()) {
  descriptor_ = ::memfd_create("sluice batch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const bool sized = descriptor_ >= 0 && ::ftruncate(descriptor_, static_cast<off_t>(bytes_)) == 0 &&
                     ::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (sized) data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (sized && data_ != MAP_FAILED) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  throw Failure::memory("no " + std::to_string(bytes_) + " bytes of memory to share with Python");
}

SharedRegion::~SharedRegion() {
  ::munmap(data_, bytes_);
  ::close(descriptor_);
}

}  // namespace sluice::python
