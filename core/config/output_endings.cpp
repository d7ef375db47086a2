// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/output_endings.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// Formats that people have files of, whether anything here writes them or not.
struct KnownEnding {
  const char *ending, *format;
};
constexpr KnownEnding known_endings[] = {
    {"paf", "PAF"},
    {"sam", "SAM"},
    {"bam", "BAM"},
    {"cram", "CRAM"},
    {"bed", "BED"},
    {"bedmethyl", "bedMethyl"},
    {"fa", "FASTA"},
    {"fasta", "FASTA"},
    {"fna", "FASTA"},
    {"fas", "FASTA"},
    {"fq", "FASTQ"},
    {"fastq", "FASTQ"},
    {"tsv", "a table"},
    {"csv", "CSV"},
    {"feather", "Feather"},
    {"xlsx", "Excel"},
    {"h5", "HDF5"},
    {"hdf5", "HDF5"},
    {"gff", "GFF"},
    {"gff3", "GFF"},
    {"gtf", "GTF"},
    {"vcf", "VCF"},
    {"bcf", "BCF"},
    {"gfa", "GFA"},
    {"dot", "Graphviz"},
    {"bw", "bigWig"},
    {"bigwig", "bigWig"},
    {"bdg", "bedGraph"},
    {"bedgraph", "bedGraph"},
    {"wig", "WIG"},
    {"blow5", "BLOW5"},
    {"slow5", "SLOW5"},
    {"pod5", "POD5"},
    {"fast5", "FAST5"},
    {"json", "JSON"},
    {"html", "HTML"},
    {"svg", "SVG"},
    {"png", "PNG"},
    {"pdf", "PDF"},
    {"mmi", "an index of minimap2"},
    {"zip", "ZIP"},
    {"bz2", "bzip2"},
    {"xz", "xz"},
    {"model", "a k-mer model"},
    {"maf", "MAF"},
    {"2bit", "2bit"},
};

// Text in columns, which may be stored as Arrow or Parquet, too.
constexpr std::string_view table_endings[] = {"tsv", "csv", "txt", "paf", "bed", "bedmethyl", "bedgraph"};
bool is_table(std::string_view ending) { return std::find(std::begin(table_endings), std::end(table_endings), ending) != std::end(table_endings); }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

const KnownEnding* known_ending(std::string_view ending) {
  const auto* known = std::find_if(std::begin(known_endings), std::end(known_endings), [&](const KnownEnding& k) { return ending == k.ending; });
  return known == std::end(known_endings) ? nullptr : known;
}

std::string option_of(const std::string& parameter) { return "--" + kebab_case(parameter); }

// Those that `parameter` may have, the usual one first: its own, and those that say a format.
std::vector<std::string> endings_of(const WrittenPipeline& pipeline, const PipelineParameter& parameter) {
  std::vector<std::string> endings = parameter.endings;
  for (const PipelineParameter& other : pipeline.parameters)
    if (other.by_ending && other.by_ending->of == parameter.name)
      for (const auto& [ending, values] : other.by_ending->values)
        if (std::find(endings.begin(), endings.end(), ending) == endings.end()) endings.push_back(ending);
  return endings;
}

}  // namespace

std::string ending_of_name(std::string_view path) {
  std::string name = lower_case(path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1));
  for (const std::string_view storage : {".gz", ".zst", ".arrow", ".parquet"})
    if (name.ends_with(storage)) name.resize(name.size() - storage.size());
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(dot + 1);
}

void check_output_ending(const WrittenPipeline& pipeline, const PipelineParameter& parameter, const Overrides& given, Diagnostics& diagnostics) {
  const auto path = given.parameters.find(parameter.name);
  const std::vector<std::string> endings = endings_of(pipeline, parameter);
  if (path == given.parameters.end() || endings.empty()) return;
  const PipelineParameter* format = nullptr;
  for (const PipelineParameter& other : pipeline.parameters)
    if (other.by_ending && other.by_ending->of == parameter.name) format = &other;
  const auto format_given = format == nullptr ? given.parameters.end() : given.parameters.find(format->name);
  const std::string ending = ending_of_name(path->second);
  const std::string subject = given.name_at_place(parameter.name) + " '" + path->second + "': ";
  std::string all;
  for (const std::string& one : endings) all += (all.empty() ? "." : ", .") + one;
  const std::string written = lower_case(path->second);
  for (const auto& [stored, name] : {std::pair<std::string, std::string>{".arrow", "Arrow"}, {".parquet", "Parquet"}}) {
    const bool is_stored = written.ends_with(stored);
    if (is_stored && (ending.empty() ? std::none_of(endings.begin(), endings.end(), is_table) : !is_table(ending) && known_ending(ending) != nullptr))
      return diagnostics.error(given.place_of(parameter.name), "", subject + name + " is not written here, where there is no table",
                               "end the name in " + all);
  }
  for (const auto& [stored, name] :
       {std::pair<std::string, std::string>{".arrow", "Arrow"}, {".parquet", "Parquet"}, {".bam", "BAM"}, {".cram", "CRAM"}})
    if (written.ends_with(stored + ".gz") || written.ends_with(stored + ".zst"))
      return diagnostics.error(given.place_of(parameter.name), "", subject + name + " is compressed already", "end the name in " + stored);
  if (ending.empty() || format_given != given.parameters.end() || std::find(endings.begin(), endings.end(), ending) != endings.end()) return;
  if (const KnownEnding* known = known_ending(ending))
    return diagnostics.error(given.place_of(parameter.name), "", subject + known->format + " is not written here",
                             "end the name in " + all + (format == nullptr ? "" : ", or say what it is to be: " + option_of(format->name)));
  // "reads.v2" and "o.2026-11-26" have none, and some say nothing.
  if (ending == "txt" || ending == "out" || ending == "tmp" ||
      !std::all_of(ending.begin(), ending.end(), [](unsigned char c) { return std::isalpha(c) != 0; }))
    return;
  const std::string near = nearest_name(ending, endings);
  diagnostics.warning(given.place_of(parameter.name), "",
                      subject + "nobody knows the ending ." + ending + ", the file is written as " +
                          (format == nullptr ? endings.front() : format->default_text.value_or("")),
                      near.empty() ? "end the name in " + all : "did you mean ." + near + "?");
}

}  // namespace sluice
