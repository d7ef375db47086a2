// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/failure_advice.hpp"

namespace sluice {
namespace {

struct Advice {
  std::string_view reason, text;
};

constexpr std::string_view another_reference =
    "is --reference the file that the reads were mapped to? Names and lengths of its contigs say otherwise";
constexpr std::string_view another_chemistry =
    "the chemistry is probably wrong: give --pore, or the --model of these reads; direct RNA is done by the pipelines that have pores for it, "
    "eventalign and resquiggle";
constexpr std::string_view damaged_signal = "the signal file is damaged, or was converted without its calibration: convert it again";
constexpr std::string_view incomplete = "wait until the files are complete, or leave them out";

constexpr Advice table[] = {
    {"contig_not_in_reference", another_reference},
    {"outside_contig", another_reference},
    {"sites_not_on_reference", another_reference},
    {"low_average_emission", another_chemistry},
    {"no_end_cell_in_band", another_chemistry},
    {"not_spanning", another_chemistry},
    {"too_many_skipped_kmers", another_chemistry},
    {"var_too_large", another_chemistry},
    {"too_many_events_per_base", another_chemistry},
    {"bad_events_per_base", another_chemistry},
    {"no_signal", "are the signal files those of these reads? They have other read ids, or this is a part of the run"},
    {"read_not_in_file", "are --reads those of the alignments? They have other names, or this is a part of the run"},
    {"no_bases", "give --reads: the alignments do not have the bases of whole reads"},
    {"reference_skip", "these are spliced alignments: is this RNA or cDNA? Methylation is called on DNA"},
    {"too_few_events", "the reads are short: lower --min-recalib-events"},
    {"corrupt_signal", damaged_signal},
    {"bad_calibration", damaged_signal},
    {"sample_out_of_range", damaged_signal},
    {"flat_signal", "is this raw signal of single strands?"},
    {"incomplete_file", incomplete},
    {"unmapped", "do the reads come from this reference? A wrong one has few reads that map"},
    {"low_mapping_quality", "lower --min-mapq; a reference with many copies of a sequence gives low qualities, too"},
    {"unknown_sequence", "are the overlaps those of these reads and targets? They name others"},
    {"past_the_end", "are the overlaps those of these reads and targets? Their lengths are others"},
};

}  // namespace

std::string_view advice_for(std::string_view reason) {
  for (const Advice& advice : table)
    if (advice.reason == reason) return advice.text;
  return {};
}

}  // namespace sluice
