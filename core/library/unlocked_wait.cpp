// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/unlocked_wait.hpp"

#include <mutex>

namespace sluice {
namespace {

std::mutex guards_lock;
UnlockedWait::Lock interpreter_lock;

UnlockedWait::Lock lock_of_now() {
  const std::lock_guard guard(guards_lock);
  return interpreter_lock;
}

}  // namespace

void UnlockedWait::set_lock(const Lock& lock) {
  const std::lock_guard guard(guards_lock);
  interpreter_lock = lock;
}

UnlockedWait::UnlockedWait() : lock_(lock_of_now()) {
  if (lock_.held == nullptr || lock_.held() == 0) return;
  released_ = true;
  state_ = lock_.release();
}

UnlockedWait::~UnlockedWait() {
  if (released_) lock_.acquire(state_);
}

}  // namespace sluice
