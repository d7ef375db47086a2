// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/hit_aligner.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::base_alignment {
namespace {

// Fixed points lie at least this far apart: in shorter stretches the library's start-up costs more than the alignment (5 us for 100 bases with 9 %
// errors).
constexpr std::int32_t least_distance = 64;
// An anchor without a neighbour on its diagonal is taken only when the last fixed point is this far away.
constexpr std::int32_t far = 500;
// Neighbours on the diagonal count within this distance.
constexpr std::int32_t near = 200;

// Ends grow by blocks of so many query bases; of a block that is not the last one only the first three quarters are kept, because its own end is
// where the alignment is least certain.
constexpr std::size_t block = 256;
constexpr std::size_t kept_of_block = block * 3 / 4;
// An end is given up when the score has fallen so far below its best: minimap2's Z-drop.
constexpr std::int32_t score_drop = 400;
// A stretch between fixed points with a larger difference of lengths is one long gap and is extended from both sides instead.
constexpr std::int64_t long_gap = 300;
constexpr std::size_t longest_stretch = 3000;

// Cuts the path behind `query` and `target` bases, a place that it passes.
void cut(Path& path, std::int32_t query, std::int32_t target) {
  std::vector<std::uint32_t>& operations = path.operations();
  std::size_t kept = 0;
  for (; kept < operations.size() && (query > 0 || target > 0); ++kept) {
    const std::uint32_t code = operations[kept] & 15U;
    auto bases = static_cast<std::int32_t>(operations[kept] >> 4);
    if (code != deletion) bases = std::min(bases, query);
    if (code != insertion) bases = std::min(bases, target);
    if (code != deletion) query -= bases;
    if (code != insertion) target -= bases;
    operations[kept] = static_cast<std::uint32_t>(bases) << 4 | code;
  }
  operations.resize(kept);
}

}  // namespace

void choose_fixed_points(std::span<const std::uint64_t> x, std::span<const std::uint64_t> y, Compressed compressed, std::vector<FixedPoint>& points) {
  points.clear();
  const auto target = [&](std::size_t i) { return static_cast<std::int32_t>(x[i] & 0xFFFFFFFFU); };
  const auto query = [&](std::size_t i) { return static_cast<std::int32_t>(y[i] & 0xFFFFFFFFU); };
  const auto on_one_diagonal = [&](std::size_t a, std::size_t b) {
    const std::int32_t distance = target(b) - target(a);
    return distance > 0 && distance <= near && query(b) - query(a) == distance;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int32_t back = compressed == Compressed::yes ? 0 : static_cast<std::int32_t>(y[i] >> 32 & 0xFFU) / 2;
    const FixedPoint point{target(i) + 1 - back, query(i) + 1 - back};
    if (point.target < 0 || point.query < 0) continue;
    const bool trusted = (i > 0 && on_one_diagonal(i - 1, i)) || (i + 1 < x.size() && on_one_diagonal(i, i + 1));
    if (points.empty()) {
      // The chain's first anchors are its least certain ones: one of the first four that has a neighbour, if there is one.
      if (trusted || i + 1 >= std::min<std::size_t>(4, x.size())) points.push_back(point);
      continue;
    }
    const std::int32_t distance = std::min(point.target - points.back().target, point.query - points.back().query);
    if (distance >= (trusted ? least_distance : far)) points.push_back(point);
  }
}

FixedPoint HitAligner::extend(std::string_view query, std::string_view target, Path& path) {
  path.clear();
  const Scoring& scoring = aligner_.scoring();
  FixedPoint at, best;  // bases taken
  std::int32_t score = 0, best_score = 0;
  while (static_cast<std::size_t>(at.query) < query.size() && static_cast<std::size_t>(at.target) < target.size()) {
    const std::string_view rest = query.substr(static_cast<std::size_t>(at.query));
    const bool is_last = rest.size() <= block + block / 4;
    const std::string_view part = is_last ? rest : rest.substr(0, block);
    const std::string_view window = target.substr(static_cast<std::size_t>(at.target), part.size() + part.size() / 4 + 32);
    if (!aligner_.align_to_beginning(part, window, piece_)) break;

    FixedPoint inside;  // bases of this block taken
    bool enough = false;
    for (const std::uint32_t operation : piece_.operations()) {
      const std::uint32_t code = operation & 15U;
      const auto bases = static_cast<std::int32_t>(operation >> 4);
      if (code != match_or_mismatch) {
        score -= scoring.gap(bases);
        (code == insertion ? inside.query : inside.target) += bases;
        path.add(static_cast<Operation>(code), operation >> 4);
        continue;
      }
      for (std::int32_t i = 0; i < bases && !enough; ++i) {
        const bool same = part[static_cast<std::size_t>(inside.query)] == window[static_cast<std::size_t>(inside.target)];
        score += same ? scoring.match : -scoring.mismatch;
        ++inside.query;
        ++inside.target;
        path.add(match_or_mismatch, 1);
        if (score > best_score) {
          best_score = score;
          best = {at.target + inside.target, at.query + inside.query};
        }
        enough = same && !is_last && static_cast<std::size_t>(inside.query) >= kept_of_block;
      }
      if (enough) break;
    }
    at.query += inside.query;
    at.target += inside.target;
    if (is_last || !enough || score < best_score - score_drop) break;
  }
  cut(path, best.query, best.target);
  return best;
}

FixedPoint HitAligner::extend_to_the_left(std::string_view query, std::string_view target, Path& reversed_path) {
  reversed_query_.assign(query.rbegin(), query.rend());
  reversed_target_.assign(target.rbegin(), target.rend());
  return extend(reversed_query_, reversed_target_, reversed_path);
}

void HitAligner::align_between(std::string_view query, std::string_view target, Path& path) {
  const auto difference = static_cast<std::int64_t>(query.size()) - static_cast<std::int64_t>(target.size());
  if (std::abs(difference) <= long_gap && query.size() <= longest_stretch && aligner_.align(query, target, piece_)) return path.append(piece_);

  const FixedPoint from_left = extend(query, target, left_);
  query.remove_prefix(static_cast<std::size_t>(from_left.query));
  target.remove_prefix(static_cast<std::size_t>(from_left.target));
  const FixedPoint from_right = extend_to_the_left(query, target, right_);
  query.remove_suffix(static_cast<std::size_t>(from_right.query));
  target.remove_suffix(static_cast<std::size_t>(from_right.target));
  path.append(left_);
  const std::size_t both = std::min(query.size(), target.size());
  if (query.size() <= longest_stretch && std::max(query.size(), target.size()) - both <= static_cast<std::size_t>(long_gap) &&
      aligner_.align(query, target, piece_)) {
    path.append(piece_);
  } else {
    path.add(match_or_mismatch, static_cast<std::uint32_t>(both));
    path.add(insertion, static_cast<std::uint32_t>(query.size() - both));
    path.add(deletion, static_cast<std::uint32_t>(target.size() - both));
  }
  path.append_reversed(right_);
}

bool HitAligner::align(std::string_view query, std::string_view target, std::span<const FixedPoint> points, HitAlignment& result) {
  result.path.clear();
  if (points.empty()) return false;
  const auto part = [](std::string_view text, std::int32_t begin, std::int32_t end) {
    return text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  const FixedPoint& first = points.front();
  const FixedPoint left = extend_to_the_left(part(query, 0, first.query), part(target, 0, first.target), left_);
  result.path.append_reversed(left_);
  result.query_begin = first.query - left.query;
  result.target_begin = first.target - left.target;
  for (std::size_t i = 0; i + 1 < points.size(); ++i)
    align_between(part(query, points[i].query, points[i + 1].query), part(target, points[i].target, points[i + 1].target), result.path);
  const FixedPoint& last = points.back();
  const FixedPoint right = extend(query.substr(static_cast<std::size_t>(last.query)), target.substr(static_cast<std::size_t>(last.target)), right_);
  result.path.append(right_);
  result.query_end = last.query + right.query;
  result.target_end = last.target + right.target;

  left_align(result.path, part(query, result.query_begin, result.query_end), part(target, result.target_begin, result.target_end));
  // A gap at an end says nothing.
  std::vector<std::uint32_t>& operations = result.path.operations();
  const auto is_gap = [](std::uint32_t operation) { return (operation & 15U) != match_or_mismatch; };
  const auto begin = std::find_if_not(operations.begin(), operations.end(), is_gap);
  for (auto gap = operations.begin(); gap != begin; ++gap)
    ((*gap & 15U) == insertion ? result.query_begin : result.target_begin) += static_cast<std::int32_t>(*gap >> 4);
  operations.erase(operations.begin(), begin);
  for (; !operations.empty() && is_gap(operations.back()); operations.pop_back())
    ((operations.back() & 15U) == insertion ? result.query_end : result.target_end) -= static_cast<std::int32_t>(operations.back() >> 4);
  return !operations.empty();
}

}  // namespace sluice::base_alignment
