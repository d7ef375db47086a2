// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/pair_aligner.hpp"

#include <new>

extern "C" {
#include <wfa2lib/wavefront/wavefront_align.h>
}

namespace sluice::base_alignment {
namespace {

// About 330 mismatches: time and memory grow with the square of the cost, to 20 ms and 60 MB here.
constexpr int highest_cost = 4000;

}  // namespace

struct PairAligner::Library {
  wavefront_aligner_t* aligner = nullptr;
  ~Library() {
    if (aligner != nullptr) wavefront_aligner_delete(aligner);
  }
};

PairAligner::PairAligner(const Scoring& scoring) : scoring_(scoring), library_(std::make_unique<Library>()) {
  // WFA wants costs with matches free. A global alignment's score is a constant minus such costs: every mismatch costs 2 * (match + mismatch),
  // a gap 2 * open + n * (2 * extend + match), because it uses up one base that could have matched half a pair.
  wavefront_aligner_attr_t attributes = wavefront_aligner_attr_default;
  attributes.distance_metric = gap_affine_2p;
  attributes.affine2p_penalties.match = 0;
  attributes.affine2p_penalties.mismatch = 2 * (scoring.match + scoring.mismatch);
  attributes.affine2p_penalties.gap_opening1 = 2 * scoring.gap_open;
  attributes.affine2p_penalties.gap_extension1 = 2 * scoring.gap_extend + scoring.match;
  attributes.affine2p_penalties.gap_opening2 = 2 * scoring.long_gap_open;
  attributes.affine2p_penalties.gap_extension2 = 2 * scoring.long_gap_extend + scoring.match;
  attributes.alignment_scope = compute_alignment;
  attributes.heuristic.strategy = wf_heuristic_none;
  attributes.memory_mode = wavefront_memory_high;
  attributes.system.max_alignment_score = highest_cost;
  library_->aligner = wavefront_aligner_new(&attributes);
  if (library_->aligner == nullptr) throw std::bad_alloc();
}
PairAligner::~PairAligner() = default;

bool PairAligner::run(std::string_view query, std::string_view target, int free_target_end, Path& path) {
  path.clear();
  if (query.empty() || target.empty()) {
    path.add(insertion, static_cast<std::uint32_t>(query.size()));
    if (free_target_end == 0) path.add(deletion, static_cast<std::uint32_t>(target.size()));
    return true;
  }
  if (query == target) return path.add(match_or_mismatch, static_cast<std::uint32_t>(query.size())), true;
  if (free_target_end == 0)
    wavefront_aligner_set_alignment_end_to_end(library_->aligner);
  else
    wavefront_aligner_set_alignment_free_ends(library_->aligner, 0, 0, 0, free_target_end);
  const int status = wavefront_align(library_->aligner, query.data(), static_cast<int>(query.size()), target.data(), static_cast<int>(target.size()));
  if (status != WF_STATUS_SUCCESSFUL) return false;
  // Its words: I consumes the text (our target), D the pattern (our query).
  const cigar_t& cigar = *library_->aligner->cigar;
  for (int i = cigar.begin_offset; i < cigar.end_offset; ++i) {
    const char operation = cigar.operations[i];
    path.add(operation == 'I' ? deletion : operation == 'D' ? insertion : match_or_mismatch, 1);
  }
  return true;
}

bool PairAligner::align(std::string_view query, std::string_view target, Path& path) { return run(query, target, 0, path); }

bool PairAligner::align_to_beginning(std::string_view query, std::string_view target, Path& path) {
  if (!run(query, target, static_cast<int>(target.size()), path)) return false;
  // What lies behind the alignment's end is no gap.
  std::vector<std::uint32_t>& operations = path.operations();
  if (!operations.empty() && (operations.back() & 15U) == deletion) operations.pop_back();
  return true;
}

}  // namespace sluice::base_alignment
