// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/read_streams.hpp"
#include "sdtw/whole_reads.hpp"

SLUICE_PLUGIN("sdtw", "0.1.0", "MIT", sluice::sdtw::Sdtw, sluice::sdtw::SdtwStream);
