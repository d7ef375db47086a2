// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The tables of an index that comes in parts (minimizer_index.hpp): one at a time, made when the first read is looked up in it.

#include <cstdint>
#include <memory>
#include <sluice/call.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/minimizer_sketch.hpp>
#include <sluice/minimizer_table/table_builder.hpp>
#include <vector>

#include "minimizer_seeding/part_in_turn.hpp"

namespace sluice::minimizer_seeding {

// The whole index with the table of one part. Minimizers that are too frequent in all parts together are in each table, with the number of all their
// positions and without these.
struct IndexPart {
  std::size_t part = 0;
  minimizer_table::MinimizerTable table;
  MinimizerIndexView view;
};

class IndexParts {
 public:
  // Minimizers with more than `mid_occ` positions are too frequent; mid_occ >= frequent_above.
  IndexParts(const MinimizerIndexView& index, std::int32_t mid_occ, const SketchKernels& kernels);

  // The part's table: the one that is there, or made now, on all threads, those that ask for it meanwhile among them. Batches come in the order of
  // parts, but for those that one thread or another has in hand while the next part begins. Thread-safe. Throws Failure::input for a part that the
  // index lacks.
  std::shared_ptr<const IndexPart> get(std::size_t part, const Host& host);

 private:
  std::shared_ptr<const IndexPart> make(std::size_t part, const Host& host, SharedLoop& loop) const;
  PackedSequence contig(std::size_t i) const;
  bool is_frequent(std::uint64_t hash) const;

  MinimizerIndexView index_;
  SketchKernels kernels_;
  std::vector<std::uint64_t> frequent_hash_;   // ascending
  std::vector<std::uint32_t> frequent_count_;  // of each
  std::vector<std::uint64_t> frequent_bits_;   // by a few bits of the key: may a minimizer be frequent?
  std::vector<BaseInterval> ambiguous_;        // in each contig's own places
  std::vector<std::size_t> first_ambiguous_;   // of each contig, and the end
  PartInTurn<IndexPart> parts_;
};

}  // namespace sluice::minimizer_seeding
