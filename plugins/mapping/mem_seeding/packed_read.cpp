// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "mem_seeding/packed_read.hpp"

#include <algorithm>
#include <sluice/fm_index.hpp>
#include <sluice/sequence/bases.hpp>

namespace sluice::mem_seeding {
namespace {

void add_ambiguous(std::vector<Stretch>& stretches, std::int32_t& begin, std::int32_t at) {
  if (at > begin) stretches.push_back({begin, at});
  begin = at + 1;
}

}  // namespace

void pack_read(std::string_view bases, PackedRead& packed) {
  packed.length = static_cast<std::int32_t>(bases.size());
  packed.words.assign((bases.size() + 31) / 32 + 3, 0);
  packed.stretches.clear();
  std::int32_t begin = 0;
  for (std::size_t first = 0; first < bases.size(); first += 32) {
    const std::size_t count = std::min<std::size_t>(32, bases.size() - first);
    std::uint64_t word = 0;
    std::uint32_t seen = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t code = nucleotide_codes[static_cast<unsigned char>(bases[first + i])];
      seen |= code;
      word = word << 2 | (code & 3);
    }
    packed.words[first / 32 + 1] = word << (64 - 2 * count);
    if (seen < ambiguous_code) continue;
    for (std::size_t i = first; i < first + count; ++i)
      if (nucleotide_codes[static_cast<unsigned char>(bases[i])] == ambiguous_code)
        add_ambiguous(packed.stretches, begin, static_cast<std::int32_t>(i));
  }
  add_ambiguous(packed.stretches, begin, packed.length);
}

void reverse_complement(const PackedRead& packed, PackedRead& reversed) {
  reversed.length = packed.length;
  reversed.words.assign(packed.words.size(), 0);
  std::int32_t place = packed.length - 32;
  for (std::size_t word = 1; place > -32; ++word, place -= 32) {
    reversed.words[word] = reverse_complement_of_word(FmIndexTables::packed_bases_at(packed.words.data(), place));
    if (place < 0) reversed.words[word] &= ~std::uint64_t{0} << (-2 * place);
  }
  reversed.stretches.clear();
  for (auto stretch = packed.stretches.rbegin(); stretch != packed.stretches.rend(); ++stretch)
    reversed.stretches.push_back({packed.length - stretch->end, packed.length - stretch->begin});
}

}  // namespace sluice::mem_seeding
