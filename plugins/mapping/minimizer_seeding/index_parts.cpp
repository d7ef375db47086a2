// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_seeding/index_parts.hpp"

#include <algorithm>
#include <sluice/minimizer_table/sketch_parts.hpp>
#include <string>

namespace sluice::minimizer_seeding {

using minimizer_table::MinimizerParts;
using minimizer_table::PlacedMinimizer;

namespace {

// A MiB of bits, which stays in a core's second cache: nearly all minimizers are told from frequent ones by it.
constexpr int frequent_bits_log2 = 23;
std::uint64_t frequent_bit(std::uint64_t hash) { return minimizer_key(hash) >> (64 - frequent_bits_log2); }

}  // namespace

IndexParts::IndexParts(const MinimizerIndexView& index, std::int32_t mid_occ, const SketchKernels& kernels) : index_(index), kernels_(kernels) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < index.frequent_hash.size(); ++i)
    if (index.frequent_count[i] > static_cast<std::uint32_t>(mid_occ)) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return index.frequent_hash[a] < index.frequent_hash[b]; });
  for (const std::size_t i : order) {
    frequent_hash_.push_back(index.frequent_hash[i]);
    frequent_count_.push_back(index.frequent_count[i]);
  }
  frequent_bits_.resize(std::size_t{1} << (frequent_bits_log2 - 6));
  for (const std::uint64_t hash : frequent_hash_) frequent_bits_[frequent_bit(hash) / 64] |= std::uint64_t{1} << frequent_bit(hash) % 64;
  std::size_t at = 0;
  for (std::size_t i = 0; i < index.contigs(); ++i) {
    first_ambiguous_.push_back(ambiguous_.size());
    const std::int64_t begin = index.contig_base_begin[i], end = index.contig_base_begin[i + 1];
    for (; at < index.ambiguous_begin.size() && index.ambiguous_begin[at] < end; ++at)
      ambiguous_.push_back({index.ambiguous_begin[at] - begin, index.ambiguous_end[at] - begin});
  }
  first_ambiguous_.push_back(ambiguous_.size());
}

bool IndexParts::is_frequent(std::uint64_t hash) const {
  return (frequent_bits_[frequent_bit(hash) / 64] >> frequent_bit(hash) % 64 & 1) != 0 &&
         std::binary_search(frequent_hash_.begin(), frequent_hash_.end(), hash);
}

PackedSequence IndexParts::contig(std::size_t i) const {
  const std::size_t first = first_ambiguous_[i];
  return {index_.packed_bases.data() + index_.contig_base_begin[i] / 32, index_.contig_length[i],
          std::span(ambiguous_).subspan(first, first_ambiguous_[i + 1] - first)};
}

std::shared_ptr<const IndexPart> IndexParts::get(std::size_t part, const Host& host) {
  if (part >= index_.parts())
    throw Failure::input("a read is to be looked up in part " + std::to_string(part) + " of an index of " + std::to_string(index_.parts()),
                         "give the stage that reads the index that its reads are looked up in");
  return parts_.get(part, [&](SharedLoop& loop) {
    std::shared_ptr<const IndexPart> made = make(part, host, loop);
    host.keeps(made->table.bytes());
    host.count("tables_of_parts", 1);
    return made;
  });
}

std::shared_ptr<const IndexPart> IndexParts::make(std::size_t part, const Host& host, SharedLoop& loop) const {
  const SketchParameters sketching{index_.k, index_.w, index_.homopolymer_compressed ? HomopolymerCompression::on : HomopolymerCompression::off};
  const MinimizerParts sketched = minimizer_table::sketch_parts(
      static_cast<std::size_t>(index_.part_begin[part]), static_cast<std::size_t>(index_.part_begin[part + 1]),
      [this](std::size_t i) { return contig(i); }, sketching, kernels_);
  // The last of the parts that the table is made of are the frequent minimizers, the others are without them.
  MinimizerParts parts = sketched;
  parts.count = sketched.count + 1;
  parts.make = [this, &sketched](std::size_t i, std::vector<PlacedMinimizer>& out) {
    if (i < sketched.count) {
      sketched.make(i, out);
      std::erase_if(out, [this](const PlacedMinimizer& minimizer) { return is_frequent(minimizer.hash); });
    } else {
      for (std::size_t f = 0; f < frequent_hash_.size(); ++f) out.push_back({frequent_hash_[f], many_positions | frequent_count_[f]});
    }
  };
  const minimizer_table::ForEach for_each = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
    const std::function<void(std::size_t)> unless_cancelled = [&](std::size_t i) {
      if (host.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "making a part of the index was cancelled");
      body(i);
    };
    loop.run(count, unless_cancelled,
             [&](const auto& job) { host.parallel_for(static_cast<std::size_t>(host.threads()), 1, [&](std::size_t, std::size_t) { job(); }); });
  };
  auto made = std::make_shared<IndexPart>();
  made->part = part;
  made->table = minimizer_table::build_table(parts, for_each);
  made->view = index_;
  made->view.slots = made->table.slots.span();
  made->view.positions = made->table.positions.span();
  made->view.home_lines = made->table.home_lines;
  return made;
}

}  // namespace sluice::minimizer_seeding
