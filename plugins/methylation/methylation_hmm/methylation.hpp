// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Methylation of single reads by a profile hidden Markov model over events: the plain functions.
// Method: Simpson et al. 2017 (nanopolish call-methylation), arithmetic of f5c 1.6, section by section of its rows.
//
// The steps of one record, in order:
//   normalise_reference   the reference segment under the alignment, in the letters A, C, G, T
//   find_site_groups      its sites of a motif (CpG, say), gathered in groups
//   locate_group_events   the first and last event of each group, through the CIGAR and the base-to-event map
// and then, for the groups of many records at once:
//   score_groups          log-likelihood of the events under the methylated and the unmethylated sequence
//
// A "segment" is reference[position .. end of the alignment], the end inclusive: one base more than the alignment covers
// (fewer at the end of a contig). Offsets are 0-based and count from its first base. Nothing here throws for bad input, and
// nothing keeps state: all functions may run on many threads at once, each with its own workspace.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/base_to_event.hpp>
#include <sluice/event_hmm.hpp>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::methylation_hmm {

// ---- Model -------------------------------------------------------------------------------------------------------------

// Whether modified bases show at all: in some k-mer where M can be, level or spread is another than with the base that M modifies.
bool tells_modified_bases(const KmerModelView& model, const Motif& motif);

// ---- Reference segment -------------------------------------------------------------------------------------------------

enum class ReferenceStatus : std::uint8_t {
  ok,
  unknown_letter,  // not an IUPAC code of DNA
};

// Upper-cases the segment in place and replaces each IUPAC ambiguity code by the first of its bases in the order A, C, G, T
// (N becomes A), as nanopolish disambiguates. Stops at the first other letter.
ReferenceStatus normalise_reference(std::span<char> segment);

// ---- Groups of sites ---------------------------------------------------------------------------------------------------

inline constexpr std::int64_t kGroupSeparation = 10;       // sites at most this far apart share a group
inline constexpr std::int64_t kGroupFlank = 10;            // bases scored before a group, and from its last site on
inline constexpr std::int64_t kBehindMotif = 5;            // bases scored behind the last letter of a motif of more than five
inline constexpr std::int64_t kMaximumGroupSpan = 200;     // last minus first site; longer groups are not called
inline constexpr std::int64_t kMinimumEventDistance = 10;  // a group must span more events than this

// How far behind a site the next one may begin to be in its group, and how far the model sees behind the last site: 10 bases, as in nanopolish,
// unless the motif is so long that this would not show it with what is around it.
constexpr std::int64_t group_reach(const MotifSites& sites) {
  static_assert(kGroupSeparation == kGroupFlank);
  const std::int64_t to_its_end = sites.length + kBehindMotif;
  return to_its_end > kGroupFlank ? to_its_end : kGroupFlank;
}

// Consecutive sites that are scored together.
struct SiteGroup {
  std::int64_t first_site = 0;  // offset of the first base of the first site
  std::int64_t last_site = 0;   // offset of the first base of the last site
  std::int32_t site_count = 0;
  std::int32_t reach = kGroupFlank;  // group_reach of its motif
};

// Offsets of the bases that the model sees, both inclusive.
constexpr std::int64_t calling_start(const SiteGroup& group) { return group.first_site - kGroupFlank; }
constexpr std::int64_t calling_end(const SiteGroup& group) { return group.last_site + group.reach; }

// Replaces `groups` by the callable groups of the segment, ascending. Left out, as nanopolish and f5c do: groups whose first site is within the first
// 20 bases of the alignment (10 + reach), and groups that span more than 200 bases. Letters other than A, C, G, T are no part of a site.
void find_site_groups(std::string_view segment, const MotifSites& sites, std::vector<SiteGroup>& groups);

// The bases that the model sees, cut at the end of the segment; the sequence of score_groups.
std::string_view calling_sequence(std::string_view segment, const SiteGroup& group);

// ---- From the reference to the events ----------------------------------------------------------------------------------

struct RecordAlignment {
  std::span<const std::uint32_t> cigar;  // BAM encoding: length << 4 | operation
  std::size_t read_length = 0;           // bases of the whole read, as basecalled
  Strand strand = Strand::forward;
};

enum class RecordStatus : std::uint8_t {
  ok,
  reference_skip,         // an N operation (spliced); f5c aborts here
  bad_cigar,              // an operation that BAM does not define
  bad_base_to_event_map,  // its size is not read_length - k + 1
  no_aligned_events,      // no aligned base that is k bases away from both ends of the read
  degenerate,             // the first and the last aligned base have the same event
};

enum class GroupStatus : std::uint8_t {
  ok,
  outside_alignment,  // no aligned base at or after a bound, or the alignment starts inside the group
  no_event,           // no event within 1,000 k-mers of a bound (f5c reads outside its array)
  too_few_events,     // at most 10 events apart
  wrong_direction,    // events run against the strand (f5c stops with an assertion)
  record_failed,      // see the RecordStatus
};

struct GroupEvents {
  std::int32_t first_event = -1;  // event index at the start of the group on the reference
  std::int32_t last_event = -1;   // at its end; smaller than first_event on a reverse record
  GroupStatus status = GroupStatus::record_failed;
};

// Scratch of locate_group_events: one block per run of aligned bases of the CIGAR. Grows to the longest CIGAR seen.
class LocateWorkspace {
 public:
  struct AlignedBlock {
    std::int64_t reference_offset;
    std::int64_t read_position;  // on the BAM orientation
    std::int64_t length;
  };
  std::vector<AlignedBlock> blocks;
};

// Finds the events of each group of one record.
//   first_event  base-to-event map of the read in sequencing orientation, one entry per k-mer: its first event, or -1
//   groups       ascending, offsets from the position of the record
//   events       one per group, written for every group, whatever the status
// Time is linear in CIGAR operations, and groups times their logarithm (f5c rebuilds a list of all aligned bases for every group: quadratic in read
// length); a k-mer without event is replaced by the nearest one below it, else above it, at most 999 away, with f5c's stop rules.
RecordStatus locate_group_events(const RecordAlignment& alignment, std::span<const std::int32_t> first_event, std::uint32_t k, HardClips hard_clips,
                                 std::span<const SiteGroup> groups, LocateWorkspace& workspace, std::span<GroupEvents> events);

// ---- Scores ------------------------------------------------------------------------------------------------------------

using event_hmm::EventsPerBase;  // with compat, both scores of a read with fewer than one event per base are NaN

// The events of one read and its calibration.
struct ReadSignal {
  std::span<const float> event_mean;  // pA
  float scale = 1.0F;
  float shift = 0.0F;    // pA
  float var = 1.0F;      // factor on level_stdv
  float log_var = 0.0F;  // its natural logarithm
  double events_per_base = 1.25;
  Strand strand = Strand::forward;
};

// One group to score.
struct GroupProblem {
  std::uint32_t read = 0;        // index into the reads
  std::int32_t first_event = 0;  // inclusive; events go from first_event to last_event in steps of one, up or down
  std::int32_t last_event = 0;   // inclusive
  std::string_view sequence;     // calling_sequence, on the forward strand of the reference; letters other than A, C, G, T count as A
};

inline constexpr std::size_t kMaximumSequenceLength = 1024;  // groups give at most 232

enum class ScoreStatus : std::uint8_t {
  ok,
  no_such_read,
  no_such_event,       // an event bound is outside the read's events
  sequence_too_short,  // shorter than k
  sequence_too_long,   // longer than kMaximumSequenceLength
  not_finite,  // an event mean, a scaled level or its logarithm is infinite or NaN, or beyond 1e15; or a scaled stdv is not within 1e-15 .. 1e15
  bad_events_per_base,  // NaN, infinite, below 1 with EventsPerBase::compat, or so high (> 285) that no probability is left to move on
};

// Natural log-likelihoods of the events; NaN unless the status is ok. The log-likelihood ratio of a methylation row is
// double(methylated) - double(unmethylated).
struct GroupScore {
  float methylated = 0.0F;
  float unmethylated = 0.0F;
  ScoreStatus status = ScoreStatus::ok;
};

using event_hmm::Transitions;

// Where the vectors of score_groups get the entries of the log-sum table from; the bits are the same. Only AVX-512 has a choice.
enum class LogSums : std::uint8_t {
  gathered,  // from memory
  computed,  // by polynomials in registers, and from memory where those do not tell
};
LogSums fastest_log_sums();  // on this processor

// Scratch of score_groups, reused from call to call: 16 bytes a group, 40 bytes a read, 4 bytes an event of the longest group, and
// 0.2 to 1 MB for the lanes, by the longest sequence.
class ScoreWorkspace {
 public:
  struct Entry {
    std::uint64_t key;
    std::uint32_t problem;
  };
  std::vector<Entry> order;
  std::vector<std::optional<Transitions>> transitions;
  std::vector<float> clipping;
  std::vector<std::uint32_t> ranks;
  std::vector<float> lanes;
  LogSums log_sums = fastest_log_sums();
};

// Scores every problem under both hypotheses: Forward over match, bad-event and skipped-k-mer states with soft clipping at both ends. The
// unmethylated hypothesis is the sequence as it is, the methylated one has M in place of the modified base of each site, on the strand of the read.
//   model  alphabet `methylation`; k within 1 .. 12
//   motif  whose sites they are; sites that are cut by the end of a sequence do not count
//   scores one per problem
// Single precision in one defined order, log-sums by f5c's table: the same bits for every instruction set, batch and order of problems, and
// for score_groups_reference. Problems of many reads in one call fill the vector lanes; from about 1,000 problems on few lanes idle.
// Returns false, having written nothing, when the model's size does not match its k and alphabet or when the spans differ in length.
bool score_groups(std::span<const ReadSignal> reads, std::span<const GroupProblem> problems, const KmerModelView& model, const Motif& motif,
                  EventsPerBase events_per_base, ScoreWorkspace& workspace, std::span<GroupScore> scores);

// The same, one problem at a time, in plain scalar code that follows the recurrence as published: the yardstick of the tests.
bool score_groups_reference(std::span<const ReadSignal> reads, std::span<const GroupProblem> problems, const KmerModelView& model, const Motif& motif,
                            EventsPerBase events_per_base, std::span<GroupScore> scores);

// The instruction set that score_groups uses on this processor, for reports ("AVX3", "AVX2", ...).
const char* score_groups_target();

}  // namespace sluice::methylation_hmm
