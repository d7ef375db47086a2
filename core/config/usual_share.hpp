// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The limit of usual_share in pipeline files.

namespace sluice {

// More than that behind what has been seen would make any estimate of the time that is left.
inline constexpr double most_usual_share = 0.95;

}  // namespace sluice
