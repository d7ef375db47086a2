// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/alignment_columns.hpp"

#include <algorithm>
#include <string_view>

namespace sluice::base_alignment {

void give_alignments(const std::vector<AlignedRow>& made, WantedTexts wanted, Output& out) {
  const Buffer per_hit = out.offsets([&](std::int64_t row) { return made[static_cast<std::size_t>(row)].hits.size(); });
  const Buffer per_operation = out.offsets([&](std::int64_t row) { return made[static_cast<std::size_t>(row)].operations; });
  const auto add = [&]<class T>(const char* name, T (*value_of)(const AlignedHit&)) {
    auto to = out.list<T>(name, per_hit).begin();
    for (const AlignedRow& row : made)
      for (const AlignedHit& hit : row.hits) *to++ = value_of(hit);
  };
  using Hit = const AlignedHit&;
  add(
      "aligned_target", +[](Hit hit) { return hit.target; });
  add(
      "aligned_query_start", +[](Hit hit) { return hit.query_start; });
  add(
      "aligned_query_end", +[](Hit hit) { return hit.query_end; });
  add(
      "aligned_target_start", +[](Hit hit) { return hit.target_start; });
  add(
      "aligned_target_end", +[](Hit hit) { return hit.target_end; });
  add(
      "aligned_matches", +[](Hit hit) { return hit.matches; });
  add(
      "aligned_columns", +[](Hit hit) { return hit.columns; });
  add(
      "aligned_ambiguous", +[](Hit hit) { return hit.ambiguous; });
  add(
      "edit_distance", +[](Hit hit) { return hit.columns - hit.matches + hit.ambiguous; });
  add(
      "alignment_score", +[](Hit hit) { return hit.score; });
  add(
      "aligned_best_score", +[](Hit hit) { return hit.path_score; });
  add(
      "aligned_divergence", +[](Hit hit) { return 1.0 - identity_of(hit); });
  add(
      "aligned_anchors", +[](Hit hit) { return hit.anchors; });
  add(
      "aligned_chain_score", +[](Hit hit) { return hit.chain_score; });
  add(
      "aligned_second_score", +[](Hit hit) { return hit.primary() ? hit.second_chain_score : -1; });
  add(
      "cigar_count", +[](Hit hit) { return static_cast<std::int32_t>(hit.cigar.size()); });
  add(
      "aligned_is_reverse", +[](Hit hit) { return std::uint8_t{hit.reverse}; });
  add(
      "aligned_is_primary", +[](Hit hit) { return std::uint8_t{hit.primary()}; });
  add(
      "aligned_is_first", +[](Hit hit) { return std::uint8_t{hit.leads}; });
  add(
      "aligned_is_inversion", +[](Hit hit) { return std::uint8_t{hit.inversion}; });
  add(
      "aligned_split", +[](Hit hit) { return hit.split; });
  add(
      "aligned_mapq", +[](Hit hit) { return hit.mapping_quality; });
  add(
      "aligned_transcript_strand", +[](Hit hit) { return static_cast<std::uint8_t>(hit.transcript); });
  auto to = out.list<std::uint32_t>("aligned_cigar", per_operation).begin();
  for (const AlignedRow& row : made)
    for (const AlignedHit& hit : row.hits) to = std::copy(hit.cigar.begin(), hit.cigar.end(), to);
  const auto add_text = [&](const char* name, std::string AlignedRow::*member) {
    std::vector<std::string_view> texts;
    for (const AlignedRow& row : made) texts.emplace_back(row.*member);
    out.text_rows(name, texts);
  };
  if (wanted.difference) add_text("difference_text", &AlignedRow::difference);
  if (wanted.mismatches) add_text("mismatch_text", &AlignedRow::mismatches);
}

}  // namespace sluice::base_alignment
