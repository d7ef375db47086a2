// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "read_correction/oriented_reads.hpp"

namespace sluice::read_correction {

// Map: the letters of windows whose pieces and layers are places on reads.
class WindowSequences {
 public:
  enum class Reason : std::uint32_t { bad_layers };
  using Parameters = NoParameters;
  static void describe(Describe<WindowSequences>& d);
  WindowSequences(const Setup& setup, const Parameters& p);
  Estimate estimate(const Batch& in) const;
  void process(const Call& call, const Batch& in, Output& out);

 private:
  // Bases [begin, end) of a read, and where they go.
  struct Part {
    std::int64_t read, begin, end;
    std::int64_t at;
    Strand strand;
  };
  struct Workspace {
    std::unique_ptr<OrientedReads> reads;
    std::vector<Part> parts;
    std::string bases, qualities;
  };
  struct Letters {
    std::span<char> bases, qualities;
  };

  bool fits(const Batch& in, std::int64_t row) const;
  static void list_parts(const Batch& in, std::int64_t row, std::int64_t at, std::vector<Part>& parts);
  static void fetch(Workspace& workspace, const Letters& letters);

  SequenceStoreView reads_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace sluice::read_correction
