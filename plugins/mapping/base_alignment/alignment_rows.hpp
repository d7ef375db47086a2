// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The alignments of each read as rows, in the columns that alignment_reader gives, so that what follows needs no BAM file.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::base_alignment {

class AlignmentRows {
 public:
  struct Parameters {
    std::int64_t min_mapq = 20;
    bool supplementary = true;
    std::string keep = "used";
  };
  enum class Reason : std::uint32_t { unmapped, low_mapping_quality, secondary, supplementary };

  static void describe(Describe<AlignmentRows>& d);
  AlignmentRows(const Setup& setup, const Parameters& parameters);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call&, Output&) {}
  void save(const Call&, StateWriter&) const {}

 private:
  struct Row {
    std::int64_t read;
    overlap::ReadAlignment alignment;  // of no contig: the read has none
    std::string_view record;
  };
  std::optional<Reason> reason_against(const overlap::ReadAlignment& alignment) const;
  void add(const Call& call, std::string_view read_id, Row row, std::optional<Reason> reason, std::vector<Row>& rows) const;
  void give(const Batch& in, const std::vector<Row>& rows, Output& out) const;

  MinimizerIndexView index_;
  Parameters parameters_;
  bool has_records_, has_tags_, gives_records_, gives_tags_;
};

}  // namespace sluice::base_alignment
