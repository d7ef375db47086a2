// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Anchors as they are defined: every k-mer looked up, every predecessor tried.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "read_correction/read_anchors.hpp"

namespace plain_anchors {

using sluice::read_correction::Anchor;
using sluice::read_correction::OverlapPlace;
using sluice::read_correction::TemplateKmers;

inline std::vector<Anchor> runs(const std::string& bases, const std::string& read, std::int32_t k, const OverlapPlace& place, std::int32_t reach) {
  std::map<std::string, std::vector<std::int32_t>> places;
  const auto length = static_cast<std::size_t>(k);
  for (std::size_t i = 0; i + length <= bases.size(); ++i)
    if (const std::string kmer = bases.substr(i, length); kmer.find('N') == std::string::npos) places[kmer].push_back(static_cast<std::int32_t>(i));
  const std::int64_t read_span = std::max(place.read_end - place.read_begin, 1), template_span = place.template_end - place.template_begin;
  std::vector<Anchor> found;
  for (std::int32_t begin = 0; begin + k <= static_cast<std::int32_t>(read.size()); ++begin) {
    const auto kmer = places.find(read.substr(static_cast<std::size_t>(begin), length));
    if (kmer == places.end() || kmer->second.size() > static_cast<std::size_t>(TemplateKmers::max_occurrences)) continue;
    const std::int64_t expected = place.template_begin + (begin - place.read_begin) * template_span / read_span;
    for (const std::int32_t at : kmer->second) {
      if (at < place.template_begin - reach || at + k > place.template_end + reach || std::abs(at - expected) > 100 + 6 * read_span / 100) continue;
      const auto newest = std::find_if(found.rbegin(), found.rbegin() + std::min<std::ptrdiff_t>(8, std::ssize(found)),
                                       [&](const Anchor& run) { return run.read_end() == begin + k - 1 && run.template_end() == at + k - 1; });
      if (newest != found.rbegin() + std::min<std::ptrdiff_t>(8, std::ssize(found)))
        ++newest->length;
      else
        found.push_back({at, begin, k});
    }
  }
  return found;
}

inline std::vector<Anchor> anchors(const std::string& bases, const std::string& read, std::int32_t k, const OverlapPlace& place, std::int32_t reach) {
  const std::vector<Anchor> all = runs(bases, read, k, place, reach);
  if (all.empty()) return {};
  std::vector<std::int32_t> score(all.size()), predecessor(all.size(), -1);
  std::size_t best = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    score[i] = all[i].length;
    for (std::size_t j = i; j-- > (i > 24 ? i - 24 : 0);) {
      const std::int32_t on_template = all[i].template_begin - all[j].template_begin, on_read = all[i].read_begin - all[j].read_begin;
      if (on_template <= 0 || on_read <= 0) continue;
      const std::int32_t gain = std::min({all[i].length, all[i].template_end() - all[j].template_end(), all[i].read_end() - all[j].read_end()});
      const std::int32_t shift = std::abs(on_template - on_read);
      if (gain < 4 || shift > 30 + std::max(on_template, on_read) / 3) continue;
      const std::int32_t through = score[j] + gain - (shift > 0 ? 1 + shift / 2 : 0);
      if (through > score[i]) score[i] = through, predecessor[i] = static_cast<std::int32_t>(j);
    }
    if (score[i] > score[best]) best = i;
  }
  std::vector<Anchor> chain;
  for (auto i = static_cast<std::int32_t>(best); i >= 0; i = predecessor[static_cast<std::size_t>(i)])
    chain.push_back(all[static_cast<std::size_t>(i)]);
  std::reverse(chain.begin(), chain.end());
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const std::int32_t shared = std::max({chain[i - 1].template_end() - chain[i].template_begin, chain[i - 1].read_end() - chain[i].read_begin, 0});
    chain[i].template_begin += shared;
    chain[i].read_begin += shared;
    chain[i].length -= shared;
  }
  return chain;
}

}  // namespace plain_anchors
