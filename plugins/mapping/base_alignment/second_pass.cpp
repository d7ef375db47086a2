// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/second_pass.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <sluice/overlap/hit_columns.hpp>
#include <utility>

namespace sluice::base_alignment {

using overlap::Intron, overlap::ReadAlignment;

namespace {

struct ReadColumn {
  const char *name, *type, *doc;
  Needed needed;
};
// What stages behind base_alignment read of a read, beside its hits and alignments.
constexpr ReadColumn read_columns[] = {
    {"bases", "utf8", "the read in sequencing orientation", Needed::always},
    {"read_id", "utf8", "name of the read", Needed::always},
    {"read_length", "i32", "bases of the read", Needed::always},
    {"repeat_length", "i32", "bases under minimizers that were too frequent to be looked up", Needed::always},
    {"qualities", "utf8", "Phred scores + 33 as text, in the order of the bases; \"\" if the input has none", Needed::optional},
    {"written_bases", "utf8", "the bases as they stand in FASTA and FASTQ, where some are in lower case; else \"\"", Needed::optional},
    {"comment", "utf8", "what follows the name in the read's file", Needed::optional},
    {"tags", "binary", "the tags of the read in its file, as BAM has them", Needed::optional},
    {"basecaller_tags", "binary", "tags of the basecaller; layout: sluice/hts/basecaller_tags.hpp", Needed::optional},
};
constexpr const char *difference_doc = "cs tags of the alignments, each followed by a newline",
                     *mismatch_doc = "MD tags of the alignments, each followed by a newline";

bool is_text(std::string_view type) { return type == "utf8" || type == "binary"; }

// Calls body.template operator()<T>() for the items of a column of the type.
template <class Body>
void for_items(std::string_view type, Body&& body) {
  if (type == "list<u8>") return body.template operator()<std::uint8_t>();
  if (type == "list<f32>") return body.template operator()<float>();
  body.template operator()<std::int32_t>();
}

using Cells = std::function<std::string_view(std::int64_t row)>;
template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}
// The bytes of a column's cells.
Cells cells_of(const Batch& in, const char* name, std::string_view type) {
  if (is_text(type)) return [text = in.text(name)](std::int64_t row) { return text[row]; };
  Cells cells;
  for_items(type, [&]<class T>() {
    if (type.starts_with("list<"))
      cells = [list = in.list<T>(name)](std::int64_t row) { return bytes_of(list[row]); };
    else
      cells = [values = in.column<T>(name)](std::int64_t row) { return bytes_of(values.subspan(static_cast<std::size_t>(row), 1)); };
  });
  return cells;
}

// Adds a column with these cells, one a row.
void add_column(Output& out, const char* name, const char* type, const std::vector<std::string_view>& cells) {
  if (is_text(type)) return out.text_rows(name, cells, type);
  for_items(type, [&]<class T>() {
    const auto copy = [&](std::span<T> values) {
      char* to = reinterpret_cast<char*>(values.data());
      for (const std::string_view cell : cells) {
        if (!cell.empty()) std::memcpy(to, cell.data(), cell.size());
        to += cell.size();
      }
    };
    if (std::string_view(type).starts_with("list<"))
      copy(out.list<T>(name, out.offsets([&](std::int64_t row) { return cells[static_cast<std::size_t>(row)].size() / sizeof(T); })));
    else
      copy(out.column<T>(name));
  });
}

// Do its operations lead from its beginning to its end, on a read and a contig of these lengths?
bool is_sound(const ReadAlignment& alignment, std::int64_t read_length, std::int64_t contig_length) {
  std::int64_t query = 0, target = 0;
  for (const std::uint32_t operation : alignment.cigar) {
    if (is_run(operation) && code_of(operation) != match_or_mismatch && code_of(operation) != equal && code_of(operation) != different) return false;
    if (code_of(operation) != deletion && code_of(operation) != intron) query += bases_of(operation);
    if (code_of(operation) != insertion) target += bases_of(operation);
  }
  const auto lies_in = [](std::int64_t begin, std::int64_t end, std::int64_t length) { return begin >= 0 && begin <= end && end <= length; };
  return lies_in(alignment.query_start, alignment.query_end, read_length) && lies_in(alignment.target_start, alignment.target_end, contig_length) &&
         query == std::int64_t{alignment.query_end} - alignment.query_start && target == std::int64_t{alignment.target_end} - alignment.target_start;
}

// All that give_alignments() and jump_over_junctions() ask of a hit.
AlignedHit hit_of(const ReadAlignment& alignment) {
  AlignedHit hit;
  hit.anchors = alignment.anchors;
  hit.target = alignment.target;
  hit.reverse = alignment.is_reverse;
  hit.query_start = alignment.query_start, hit.query_end = alignment.query_end;
  hit.target_start = alignment.target_start, hit.target_end = alignment.target_end;
  hit.chain_score = alignment.chain_score;
  hit.second_chain_score = alignment.second_chain_score;
  hit.id = 0, hit.parent = alignment.is_primary ? 0 : AlignedHit::of_another;
  hit.matches = alignment.matches, hit.columns = alignment.columns, hit.ambiguous = alignment.ambiguous;
  hit.split = alignment.split;
  hit.inversion = alignment.is_inversion;
  hit.leads = alignment.is_first;
  hit.score = alignment.score;
  hit.path_score = alignment.best_score;
  hit.mapping_quality = alignment.mapping_quality;
  hit.transcript = static_cast<Transcript>(alignment.transcript_strand);
  hit.cigar.assign(alignment.cigar.begin(), alignment.cigar.end());
  return hit;
}

// A hit among the bytes of a row.
struct HeldHit {
  std::int32_t anchors, target, query_start, query_end, target_start, target_end, chain_score, second_chain_score, matches, columns, ambiguous, score,
      path_score;
  std::uint8_t reverse, primary, split, inversion, leads, mapping_quality, transcript, unused;
};
void add_hit(RowBytes& to, const ReadAlignment& a) {
  to.value(HeldHit{a.anchors,
                   a.target,
                   a.query_start,
                   a.query_end,
                   a.target_start,
                   a.target_end,
                   a.chain_score,
                   a.second_chain_score,
                   a.matches,
                   a.columns,
                   a.ambiguous,
                   a.score,
                   a.best_score,
                   a.is_reverse,
                   a.is_primary,
                   a.split,
                   a.is_inversion,
                   a.is_first,
                   a.mapping_quality,
                   a.transcript_strand,
                   0});
  to.text(bytes_of(a.cigar));
}
AlignedHit next_hit(RowReader& from) {
  const auto held = from.value<HeldHit>();
  const std::string_view operations = from.text();
  std::vector<std::uint32_t> cigar(operations.size() / sizeof(std::uint32_t));
  std::memcpy(cigar.data(), operations.data(), operations.size());
  ReadAlignment a;
  a.anchors = held.anchors;
  a.target = held.target;
  a.query_start = held.query_start, a.query_end = held.query_end;
  a.target_start = held.target_start, a.target_end = held.target_end;
  a.chain_score = held.chain_score, a.second_chain_score = held.second_chain_score;
  a.matches = held.matches, a.columns = held.columns, a.ambiguous = held.ambiguous;
  a.score = held.score, a.best_score = held.path_score;
  a.is_reverse = held.reverse != 0, a.is_primary = held.primary != 0, a.is_inversion = held.inversion != 0, a.is_first = held.leads != 0;
  a.split = held.split, a.mapping_quality = held.mapping_quality, a.transcript_strand = held.transcript;
  a.cigar = cigar;
  return hit_of(a);
}

}  // namespace

void SecondPass::describe(Describe<SecondPass>& d) {
  d.id("splice_second_pass")
      .regroup("read", "read")
      .rows_named_by("read_id")
      .row_length("bases", "base")
      .work_unit("base")
      .summary("lets ends of spliced alignments reach over the introns that all reads together have");
  d.doc(
      "The lines of minimap2 2.31 that is run twice, first with --write-junc, then with --pass1: the few bases of a read behind an intron that other "
      "reads have become an exon, and those that ran past one are cut off. Introns count as junction_writer writes them, with a score of 5 and more "
      "(GT-AG, GC-AG). Reads wait until all have been aligned: what 4 MiB do not hold on the disk (TMPDIR), with about as many bytes as their file "
      "has "
      "without compression. base_alignment has the option two_pass then.");
  d.uses("index", "minimizer_index", "names, lengths and bases of the contigs");
  for (const ReadColumn& column : read_columns) {
    d.needs(column.name, column.type, column.doc, column.needed);
    d.gives(column.name, column.type, column.doc, Needed::optional);
  }
  for (const overlap::HitColumn& column : overlap::hit_columns) {
    d.needs(column.name, column.type, column.doc);
    d.gives(column.name, column.type, column.doc, Needed::optional);
  }
  overlap::needs_read_alignments(d);
  for (const overlap::ReadAlignmentColumn& column : overlap::read_alignment_columns) d.gives(column.name, column.type, column.doc);
  d.needs("difference_text", "utf8", difference_doc, Needed::optional).gives("difference_text", "utf8", difference_doc, Needed::optional);
  d.needs("mismatch_text", "utf8", mismatch_doc, Needed::optional).gives("mismatch_text", "utf8", mismatch_doc, Needed::optional);
  d.option("match", &Parameters::match, "as of base_alignment").range(1, 100);
  d.option("mismatch", &Parameters::mismatch, "as of base_alignment").range(0, 100);
  d.option("least_jump", &Parameters::least_jump, "fewest bases of an exon that is added (--jump-min-match)").range(1, 1000).unit("bases");
  d.option("annotated_junctions", &Parameters::annotated_junctions, "junctions as BED, which come before those of the reads (-j)").reads();
  d.option("cs", &Parameters::cs, "as of base_alignment");
  d.option("cs_long", &Parameters::cs_long, "as of base_alignment");
  d.option("ds", &Parameters::ds, "as of base_alignment");
  d.option("md", &Parameters::md, "as of base_alignment");
}

SecondPass::SecondPass(const Setup& setup, const Parameters& p) : index_(minimizer_index_view(setup.resource("index"))), texts_(setup, p) {
  if (index_.packed_bases.empty() && index_.contigs() > 0)
    throw Failure::input("the minimizer index has no bases, so the ends of introns are not known", "make the index from FASTA, or with its bases");
  settings_.scores.match = p.match;
  settings_.scores.mismatch = p.mismatch;
  settings_.splice.least_jump = p.least_jump;
  if (p.annotated_junctions && !p.annotated_junctions->empty()) {
    annotated_.emplace(setup, *p.annotated_junctions, index_, overlap::Minimap2Release::v2_31);
    annotated_ends_.emplace(index_.contigs());
    annotated_ends_->add(*annotated_, true);
    annotated_ends_->sort();
  }
  const auto hold = [&](const char* name, const char* type) { columns_.push_back({name, type, setup.available(name)}); };
  hold("bases", "utf8");
  for (const ReadColumn& column : read_columns)
    if (column.name != std::string_view("bases") && setup.wanted(column.name)) hold(column.name, column.type);
  for (const overlap::HitColumn& column : overlap::hit_columns)
    if (setup.wanted(column.name)) hold(column.name, column.type);
  if (!setup.wanted("bases")) columns_.front().is_given = false;
}

std::vector<Intron> SecondPass::introns_of(std::string_view bases, const std::vector<ReadAlignment>& alignments) const {
  std::vector<Intron> introns;
  Workspace workspace;
  for (ReadAlignment alignment : alignments) {
    if (!alignment.is_primary || alignment.mapping_quality < overlap::least_intron_quality) continue;
    AlignedHit hit;
    if (annotated_ends_) {
      if (workspace.strands.length() == 0) workspace.strands.set(bases);
      hit = hit_of(alignment);
      jump_over_junctions(settings_, *annotated_ends_, index_, workspace.strands, workspace.target, hit);
      alignment.target_start = hit.target_start;
      alignment.cigar = hit.cigar;
    }
    overlap::add_introns(alignment, index_, introns);
  }
  return introns;
}

void SecondPass::process(const Call& call, const Batch& in, Output&) {
  if (sam_header_.empty()) sam_header_ = in.attribute("sam_header");
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<Cells> cells;
  for (const Column& column : columns_)
    cells.push_back(column.available ? cells_of(in, column.name, column.type) : [](std::int64_t) { return std::string_view(); });
  const auto text_of = [&](const char* name, bool is_made) { return is_made && in.has(name) ? cells_of(in, name, "utf8") : Cells(); };
  const Cells difference = text_of("difference_text", texts_.makes_difference()), mismatches = text_of("mismatch_text", texts_.makes_mismatches());
  const overlap::ReadAlignments alignments(in, overlap::TagText::none);
  std::vector<std::string> held(rows);
  std::vector<std::vector<Intron>> introns(rows);
  call.parallel_for(rows, 16, [&](std::size_t begin, std::size_t end) {
    std::vector<ReadAlignment> of_read;
    for (std::size_t i = begin; i < end && !call.cancelled(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (!in.ok(row)) continue;
      RowBytes to(held[i]);
      for (const Cells& column : cells) to.text(column(row));
      to.text(difference ? difference(row) : std::string_view());
      to.text(mismatches ? mismatches(row) : std::string_view());
      alignments.read(row, index_.contigs(), of_read);
      const std::string_view bases = cells.front()(row);
      for (const ReadAlignment& alignment : of_read) {
        if (!is_sound(alignment, std::ssize(bases), index_.contig_length[static_cast<std::size_t>(alignment.target)]))
          throw Failure::input("an alignment does not fit its read and contig", "this is a bug in the stage that gives it");
        add_hit(to, alignment);
      }
      introns[i] = introns_of(bases, of_read);
    }
  });
  if (call.cancelled()) return;
  for (std::size_t i = 0; i < rows; ++i) {
    if (!in.ok(static_cast<std::int64_t>(i))) continue;
    held_.add(held[i]);
    for (const Intron& intron : introns[i])
      if (overlap::score_of(overlap::ends_of(index_, intron)) >= good_junction_score) seen_.insert({intron.contig, intron.begin, intron.end});
  }
  constexpr std::size_t bytes_of_node = 64;
  call.keeps(held_.bytes() + seen_.size() * bytes_of_node);
}

JunctionEnds SecondPass::ends_of_all() const {
  JunctionEnds ends(index_.contigs());
  if (annotated_) ends.add(*annotated_, true);
  for (const auto& [contig, begin, end] : seen_) ends.add(contig, begin, end, false);
  ends.sort();
  return ends;
}

void SecondPass::align_again(const JunctionEnds& ends, Workspace& workspace, Row& row) const {
  RowReader from(row.bytes);
  for (std::size_t i = 0; i < columns_.size(); ++i) row.cells.push_back(from.text());
  row.aligned.difference = from.text();
  row.aligned.mismatches = from.text();
  bool has_changed = false;
  for (workspace.strands.set(row.cells.front()); !from.is_empty();) {
    AlignedHit hit = next_hit(from);
    const std::vector<std::uint32_t> before = hit.cigar;
    jump_over_junctions(settings_, ends, index_, workspace.strands, workspace.target, hit);
    has_changed = has_changed || hit.cigar != before;
    row.aligned.operations += hit.cigar.size();
    row.aligned.hits.push_back(std::move(hit));
  }
  row.has_changed = has_changed;
  if (!has_changed) return;
  row.aligned.difference.clear();
  row.aligned.mismatches.clear();
  texts_.add(index_, workspace.strands, workspace.target, row.aligned);
}

void SecondPass::finish(const Call& call, Output& out) {
  constexpr std::size_t bases_at_once = std::size_t{1} << 18, bytes_at_once = std::size_t{8} << 20;
  const JunctionEnds ends = ends_of_all();
  std::uint64_t changed = 0;
  for (bool goes_on = true; goes_on && !call.cancelled();) {
    std::vector<Row> rows;
    for (std::size_t bases = 0, bytes = 0; bases < bases_at_once && bytes < bytes_at_once;) {
      Row row;
      goes_on = held_.take(row.bytes);
      if (!goes_on) break;
      bases += RowReader(row.bytes).text().size();
      bytes += row.bytes.size();
      rows.push_back(std::move(row));
    }
    if (rows.empty()) break;
    call.parallel_for(rows.size(), 16, [&](std::size_t begin, std::size_t end) {
      Workspace workspace;
      for (std::size_t i = begin; i < end && !call.cancelled(); ++i) align_again(ends, workspace, rows[i]);
    });
    if (call.cancelled()) return;
    changed += static_cast<std::uint64_t>(std::ranges::count_if(rows, [](const Row& row) { return row.has_changed; }));
    give(rows, out);
  }
  call.count("reads changed by the second pass", static_cast<double>(changed));
}

void SecondPass::give(std::vector<Row>& rows, Output& out) const {
  out.set_rows(std::ssize(rows));
  if (!sam_header_.empty()) out.set_attribute("sam_header", sam_header_);
  double work = 0;
  std::vector<AlignedRow> made;
  for (Row& row : rows) {
    work += static_cast<double>(row.cells.front().size());
    made.push_back(std::move(row.aligned));
  }
  out.set_work(work);
  std::vector<std::string_view> cells(rows.size());
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (!columns_[column].is_given) continue;
    std::ranges::transform(rows, cells.begin(), [&](const Row& row) { return row.cells[column]; });
    add_column(out, columns_[column].name, columns_[column].type, cells);
  }
  give_alignments(made, texts_.wanted(), out);
  out.emit();
}

}  // namespace sluice::base_alignment
