// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The sink of nanocompore's database.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sluice/file_descriptor.hpp>
#include <sluice/kmer_model.hpp>
#include <sluice/stage.hpp>
#include <sluice/staged_file.hpp>
#include <string>
#include <utility>
#include <vector>

#include "event_alignment_writer/alignment_rows.hpp"
#include "event_alignment_writer/nanocompore.hpp"
#include "event_alignment_writer/refusals.hpp"
#include "event_alignment_writer/sqlite_file.hpp"

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
    descriptor_ = FileDescriptor(::open(file_.path().c_str(), O_WRONLY | O_CLOEXEC));
    if (!descriptor_.is_open()) throw Failure::output("'" + p.output + "' can't be written: " + std::strerror(errno), "check the folder");
    pages_.emplace(descriptor_.number());
    reads_.emplace(*pages_);
    signal_.emplace(*pages_);
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
    constexpr std::size_t bytes_of_node = 96;
    call.keeps(seen_.size() * bytes_of_node + entries_.size() * sizeof(Entry));
    say_written(call, in);
  }

  void finish(const Call& call, Output&) {
    std::vector<std::string> by_name, by_read, by_transcript;
    SqliteTable transcripts(*pages_);
    std::vector<std::string_view> in_order(transcripts_.size());
    for (const auto& [name, id] : transcripts_) {
      in_order[static_cast<std::size_t>(id) - 1] = name;
      by_name.push_back(SqliteRecord().text(name).integer(id).bytes());  // a transcript's id is its row
    }
    for (std::size_t i = 0; i < in_order.size(); ++i) transcripts.add(SqliteRecord().text(in_order[i]).integer(static_cast<std::int64_t>(i) + 1));
    for (std::int64_t read = 0; read < reads_->rows(); ++read) by_read.push_back(SqliteRecord().integer(read).integer(read + 1).bytes());
    std::sort(entries_.begin(), entries_.end());
    for (const auto& [transcript, read] : entries_)
      by_transcript.push_back(SqliteRecord().integer(transcript).integer(read).integer(read + 1).bytes());  // a row for each read
    std::vector<SqliteObject> objects = {
        {"table", "transcripts", "transcripts", transcripts.finish(),
         "CREATE TABLE transcripts(name TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY(name))"},
        {"index", "sqlite_autoindex_transcripts_1", "transcripts", add_sqlite_index(*pages_, by_name), ""},
        {"table", "reads", "reads", reads_->finish(), "CREATE TABLE reads(read TEXT NOT NULL, id INTEGER NOT NULL, invalid_kmers REAL)"},
        {"table", "signal_data", "signal_data", signal_->finish(),
         "CREATE TABLE signal_data(transcript_id INTEGER NOT NULL, read_id INTEGER NOT NULL, intensity BLOB, dwell BLOB)"},
        {"index", "reads_id_index", "reads", add_sqlite_index(*pages_, by_read), "CREATE INDEX reads_id_index ON reads (id)"},
        {"index", "signal_data_index", "signal_data", add_sqlite_index(*pages_, by_transcript),
         "CREATE INDEX signal_data_index ON signal_data (transcript_id, read_id)"}};
    finish_sqlite_file(*pages_, objects);
    if (const int error = descriptor_.close(); error != 0)
      throw Failure::output("the database can't be written: " + std::string(std::strerror(error)), "free space or write elsewhere");
    file_.close();
    call.count("transcripts", static_cast<double>(transcripts_.size()));
  }

 private:
  using Entry = std::pair<std::int64_t, std::int64_t>;  // transcript and read
  struct Scratch {
    EventCollapse collapse;
    std::vector<CollapsedPosition> positions;
  };

  void add_read(const Call& call, std::string_view contig, std::string_view name, std::string_view bytes) {
    const std::int64_t transcript = transcripts_.emplace(contig, static_cast<std::int64_t>(transcripts_.size()) + 1).first->second;
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
    const std::int64_t read = reads_->rows();
    reads_->add(SqliteRecord().text(name).integer(read).real((span - valid) / span));
    const auto blob = [](const std::vector<float>& values) {
      return std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    };
    signal_->add(SqliteRecord().integer(transcript).integer(read).blob(blob(intensity)).blob(blob(seconds)));
    entries_.emplace_back(transcript, read);
  }

  Batch reference_;
  Contigs contigs_;
  std::uint32_t k_;
  OutputFile file_;
  FileDescriptor descriptor_;
  std::optional<SqlitePages> pages_;
  std::optional<SqliteTable> reads_, signal_;
  std::map<std::string, std::int64_t, std::less<>> transcripts_;
  std::set<std::pair<std::int64_t, std::string>> seen_;
  std::vector<Entry> entries_;
  Workspaces<Scratch> scratch_;
};

}  // namespace sluice::event_alignment_writer
