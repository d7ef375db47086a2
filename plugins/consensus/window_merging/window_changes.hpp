// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What polishing changes, as VCF: a map on windows, which finds it, and the sink.

#include <sluice/hts/join_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>

namespace sluice::window_merging {

class WindowChanges {
 public:
  struct Parameters {
    std::string trim = "long_reads";
  };
  static void describe(Describe<WindowChanges>& d);
  WindowChanges(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);

 private:
  SequenceStoreView targets_;
  bool trims_;
};

class VcfWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
  };
  static void describe(Describe<VcfWriter>& d);
  VcfWriter(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void commit(const Call& call, const Batch& in);
  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  hts::TextOutput file_;
};

}  // namespace sluice::window_merging
