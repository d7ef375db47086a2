// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reference sequences as the text of an FM-index: 2 bits a base, contig after contig.

#include <cstdint>
#include <functional>
#include <sluice/fm_index.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::fm_index {

// either: both if the text may be so long, else forward.
enum class Strands : std::uint8_t { forward, both, either };

struct ReferenceText {
  std::vector<std::int64_t> contig_name_begin = {0};  // contigs + 1
  std::string contig_names;
  std::vector<std::int64_t> contig_begin = {0};  // contigs + 1; the last: bases of one strand
  std::vector<std::int64_t> ambiguous_begin, ambiguous_end;
  // A word of zeros, 32 bases a word (the first in the highest bits), two words of zeros.
  std::vector<std::uint64_t> packed = {0};
  std::uint64_t length = 0;  // bases of the text
};

// Collects contigs base by base. Ambiguous bases (any character but A, C, G, T, U of either case) become the pseudo-random ones that bwa 0.7.17 puts
// in their place: the low two bits of POSIX lrand48, seeded with 11, one number for each.
class ReferenceTextBuilder {
 public:
  // Throws Failure when the text gets longer than `longest` bases.
  explicit ReferenceTextBuilder(Strands strands, std::uint64_t longest = max_fm_text) : strands_(strands), longest_(longest) {}
  void begin_contig(std::string_view name);
  void append(std::string_view letters);
  void end_contig();
  ReferenceText finish();

 private:
  bool both_fit() const { return text_.length <= longest_ / 2; }
  void push(std::uint64_t code);
  void push_word(std::uint64_t word, std::uint64_t bases);  // the first base in the highest bits, zeros behind the last

  Strands strands_;
  std::uint64_t longest_;
  ReferenceText text_;
  std::uint64_t word_ = 0;
  std::uint64_t random_ = (std::uint64_t{11} << 16) + 0x330E;
};

// Reads a FASTA file, plain, gzip or BGZF. Names end at the first blank. Throws Failure: no such file, damaged, not FASTA, no bases, a contig without
// a name or with a name that came before, a character that is not printable, or more bases than an index can hold. `cancelled` is asked now and then.
ReferenceText read_reference(const std::string& path, Strands strands, const std::function<bool()>& cancelled);

}  // namespace sluice::fm_index
