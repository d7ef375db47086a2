// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The accelerator's provider. Its streams really defer: what goes to one is done by a thread of its own, later and at its own pace, so that the order
// between streams is what events make it. Memory that was freed is filled with a pattern and never handed out again, so that whoever still reads it
// reads nonsense; ordinals are numbered backwards for the accelerator's own library.

#include <sluice/abi.h>

namespace sluice::simulated_accelerator {

const sluice_device_provider& deferred_provider();

}  // namespace sluice::simulated_accelerator
