// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/header_input.hpp>
#include <sluice/hts/open_input.hpp>
#include <sluice/input_files.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bedgraph_writer/big_wig.hpp"

namespace sluice::bedgraph_writer {
namespace {

// Contigs of which one name comes once.
class ContigList {
 public:
  void add(std::string_view name, std::uint64_t bases) {
    if (!names_.insert(std::string(name)).second) return;
    if (bases > std::numeric_limits<std::uint32_t>::max())
      throw Failure::usage("contig '" + std::string(name) + "' is too long for bigWig, whose positions have 32 bits", "write bedGraph");
    contigs.push_back({std::string(name), static_cast<std::uint32_t>(bases)});
  }
  void add_header(const std::string& path) {
    errno = 0;
    const hts::File file = hts::open_file(path);
    if (!file) throw Failure::input("cannot open '" + path + "': " + (errno != 0 ? std::strerror(errno) : "no alignment file"));
    const hts::Header header = hts::read_header(*file, "alignment file '" + path + "'");
    for (int contig = 0; contig < sam_hdr_nref(header.get()); ++contig)
      add(sam_hdr_tid2name(header.get(), contig), static_cast<std::uint64_t>(sam_hdr_tid2len(header.get(), contig)));
  }
  std::vector<ContigLength> contigs;

 private:
  std::unordered_set<std::string> names_;
};

// Sink: the share of one modification at each position as bedGraph or bigWig.
class BedGraphWriter {
 public:
  struct Parameters {
    Path output;
    std::string format = "bedgraph";
    std::optional<Path> alignments;
    std::string modification = "m";
    std::int64_t min_coverage = 1;
  };
  static void describe(Describe<BedGraphWriter>& d) {
    d.id("bedgraph_writer").summary("writes the share of a base modification at each position as bedGraph or bigWig").sink("pileup").work_unit("row");
    d.doc(
        "Contig, position, position + 1 and percent modified, tab-separated. Both strands and all partitions of a position are added up; of several "
        "motifs that have the base only the first one's rows are, as the others count the same reads. Rows have to come sorted by position, as "
        "modification_pileup gives them. .gz: BGZF with the index of tabix; .zst: zstd; .arrow: Arrow IPC; .parquet: "
        "Parquet. bigWig has zoom levels, and needs the lengths of the contigs: from the reference or the headers of alignments.");
    d.needs("contig", "utf8", "name of the reference sequence").needs("position", "i64", "0-based, on the forward strand");
    d.needs("modification", "utf8", "its code; of several motifs with the motif").needs("strand", "utf8", "+, - or .", Needed::optional);
    for (const char* name : {"modified", "canonical", "other_modified"}) d.needs(name, "i64", "reads, see modification_pileup");
    d.uses("reference", "contig", "for bigWig: the contigs", Needed::optional);
    d.option("output", &Parameters::output,
             "file to write; bedGraph: .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes()
        .beside(".tbi")
        .beside(".csi");
    d.option("format", &Parameters::format, "what to write").choices({"bedgraph", "bigwig"});
    d.option("alignments", &Parameters::alignments,
             "for bigWig without a reference: BAM, SAM or CRAM files or folders whose headers name the contigs")
        .reads()
        .several(".bam .sam .cram");
    d.option("modification", &Parameters::modification, "code of the modification that is written");
    d.option("min_coverage", &Parameters::min_coverage, "positions with fewer valid calls are left out").range(1, 1e9);
  }

  static void check_parameters(const Parameters& p) {
    std::int32_t number = 0;
    const char* const end = p.modification.data() + p.modification.size();
    const auto parsed = std::from_chars(p.modification.data(), end, number);
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == end && number > 0;
    const bool is_letter = p.modification.size() == 1 && std::isalpha(static_cast<unsigned char>(p.modification[0])) != 0;
    if (!is_number && !is_letter) throw Failure::usage("'" + p.modification + "' is no code of a modification", "write a letter or a ChEBI number");
  }

  BedGraphWriter(const Setup& setup, const Parameters& p) : modification_(p.modification), min_coverage_(p.min_coverage) {
    if (p.format == "bigwig") {
      big_wig_.emplace(p.output, contigs_of(setup, p));
      big_wig_file_ = OutputFile(setup, p.output);
    } else {
      table_.emplace(setup, p.output, schema(), hts::bed_columns);
    }
    resume(setup, [this](StateReader& from) {
      table_ ? table_->restore(from) : big_wig_->restore(from);
      site_.contig = from.text();
      site_.position = from.value<std::int64_t>(), site_.modified = from.value<std::int64_t>(), site_.valid = from.value<std::int64_t>();
      for (auto left = from.value<std::uint64_t>(); left > 0; --left) {
        const std::string strand(from.text());
        site_.motifs[strand] = std::string(from.text());
      }
    });
  }

  void commit(const Call& call, const Batch& in) {
    const bool has_strand = in.find("strand") != nullptr;
    const TextView contig = in.text("contig"), modification = in.text("modification"), strand = in.text(has_strand ? "strand" : "contig");
    const auto position = in.column<std::int64_t>("position"), modified = in.column<std::int64_t>("modified"),
               canonical = in.column<std::int64_t>("canonical"), other = in.column<std::int64_t>("other_modified");
    std::string lines;
    std::uint64_t used = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const auto i = static_cast<std::size_t>(row);
      const std::string_view code = modification[row].substr(0, modification[row].find(',')), motif = modification[row].substr(code.size());
      if (!in.ok(row)) continue;
      if (code != modification_) {
        if (others_.size() < most_others) others_.emplace(code);
        continue;
      }
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1024;
      for (const std::int64_t number : {position[i], modified[i], canonical[i], other[i]})
        if (number < 0 || number > most)
          throw Failure::input("site " + std::string(contig[row]) + ":" + std::to_string(position[i]) + ": a position or counts that can't be",
                               "use the rows of modification_pileup");
      if (site_.contig != contig[row] || site_.position != position[i]) {
        end_site(lines);
        site_ = {std::string(contig[row]), position[i], 0, 0, {}};
      }
      if (site_.motifs.try_emplace(std::string(has_strand ? strand[row] : ""), motif).first->second != motif) continue;
      site_.modified += modified[i];
      site_.valid += modified[i] + canonical[i] + other[i];
      ++used;
    }
    if (table_) table_->write(call, lines);
    call.outcome("written", used, static_cast<std::uint64_t>(in.rows()));
  }
  void finish(const Call& call, Output&) {
    if (site_.contig.empty() && !others_.empty()) {
      std::string codes;
      for (const std::string& code : others_) codes += (codes.empty() ? "'" : ", '") + code + "'";
      call.warn("no position has the modification '" + modification_ + "': those that there are: " + codes);
    }
    std::string line;
    end_site(line);
    if (table_) {
      table_->write(call, line);
      return table_->finish(call);
    }
    big_wig_->write([&](std::string_view bytes) {
      if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "cancelled");
      big_wig_file_.write(bytes);
    });
    big_wig_file_.close();
  }
  void save(const Call& call, StateWriter& to) {
    table_ ? table_->save(call, to) : big_wig_->save(to);
    to.text(site_.contig);
    to.value(site_.position), to.value(site_.modified), to.value(site_.valid);
    to.value(std::uint64_t{site_.motifs.size()});
    for (const auto& [strand, motif] : site_.motifs) to.text(strand), to.text(motif);
  }

 private:
  struct Site {
    std::string contig;
    std::int64_t position = -1, modified = 0, valid = 0;
    std::map<std::string, std::string> motifs;  // the first that came, by strand
  };
  static arrow::TableSchema schema() { return arrow::table_schema("chrom\tstart\tend\tpercent_modified", {"utf8", "i64", "i64", "f64"}); }
  static std::vector<ContigLength> contigs_of(const Setup& setup, const Parameters& p) {
    ContigList list;
    if (setup.has_resource("reference")) {
      const ReferenceText reference(setup.resource("reference"));
      for (std::int64_t contig = 0; contig < reference.contigs(); ++contig) list.add(reference.name(contig), reference.bases(contig).size());
    } else if (p.alignments && !p.alignments->empty()) {
      hts::silence();
      for (const std::string& path : input_files(*p.alignments, ".bam .sam .cram")) list.add_header(path);
    } else {
      throw Failure::usage("'" + p.output + "': bigWig needs the lengths of all contigs", "give the reference");
    }
    return std::move(list.contigs);
  }
  // Where all of its rows have come.
  void end_site(std::string& lines) {
    if (site_.valid < min_coverage_) return;
    const double percent = 100.0 * static_cast<double>(site_.modified) / static_cast<double>(site_.valid);
    if (big_wig_) return big_wig_->add(site_.contig, site_.position, static_cast<float>(percent));
    const auto append = [&](const auto... number) {
      char digits[32];
      lines.append(digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), number...).ptr - digits));
    };
    lines += site_.contig + '\t';
    append(site_.position);
    lines += '\t';
    append(site_.position + 1);
    lines += '\t';
    append(percent, std::chars_format::fixed, 2);
    lines += '\n';
  }

  static constexpr std::size_t most_others = 8;
  std::string modification_;
  std::set<std::string, std::less<>> others_;  // modifications that came and are not written; some
  std::int64_t min_coverage_;
  std::optional<arrow::IndexedTable> table_;
  std::optional<BigWig> big_wig_;  // in place of the table
  OutputFile big_wig_file_;
  Site site_;  // whose rows may not all have come
};

}  // namespace
}  // namespace sluice::bedgraph_writer

SLUICE_PLUGIN("bedgraph_writer", "0.1.0", "MIT", sluice::bedgraph_writer::BedGraphWriter);
