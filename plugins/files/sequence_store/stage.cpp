// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <memory>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sequence_store/stored_file.hpp"

namespace sluice::sequence_store {
namespace {

// The resource: a table of where each sequence lies, and the open file.
class SequenceStore {
 public:
  struct Parameters {
    Path path;
  };
  static void describe(Describe<SequenceStore>& d) {
    d.id("sequence_store").summary("reads or contigs on disk, to be fetched by row").resource("sequence");
    d.doc(
        "FASTA or FASTQ, plain, gzip or BGZF. One row per record in file order; what is in memory is where each record lies (about 50 bytes and its "
        "name), not the sequences, so memory stays flat as the input grows. A compressed file, a pipe, and a file whose records have lines of "
        "unequal length are written once to an unlinked file in the temporary folder (TMPDIR).\n\n"
        "Attributes: path, descriptor (number of the open file, which lives as long as the columns do), mean_length (bases). "
        "sluice/sequence_store.hpp fetches.");
    d.option("path", &Parameters::path, "FASTA or FASTQ file, plain or compressed").required().reads();
    d.gives("name", "utf8", "name up to the first blank").gives("length", "i64", "bases");
    d.gives("bases_offset", "i64", "byte of the first base in the open file");
    d.gives("qualities_offset", "i64", "byte of the first quality; -1: no qualities, or all of them '!'");
    d.gives("line_bases", "i64", "bases in a full line").gives("line_bytes", "i64", "the same with the line end");
  }
  SequenceStore(const Setup&, const Parameters& p) : path_(p.path) {}

  void process(const Call& call, Output& out) {
    const auto stored = std::make_shared<const StoredFile>(open_stored_file(path_, [&call] { return call.cancelled(); }));
    const SequenceTable& table = stored->table;
    if (stored->spooled > 0)
      call.info("the sequences of '" + path_ + "' were written to a temporary file of " + std::to_string((stored->spooled >> 20) + 1) +
                " MiB for this run (TMPDIR), as " + stored->why_spooled);
    const auto rows = static_cast<std::int64_t>(table.length.size());
    out.set_rows(rows);
    const auto adopt = [&](const auto& values) { return Buffer::adopt(stored, values.data(), values.size() * sizeof values[0]); };
    out.add("name", text_column(rows, adopt(table.name_offsets), adopt(table.names)));
    out.add("length", fixed_column<std::int64_t>(rows, adopt(table.length)));
    out.add("bases_offset", fixed_column<std::int64_t>(rows, adopt(table.bases_offset)));
    out.add("qualities_offset", fixed_column<std::int64_t>(rows, adopt(table.qualities_offset)));
    out.add("line_bases", fixed_column<std::int64_t>(rows, adopt(table.line_bases)));
    out.add("line_bytes", fixed_column<std::int64_t>(rows, adopt(table.line_bytes)));
    out.set_attribute("path", path_);
    out.set_attribute("descriptor", std::to_string(stored->file.number()));
    out.set_attribute("mean_length", std::to_string(rows > 0 ? static_cast<double>(table.total_bases) / static_cast<double>(rows) : 0.0));
  }

 private:
  std::string path_;
};

// The stretches of read and target that each overlap joins.
class OverlapSequences {
 public:
  using Parameters = NoParameters;
  enum class Reason : std::uint32_t { past_the_end };
  static void describe(Describe<OverlapSequences>& d) {
    d.id("overlap_sequences").summary("fetches the bases that each overlap joins").map("overlap").blocking().work_unit("base");
    d.doc(
        "The query's part is given in the target's orientation: reverse-complemented (its qualities reversed) if is_reverse. Letters are upper "
        "case; those other than A, C, G and T stay in a reverse complement.");
    d.needs("query_index", "i64", "row of the read in the store of reads").needs("target_index", "i64", "row of the target in its store");
    d.needs("query_start", "i64", "first base on the read, forward strand").needs("query_end", "i64", "end on the read");
    d.needs("target_start", "i64", "first base on the target").needs("target_end", "i64", "end on the target");
    d.needs("is_reverse", "u8", "1: the read's reverse complement matches");
    d.gives("query_bases", "utf8", "the query's part, in the target's orientation");
    d.gives("query_qualities", "utf8", "Phred + 33 of query_bases; empty: unknown", Needed::optional);
    d.gives("target_bases", "utf8", "the target's part", Needed::optional);
    d.uses("reads", "sequence", "the queries").uses("targets", "sequence", "the targets");
    d.reason("past_the_end", "the overlap lies outside its read or its target");
  }
  OverlapSequences(const Setup& setup, const Parameters&)
      : reads_(setup.resource("reads")),
        targets_(setup.resource("targets")),
        wants_qualities_(setup.wanted("query_qualities")),
        wants_target_(setup.wanted("target_bases")) {}

  Estimate estimate(const Batch& in) const {
    const auto start = in.column<std::int64_t>("query_start");
    const auto end = in.column<std::int64_t>("query_end");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const auto r = static_cast<std::size_t>(row);
      if (!in.ok(row) || start[r] < 0 || end[r] < start[r]) continue;
      const double bases = static_cast<double>(end[r]) - static_cast<double>(start[r]);
      e.work += bases;
      e.largest_row_work = std::max(e.largest_row_work, bases);
    }
    e.output_bytes = static_cast<std::uint64_t>(e.work * (1.0 + (wants_qualities_ ? 1 : 0) + (wants_target_ ? 1 : 0)));
    return e;
  }

  void process(const Call&, const Batch& in, Output& out) {
    const Part query(in, "query_index", "query_start", "query_end");
    const Part target(in, "target_index", "target_start", "target_end");
    const auto is_reverse = in.column<std::uint8_t>("is_reverse");
    std::vector<char> usable(static_cast<std::size_t>(in.rows()));
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto r = static_cast<std::size_t>(row);
      usable[r] = query.lies_in(reads_, r) && target.lies_in(targets_, r) ? 1 : 0;
      if (usable[r] == 0) out.fail(row, Reason::past_the_end);
    }
    const auto fetched = [&](const char* column, const Part& part, auto&& has, auto&& fetch) {
      const Buffer offsets = out.offsets([&](std::int64_t row) {
        const auto r = static_cast<std::size_t>(row);
        return usable[r] != 0 && has(part.index[r]) ? part.end[r] - part.start[r] : 0;
      });
      const auto places = offsets.template as<std::int64_t>();
      const std::span<char> text = out.text(column, offsets);
      for (std::size_t r = 0; r < usable.size(); ++r)
        if (places[r + 1] > places[r]) fetch(r, text.data() + places[r], text.data() + places[r + 1]);
    };
    fetched(
        "query_bases", query, [](std::int64_t) { return true; },
        [&](std::size_t r, char* begin, char* end) {
          reads_.fetch_bases(query.index[r], query.start[r], query.end[r], begin, scratch_);
          if (is_reverse[r] == 0) return;
          std::reverse(begin, end);
          std::transform(begin, end, begin, complement_of);
        });
    if (wants_qualities_)
      fetched(
          "query_qualities", query, [&](std::int64_t read) { return reads_.has_qualities(read); },
          [&](std::size_t r, char* begin, char* end) {
            reads_.fetch_qualities(query.index[r], query.start[r], query.end[r], begin, scratch_);
            if (is_reverse[r] != 0) std::reverse(begin, end);
          });
    if (wants_target_)
      fetched(
          "target_bases", target, [](std::int64_t) { return true; },
          [&](std::size_t r, char* begin, char*) { targets_.fetch_bases(target.index[r], target.start[r], target.end[r], begin, scratch_); });
  }

 private:
  struct Part {
    Part(const Batch& in, const char* index_column, const char* start_column, const char* end_column)
        : index(in.column<std::int64_t>(index_column)), start(in.column<std::int64_t>(start_column)), end(in.column<std::int64_t>(end_column)) {}
    bool lies_in(const SequenceStoreView& store, std::size_t r) const {
      return index[r] >= 0 && index[r] < store.size() && start[r] >= 0 && start[r] <= end[r] && end[r] <= store.length(index[r]);
    }
    std::span<const std::int64_t> index, start, end;
  };
  SequenceStoreView reads_, targets_;
  bool wants_qualities_, wants_target_;
  std::vector<char> scratch_;  // a blocking stage: one call at a time
};

}  // namespace
}  // namespace sluice::sequence_store

SLUICE_PLUGIN("sequence_store", "0.1.0", "MIT", sluice::sequence_store::SequenceStore, sluice::sequence_store::OverlapSequences);
