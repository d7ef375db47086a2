// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Between a run and whoever takes its batches: a few may wait, then the run does.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "batch/batch.hpp"

namespace sluice {

class BatchChannel {
 public:
  enum class Put { taken, closed, cancelled };
  enum class Take { batch, end, too_late };

  explicit BatchChannel(std::size_t depth) : depth_(depth) {}

  // The run's side. Waits while there is no room, and looks meanwhile whether the run is cancelled.
  Put put(BatchHandle batch, const std::function<bool()>& cancelled);
  // No more batches come.
  void end();

  // The other side. Waits so long; < 0: for ever.
  Take take(double seconds, BatchHandle& batch);
  // Is there something to take, so that take() would not wait?
  bool ready() const;
  // Nobody takes more. What waits is dropped.
  void close();
  bool closed() const;

 private:
  const std::size_t depth_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable room_, arrived_;
  std::deque<BatchHandle> waiting_;
  bool ended_ = false, closed_ = false;
};

}  // namespace sluice
