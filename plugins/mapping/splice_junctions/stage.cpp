// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/introns.hpp>
#include <sluice/overlap/known_junctions.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

namespace sluice::splice_junctions {
namespace {

using overlap::Intron;

constexpr const char* min_mapq_help = "alignments of lower mapping quality do not count";

MinimizerIndexView index_with_bases(const Setup& setup) {
  const MinimizerIndexView index = minimizer_index_view(setup.resource("index"));
  if (index.packed_bases.empty() && index.contigs() > 0)
    throw Failure::input("the minimizer index has no bases, so the ends of introns are not known", "make the index from FASTA, or with its bases");
  return index;
}

// The introns of a read that count.
void introns_of(const std::vector<overlap::ReadAlignment>& alignments, const MinimizerIndexView& index, std::int32_t min_mapq,
                std::vector<Intron>& introns) {
  introns.clear();
  for (const overlap::ReadAlignment& alignment : alignments)
    if (alignment.is_primary && alignment.mapping_quality >= min_mapq) overlap::add_introns(alignment, index, introns);
}

// Reads to junctions: counts the alignments across each intron.
class JunctionCounts {
 public:
  struct Parameters {
    std::optional<Path> known;
    std::int32_t min_mapq = overlap::least_intron_quality;
  };
  static void describe(Describe<JunctionCounts>& d) {
    d.id("junction_counts").summary("introns of aligned reads, and how many reads have each").regroup("read", "junction").work_unit("row").sums();
    d.doc(
        "A row for each intron that an alignment has which is not secondary and whose transcript's strand is known; sorted by contig (in the order "
        "of "
        "the reference), start, end and strand. Scores are those of minimap2 2.31: GT 3, GC 2, AT 1 at the beginning, AG 3, AC 1 at the end, added "
        "up.");
    d.rows_are("junction");
    d.uses("index", "minimizer_index", "names and bases of the contigs");
    overlap::needs_read_alignments(d);
    d.gives("contig", "utf8", "name of the reference sequence");
    d.gives("start", "i32", "first base of the intron, 0-based").gives("end", "i32", "its end, exclusive");
    d.gives("ends", "utf8", "its first and last two bases along the transcript, as GT-AG");
    d.gives("score", "i32", "how usual its ends are, 0 to 6").gives("strand", "utf8", "of its transcript, + or -");
    d.gives("reads", "i64", "alignments that have it");
    d.gives("known", "i8", "1: the file of known ones has it, on its strand or without one, 0: it has not, -1: there is none");
    d.option("known", &Parameters::known, "known introns as BED, or transcripts as BED with 12 columns; .gz allowed").reads();
    d.option("min_mapq", &Parameters::min_mapq, min_mapq_help).range(0, 255);
  }

  JunctionCounts(const Setup& setup, const Parameters& p) : index_(index_with_bases(setup)), min_mapq_(p.min_mapq) {
    if (p.known && !p.known->empty()) known_.emplace(setup, *p.known, index_, overlap::Minimap2Release::v2_24);  // keeps equal places of both strands
    resume(setup, [this](StateReader& from) {
      for (auto left = from.value<std::uint64_t>(); left > 0; --left) {
        Intron intron;
        for (std::int32_t* number : {&intron.contig, &intron.begin, &intron.end, &intron.reverse}) *number = from.value<std::int32_t>();
        if (static_cast<std::size_t>(static_cast<std::uint32_t>(intron.contig)) >= index_.contigs()) throw damaged_state();
        reads_[intron] += from.value<std::int64_t>();
      }
    });
  }

  void process(const Call& call, const Batch& in, Output&) {
    const overlap::ReadAlignments alignments(in, overlap::TagText::none);
    std::vector<overlap::ReadAlignment> of_read;
    std::vector<Intron> introns;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      alignments.read(row, index_.contigs(), of_read);
      introns_of(of_read, index_, min_mapq_, introns);
      for (const Intron& intron : introns) ++reads_[intron];
    }
    constexpr std::size_t bytes_of_node = 80;
    call.keeps(reads_.size() * bytes_of_node);
  }

  void finish(const Call& call, Output& out) {
    constexpr std::size_t rows_of_batch = 10'000;
    std::uint64_t known = 0, reads = 0, reads_of_known = 0;
    for (auto next = reads_.begin(); next != reads_.end();) {
      std::vector<std::pair<Intron, std::int64_t>> rows;
      while (next != reads_.end() && rows.size() < rows_of_batch) rows.emplace_back(*next++);
      emit(rows, out);
      for (const auto& [intron, count] : rows) {
        const auto number = static_cast<std::uint64_t>(count);
        reads += number;
        if (is_known(intron)) ++known, reads_of_known += number;
      }
    }
    ResultFigures figures;
    figures.describe(all_junctions);
    figures.add_total(all_junctions, reads_.size());
    if (known_) {
      figures.describe(known_share);
      figures.add_share(known_share, known, reads_.size());
      figures.describe(known_reads);
      figures.add_share(known_reads, reads_of_known, reads);
    }
    figures.give(call);
  }

  void save(const Call&, StateWriter& to) {
    to.value(std::uint64_t{reads_.size()});
    for (const auto& [intron, reads] : reads_) {
      for (const std::int32_t number : {intron.contig, intron.begin, intron.end, intron.reverse}) to.value(number);
      to.value(reads);
    }
  }

 private:
  static constexpr Figure all_junctions{0, FigureKind::total, "junctions", "", "introns that reads have, each counted once"};
  static constexpr Figure known_share{1, FigureKind::share, "known junctions", "",
                                      "introns of reads that the file of known ones has, each counted once"};
  static constexpr Figure known_reads{2, FigureKind::share, "reads over known junctions", "", "introns of all reads, of which the file has so many"};

  bool is_known(const Intron& intron) const {
    if (!known_) return false;
    const auto& all = known_->of_contig(static_cast<std::size_t>(intron.contig));
    const auto place = [](const auto& one) { return std::pair(one.begin, one.end); };
    const auto [first, last] = std::equal_range(all.begin(), all.end(), intron, [&](const auto& a, const auto& b) { return place(a) < place(b); });
    const int strand = intron.reverse != 0 ? -1 : 1;
    return std::any_of(first, last, [&](const auto& junction) { return junction.strand == 0 || junction.strand == strand; });
  }

  void emit(const std::vector<std::pair<Intron, std::int64_t>>& rows, Output& out) const {
    out.set_rows(static_cast<std::int64_t>(rows.size()));
    std::vector<std::string> contig, ends, strand;
    const auto start = out.column<std::int32_t>("start"), end = out.column<std::int32_t>("end"), score = out.column<std::int32_t>("score");
    const auto reads = out.column<std::int64_t>("reads");
    const auto known = out.column<std::int8_t>("known");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [intron, count] = rows[i];
      contig.emplace_back(index_.contig_name(static_cast<std::size_t>(intron.contig)));
      start[i] = intron.begin, end[i] = intron.end;
      ends.push_back(overlap::ends_of(index_, intron));
      score[i] = overlap::score_of(ends.back());
      strand.emplace_back(intron.reverse != 0 ? "-" : "+");
      reads[i] = count;
      known[i] = static_cast<std::int8_t>(known_ ? is_known(intron) : -1);
    }
    out.text_rows("contig", contig);
    out.text_rows("ends", ends);
    out.text_rows("strand", strand);
    out.emit();
  }

  MinimizerIndexView index_;
  std::int32_t min_mapq_;
  std::optional<overlap::KnownJunctions> known_;
  std::map<Intron, std::int64_t> reads_;
};

// Sink: a line for each intron of each read.
class JunctionWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
    std::int32_t min_mapq = overlap::least_intron_quality;
  };
  static void describe(Describe<JunctionWriter>& d) {
    d.id("junction_writer").sink("read").concatenates().summary("writes each intron of each aligned read, the lines of minimap2 --write-junc");
    d.doc(
        "Contig, start, end, read, score and strand, 0-based and end-exclusive, in the order of the reads, of alignments that are not secondary and "
        "whose transcript's strand is known. Scores as of junction_counts.");
    d.work_unit("row");
    d.uses("index", "minimizer_index", "names and bases of the contigs");
    d.needs("read_id", "utf8", "name of the read");
    overlap::needs_read_alignments(d);
    d.option("output", &Parameters::output, "where to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
    d.option("min_mapq", &Parameters::min_mapq, min_mapq_help).range(0, 255);
  }

  JunctionWriter(const Setup& setup, const Parameters& p) : index_(index_with_bases(setup)), min_mapq_(p.min_mapq), file_(setup, p.output) {
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const overlap::ReadAlignments alignments(in, overlap::TagText::none);
    const TextView names = in.text("read_id");
    std::vector<std::string> lines(static_cast<std::size_t>(in.rows()));
    std::vector<overlap::ReadAlignment> of_read;
    std::vector<Intron> introns;
    std::size_t count = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      alignments.read(row, index_.contigs(), of_read);
      introns_of(of_read, index_, min_mapq_, introns);
      count += introns.size();
      for (const Intron& intron : introns) append(lines[static_cast<std::size_t>(row)], intron, names[row]);
    }
    out.text_rows("_lines", lines);
    call.count("introns of reads", static_cast<double>(count));
  }
  void commit(const Call& call, const Batch& in) { file_.write_rows(call, in.text("_lines")); }
  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  void append(std::string& line, const Intron& intron, std::string_view read) const {
    line += index_.contig_name(static_cast<std::size_t>(intron.contig));
    overlap::tags::append(line, "\t", intron.begin);
    overlap::tags::append(line, "\t", intron.end);
    line.append("\t").append(read);
    overlap::tags::append(line, "\t", overlap::score_of(overlap::ends_of(index_, intron)));
    line += intron.reverse != 0 ? "\t-\n" : "\t+\n";
  }

  MinimizerIndexView index_;
  std::int32_t min_mapq_;
  hts::TextOutput file_;
};

}  // namespace
}  // namespace sluice::splice_junctions

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::splice_junctions::JunctionWriter>, "splice_junctions", "0.1.0", "MIT",
                   sluice::splice_junctions::JunctionCounts, sluice::splice_junctions::JunctionWriter);
