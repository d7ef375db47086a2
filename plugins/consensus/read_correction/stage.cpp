// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/stage.hpp>

#include "read_correction/hit_overlaps.hpp"
#include "read_correction/piece_joining.hpp"
#include "read_correction/piece_windows.hpp"
#include "read_correction/pile_collection.hpp"
#include "read_correction/pile_segmentation.hpp"
#include "read_correction/support_stage.hpp"
#include "read_correction/vote_stage.hpp"

SLUICE_PLUGIN("read_correction", "0.1.0", "MIT", sluice::read_correction::HitOverlaps, sluice::read_correction::PileCollection,
              sluice::read_correction::PileSegmentation, sluice::read_correction::PieceWindows, sluice::read_correction::VoteStage,
              sluice::read_correction::SupportStage, sluice::read_correction::PieceJoining);
