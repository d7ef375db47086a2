// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>

#include "read_correction/consensus_vote.hpp"
#include "read_correction/piece_identity.hpp"

namespace sluice::read_correction {

// Map: the consensus of a window, changed where most of its sequences disagree.
class VoteStage {
 public:
  enum class Reason : std::uint32_t { bad_sequences };
  struct Parameters {
    std::int64_t rounds = 2;
  };
  static void describe(Describe<VoteStage>& d);
  VoteStage(const Setup& setup, const Parameters& p);
  Estimate estimate(const Batch& in) const;
  void process(const Call& call, const Batch& in, Output& out);
#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out);
#endif

 private:
  static constexpr std::size_t windows_per_part = 32;
  // Memory of a workspace that one huge window has blown up is not kept.
  static constexpr std::size_t kept_bytes = std::size_t{8} << 20U;

  // A window whose sequences vote. `voted`: the consensus, which becomes the outcome.
  void vote(ConsensusVote& workspace, std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities,
            std::string& voted, VariantSites& sites) const;
  static void give_figures(const Call& call, const PieceIdentity& identity);

  std::int32_t rounds_;
  bool has_qualities_, wants_sites_;
  Workspaces<ConsensusVote> workspaces_;
};

}  // namespace sluice::read_correction
