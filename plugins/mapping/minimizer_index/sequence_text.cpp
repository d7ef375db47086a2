// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_index/sequence_text.hpp"

#include <limits>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/sequence/text.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace sluice::minimizer_index {
namespace {

class SequenceReader {
 public:
  explicit SequenceReader(const SketchKernels& kernels) : kernels_(kernels) {}

  ReferenceBases read(const std::vector<std::string>& paths, const std::function<bool()>& cancelled, NoSequences none) {
    for (const std::string& path : paths) read_file(path, cancelled);
    if (reference_.contigs() == 0 && none == NoSequences::allowed) return std::move(reference_);
    if (reference_.contigs() == 0)
      throw Failure::input("reference '" + path_ + "' is empty: there is no sequence in it", "give a FASTA or FASTQ file");
    if (!has_bases_ && none == NoSequences::refused)
      throw Failure::input("reference '" + path_ + "' is empty: none of its sequences has a base", "give a FASTA or FASTQ file with sequences");
    reference_.finish();
    return std::move(reference_);
  }

  void begin_record(std::string_view name) {
    if (!names_.insert(std::string(name)).second) fail(parser_->line(), "there is an earlier sequence named '" + std::string(name) + "'");
    reference_.begin_contig(name);
  }
  void take_bases(std::string_view bases) {
    if (reference_.current_length() + static_cast<std::int64_t>(bases.size()) > std::numeric_limits<std::int32_t>::max())
      fail(parser_->line(), "a sequence has 2^31 bases or more", "cut it: neither anchors nor BAM records can name places behind that");
    has_bases_ = true;
    reference_.add_bases(bases, kernels_);
  }
  void take_qualities(std::string_view) {}
  bool end_record(const SequenceTextRecord&) {
    reference_.end_contig(kernels_);
    return true;
  }

 private:
  using Parser = SequenceTextParser<SequenceReader>;
  void read_file(const std::string& path, const std::function<bool()>& cancelled) {
    path_ = path;
    hts::TextFile file({path, "reference", "check the path of the FASTA file"});
    parser_.emplace(*this);
    for (std::string_view text = file.next(); !text.empty(); text = file.next()) {
      if (cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "reading the reference was cancelled");
      check(parser_->feed(text));
    }
    check(parser_->finish());
  }
  void check(Parser::Outcome outcome) const {
    if (outcome == Parser::Outcome::malformed) fail(parser_->problem().line, parser_->problem().what);
  }
  [[noreturn]] void fail(std::uint64_t line, const std::string& what,
                         const char* remedy = "give the FASTA or FASTQ file of the sequences to map to") const {
    throw Failure::input("reference '" + path_ + "', line " + std::to_string(line) + ": " + what, remedy);
  }

  std::string path_;
  SketchKernels kernels_;
  std::optional<Parser> parser_;
  std::unordered_set<std::string> names_;
  ReferenceBases reference_;
  bool has_bases_ = false;
};

}  // namespace

ReferenceBases read_sequences(const std::vector<std::string>& paths, const SketchKernels& kernels, const std::function<bool()>& cancelled,
                              NoSequences none) {
  return SequenceReader(kernels).read(paths, cancelled, none);
}

}  // namespace sluice::minimizer_index
