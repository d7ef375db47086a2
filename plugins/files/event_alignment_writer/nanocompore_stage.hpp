// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The sink of nanocompore's database.

#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sluice/kmer_model.hpp>
#include <sluice/stage.hpp>
#include <sluice/staged_file.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "event_alignment_writer/alignment_rows.hpp"
#include "event_alignment_writer/antisense_reads.hpp"
#include "event_alignment_writer/nanocompore.hpp"
#include "event_alignment_writer/refusals.hpp"
#include "event_alignment_writer/sqlite_database.hpp"

namespace sluice::event_alignment_writer {

class NanocomporeDatabase {
 public:
  struct Parameters {
    Path output;
    std::string table_options;
  };
  enum class Reason : std::uint32_t { unsound_path, second_alignment };
  static constexpr Columns columns{.signal = true, .rate = true};

  static void describe(Describe<NanocomporeDatabase>& d) {
    d.id("event_alignment_nanocompore").summary("writes the database that nanocompore compares: medians and times of each read at each position");
    d.doc(
        "Equal to what `nanocompore eventalign_collapse` 2.2 makes of the event table with samples and scaled events: tables transcripts, reads and "
        "signal_data (SQLite). Of a read that lies on a contig twice the first alignment counts.");
    describe_rows(d, columns);
    d.uses("model", "kmer", "the nucleotide model that the events were aligned with");
    d.option("output", &Parameters::output, "the database").required().writes();
    d.option("table_options", &Parameters::table_options, "options of the event table, as words like samples=true: refused");
    describe_reasons(d);
    d.reason("second_alignment", "the read lies on the contig already");
  }
  static void check_parameters(const Parameters& p) { refuse_table_options(p.table_options, "nanocompore's database"); }

  NanocomporeDatabase(const Setup& setup, const Parameters& p)
      : reference_(setup.resource("reference")), contigs_(reference_), k_(kmer_size(setup.resource("model"))), file_(setup, p.output) {
    if (file_.path() == "-" || is_special_file(file_.path()))
      throw Failure::usage("a database can't be written to '" + p.output + "'", "give --output the name of a file");
    refuse_dna(setup.resource("model").attribute("pore"), "nanocompore's methods");
    // A read has two numbers for each base of it. The longest transcripts that are known have some 350,000.
    constexpr std::size_t longest = 2'000'000;
    if (const auto [name, bases] = contigs_.longest(); bases > longest)
      throw Failure::usage("nanocompore's database has " + std::to_string(8 * bases) + " bytes for each read on '" + std::string(name) + "', of " +
                               std::to_string(bases) + " bases",
                           "align the reads to transcripts, and give --reference these");
    database_.emplace(file_.path());
    database_->run(
        "CREATE TABLE transcripts(name TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY(name));"
        "CREATE TABLE reads(read TEXT NOT NULL, id INTEGER NOT NULL, invalid_kmers REAL);"
        "CREATE TABLE signal_data(transcript_id INTEGER NOT NULL, read_id INTEGER NOT NULL, intensity BLOB, dwell BLOB)");
    tables_.emplace(*database_);
  }

  // The positions of each row, as bytes, behind the number of those that are valid.
  void process(const Call& call, const Batch& in, Output& out) {
    const AlignmentRows rows(call, in, contigs_, k_, columns);
    make_lines(call, in, out, [&](std::int64_t row, TextBuffer& bytes) {
      const auto alignment = rows.alignment(row);
      if (!alignment) return false;
      const RawSignal signal = rows.signal(row);
      if (!is_inside(alignment->path, alignment->events, signal.samples.size())) return false;
      const auto scratch = scratch_.take();
      scratch->positions.clear();
      const std::uint32_t valid = scratch->collapse.collapse(*alignment, signal, k_, scratch->positions);
      bytes.add({reinterpret_cast<const char*>(&valid), sizeof valid});
      bytes.add({reinterpret_cast<const char*>(scratch->positions.data()), scratch->positions.size() * sizeof(CollapsedPosition)});
      return true;
    });
  }

  void commit(const Call& call, const Batch& in) {
    const TextView bytes = in.text("_lines"), contigs = in.text("contig"), names = in.text("read_id");
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row) && bytes[row].size() > sizeof(std::uint32_t)) add_read(call, contigs[row], names[row], bytes[row]);
    antisense_.count(in);
    constexpr std::size_t bytes_of_node = 96;
    call.keeps(seen_.size() * bytes_of_node);
    say_written(call, in);
  }

  void finish(const Call& call, Output&) {
    tables_.reset();
    database_->run("CREATE INDEX reads_id_index ON reads (id); CREATE INDEX signal_data_index ON signal_data (transcript_id, read_id)");
    database_->close();
    file_.close();
    antisense_.warn(call, "nanocompore's methods");
    call.count("transcripts", static_cast<double>(transcripts_.size()));
  }

 private:
  struct Tables {
    explicit Tables(SqliteDatabase& database)
        : transcripts(database, "transcripts", 2), reads(database, "reads", 3), signal(database, "signal_data", 4) {}
    SqliteDatabase::Table transcripts, reads, signal;
  };
  struct Scratch {
    EventCollapse collapse;
    std::vector<CollapsedPosition> positions;
  };

  void add_read(const Call& call, std::string_view contig, std::string_view name, std::string_view bytes) {
    const auto [known, is_new] = transcripts_.emplace(contig, static_cast<std::int64_t>(transcripts_.size()) + 1);
    const std::int64_t transcript = known->second;
    if (is_new) tables_->transcripts.add({contig, transcript});
    if (!seen_.emplace(transcript, name).second) return call.account(Reason::second_alignment, 1, std::string(name));
    std::uint32_t valid = 0;
    std::memcpy(&valid, bytes.data(), sizeof valid);
    bytes.remove_prefix(sizeof valid);
    std::vector<CollapsedPosition> positions(bytes.size() / sizeof(CollapsedPosition));
    std::memcpy(positions.data(), bytes.data(), bytes.size());
    const std::size_t length = contigs_.find(contig).size();
    std::vector<float> intensity(length, std::numeric_limits<float>::quiet_NaN()), seconds = intensity;
    for (const CollapsedPosition& one : positions) {
      intensity[static_cast<std::size_t>(one.position)] = one.intensity;
      seconds[static_cast<std::size_t>(one.position)] = one.seconds;
    }
    const double span = positions.back().position - positions.front().position + 1;
    const std::int64_t read = reads_++;
    tables_->reads.add({name, read, (span - valid) / span});
    tables_->signal.add({transcript, read, std::span<const float>(intensity), std::span<const float>(seconds)});
  }

  Batch reference_;
  Contigs contigs_;
  std::uint32_t k_;
  OutputFile file_;
  std::optional<SqliteDatabase> database_;
  std::optional<Tables> tables_;
  AntisenseReads antisense_;
  std::int64_t reads_ = 0;
  std::map<std::string, std::int64_t, std::less<>> transcripts_;
  std::set<std::pair<std::int64_t, std::string>> seen_;
  Workspaces<Scratch> scratch_;
};

}  // namespace sluice::event_alignment_writer
