// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/memory_budget.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace sluice {

template <class Ready>
bool MemoryBudget::wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
  // An interrupt can't notify anybody, and a failed run may keep permits for ever: both are noticed here.
  constexpr std::chrono::milliseconds look_again(50);
  while (!changed_.wait_for(lock, look_again, ready))
    if (given_up_ && given_up_()) return false;
  return true;
}

MemoryBudget::PermitHandle MemoryBudget::admit(Flow& flow, double size) {
  const std::uint64_t bytes = bytes_of(flow, size);
  used_ += bytes;
  ++batches_;
  ++flow.batches_;
  return std::make_shared<Permit>(this, &flow, size, bytes);
}

MemoryBudget::PermitHandle MemoryBudget::acquire(double work) {
  std::unique_lock lock(mutex_);
  const auto fits = [&] { return batches_ == 0 || (used_ + bytes_of(sources(), work) <= room_for(sources()) && sources().batches_ < most_batches_); };
  return wait(lock, fits) ? admit(sources(), work) : nullptr;
}

std::uint64_t MemoryBudget::room_for(const Flow& flow) const {
  bool is_behind = false;
  for (const Flow& other : flows_) {
    if (is_behind && other.has_waited_) return room() / 2;
    is_behind = is_behind || &other == &flow;
  }
  return room();
}

MemoryBudget::Flow& MemoryBudget::add_flow() {
  const std::lock_guard lock(mutex_);
  // Until measured: the batch, and as much again made of it.
  return flows_.emplace_back(2.0);
}

MemoryBudget::PermitHandle MemoryBudget::acquire_emitted(Flow& flow, std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const auto size = static_cast<double>(bytes);
  const auto fits = [&] { return flow.batches_ == 0 || (used_ + bytes_of(flow, size) <= room_for(flow) && flow.batches_ < most_batches_); };
  if (!fits()) flow.has_waited_ = true;
  return wait(lock, fits) ? admit(flow, size) : nullptr;
}

void MemoryBudget::grow(const PermitHandle& permit, double work) {
  std::unique_lock lock(mutex_);
  const auto more = [&] {
    const std::uint64_t bytes = bytes_of(sources(), work);
    return bytes > permit->bytes_ ? bytes - permit->bytes_ : 0;
  };
  ++growing_;
  wait(lock, [&] { return batches_ <= growing_ || used_ + more() <= room(); });
  --growing_;
  const std::uint64_t extra = more();
  used_ += extra;
  permit->bytes_ += extra;
  permit->size_ = work;
}

void MemoryBudget::settle(const PermitHandle& permit) {
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t took = permit->peak_;
    if (took == 0 || took >= permit->bytes_) return;
    used_ -= permit->bytes_ - took;
    permit->bytes_ = took;
  }
  changed_.notify_all();
}

// Under the lock. Null: it has to wait.
MemoryBudget::LeaseHandle MemoryBudget::lent(const PermitHandle& permit, std::uint64_t bytes) {
  const std::uint64_t extra = bytes > permit->bytes_ ? bytes - permit->bytes_ : 0;
  const bool fits = extra <= room() && used_ <= room() - extra;
  if (!fits && leases_ > 0) return nullptr;
  const bool is_beyond = bytes > room();
  auto lease = std::make_shared<Lease>(this, permit, extra, is_beyond ? Lease::Fits::never : Lease::Fits::beside_others);
  ++leases_;
  used_ += extra;
  if (is_beyond) one_is_beyond_ = true;
  return lease;
}

std::optional<MemoryBudget::LeaseHandle> MemoryBudget::lend(const PermitHandle& permit, std::uint64_t bytes, Begin later) {
  const std::lock_guard lock(mutex_);
  // A batch is made so that several for each thread fit.
  if (permit == nullptr || bytes <= room() / 4 || (bytes <= permit->bytes_ && bytes <= room())) return LeaseHandle();
  if (waiting_.empty())
    if (LeaseHandle lease = lent(permit, bytes)) return lease;
  waiting_.push_back({permit, bytes, std::move(later)});
  return std::nullopt;
}

// What waited begins here. Should there be no room to count it, it begins uncounted: nobody else would wake it.
void MemoryBudget::end(Lease& lease, std::uint64_t stays) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(lease.has_ended_, true)) return;
    Permit& permit = *lease.permit_;
    const std::uint64_t more = stays > permit.bytes_ ? stays - permit.bytes_ : 0;
    used_ += more;
    used_ -= lease.bytes_;
    permit.bytes_ += more;
    --leases_;
    if (lease.is_beyond()) one_is_beyond_ = false;
  }
  changed_.notify_all();
  for (;;) {
    Waiting next;
    LeaseHandle of_next;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return;
      try {
        of_next = lent(waiting_.front().permit, waiting_.front().bytes);
        if (!of_next) return;
      } catch (const std::bad_alloc&) {
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    next.later(std::move(of_next));
  }
}

// With more the work of a batch grows no further.
constexpr std::uint64_t most_devices = 8;

// A batch should be small against the budget (at least four per thread fit), large against the cost of handing it on (some
// microseconds a hop), and short against the run, so that the last batches do not leave cores idle. 256 k units are about 0.1 s of a
// core's work in the methylation chain. Several devices take as many times as much, while what a source and a reader of files do for each batch is
// done one after the other.
double MemoryBudget::batch_work(int threads) const {
  const std::lock_guard lock(mutex_);
  const double fitting = static_cast<double>(limit_) / (sources().bytes_per_unit_ * 4.0 * std::max(threads, 1));
  return std::clamp(fitting, 4096.0, 262144.0 * static_cast<double>(std::clamp<std::uint64_t>(devices_, 1, most_devices)));
}

double MemoryBudget::largest_batch_work() const {
  const std::lock_guard lock(mutex_);
  return static_cast<double>(room()) / (sources().bytes_per_unit_ * most_batches_);
}

void MemoryBudget::keep(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    kept_ = bytes;
  }
  changed_.notify_all();
}

std::uint64_t MemoryBudget::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

void MemoryBudget::allow_for_devices(int batches, std::uint64_t bytes, std::uint64_t devices) {
  {
    const std::lock_guard lock(mutex_);
    devices_ = devices;
    most_batches_ += batches - std::exchange(for_devices_, batches);
    limit_ += bytes - std::exchange(bytes_for_devices_, bytes);
  }
  changed_.notify_all();
}

int MemoryBudget::in_flight() const {
  const std::lock_guard lock(mutex_);
  return batches_;
}

double MemoryBudget::bytes_per_work() const {
  const std::lock_guard lock(mutex_);
  return sources().bytes_per_unit_;
}

// What the batch really took per unit of its size corrects the estimate: upwards at once, downwards slowly.
void MemoryBudget::release(const Permit& permit) {
  {
    const std::lock_guard lock(mutex_);
    Flow& flow = *permit.flow_;
    used_ -= permit.bytes_;
    --batches_;
    --flow.batches_;
    if (permit.size_ > 0 && permit.peak_ > 0) {
      const double ratio = static_cast<double>(permit.peak_) / permit.size_;
      if (!flow.measured_ || ratio > flow.bytes_per_unit_)
        flow.bytes_per_unit_ = ratio;
      else
        flow.bytes_per_unit_ = 0.95 * flow.bytes_per_unit_ + 0.05 * ratio;
      flow.measured_ = true;
    }
  }
  changed_.notify_all();
}

}  // namespace sluice
