// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read_correction/unit_cost_path.hpp"

namespace sluice::read_correction {

// How many of a window's sequences have a letter at each base of its consensus, and how many that letter.
class SupportCount {
 public:
  std::vector<std::int32_t> coverage, support;  // of each base

  // Sequences one after the other; their lengths must add up.
  void count(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view consensus);
  std::size_t bytes() const { return aligner_.bytes(); }

 private:
  UnitCostAligner aligner_;
  std::string pattern_, codes_;
};

// Map: what the sequences of a window say of each base of its voted consensus.
class SupportStage {
 public:
  enum class Reason : std::uint32_t { bad_sequences };
  struct Parameters {};
  static void describe(Describe<SupportStage>& d);
  SupportStage(const Setup&, const Parameters&) {}
  void process(const Call& call, const Batch& in, Output& out);

 private:
  static constexpr std::size_t windows_per_part = 32;
  static constexpr std::size_t kept_bytes = std::size_t{8} << 20U;  // memory of a workspace that one huge window has blown up is not kept
  Workspaces<SupportCount> workspaces_;
};

}  // namespace sluice::read_correction
