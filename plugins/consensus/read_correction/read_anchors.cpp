// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/read_anchors.hpp"

#include <algorithm>
#include <cstdlib>
#include <sluice/sequence/bases.hpp>

namespace sluice::read_correction {
namespace {

// Runs before a run that may precede it in a chain. At 8 % errors a read of 8 kb has some 500 runs, few of them off the chain.
constexpr std::size_t max_predecessors = 24;
// Runs among which the one that a k-mer lengthens is looked for.
constexpr std::size_t open_runs = 8;
constexpr std::int32_t min_letters = 4;

// Joins a k-mer to the run that it lengthens, or begins a new one; returns which.
Anchor& add_match(std::int32_t template_begin, std::int32_t read_begin, std::int32_t k, std::vector<Anchor>& runs) {
  const std::size_t oldest = runs.size() > open_runs ? runs.size() - open_runs : 0;
  for (std::size_t i = runs.size(); i-- > oldest;)
    if (runs[i].read_end() == read_begin + k - 1 && runs[i].template_end() == template_begin + k - 1) return ++runs[i].length, runs[i];
  return runs.emplace_back(template_begin, read_begin, k);
}

// Where anchors may lie: near the line between the overlap's ends.
struct Band {
  Band(const OverlapPlace& overlap, std::int32_t reach)
      : place(overlap),
        read_span(std::max(place.read_end - place.read_begin, 1)),
        template_span(place.template_end - place.template_begin),
        width(100 + 6 * read_span / 100),
        lowest(place.template_begin - reach),
        highest(place.template_end + reach) {}
  std::int64_t distance(std::int32_t on_template, std::int32_t on_read) const {
    return std::abs(on_template - (place.template_begin + (on_read - place.read_begin) * template_span / read_span));
  }
  const OverlapPlace& place;
  std::int64_t read_span, template_span, width;
  std::int32_t lowest, highest;
};

// Letters by which a match of a k-mer without other places lengthens its run: as many as looking up one k-mer after the other would give. Distances
// from the line are rounded, so that what lies between two of them may be one or two more.
std::int32_t lengthened_by(const TemplateKmers& kmers, std::string_view read, const Band& band, std::int32_t at, std::int32_t begin) {
  constexpr std::int64_t rounded = 2;
  if (!kmers.is_single(at) || band.distance(at, begin) + rounded > band.width) return 0;
  const std::int32_t room = band.highest - at - kmers.k();
  const std::int32_t letters = std::min(room, kmers.single_letters_behind(at, read.substr(static_cast<std::size_t>(begin + kmers.k()))));
  return letters > 0 && band.distance(at + letters, begin + letters) + rounded <= band.width ? letters : 0;
}

void find_runs(const TemplateKmers& kmers, std::string_view read, const Band& band, std::vector<Anchor>& runs) {
  runs.clear();
  const std::int32_t k = kmers.k();
  const std::uint32_t mask = (std::uint32_t{1} << (2 * k)) - 1;
  const KmerFilter filter = kmers.filter();
  std::uint32_t kmer = 0;
  std::int32_t letters = 0;
  for (std::int32_t end = 1; end <= static_cast<std::int32_t>(read.size()); ++end) {
    const std::uint32_t code = nucleotide_codes[static_cast<unsigned char>(read[static_cast<std::size_t>(end - 1)])];
    if (code == ambiguous_code) {
      letters = 0;
      continue;
    }
    kmer = (kmer << 2U | code) & mask;
    if (++letters < k || !filter.may_have(kmer)) continue;
    const std::int32_t begin = end - k;
    for (std::int32_t at = kmers.first(kmer); at != TemplateKmers::none; at = kmers.next(at)) {
      if (at < band.lowest || at + k > band.highest || band.distance(at, begin) > band.width) continue;
      Anchor& run = add_match(at, begin, k, runs);
      if (const std::int32_t more = lengthened_by(kmers, read, band, at, begin); more > 0) {
        run.length += more;
        end += more;
        kmer = kmers.kmer_at(at + more);
      }
    }
  }
}

}  // namespace

void find_anchors(const TemplateKmers& kmers, std::string_view read, const OverlapPlace& place, std::int32_t reach, AnchorWorkspace& workspace,
                  std::vector<Anchor>& anchors) {
  anchors.clear();
  std::vector<Anchor>& runs = workspace.runs;
  find_runs(kmers, read, Band(place, reach), runs);
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
