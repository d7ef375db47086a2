// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/hts/join_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

namespace sluice::window_merging {

// Sink: polished contigs as FASTA.
class ContigWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
    std::string tags = "racon";
    std::string name_suffix;
  };
  static void describe(Describe<ContigWriter>& d);
  ContigWriter(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out) { make_records(call, in, out, Form::fasta); }
  void commit(const Call& call, const Batch& in);
  void finish(const Call& call, Output& out);
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 protected:
  enum class Form : std::uint8_t { fasta, fastq };
  void make_records(const Call& call, const Batch& in, Output& out, Form form) const;

 private:
  bool has_tags_;
  std::string suffix_;
  bool is_of_reads_;
  hts::TextOutput file_;
};

// The same as FASTQ.
class ContigFastqWriter : public ContigWriter {
 public:
  using ContigWriter::ContigWriter;
  static void describe(Describe<ContigFastqWriter>& d);
  void process(const Call& call, const Batch& in, Output& out) { make_records(call, in, out, Form::fastq); }
};

}  // namespace sluice::window_merging
