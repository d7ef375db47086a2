// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

namespace sluice {

// While it lives, this thread has given back the lock that the host's interpreter has around its own code, if it held it: what is waited for may
// need it.
class UnlockedWait {
 public:
  struct Lock {
    int (*held)() = nullptr;
    void* (*release)() = nullptr;
    void (*acquire)(void*) = nullptr;
  };
  // Of the whole process; all null: there is no such lock.
  static void set_lock(const Lock& lock);

  UnlockedWait();
  ~UnlockedWait();
  UnlockedWait(const UnlockedWait&) = delete;

 private:
  const Lock lock_;
  void* state_ = nullptr;
  bool released_ = false;
};

}  // namespace sluice
