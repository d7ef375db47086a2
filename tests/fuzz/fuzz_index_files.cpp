// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as an index file: of minimizers, of minimap2, or an FM-index. It is refused with a reason, or searches in it stay inside. Checksums are
// not looked at, so that what they would hide is seen. Run: build/fuzz/bin/fuzz_index_files -max_len=4096 CORPUS tests/fuzz/index_files_seeds
#include <string>
#include <string_view>

#include "fm_index/index_file.hpp"
#include "fuzzed_file.hpp"
#include "minimizer_index/index_file.hpp"
#include "minimizer_index/minimap2_index.hpp"
#include "minimizer_index/sketch.hpp"
#include "minimizer_seeding/seeding.hpp"
#include "minimizer_seeding/sketch.hpp"

using namespace fuzzing;

namespace {

constexpr std::string_view read_bases = "ACGTTGCATTCAGGATTACAGGCGTCCATTGNACGTTGCATTCAGGATTACAGACCCGTTTAAAAAAAAAAAAGCATTCAGGATTACAGGCGTCC";

void one_by_one(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
}
void in_one_piece(std::size_t count, std::size_t, const std::function<void(std::size_t, std::size_t)>& body) {
  if (count > 0) body(0, count);
}

void search(const sluice::MinimizerIndexView& index) {
  using namespace sluice::minimizer_seeding;
  std::string names;
  for (std::size_t contig = 0; contig < index.contigs(); ++contig) {
    names += index.contig_name(contig);
    if (index.packed_bases.empty()) continue;
    for (std::int32_t place = 0; place < index.contig_length[contig]; ++place) require(index.base(contig, static_cast<std::uint32_t>(place)) <= 3);
  }
  require(names.size() == index.contig_name_bytes.size());
  SeedingParameters parameters;
  parameters.mid_occ = sluice::occurrence_threshold(index, 2e-4F, 10, 1000000);
  parameters.diagonal = Diagonal::skip;
  const NameOrder order(index);
  ReadSeeds read;
  find_anchors(index, parameters, order, "read", read_bases, sketch_kernels(), read);
  for (const Anchor& anchor : read.anchors) require((anchor.x << 1 >> 33) < index.contigs());
}

void search(const sluice::fm_index::FmIndex& index) {
  sluice::FmIndexView view;
  require(index.connect(view));
  const sluice::FmIndexTables& tables = view.tables;
  const std::uint64_t rows = tables.text_length + 1;
  for (std::size_t contig = 0; contig < view.contigs(); ++contig) require(view.contig_name(contig).size() <= view.contig_name_bytes.size());
  std::uint64_t word = 0;
  sluice::FmRows found{0, rows};
  for (std::size_t i = 0; i < read_bases.size(); ++i) {
    const auto symbol = static_cast<std::uint32_t>(std::string_view("ACGT").find(read_bases[i]) & 3U);
    word = (word << 2 | symbol) & ((std::uint64_t{1} << 2 * tables.k) - 1);
    tables.word_present(word, tables.k);
    sluice::FmRows of_word = tables.word_rows(word, tables.k);
    found = tables.extend_left(found, symbol);
    for (const sluice::FmRows& some : {found, of_word}) {
      require(some.begin <= rows && some.end <= rows);
      if (some.begin < some.end) tables.place(some.begin), tables.place(some.end - 1);
    }
    if (found.begin >= found.end) found = {0, rows};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const FileOf file(bytes);
  try {
    if (bytes.starts_with("MMI")) {
      using namespace sluice::minimizer_index;
      Minimap2Index read = read_minimap2_index(file.path(), sketch_kernels());
      MinimizerTable table = build_table(read.parts(), one_by_one);
      search(make_index(read.parameters, std::move(read.reference), std::move(table)).view);
    } else if (bytes.starts_with(sluice::fm_index::index_magic)) {
      search(sluice::fm_index::map_index(file.path(), sluice::fm_index::Verify::structure, in_one_piece).index);
    } else {
      search(sluice::minimizer_index::map_index(file.path(), sluice::minimizer_index::Verify::structure, one_by_one).index.view);
    }
  } catch (const sluice::Failure& failure) {
    require(failure.status() == SLUICE_ERROR_INPUT && !std::string_view(failure.what()).empty());
  }
  return 0;
}
