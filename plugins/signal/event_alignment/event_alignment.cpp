// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment/event_alignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "event_alignment/record_walk.hpp"
#include "event_alignment/segment.hpp"

namespace sluice::event_alignment {
namespace {

constexpr std::array<std::uint8_t, 256> rank_codes(std::string_view counted_as) {
  std::array<std::uint8_t, 256> codes{};  // any other letter counts as A, as in f5c
  constexpr std::string_view letters = "ACGT";
  codes.fill(base_code(Alphabet::nucleotide, counted_as[0]));
  for (std::size_t i = 0; i < letters.size(); ++i) codes[static_cast<unsigned char>(letters[i])] = base_code(Alphabet::nucleotide, counted_as[i]);
  return codes;
}
constexpr std::array<std::uint8_t, 256> kCodes = rank_codes("ACGT");
constexpr std::array<std::uint8_t, 256> kComplementCodes = rank_codes("TGCA");

// Entries are -1 or ascend, and are events that exist.
bool is_base_to_event_map(std::span<const std::int32_t> first_event, std::size_t events) {
  std::int64_t previous = -1;
  for (const std::int32_t event : first_event) {
    if (event == -1) continue;
    if (event <= previous || static_cast<std::size_t>(event) >= events) return false;
    previous = event;
  }
  return true;
}

// Finds the paths of a record's segments, and keeps their parts.
class PathFinder {
 public:
  // Without transitions every path stays in the last k-mer: f5c's logarithm of a negative probability is no number, which no comparison prefers to
  // its first term, match_stay.
  PathFinder(const Record& record, const KmerModelView& model, const std::optional<event_hmm::Transitions>& transitions, SegmentPath segment_path,
             Workspace& workspace, EventPath& path)
      : record_(record), model_(model), transitions_(transitions), segment_path_(segment_path), workspace_(workspace), path_(path) {}

  SegmentEnd operator()(const SegmentPlace& segment) const {
    find_path(segment);
    return keep(segment);
  }

 private:
  void find_path(const SegmentPlace& segment) const {
    const std::string_view sequence = record_.contig.substr(static_cast<std::size_t>(segment.position), static_cast<std::size_t>(segment.length));
    if (transitions_) {
      return segment_path_(
          {record_.event_mean, segment.first_event, segment.rows, segment.step, sequence, record_.strand, record_.scaling, *transitions_}, model_,
          workspace_);
    }
    workspace_.path.clear();
    const auto last_column = static_cast<std::int16_t>(sequence.size() - model_.k);
    for (std::int64_t row = segment.rows; row-- > 0;) workspace_.path.push_back({static_cast<std::int32_t>(row), last_column, State::match});
  }

  SegmentEnd keep(const SegmentPlace& segment) const {
    SegmentEnd end{};
    for (auto cell = workspace_.path.rbegin(); cell != workspace_.path.rend() && (segment.is_last || end.written < kSegmentOutputs); ++cell) {
      if (cell->row == 0) continue;  // the event that the segment before has ended with
      end = {end.written + 1, segment.first_event + cell->row * segment.step, segment.position + cell->column};
      path_.event.push_back(static_cast<std::int32_t>(end.event));
      path_.position.push_back(static_cast<std::int32_t>(end.position));
      path_.state.push_back(static_cast<std::uint8_t>(cell->state));
    }
    return end;
  }

  const Record& record_;
  const KmerModelView& model_;
  const std::optional<event_hmm::Transitions>& transitions_;
  SegmentPath segment_path_;
  Workspace& workspace_;
  EventPath& path_;
};

}  // namespace

void EventPath::clear() {
  event.clear();
  position.clear();
  state.clear();
}

std::size_t Workspace::bytes() const {
  return blocks.capacity() * sizeof(AlignedBlock) + block_ends.capacity() * sizeof(std::size_t) + path.capacity() * sizeof(PathCell) +
         scores.capacity() * sizeof(float) + traces.capacity();
}

CheckedModel::CheckedModel(const KmerModelView& model) : view_(model) {
  constexpr std::uint32_t largest_k = 12;
  if (model.alphabet != Alphabet::nucleotide || model.k == 0 || model.k > largest_k) return;
  const std::size_t size = kmer_count(model.alphabet, model.k);
  if (model.level_mean.size() != size || model.level_stdv.size() != size || model.log_level_stdv.size() != size) return;
  extremes_.is_model = true;
  const auto find = [this](std::span<const float> column, float(&extremes)[2]) {
    extremes_.is_model = extremes_.is_model && std::ranges::all_of(column, [](float value) { return std::isfinite(value); });
    const auto [lowest, highest] = std::ranges::minmax(column);
    extremes[0] = lowest;
    extremes[1] = highest;
  };
  find(model.level_mean, extremes_.mean);
  find(model.level_stdv, extremes_.stdv);
  find(model.log_level_stdv, extremes_.log_stdv);
}

void segment_ranks(const Segment& segment, std::uint32_t k, std::span<std::uint32_t, kMaximumColumns> ranks) {
  const bool reverse = segment.strand == Strand::reverse;
  const std::array<std::uint8_t, 256>& codes = reverse ? kComplementCodes : kCodes;
  const std::uint32_t top = 2 * (k - 1);  // place of the first base of a k-mer
  const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << (2 * k)) - 1);
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < segment.sequence.size(); ++i) {
    const std::uint32_t code = codes[static_cast<unsigned char>(segment.sequence[i])];
    // The base that enters on the right of the forward strand is the first of the reverse complement.
    rank = reverse ? rank >> 2U | code << top : (rank << 2U | code) & mask;
    if (i + 1 >= k) ranks[i + 1 - k] = rank;
  }
}

RecordStatus align_events(const Record& record, const CheckedModel& model, const Settings& settings, SegmentPath segment_path, Workspace& workspace,
                          EventPath& path) {
  path.clear();
  const std::uint32_t k = model.view().k;
  if (!model.extremes().are_usable_with(record.scaling)) return RecordStatus::not_finite;
  if (record.read_length < k || record.read_length > std::size_t{0x7FFFFFFF} || record.first_event.size() != record.read_length - k + 1 ||
      record.event_mean.size() > std::size_t{0x7FFFFFFF} || !is_base_to_event_map(record.first_event, record.event_mean.size())) {
    return RecordStatus::bad_base_to_event_map;
  }
  bool usable = true;
  for (const float mean : record.event_mean) usable = usable && event_hmm::is_usable(mean);
  if (!usable) return RecordStatus::not_finite;
  const Walk walk{static_cast<std::int64_t>(record.contig.size()),
                  record.ref_start,
                  static_cast<std::int64_t>(record.read_length),
                  k,
                  record.strand,
                  record.first_event,
                  settings.hard_clips,
                  settings.clip_start,
                  settings.clip_end};
  workspace.blocks.clear();
  workspace.block_ends.clear();
  const RecordStatus listed = list_aligned_bases(
      walk, record.cigar, [&](const AlignedBlock& block) { workspace.blocks.push_back(block); },
      [&] { workspace.block_ends.push_back(workspace.blocks.size()); });
  if (listed != RecordStatus::ok) return listed;

  const auto transitions = event_hmm::make_transitions(record.events_per_base, settings.events_per_base);
  if (!transitions && !stays_in_last_kmer(record.events_per_base, settings.events_per_base)) return RecordStatus::bad_events_per_base;
  const PathFinder find_path(record, model.view(), transitions, segment_path, workspace, path);
  std::size_t begin = 0;
  for (const std::size_t end : workspace.block_ends) {
    const RecordStatus status = walk_segments(walk, AlignedBases({workspace.blocks.data() + begin, end - begin}), kMaximumSegmentEvents, find_path);
    if (status != RecordStatus::ok) {
      path.clear();
      return status;
    }
    begin = end;
  }
  return RecordStatus::ok;
}

}  // namespace sluice::event_alignment
