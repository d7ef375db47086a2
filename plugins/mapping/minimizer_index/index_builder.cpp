// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_index/index_builder.hpp"

#include <algorithm>
#include <sluice/minimizer_table/sketch_parts.hpp>
#include <utility>

namespace sluice::minimizer_index {
namespace {

constexpr std::size_t staged_bases = 1 << 16;

}  // namespace

void ReferenceBases::begin_contig(std::string_view contig_name) {
  name.insert(name.end(), contig_name.begin(), contig_name.end());
  name_begin.push_back(static_cast<std::int64_t>(name.size()));
  packed_ = 0;
  staged_.clear();
}

void ReferenceBases::add_bases(std::string_view bases, const SketchKernels& kernels) {
  while (!bases.empty()) {
    const std::size_t taken = std::min(bases.size(), staged_bases - staged_.size());
    staged_.insert(staged_.end(), bases.begin(), bases.begin() + static_cast<std::ptrdiff_t>(taken));
    bases.remove_prefix(taken);
    if (staged_.size() == staged_bases) pack_staged(kernels);
  }
}

void ReferenceBases::pack_staged(const SketchKernels& kernels) {
  if (staged_.empty()) return;
  const std::size_t at = words.size();
  words.extend(at + (staged_.size() + 31) / 32);
  if (!kernels.pack(staged_.data(), staged_.size(), words.data() + at)) {
    for (std::size_t i = 0; i < staged_.size(); ++i) {
      if (nucleotide_code(staged_[i]) < 4) continue;
      const std::int64_t place = packed_ + static_cast<std::int64_t>(i);
      if (ambiguous_.size() > first_ambiguous_.back() && ambiguous_.back().end == place)
        ++ambiguous_.back().end;
      else
        ambiguous_.push_back({place, place + 1});
    }
  }
  packed_ += static_cast<std::int64_t>(staged_.size());
  staged_.clear();
}

void ReferenceBases::end_contig(const SketchKernels& kernels) {
  pack_staged(kernels);
  length.push_back(static_cast<std::int32_t>(packed_));
  for (std::size_t i = first_ambiguous_.back(); i < ambiguous_.size(); ++i) {
    ambiguous_begin.push_back(base_begin.back() + ambiguous_[i].begin);
    ambiguous_end.push_back(base_begin.back() + ambiguous_[i].end);
  }
  first_ambiguous_.push_back(ambiguous_.size());
  base_begin.push_back(static_cast<std::int64_t>(words.size()) * 32);
}

void ReferenceBases::add_contig_without_bases(std::string_view contig_name, std::int32_t contig_length) {
  begin_contig(contig_name);
  length.push_back(contig_length);
  first_ambiguous_.push_back(ambiguous_.size());
  base_begin.push_back(base_begin.back());
}

void ReferenceBases::finish() {
  if (words.size() == 0) return;
  const std::size_t end = words.size();
  words.resize(end + 4);
  std::fill(words.data() + end, words.data() + end + 4, 0);
}

MinimizerParts sketch_parts(const ReferenceBases& reference, const SketchParameters& parameters, const SketchKernels& kernels) {
  return minimizer_table::sketch_parts(
      0, reference.contigs(), [&reference](std::size_t i) { return reference.contig(i); }, parameters, kernels);
}

namespace {

struct IndexOwner {
  ReferenceBases reference;
  MinimizerTable table;
  std::vector<std::int64_t> part_begin;
  minimizer_table::MinimizerCounts counts;
};

MinimizerIndex view_of(const SketchParameters& parameters, std::shared_ptr<const IndexOwner> owner) {
  MinimizerIndexView view;
  view.k = parameters.k;
  view.w = parameters.w;
  view.homopolymer_compressed = parameters.homopolymers == HomopolymerCompression::on;
  view.contig_length = owner->reference.length;
  view.contig_name_begin = owner->reference.name_begin;
  view.contig_name_bytes = owner->reference.name;
  view.contig_base_begin = owner->reference.base_begin;
  view.packed_bases = owner->reference.words.span();
  view.ambiguous_begin = owner->reference.ambiguous_begin;
  view.ambiguous_end = owner->reference.ambiguous_end;
  view.slots = owner->table.slots.span();
  view.positions = owner->table.positions.span();
  view.occurrence_count = owner->counts.occurrence_count;
  view.occurrence_minimizers = owner->counts.occurrence_minimizers;
  view.part_begin = owner->part_begin;
  view.frequent_hash = owner->counts.frequent_hash;
  view.frequent_count = owner->counts.frequent_count;
  view.home_lines = owner->table.home_lines;
  return {view, std::move(owner)};
}

}  // namespace

MinimizerIndex make_index(const SketchParameters& parameters, ReferenceBases reference, MinimizerTable table) {
  minimizer_table::MinimizerCounts counts;
  counts.occurrence_count = std::move(table.occurrence_count);
  counts.occurrence_minimizers = std::move(table.occurrence_minimizers);
  return view_of(parameters, std::make_shared<const IndexOwner>(IndexOwner{std::move(reference), std::move(table), {}, std::move(counts)}));
}

std::vector<std::int64_t> part_begins(const ReferenceBases& reference, std::int64_t part_bases) {
  std::vector<std::int64_t> begins{0};
  std::int64_t in_part = 0;
  for (std::size_t i = 0; i < reference.contigs(); ++i) {
    if (part_bases > 0 && in_part > 0 && in_part + reference.length[i] > part_bases) {
      begins.push_back(static_cast<std::int64_t>(i));
      in_part = 0;
    }
    in_part += reference.length[i];
  }
  begins.push_back(static_cast<std::int64_t>(reference.contigs()));
  return begins;
}

MinimizerIndex make_index_in_parts(const SketchParameters& parameters, ReferenceBases reference, std::vector<std::int64_t> part_begin,
                                   minimizer_table::MinimizerCounts counts) {
  MinimizerTable none = build_table(MinimizerParts{}, [](std::size_t count, const std::function<void(std::size_t)>& body) {
    for (std::size_t i = 0; i < count; ++i) body(i);
  });
  return view_of(parameters,
                 std::make_shared<const IndexOwner>(IndexOwner{std::move(reference), std::move(none), std::move(part_begin), std::move(counts)}));
}

}  // namespace sluice::minimizer_index
