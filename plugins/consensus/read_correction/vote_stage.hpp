// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/stage.hpp>
#include <string>

#include "read_correction/consensus_vote.hpp"

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

 private:
  std::int32_t rounds_;
  bool has_qualities_, wants_sites_;
  Workspaces<ConsensusVote> workspaces_;
};

}  // namespace sluice::read_correction
