// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The records that sam_writer would write of each read, as a column.

#include <cstdint>
#include <sluice/hts/handles.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "sam_writer/carried_tags.hpp"
#include "sam_writer/sam_records.hpp"

namespace sluice::sam_writer {

class AlignmentRecords {
 public:
  struct Parameters {
    std::string read_group;
  };

  static void describe(Describe<AlignmentRecords>& d);
  AlignmentRecords(const Setup& setup, const Parameters& parameters);
  void process(const Call& call, const Batch& in, Output& out);

 private:
  struct Workspace {
    BamRecords records;
    std::string lines;
    std::vector<ReadAlignment> alignments;
    CarriedTags carried;
    std::vector<std::string> tags;  // by line
  };
  void append_row(const Batch& in, const overlap::ReadAlignments& alignments, std::int64_t row, Workspace& workspace, std::string& bytes) const;

  bool has_qualities_, has_tags_;
  MinimizerIndexView index_;
  RecordOptions options_;
  hts::Header contigs_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace sluice::sam_writer
