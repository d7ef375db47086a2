// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// chain_stop and the claims of walk_chains (chain_walk.cpp) for one end, by a warp. A walk from anchor to anchor would wait for the device's memory
// at every step, so the warp fetches the anchors of a window before it walks through them.

#include <cstdint>

#include "chaining/thread_team.hpp"

namespace sluice::chaining {

// What a walk needs of the anchors of a row.
struct LinkedAnchors {
  const std::int32_t* score;
  const std::int32_t* predecessor;
  std::uint32_t* claim;  // 1 + the place of the end that it was claimed for; 0: none
  std::uint32_t* depth;  // of claimed anchors: how far from that end
  std::int32_t max_drop;
};

struct ClaimedChain {
  std::int32_t score;
  std::uint32_t anchors, first;
};

inline constexpr std::int32_t claim_window_anchors = 256;  // a byte counts them

// Shared by a warp.
struct ClaimWindow {
  struct alignas(8) Link {
    std::uint32_t predecessor;  // 1 + it, and the bit `is_claimed`
    std::int32_t score;
  };
  Link link[claim_window_anchors];
  std::uint8_t path[claim_window_anchors];  // places in `link`
};

template <class Warp>
class ChainClaimer {
 public:
  SLUICE_HOST_DEVICE ChainClaimer(Warp& warp, const LinkedAnchors& anchors, ClaimWindow& window) : warp_(warp), anchors_(anchors), window_(window) {}

  SLUICE_HOST_DEVICE ClaimedChain claim(std::uint32_t place, std::int32_t end) {
    place_ = place;
    flushed_ = held_ = 0;
    fetch_up_to(end);
    ClaimWindow::Link link = window_.link[end - low_];
    const std::int32_t end_score = link.score;
    std::int32_t at = end, first = end, best = 0, stop = end;
    std::uint32_t members = 0;
    for (;;) {
      if (warp_.rank() == 0) window_.path[held_] = static_cast<std::uint8_t>(at - low_);
      ++held_;
      const std::int32_t before = static_cast<std::int32_t>(link.predecessor & ~is_claimed) - 1;
      std::int32_t rise = end_score;
      if (before >= 0) {
        if (before < low_) {
          flush(held_);
          fetch_up_to(before);
        }
        link = window_.link[before - low_];
        rise -= link.score;
      }
      if (rise > best) {
        best = rise;
        stop = before;
        first = at;
        members = flushed_ + held_;
      } else if (static_cast<std::int64_t>(best) - rise > anchors_.max_drop) {
        break;
      }
      if (before < 0 || (link.predecessor & is_claimed) != 0) break;
      at = before;
    }
    if (members < flushed_) {
      give_back(stop, flushed_ - members);
    } else {
      flush(members - flushed_);
    }
    warp_.sync();
    return {best, members, static_cast<std::uint32_t>(first)};
  }

 private:
  static constexpr std::uint32_t is_claimed = std::uint32_t{1} << 31;

  SLUICE_HOST_DEVICE void fetch_up_to(std::int32_t highest) {
    warp_.sync();
    low_ = highest < claim_window_anchors ? 0 : highest - (claim_window_anchors - 1);
    constexpr auto threads = static_cast<std::int32_t>(Warp::most_threads);
    for (std::int32_t i = static_cast<std::int32_t>(warp_.rank()); i < claim_window_anchors; i += threads) {
      const std::int32_t anchor = low_ + i;
      if (anchor > highest) continue;
      window_.link[i] = {static_cast<std::uint32_t>(anchors_.predecessor[anchor] + 1) | (anchors_.claim[anchor] != 0 ? is_claimed : 0),
                         anchors_.score[anchor]};
    }
    warp_.sync();
  }

  // Claims the first of the anchors on the path.
  SLUICE_HOST_DEVICE void flush(std::uint32_t count) {
    warp_.sync();
    for (std::uint32_t i = warp_.rank(); i < count; i += warp_.size()) {
      const std::int32_t anchor = low_ + window_.path[i];
      anchors_.claim[anchor] = place_ + 1;
      anchors_.depth[anchor] = flushed_ + i;
    }
    flushed_ += count;
    held_ = 0;
  }

  // Anchors from `stop` on that a walk went past in vain.
  SLUICE_HOST_DEVICE void give_back(std::int32_t stop, std::uint32_t count) {
    warp_.sync();
    if (warp_.rank() != 0) return;
    for (; count > 0; --count, stop = anchors_.predecessor[stop]) anchors_.claim[stop] = 0;
  }

  Warp& warp_;
  const LinkedAnchors& anchors_;
  ClaimWindow& window_;
  std::int32_t low_ = 0;
  std::uint32_t place_ = 0, flushed_ = 0, held_ = 0;  // of the path
};

}  // namespace sluice::chaining
