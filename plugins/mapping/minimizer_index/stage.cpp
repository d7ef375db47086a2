// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <sluice/hts/input_end.hpp>
#include <sluice/input_files.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>
#include <string>

#include "minimizer_index/index_builder.hpp"
#include "minimizer_index/index_contigs.hpp"
#include "minimizer_index/index_file.hpp"
#include "minimizer_index/minimap2_index.hpp"
#include "minimizer_index/sequence_text.hpp"
#include "minimizer_index/sketch.hpp"

namespace sluice::minimizer_index {
namespace {

// The first bytes of a file, fewer if it has fewer; what cannot be opened is left to those who then read it.
std::string first_bytes(const std::string& path, std::size_t count) {
  std::string bytes(count, '\0');
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return {};
  bytes.resize(std::fread(bytes.data(), 1, count, file));
  std::fclose(file);
  return bytes;
}

class MinimizerIndexResource {
 public:
  struct Parameters {
    Path path;
    std::optional<std::int32_t> k, w;
    std::optional<bool> hpc;
    std::string seeds = "minimizer";
    Path save;
    std::int64_t part_bases = 0;
    std::optional<std::int32_t> max_coverage;
    std::string verify = "large", empty = "refused";
  };

  static void describe(Describe<MinimizerIndexResource>& d) {
    d.id("minimizer_index")
        .summary("the minimizers of reference sequences, from FASTA or an index file")
        .resource("minimizer_index")
        .work_unit("base");
    d.doc(
        "Made from FASTA or FASTQ (plain, gzip, bgzip), mapped from an index file of this program, or read from one of minimap2 (.mmi); which, the "
        "file's first bytes say. "
        "The minimizers are those of minimap2 2.24. References of any size make one index, as with a large enough -I of minimap2.");
    d.option("path", &Parameters::path, "sequences (several files or folders, too) or an index").required().reads().several(text_endings);
    d.option("k", &Parameters::k, "bases of a k-mer; without it 15, or what the index file was made with").range(1, 28);
    d.option("w", &Parameters::w, "a minimizer is the smallest of so many k-mers; without it 10, or what the index file was made with").range(1, 255);
    d.option("hpc", &Parameters::hpc, "homopolymers count as one base (minimap2's -H); without it no, or what the index file was made with");
    d.option("seeds", &Parameters::seeds,
             "what is looked up: mem: nothing, seeds come from elsewhere, so that an index that is made and not saved has contigs and bases alone")
        .choices({"minimizer", "mem"});
    d.option("save", &Parameters::save, "write the index to this file, too").writes();
    d.option("part_bases", &Parameters::part_bases,
             "sequences of more bases than this make an index in parts of so many, whose tables those who look minimizers up make one after the "
             "other; 0: "
             "one part, as an index that is saved or loaded is in any case")
        .range(0, std::int64_t{1} << 50)
        .unit("bases");
    d.option(
         "max_coverage", &Parameters::max_coverage,
         "of sequences that lie over each other more often, so many chosen at random are found; 0: all, with a warning where that takes long; left "
         "out: all. Not with an index that was made before, or in parts")
        .range(0, 1e9);
    d.option("verify", &Parameters::verify, "large: of an index file of more than 4 GiB check the checksums of small parts only; full: all of them")
        .choices({"large", "full"});
    d.option("empty", &Parameters::empty, "files without a sequence: refused, or an index of none and a warning, as for reads that may be none")
        .choices({"refused", "allowed"});
    d.gives("contig_length", "list<i32>", "bases of each contig")
        .gives("contig_name_begin", "list<i64>", "places of the names in contig_name, and its end")
        .gives("contig_name", "list<u8>", "names, one after the other")
        .gives("contig_base_begin", "list<i64>", "places of the contigs' first bases among the packed bases, and their end")
        .gives("packed_bases", "list<u64>", "32 bases a word, the first in the lowest bits; none if an .mmi has none")
        .gives("ambiguous_begin", "list<i64>", "first place of each run of ambiguous bases")
        .gives("ambiguous_end", "list<i64>", "place behind its last")
        .gives("slot", "list<u64>", "the table: pairs of key and value")
        .gives("position", "list<u64>", "positions of minimizers that occur more than once")
        .gives("occurrence_count", "list<u32>", "numbers of occurrences, ascending")
        .gives("occurrence_minimizers", "list<u64>", "how many minimizers have each")
        .gives("part_begin", "list<i64>", "contigs where the parts begin, and the end of the last; none: one part, which the table has")
        .gives("frequent_hash", "list<u64>", "of an index in parts: the minimizers with more than 10 positions")
        .gives("frequent_count", "list<u32>", "how many positions each of these has");
  }

  MinimizerIndexResource(const Setup&, const Parameters& p) : parameters_(p) {}

  void process(const Call& call, Output& out) {
    const ForEach for_each = [&call](std::size_t count, const std::function<void(std::size_t)>& body) {
      call.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
        if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "making the index was cancelled");
        for (std::size_t i = begin; i < end; ++i) body(i);
      });
    };
    const std::vector<std::string> paths = input_files(parameters_.path, text_endings);
    const std::string& path = paths[0];
    if (paths.size() > 1) check_several(paths);
    const std::string begin = first_bytes(path, index_magic.size());
    IndexSource source = source_of(path);
    MinimizerIndex index;
    if (begin == index_magic || begin.starts_with("MMI")) refuse_coverage("that was made before", "give the sequences themselves");
    if (begin == index_magic) {
      LoadedIndex loaded = map_index(path, parameters_.verify == "full" ? Verify::full : Verify::large, for_each);
      compare_with_parameters(loaded.index.view);
      index = std::move(loaded.index);
      source = loaded.source;
    } else if (begin.starts_with("MMI")) {
      Minimap2Index read = read_minimap2_index(path, sketch_kernels());
      MinimizerTable table = build_table(read.parts(), for_each);
      read.minimizers = {};
      index = make_index(read.parameters, std::move(read.reference), std::move(table));
      compare_with_parameters(index.view);
    } else {
      SketchParameters parameters;
      parameters.k = static_cast<std::uint32_t>(parameters_.k.value_or(15));
      parameters.w = static_cast<std::uint32_t>(parameters_.w.value_or(10));
      parameters.homopolymers = parameters_.hpc.value_or(false) ? HomopolymerCompression::on : HomopolymerCompression::off;
      ReferenceBases reference = read_sequences(
          paths, sketch_kernels(), [&call] { return call.cancelled(); },
          parameters_.empty == "allowed" ? NoSequences::allowed : NoSequences::refused);
      if (reference.contigs() == 0) call.warn(hts::empty_text("reference '" + path + "'"));
      for (const std::string& one : paths)
        if (hts::is_fasta_with_open_end(one)) call.warn(hts::open_end_text("reference '" + one + "'"));
      const bool saved = !std::string(parameters_.save).empty(), has_table = parameters_.seeds == "minimizer" || saved;
      const MinimizerParts sketched = has_table ? sketch_parts(reference, parameters, sketch_kernels()) : MinimizerParts{};
      std::vector<std::int64_t> part_begin = part_begins(reference, has_table && !saved ? parameters_.part_bases : 0);
      if (part_begin.size() > 2) {
        refuse_coverage("in parts", "give --part-bases 0");
        auto counts = minimizer_table::count_minimizers(sketched, frequent_above, for_each);
        call.count("parts", static_cast<double>(part_begin.size() - 1));
        index = make_index_in_parts(parameters, std::move(reference), std::move(part_begin), std::move(counts));
      } else {
        MinimizerTable table = build_table(sketched, for_each, build_bytes, static_cast<std::size_t>(parameters_.max_coverage.value_or(0)));
        if (parameters_.max_coverage == 0) warn_of_coverage(call, table);
        index = make_index(parameters, std::move(reference), std::move(table));
      }
    }
    if (!std::string(parameters_.save).empty()) {
      OutputFile file(call, parameters_.save);
      write_index(index.view, source, for_each, [&](std::string_view bytes) { file.write(bytes); });
      file.close();
    }
    give(index, out);
    out.set_attribute("path", path);
  }

 private:
  void refuse_coverage(const std::string& what, const char* remedy) const {
    if (parameters_.max_coverage.value_or(0) > 0) throw Failure::usage("--max-coverage does not work with an index " + what, remedy);
  }
  // All against all take time by pairs of equal minimizers, some ten million a second and thread; of deep data most of them are of one place.
  static void warn_of_coverage(const Call& call, const MinimizerTable& table) {
    constexpr double many_pairs = 1e9, deep = 100;
    double positions = 0, pairs = 0;
    for (std::size_t i = 0; i < table.occurrence_count.size(); ++i) {
      const double count = table.occurrence_count[i], all = count * static_cast<double>(table.occurrence_minimizers[i]);
      positions += all;
      pairs += all * count;
    }
    if (pairs < many_pairs || pairs < deep * positions) return;
    call.warn("a minimizer of the reads is in " + std::to_string(std::llround(pairs / positions)) + " others, and all of them are compared, some " +
              std::to_string(std::llround(pairs / 1e7)) + " CPU seconds; --max-coverage 400 compares with so many");
  }
  static constexpr const char* text_endings =
      ".fasta .fa .fastq .fq .fasta.gz .fa.gz .fastq.gz .fq.gz .fasta.zst .fa.zst .fastq.zst .fq.zst";  // zstd: refused
  // An index file says of which file it is, and of one only.
  void check_several(const std::vector<std::string>& paths) const {
    if (!std::string(parameters_.save).empty()) throw Failure::usage("an index of several files can't be saved", "put the sequences into one file");
    for (const std::string& path : paths)
      if (const std::string begin = first_bytes(path, index_magic.size()); begin == index_magic || begin.starts_with("MMI"))
        throw Failure::usage("'" + path + "' is an index, and one of several files", "give it alone, or the sequences themselves");
  }
  void compare_with_parameters(const MinimizerIndexView& index) const {
    const auto check = [&](const char* name, std::uint32_t asked, std::uint32_t is) {
      if (asked != is)
        throw Failure::usage(
            "index '" + std::string(parameters_.path) + "' was made with " + name + " = " + std::to_string(is) + ", not " + std::to_string(asked),
            std::string("give ") + name + " = " + std::to_string(is) + ", or the sequences themselves");
    };
    if (parameters_.k) check("k", static_cast<std::uint32_t>(*parameters_.k), index.k);
    if (parameters_.w) check("w", static_cast<std::uint32_t>(*parameters_.w), index.w);
    if (parameters_.hpc) check("hpc", *parameters_.hpc ? 1 : 0, index.homopolymer_compressed ? 1 : 0);
  }

  template <Element T>
  static void give_column(const char* name, std::span<const T> values, const MinimizerIndex& index, Output& out) {
    const Buffer offsets = out.offsets([&](std::int64_t) { return values.size(); });
    // An empty column still has an address.
    static const T none{};
    out.add(name, list_column<T>(1, offsets, Buffer::adopt(index.owner, values.empty() ? &none : values.data(), values.size_bytes())));
  }
  static void give(const MinimizerIndex& index, Output& out) {
    const MinimizerIndexView& v = index.view;
    out.set_rows(1);
    give_column("contig_length", v.contig_length, index, out);
    give_column("contig_name_begin", v.contig_name_begin, index, out);
    give_column("contig_name", v.contig_name_bytes, index, out);
    give_column("contig_base_begin", v.contig_base_begin, index, out);
    give_column("packed_bases", v.packed_bases, index, out);
    give_column("ambiguous_begin", v.ambiguous_begin, index, out);
    give_column("ambiguous_end", v.ambiguous_end, index, out);
    give_column("slot", v.slots, index, out);
    give_column("position", v.positions, index, out);
    give_column("occurrence_count", v.occurrence_count, index, out);
    give_column("occurrence_minimizers", v.occurrence_minimizers, index, out);
    give_column("part_begin", v.part_begin, index, out);
    give_column("frequent_hash", v.frequent_hash, index, out);
    give_column("frequent_count", v.frequent_count, index, out);
    out.set_attribute("k", std::to_string(v.k));
    out.set_attribute("w", std::to_string(v.w));
    out.set_attribute("homopolymer_compressed", v.homopolymer_compressed ? "1" : "0");
    out.set_attribute("home_lines", std::to_string(v.home_lines));
  }

  Parameters parameters_;
};

}  // namespace
}  // namespace sluice::minimizer_index

SLUICE_PLUGIN("minimizer_index", "0.1.0", "MIT", sluice::minimizer_index::MinimizerIndexResource, sluice::minimizer_index::IndexContigs);
