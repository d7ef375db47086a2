// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment/event_alignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "event_alignment/aligned_bases.hpp"
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

// The parts of one record that its segments share.
class RecordAligner {
 public:
  RecordAligner(const Record& record, const KmerModelView& model, SegmentPath segment_path, Workspace& workspace, EventPath& path)
      : record_(record), model_(model), segment_path_(segment_path), workspace_(workspace), path_(path) {}

  // match_stay and match_next are the read's; without them every path stays in the last k-mer (f5c's logarithm of a negative probability is no
  // number, which no comparison prefers to its first term).
  void set_transitions(const std::optional<event_hmm::Transitions>& transitions) { transitions_ = transitions; }

  RecordStatus align_stretch(AlignedBases bases) {
    std::int64_t event = event_at(bases.first().read_position);
    const std::int64_t last_event = event_at(bases.last().read_position);
    if (event < 0 || last_event < 0) return RecordStatus::ok;
    const bool forward = event < last_event;
    std::int64_t position = bases.first().position;
    while (forward ? event < last_event : event > last_event) {
      const AlignedBases::Pair end = bases.last_within(position + kSegmentReach);
      const std::int64_t length = end.position - position + 1;
      if (length < 2 * static_cast<std::int64_t>(model_.k)) break;
      const std::int64_t stop_event = event_at(end.read_position);
      const std::int64_t distance = stop_event - event;
      if (stop_event < 0 || std::abs(distance) < 2) break;
      if (std::abs(distance) >= kMaximumSegmentEvents) return RecordStatus::stalled;
      find_path(event, distance, record_.contig.substr(static_cast<std::size_t>(position), static_cast<std::size_t>(length)));
      if (!write(event, distance > 0 ? 1 : -1, position, end.is_last)) break;
      bases.advance(position);
    }
    return RecordStatus::ok;
  }

 private:
  std::int64_t event_at(std::int64_t read_position) const {
    const auto read_length = static_cast<std::int64_t>(record_.read_length);
    return nearest_event(record_.first_event, record_.strand == Strand::forward ? read_position : read_length - read_position - model_.k);
  }

  void find_path(std::int64_t event, std::int64_t distance, std::string_view sequence) {
    const std::int64_t rows = std::abs(distance) + 1;
    if (!transitions_) {
      workspace_.path.clear();
      const auto last_column = static_cast<std::int16_t>(sequence.size() - model_.k);
      for (std::int64_t row = rows; row-- > 0;) workspace_.path.push_back({static_cast<std::int32_t>(row), last_column, State::match});
      return;
    }
    segment_path_({record_.event_mean, event, rows, distance > 0 ? 1 : -1, sequence, record_.strand, record_.scaling, *transitions_}, model_,
                  workspace_);
  }

  // Moves `event` and `position` to those of the last cell written; false when none was.
  bool write(std::int64_t& event, std::int64_t step, std::int64_t& position, bool is_last) {
    const std::int64_t first_event = event;
    const std::int64_t first_position = position;
    std::size_t written = 0;
    for (auto cell = workspace_.path.rbegin(); cell != workspace_.path.rend() && (is_last || written < kSegmentOutputs); ++cell) {
      if (cell->row == 0) continue;  // the event that the segment before has ended with
      event = first_event + cell->row * step;
      position = first_position + cell->column;
      path_.event.push_back(static_cast<std::int32_t>(event));
      path_.position.push_back(static_cast<std::int32_t>(position));
      path_.state.push_back(static_cast<std::uint8_t>(cell->state));
      ++written;
    }
    return written > 0;
  }

  const Record& record_;
  const KmerModelView& model_;
  SegmentPath segment_path_;
  Workspace& workspace_;
  EventPath& path_;
  std::optional<event_hmm::Transitions> transitions_;
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

void Workspace::release() { *this = {}; }

CheckedModel::CheckedModel(const KmerModelView& model) : view_(model) {
  constexpr std::uint32_t largest_k = 12;
  if (model.alphabet != Alphabet::nucleotide || model.k == 0 || model.k > largest_k) return;
  const std::size_t size = kmer_count(model.alphabet, model.k);
  if (model.level_mean.size() != size || model.level_stdv.size() != size || model.log_level_stdv.size() != size) return;
  is_usable_ = true;
  const auto range = [this](std::span<const float> column) {
    is_usable_ = is_usable_ && std::ranges::all_of(column, [](float value) { return std::isfinite(value); });
    const auto [lowest, highest] = std::ranges::minmax(column);
    return Range{lowest, highest};
  };
  mean_ = range(model.level_mean);
  stdv_ = range(model.level_stdv);
  log_stdv_ = range(model.log_level_stdv);
}

bool CheckedModel::is_usable_with(const event_hmm::ReadScaling& scaling) const {
  return is_usable_ && event_hmm::is_usable(event_hmm::scale_level(mean_.lowest, stdv_.lowest, log_stdv_.lowest, scaling)) &&
         event_hmm::is_usable(event_hmm::scale_level(mean_.highest, stdv_.highest, log_stdv_.highest, scaling));
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
  if (!model.is_usable_with(record.scaling)) return RecordStatus::not_finite;
  if (record.read_length < k || record.read_length > std::size_t{0x7FFFFFFF} || record.first_event.size() != record.read_length - k + 1 ||
      record.event_mean.size() > std::size_t{0x7FFFFFFF} || !is_base_to_event_map(record.first_event, record.event_mean.size())) {
    return RecordStatus::bad_base_to_event_map;
  }
  bool usable = true;
  for (const float mean : record.event_mean) usable = usable && event_hmm::is_usable(mean);
  if (!usable) return RecordStatus::not_finite;
  if (const RecordStatus status = list_aligned_bases(record, k, settings, workspace); status != RecordStatus::ok) return status;

  RecordAligner aligner(record, model.view(), segment_path, workspace, path);
  const auto transitions = event_hmm::make_transitions(record.events_per_base, settings.events_per_base);
  // f5c goes on where there is no probability to stay, but for what is no number at all.
  const bool goes_on = settings.events_per_base == event_hmm::EventsPerBase::compat && record.events_per_base < 1.0;
  if (!transitions && !(goes_on && std::isfinite(record.events_per_base))) return RecordStatus::bad_events_per_base;
  aligner.set_transitions(transitions);

  std::size_t begin = 0;
  for (const std::size_t end : workspace.block_ends) {
    const RecordStatus status = aligner.align_stretch(AlignedBases({workspace.blocks.data() + begin, end - begin}));
    if (status != RecordStatus::ok) {
      path.clear();
      return status;
    }
    begin = end;
  }
  return RecordStatus::ok;
}

}  // namespace sluice::event_alignment
