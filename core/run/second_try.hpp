// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What happens after a device has failed. In this order: a device that is full gets the call once more with nothing beside it, then in halves; a
// call that still fails is made elsewhere, or the stage begins afresh on the CPU, or the run fails. (Columns that were lost with a device are made
// again by what made them: segment.hpp.)

#include "run/map_runner.hpp"

namespace sluice {

// Calls the stage on a lane. Null: failed there for good, see `result`.
BatchHandle call_on_lane(MapRunner& stage, const BatchHandle& input, const CallPlace& place, CallResult& result);

enum class AfterFault {
  elsewhere,  // on a lane that has not failed on the batch
  restart,    // on the CPU, with this and all later batches
  fail        // ends the run
};
// For a call that failed on its lane. Adds to the message of `result` what the user needs to know.
AfterFault after_fault(const MapRunner& stage, const Lane& lane, CallResult& result);

}  // namespace sluice
