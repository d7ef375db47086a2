// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/file_joining.hpp>
#include <sluice/stage.hpp>

#include "event_alignment_writer/nanocompore_stage.hpp"
#include "event_alignment_writer/sam_stage.hpp"
#include "event_alignment_writer/site_stage.hpp"
#include "event_alignment_writer/text_stages.hpp"

SLUICE_PLUGIN_WITH((sluice::file_joining<sluice::event_alignment_writer::EventTable, sluice::event_alignment_writer::M6anetTable,
                                         sluice::event_alignment_writer::EventPaf, sluice::event_alignment_writer::EventSam,
                                         sluice::event_alignment_writer::EventSummary>),
                   "event_alignment_writer", sluice::event_alignment_writer::plugin_version, "MIT", sluice::event_alignment_writer::EventTable,
                   sluice::event_alignment_writer::M6anetTable, sluice::event_alignment_writer::EventPaf, sluice::event_alignment_writer::EventSam,
                   sluice::event_alignment_writer::EventSummary, sluice::event_alignment_writer::M6anetSites,
                   sluice::event_alignment_writer::XporeSites, sluice::event_alignment_writer::NanocomporeDatabase);
