// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/support_stage.hpp"

#include "read_correction/strand_letters.hpp"
#include "read_correction/window_letters.hpp"

namespace sluice::read_correction {

void SupportCount::count(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view consensus) {
  coverage.assign(consensus.size(), 0);
  support.assign(consensus.size(), 0);
  if (consensus.empty()) return;
  pattern_.resize(consensus.size());
  to_codes(consensus.data(), consensus.size(), pattern_.data());
  codes_.resize(sequences.size());
  to_codes(sequences.data(), sequences.size(), codes_.data());
  aligner_.set_pattern(pattern_);
  struct Steps {
    SupportCount& of;
    void equal(std::int32_t row, std::int32_t, std::int32_t letters) {
      for (std::int32_t i = row; i < row + letters; ++i) ++of.coverage[static_cast<std::size_t>(i)], ++of.support[static_cast<std::size_t>(i)];
    }
    void difference(std::int32_t row, std::int32_t, PathStep step) {
      if (step == PathStep::mismatch) ++of.coverage[static_cast<std::size_t>(row)];
    }
  };
  std::size_t begin = 0;
  for (const std::int32_t length : lengths) {
    const auto letters = static_cast<std::size_t>(length);
    if (letters > 0) {
      aligner_.align(std::string_view(codes_).substr(begin, letters));
      aligner_.walk_back(Steps{*this});
    }
    begin += letters;
  }
}

void SupportStage::describe(Describe<SupportStage>& d) {
  d.id("vote_support").summary("counts the sequences that have each base of a window's voted consensus").map("window").work_unit("base");
  d.doc(
      "For qualities of corrected reads. The sequences are aligned to the consensus as consensus_vote does: at unit costs, gaps as far right as they "
      "can lie. Windows that were not polished have no counts.");
  d.needs("sequences", "utf8", "the window's sequences, one after the other").needs("sequence_length", "list<i32>", "length of each");
  d.needs("voted_consensus", "utf8", "the window's consensus after the votes").needs("is_polished", "u8", "0: sequence 0 was kept");
  d.gives("voted_coverage", "list<i32>", "per base of voted_consensus: sequences with a letter there");
  d.gives("voted_support", "list<i32>", "per base of voted_consensus: sequences with that letter there");
  d.reason("bad_sequences", "lengths and letters of the sequences do not fit each other");
}

void SupportStage::process(const Call& call, const Batch& in, Output& out) {
  const TextView sequences = in.text("sequences"), consensus = in.text("voted_consensus");
  const auto lengths = in.list<std::int32_t>("sequence_length");
  const auto is_polished = in.column<std::uint8_t>("is_polished");
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<std::vector<std::int32_t>> coverage(rows), support(rows);
  call.parallel_for(rows, windows_per_part, [&](std::size_t begin, std::size_t end) {
    auto workspace = workspaces_.take();
    for (std::size_t r = begin; r < end && !call.cancelled(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      if (!in.ok(row)) continue;
      if (!fit_together(sequences[row], lengths[row], {})) {
        out.fail(row, Reason::bad_sequences);
        continue;
      }
      if (is_polished[r] == 0) continue;
      workspace->count(sequences[row], lengths[row], consensus[row]);
      coverage[r] = workspace->coverage;
      support[r] = workspace->support;
    }
    if (workspace->bytes() > kept_bytes) workspace.discard();
  });
  const auto of_row = [](const std::vector<std::vector<std::int32_t>>& lists) {
    return [&lists](std::int64_t row) { return lists[static_cast<std::size_t>(row)].size(); };
  };
  out.gather<std::int32_t>("voted_coverage", out.offsets(of_row(coverage)), coverage);
  out.gather<std::int32_t>("voted_support", out.offsets(of_row(support)), support);
}

}  // namespace sluice::read_correction
