// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How a stage stands that follows what others still write.

#include <sluice/abi.h>

#include <cstdint>

namespace sluice {

// What sluice_host_api::cancelled() says to a stage that follows.
enum class FollowState : std::int32_t {
  goes_on = 0,
  not_needed = 1,  // nobody needs more of its rows (`head` has all), or the run has been given up: whatever the call makes is thrown away
  ends = 2         // no more comes: the stage gives what is there, as at the end of its input, and ends
};

// SomeCall: sluice::Call.
template <class SomeCall>
FollowState follow_state(const SomeCall& call) {
  const std::int32_t said = call.api()->cancelled(call.raw().host);
  return said == static_cast<std::int32_t>(FollowState::ends) ? FollowState::ends : said != 0 ? FollowState::not_needed : FollowState::goes_on;
}

}  // namespace sluice
