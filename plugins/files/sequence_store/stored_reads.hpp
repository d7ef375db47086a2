// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <sluice/numbered_rows.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <sluice/stored_part.hpp>
#include <string>
#include <vector>

namespace sluice::sequence_store {

// Source: the sequences of a store as reads.
class StoredReads {
 public:
  enum class Reason : std::uint32_t { empty_sequence };
  using Parameters = NoParameters;
  static void describe(Describe<StoredReads>& d);
  StoredReads(const Setup& setup, const Parameters& p);
  bool process(const Call& call, Output& out);
  std::string position() const { return rows_.position(); }

 private:
  SequenceStoreView reads_;
  StoredPart part_;
  NumberedRows rows_;
  std::vector<std::int64_t> given_;  // rows of the batch
  Workspaces<std::vector<char>> scratch_;
};

}  // namespace sluice::sequence_store
