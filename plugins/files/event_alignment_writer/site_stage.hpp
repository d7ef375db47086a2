// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The sinks of files by site: reads of a contig are collected until the next contig begins, or, where they come in any order, until the last one.

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sluice/hts/text_output.hpp>
#include <sluice/kmer_model.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>

#include "event_alignment_writer/alignment_rows.hpp"
#include "event_alignment_writer/antisense_reads.hpp"
#include "event_alignment_writer/refusals.hpp"
#include "event_alignment_writer/rna_sites.hpp"

namespace sluice::event_alignment_writer {

template <class Form>
class SiteSink {
 public:
  struct Parameters {
    Path output, index;
    std::string table_options;
    bool any_order = false;
  };
  static constexpr Columns columns{.levels = true, .rate = true};

  SiteSink(const Setup& setup, const Parameters& p)
      : contigs_(setup.resource("reference")), any_order_(p.any_order), data_(setup, p.output), index_(setup, p.index) {
    if (!any_order_ && !setup.available("record_index"))
      throw Failure::usage("nothing numbers the records of the reads", "set any_order, which numbers them as they come");
    refuse_dna(setup.resource("model").attribute("pore"), "m6anet and xpore");
    if (const std::uint32_t k = kmer_size(setup.resource("model")); k != site_kmer)
      throw Failure::usage("m6anet and xpore know 5-mers, and the model has " + std::to_string(k) + "-mers",
                           "align with a model of 5-mers: --kmer-model-size 5, or one of your own: --model FILE");
    index_.header(Form::index_header);
  }

  // The reads of each row, as bytes.
  void process(const Call& call, const Batch& in, Output& out) {
    const AlignmentRows rows(call, in, contigs_, site_kmer, columns);
    make_lines(call, in, out, [&](std::int64_t row, TextBuffer& bytes) {
      const auto alignment = rows.alignment(row);
      if (!alignment) return false;
      const auto scratch = scratch_.take();
      scratch->levels.clear();
      scratch->reads.clear();
      append_site_levels(*alignment, scratch->levels);
      append_reads(scratch->levels, alignment->contig_bases, scratch->reads);
      bytes.add({reinterpret_cast<const char*>(scratch->reads.data()), scratch->reads.size() * sizeof(Read)});
      return true;
    });
  }

  void commit(const Call& call, const Batch& in) {
    const TextView bytes = in.text("_lines"), contigs = in.text("contig"), names = in.text("read_id");
    const auto path = in.list<std::int32_t>("path_event");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row) || path[row].empty()) continue;
      if (any_order_) {
        add_read(contig_in_any_order(contigs[row]), bytes[row], reads_in_any_order_++);
      } else {
        if (contigs[row] != contig_.name) begin_contig(call, contigs[row], names[row]);
        add_read(contig_, bytes[row], in.column<std::int64_t>("record_index")[static_cast<std::size_t>(row)]);
      }
    }
    antisense_.count(in);
    call.keeps((contig_.entries.capacity() + entries_in_any_order_) * sizeof(Entry));
    say_written(call, in);
  }
  void finish(const Call& call, Output&) {
    write_contig(call);
    for (auto& [name, contig] : in_any_order_) {
      std::swap(contig_, contig);
      contig_.data_bytes = contig.data_bytes;
      write_contig(call);
    }
    if (contig_.data_bytes == 0 && !finished_.empty()) call.warn(std::string(Form::without_sites));
    antisense_.warn(call, "m6anet and xpore");
    data_.finish(call);
    index_.finish(call);
  }
  void save(const Call& call, StateWriter& to) {
    data_.save(call, to);
    index_.save(call, to);
    to.text(contig_.name);
    to.value(contig_.reads);
    to.value(contig_.data_bytes);
    to.values(contig_.entries);
    to.value(std::uint64_t{finished_.size()});
    for (const std::string& name : finished_) to.text(name);
    antisense_.save(to);
    to.value(reads_in_any_order_);
    to.value(std::uint64_t{in_any_order_.size()});
    for (const auto& [name, contig] : in_any_order_) {
      to.text(name);
      to.value(contig.reads);
      to.values(contig.entries);
    }
  }

 protected:
  using Read = typename Form::Read;
  using Entry = typename ContigSites<Form>::Entry;

  void restore(StateReader& from) {
    data_.restore(from);
    index_.restore(from);
    contig_.name = from.text();
    contig_.bases = contigs_.find(contig_.name);
    contig_.reads = from.value<std::uint64_t>();
    contig_.data_bytes = from.value<std::uint64_t>();
    contig_.entries = from.values<Entry>();
    for (auto count = from.value<std::uint64_t>(); count > 0; --count) finished_.emplace(from.text());
    antisense_.restore(from);
    reads_in_any_order_ = from.value<std::int64_t>();
    for (auto count = from.value<std::uint64_t>(); count > 0; --count) {
      ContigSites<Form>& contig = contig_in_any_order(from.text());
      contig.reads = from.value<std::uint64_t>();
      contig.entries = from.values<Entry>();
      entries_in_any_order_ += contig.entries.size();
    }
  }

 private:
  struct Scratch {
    std::vector<SiteLevel> levels;
    std::vector<Read> reads;
  };

  void begin_contig(const Call& call, std::string_view name, std::string_view read) {
    write_contig(call);
    if (finished_.contains(std::string(name)))
      throw Failure::input(
          "read '" + std::string(read) + "' lies on '" + std::string(name) + "', whose reads came before those of '" + contig_.name + "'",
          "sort the alignments: sluice sort");
    contig_.name = name;
    contig_.bases = contigs_.find(name);
    contig_.reads = 0;
  }
  ContigSites<Form>& contig_in_any_order(std::string_view name) {
    const auto found = in_any_order_.find(name);
    if (found != in_any_order_.end()) return found->second;
    ContigSites<Form>& contig = in_any_order_[std::string(name)];
    contig.name = name;
    contig.bases = contigs_.find(name);
    return contig;
  }
  void add_read(ContigSites<Form>& contig, std::string_view bytes, std::int64_t record) {
    const std::size_t count = bytes.size() / sizeof(Read);
    if constexpr (std::is_same_v<Form, M6anetForm>) {
      if (contig.reads++ >= Form::most_reads) return;
    } else {
      if (count > 0) ++contig.reads;
    }
    for (std::size_t i = 0; i < count; ++i) {
      Entry entry{.read = {}, .read_index = record};
      std::memcpy(&entry.read, bytes.data() + i * sizeof(Read), sizeof(Read));
      contig.entries.push_back(entry);
    }
    if (any_order_) entries_in_any_order_ += count;
  }
  void write_contig(const Call& call) {
    if (contig_.name.empty()) return;
    // What a run before this one has read of them, too.
    constexpr std::int64_t around_site = 16;
    for (const Entry& entry : contig_.entries)
      contigs_.reference().read_near(contig_.bases, entry.read.site - around_site, entry.read.site + around_site, call);
    const SiteLines lines = lines_of(contig_);
    data_.write(call, lines.data);
    index_.write(call, lines.index);
    write_read_counts(call, lines.read_counts);
    finished_.insert(contig_.name);
    contig_.entries.clear();
  }
  virtual void write_read_counts(const Call&, std::string_view) {}

  Contigs contigs_;
  bool any_order_;
  hts::TextOutput data_, index_;
  ContigSites<Form> contig_;
  std::set<std::string> finished_;
  AntisenseReads antisense_;
  std::map<std::string, ContigSites<Form>, std::less<>> in_any_order_;
  std::int64_t reads_in_any_order_ = 0;
  std::size_t entries_in_any_order_ = 0;
  Workspaces<Scratch> scratch_;
};

template <class Stage>
void describe_sites(Describe<Stage>& d) {
  describe_rows(d, Stage::columns);
  d.uses("model", "kmer", "the nucleotide model that the events were aligned with: of 5-mers");
  d.needs("record_index", "i64", "ordinal of the record in its file; with any_order reads are numbered as they come", Needed::optional);
  d.option("any_order", &Stage::Parameters::any_order,
           "reads of a contig need not come together: all are kept to the end, and contigs are written by their names");
}

class M6anetSites final : public SiteSink<M6anetForm> {
 public:
  static void describe(Describe<M6anetSites>& d) {
    d.id("event_alignment_m6anet_sites").summary("writes the files that m6anet inference reads: data.json and data.info");
    d.doc(
        "Equal to what `m6anet dataprep` 2.1 makes of the event table with scaled events: DRACH sites with at least 20 reads of the first 1,001 of a "
        "transcript, and of each read the dwell time, standard deviation and mean of three 5-mers. The alignments' model must have 5-mers; reads of "
        "a "
        "contig must come together. A name that ends with .gz makes BGZF, which m6anet does not read.");
    describe_sites(d);
    d.option("output", &Parameters::output, "data.json").required().writes();
    d.option("index", &Parameters::index, "data.info: where each site lies in it").required().writes();
    d.option("table_options", &Parameters::table_options, "options of the event table, as words like samples=true: refused");
    describe_reasons(d);
  }
  static void check_parameters(const Parameters& p) { refuse_table_options(p.table_options, "m6anet's files"); }
  M6anetSites(const Setup& setup, const Parameters& p) : SiteSink(setup, p) {
    resume(setup, [this](StateReader& from) { restore(from); });
  }
};

class XporeSites final : public SiteSink<XporeForm> {
 public:
  struct Parameters : SiteSink<XporeForm>::Parameters {
    Path read_counts;
  };
  static void describe(Describe<XporeSites>& d) {
    d.id("event_alignment_xpore_sites").summary("writes the files that xpore diffmod reads: data.json, data.index and data.readcount");
    d.doc(
        "Equal to what `xpore dataprep` 2.2 makes of the event table with scaled events, by transcript: the means of all reads at each position, of "
        "the "
        "first 1,000 at most. The alignments' model must have 5-mers; reads of a contig must come together.");
    describe_sites(d);
    d.option("output", &Parameters::output, "data.json").required().writes();
    d.option("index", &Parameters::index, "data.index: where each transcript lies in it").required().writes();
    d.option("read_counts", &Parameters::read_counts, "data.readcount: reads of each transcript").required().writes();
    d.option("table_options", &Parameters::table_options, "options of the event table, as words like samples=true: refused");
    describe_reasons(d);
  }
  static void check_parameters(const Parameters& p) { refuse_table_options(p.table_options, "xpore's files"); }
  XporeSites(const Setup& setup, const Parameters& p) : SiteSink(setup, p), read_counts_(setup, p.read_counts) {
    read_counts_.header(XporeForm::read_counts_header);
    resume(setup, [this](StateReader& from) {
      restore(from);
      read_counts_.restore(from);
    });
  }
  void finish(const Call& call, Output& out) {
    SiteSink::finish(call, out);
    read_counts_.finish(call);
  }
  void save(const Call& call, StateWriter& to) {
    SiteSink::save(call, to);
    read_counts_.save(call, to);
  }

 private:
  void write_read_counts(const Call& call, std::string_view lines) override { read_counts_.write(call, lines); }
  hts::TextOutput read_counts_;
};

}  // namespace sluice::event_alignment_writer
