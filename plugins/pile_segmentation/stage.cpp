// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/stage.hpp>

#include "pile_segmentation/hit_overlaps.hpp"
#include "pile_segmentation/piece_joining.hpp"
#include "pile_segmentation/pile_windows.hpp"
#include "pile_segmentation/vote_stage.hpp"

SLUICE_PLUGIN("pile_segmentation", "0.1.0", "MIT", sluice::pile_segmentation::HitOverlaps, sluice::pile_segmentation::PileSegmentation,
              sluice::pile_segmentation::VoteStage, sluice::pile_segmentation::PieceJoining);
