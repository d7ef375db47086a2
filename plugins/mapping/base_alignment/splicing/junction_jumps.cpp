// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/junction_jumps.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::base_alignment {
namespace {

using End = JunctionEnds::End;

constexpr std::int32_t least_intron = 6;

// One end of a hit. The left one in the order of the target, or the right one.
class HitEnd {
 public:
  HitEnd(const AlignmentSettings& settings, const JunctionEnds& ends, const MinimizerIndexView& index, const ReadStrands& read,
         std::vector<std::uint8_t>& target, AlignedHit& hit, bool left)
      : settings_(settings),
        ends_(ends),
        index_(index),
        query_(read.strand(hit.reverse)),
        target_(target),
        hit_(hit),
        left_(left),
        contig_length_(index.contig_length[static_cast<std::size_t>(hit.target)]) {
    const Scores& scores = settings.scores;
    reach_ = 2 + (scores.mismatch + scores.match - 1) / scores.match;
    const std::int32_t before = hit.query_start, behind = read.length() - hit.query_end;
    clip_ = left == hit.reverse ? behind : before;
    other_clip_ = left == hit.reverse ? before : behind;
  }

  void take() {
    const std::uint32_t operation = left_ ? hit_.cigar.front() : hit_.cigar.back();
    if (code_of(operation) != match_or_mismatch || bases_of(operation) <= reach_ + 20) return;
    // The clip of the other end: so it is in minimap2.
    if (other_clip_ >= (left_ ? hit_.target_start : contig_length_ - hit_.target_end)) return;
    const std::int32_t beyond = std::min(clip_, reach_);
    Found annotated, other;
    const std::span<const End> candidates =
        left_ ? ends_.between(hit_.target, hit_.target_start - beyond + 1, std::min(hit_.target_start + reach_, contig_length_))
              : ends_.between(hit_.target, hit_.target_end - reach_ + 1, hit_.target_end + beyond);
    for (const End& end : candidates) {
      const std::int32_t intron = left_ ? end.here - end.there : end.there - end.here;
      const bool has_room = left_ ? end.there >= clip_ + reach_ : end.there <= contig_length_ - clip_ - reach_;  // junctions may lie anywhere
      if (intron < least_intron || !has_room) continue;
      const Differences differences = differences_of(end);
      if (differences.behind > most_behind || differences.before > most_before) continue;
      Found& found = end.annotated ? annotated : other;
      // The last one on the left, the first one on the right.
      if (left_ || found.count == 0) found.end = end, found.mismatches = differences.before;
      ++found.count;
    }
    use(annotated.count > 0 ? annotated : other);
  }

 private:
  struct Found {
    std::int32_t count = 0, mismatches = 0;
    End end;
  };
  // Columns that differ: behind the junction, and before it, between it and what is surely aligned. Counted until there are too many.
  static constexpr std::int32_t most_behind = 0, most_before = 1;
  struct Differences {
    std::int32_t behind = 0, before = 0;
  };

  // Bases that the hit has beyond the junction; below 0: that it lacks.
  std::int32_t surplus(const End& end) const { return left_ ? end.here - hit_.target_start : hit_.target_end - end.here; }

  // A clip may be as long as a read, and a thousand introns begin where it does: few bases are copied where the first ones differ.
  std::int32_t differences(std::int32_t target_begin, std::int32_t bases, std::size_t query_begin, std::int32_t most) {
    constexpr std::int32_t at_once = 64;
    std::int32_t count = 0;
    for (std::int32_t done = 0; done < bases && count <= most; done += at_once) {
      const std::int32_t begin = target_begin + done;
      copy_contig(index_, static_cast<std::size_t>(hit_.target), begin, begin + std::min(at_once, bases - done), target_);
      for (std::size_t i = 0; i < target_.size(); ++i) {
        const std::uint8_t code = query_[query_begin + static_cast<std::size_t>(done) + i];
        count += code != target_[i] || code > 3 ? 1 : 0;
      }
    }
    return count;
  }
  Differences differences_of(const End& end) {
    const std::int32_t behind = clip_ + surplus(end), before = clip_ + reach_ - behind;
    if (left_)
      return {differences(end.there - behind, behind, 0, most_behind), differences(end.here, before, static_cast<std::size_t>(behind), most_before)};
    const std::size_t begin = query_.size() - static_cast<std::size_t>(clip_ + reach_);
    return {differences(end.there, behind, begin + static_cast<std::size_t>(before), most_behind),
            differences(hit_.target_end - reach_, before, begin, most_before)};
  }

  void use(const Found& found) {
    if (found.count == 0) return;
    const std::int32_t more = surplus(found.end);
    if (found.count == 1 && clip_ + more >= settings_.splice.least_jump) {
      add_exon(found, clip_ + more);
    } else if (more > 0) {
      change_end_run(-more);
      move_query_end(-more);
      (left_ ? hit_.target_start : hit_.target_end) += left_ ? more : -more;
    }
  }
  void add_exon(const Found& found, std::int32_t bases) {
    const End& end = found.end;
    change_end_run(-surplus(end));
    const auto intron_bases = static_cast<std::uint32_t>(left_ ? end.here - end.there : end.there - end.here);
    const std::uint32_t exon = static_cast<std::uint32_t>(bases) << 4 | match_or_mismatch, gap = intron_bases << 4 | intron;
    if (left_) {
      hit_.cigar.insert(hit_.cigar.begin(), {exon, gap});
      hit_.target_start = end.there - bases;
    } else {
      hit_.cigar.insert(hit_.cigar.end(), {gap, exon});
      hit_.target_end = end.there + bases;
    }
    move_query_end(clip_);
    hit_.columns += clip_;
    hit_.matches += clip_ - found.mismatches;
    hit_.path_score += (clip_ - found.mismatches) * settings_.scores.match - found.mismatches * settings_.scores.mismatch;
    hit_.spliced = true;
  }
  void change_end_run(std::int32_t bases) {
    std::uint32_t& operation = left_ ? hit_.cigar.front() : hit_.cigar.back();
    operation = static_cast<std::uint32_t>(bases_of(operation) + bases) << 4 | match_or_mismatch;
  }
  // Outwards.
  void move_query_end(std::int32_t bases) {
    if (left_ == hit_.reverse)
      hit_.query_end += bases;
    else
      hit_.query_start -= bases;
  }

  const AlignmentSettings& settings_;
  const JunctionEnds& ends_;
  const MinimizerIndexView& index_;
  Codes query_;
  std::vector<std::uint8_t>& target_;
  AlignedHit& hit_;
  bool left_;
  std::int32_t contig_length_, reach_ = 0, clip_ = 0, other_clip_ = 0;
};

}  // namespace

void JunctionEnds::add(const KnownJunctions& junctions, bool annotated) {
  for (std::size_t contig = 0; contig < of_contig_.size(); ++contig)
    for (const KnownJunctions::Junction& junction : junctions.of_contig(contig))
      add(static_cast<std::int32_t>(contig), junction.begin, junction.end, annotated);
}

void JunctionEnds::add(std::int32_t contig, std::int32_t begin, std::int32_t end, bool annotated) {
  std::vector<End>& ends = of_contig_[static_cast<std::size_t>(contig)];
  ends.push_back({begin, end, annotated});
  ends.push_back({end, begin, annotated});
}

void JunctionEnds::sort() {
  for (std::vector<End>& all : of_contig_) {
    std::sort(all.begin(), all.end(),
              [](const End& a, const End& b) { return std::tuple(a.here, a.there, b.annotated) < std::tuple(b.here, b.there, a.annotated); });
    // Annotated ones come first.
    all.erase(std::unique(all.begin(), all.end(), [](const End& a, const End& b) { return a.here == b.here && a.there == b.there; }), all.end());
  }
}

std::span<const End> JunctionEnds::between(std::int32_t contig, std::int32_t first, std::int32_t last) const {
  const std::vector<End>& all = of_contig_[static_cast<std::size_t>(contig)];
  const auto begin = std::lower_bound(all.begin(), all.end(), first, [](const End& end, std::int32_t at) { return end.here < at; });
  const auto end = std::upper_bound(begin, all.end(), last, [](std::int32_t at, const End& e) { return at < e.here; });
  return {begin, end};
}

void jump_over_junctions(const AlignmentSettings& settings, const JunctionEnds& ends, const MinimizerIndexView& index, const ReadStrands& read,
                         std::vector<std::uint8_t>& target, AlignedHit& hit) {
  if (hit.cigar.empty()) return;
  for (const bool left : {true, false}) HitEnd(settings, ends, index, read, target, hit, left).take();
}

}  // namespace sluice::base_alignment
