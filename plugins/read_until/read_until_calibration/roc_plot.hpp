// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// ROC curves as a picture.

#include <string>

#include "read_until_calibration/score_table.hpp"

namespace sluice::read_until_calibration {

// An SVG document: recall over false positive rate, one curve a prefix that has reads of both labels. The rate is logarithmic from 0.1 % on, because
// what matters happens below 5 %; a rate of 0 is drawn at the left edge.
std::string roc_plot(const ScoresByPrefix& scores);

}  // namespace sluice::read_until_calibration
