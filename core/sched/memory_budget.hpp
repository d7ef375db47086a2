// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Bounded memory: a source gets a permit before it reads a batch, and the permit comes back when the last thing made of that batch is gone.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace sluice {

class MemoryBudget {
 public:
  MemoryBudget(std::uint64_t bytes, double bytes_per_work, int batches_in_flight)
      : limit_(bytes), bytes_per_work_(bytes_per_work), most_batches_(batches_in_flight) {}

  // Held by every message that descends from one batch; returns its bytes when the last copy dies. The permit thus can't leak through
  // filters, errors, fan-out or cancellation.
  class Permit {
   public:
    Permit(MemoryBudget* budget, double work, std::uint64_t bytes) : budget_(budget), work_(work), bytes_(bytes) {}
    Permit(const Permit&) = delete;
    ~Permit() { budget_->release(*this); }
    // The batch and what was made of it took this much at one moment. Thread-safe.
    void used(std::uint64_t bytes) {
      std::uint64_t peak = peak_.load();
      while (bytes > peak && !peak_.compare_exchange_weak(peak, bytes)) {
      }
    }

   private:
    friend class MemoryBudget;
    MemoryBudget* budget_;
    double work_;
    std::uint64_t bytes_;
    std::atomic<std::uint64_t> peak_{0};
  };
  using PermitHandle = std::shared_ptr<Permit>;

  // Waits until a batch of `work` fits; one batch is always let in, however large. Null when close() was called.
  PermitHandle acquire(double work);
  // The batch turned out larger than asked for: waits until it fits too, or until nothing else is under way that could make room.
  void grow(const PermitHandle& permit, double work);
  // Wakes everybody who waits; acquire returns null from now on.
  void close();

  // Work per batch so that several batches per thread fit into the budget.
  double batch_work(int threads) const;
  // The largest batch of which all that may be in flight still fit.
  double largest_batch_work() const;
  // Lets more batches in: a device works on several at once.
  void allow_more_batches(int batches);
  int in_flight() const;
  std::uint64_t limit() const { return limit_; }
  double bytes_per_work() const;

 private:
  void release(const Permit& permit);
  bool fits(std::uint64_t bytes) const { return batches_ == 0 || (used_ + bytes <= limit_ && batches_ < most_batches_); }

  const std::uint64_t limit_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  double bytes_per_work_;
  bool measured_ = false, closed_ = false;
  std::uint64_t used_ = 0;
  int batches_ = 0;
  int growing_ = 0;  // batches whose source waits in grow()
  int most_batches_;
};

}  // namespace sluice
