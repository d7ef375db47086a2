// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Building a minimizer index: the sequences, their minimizers, and the table of them.

#include <cstdint>
#include <memory>
#include <sluice/minimizer_index.hpp>
#include <sluice/minimizer_sketch.hpp>
#include <sluice/minimizer_table/minimizer_counts.hpp>
#include <sluice/minimizer_table/table_builder.hpp>
#include <string_view>
#include <vector>

namespace sluice::minimizer_index {

using minimizer_table::build_bytes;
using minimizer_table::build_table;
using minimizer_table::ForEach;
using minimizer_table::MinimizerParts;
using minimizer_table::MinimizerTable;
using minimizer_table::PlacedMinimizer;

// The contigs: everything of an index that does not depend on k and w.
class ReferenceBases {
 public:
  // Contigs in order: begin_contig, then its bases in any pieces, then end_contig.
  void begin_contig(std::string_view name);
  void add_bases(std::string_view bases, const SketchKernels& kernels);
  void end_contig(const SketchKernels& kernels);
  // A contig whose bases are not known.
  void add_contig_without_bases(std::string_view name, std::int32_t length);
  // Behind the last contig.
  void finish();

  std::size_t contigs() const { return length.size(); }
  std::int64_t current_length() const { return packed_ + static_cast<std::int64_t>(staged_.size()); }
  PackedSequence contig(std::size_t i) const {
    const std::size_t first = first_ambiguous_[i];
    return {words.data() + base_begin[i] / 32, length[i], std::span(ambiguous_).subspan(first, first_ambiguous_[i + 1] - first)};
  }

  std::vector<std::int32_t> length;
  std::vector<std::int64_t> name_begin{0};
  std::vector<std::uint8_t> name;
  std::vector<std::int64_t> base_begin{0};
  PageArray<std::uint64_t> words;
  std::vector<std::int64_t> ambiguous_begin, ambiguous_end;  // in the coordinates of base_begin

 private:
  void pack_staged(const SketchKernels& kernels);
  std::vector<BaseInterval> ambiguous_;  // in each contig's own coordinates
  std::vector<std::size_t> first_ambiguous_{0};
  std::vector<char> staged_;
  std::int64_t packed_ = 0;  // bases of the current contig in words
};

// The parts of the reference's sketch.
MinimizerParts sketch_parts(const ReferenceBases& reference, const SketchParameters& parameters, const SketchKernels& kernels);

// A finished index, and what keeps its arrays alive.
struct MinimizerIndex {
  MinimizerIndexView view;
  std::shared_ptr<const void> owner;
};
MinimizerIndex make_index(const SketchParameters& parameters, ReferenceBases reference, MinimizerTable table);

// Where parts of at most `part_bases` bases begin, and the end of the last: whole contigs, at least one a part. 0 bases: one part.
std::vector<std::int64_t> part_begins(const ReferenceBases& reference, std::int64_t part_bases);

// An index in several parts: without a table, with the occurrences of the minimizers of all.
MinimizerIndex make_index_in_parts(const SketchParameters& parameters, ReferenceBases reference, std::vector<std::int64_t> part_begin,
                                   minimizer_table::MinimizerCounts counts);

}  // namespace sluice::minimizer_index
