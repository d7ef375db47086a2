// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reads with chains on a contig, and the index of that contig, for tests.

#include <random>
#include <sluice/minimizer_index.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace read_chains {

using sluice::testing::BatchBuilder;
using sluice::testing::TestBatch;

inline constexpr std::int32_t k = 15;

inline std::string random_bases(std::mt19937& random, std::size_t count) {
  std::string bases(count, 'A');
  for (char& base : bases) base = "ACGT"[random() % 4];
  return bases;
}
inline std::string reverse_complement(const std::string& bases) {
  std::string made(bases.rbegin(), bases.rend());
  for (char& base : made)
    if (const std::size_t code = std::string_view("ACGT").find(base); code != std::string_view::npos) base = "TGCA"[code];
  return made;
}
// Every so many bases another one.
inline std::string with_errors(std::string bases, std::size_t every) {
  for (std::size_t i = every / 2; i < bases.size(); i += every)
    if (const std::size_t code = std::string_view("ACGT").find(bases[i]); code != std::string_view::npos) bases[i] = "CGTA"[code];
  return bases;
}

// An index of one contig, without a minimizer.
inline TestBatch index_of(const std::string& contig, bool with_bases = true) {
  std::vector<std::uint64_t> words((contig.size() + 31) / 32);
  for (std::size_t i = 0; i < contig.size(); ++i)
    words[i / 32] |= static_cast<std::uint64_t>(std::string_view("ACGT").find(contig[i])) << 2 * (i % 32);
  if (!with_bases) words.clear();
  const auto length = static_cast<std::int32_t>(contig.size());
  return BatchBuilder("minimizer_index", 1)
      .list<std::int32_t>("contig_length", {{length}})
      .list<std::int64_t>("contig_name_begin", {{0, 3}})
      .list<std::uint8_t>("contig_name", {{'o', 'n', 'e'}})
      .list<std::int64_t>("contig_base_begin", {{0, (length + 31) / 32 * 32}})
      .list<std::uint64_t>("packed_bases", {words})
      .list<std::int64_t>("ambiguous_begin", {{}})
      .list<std::int64_t>("ambiguous_end", {{}})
      .list<std::uint64_t>("slot", {std::vector<std::uint64_t>(2 * sluice::slots_per_line * 2, sluice::empty_slot)})
      .list<std::uint64_t>("position", {{}})
      .list<std::uint32_t>("occurrence_count", {{}})
      .list<std::uint64_t>("occurrence_minimizers", {{}})
      .attribute("k", std::to_string(k))
      .attribute("w", "10")
      .attribute("homopolymer_compressed", "0")
      .attribute("home_lines", "1")
      .build();
}

struct ReadChain {
  std::string bases;
  std::vector<std::uint64_t> x, y;
  std::int32_t length() const { return static_cast<std::int32_t>(bases.size()); }
};

// Where the k-mers of a read lie on the contig, every tenth, as far as they ascend: a chain of the forward strand.
inline ReadChain chain_of(const std::string& contig, const std::string& read) {
  ReadChain chain{read, {}, {}};
  std::size_t from = 0;
  for (std::size_t q = 0; q + k <= read.size(); q += 10) {
    const std::size_t t = contig.find(read.substr(q, k), from);
    if (t == std::string::npos) continue;
    chain.x.push_back(t + k - 1);
    chain.y.push_back(std::uint64_t{k} << 32 | (q + k - 1));
    from = t + 1;
  }
  return chain;
}

using Hits = std::vector<std::vector<std::int32_t>>;
inline BatchBuilder columns_of(const std::vector<ReadChain>& reads) {
  std::vector<std::string> bases;
  Hits zero, score, count;
  std::vector<std::vector<std::uint8_t>> forward, primary;
  std::vector<std::vector<std::uint32_t>> hash;
  std::vector<std::vector<std::uint64_t>> x, y;
  std::vector<std::int32_t> length;
  for (const ReadChain& read : reads) {
    bases.push_back(read.bases);
    length.push_back(read.length());
    const auto anchors = static_cast<std::int32_t>(read.x.size());
    zero.push_back(std::vector<std::int32_t>(anchors > 0 ? 1 : 0, 0));
    score.push_back(std::vector<std::int32_t>(anchors > 0 ? 1 : 0, 10 * anchors));
    count.push_back(std::vector<std::int32_t>(anchors > 0 ? 1 : 0, anchors));
    forward.push_back(std::vector<std::uint8_t>(anchors > 0 ? 1 : 0, 0));
    primary.push_back(std::vector<std::uint8_t>(anchors > 0 ? 1 : 0, 1));
    hash.push_back(std::vector<std::uint32_t>(anchors > 0 ? 1 : 0, 7));
    x.push_back(read.x);
    y.push_back(read.y);
  }
  return BatchBuilder("read", static_cast<std::int64_t>(reads.size()))
      .text("bases", bases)
      .column<std::int32_t>("read_length", length)
      .column<std::int32_t>("repeat_length", std::vector<std::int32_t>(reads.size(), 0))
      .list<std::int32_t>("hit_target", zero)
      .list<std::int32_t>("hit_chain", zero)
      .list<std::int32_t>("hit_score", score)
      .list<std::int32_t>("hit_second_score", zero)
      .list<std::int32_t>("hit_rivals", zero)
      .list<std::uint32_t>("hit_hash", hash)
      .list<std::uint8_t>("hit_is_reverse", forward)
      .list<std::uint8_t>("hit_is_primary", primary)
      .list<std::int32_t>("chain_anchor_count", count)
      .list<std::uint64_t>("chain_anchor_x", x)
      .list<std::uint64_t>("chain_anchor_y", y);
}

struct Fixture {
  std::mt19937 random{11};
  std::string contig = random_bases(random, 30000);
  std::string piece(std::size_t begin, std::size_t end) const { return contig.substr(begin, end - begin); }
};

}  // namespace read_chains
