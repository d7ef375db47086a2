// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The texts of cs, ds and MD tags of a read's alignments.

#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "base_alignment/alignment_columns.hpp"
#include "base_alignment/finished_path.hpp"
#include "base_alignment/sequences.hpp"

namespace sluice::base_alignment {

class AlignmentTexts {
 public:
  // p: has cs, cs_long, ds and md. A text that nobody wants, or that no option asks for, is not made.
  template <class Parameters>
  AlignmentTexts(const Setup& setup, const Parameters& p)
      : form_(p.cs_long ? DifferenceForm::long_form : DifferenceForm::short_form),
        shifts_(p.ds ? Shifts::shown : Shifts::hidden),
        wanted_{.difference = setup.wanted("difference_text"), .mismatches = setup.wanted("mismatch_text")},
        makes_difference_(wanted_.difference && (p.cs || p.cs_long || p.ds)),
        makes_mismatches_(wanted_.mismatches && p.md) {}

  DifferenceForm form() const { return form_; }
  WantedTexts wanted() const { return wanted_; }
  bool makes_difference() const { return makes_difference_; }
  bool makes_mismatches() const { return makes_mismatches_; }
  bool makes_any() const { return makes_difference_ || makes_mismatches_; }
  // Appends those of all hits. target: reusable memory.
  void add(const MinimizerIndexView& index, const ReadStrands& read, std::vector<std::uint8_t>& target, AlignedRow& made) const {
    if (makes_any())
      for (const AlignedHit& hit : made.hits) add(index, read, hit, target, made);
  }

 private:
  void add(const MinimizerIndexView& index, const ReadStrands& read, const AlignedHit& hit, std::vector<std::uint8_t>& target,
           AlignedRow& made) const {
    copy_contig(index, static_cast<std::size_t>(hit.target), hit.target_start, hit.target_end, target);
    const Codes query = hit.reverse ? part(read.strand(true), read.length() - hit.query_end, read.length() - hit.query_start)
                                    : part(read.strand(false), hit.query_start, hit.query_end);
    if (makes_difference_) {
      append_difference(made.difference, hit.cigar, query, target, form_, shifts_);
      made.difference += '\n';
    }
    if (makes_mismatches_) {
      append_mismatched_reference(made.mismatches, hit.cigar, query, target);
      made.mismatches += '\n';
    }
  }

  DifferenceForm form_;
  Shifts shifts_;
  WantedTexts wanted_;
  bool makes_difference_, makes_mismatches_;
};

}  // namespace sluice::base_alignment
