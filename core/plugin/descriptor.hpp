// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Descriptors are read once, at the border: a plugin may have been compiled with structs of another size than the host's, and may say anything.

#include <sluice/abi.h>

#include <string>

namespace sluice {

const char* kind_name(sluice_stage_kind kind);  // "source", "map", ...

// A copy in the host's own sizes, in which arrays may be indexed; members that the plugin does not know are 0. It lives as long as the process, as
// the plugin does. Null: the descriptor can't be used, and `problem` says why.
const sluice_stage_descriptor* take_descriptor(const sluice_stage_descriptor* foreign, std::string& problem);

}  // namespace sluice
