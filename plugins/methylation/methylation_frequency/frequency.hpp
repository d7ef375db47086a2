// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Methylation frequencies per site, gathered from the calls of single reads: the plain accumulator.
// Method: f5c meth-freq (nanopolish calculate_methylation_frequency.py), counts and order of its table.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/call_verdict.hpp>
#include <sluice/motif.hpp>
#include <sluice/saved_state.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::methylation_frequency {

// What becomes of a group of several sites (CpGs, or those of another motif) that were called together.
enum class Groups : std::uint8_t {
  keep,   // one site per group, at the first bases of its first and last one
  split,  // one site per site of the group, each with the call of the group (f5c meth-freq -s)
};

inline constexpr double kDefaultCallThreshold = 2.5;

// One row of a methylation table: one group of sites in one read.
struct Call {
  std::string_view contig;
  std::int64_t start = 0;    // first base of the first site, 0-based on the forward strand: C of a CpG
  std::int64_t end = 0;      // first base of the last site
  std::int32_t motifs = 0;   // sites in the group
  double log_lik_ratio = 0;  // methylated minus unmethylated, natural logarithm, unrounded or as printed: both count the same
  Strand strand = Strand::forward;
  std::string_view sequence;  // reference around the group
  // Position of the row in the whole input. Sites show group size and sequence of the row with the lowest one, so that the result does not depend on
  // which accumulator saw which row when.
  std::uint64_t order = 0;
};

using methylation::judge, methylation::Verdict;

enum class AddStatus : std::uint8_t {
  counted,
  below_threshold,
  not_a_number,
  invalid,  // start < 0, end < start, end - start beyond 2^32, motifs < 1, or no site in the sequence of a group to split
};

// Calls body(site, verdict) for each site that the call counts for: the group, or, split, each site of the motif in it. Says why if there are none.
template <class Body>
AddStatus for_each_site(const Call& call, double call_threshold, Groups groups, const Motif& motif, const Body& body);

// One site, or one group, summed over reads. Counts are reads times sites. The views belong to the accumulator and are valid until its next change.
struct Site {
  std::string_view contig;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int32_t motifs = 0;
  std::uint64_t called_sites = 0;  // both strands
  std::uint64_t called_sites_methylated = 0;
  std::uint64_t called_forward = 0;
  std::uint64_t methylated_forward = 0;
  std::string_view sequence;  // "split-group" for a site that was split off
};

// Sums calls per (contig, start, end). Not for several threads at once: give each its own and merge them.
// 56 bytes a site, 5 to 11 of index, and its sequence (11 letters for a single CpG of a 6-mer model): about 2.2 GB for the 29 million CpGs of
// a human genome, more while an array doubles.
class FrequencyAccumulator {
 public:
  explicit FrequencyAccumulator(double call_threshold = kDefaultCallThreshold, Groups groups = Groups::keep, Motif motif = parse_motif("cpg"));

  AddStatus add(const Call& call);

  // Adds sums of another table; see Call::order. False: what `invalid` says of a call, or counts that can't be.
  bool add(const Site& site, std::uint64_t order);

  // Adds the sums of another accumulator of the same threshold and treatment of groups. Any order of merging gives the same sites.
  void merge(const FrequencyAccumulator& other);

  void save(StateWriter& to) const;
  // Merges what was saved. Its rows come behind the `rows_before` ones of this accumulator.
  void restore(StateReader& from, std::uint64_t rows_before);

  std::size_t size() const { return entries_.size(); }

  // Bytes held, for the memory account of a stage.
  std::size_t memory_bytes() const;

  // Replaces `order` by the indices of all sites sorted by contig (byte order), start, end.
  void sort(std::vector<std::uint32_t>& order) const;

  // index < size()
  Site site(std::uint32_t index) const;

 private:
  struct Key {
    std::int64_t start;
    std::uint32_t contig;
    std::uint32_t span;  // end - start
    bool operator==(const Key&) const = default;
  };
  struct Counts {
    std::uint32_t called = 0;
    std::uint32_t methylated = 0;
  };
  struct Entry {
    Key key;
    Counts forward;
    Counts reverse;
    std::uint64_t order;            // of the row that gave motifs and sequence
    std::uint64_t sequence_offset;  // into sequences_
    std::uint32_t sequence_length;
    std::int32_t motifs;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct TextEqual {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };

  static std::uint64_t hash(const Key& key);
  static void increase(Counts& counts, const Counts& by);
  std::uint32_t contig_index(std::string_view contig);
  Entry& find_or_insert(const Key& key, std::uint64_t order, std::int32_t motifs, std::string_view sequence);
  void set_sequence(Entry& entry, std::string_view sequence);
  std::string_view sequence_of(const Entry& entry) const;
  void grow_slots();

  double call_threshold_;
  Groups groups_;
  Motif motif_;
  std::vector<std::string> contigs_;
  std::unordered_map<std::string, std::uint32_t, TextHash, TextEqual> contig_indices_;
  std::uint32_t latest_contig_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // open addressing, a power of two; index into entries_ plus one, 0 is free
  std::string sequences_;
};

inline constexpr std::string_view split_group = "split-group";

template <class Body>
AddStatus for_each_site(const Call& call, double call_threshold, Groups groups, const Motif& motif, const Body& body) {
  if (call.start < 0 || call.end < call.start || call.end - call.start > std::numeric_limits<std::uint32_t>::max() || call.motifs < 1)
    return AddStatus::invalid;
  const bool split = groups == Groups::split && call.motifs > 1;
  const MotifSites& sites = motif.sites(call.strand);
  const std::size_t first_motif = split ? find_motif(call.sequence, sites) : 0;
  if (first_motif == std::string_view::npos) return AddStatus::invalid;
  const Verdict verdict = judge(call.log_lik_ratio, call_threshold);
  if (verdict == Verdict::not_a_number) return AddStatus::not_a_number;
  if (verdict == Verdict::below_threshold) return AddStatus::below_threshold;
  if (!split) {
    body(call, verdict);
    return AddStatus::counted;
  }
  Call site = call;
  site.motifs = 1;
  site.sequence = split_group;
  for (std::size_t at = first_motif; at != std::string_view::npos; at = find_motif(call.sequence, sites, at + 1)) {
    const auto offset = static_cast<std::int64_t>(at - first_motif);
    if (offset > std::numeric_limits<std::int64_t>::max() - call.start) break;
    site.start = site.end = call.start + offset;
    body(site, verdict);
  }
  return AddStatus::counted;
}

}  // namespace sluice::methylation_frequency
