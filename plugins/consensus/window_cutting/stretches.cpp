// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/stretches.hpp"

#include <algorithm>
#include <array>
#include <sluice/sequence/letter_blocks.hpp>
#include <sluice/sequence/packed_bases.hpp>

namespace sluice::window_cutting {
namespace {

// Two stretches with fewer bases between them are read at once: a system call takes as long as copying these.
constexpr std::int64_t skipped_bases = 1024;
// The beginning of a stretch that is not fetched from the file.
constexpr std::size_t in_memory = ~std::size_t{0};
// Copying a stretch takes some 15 ns, waiting for memory 100.
constexpr std::size_t stretches_ahead = 6;
constexpr std::int64_t cache_line = 64, prefetched_letters = 2 * cache_line;  // most stretches of a piece of 100 bases

}  // namespace

void StretchFetcher::fetch(std::span<const Stretch> stretches, const Letters& letters) {
  sort_by_strand_of_sequence(stretches);
  // Along each strand, so that the hardware, too, sees what comes next.
  std::size_t left = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (i + stretches_ahead < order_.size()) {
      // Not in a function of its own: GCC 12 leaves out calls of one that only prefetches.
      const Stretch& next = stretches[order_[i + stretches_ahead].stretch];
      if (const std::uint64_t* packed = store_->packed_bases(next.sequence); packed != nullptr)
        __builtin_prefetch(packed + next.begin / static_cast<std::int64_t>(packed_word_bases));
      const char* const qualities = store_->qualities_in_memory(next.sequence);
      for (std::int64_t at = 0; at < prefetched_letters; at += cache_line) {
        if (qualities != nullptr) __builtin_prefetch(qualities + next.begin + at);
        __builtin_prefetch(letters.bases.data() + next.at + at, 1);
        __builtin_prefetch(letters.qualities.data() + next.at + at, 1);
      }
    }
    if (!copy_from_memory(stretches[order_[i].stretch], letters)) order_[left++] = order_[i];
  }
  order_.resize(left);
  fetch_from_file(stretches, letters);
}

bool StretchFetcher::copy_from_memory(const Stretch& stretch, const Letters& letters) const {
  const std::uint64_t* const packed = store_->packed_bases(stretch.sequence);
  const char* const all_qualities = store_->qualities_in_memory(stretch.sequence);
  if (packed == nullptr || (all_qualities == nullptr && store_->has_qualities(stretch.sequence))) return false;
  const auto begin = static_cast<std::size_t>(stretch.begin), end = static_cast<std::size_t>(stretch.end);
  char *const bases = letters.bases.data() + stretch.at, *const qualities = letters.qualities.data() + stretch.at;
  copy_bases(packed, begin, end, stretch.strand, bases);
  if (all_qualities == nullptr)
    std::fill_n(qualities, end - begin, unknown_quality_);
  else
    copy_qualities(all_qualities + begin, end - begin, stretch.strand, qualities);
  return true;
}

void StretchFetcher::fetch_from_file(std::span<const Stretch> stretches, const Letters& letters) {
  if (order_.empty()) return;
  fetched_ = 0;
  begin_.assign(stretches.size(), in_memory);
  for (std::size_t first = 0, last = 0; first < order_.size(); first = last) {
    for (last = first + 1; last < order_.size() && order_[last].strand_of_sequence == order_[first].strand_of_sequence;) ++last;
    fetch_strand(stretches, std::span(order_).subspan(first, last - first));
  }
  // In the order in which they are written: what is read lies in the cache.
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (begin_[i] == in_memory) continue;
    const Stretch& stretch = stretches[i];
    std::copy_n(bases_.data() + begin_[i], stretch.end - stretch.begin, letters.bases.data() + stretch.at);
    std::copy_n(qualities_.data() + begin_[i], stretch.end - stretch.begin, letters.qualities.data() + stretch.at);
  }
}

// By counting, a byte of the number at a time, so that stretches of a strand keep their order: no branch depends on where a stretch belongs.
void StretchFetcher::sort_by_strand_of_sequence(std::span<const Stretch> stretches) {
  order_.clear();
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const std::uint64_t strand = static_cast<std::uint64_t>(stretches[i].sequence) << 1U | (stretches[i].strand == Strand::reverse ? 1U : 0U);
    order_.push_back({strand, i});
    highest = std::max(highest, strand);
  }
  other_order_.resize(order_.size());
  for (unsigned shift = 0; shift < 64 && highest >> shift != 0; shift += 8) {
    std::array<std::size_t, 257> begin{};
    const auto digit = [shift](const Place& place) { return static_cast<std::size_t>(place.strand_of_sequence >> shift & 0xFFU); };
    for (const Place& place : order_) ++begin[digit(place) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    for (const Place& place : order_) other_order_[begin[digit(place)]++] = place;
    order_.swap(other_order_);
  }
}

void StretchFetcher::fetch_strand(std::span<const Stretch> stretches, std::span<Place> places) {
  const auto begins_before = [&](const Place& a, const Place& b) { return stretches[a.stretch].begin < stretches[b.stretch].begin; };
  // As windows follow each other on a target, so do their layers, on the reverse strand from the end.
  if (begins_before(places.back(), places.front())) std::reverse(places.begin(), places.end());
  if (!std::is_sorted(places.begin(), places.end(), begins_before)) std::sort(places.begin(), places.end(), begins_before);
  for (std::size_t first = 0, last = 0; first < places.size(); first = last) {
    const auto [sequence, begin, first_end, at, strand] = stretches[places[first].stretch];
    std::int64_t end = first_end;
    for (last = first + 1; last < places.size() && stretches[places[last].stretch].begin <= end + skipped_bases; ++last)
      end = std::max(end, stretches[places[last].stretch].end);
    for (const Place& place : places.subspan(first, last - first)) {
      const Stretch& stretch = stretches[place.stretch];
      begin_[place.stretch] = fetched_ + static_cast<std::size_t>(strand == Strand::reverse ? end - stretch.end : stretch.begin - begin);
    }
    fetch_part(sequence, begin, end, strand);
  }
}

void StretchFetcher::fetch_part(std::int64_t sequence, std::int64_t begin, std::int64_t end, Strand strand) {
  const auto size = static_cast<std::size_t>(end - begin);
  if (bases_.size() < fetched_ + size) bases_.resize(2 * (fetched_ + size)), qualities_.resize(bases_.size());
  char *const bases = bases_.data() + fetched_, *const qualities = qualities_.data() + fetched_;
  fetched_ += size;
  store_->fetch_bases(sequence, begin, end, bases, scratch_);
  if (store_->has_qualities(sequence))
    store_->fetch_qualities(sequence, begin, end, qualities, scratch_);
  else
    std::fill(qualities, qualities + size, unknown_quality_);
  if (strand == Strand::forward) return;
  reverse_letters(bases, size);
  to_complements(bases, size);
  reverse_letters(qualities, size);
}

}  // namespace sluice::window_cutting
