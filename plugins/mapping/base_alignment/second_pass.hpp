// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The second pass over spliced reads: ends of alignments reach over the introns that all reads together have. minimap2 2.31 is run twice for it
// (--write-junc, --pass1) and aligns every read again; but what the second run adds comes behind all else (S.11 of the specification), so reads wait
// here as they were aligned.

#include <cstdint>
#include <optional>
#include <set>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/introns.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "base_alignment/alignment_columns.hpp"
#include "base_alignment/alignment_texts.hpp"
#include "base_alignment/held_rows.hpp"
#include "base_alignment/splicing/junction_jumps.hpp"

namespace sluice::base_alignment {

class SecondPass {
 public:
  struct Parameters {
    std::int32_t match = 2, mismatch = 4, least_jump = 3;
    std::optional<Path> annotated_junctions;
    bool cs = true, cs_long = false, ds = false, md = true;
  };
  static void describe(Describe<SecondPass>& d);
  SecondPass(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call, Output& out);

 private:
  struct Column {
    const char *name, *type;
    bool available;        // of text that is not, each row has ""
    bool is_given = true;  // bases are held whether anybody wants them or not
  };
  // A row on its way out: cells of columns_, and its alignments.
  struct Row {
    std::string bytes;
    std::vector<std::string_view> cells;
    AlignedRow aligned;
    bool has_changed = false;
  };
  struct Workspace {
    ReadStrands strands;
    std::vector<std::uint8_t> target;
  };
  // Bases [begin, end) of a contig.
  using Place = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

  std::vector<overlap::Intron> introns_of(std::string_view bases, const std::vector<overlap::ReadAlignment>& alignments) const;
  JunctionEnds ends_of_all() const;
  void align_again(const JunctionEnds& ends, Workspace& workspace, Row& row) const;
  void give(std::vector<Row>& rows, Output& out) const;

  MinimizerIndexView index_;
  AlignmentSettings settings_;
  AlignmentTexts texts_;
  std::optional<KnownJunctions> annotated_;
  std::optional<JunctionEnds> annotated_ends_;
  std::vector<Column> columns_;  // that a later stage wants, but those of alignments; the first is bases
  std::string sam_header_;
  std::set<Place> seen_;  // good introns of reads
  HeldRows held_;
};

}  // namespace sluice::base_alignment
