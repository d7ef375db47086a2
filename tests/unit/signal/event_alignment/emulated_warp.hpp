// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A warp on the host, for device code that is compiled as plain C++: 32 contexts of one thread, which take turns where lanes meet. To be included
// before the code that it runs.

#include <cuda_runtime_api.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace emulation {

class Warp {
 public:
  static constexpr unsigned kLanes = 32;

  // Runs body() once in every lane, all of which have to meet equally often.
  void run(const std::function<void()>& body) {
    current = this;
    body_ = &body;
    running_ = kLanes;
    met_ = {};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      stacks_[lane].resize(std::size_t{256} << 10U);
      getcontext(&contexts_[lane]);
      contexts_[lane].uc_stack.ss_sp = stacks_[lane].data();
      contexts_[lane].uc_stack.ss_size = stacks_[lane].size();
      contexts_[lane].uc_link = &scheduler_;
      makecontext(
          &contexts_[lane],
          [] {
            (*current->body_)();
            --current->running_;
          },
          0);
    }
    while (running_ > 0)
      for (lane_ = 0; lane_ < kLanes; ++lane_) swapcontext(&scheduler_, &contexts_[lane_]);
  }

  unsigned lane() const { return lane_; }

  // What `pick` makes of the values of all lanes.
  template <class T, class Pick>
  auto meet(T value, const Pick& pick) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    auto& values = values_[met_[lane_]++ % 2];  // two, as a lane may come to the next meeting before others have left this one
    std::memcpy(&values[lane_], &value, sizeof(T));
    swapcontext(&contexts_[lane_], &scheduler_);
    return pick([&values](unsigned lane) {
      T of_lane;
      std::memcpy(&of_lane, &values[lane % kLanes], sizeof(T));
      return of_lane;
    });
  }

  inline static Warp* current = nullptr;

 private:
  const std::function<void()>* body_ = nullptr;
  unsigned lane_ = 0, running_ = 0;
  ucontext_t scheduler_{};
  std::array<ucontext_t, kLanes> contexts_{};
  std::array<std::vector<char>, kLanes> stacks_;
  std::array<unsigned, kLanes> met_{};
  std::array<std::array<std::uint64_t, kLanes>, 2> values_{};
};

}  // namespace emulation

// ---- What device code calls --------------------------------------------------------------------------------------------

struct ThreadIndex {
  struct OfLane {
    operator unsigned() const { return emulation::Warp::current->lane(); }
  } x;
};
inline constexpr ThreadIndex threadIdx{};

inline void __syncwarp() {
  emulation::Warp::current->meet(0, [](const auto&) { return 0; });
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return emulation::Warp::current->meet(value, [lane](const auto& of) { return of(static_cast<unsigned>(lane)); });
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned distance) {
  const unsigned own = emulation::Warp::current->lane();
  return emulation::Warp::current->meet(value, [=](const auto& of) { return of(own < distance ? own : own - distance); });
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  const unsigned own = emulation::Warp::current->lane();
  return emulation::Warp::current->meet(value, [=](const auto& of) { return of(own ^ static_cast<unsigned>(mask)); });
}
inline unsigned __ballot_sync(unsigned, bool value) {
  return emulation::Warp::current->meet(value, [](const auto& of) {
    unsigned bits = 0;
    for (unsigned lane = 0; lane < emulation::Warp::kLanes; ++lane) bits |= of(lane) ? 1U << lane : 0U;
    return bits;
  });
}
inline int __all_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) == mask ? 1 : 0; }
inline int __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0 ? 1 : 0; }
inline int __popc(unsigned value) { return std::popcount(value); }
inline int __clz(int value) { return std::countl_zero(static_cast<unsigned>(value)); }
using std::max;
using std::min;
