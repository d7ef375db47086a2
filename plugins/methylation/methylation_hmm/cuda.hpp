// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Methylation calling on a CUDA device: the groups, events and bits of the functions in methylation.hpp, for all rows of a batch at once.
//
//   upload_reference, list_reference_groups   once per device
//   upload_tables                             once per device
//   align_rows                                what each row's alignment allows: status, aligned blocks, the groups under it
//   locate_groups                             a problem for every group under a row
//   score_groups                              both hypotheses of every problem
//   count_called, gather_called               the lists of a row's called groups
//
// Plain functions over device pointers and a stream. Nothing here allocates or keeps state, and only the two uploads wait; what a function returns
// are the errors of its own launches. Arrays are device memory unless said otherwise, columns as in a batch: a list column is rows + 1 offsets and
// the values of all rows.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "methylation_hmm/methylation.hpp"

namespace sluice::methylation_hmm::cuda {

// The k-mer model and the tables of the recurrence. Filled once per device: see upload_tables.
struct Tables {
  const float4* levels = nullptr;     // by rank: level_mean, level_stdv, log_level_stdv, 0
  const float* log_sums = nullptr;    // log_sum_table()
  const float* clipping = nullptr;    // extend_clipping()
  const MotifSites* sites = nullptr;  // of forward reads, of reverse reads
  std::int64_t clipping_count = 0;    // problems of more events than this get ScoreStatus::no_such_event: give it the events of the longest read
  std::uint32_t k = 0;
};

// Bytes of device memory behind Tables.
std::size_t tables_bytes(const KmerModelView& model, std::int64_t longest_read_events);

// Computes the tables on the host and copies them into `memory` (tables_bytes, 256-byte aligned). Waits for the copy. cudaErrorInvalidValue when the
// model is not what score_groups takes.
cudaError_t upload_tables(const KmerModelView& model, const Motif& motif, std::int64_t longest_read_events, void* memory, cudaStream_t stream,
                          Tables& tables);

// ReadSignal of many reads.
struct Reads {
  std::uint32_t count = 0;
  const std::int64_t* event_offsets = nullptr;  // count + 1
  const float* event_mean = nullptr;            // pA
  const float* scale = nullptr;
  const float* shift = nullptr;  // pA
  const float* var = nullptr;
  const float* log_var = nullptr;
  const double* events_per_base = nullptr;
  const std::uint8_t* is_reverse = nullptr;
};

// ---- The reference -----------------------------------------------------------------------------------------------------

// The groups that reads of one strand may have: the first base of each, ascending, as an offset into Reference::bases.
struct GroupList {
  const std::int64_t* begin = nullptr;
  std::int64_t count = 0;
};

// All contigs one behind the other, each followed by a zero byte, so that no site spans two of them.
struct Reference {
  const char* bases = nullptr;
  std::int64_t bytes = 0;
  const std::int64_t* contig_begin = nullptr;  // contigs + 1: contig i is bases[contig_begin[i] .. contig_begin[i + 1] - 1), the zero byte excluded
  std::int32_t contigs = 0;
  const MotifSites* sites = nullptr;  // of forward reads, of reverse reads
  GroupList groups[2];                // alike; lists of a motif that is its own reverse complement may be one

  GroupList& groups_of(Strand strand) { return groups[static_cast<int>(strand)]; }
};

// Bytes of device memory behind bases, contig_begin and sites.
std::size_t reference_bytes(std::span<const std::string_view> contigs);

// Copies the contigs (host memory) into `memory` (reference_bytes, 256-byte aligned). Waits for the copies.
cudaError_t upload_reference(std::span<const std::string_view> contigs, const Motif& motif, void* memory, cudaStream_t stream, Reference& reference);

// The groups of the whole reference for reads of one strand, in two steps: `workspace` (reference_group_workspace_bytes) holds their numbers by part
// of the reference, and at its end their total, to which `total` points after the first step. A group under a row is one of these: it begins so far
// behind the row's first base that what lies before the row can't be part of it; at most its end is cut.
std::size_t reference_group_workspace_bytes(const Reference& reference);
cudaError_t count_reference_groups(const Reference& reference, Strand strand, void* workspace, const std::int64_t*& total, cudaStream_t stream);
cudaError_t list_reference_groups(const Reference& reference, Strand strand, const void* workspace, std::int64_t* group_begin, cudaStream_t stream);

// ---- Rows --------------------------------------------------------------------------------------------------------------

// Columns of aligned reads.
struct Alignments {
  std::uint32_t count = 0;
  const std::uint16_t* row_status = nullptr;  // 0: fine; null: all fine. Other rows are not looked at
  const std::int32_t* contig = nullptr;       // index into the reference; -1: not in it
  const std::int64_t* ref_start = nullptr;
  const std::int64_t* ref_end = nullptr;  // exclusive
  const std::uint8_t* is_reverse = nullptr;
  const std::int64_t* cigar_offsets = nullptr;
  const std::uint32_t* cigar = nullptr;
  const std::int64_t* bases_offsets = nullptr;  // of the basecalled reads
  const std::int64_t* event_offsets = nullptr;
  const std::int64_t* map_offsets = nullptr;
  const std::int32_t* first_event = nullptr;  // base-to-event map
};

// RecordStatus, with what is found out before it.
enum class RowStatus : std::uint8_t {
  ok,
  contig_not_in_reference,
  outside_contig,
  reference_skip,
  bad_cigar,
  bad_base_to_event_map,
  no_aligned_events,
  degenerate,
  skipped,  // its row_status is not 0
};

// Sites outside are not called.
struct SiteRegion {
  std::int32_t contig = -1;  // -1: no limits
  std::int64_t start = 0;
  std::int64_t end = 0;
};

struct RowTotals {
  std::int64_t groups = 0;               // under all rows
  std::int64_t longest_read_events = 0;  // of the rows that are ok
};

// What align_rows finds, by row.
struct AlignedRows {
  RowStatus* status = nullptr;
  std::int64_t* group_offsets = nullptr;  // count + 1: the groups under each row, callable or not
  RowTotals* totals = nullptr;            // one
  void* workspace = nullptr;              // aligned_rows_workspace_bytes, 256-byte aligned; locate_groups reads it
};
std::size_t aligned_rows_workspace_bytes(std::uint32_t rows, std::int64_t cigar_operations);

// cigar_operations: number of values in Alignments::cigar.
cudaError_t align_rows(const Alignments& alignments, std::int64_t cigar_operations, const Reference& reference, std::uint32_t k, HardClips hard_clips,
                       const AlignedRows& rows, cudaStream_t stream);

// ---- Problems ----------------------------------------------------------------------------------------------------------

// What locate_groups writes for each of the groups under the rows: the fields of Problems, and the sites. A group that is no call (GroupStatus, too
// long, outside the region) gets sequence_length -1.
struct Groups {
  std::uint32_t* read = nullptr;
  std::int32_t* first_event = nullptr;
  std::int32_t* last_event = nullptr;
  std::int64_t* sequence_begin = nullptr;
  std::int32_t* sequence_length = nullptr;
  std::int32_t* site_span = nullptr;  // last minus first site
  std::int32_t* site_count = nullptr;
};

// group_count: RowTotals::groups, at most 2^32 - 1.
cudaError_t locate_groups(const Alignments& alignments, std::int64_t cigar_operations, const Reference& reference, std::uint32_t k,
                          const SiteRegion& region, const AlignedRows& rows, std::uint32_t group_count, const Groups& groups, cudaStream_t stream);

// GroupProblem of many groups.
struct Problems {
  std::uint32_t count = 0;
  const std::uint32_t* read = nullptr;
  const std::int32_t* first_event = nullptr;     // inclusive
  const std::int32_t* last_event = nullptr;      // inclusive
  const std::int64_t* sequence_begin = nullptr;  // offset into `bases`
  const std::int32_t* sequence_length =
      nullptr;                  // within kMaximumSequenceLength, and within `bases`; below k, -1 too: ScoreStatus::sequence_too_short
  const char* bases = nullptr;  // the reference
};

// GroupScore of many groups.
struct Scores {
  float* log_lik_methylated = nullptr;
  float* log_lik_unmethylated = nullptr;
  ScoreStatus* status = nullptr;
};

// Bytes of scratch for score_groups.
std::size_t score_workspace_bytes(std::uint32_t reads, std::uint32_t problems);

// Scores every problem under both hypotheses. One warp holds problems of like length, a group of lanes each hypothesis, eight adjacent k-mers a lane;
// rows travel through the lanes as a wave. `workspace`: score_workspace_bytes, 256-byte aligned.
cudaError_t score_groups(const Reads& reads, const Problems& problems, const Tables& tables, EventsPerBase events_per_base, const Scores& scores,
                         void* workspace, cudaStream_t stream);

// ---- Called groups -----------------------------------------------------------------------------------------------------

enum class Unscored : std::uint8_t { left_out, kept };  // groups whose ScoreStatus is not ok

struct CalledTotals {
  std::int64_t called = 0;
  std::int64_t not_scored = 0;  // left out
};

// offsets: count + 1, of the called groups of each row. totals: one.
cudaError_t count_called(const Alignments& alignments, const AlignedRows& rows, const Groups& groups, const Scores& scores, Unscored unscored,
                         std::int64_t* offsets, CalledTotals* totals, cudaStream_t stream);

// The lists of the called groups, CalledTotals::called entries each.
struct CalledGroups {
  std::int64_t* site_start = nullptr;  // on the contig
  std::int64_t* site_end = nullptr;
  std::int32_t* site_motifs = nullptr;
  float* log_lik_methylated = nullptr;
  float* log_lik_unmethylated = nullptr;
};
cudaError_t gather_called(const Alignments& alignments, const Reference& reference, const AlignedRows& rows, const Groups& groups,
                          const Scores& scores, Unscored unscored, const std::int64_t* offsets, const CalledGroups& called, cudaStream_t stream);

}  // namespace sluice::methylation_hmm::cuda
