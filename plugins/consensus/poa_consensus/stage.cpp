// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/file_joining.hpp>

#include "poa_consensus/consensus_stage.hpp"
#include "poa_consensus/consensus_writer.hpp"
#include "poa_consensus/window_reader.hpp"

namespace poa = sluice::poa_consensus;

SLUICE_PLUGIN_WITH((sluice::file_joining<poa::ConsensusWriter, poa::MsaWriter, poa::GfaWriter, poa::DotWriter>), "poa_consensus", "0.1.0", "MIT",
                   poa::PoaConsensus, poa::WindowReader, poa::ConsensusWriter, poa::MsaWriter, poa::GfaWriter, poa::DotWriter);
