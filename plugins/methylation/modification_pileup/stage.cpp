// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/calls_stage.hpp"
#include "modification_pileup/modified_bases_stage.hpp"
#include "modification_pileup/pileup_stage.hpp"
#include "modification_pileup/site_states_stage.hpp"
#include "modification_pileup/threshold_stage.hpp"

SLUICE_PLUGIN("modification_pileup", "0.1.0", "MIT", sluice::modification_pileup::ModificationCalls, sluice::modification_pileup::ModificationPileup,
              sluice::modification_pileup::ModificationThreshold, sluice::modification_pileup::MethylationStates,
              sluice::modification_pileup::ModifiedBases);
