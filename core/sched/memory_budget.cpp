// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/memory_budget.hpp"

#include <algorithm>

namespace sluice {

MemoryBudget::PermitHandle MemoryBudget::acquire(double work) {
  std::unique_lock lock(mutex_);
  const auto bytes = [&] { return static_cast<std::uint64_t>(work * bytes_per_work_); };
  changed_.wait(lock, [&] { return closed_ || fits(bytes()); });
  if (closed_) return nullptr;
  const std::uint64_t granted = bytes();
  used_ += granted;
  ++batches_;
  return std::make_shared<Permit>(this, work, granted);
}

void MemoryBudget::grow(const PermitHandle& permit, double work) {
  std::unique_lock lock(mutex_);
  const auto more = [&] {
    const auto bytes = static_cast<std::uint64_t>(work * bytes_per_work_);
    return bytes > permit->bytes_ ? bytes - permit->bytes_ : 0;
  };
  ++growing_;
  changed_.wait(lock, [&] { return closed_ || batches_ <= growing_ || used_ + more() <= limit_; });
  --growing_;
  const std::uint64_t extra = more();
  used_ += extra;
  permit->bytes_ += extra;
  permit->work_ = work;
}

void MemoryBudget::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

// A batch should be small against the budget (at least four per thread fit), large against the cost of handing it on (some
// microseconds a hop), and short against the run, so that the last batches do not leave cores idle. 256 k units are about 0.1 s of a
// core's work in the methylation chain.
double MemoryBudget::batch_work(int threads) const {
  const std::lock_guard lock(mutex_);
  const double fitting = static_cast<double>(limit_) / (bytes_per_work_ * 4.0 * std::max(threads, 1));
  return std::clamp(fitting, 4096.0, 262144.0);
}

double MemoryBudget::largest_batch_work() const {
  const std::lock_guard lock(mutex_);
  return static_cast<double>(limit_) / (bytes_per_work_ * most_batches_);
}

void MemoryBudget::allow_more_batches(int batches) {
  {
    const std::lock_guard lock(mutex_);
    most_batches_ += batches;
  }
  changed_.notify_all();
}

int MemoryBudget::in_flight() const {
  const std::lock_guard lock(mutex_);
  return batches_;
}

double MemoryBudget::bytes_per_work() const {
  const std::lock_guard lock(mutex_);
  return bytes_per_work_;
}

// What the batch really took per unit of work corrects the estimate: upwards at once, downwards slowly.
void MemoryBudget::release(const Permit& permit) {
  {
    const std::lock_guard lock(mutex_);
    used_ -= permit.bytes_;
    --batches_;
    if (permit.work_ > 0 && permit.peak_ > 0) {
      const double ratio = static_cast<double>(permit.peak_) / permit.work_;
      if (!measured_ || ratio > bytes_per_work_)
        bytes_per_work_ = ratio;
      else
        bytes_per_work_ = 0.95 * bytes_per_work_ + 0.05 * ratio;
      measured_ = true;
    }
  }
  changed_.notify_all();
}

}  // namespace sluice
