// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Events of a read aligned to the reference (eventalign): the plain functions.
// Method: nanopolish eventalign (Loman et al. 2015; Simpson et al. 2017), arithmetic, order and tie rules of f5c 1.6.
//
// A record's aligned bases are walked in overlapping segments of at most 101 bases of the reference. Each segment is the best path (Viterbi) of the
// profile HMM of sluice/event_hmm.hpp through its events and k-mers; the first 50 events of the path are kept, and the next segment begins at the
// last of them. Nothing here throws for bad input, and nothing keeps state: all functions may run on many threads at once, each with its own
// workspace.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/base_to_event.hpp>
#include <sluice/event_hmm.hpp>
#include <sluice/kmer_model.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::event_alignment {

inline constexpr std::int64_t kSegmentReach = 100;            // a segment ends at most so many bases behind its first one
inline constexpr std::int64_t kSegmentOutputs = 50;           // events kept of each segment but the last
inline constexpr std::int64_t kMaximumSegmentEvents = 65536;  // under one segment; a read with more has stalled, and its time would be quadratic

// ---- Records -----------------------------------------------------------------------------------------------------------

// One alignment of a read, with its events and their calibration.
struct Record {
  std::string_view contig;               // the whole contig; letters other than A, C, G, T count as A
  std::int64_t ref_start = 0;            // 0-based
  std::span<const std::uint32_t> cigar;  // BAM encoding: length << 4 | operation
  std::size_t read_length = 0;           // bases of the whole read, as basecalled
  Strand strand = Strand::forward;
  std::span<const float> event_mean;          // pA
  std::span<const std::int32_t> first_event;  // base-to-event map: one entry per k-mer of the read in sequencing orientation, -1: none; ascending
  event_hmm::ReadScaling scaling;
  double events_per_base = 1.25;
};

// How records are aligned. A record on the region's contig is cut to bases with clip_start <= position <= clip_end.
struct Settings {
  HardClips hard_clips = HardClips::count;
  event_hmm::EventsPerBase events_per_base = event_hmm::EventsPerBase::raised;
  std::int64_t clip_start = 0;
  std::int64_t clip_end = std::numeric_limits<std::int64_t>::max();
};

enum class RecordStatus : std::uint8_t {
  ok,                     // there may be no events all the same, where f5c writes none
  outside_contig,         // an aligned base is outside its contig, or behind 2^31 - 1
  bad_cigar,              // an operation that BAM does not define
  bad_base_to_event_map,  // its size is not read_length - k + 1, an event does not exist, or events do not ascend
  not_finite,             // an event mean or a level that the calibration makes is infinite, NaN or beyond 1e15
  bad_events_per_base,    // NaN, infinite, or so high (> 285) that no probability is left to move on
  stalled,                // more than kMaximumSegmentEvents events under one segment
};

enum class State : std::uint8_t { bad = 0, match = 1 };

// The events that f5c eventalign writes, in its order. The three lists have the same length.
struct EventPath {
  std::vector<std::int32_t> event;     // index
  std::vector<std::int32_t> position;  // of the first base of its k-mer, 0-based on the forward strand of the contig
  std::vector<std::uint8_t> state;     // State

  void clear();
};

// The lowest and the highest of each of a model's columns.
struct LevelExtremes {
  float mean[2]{}, stdv[2]{}, log_stdv[2]{};
  bool is_model = false;  // whether the columns fit k and alphabet and hold numbers only

  // Whether every k-mer has a usable level under the calibration: scaling is monotonic, so the extremes answer for all.
  constexpr bool are_usable_with(const event_hmm::ReadScaling& scaling) const {
    return is_model && event_hmm::is_usable(event_hmm::scale_level(mean[0], stdv[0], log_stdv[0], scaling)) &&
           event_hmm::is_usable(event_hmm::scale_level(mean[1], stdv[1], log_stdv[1], scaling));
  }
};

// A model, checked once. The rank of a k-mer on the reverse strand is that of its reverse complement.
class CheckedModel {
 public:
  // Aligns nothing (not_finite) when the model's columns do not fit its k (1 .. 12) and the nucleotide alphabet, or hold what is no number.
  explicit CheckedModel(const KmerModelView& model);
  const KmerModelView& view() const { return view_; }
  const LevelExtremes& extremes() const { return extremes_; }

 private:
  KmerModelView view_;
  LevelExtremes extremes_;
};

// ---- Segments ----------------------------------------------------------------------------------------------------------

// What one run of the HMM sees.
struct Segment {
  std::span<const float> event_mean;  // of the read; finite, within 1e15
  std::int64_t first_event = 0;       // row t is event first_event + t * step
  std::int64_t rows = 0;              // 1 .. kMaximumSegmentEvents
  std::int64_t step = 1;              // +1 or -1
  std::string_view sequence;          // of the forward strand, k .. kSegmentReach + 1 bases; one column per k-mer
  Strand strand = Strand::forward;
  event_hmm::ReadScaling scaling;
  event_hmm::Transitions transitions{};
};

// One cell of a path. Silent states (skipped k-mers) are left out.
struct PathCell {
  std::int32_t row;
  std::int16_t column;
  State state;
};

// A run of aligned bases.
struct AlignedBlock {
  std::int64_t position;       // on the contig
  std::int64_t read_position;  // on the BAM orientation
  std::int64_t length;
};

// Scratch of align_events, reused from call to call. Grows to the longest CIGAR and to the segment with most events seen.
struct Workspace {
  std::vector<AlignedBlock> blocks;
  std::vector<std::size_t> block_ends;  // of each stretch between two N operations
  std::vector<PathCell> path;           // of a segment, from its last row to its first
  std::vector<float> scores;
  std::vector<std::uint8_t> traces;

  std::size_t bytes() const;
};

// Fills workspace.path with the best path of a segment that begins in the match state of its first k-mer with its first event and ends in the match
// state of its last k-mer with its last event. Ties: the last of the six movements of f5c (event_alignment/README.md).
using SegmentPath = void (*)(const Segment& segment, const KmerModelView& model, Workspace& workspace);

// With the vectors of this processor; every instruction set gives the path of the reference.
void segment_path(const Segment& segment, const KmerModelView& model, Workspace& workspace);
const char* segment_path_target();  // the instruction set, for reports ("AVX3", "AVX2", ...)

// In plain scalar code that follows the recurrence as published: the yardstick of the tests.
void segment_path_reference(const Segment& segment, const KmerModelView& model, Workspace& workspace);

// ---- Whole records -----------------------------------------------------------------------------------------------------

// Replaces `path` by the events of the record, aligned; empty unless ok. Time is linear in CIGAR operations and bases, and in the sum of events under
// the segments; memory is bounded by kMaximumSegmentEvents.
RecordStatus align_events(const Record& record, const CheckedModel& model, const Settings& settings, SegmentPath segment_path, Workspace& workspace,
                          EventPath& path);

}  // namespace sluice::event_alignment
