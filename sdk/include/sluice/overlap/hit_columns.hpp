// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The hits of reads as map_selection and hit_merging give them, a chain each without its alignment: for stages that make, merge or write them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>

namespace sluice::overlap {

// Positions are bases, ends exclusive. Without padding: it may be written to disk as it is.
struct ReadHit {
  std::int32_t target = 0, query_start = 0, query_end = 0, target_start = 0, target_end = 0;
  std::int32_t score = 0, second_score = 0, anchors = 0, matches = 0, block = 0;
  std::uint32_t hash = 0;  // 0 if nobody gives it
  float divergence = -1;
  std::uint8_t is_reverse = 0, is_primary = 0, mapping_quality = 0, unused = 0;
};
static_assert(sizeof(ReadHit) == 52);

struct HitColumn {
  const char *name, *type, *doc;
};
inline constexpr HitColumn hit_columns[] = {
    {"hit_target", "list<i32>", "per hit: number of the contig in the index"},
    {"hit_query_start", "list<i32>", "per hit: first base on the read's forward strand"},
    {"hit_query_end", "list<i32>", "per hit: end on the read, exclusive"},
    {"hit_target_start", "list<i32>", "per hit: first base on the contig"},
    {"hit_target_end", "list<i32>", "per hit: end on the contig, exclusive"},
    {"hit_score", "list<i32>", "per hit: score of its chain"},
    {"hit_second_score", "list<i32>", "per primary hit: best score of a hit that is secondary to it, 0 if there is none; secondary hits: -1"},
    {"hit_anchors", "list<i32>", "per hit: anchors of its chain"},
    {"hit_matches", "list<i32>", "per hit: bases of the read under anchors"},
    {"hit_block", "list<i32>", "per hit: bases between the ends, of read or contig, whichever has more between two anchors"},
    {"hit_is_reverse", "list<u8>", "per hit: 1 if the read maps to the reverse strand"},
    {"hit_is_primary", "list<u8>", "per hit: 1 if no better hit covers its part of the read"},
    {"hit_mapq", "list<u8>", "per hit: mapping quality, 0 to 60; secondary hits: 0"},
    {"hit_divergence", "list<f32>", "per hit: estimated differences per base; -1: unknown"},
};
inline constexpr const char* hit_hash_doc = "per hit: decides between hits of equal score";

template <class Stage>
void needs_hits(Describe<Stage>& d) {
  for (const HitColumn& column : hit_columns) d.needs(column.name, column.type, column.doc);
}
template <class Stage>
void gives_hits(Describe<Stage>& d) {
  for (const HitColumn& column : hit_columns) d.gives(column.name, column.type, column.doc);
}

// Of the rows of a batch.
class HitColumns {
 public:
  explicit HitColumns(const Batch& in)
      : target_(in.list<std::int32_t>("hit_target")),
        query_start_(in.list<std::int32_t>("hit_query_start")),
        query_end_(in.list<std::int32_t>("hit_query_end")),
        target_start_(in.list<std::int32_t>("hit_target_start")),
        target_end_(in.list<std::int32_t>("hit_target_end")),
        score_(in.list<std::int32_t>("hit_score")),
        second_score_(in.list<std::int32_t>("hit_second_score")),
        anchors_(in.list<std::int32_t>("hit_anchors")),
        matches_(in.list<std::int32_t>("hit_matches")),
        block_(in.list<std::int32_t>("hit_block")),
        divergence_(in.list<float>("hit_divergence")),
        is_reverse_(in.list<std::uint8_t>("hit_is_reverse")),
        is_primary_(in.list<std::uint8_t>("hit_is_primary")),
        mapping_quality_(in.list<std::uint8_t>("hit_mapq")) {
    if (in.has("hit_hash")) hash_ = in.list<std::uint32_t>("hit_hash");
  }

  // Hits of the row. Throws Failure::input if its lists differ in length.
  std::size_t count(std::int64_t row, std::string_view read_id) const {
    const std::size_t count = target_[row].size();
    const auto fits = [&](const auto& list) { return list[row].size() == count; };
    const auto all_fit = [&](const auto&... lists) { return (fits(lists) && ...); };
    if (!all_fit(query_start_, query_end_, target_start_, target_end_, score_, second_score_, anchors_, matches_, block_, divergence_, is_reverse_,
                 is_primary_, mapping_quality_) ||
        (hash_ && !fits(*hash_)))
      throw Failure::input("read '" + std::string(read_id) + "': the lists of its hits differ in length");
    return count;
  }
  // i < count()
  ReadHit hit(std::int64_t row, std::size_t i) const {
    return {.target = target_[row][i],
            .query_start = query_start_[row][i],
            .query_end = query_end_[row][i],
            .target_start = target_start_[row][i],
            .target_end = target_end_[row][i],
            .score = score_[row][i],
            .second_score = second_score_[row][i],
            .anchors = anchors_[row][i],
            .matches = matches_[row][i],
            .block = block_[row][i],
            .hash = hash_ ? (*hash_)[row][i] : 0,
            .divergence = divergence_[row][i],
            .is_reverse = is_reverse_[row][i],
            .is_primary = is_primary_[row][i],
            .mapping_quality = mapping_quality_[row][i]};
  }

 private:
  ListView<std::int32_t> target_, query_start_, query_end_, target_start_, target_end_, score_, second_score_, anchors_, matches_, block_;
  ListView<float> divergence_;
  ListView<std::uint8_t> is_reverse_, is_primary_, mapping_quality_;
  std::optional<ListView<std::uint32_t>> hash_;
};

}  // namespace sluice::overlap
