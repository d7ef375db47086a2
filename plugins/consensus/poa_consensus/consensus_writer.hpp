// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sinks of windows: their consensuses and the rows of their alignments as FASTA, their graphs as GFA and DOT.

#include <sluice/hts/join_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>

namespace sluice::poa_consensus {

// Each is a text file, whose records are made side by side and written in order.
class TextOfWindows : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
  };
  TextOfWindows(const Setup& setup, const Parameters& parameters) : TextOfWindows(setup, parameters, {}) {}
  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 protected:
  // header: of a file that begins here; one that goes on has it.
  TextOfWindows(const Setup& setup, const Parameters& parameters, std::string_view header) : file_(setup, parameters.output) {
    if (!header.empty()) file_.header(header);
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }
  // column: what a window must have to have come to something, which `outcome` names.
  void write(const Call& call, const Batch& in, const char* column, const char* outcome);
  hts::TextOutput file_;
};

class ConsensusWriter : public TextOfWindows {
 public:
  using TextOfWindows::TextOfWindows;
  static void describe(Describe<ConsensusWriter>& d);
  void process(const Call& call, const Batch& in, Output& out);
  void commit(const Call& call, const Batch& in) { write(call, in, "consensus", "resolved"); }
};

class MsaWriter : public TextOfWindows {
 public:
  using TextOfWindows::TextOfWindows;
  static void describe(Describe<MsaWriter>& d);
  void process(const Call& call, const Batch& in, Output& out);
  void commit(const Call& call, const Batch& in) { write(call, in, "msa", "aligned"); }
};

class GfaWriter : public TextOfWindows {
 public:
  GfaWriter(const Setup& setup, const Parameters& parameters);
  static void describe(Describe<GfaWriter>& d);
  void process(const Call& call, const Batch& in, Output& out);
  void commit(const Call& call, const Batch& in) { write(call, in, "graph_gfa", "drawn"); }
};

class DotWriter : public TextOfWindows {
 public:
  using TextOfWindows::TextOfWindows;
  static void describe(Describe<DotWriter>& d);
  void process(const Call& call, const Batch& in, Output& out);
  void commit(const Call& call, const Batch& in) { write(call, in, "graph_dot", "drawn"); }
};

}  // namespace sluice::poa_consensus
