// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "read_correction/read_anchors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

// There are no vectors here: what the sets differ in are instructions for bits. AVX3_DL has no further ones, SSSE3 none over SSE4 on any machine
// still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "read_correction/read_anchors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::read_correction::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

using Tag = hn::CappedTag<std::uint32_t, 16>;
using SignedTag = hn::RebindToSigned<Tag>;
using Vector = hn::Vec<Tag>;

// Runs among which the one that a k-mer lengthens is looked for.
constexpr std::size_t open_runs = 8;
// Letters behind a k-mer that are compared at once with it, and the longest k-mer.
constexpr std::int32_t guessed_letters = 13;

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
        highest_(overlap.template_end + reach) {
    if (slope_ > steepest) return;
    fixed_slope_ = static_cast<std::int64_t>(slope_ * fixed_one);
    run_width_ = width_ - PackedBases::word_bases - rounded_fixed;
  }

  bool has(std::int32_t on_template, std::int32_t on_read, std::int32_t k) const {
    if (!has_place(on_template, k)) return false;
    if (surely_has(on_template, on_read)) return true;
    return std::abs(on_template - (place_.template_begin + (on_read - place_.read_begin) * template_span_ / read_span_)) <= width_;
  }
  bool has_place(std::int32_t on_template, std::int32_t k) const { return on_template >= lowest_ && on_template + k <= highest_; }
  std::int32_t lowest() const { return lowest_; }
  // Without a division. It rounds by less than 1; so do doubles, but for lines so steep that nothing is near them.
  bool surely_has(std::int32_t on_template, std::int32_t on_read) const {
    constexpr double rounded = 3;
    return std::abs(on_template - place_.template_begin - (on_read - place_.read_begin) * slope_) + rounded <= static_cast<double>(width_);
  }
  // As surely_has(), of this place and the next 32 on its diagonal, without a branch and in fewer steps: a diagonal comes by at most a letter a
  // letter nearer to the edge of a band that rises by at most 2.
  bool surely_has_run(std::int32_t on_template, std::int32_t on_read) const {
    const std::int64_t beside = on_template - place_.template_begin - ((on_read - place_.read_begin) * fixed_slope_ >> fixed_bits);
    return std::abs(beside) <= run_width_;
  }
  // Letters behind a k-mer at this place.
  std::int32_t room_behind(std::int32_t on_template, std::int32_t k) const { return highest_ - on_template - k; }

 private:
  // Products of 31 bits of letters and 31 of a slope of 30 behind the point: off by 2, and by 1 for each of two roundings.
  static constexpr int fixed_bits = 30;
  static constexpr double fixed_one = std::int64_t{1} << fixed_bits, steepest = 2;
  static constexpr std::int64_t rounded_fixed = 4;
  const OverlapPlace& place_;
  std::int64_t read_span_, template_span_, width_;
  std::int64_t fixed_slope_ = 0, run_width_ = -1;
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
    list_guesses();
    const std::int32_t k = kmers_.k();
    for (std::size_t row = 0; row < rows_; ++row) {
      std::int32_t begin = workspace_.changes[2 * row];
      const std::int32_t end = workspace_.changes[2 * row + 1], place = workspace_.guessed_place[row];
      std::int32_t more = workspace_.guessed_more[row];
      if (more >= 0 && last_end_ < begin + k - 1 && band_.surely_has_run(place, begin)) {
        if (more == guessed_letters) more = letters_behind(place, begin, end);
        workspace_.runs.push_back({place, begin, k + more});
        last_end_ = begin + k + more;
        begin += 1 + more;
      }
      while (begin < end) begin += 1 + look_up(begin, end - begin - 1);
    }
  }

 private:
  // Letters behind a k-mer that may be longer than its guess.
  std::int32_t letters_behind(std::int32_t place, std::int32_t begin, std::int32_t end) const {
    const std::int32_t most = std::min(end - begin - 1, band_.room_behind(place, kmers_.k()));
    const std::int32_t more = kmers_.single_letters_behind(place, read_, begin, most);
    return band_.surely_has(place + more, begin + more) ? more : guessed_letters;
  }

  // Where candidates begin and end, in turn.
  void list_changes() {
    constexpr std::size_t at_once = 6;  // most words have fewer changes: no branch depends on how many
    workspace_.changes.resize(workspace_.candidates.size() * 64 + std::max(at_once, 2 * hn::Lanes(Tag())));
    std::int32_t* next = workspace_.changes.data();
    std::uint64_t before = 0;
    std::int32_t first = 0;
    for (const std::uint64_t word : workspace_.candidates) {
      std::uint64_t changes = word ^ (word << 1U | before);
      std::int32_t* const end = next + std::popcount(changes);
      do {
        for (std::size_t i = 0; i < at_once; ++i, changes &= changes - 1) next[i] = first + std::countr_zero(changes);
        next += at_once;
      } while (next < end);
      next = end;
      before = word >> 63U;
      first += 64;
    }
    rows_ = static_cast<std::size_t>(next - workspace_.changes.data()) / 2;
    std::fill_n(next, 2 * hn::Lanes(Tag()), 0);
  }

  // 26 bits or more from a place's base on.
  static HWY_INLINE Vector bits_at(const std::uint64_t* packed, Vector place) {
    const Tag tag;
    const auto word = hn::GatherOffset(tag, reinterpret_cast<const std::uint32_t*>(packed), hn::BitCast(SignedTag(), hn::ShiftRight<2>(place)));
    return hn::Shr(word, hn::ShiftLeft<1>(hn::And(place, hn::Set(tag, 3))));
  }
  // 25 bits or more from a place on.
  static HWY_INLINE Vector flags_at(const std::uint64_t* flags, Vector place) {
    const Tag tag;
    const auto word = hn::GatherOffset(tag, reinterpret_cast<const std::uint32_t*>(flags), hn::BitCast(SignedTag(), hn::ShiftRight<3>(place)));
    return hn::Shr(word, hn::And(place, hn::Set(tag, 7)));
  }
  // How many bits are 0 below the lowest one that is not, of which there is one among the lowest 31: the exponent of its value.
  static HWY_INLINE Vector zeros_below(Vector bits) {
    const SignedTag tag;
    const auto lowest = hn::And(hn::BitCast(tag, bits), hn::Neg(hn::BitCast(tag, bits)));
    const auto value = hn::BitCast(Tag(), hn::ConvertTo(hn::RebindToFloat<Tag>(), lowest));
    return hn::Sub(hn::ShiftRight<23>(value), hn::Set(Tag(), 127));
  }

  // What is found at the beginning of each row of candidates: without branches, none of which could be guessed, and for many rows at once.
  void list_guesses() {
    const Tag tag;
    const SignedTag signed_tag;
    const std::size_t lanes = hn::Lanes(tag);
    workspace_.guessed_place.resize(rows_ + lanes);
    workspace_.guessed_more.assign(rows_ + lanes, -1);
    const std::int32_t k = kmers_.k();
    if (k > guessed_letters || std::endian::native == std::endian::big) return;  // bits_at() has not so many bases, or others
    const TemplateKmers::Tables tables = kmers_.tables();
    const auto one = hn::Set(tag, 1), mask = hn::Set(tag, tables.kmer_mask), letters_of_kmer = hn::Set(tag, static_cast<std::uint32_t>(k));
    const auto gather_slot = [&](Vector slot) { return hn::GatherIndex(tag, tables.slots, hn::BitCast(signed_tag, slot)); };
    const auto place_of = [&](Vector slot) { return hn::Sub(slot, hn::Min(slot, one)); };
    for (std::size_t row = 0; row < rows_; row += lanes) {
      hn::Vec<SignedTag> begin, end;
      hn::LoadInterleaved2(signed_tag, workspace_.changes.data() + 2 * row, begin, end);
      const auto read_place = hn::BitCast(tag, begin);
      const auto kmer = hn::And(bits_at(read_.words(), read_place), mask);
      // Three of four k-mers that are there are in their first slot, most others in the one behind it.
      const auto home = hn::ShiftRightSame(hn::Mul(kmer, hn::Set(tag, kmer_multiplier)), static_cast<int>(tables.shift));
      const auto first = gather_slot(home);
      const auto second = gather_slot(hn::And(hn::Add(home, one), hn::Set(tag, static_cast<std::uint32_t>(tables.last_slot))));
      const auto is_at = [&](Vector place) { return hn::Eq(hn::And(bits_at(tables.bases, place), mask), kmer); };
      const auto slot = hn::IfThenElse(hn::Or(is_at(place_of(first)), hn::Eq(first, hn::Zero(tag))), first, second);
      const auto place = place_of(slot);
      const auto repeated = flags_at(tables.is_repeated, place);
      const auto is_single = hn::And(hn::Eq(hn::And(repeated, one), hn::Zero(tag)), hn::And(is_at(place), hn::Ne(slot, hn::Zero(tag))));
      const auto different =
          hn::Xor(bits_at(tables.bases, hn::Add(place, letters_of_kmer)), bits_at(read_.words(), hn::Add(read_place, letters_of_kmer)));
      const auto equal = hn::ShiftRight<1>(zeros_below(hn::Or(different, hn::Set(tag, std::uint32_t{1} << 2 * guessed_letters))));
      const auto single = zeros_below(hn::Or(hn::ShiftRight<1>(repeated), hn::Set(tag, std::uint32_t{1} << guessed_letters)));
      const auto on_template = hn::BitCast(signed_tag, place);
      const auto behind = hn::Sub(hn::Sub(end, begin), hn::Set(signed_tag, 1)),
                 room = hn::Sub(hn::Set(signed_tag, band_.room_behind(0, k)), on_template);
      const auto more = hn::Min(hn::BitCast(signed_tag, hn::Min(equal, single)), hn::Min(behind, room));
      const auto is_run = hn::And(hn::RebindMask(signed_tag, is_single), hn::Gt(on_template, hn::Set(signed_tag, band_.lowest() - 1)));
      hn::StoreU(on_template, signed_tag, workspace_.guessed_place.data() + row);
      hn::StoreU(hn::IfThenElse(is_run, more, hn::Set(signed_tag, -1)), signed_tag, workspace_.guessed_more.data() + row);
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
  std::size_t rows_ = 0;       // of candidates
  std::int32_t last_end_ = 0;  // on the read, of the runs
};

}  // namespace

void FindRuns(const TemplateKmers& kmers, const PackedBases& read, const OverlapPlace& place, std::int32_t reach, AnchorWorkspace& workspace) {
  const Band band(place, reach);
  RunFinder(kmers, read, band, workspace).find();
}

}  // namespace sluice::read_correction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::read_correction {
namespace {

HWY_EXPORT(FindRuns);

// Runs before a run that may precede it in a chain. At 8 % errors a read of 8 kb has some 500 runs, few of them off the chain.
constexpr std::size_t max_predecessors = 24;
constexpr std::int32_t min_letters = 4;

}  // namespace

void find_anchors(const TemplateKmers& kmers, const PackedBases& read, const OverlapPlace& place, std::int32_t reach, AnchorWorkspace& workspace,
                  std::vector<Anchor>& anchors) {
  anchors.clear();
  std::vector<Anchor>& runs = workspace.runs;
  HWY_DYNAMIC_DISPATCH(FindRuns)(kmers, read, place, reach, workspace);
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
  std::size_t count = 0;
  for (auto i = static_cast<std::int32_t>(best); i >= 0; i = workspace.predecessor[static_cast<std::size_t>(i)]) ++count;
  anchors.resize(count);
  for (auto i = static_cast<std::int32_t>(best); count-- > 0; i = workspace.predecessor[static_cast<std::size_t>(i)]) {
    const Anchor& run = runs[static_cast<std::size_t>(i)];
    // The later of two anchors leaves the letters that both have to the earlier one, whose end that does not change.
    std::int32_t shared = 0;
    if (count > 0) {
      const Anchor& before = runs[static_cast<std::size_t>(workspace.predecessor[static_cast<std::size_t>(i)])];
      shared = std::max(std::max(before.template_end() - run.template_begin, before.read_end() - run.read_begin), 0);
    }
    anchors[count] = {run.template_begin + shared, run.read_begin + shared, run.length - shared};
  }
}

}  // namespace sluice::read_correction
#endif
