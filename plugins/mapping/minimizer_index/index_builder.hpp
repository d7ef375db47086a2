// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Building a minimizer index: the sequences, their minimizers, and the table of them.

#include <cstdint>
#include <functional>
#include <memory>
#include <sluice/minimizer_index.hpp>
#include <sluice/minimizer_sketch.hpp>
#include <string_view>
#include <vector>

#include "minimizer_index/page_array.hpp"

namespace sluice::minimizer_index {

// Calls the body once for each of 0 .. count - 1, on several threads or on one.
using ForEach = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;

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

struct PlacedMinimizer {
  std::uint64_t hash;
  std::uint64_t position;  // contig << 32 | place << 1 | strand
};

// Minimizers in parts that are made one by one, each as often as is asked for. Over all parts the positions of a hash come in ascending order.
struct MinimizerParts {
  std::size_t count = 0;
  double expected = 0;  // minimizers, about
  std::function<void(std::size_t part, std::vector<PlacedMinimizer>& out)> make;
};

struct MinimizerTable {
  std::uint64_t home_lines = 1;
  PageArray<std::uint64_t> slots, positions;
  std::vector<std::uint32_t> occurrence_count;
  std::vector<std::uint64_t> occurrence_minimizers;
};

// Memory for the minimizers in the making, beside the table; references that need more are sketched several times, for a range of keys each.
inline constexpr std::size_t build_bytes = std::size_t{2} << 30;

// The table does not depend on the number of threads.
MinimizerTable build_table(const MinimizerParts& parts, const ForEach& for_each, std::size_t memory = build_bytes);

// The parts of the reference's sketch.
MinimizerParts sketch_parts(const ReferenceBases& reference, const SketchParameters& parameters, const SketchKernels& kernels);

// A finished index, and what keeps its arrays alive.
struct MinimizerIndex {
  MinimizerIndexView view;
  std::shared_ptr<const void> owner;
};
MinimizerIndex make_index(const SketchParameters& parameters, ReferenceBases reference, MinimizerTable table);

}  // namespace sluice::minimizer_index
