// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The mean quality of a read as basecallers give it.

#include <string_view>

namespace sluice::summary_writer {

// -10 log10 of the mean probability of an error; `qualities` are Phred + 33, from '!' to '~'; what is beyond counts as the
// nearest of them. Of none: 0.
double mean_quality(std::string_view qualities);

}  // namespace sluice::summary_writer
