// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One signal file as signal_stream reads it.

#include <cstdint>
#include <sluice/input_turns.hpp>
#include <sluice/repeated_reads.hpp>

#include "signal_reader/signal_batches.hpp"
#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {

struct SignalReadsWishes {
  BeginningParameters beginning;
  bool places = false;                 // columns of where records are
  bool beginnings = false;             // no more of a record than is likely to be wanted
  bool follows = false;                // an interrupt ends what comes, and not the run
  std::uint64_t places_at = 0;         // where the file begins among all
  RepeatsInStream* repeats = nullptr;  // looks at the ids of all files
};

class SignalReads : public InputReader {
 public:
  SignalReads(const InputTurns::File& file, const SignalReadsWishes& wishes);
  const SignalFile& file() const { return file_; }

  Given give(const Call& call, Output& out) override;
  void end_here() override;
  std::int64_t consumed() const override;
  std::string position() override;

 private:
  void give_columns(const SignalBatch& batch, Output& out) const;
  void note_ids(const Call& call, const SignalBatch& batch) const;
  SignalReadsWishes wishes_;
  bool has_grown_, grows_;
  SignalFile file_;
  SignalBatches batches_;
};

}  // namespace sluice::signal_reader
