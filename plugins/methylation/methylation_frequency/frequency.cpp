// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_frequency/frequency.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sluice/failure.hpp>
#include <stdexcept>
#include <utility>

namespace sluice::methylation_frequency {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

FrequencyAccumulator::FrequencyAccumulator(double call_threshold, Groups groups, Motif motif)
    : call_threshold_(call_threshold), groups_(groups), motif_(std::move(motif)), slots_(kFirstSlots, 0) {}

std::uint64_t FrequencyAccumulator::hash(const Key& key) {
  // Starts are close together and mostly ascend: one multiplication spreads them over the high bits that pick a slot.
  const std::uint64_t mixed =
      static_cast<std::uint64_t>(key.start) ^ (static_cast<std::uint64_t>(key.contig) << 40U) ^ (static_cast<std::uint64_t>(key.span) << 33U);
  const std::uint64_t product = mixed * 0x9E3779B97F4A7C15ULL;
  return product ^ (product >> 32U);
}

void FrequencyAccumulator::increase(Counts& counts, const Counts& by) {
  const auto add = [](std::uint32_t& sum, std::uint32_t value) {
    sum = value > std::numeric_limits<std::uint32_t>::max() - sum ? std::numeric_limits<std::uint32_t>::max() : sum + value;
  };
  add(counts.called, by.called);
  add(counts.methylated, by.methylated);
}

std::uint32_t FrequencyAccumulator::contig_index(std::string_view contig) {
  // Rows come sorted by contig: nearly always the one before.
  if (latest_contig_ < contigs_.size() && contigs_[latest_contig_] == contig) return latest_contig_;
  if (const auto found = contig_indices_.find(contig); found != contig_indices_.end()) return latest_contig_ = found->second;
  latest_contig_ = static_cast<std::uint32_t>(contigs_.size());
  contigs_.emplace_back(contig);
  contig_indices_.emplace(std::string(contig), latest_contig_);
  return latest_contig_;
}

void FrequencyAccumulator::set_sequence(Entry& entry, std::string_view sequence) {
  constexpr std::size_t kLongest = std::numeric_limits<std::uint32_t>::max();
  sequence = sequence.substr(0, kLongest);
  // All split CpGs share one copy of their text, at an offset that no other entry has.
  if (sequence == split_group) {
    entry.sequence_offset = std::numeric_limits<std::uint64_t>::max();
    return;
  }
  entry.sequence_offset = sequences_.size();
  entry.sequence_length = static_cast<std::uint32_t>(sequence.size());
  sequences_.append(sequence);
}

std::string_view FrequencyAccumulator::sequence_of(const Entry& entry) const {
  if (entry.sequence_offset == std::numeric_limits<std::uint64_t>::max()) return split_group;
  return std::string_view(sequences_).substr(static_cast<std::size_t>(entry.sequence_offset), entry.sequence_length);
}

void FrequencyAccumulator::grow_slots() {
  slots_.assign(slots_.size() * 2, 0);
  const std::uint64_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::uint64_t slot = hash(entries_[i].key) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i) + 1;
  }
}

FrequencyAccumulator::Entry& FrequencyAccumulator::find_or_insert(const Key& key, std::uint64_t order, std::int32_t motifs,
                                                                  std::string_view sequence) {
  const std::uint64_t mask = slots_.size() - 1;
  std::uint64_t slot = hash(key) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.key != key) continue;
    if (order < entry.order) {
      entry.order = order;
      entry.motifs = motifs;
      if (sequence_of(entry) != sequence) set_sequence(entry, sequence);
    }
    return entry;
  }
  if (entries_.size() >= std::numeric_limits<std::uint32_t>::max() - 1) throw std::length_error("methylation_frequency: more than 2^32 - 2 sites");
  entries_.push_back({.key = key, .forward = {}, .reverse = {}, .order = order, .sequence_offset = 0, .sequence_length = 0, .motifs = motifs});
  set_sequence(entries_.back(), sequence);
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  if (entries_.size() * 4 > slots_.size() * 3) grow_slots();
  return entries_.back();
}

AddStatus FrequencyAccumulator::add(const Call& call) {
  return for_each_site(call, call_threshold_, groups_, motif_, [this](const Call& site, Verdict verdict) {
    const Key key{.start = site.start, .contig = contig_index(site.contig), .span = static_cast<std::uint32_t>(site.end - site.start)};
    Entry& entry = find_or_insert(key, site.order, site.motifs, site.sequence);
    const auto sites = static_cast<std::uint32_t>(site.motifs);
    increase(site.strand == Strand::forward ? entry.forward : entry.reverse,
             {.called = sites, .methylated = verdict == Verdict::methylated ? sites : 0});
  });
}

bool FrequencyAccumulator::add(const Site& site, std::uint64_t order) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (site.start < 0 || site.end < site.start || static_cast<std::uint64_t>(site.end - site.start) > most || site.motifs < 1) return false;
  if (site.called_sites > most || site.called_forward > site.called_sites || site.methylated_forward > site.called_forward ||
      site.called_sites_methylated < site.methylated_forward ||
      site.called_sites_methylated - site.methylated_forward > site.called_sites - site.called_forward)
    return false;
  const Key key{.start = site.start, .contig = contig_index(site.contig), .span = static_cast<std::uint32_t>(site.end - site.start)};
  Entry& entry = find_or_insert(key, order, site.motifs, site.sequence);
  increase(entry.forward, {static_cast<std::uint32_t>(site.called_forward), static_cast<std::uint32_t>(site.methylated_forward)});
  increase(entry.reverse, {static_cast<std::uint32_t>(site.called_sites - site.called_forward),
                           static_cast<std::uint32_t>(site.called_sites_methylated - site.methylated_forward)});
  return true;
}

void FrequencyAccumulator::merge(const FrequencyAccumulator& other) {
  for (const Entry& theirs : other.entries_) {
    Key key = theirs.key;
    key.contig = contig_index(other.contigs_[theirs.key.contig]);
    Entry& ours = find_or_insert(key, theirs.order, theirs.motifs, other.sequence_of(theirs));
    increase(ours.forward, theirs.forward);
    increase(ours.reverse, theirs.reverse);
  }
}

void FrequencyAccumulator::save(StateWriter& to) const {
  to.value(std::uint64_t{contigs_.size()});
  for (const std::string& contig : contigs_) to.text(contig);
  to.text(sequences_);
  to.text({reinterpret_cast<const char*>(entries_.data()), entries_.size() * sizeof(Entry)});
}

void FrequencyAccumulator::restore(StateReader& from, std::uint64_t rows_before) {
  const auto require = [](bool condition) {
    if (!condition) throw Failure::input("the saved sites of methylation_frequency are damaged", "begin the run anew, without --resume");
  };
  std::vector<std::uint32_t> contigs;
  for (auto count = from.value<std::uint64_t>(); count > 0; --count) contigs.push_back(contig_index(from.text()));
  const std::string_view sequences = from.text();
  // One by one: a copy of all would be as large as what is restored.
  std::string_view entries = from.text();
  require(entries.size() % sizeof(Entry) == 0);
  for (; !entries.empty(); entries.remove_prefix(sizeof(Entry))) {
    Entry theirs;
    std::memcpy(&theirs, entries.data(), sizeof theirs);
    const bool is_split = theirs.sequence_offset == std::numeric_limits<std::uint64_t>::max();
    require(theirs.key.contig < contigs.size() &&
            (is_split || (theirs.sequence_offset <= sequences.size() && theirs.sequence_length <= sequences.size() - theirs.sequence_offset)));
    Key key = theirs.key;
    key.contig = contigs[key.contig];
    Entry& ours = find_or_insert(key, theirs.order + rows_before, theirs.motifs,
                                 is_split ? split_group : sequences.substr(static_cast<std::size_t>(theirs.sequence_offset), theirs.sequence_length));
    increase(ours.forward, theirs.forward);
    increase(ours.reverse, theirs.reverse);
  }
}

std::size_t FrequencyAccumulator::memory_bytes() const {
  std::size_t bytes = entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(std::uint32_t) + sequences_.capacity();
  for (const std::string& contig : contigs_) bytes += 2 * contig.capacity();
  return bytes;
}

void FrequencyAccumulator::sort(std::vector<std::uint32_t>& order) const {
  // Ranks of the contig names once, rather than comparisons of text for every pair of sites.
  std::vector<std::uint32_t> by_name(contigs_.size());
  for (std::size_t i = 0; i < by_name.size(); ++i) by_name[i] = static_cast<std::uint32_t>(i);
  std::ranges::sort(by_name, {}, [this](std::uint32_t contig) { return std::string_view(contigs_[contig]); });
  std::vector<std::uint32_t> rank(contigs_.size());
  for (std::size_t i = 0; i < by_name.size(); ++i) rank[by_name[i]] = static_cast<std::uint32_t>(i);

  order.resize(entries_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const Key& left = entries_[a].key;
    const Key& right = entries_[b].key;
    if (left.contig != right.contig) return rank[left.contig] < rank[right.contig];
    if (left.start != right.start) return left.start < right.start;
    return left.span < right.span;
  });
}

Site FrequencyAccumulator::site(std::uint32_t index) const {
  const Entry& entry = entries_[index];
  return {.contig = contigs_[entry.key.contig],
          .start = entry.key.start,
          .end = entry.key.start + entry.key.span,
          .motifs = entry.motifs,
          .called_sites = std::uint64_t{entry.forward.called} + entry.reverse.called,
          .called_sites_methylated = std::uint64_t{entry.forward.methylated} + entry.reverse.methylated,
          .called_forward = entry.forward.called,
          .methylated_forward = entry.forward.methylated,
          .sequence = sequence_of(entry)};
}

}  // namespace sluice::methylation_frequency
