// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fm_index/reference_text.hpp"

#include <sluice/fm_index.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/sequence/text.hpp>
#include <utility>

namespace sluice::fm_index {

void ReferenceTextBuilder::push(std::uint64_t code) {
  word_ |= code << (62 - 2 * (text_.length % 32));
  if (++text_.length % 32 == 0) text_.packed.push_back(std::exchange(word_, 0));
}

void ReferenceTextBuilder::push_word(std::uint64_t word, std::uint64_t bases) {
  const std::uint64_t used = text_.length % 32;
  word_ |= word >> (2 * used);
  text_.length += bases;
  if (used + bases < 32) return;
  text_.packed.push_back(word_);
  word_ = used == 0 ? 0 : word << (64 - 2 * used);
}

void ReferenceTextBuilder::begin_contig(std::string_view name) {
  text_.contig_names += name;
  text_.contig_name_begin.push_back(static_cast<std::int64_t>(text_.contig_names.size()));
}

void ReferenceTextBuilder::append(std::string_view letters) {
  const std::uint64_t most = strands_ == Strands::both ? longest_ / 2 : longest_;
  if (text_.length + letters.size() > most)
    throw Failure::input("the reference has more bases than an FM-index can hold: " + std::to_string(most),
                         strands_ == Strands::both ? "index the forward strand alone, which may be twice as long" : "split the reference");
  for (const char letter : letters) {
    std::uint64_t code = nucleotide_codes[static_cast<unsigned char>(letter)];
    if (code == ambiguous_code) {
      const auto place = static_cast<std::int64_t>(text_.length);
      if (text_.ambiguous_end.empty() || text_.ambiguous_end.back() != place)
        text_.ambiguous_begin.push_back(place), text_.ambiguous_end.push_back(place);
      ++text_.ambiguous_end.back();
      random_ = (random_ * 0x5DEECE66DU + 11) & ((std::uint64_t{1} << 48) - 1);
      code = random_ >> 17 & 3;
    }
    push(code);
  }
}

void ReferenceTextBuilder::end_contig() { text_.contig_begin.push_back(static_cast<std::int64_t>(text_.length)); }

ReferenceText ReferenceTextBuilder::finish() {
  const std::uint64_t bases = text_.length;
  const auto finish_word = [&] {
    if (text_.length % 32 != 0) text_.packed.push_back(word_);
    text_.packed.insert(text_.packed.end(), 2, 0);
  };
  if (strands_ == Strands::both || (strands_ == Strands::either && both_fit())) {
    ReferenceText forward = text_;
    if (text_.length % 32 != 0) forward.packed.push_back(word_);
    forward.packed.insert(forward.packed.end(), 2, 0);
    text_.packed.reserve(2 * forward.packed.size());
    for (auto place = static_cast<std::int64_t>(bases) - 32; place > -32; place -= 32) {
      const std::uint64_t taken = place >= 0 ? 32 : static_cast<std::uint64_t>(place + 32);
      const std::uint64_t word = reverse_complement_of_word(FmIndexTables::packed_bases_at(forward.packed.data(), place));
      push_word(taken == 32 ? word : word & ~std::uint64_t{0} << (64 - 2 * taken), taken);
    }
  }
  finish_word();
  return std::move(text_);
}

namespace {

class FastaReader {
 public:
  FastaReader(const std::string& path, Strands strands)
      : path_(path),
        file_({path, "reference", "check the path of the FASTA file"}),
        builder_(strands),
        parser_(*this, {SequenceTextRules::Formats::fasta, SequenceTextRules::Names::unique}) {}

  ReferenceText read(const std::function<bool()>& cancelled) {
    for (std::string_view text = file_.next(); !text.empty(); text = file_.next()) {
      if (cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "reading the reference was cancelled");
      check(parser_.feed(text));
    }
    check(parser_.finish());
    if (parser_.records() == 0) throw Failure::input("reference '" + path_ + "' has no sequence in it", "give a FASTA file");
    if (!has_bases_) throw Failure::input("reference '" + path_ + "' has no bases", "give a FASTA file with sequences");
    return builder_.finish();
  }

  void begin_record(std::string_view name) { builder_.begin_contig(name); }
  void take_bases(std::string_view bases) {
    has_bases_ = true;
    builder_.append(bases);
  }
  void take_qualities(std::string_view) {}
  bool end_record(const SequenceTextRecord&) {
    builder_.end_contig();
    return true;
  }

 private:
  using Parser = SequenceTextParser<FastaReader>;
  void check(Parser::Outcome outcome) const {
    if (outcome == Parser::Outcome::malformed)
      throw Failure::input("reference '" + path_ + "', line " + std::to_string(parser_.problem().line) + ": " + parser_.problem().what,
                           "give a FASTA file or an index that fm_index saved");
  }

  std::string path_;
  hts::TextFile file_;
  ReferenceTextBuilder builder_;
  Parser parser_;
  bool has_bases_ = false;
};

}  // namespace

ReferenceText read_reference(const std::string& path, Strands strands, const std::function<bool()>& cancelled) {
  return FastaReader(path, strands).read(cancelled);
}

}  // namespace sluice::fm_index
