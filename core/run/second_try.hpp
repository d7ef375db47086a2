// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What happens after a device has failed. In this order: a device that is full gets the call once more with nothing beside it, then in halves; a
// call that still fails is made elsewhere, or the stage begins afresh on the CPU, or the run fails; and columns that were lost with a device are
// made again from what they were made of.

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

// What a device call has made is made again should the device be lost before anybody has fetched it. What an ordered stage gave can't be made again,
// as its state has moved on: one that survives the loss of its device gets its results off it at once. Throws Failure.
void keep_for_lost_device(MapRunner& stage, const BatchHandle& input, const BatchData& made);

}  // namespace sluice
