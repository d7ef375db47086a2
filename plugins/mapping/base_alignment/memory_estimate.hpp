// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What aligning a batch will need, from its reads and chains.

#include <sluice/stage.hpp>

#include "base_alignment/alignment_columns.hpp"
#include "base_alignment/finished_path.hpp"

namespace sluice::base_alignment {

// The operations and texts that are made of an alignment.
struct MadeOfAlignment {
  WantedTexts texts;
  DifferenceForm form = DifferenceForm::short_form;
  bool eqx = false;
  bool splice = false;
  bool sites_are_known = false;  // junctions or scores of sites
};

// `in` has base_alignment's columns on the host. Work is counted in bases, memory in bytes; no list is trusted to fit another.
Estimate estimate_alignment(const Batch& in, const MadeOfAlignment& made);

}  // namespace sluice::base_alignment
