// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The sinks of the forms that are lines of text: table, m6anet's table, PAF, summary.

#include <sluice/arrow/table_output.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/kmer_model.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>

#include "event_alignment_writer/alignment_figures.hpp"
#include "event_alignment_writer/alignment_rows.hpp"
#include "event_alignment_writer/event_summary.hpp"
#include "event_alignment_writer/event_table.hpp"
#include "event_alignment_writer/m6anet_table.hpp"
#include "event_alignment_writer/refusals.hpp"
#include "event_alignment_writer/signal_alignment.hpp"
#include "event_alignment_writer/table_schemas.hpp"

namespace sluice::event_alignment_writer {

// What all of them are: lines made in parallel, written in the order of the alignments.
class LineSink : public hts::JoinsText<fast_compression> {
 public:
  void commit(const Call& call, const Batch& in) {
    file_.write_rows(call, in.text("_lines"));
    say_written(call, in);
  }
  void finish(const Call& call, Output&) {
    file_.finish(call);
    describe_figures(call);
  }
  void save(const Call& call, StateWriter& to) {
    file_.save(call, to);
    to.value(shown_);
  }

 protected:
  LineSink(const Setup& setup, const std::string& path, arrow::TableSchema schema)
      : contigs_(setup.resource("reference")), file_(setup, path, std::move(schema), fast_compression) {}
  // With the header of the table; "" if it has none.
  void begin(const Setup& setup, std::string_view header) {
    if (!header.empty()) file_.header(header);
    resume(setup, [this](StateReader& from) {
      file_.restore(from);
      shown_ = from.value<std::uint32_t>();
    });
  }

  std::uint32_t shown_ = 0;  // reads whose squiggles the report has
  Contigs contigs_;
  arrow::TableOutput file_;
};

class EventTable : public LineSink {
 public:
  struct Parameters : TableOptions {
    Path output;
  };
  static constexpr Columns columns{.levels = true, .signal = true, .rate = true, .var = true, .index = true};

  static void describe(Describe<EventTable>& d) {
    d.id("event_alignment_tsv").summary("writes aligned events as the TSV of f5c and nanopolish eventalign");
    d.doc(
        "One line per aligned event: where it lies on the reference, its mean, standard deviation and duration, and what the k-mer model expects "
        "there. Byte-compatible with f5c 1.6 eventalign. A name that ends with .gz makes BGZF, .arrow Arrow IPC, .parquet Parquet.");
    describe_rows(d, columns);
    d.concatenates();
    d.uses("model", "kmer", "the nucleotide model that the events were aligned with");
    d.option("output", &Parameters::output,
             "where to write the table; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes();
    d.option("read_names", &Parameters::read_names, "names of the reads instead of the indexes of their records");
    d.option("scale_events", &Parameters::scale_events, "scale events to the model, instead of the model to the read");
    d.option("samples", &Parameters::samples, "a last column with the event's samples, scaled to the model");
    d.option("signal_index", &Parameters::signal_index, "columns with the first sample of the event, and the end of it");
    d.option("collapse_events", &Parameters::collapse_events, "consecutive events on one position as one");
    describe_reasons(d);
  }
  static void check_parameters(const Parameters& p) {
    refuse_binary_name(p.output, "the event table");
    if (p.samples && p.collapse_events)
      throw Failure::usage("samples and collapse_events exclude each other: nobody has said which samples a collapsed event has",
                           "leave one of them out; signal_index says where the samples are");
  }

  EventTable(const Setup& setup, const Parameters& p)
      : LineSink(setup, p.output, event_table_schema(p)), options_(p), model_(kmer_model_view(setup.resource("model"))) {
    if (model_.alphabet != Alphabet::nucleotide)
      throw Failure::usage("the model has methylated bases (M)", "give event_alignment_tsv the nucleotide model that the events were aligned with");
    begin(setup, table_header(options_));
  }

  // Of all columns of a run this text is the largest: 90 to 250 bytes a base. The lines of a call exist twice for a moment.
  Estimate estimate(const Batch& in) const {
    const auto path = in.list<std::int32_t>("path_event").offsets();
    const auto events = static_cast<std::uint64_t>(path.back() - path.front());
    const std::uint64_t bytes = events * (options_.samples ? 200 : 112);
    return {.work = static_cast<double>(in.rows()), .output_bytes = bytes, .scratch_bytes = bytes};
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const AlignmentRows rows(call, in, contigs_, model_.k, columns);
    make_lines(call, in, out, [&](std::int64_t row, TextBuffer& text) {
      const auto alignment = rows.alignment(row);
      if (!alignment) return false;
      const RawSignal signal = rows.signal(row);
      if (options_.need_signal() && !is_inside(alignment->path, alignment->events, signal.samples.size())) return false;
      auto writer = writers_.take();
      if (!*writer) writer->emplace(model_, options_);
      (*writer)->append(*alignment, signal, text);
      return true;
    });
  }

  void commit(const Call& call, const Batch& in) {
    LineSink::commit(call, in);
    const AlignmentRows rows(call, in, contigs_, model_.k, columns);
    for (std::int64_t row = 0; row < in.rows() && shown_ < most_squiggles; ++row) {
      if (!in.ok(row)) continue;
      const auto alignment = rows.alignment(row);
      if (alignment && give_squiggle(call, *alignment, rows.signal(row), model_.k, shown_)) ++shown_;
    }
  }

 private:
  TableOptions options_;
  KmerModelView model_;
  Workspaces<std::optional<TableWriter>> writers_;
};

class M6anetTable : public LineSink {
 public:
  struct Parameters {
    Path output;
    bool read_names = false;
    std::string table_options;
  };
  static constexpr Columns columns{.levels = true, .rate = true, .index = true};

  static void describe(Describe<M6anetTable>& d) {
    d.id("event_alignment_m6anet").summary("writes aligned events as m6anet reads them: one line per position");
    d.doc(
        "Means over the events of a position that match the reference's k-mer, weighted by their lengths and scaled to the model. Byte-compatible "
        "with f5c 1.6 eventalign --m6anet: on reverse records no event matches, and the means are not numbers. A name that ends with .gz makes "
        "BGZF.");
    describe_rows(d, columns);
    d.concatenates();
    d.uses("model", "kmer", "the nucleotide model that the events were aligned with");
    d.option("output", &Parameters::output,
             "where to write the table; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes();
    d.option("read_names", &Parameters::read_names, "names of the reads instead of the indexes of their records");
    d.option("table_options", &Parameters::table_options, "options of the event table, as words like samples=true: refused");
    describe_reasons(d);
  }
  static void check_parameters(const Parameters& p) {
    refuse_binary_name(p.output, "m6anet's table");
    refuse_table_options(p.table_options, "m6anet's table");
  }

  M6anetTable(const Setup& setup, const Parameters& p)
      : LineSink(setup, p.output, m6anet_schema(column_of(p))), read_column_(column_of(p)), k_(kmer_size(setup.resource("model"))) {
    begin(setup, m6anet_header(read_column_));
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const AlignmentRows rows(call, in, contigs_, k_, columns);
    make_lines(call, in, out, [&](std::int64_t row, TextBuffer& text) {
      const auto alignment = rows.alignment(row);
      if (alignment) append_m6anet(*alignment, k_, read_column_, text);
      return alignment.has_value();
    });
  }

 private:
  static ReadColumn column_of(const Parameters& p) { return p.read_names ? ReadColumn::name : ReadColumn::index; }
  ReadColumn read_column_;
  std::uint32_t k_;
};

class EventPaf : public LineSink {
 public:
  struct Parameters {
    Path output;
    std::string table_options;
  };
  static constexpr Columns columns{};

  static void describe(Describe<EventPaf>& d) {
    d.id("event_alignment_paf").summary("writes which signal lies on which k-mers of the reference, as PAF");
    d.doc(
        "One line per read: its samples as the query, the contig's k-mers as the target, and in the tag ss the samples of every k-mer. "
        "Byte-compatible with f5c 1.6 eventalign --paf. A name that ends with .gz makes BGZF, .arrow Arrow IPC, .parquet Parquet.");
    describe_rows(d, columns);
    d.concatenates();
    d.needs("sample_count", "i64", "samples of the read");
    d.uses("model", "kmer", "the nucleotide model that the events were aligned with");
    d.option("output", &Parameters::output, "where to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes();
    d.option("table_options", &Parameters::table_options, "options of the event table, as words like samples=true: refused");
    describe_reasons(d);
  }
  static void check_parameters(const Parameters& p) {
    refuse_binary_name(p.output, "PAF");
    refuse_table_options(p.table_options, "PAF");
  }

  EventPaf(const Setup& setup, const Parameters& p) : LineSink(setup, p.output, signal_paf_schema()), k_(kmer_size(setup.resource("model"))) {
    begin(setup, "");
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const AlignmentRows rows(call, in, contigs_, k_, columns);
    const auto samples = in.column<std::int64_t>("sample_count");
    make_lines(call, in, out, [&](std::int64_t row, TextBuffer& text) {
      const auto alignment = rows.alignment(row);
      if (alignment && alignment->path.rows() > 0) append_paf(*alignment, samples[static_cast<std::size_t>(row)], k_, text);
      return alignment.has_value();
    });
  }

 private:
  std::uint32_t k_;
};

class EventSummary : public LineSink {
 public:
  struct Parameters {
    Path output;
  };
  static constexpr Columns columns{.rate = true, .var = true, .index = true};

  static void describe(Describe<EventSummary>& d) {
    d.id("event_alignment_summary").summary("writes one line per read about its aligned events and its scaling");
    d.doc(
        "The columns of f5c 1.6 eventalign --summary, with its constants for what signal files do not hold. A name that ends with .gz makes BGZF, "
        ".arrow an Arrow IPC file, .parquet Parquet.");
    describe_rows(d, columns);
    d.concatenates();
    d.option("output", &Parameters::output,
             "where to write the summary; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes();
    describe_reasons(d);
  }
  static void check_parameters(const Parameters& p) { refuse_binary_name(p.output, "the summary"); }

  EventSummary(const Setup& setup, const Parameters& p) : LineSink(setup, p.output, summary_schema()) { begin(setup, summary_header()); }

  void process(const Call& call, const Batch& in, Output& out) {
    constexpr std::uint32_t any_kmer = 1;
    const AlignmentRows rows(call, in, contigs_, any_kmer, columns);
    make_lines(call, in, out, [&](std::int64_t row, TextBuffer& text) {
      const auto alignment = rows.alignment(row);
      if (alignment && alignment->path.rows() > 0) append_summary(*alignment, text);
      return alignment.has_value();
    });
  }
};

}  // namespace sluice::event_alignment_writer
