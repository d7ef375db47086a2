// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/overlap/contig_rows.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <sluice/stored_part.hpp>
#include <string>
#include <string_view>

#include "read_correction/variant_sites.hpp"

namespace sluice::read_correction {

// Regroup: the consensuses of a read's pieces, and its own bases between them, to the corrected read.
class PieceJoining {
 public:
  enum class Reason : std::uint32_t { uncorrected };
  struct Parameters {
    std::string uncorrected = "lower_case";
    double min_corrected = 0;
    std::string variants = "kept";
  };
  static void describe(Describe<PieceJoining>& d);
  PieceJoining(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call, Output& out);
  void save(const Call& call, StateWriter& to) const;

 private:
  enum class Uncorrected : std::uint8_t { lower_case, upper_case, trim };
  void restore(StateReader& from);
  void keep_own_bases(std::int64_t end);
  void next_read(const Call& call, Output& out);
  void count_figures(const Call& call, std::int64_t length) const;
  void add_sites(const Batch& in, std::int64_t row, std::string_view consensus);
  void append_qualities(const Batch& in, std::int64_t row, std::size_t bases);
  void decide_sites();

  SequenceStoreView reads_;
  overlap::ContigRows contigs_;
  Uncorrected uncorrected_;
  double min_corrected_;
  StoredPart part_;
  std::int64_t read_, at_ = 0;  // the current read, in front of the part: none yet; its bases before at_ are done
  std::int64_t windows_ = 0, polished_ = 0, overlaps_ = 0, corrected_ = 0;
  std::size_t corrected_begin_ = 0, corrected_end_ = 0;  // in its bases
  double failed_ = 0;
  bool keeps_variants_;
  ReadVariants variants_;  // of the current read
};

}  // namespace sluice::read_correction
