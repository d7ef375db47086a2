// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/read_anchors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace sluice::read_correction {
namespace {

// Runs before a run that may precede it in a chain. At 8 % errors a read of 8 kb has some 500 runs, few of them off the chain.
constexpr std::size_t max_predecessors = 24;
// Runs among which the one that a k-mer lengthens is looked for.
constexpr std::size_t open_runs = 8;
constexpr std::int32_t min_letters = 4;

// Where anchors may lie: near the line between the overlap's ends.
class Band {
 public:
  Band(const OverlapPlace& overlap, std::int32_t reach)
      : place_(overlap),
        read_span_(std::max(overlap.read_end - overlap.read_begin, 1)),
        template_span_(overlap.template_end - overlap.template_begin),
        width_(100 + 6 * read_span_ / 100),
        slope_(static_cast<double>(template_span_) / static_cast<double>(read_span_)),
        lowest_(overlap.template_begin - reach),
        highest_(overlap.template_end + reach) {}

  bool has(std::int32_t on_template, std::int32_t on_read, std::int32_t k) const {
    if (on_template < lowest_ || on_template + k > highest_) return false;
    if (surely_has(on_template, on_read)) return true;
    return std::abs(on_template - (place_.template_begin + (on_read - place_.read_begin) * template_span_ / read_span_)) <= width_;
  }
  // Without a division. It rounds by less than 1; so do doubles, but for lines so steep that nothing is near them.
  bool surely_has(std::int32_t on_template, std::int32_t on_read) const {
    constexpr double rounded = 3;
    return std::abs(on_template - place_.template_begin - (on_read - place_.read_begin) * slope_) + rounded <= static_cast<double>(width_);
  }
  // Letters behind a k-mer at this place.
  std::int32_t room_behind(std::int32_t on_template, std::int32_t k) const { return highest_ - on_template - k; }

 private:
  const OverlapPlace& place_;
  std::int64_t read_span_, template_span_, width_;
  double slope_;
  std::int32_t lowest_, highest_;
};

class RunFinder {
 public:
  RunFinder(const TemplateKmers& kmers, const PackedBases& read, const Band& band, AnchorWorkspace& workspace)
      : kmers_(kmers), read_(read), band_(band), workspace_(workspace) {}

  void find() {
    workspace_.runs.clear();
    find_candidates(kmers_.filter(), read_, kmers_.k(), workspace_.candidates);
    list_changes();
    for (std::size_t i = 0; i + 1 < workspace_.changes.size(); i += 2) {
      // Where the next candidates begin does not depend on what is found among these, so that a processor need not wait for it.
      const std::int32_t end = workspace_.changes[i + 1];
      for (std::int32_t begin = workspace_.changes[i]; begin < end;) begin += 1 + look_up(begin, end - begin - 1);
    }
  }

 private:
  // Where candidates begin and end, in turn.
  void list_changes() {
    workspace_.changes.clear();
    std::uint64_t before = 0;
    std::int32_t first = 0;
    for (const std::uint64_t word : workspace_.candidates) {
      for (std::uint64_t changes = word ^ (word << 1U | before); changes != 0; changes &= changes - 1)
        workspace_.changes.push_back(first + std::countr_zero(changes));
      before = word >> 63U;
      first += 64;
    }
  }

  // Adds the matches of a k-mer of the read, and of those behind it that only lengthen its run; how many those are. most: candidates behind it.
  std::int32_t look_up(std::int32_t begin, std::int32_t most) {
    const std::int32_t k = kmers_.k();
    const std::int32_t first = kmers_.first(read_.kmer_at(begin, kmer_mask(k)));
    if (first == TemplateKmers::none) return 0;
    if (!kmers_.is_single(first)) {
      for (std::int32_t at = first; at != TemplateKmers::none; at = kmers_.next(at))
        if (band_.has(at, begin, k)) add_match(at, begin);
      return 0;
    }
    if (!band_.has(first, begin, k)) return 0;
    Anchor& run = add_match(first, begin);
    if (!band_.surely_has(first, begin)) return 0;
    const std::int32_t more = kmers_.single_letters_behind(first, read_, begin, std::min(most, band_.room_behind(first, k)));
    if (more == 0 || !band_.surely_has(first + more, begin + more)) return 0;
    run.length += more;
    last_end_ += more;
    return more;
  }

  // Joins a k-mer to the run that it lengthens, or begins a new one; returns which.
  Anchor& add_match(std::int32_t template_begin, std::int32_t read_begin) {
    std::vector<Anchor>& runs = workspace_.runs;
    const std::int32_t k = kmers_.k();
    const std::size_t oldest = runs.size() > open_runs ? runs.size() - open_runs : 0;
    const bool may_lengthen = last_end_ >= read_begin + k - 1;
    last_end_ = read_begin + k;
    if (may_lengthen)
      for (std::size_t i = runs.size(); i-- > oldest;)
        if (runs[i].read_end() == read_begin + k - 1 && runs[i].template_end() == template_begin + k - 1) return ++runs[i].length, runs[i];
    runs.push_back({template_begin, read_begin, k});
    return runs.back();
  }

  const TemplateKmers& kmers_;
  const PackedBases& read_;
  const Band& band_;
  AnchorWorkspace& workspace_;
  std::int32_t last_end_ = 0;  // on the read, of the runs
};

}  // namespace

void find_anchors(const TemplateKmers& kmers, const PackedBases& read, const OverlapPlace& place, std::int32_t reach, AnchorWorkspace& workspace,
                  std::vector<Anchor>& anchors) {
  anchors.clear();
  std::vector<Anchor>& runs = workspace.runs;
  const Band band(place, reach);
  RunFinder(kmers, read, band, workspace).find();
  if (runs.empty()) return;
  workspace.score.resize(runs.size());
  workspace.highest_score.resize(runs.size());
  workspace.predecessor.resize(runs.size());
  std::size_t best = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Anchor& run = runs[i];
    std::int32_t score = run.length, predecessor = -1;
    const std::size_t oldest = i > max_predecessors ? i - max_predecessors : 0;
    for (std::size_t j = i; j-- > oldest;) {
      if (workspace.highest_score[j] + run.length <= score) break;
      const std::int32_t on_template = run.template_begin - runs[j].template_begin, on_read = run.read_begin - runs[j].read_begin;
      if (on_template <= 0 || on_read <= 0) continue;
      const std::int32_t gain = std::min({run.length, run.template_end() - runs[j].template_end(), run.read_end() - runs[j].read_end()});
      const std::int32_t shift = std::abs(on_template - on_read);
      if (gain < min_letters || shift > 30 + std::max(on_template, on_read) / 3) continue;
      const std::int32_t through = workspace.score[j] + gain - (shift > 0 ? 1 + shift / 2 : 0);
      if (through > score) score = through, predecessor = static_cast<std::int32_t>(j);
    }
    workspace.score[i] = score;
    workspace.highest_score[i] = i > 0 ? std::max(workspace.highest_score[i - 1], score) : score;
    workspace.predecessor[i] = predecessor;
    if (score > workspace.score[best]) best = i;
  }
  for (auto i = static_cast<std::int32_t>(best); i >= 0; i = workspace.predecessor[static_cast<std::size_t>(i)])
    anchors.push_back(runs[static_cast<std::size_t>(i)]);
  std::reverse(anchors.begin(), anchors.end());
  // The later of two anchors leaves the letters that both have to the earlier one.
  for (std::size_t i = 1; i < anchors.size(); ++i) {
    const std::int32_t shared =
        std::max({anchors[i - 1].template_end() - anchors[i].template_begin, anchors[i - 1].read_end() - anchors[i].read_begin, 0});
    anchors[i].template_begin += shared;
    anchors[i].read_begin += shared;
    anchors[i].length -= shared;
  }
}

}  // namespace sluice::read_correction
