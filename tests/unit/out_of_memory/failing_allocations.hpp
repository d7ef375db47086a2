// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// This test program's own operator new, which can be told to fail. Whatever is loaded into the program uses it, too.

namespace sluice::testing_memory {

// While it lives, allocations are counted on all threads, and those with the numbers first to first + count - 1 fail. One at a time.
class FailingAllocations {
 public:
  FailingAllocations(long first, long count);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  // Has one failed?
  bool have_failed() const;
};

}  // namespace sluice::testing_memory
