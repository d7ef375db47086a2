// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which hits of a read are primary, and how sure they are. Method: minimap2 2.24 (Li 2018, 2021), integer for integer and float for float.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sluice::overlap {

enum class Masking : std::uint8_t {
  soft,  // a hit that covers bases of the read that no better hit covers may be primary in spite of the overlap
  hard,  // the overlap alone decides (--hard-mask-level)
};

struct MaskRules {
  float level = 0.5F;  // overlap with a better hit, as a share of the shorter one, above which a hit is secondary (-M)
  Masking masking = Masking::soft;
  std::int32_t length = std::numeric_limits<std::int32_t>::max();  // a hit with more uncovered bases stays primary (--mask-len)
};

// Bases of the read, end exclusive.
struct QueryInterval {
  std::int32_t begin = 0, end = 0;
  std::int32_t bases() const { return end - begin; }
  bool touches(const QueryInterval& other) const { return end > other.begin && begin < other.end; }
};

// The primary hits among those that have been added, best first.
class PrimaryHits {
 public:
  static constexpr std::size_t none = ~std::size_t{0};
  // What a hit shares with the primary one that it is secondary to.
  struct Secondary {
    std::size_t primary = none;            // ordinal of that one among the primary hits; none: the hit is primary itself, the newest
    std::int32_t common = 0, shorter = 0;  // bases that both cover, and bases of the shorter one
  };

  void clear() { primaries_.clear(); }
  // Hits are added by descending score.
  Secondary add(const MaskRules& rules, QueryInterval hit) {
    covered_.clear();
    for (const QueryInterval& primary : primaries_)
      if (primary.touches(hit)) covered_.push_back({std::max(primary.begin, hit.begin), std::min(primary.end, hit.end)});
    if (!covered_.empty()) {
      const std::int32_t uncovered = rules.masking == Masking::hard ? 0 : uncovered_bases(hit);
      for (std::size_t p = 0; p < primaries_.size(); ++p) {
        const QueryInterval& primary = primaries_[p];
        if (!primary.touches(hit)) continue;
        const auto [shorter, longer] = std::minmax({primary.bases(), hit.bases()});
        const std::int32_t common = std::min(primary.end, hit.end) - std::max(primary.begin, hit.begin);
        const float share = static_cast<float>(common) / static_cast<float>(shorter) - static_cast<float>(uncovered) / static_cast<float>(longer);
        if (share > rules.level && uncovered <= rules.length) return {p, common, shorter};
      }
    }
    primaries_.push_back(hit);
    return {};
  }

 private:
  // Bases of the hit that no interval of covered_ covers.
  std::int32_t uncovered_bases(QueryInterval hit) {
    std::sort(covered_.begin(), covered_.end(),
              [](const QueryInterval& a, const QueryInterval& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::int32_t begin = hit.begin, bases = 0;
    for (const QueryInterval& interval : covered_) {
      if (interval.begin > begin) bases += interval.begin - begin;
      begin = std::max(begin, interval.end);
    }
    return hit.end > begin ? bases + hit.end - begin : bases;
  }
  std::vector<QueryInterval> primaries_, covered_;
};

// The parts of a mapping quality.

// Share of the read's evidence that is not repeats: scores of the primary hits' chains, and bases under minimizers that were too frequent.
inline float unique_share(std::int64_t primary_scores, std::int32_t repeat_length) {
  return static_cast<float>(primary_scores) / static_cast<float>(primary_scores + repeat_length);
}
// How much a chain of this score and so many anchors says, 0 to 1.
inline float chain_weight(std::int32_t chain_score, std::int32_t anchors, float unique) {
  const float by_score = (chain_score > 100 ? 1.0F : 0.01F * static_cast<float>(chain_score)) * unique;
  const float by_anchors = anchors > 10 ? 1.0F : 0.1F * static_cast<float>(anchors);
  return std::min(by_score, by_anchors);
}
// What as many rivals take off.
inline std::int32_t rivals_penalty(std::int32_t rivals) {
  return static_cast<std::int32_t>(4.343F * std::log(static_cast<float>(rivals + 1)) + 0.499F);
}
// A quality may be far below 0 or above any integer when options contradict each other; the limits change nothing else, as 60 is the most.
inline std::int32_t whole_quality(float quality) { return static_cast<std::int32_t>(std::clamp(quality, 0.0F, 1e6F)); }

}  // namespace sluice::overlap
