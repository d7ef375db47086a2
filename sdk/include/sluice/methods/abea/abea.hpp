// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Adaptive banded event alignment (ABEA): the events of one read aligned to the k-mers of the read's own basecalled sequence.
// Method: Gamaarachchi et al. 2020 (f5c), algorithm 1, with the Suzuki-Kasahara rule for moving the band; rows and pairs are those of f5c 1.6.
// Every implementation here gives the same bits: align_events (SIMD, chosen at run time) and align_events_scalar (the reference).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/kept_buffer.hpp>
#include <sluice/kmer_model.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::abea {

inline constexpr std::int32_t band_width = 100;  // cells per band
// Of a band that is guided: 18 cells to either side are 24 k-mers at two events a base, and the moves of a basecaller are good to one or two.
inline constexpr std::int32_t guided_band_width = 36;

// A guide: which way each band moves. Bit b of its words: band b lies right of band b - 1 (one k-mer on), else below (one event on). Bands 0 and 1
// are where they always are.
constexpr std::size_t guide_words(std::size_t event_count, std::size_t kmer_count) { return (event_count + kmer_count + 2 + 63) / 64; }
constexpr bool moves_right(std::span<const std::uint64_t> guide, std::int64_t band) {
  return ((guide[static_cast<std::size_t>(band) / 64] >> (static_cast<std::size_t>(band) % 64)) & 1U) != 0;
}
// Makes one: expected_kmer[e] is the k-mer that event e is looked for in, ascending, -1: it comes before the first one. The middle of each band lies
// on the way over these cells.
std::vector<std::uint64_t> guide_along(std::span<const std::int32_t> expected_kmer, std::size_t kmer_count);

enum class AlignmentStatus : std::uint8_t {
  ok,
  too_few_kmers,             // no k-mer: the read is shorter than k
  no_events,                 // no event
  too_many_events_per_base,  // events / bases reaches the limit (a stalled read)
  read_too_long,             // events + k-mers do not fit 31 bits
  output_size_mismatch,      // first_event or last_event does not have one element per k-mer
  invalid_model,             // k is 0, or the columns of the model differ in length
  kmer_outside_model,        // a rank beyond the rows of the model
  no_end_cell_in_band,       // the band never reached the last k-mer with a finite score
  low_average_emission,      // the mean log-likelihood of the path is below the limit
  not_spanning,              // the path does not begin at the first k-mer
  too_many_skipped_kmers,    // more k-mers in a row without an event of their own than allowed
};
constexpr std::string_view name(AlignmentStatus status) {
  switch (status) {
    case AlignmentStatus::ok:
      return "ok";
    case AlignmentStatus::too_few_kmers:
      return "too_few_kmers";
    case AlignmentStatus::no_events:
      return "no_events";
    case AlignmentStatus::too_many_events_per_base:
      return "too_many_events_per_base";
    case AlignmentStatus::read_too_long:
      return "read_too_long";
    case AlignmentStatus::output_size_mismatch:
      return "output_size_mismatch";
    case AlignmentStatus::invalid_model:
      return "invalid_model";
    case AlignmentStatus::kmer_outside_model:
      return "kmer_outside_model";
    case AlignmentStatus::no_end_cell_in_band:
      return "no_end_cell_in_band";
    case AlignmentStatus::low_average_emission:
      return "low_average_emission";
    case AlignmentStatus::not_spanning:
      return "not_spanning";
    case AlignmentStatus::too_many_skipped_kmers:
      return "too_many_skipped_kmers";
  }
  return "unknown";
}

// From model units to the read's picoamps: expected level = scale * level_mean + shift. The method of moments gives both.
struct LevelScaling {
  float scale = 1.0F;
  float shift = 0.0F;  // pA
};

struct AlignmentLimits {
  float max_events_per_base = 15.0F;    // a read that reaches it is not aligned
  double min_average_emission = -5.0;   // natural logarithm, mean over the path
  std::int32_t max_skipped_kmers = 50;  // k-mers in a row entered without an event of their own
};

struct AlignmentInput {
  std::span<const float> event_means;         // pA, in the order of the k-mers (RNA: reversed in time)
  std::span<const std::uint32_t> kmer_ranks;  // one per k-mer of the read: bases - k + 1
  KmerModelView model;                        // the nucleotide model
  LevelScaling scaling;
  AlignmentLimits limits;
  std::span<const std::uint64_t> guide = {};  // empty: the band moves by its scores
};

struct AlignedPair {
  std::int32_t kmer;
  std::int32_t event;
  bool operator==(const AlignedPair&) const = default;
};

// How many bands each arithmetic filled (band_arithmetic.hpp); all give the same scores. For benchmarks and tests.
struct BandCounts {
  std::int64_t narrow = 0;    // single precision, exactness known beforehand
  std::int64_t checked = 0;   // single precision, exactness checked cell by cell
  std::int64_t repeated = 0;  // of the checked ones: filled again in double precision
  std::int64_t wide = 0;      // double precision
};

struct AlignmentResult {
  AlignmentStatus status = AlignmentStatus::ok;
  double events_per_base = 0.0;   // (highest - lowest aligned event) / k-mers; 0 unless ok
  double average_emission = 0.0;  // mean log-likelihood over the path; 0 when no path was found
  std::int32_t longest_skip = 0;  // k-mers in a row without an event of their own
  std::size_t pair_count = 0;     // pairs on the path
  BandCounts bands;
};

// Bytes that the workspace holds after a read of this size: 32 per band (the traces; there are events + k-mers + 2 bands) and 16 per k-mer,
// that is about 112 bytes per base at two events per base.
std::size_t abea_workspace_bytes(std::size_t event_count, std::size_t kmer_count);

// Scratch memory of one thread. Grows to the largest read it has seen and then allocates nothing more.
using AlignmentWorkspace = KeptBuffer<std::byte>;

// Aligns one read. first_event and last_event get one element per k-mer: the first and the last event of the k-mer, or -1 for a k-mer that was
// skipped (all -1 unless the status is ok). pairs, when given, is replaced by the path in ascending order: the list that f5c prints with
// --print-banded-aln (empty unless ok). Any input is safe: NaN and infinities in events, scaling or model end in a status.
AlignmentResult align_events(const AlignmentInput& input, AlignmentWorkspace& workspace, std::span<std::int32_t> first_event,
                             std::span<std::int32_t> last_event, std::vector<AlignedPair>* pairs = nullptr);

// The same, cell by cell as algorithm 1 is printed: slow (about 0.2 Mbases/s), allocates, and exists to be compared with.
AlignmentResult align_events_scalar(const AlignmentInput& input, std::span<std::int32_t> first_event, std::span<std::int32_t> last_event,
                                    std::vector<AlignedPair>* pairs = nullptr);

// The first reason not to align this input at all; nothing when it can be tried.
std::optional<AlignmentStatus> reject_before_alignment(const AlignmentInput& input, std::size_t first_event_size, std::size_t last_event_size);

}  // namespace sluice::abea
