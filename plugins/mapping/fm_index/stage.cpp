// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>
#include <optional>
#include <sluice/fm_index.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/stage.hpp>
#include <string>

#include "fm_index/index_builder.hpp"
#include "fm_index/index_file.hpp"
#include "fm_index/reference_text.hpp"

namespace sluice::fm_index {
namespace {

bool is_index_file(const std::string& path) {
  std::string bytes(index_magic.size(), '\0');
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  return got == bytes.size() && bytes == index_magic;
}

constexpr std::uint64_t large_text = std::uint64_t{1} << 28;

class FmIndexResource {
 public:
  struct Parameters {
    Path path;
    std::string text = "auto";
    std::string format = "table";
    std::optional<std::int32_t> k, sample_interval;
    Path save;
    std::string verify = "large";
  };

  static void describe(Describe<FmIndexResource>& d) {
    d.id("fm_index").summary("the suffixes of reference sequences in order, from FASTA or an index file").resource("fm_index").work_unit("base");
    d.doc(
        "Made from FASTA (plain, gzip, bgzip) or mapped from an index file; which, the file's first bytes say. The text is all sequences one after "
        "the "
        "other, up to 4.29 Gbases, or together with its reverse complement, up to 2.14 Gbases. Ambiguous bases become the pseudo-random ones of bwa "
        "0.7.17; "
        "U becomes T.");
    d.option("path", &Parameters::path, "sequences (FASTA) or an index").required().reads();
    d.option("text", &Parameters::text,
             "forward: the sequences (GPUseed, mummer); both: and their reverse complement (bwa); either: both up to 2.14 Gbases, forward above, or "
             "what an index file holds; auto: what an index file holds, or else what the format is made from")
        .choices({"auto", "forward", "both", "either"});
    d.option("format", &Parameters::format, "the output that the index is for: fastmap needs both strands").choices({"table", "fastmap", "mummer"});
    d.option("k", &Parameters::k, "bases of the words whose rows are tabulated; without it by the text's length").range(5, 16).unit("bases");
    d.option("sample_interval", &Parameters::sample_interval,
             "keep every n-th suffix: less memory, slower; without it 1 up to 268 million bases, 4 above")
        .range(1, 1024);
    d.option("save", &Parameters::save, "write the index to this file, too").writes();
    d.option("verify", &Parameters::verify, "large: of an index file of more than 4 GiB check the checksums of small parts only; full: all of them")
        .choices({"large", "full"});
    d.gives("contig_name_begin", "list<i64>", "places of the names in contig_name, and its end")
        .gives("contig_name", "list<u8>", "names, one after the other")
        .gives("contig_begin", "list<i64>", "places of the contigs' first bases in the text, and the end of the last")
        .gives("ambiguous_begin", "list<i64>", "first place of each run of ambiguous bases")
        .gives("ambiguous_end", "list<i64>", "place behind its last")
        .gives("packed_text", "list<u64>", "32 bases a word, the first in the highest bits")
        .gives("block", "list<u64>", "bases before the suffixes of 192 rows and their counts, 64 bytes")
        .gives("suffix", "list<u32>", "where the suffixes of every sample_interval-th row begin")
        .gives("kmer_present", "list<u64>", "one bit for each word of k bases")
        .gives("kmer_rank", "list<u32>", "bits before every 512th")
        .gives("kmer_row", "list<u32>", "first row of each word that is there")
        .gives("symbol_row", "list<u32>", "first row of each base");
  }

  static void check_parameters(const Parameters& p) {
    if (p.format == "fastmap" && p.text == "forward")
      throw Failure::usage("the format fastmap is made from both strands, and text is forward", "leave text out, or choose another format");
  }

  FmIndexResource(const Setup&, const Parameters& p) : parameters_(p) {}

  void process(const Call& call, Output& out) {
    const ParallelFor parallel_for = [&call](std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body) {
      call.parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
        if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "making the index was cancelled");
        body(begin, end);
      });
    };
    const std::string& path = parameters_.path;
    IndexSource source = source_of(path);
    FmIndex index;
    if (is_index_file(path)) {
      LoadedIndex loaded = map_index(path, parameters_.verify == "full" ? Verify::full : Verify::large, parallel_for);
      index = std::move(loaded.index);
      source = loaded.source;
    } else {
      const bool both = parameters_.text == "both" || parameters_.format == "fastmap";
      BuildOptions options;
      options.k = static_cast<std::uint32_t>(parameters_.k.value_or(0));
      options.sample_interval = static_cast<std::uint32_t>(parameters_.sample_interval.value_or(0));
      options.memory = call.memory();
      const Strands strands = both ? Strands::both : parameters_.text == "either" ? Strands::either : Strands::forward;
      ReferenceText text = read_reference(path, strands, [&call] { return call.cancelled(); });
      if (hts::is_fasta_with_open_end(path)) call.warn(hts::open_end_text("reference '" + path + "'"));
      say_what_it_takes(call, text.length);
      index = build_index(std::move(text), options, parallel_for);
    }
    FmIndexView view;
    if (!index.connect(view)) throw std::logic_error("the parts of a new index do not fit together");
    compare_with_parameters(view);
    if (!std::string(parameters_.save).empty()) {
      OutputFile file(call, parameters_.save);
      write_index(index, source, parallel_for, [&](std::string_view bytes) { file.write(bytes); });
      file.close();
    }
    give(index, view, out);
  }

 private:
  void compare_with_parameters(const FmIndexView& view) const {
    const auto refuse = [&](const std::string& is, const std::string& asked) {
      throw Failure::usage("index '" + std::string(parameters_.path) + "' " + is + ", not " + asked,
                           "give the sequences themselves, or make another index");
    };
    const bool wants_both = parameters_.text == "both" || parameters_.format == "fastmap";
    if (wants_both && !view.both_strands()) refuse("holds the forward strand", "both strands");
    if (parameters_.text == "forward" && view.both_strands()) refuse("holds both strands", "the forward strand alone");
    const auto check = [&](const char* name, const std::optional<std::int32_t>& asked, std::uint32_t is) {
      if (asked && static_cast<std::uint32_t>(*asked) != is)
        refuse("was made with " + std::string(name) + " = " + std::to_string(is), std::to_string(*asked));
    };
    check("k", parameters_.k, view.tables.k);
    check("sample_interval", parameters_.sample_interval, view.tables.sample_interval);
  }

  // Before it takes minutes.
  static void say_what_it_takes(const Call& call, std::uint64_t bases) {
    if (bases < large_text) return;
    constexpr double gibibyte = 1024.0 * 1024 * 1024;
    char text[160];
    std::snprintf(text, sizeof text, "sorting %.2f Gbases takes %.1f GiB of memory, and 12 bytes for each base in repeats of more than 500 bases",
                  static_cast<double>(bases) / 1e9, static_cast<double>(build_bytes(bases)) / gibibyte);
    call.info(text);
  }

  template <Element T>
  static void give_column(const char* name, const Buffer& values, Output& out) {
    const Buffer offsets = out.offsets([&](std::int64_t) { return values.bytes() / sizeof(T); });
    out.add(name, list_column<T>(1, offsets, values));
  }
  void give(const FmIndex& index, const FmIndexView& view, Output& out) const {
    out.set_rows(1);
    give_column<std::int64_t>("contig_name_begin", index[Column::contig_name_begin], out);
    give_column<std::uint8_t>("contig_name", index[Column::contig_name], out);
    give_column<std::int64_t>("contig_begin", index[Column::contig_begin], out);
    give_column<std::int64_t>("ambiguous_begin", index[Column::ambiguous_begin], out);
    give_column<std::int64_t>("ambiguous_end", index[Column::ambiguous_end], out);
    give_column<std::uint64_t>("packed_text", index[Column::packed_text], out);
    give_column<std::uint64_t>("block", index[Column::block], out);
    give_column<std::uint32_t>("suffix", index[Column::suffix], out);
    give_column<std::uint64_t>("kmer_present", index[Column::kmer_present], out);
    give_column<std::uint32_t>("kmer_rank", index[Column::kmer_rank], out);
    give_column<std::uint32_t>("kmer_row", index[Column::kmer_row], out);
    give_column<std::uint32_t>("symbol_row", index[Column::symbol_row], out);
    out.set_attribute("path", parameters_.path);
    out.set_attribute("text_length", std::to_string(index.text_length));
    out.set_attribute("both_strands", view.both_strands() ? "1" : "0");
    out.set_attribute("k", std::to_string(index.k));
    out.set_attribute("sample_interval", std::to_string(index.sample_interval));
    out.set_attribute("first_suffix_row", std::to_string(index.first_suffix_row));
  }

  Parameters parameters_;
};

}  // namespace
}  // namespace sluice::fm_index

SLUICE_PLUGIN("fm_index", "0.1.0", "MIT", sluice::fm_index::FmIndexResource);
