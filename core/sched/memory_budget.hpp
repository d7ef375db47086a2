// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Bounded memory: a source gets a permit before it reads a batch, and a regrouping stage for every batch that it emits; the permit comes back
// when the last thing made of that batch is gone.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace sluice {

class MemoryBudget {
 public:
  // given_up: asked while somebody waits; true when nobody should wait any more.
  MemoryBudget(std::uint64_t bytes, double bytes_per_work, int batches_in_flight, std::function<bool()> given_up = nullptr)
      : given_up_(std::move(given_up)), limit_(bytes), most_batches_(batches_in_flight) {
    flows_.push_back({bytes_per_work});
  }

  // Batches that are made in one place: by the sources (together), or by one regrouping stage.
  class Flow {
   public:
    Flow(double bytes_per_unit) : bytes_per_unit_(bytes_per_unit) {}

   private:
    friend class MemoryBudget;
    double bytes_per_unit_;  // what a batch and all that is made of it takes, per unit of its size
    bool measured_ = false, has_waited_ = false;
    int batches_ = 0;
  };

  // Held by every message that descends from one batch; returns its bytes when the last copy dies. The permit thus can't leak through
  // filters, errors, fan-out or cancellation.
  class Permit {
   public:
    Permit(MemoryBudget* budget, Flow* flow, double size, std::uint64_t bytes) : budget_(budget), flow_(flow), size_(size), bytes_(bytes) {}
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
    Flow* flow_;
    double size_;  // in the flow's unit: work of a source's batch, bytes of an emitted one
    std::uint64_t bytes_;
    std::atomic<std::uint64_t> peak_{0};
  };
  using PermitHandle = std::shared_ptr<Permit>;

  // What one call takes beyond its batch's permit, until this ends. Null where nobody has to count it.
  class Lease {
   public:
    enum class Fits { beside_others, never };
    Lease(MemoryBudget* budget, PermitHandle permit, std::uint64_t bytes, Fits fits)
        : budget_(budget), permit_(std::move(permit)), bytes_(bytes), fits_(fits) {}
    Lease(const Lease&) = delete;
    ~Lease() { budget_->end(*this, 0); }
    // More than the whole budget: the call has to take as little as it can.
    bool is_beyond() const { return fits_ == Fits::never; }
    // The call is over; so much stays of it: the batch with what was made of it.
    void over(std::uint64_t stays) noexcept { budget_->end(*this, stays); }

   private:
    friend class MemoryBudget;
    MemoryBudget* budget_;
    PermitHandle permit_;
    std::uint64_t bytes_;
    Fits fits_;
    bool has_ended_ = false;
  };
  using LeaseHandle = std::shared_ptr<Lease>;
  using Begin = std::function<void(LeaseHandle)>;
  // For a call of so many bytes, which are those of its batch, too. Nothing: it has to wait, and `later` is called where another lease ends. Small
  // calls are not counted beside their permits. What does not fit waits for the leases before it to end, and then begins whether it fits or not.
  std::optional<LeaseHandle> lend(const PermitHandle& permit, std::uint64_t bytes, Begin later);

  // Waits until a source's batch of `work` fits; one batch is always let in, however large. Null when nobody should wait any more.
  PermitHandle acquire(double work);
  // A regrouping stage's own flow, behind those of the stages in front of it; lives as long as the budget.
  Flow& add_flow();
  // Waits until a batch of so many bytes, which a regrouping stage has made, fits. One batch of each flow is always let in: what is in front of
  // the stage may hold all of the budget, and goes on only when the stage does. From the first wait on, sources and stages in front of this one get
  // half of the budget only, so that there is room behind it.
  PermitHandle acquire_emitted(Flow& flow, std::uint64_t bytes);
  // The batch turned out larger than asked for: waits until it fits too, or until nothing else is under way that could make room.
  void grow(const PermitHandle& permit, double work);
  // The batch has come to its regrouping stage or sink and only waits for its turn: of what it was let in with, what it took at most stays counted.
  // Else a rough estimate in front of a stage that waits for room would leave it none.
  void settle(const PermitHandle& permit);
  // Work per batch so that several batches per thread fit into the budget.
  double batch_work(int threads) const;
  // The largest batch of which all that may be in flight still fit.
  double largest_batch_work() const;
  // So much of the memory is taken by what is no batch (indexes, tables that grow). Batches are left half of it, whatever that is.
  void keep(std::uint64_t bytes);
  // Lets so much more in than without devices, which work on many batches at once. devices: how many there are.
  void allow_for_devices(int batches, std::uint64_t bytes, std::uint64_t devices);
  // Goes on a call now that needs more than the whole budget?
  bool one_is_beyond() const { return one_is_beyond_; }
  int in_flight() const;
  std::uint64_t limit() const;
  double bytes_per_work() const;

 private:
  void release(const Permit& permit);
  void end(Lease& lease, std::uint64_t stays) noexcept;
  LeaseHandle lent(const PermitHandle& permit, std::uint64_t bytes);
  Flow& sources() { return flows_.front(); }
  const Flow& sources() const { return flows_.front(); }
  // Saturates: an estimate may be anything, and what is above the limit travels alone whatever it is.
  static std::uint64_t bytes_of(const Flow& flow, double size) {
    constexpr double most = 0x1p62;
    const double bytes = size * flow.bytes_per_unit_;
    return bytes > 0 ? static_cast<std::uint64_t>(std::min(bytes, most)) : 0;
  }
  // Waits for `ready`. False: nobody should wait any more.
  template <class Ready>
  bool wait(std::unique_lock<std::mutex>& lock, const Ready& ready);
  PermitHandle admit(Flow& flow, double size);
  // From the first wait of a flow on, those before it get half only: they may hold all that there is until it goes on.
  std::uint64_t room_for(const Flow& flow) const;
  std::uint64_t room() const { return limit_ - std::min(kept_, limit_ / 2); }

  const std::function<bool()> given_up_;
  mutable std::mutex mutex_;  // guards everything below
  std::uint64_t limit_;
  std::condition_variable changed_;
  std::deque<Flow> flows_;  // the sources' first, the others in the order of the pipeline
  std::uint64_t used_ = 0, kept_ = 0;
  int batches_ = 0;
  int growing_ = 0;                      // batches whose source waits in grow()
  int most_batches_, for_devices_ = 0;   // of most_batches_
  std::uint64_t bytes_for_devices_ = 0;  // of limit_
  std::uint64_t devices_ = 0;
  std::atomic<bool> one_is_beyond_{false};  // of the leases; written under the lock
  struct Waiting {
    PermitHandle permit;
    std::uint64_t bytes;
    Begin later;
  };
  int leases_ = 0;               // that have not ended
  std::deque<Waiting> waiting_;  // for one; only while there are others
};

}  // namespace sluice
