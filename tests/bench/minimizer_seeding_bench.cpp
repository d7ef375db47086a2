// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Seconds of processor time of one thread for building an index and for the steps of seeding.
//   minimizer_seeding_bench REFERENCE READS [K W]
// READS: FASTQ with one line of bases a read, plain.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "minimizer_index/index_builder.hpp"
#include "minimizer_index/sequence_text.hpp"
#include "minimizer_seeding/seeding.hpp"
#include "minimizer_seeding/sketch.hpp"

using namespace sluice;

namespace {

double seconds(const std::function<void()>& body) {
  const std::clock_t begin = std::clock();
  body();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return fmt::print(stderr, "minimizer_seeding_bench REFERENCE READS [K W]\n"), 2;
  const SketchKernels kernels = minimizer_seeding::sketch_kernels();
  SketchParameters parameters;
  if (argc > 4) parameters.k = static_cast<std::uint32_t>(std::stoul(argv[3])), parameters.w = static_cast<std::uint32_t>(std::stoul(argv[4]));
  const minimizer_index::ForEach one_thread = [](std::size_t count, const std::function<void(std::size_t)>& body) {
    for (std::size_t i = 0; i < count; ++i) body(i);
  };
  minimizer_index::ReferenceBases reference;
  minimizer_index::MinimizerTable table;
  fmt::print("reading the reference {:.3f} s\n",
             seconds([&] { reference = minimizer_index::read_sequences({argv[1]}, kernels, [] { return false; }); }));
  fmt::print("building the table    {:.3f} s\n",
             seconds([&] { table = minimizer_index::build_table(minimizer_index::sketch_parts(reference, parameters, kernels), one_thread); }));
  const minimizer_index::MinimizerIndex index = minimizer_index::make_index(parameters, std::move(reference), std::move(table));

  std::vector<std::string> reads;
  std::ifstream file(argv[2]);
  std::size_t bases = 0;
  for (std::string line; std::getline(file, line);) {
    std::getline(file, line);
    bases += line.size();
    reads.push_back(std::move(line));
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  minimizer_seeding::SeedingParameters p;
  p.mid_occ = occurrence_threshold(index.view, 2e-4F, 10, 1000000);
  minimizer_seeding::ReadSeeds read;
  std::uint64_t minimizers = 0, anchors = 0, check = 0;
  double sketching = 1e9, sorting = 0, all = 1e9;
  for (int round = 0; round < 3; ++round) {
    sketching = std::min(sketching, seconds([&] {
                           minimizers = 0;
                           for (const std::string& r : reads) {
                             read.minimizers.clear();
                             const PackedSequence packed = pack_bases(r, kernels, read.sketch);
                             sketch(packed, parameters, 0, packed.length, kernels, read.sketch, read.minimizers);
                             minimizers += read.minimizers.size();
                           }
                         }));
    all = std::min(all, seconds([&] {
                     anchors = check = 0;
                     for (const std::string& r : reads) {
                       minimizer_seeding::find_anchors(index.view, p, {}, "", r, kernels, read);
                       anchors += read.anchors.size();
                       for (const auto& anchor : read.anchors) check = check * 31 + anchor.x * 7 + anchor.y;
                     }
                   }));
  }
  // How much of it is sorting: the anchors once more, brought back into the order in which they were made.
  for (const std::string& r : reads) {
    minimizer_seeding::find_anchors(index.view, p, {}, "", r, kernels, read);
    auto made = read.anchors;
    std::stable_sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return (a.y & 0xFFFFFFFF) < (b.y & 0xFFFFFFFF); });
    sorting += seconds([&] { minimizer_seeding::sort_anchors(made); });
  }
  fmt::print("{} reads, {:.1f} Mb, {} minimizers, {} anchors, check {:016x}\n", reads.size(), static_cast<double>(bases) / 1e6, minimizers, anchors,
             check);
  fmt::print("sketch {:.3f} s, all of seeding {:.3f} s, of it sorting about {:.3f} s\n", sketching, all, sorting);
}
