// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// An open file by its number, which has one owner: it is closed once. A number that is closed a second time may be a file of another thread, or of
// the program that runs the library.

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sluice {

class FileDescriptor {
 public:
  // Owns `number` from now on; -1: no file.
  explicit FileDescriptor(int number = -1) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }
  // Whoever calls owns it from now on.
  int release() noexcept { return std::exchange(number_, -1); }
  // Returns 0, or what the system said (an errno); there is no file afterwards in either case.
  int close() noexcept {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 ? 0 : errno;
  }

 private:
  int number_;
};

}  // namespace sluice
