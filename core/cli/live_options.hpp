// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

namespace sluice::cli {

// The options of `sluice live` as the Python package reads them: a JSON list of objects with name, type, value, default, help, and `without`: what
// holds where the option is left out and there is no default.
extern const char* const live_options;

}  // namespace sluice::cli
