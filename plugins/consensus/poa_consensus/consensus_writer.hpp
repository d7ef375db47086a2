// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sinks of windows, both FASTA: their consensuses, and the rows of their alignments.

#include <sluice/hts/join_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>

namespace sluice::poa_consensus {

class ConsensusWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
  };
  static void describe(Describe<ConsensusWriter>& d);
  ConsensusWriter(const Setup& setup, const Parameters& parameters) : file_(setup, parameters.output) {
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }
  void process(const Call& call, const Batch& in, Output& out);
  void commit(const Call& call, const Batch& in);
  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  hts::TextOutput file_;
};

class MsaWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
  };
  static void describe(Describe<MsaWriter>& d);
  MsaWriter(const Setup& setup, const Parameters& parameters) : file_(setup, parameters.output) {
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }
  void process(const Call& call, const Batch& in, Output& out);
  void commit(const Call& call, const Batch& in);
  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  hts::TextOutput file_;
};

}  // namespace sluice::poa_consensus
