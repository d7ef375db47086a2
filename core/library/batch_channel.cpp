// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/batch_channel.hpp"

#include <chrono>
#include <utility>

namespace sluice {

BatchChannel::Put BatchChannel::put(BatchHandle batch, const std::function<bool()>& cancelled) {
  // Nobody wakes this when a run is cancelled.
  constexpr std::chrono::milliseconds between_looks{50};
  std::unique_lock lock(mutex_);
  while (!room_.wait_for(lock, between_looks, [&] { return closed_ || waiting_.size() < depth_; }))
    if (cancelled()) return Put::cancelled;
  if (closed_) return Put::closed;
  waiting_.push_back(std::move(batch));
  lock.unlock();
  arrived_.notify_one();
  return Put::taken;
}

void BatchChannel::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  arrived_.notify_all();
}

BatchChannel::Take BatchChannel::take(double seconds, BatchHandle& batch) {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return closed_ || ended_ || !waiting_.empty(); };
  if (seconds < 0)
    arrived_.wait(lock, there);
  else if (!arrived_.wait_for(lock, std::chrono::duration<double>(seconds), there))
    return Take::too_late;
  if (waiting_.empty()) return Take::end;
  batch = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  room_.notify_one();
  return Take::batch;
}

bool BatchChannel::ready() const {
  const std::lock_guard lock(mutex_);
  return closed_ || ended_ || !waiting_.empty();
}

void BatchChannel::close() {
  std::deque<BatchHandle> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(waiting_);
  room_.notify_all();
  arrived_.notify_all();
}

bool BatchChannel::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace sluice
