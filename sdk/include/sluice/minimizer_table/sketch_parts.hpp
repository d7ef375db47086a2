// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The minimizers of packed sequences, in parts that threads share.

#include <cstdint>
#include <functional>
#include <memory>
#include <sluice/call.hpp>
#include <sluice/minimizer_sketch.hpp>
#include <sluice/minimizer_table/table_builder.hpp>
#include <vector>

namespace sluice::minimizer_table {

inline constexpr std::int64_t bases_per_part = 1 << 18;  // their minimizers fit a core's second cache

// Of the contigs [begin, end). `contig` gives each as often as is asked for, on any thread, and lives as long as the parts.
inline MinimizerParts sketch_parts(std::size_t begin, std::size_t end, const std::function<PackedSequence(std::size_t)>& contig,
                                   const SketchParameters& parameters, const SketchKernels& kernels) {
  // A piece of a contig; a part is consecutive pieces of about bases_per_part.
  struct Piece {
    std::size_t contig;
    std::int64_t begin, end;
  };
  struct PartSketch {
    SketchScratch scratch;
    std::vector<Minimizer> minimizers;
  };
  auto pieces = std::make_shared<std::vector<Piece>>();
  auto part_begin = std::make_shared<std::vector<std::size_t>>(1, 0);
  const bool cut = sketches_in_parts(parameters, kernels);
  std::int64_t bases = 0, in_part = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t length = contig(i).length;
    bases += length;
    for (std::int64_t from = 0; from < length;) {
      const std::int64_t to = cut ? std::min(length, from + bases_per_part) : length;
      pieces->push_back({i, from, to});
      in_part += to - from;
      if (in_part >= bases_per_part) part_begin->push_back(pieces->size()), in_part = 0;
      from = to;
    }
  }
  if (part_begin->back() != pieces->size()) part_begin->push_back(pieces->size());
  MinimizerParts parts;
  parts.count = part_begin->size() - 1;
  parts.expected = 2.0 * static_cast<double>(bases) / (parameters.w + 1);
  const auto workspaces = std::make_shared<Workspaces<PartSketch>>();
  parts.make = [contig, parameters, kernels, pieces, part_begin, workspaces](std::size_t part, std::vector<PlacedMinimizer>& out) {
    const auto workspace = workspaces->take();
    std::vector<Minimizer>& minimizers = workspace->minimizers;
    for (std::size_t i = (*part_begin)[part]; i < (*part_begin)[part + 1]; ++i) {
      const Piece& piece = (*pieces)[i];
      minimizers.clear();
      sketch(contig(piece.contig), parameters, piece.begin, piece.end, kernels, workspace->scratch, minimizers);
      for (const Minimizer& minimizer : minimizers) out.push_back({minimizer.x >> 8, static_cast<std::uint64_t>(piece.contig) << 32 | minimizer.y});
    }
  };
  return parts;
}

}  // namespace sluice::minimizer_table
