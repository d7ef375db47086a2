// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/letters_in_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <sluice/sequence/letter_blocks.hpp>
#include <sluice/sequence/packed_bases.hpp>
#include <sluice/sequence_store.hpp>
#include <vector>

namespace sluice::sequence_store {
namespace {

// Some 100 kb of long reads, a tenth of a millisecond.
constexpr std::size_t rows_per_part = 16;

// Sequences are fetched in any order: with pages of 4 KiB each part of one takes a walk through the page table.
void prefer_large_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t large_page = std::uintptr_t{2} << 20U;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + large_page - 1) / large_page * large_page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / large_page * large_page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish: kernels without large pages say no
}

}  // namespace

RowsInMemory rows_in_memory(const SequenceTable& table, std::int64_t bytes) {
  const auto rows_that_fit = [&](auto&& bytes_of) {
    std::size_t row = 0;
    for (; row < table.length.size() && bytes_of(row) <= bytes; ++row) bytes -= bytes_of(row);
    return static_cast<std::int64_t>(row);
  };
  RowsInMemory rows;
  rows.packed = rows_that_fit(
      [&](std::size_t row) { return static_cast<std::int64_t>(packed_words(static_cast<std::size_t>(table.length[row])) * sizeof(std::uint64_t)); });
  rows.with_qualities = rows_that_fit([&](std::size_t row) { return table.qualities_offset[row] < 0 ? 0 : table.length[row]; });
  return rows;
}

void hold_letters(const Call& call, const StoredFile& stored, const std::string& path, std::int64_t bytes, Output& out) {
  const SequenceTable& table = stored.table;
  const RowsInMemory rows = rows_in_memory(table, bytes);
  const auto length = [&](std::int64_t row) { return static_cast<std::size_t>(table.length[static_cast<std::size_t>(row)]); };
  const Buffer word_offsets = out.offsets([&](std::int64_t row) { return row < rows.packed ? packed_words(length(row)) : 0; });
  const Buffer quality_offsets = out.offsets(
      [&](std::int64_t row) { return row < rows.with_qualities && table.qualities_offset[static_cast<std::size_t>(row)] >= 0 ? length(row) : 0; });
  const auto words = out.list<std::uint64_t>("packed_bases", word_offsets);
  const auto is_packed = out.column<std::uint8_t>("is_packed");
  const auto qualities = out.list<std::uint8_t>("qualities_in_memory", quality_offsets);
  prefer_large_pages(words.data(), words.size_bytes());
  prefer_large_pages(qualities.data(), qualities.size_bytes());
  const auto first_word = word_offsets.as<std::int64_t>(), first_quality = quality_offsets.as<std::int64_t>();
  const SequenceFile file(stored.file.number(), path);
  call.parallel_for(static_cast<std::size_t>(std::max(rows.packed, rows.with_qualities)), rows_per_part, [&](std::size_t first, std::size_t last) {
    std::vector<char> letters, scratch;
    for (std::size_t row = first; row < last && !call.cancelled(); ++row) {
      StoredLetters place{table.bases_offset[row], table.length[row], table.line_bases[row], table.line_bytes[row]};
      if (first_word[row + 1] > first_word[row]) {
        letters.resize(static_cast<std::size_t>(place.length));
        file.fetch(place, 0, place.length, letters.data(), scratch);
        to_normal_letters(letters.data(), letters.size());
        is_packed[row] = pack_bases(letters.data(), letters.size(), words.data() + first_word[row]) ? 1 : 0;
      }
      place.offset = table.qualities_offset[row];
      if (first_quality[row + 1] > first_quality[row])
        file.fetch(place, 0, place.length, reinterpret_cast<char*>(qualities.data()) + first_quality[row], scratch);
    }
  });
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the sequences were cancelled");
}

}  // namespace sluice::sequence_store
