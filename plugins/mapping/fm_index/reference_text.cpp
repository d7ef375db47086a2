// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fm_index/reference_text.hpp"

#include <htslib/bgzf.h>
#include <htslib/hts.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sluice/fm_index.hpp>
#include <unordered_set>
#include <utility>

namespace sluice::fm_index {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::uint8_t ambiguous = 4;

constexpr std::array<std::uint8_t, 256> make_base_codes() {
  std::array<std::uint8_t, 256> codes{};
  for (std::uint8_t& code : codes) code = ambiguous;
  constexpr std::string_view letters = "ACGTU";
  for (std::size_t i = 0; i < letters.size(); ++i)
    for (const int shift : {0, 'a' - 'A'}) codes[static_cast<std::size_t>(letters[i] + shift)] = static_cast<std::uint8_t>(i < 3 ? i : 3);
  return codes;
}
constexpr std::array<std::uint8_t, 256> base_codes = make_base_codes();

struct CloseBgzf {
  void operator()(BGZF* file) const { bgzf_close(file); }
};

// The 32 bases of a word in the opposite order, complemented.
std::uint64_t reverse_complement(std::uint64_t word) {
  word = ~word;
  word = (word >> 2 & 0x3333333333333333U) | (word & 0x3333333333333333U) << 2;
  word = (word >> 4 & 0x0F0F0F0F0F0F0F0FU) | (word & 0x0F0F0F0F0F0F0F0FU) << 4;
  return __builtin_bswap64(word);
}

}  // namespace

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
  if (text_.length + letters.size() > max_fm_text / (strands_ == Strands::both ? 2 : 1))
    throw Failure::input(
        "the reference has more bases than an FM-index can hold: " + std::to_string(max_fm_text / (strands_ == Strands::both ? 2 : 1)),
        strands_ == Strands::both ? "index the forward strand alone, which may be twice as long" : "split the reference");
  for (const char letter : letters) {
    std::uint64_t code = base_codes[static_cast<unsigned char>(letter)];
    if (code == ambiguous) {
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
  if (strands_ == Strands::both) {
    ReferenceText forward = text_;
    if (text_.length % 32 != 0) forward.packed.push_back(word_);
    forward.packed.insert(forward.packed.end(), 2, 0);
    text_.packed.reserve(2 * forward.packed.size());
    for (auto place = static_cast<std::int64_t>(bases) - 32; place > -32; place -= 32) {
      const std::uint64_t taken = place >= 0 ? 32 : static_cast<std::uint64_t>(place + 32);
      const std::uint64_t word = reverse_complement(FmIndexTables::packed_bases_at(forward.packed.data(), place));
      push_word(taken == 32 ? word : word & ~std::uint64_t{0} << (64 - 2 * taken), taken);
    }
  }
  finish_word();
  return std::move(text_);
}

namespace {

class FastaReader {
 public:
  FastaReader(const std::string& path, Strands strands) : path_(path), builder_(strands), block_(block_bytes) {
    hts_set_log_level(HTS_LOG_OFF);
    file_.reset(bgzf_open(path.c_str(), "r"));
    if (!file_) throw Failure::input("cannot open reference '" + path + "': " + std::strerror(errno), "check the path of the FASTA file");
  }

  ReferenceText read(const std::function<bool()>& cancelled) {
    while (fill()) {
      if (cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "reading the reference was cancelled");
      std::string_view rest(block_.data(), filled_);
      while (!rest.empty()) {
        const void* newline = std::memchr(rest.data(), '\n', rest.size());
        const std::size_t length = newline == nullptr ? rest.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - rest.data());
        take(rest.substr(0, length));
        rest.remove_prefix(length + (newline == nullptr ? 0 : 1));
        if (newline != nullptr) end_line();
      }
    }
    end_line();
    if (!in_contig_) throw Failure::input("reference '" + path_ + "' has no sequence in it", "give a FASTA file");
    builder_.end_contig();
    if (bases_ == 0) throw Failure::input("reference '" + path_ + "' has no bases", "give a FASTA file with sequences");
    return builder_.finish();
  }

 private:
  bool fill() {
    const ssize_t got = bgzf_read(file_.get(), block_.data(), block_.size());
    if (got < 0)
      throw Failure::input(
          "reference '" + path_ + "' is truncated or damaged: its compressed data ends or breaks after " + std::to_string(total_) + " bytes of text",
          "copy the file again and compare checksums");
    if (got == 0 && file_->no_eof_block != 0)
      throw Failure::input("reference '" + path_ + "' is truncated: it has no BGZF end-of-file block",
                           "copy the file again, or compress it again with `bgzip`");
    filled_ = static_cast<std::size_t>(got);
    total_ += filled_;
    return got > 0;
  }
  // Part of a line; the rest of it may be in the next block.
  void take(std::string_view piece) {
    if (piece.empty()) return;
    if (line_begins_) {
      line_begins_ = false;
      is_name_ = piece.front() == '>';
      if (is_name_) {
        name_.clear();
        piece.remove_prefix(1);
      }
    }
    if (is_name_) {
      name_ += piece;
      return;
    }
    if (!piece.empty() && piece.back() == '\r') piece.remove_suffix(1);
    if (piece.empty()) return;
    if (!in_contig_) fail("the file does not start with '>', so it is not FASTA");
    for (const char letter : piece)
      if (letter <= ' ' || letter > '~') fail("byte " + std::to_string(static_cast<unsigned char>(letter)) + " is not a base");
    bases_ += piece.size();
    builder_.append(piece);
  }
  void end_line() {
    if (!line_begins_ && is_name_) begin_contig();
    line_begins_ = true;
    is_name_ = false;
    ++line_;
  }
  void begin_contig() {
    if (in_contig_) builder_.end_contig();
    in_contig_ = true;
    name_.resize(std::min(name_.size(), name_.find_first_of(" \t\r")));
    if (name_.empty()) fail("a sequence has no name");
    if (!names_.insert(name_).second) fail("there is an earlier sequence named '" + name_ + "'");
    builder_.begin_contig(name_);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Failure::input("reference '" + path_ + "', line " + std::to_string(line_) + ": " + what,
                         "give a FASTA file or an index that fm_index saved");
  }

  std::string path_;
  ReferenceTextBuilder builder_;
  std::unique_ptr<BGZF, CloseBgzf> file_;
  std::vector<char> block_;
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0, bases_ = 0, line_ = 1;
  std::unordered_set<std::string> names_;
  std::string name_;
  bool line_begins_ = true, is_name_ = false, in_contig_ = false;
};

}  // namespace

ReferenceText read_reference(const std::string& path, Strands strands, const std::function<bool()>& cancelled) {
  return FastaReader(path, strands).read(cancelled);
}

}  // namespace sluice::fm_index
