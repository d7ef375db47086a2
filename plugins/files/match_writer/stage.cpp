// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/arrow/table_output.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/fm_index.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>

#include "match_writer/match_text.hpp"

namespace sluice::match_writer {
namespace {

constexpr std::size_t rows_grain = 16;
constexpr std::size_t kept_text_bytes = std::size_t{64} << 20;

class MatchWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output = "-";
    std::string format = "table";
    std::string places = "text";
  };
  static void describe(Describe<MatchWriter>& d) {
    d.id("match_writer").summary("writes exact matches as a table, or as bwa fastmap or mummer do").sink("read").work_unit("read").concatenates();
    d.doc(
        "table: read, strand, start, end (inclusive), occurrences and their places, from 0, without a header; * where the places are not listed. "
        "fastmap: the "
        "lines of bwa 0.7.17 fastmap, byte for byte. mummer: the lines of mummer 3.23 -maxmatch -b; those of a read come in the order of its bases.");
    d.uses("index", "fm_index", "the reference");
    d.needs("read_id", "utf8", "name of the read").needs("read_length", "i32", "bases");
    d.needs("match_reverse", "list<u8>", "1: of the reverse complement").needs("match_start", "list<i32>", "first base");
    d.needs("match_end", "list<i32>", "end, exclusive").needs("match_count", "list<u32>", "occurrences");
    d.needs("match_places", "list<u32>", "places listed").needs("match_place", "list<u32>", "places of all matches");
    d.option("output", &Parameters::output,
             "where to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet, of the table; - is standard output")
        .writes();
    d.option("format", &Parameters::format, "what to write").choices({"table", "fastmap", "mummer"});
    d.option("places", &Parameters::places,
             "table: places in the text of all contigs one after the other, as GPUseed prints them, or contig:strand:place")
        .choices({"text", "contig"});
  }

  static void check_parameters(const Parameters& p) {
    if (p.format != "table" && arrow::is_column_file(p.output))
      throw Failure::usage("'" + p.output + "': " + p.format + " is no table, so it cannot be Arrow or Parquet",
                           "choose the format table, or a name that ends with .txt");
  }

  MatchWriter(const Setup& setup, const Parameters& p)
      : index_(fm_index_view(setup.resource("index"))),
        format_(p.format == "fastmap"  ? Format::fastmap
                : p.format == "mummer" ? Format::mummer
                                       : Format::table),
        places_(p.places == "contig" ? Places::contig : Places::text),
        file_(setup, p.output, schema()) {
    if (format_ == Format::fastmap && !index_.both_strands())
      throw Failure::usage("the format fastmap needs an index of both strands", "make the index with text = both");
    if (format_ == Format::mummer && index_.both_strands())
      throw Failure::usage("the format mummer needs an index of the forward strand", "make the index with text = forward");
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    const std::size_t parts = (rows + rows_grain - 1) / rows_grain;
    std::vector<Workspaces<Lines>::Lease> lines;
    for (std::size_t part = 0; part < parts; ++part) lines.push_back(workspaces_.take());
    const Columns columns(in);
    call.parallel_for(parts, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        Lines& text = *lines[part];
        text.text.clear();
        text.ends.clear();
        for (std::size_t row = part * rows_grain; row < std::min(rows, (part + 1) * rows_grain); ++row) {
          const auto r = static_cast<std::int64_t>(row);
          if (in.ok(r)) {
            const ReadMatches matches = columns[r];
            if (!fits(matches, index_))
              throw Failure::input("read '" + std::string(matches.read_id) + "': matches that can't be in this index",
                                   "use the matches of mem_seeding with the same index");
            append_lines(matches, index_, format_, places_, text.text);
          }
          text.ends.push_back(text.text.size());
        }
      }
    });
    const Buffer offsets = out.offsets([&](std::int64_t r) {
      const Lines& text = *lines[static_cast<std::size_t>(r) / rows_grain];
      const std::size_t inside = static_cast<std::size_t>(r) % rows_grain;
      return text.ends[inside] - (inside == 0 ? 0 : text.ends[inside - 1]);
    });
    char* to = out.text("_lines", offsets).data();
    for (auto& part : lines) {
      to = std::copy(part->text.begin(), part->text.end(), to);
      if (part->text.capacity() > kept_text_bytes) part.discard();
    }
  }

  void commit(const Call& call, const Batch& in) {
    const std::int64_t rows = in.rows();
    const auto matches = in.list<std::int32_t>("match_start");
    double reads = 0;
    std::uint64_t matched = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      if (!in.ok(row)) continue;
      ++reads;
      matched += matches[row].empty() ? 0 : 1;
    }
    file_.write_rows(call, in.text("_lines"));
    call.count("reads written", reads);
    call.outcome("matched", matched, static_cast<std::uint64_t>(rows));
  }

  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  // Places are a list of numbers, or of names, as text.
  static arrow::TableSchema schema() {
    return arrow::table_schema("read_id\tstrand\tstart\tend\toccurrences\tplaces", {"utf8", "utf8", "i64", "i64", "i64", "utf8"});
  }
  struct Lines {
    std::string text;
    std::vector<std::size_t> ends;  // of each row's lines
  };
  class Columns {
   public:
    explicit Columns(const Batch& in)
        : read_id_(in.text("read_id")),
          read_length_(in.column<std::int32_t>("read_length")),
          reverse_(in.list<std::uint8_t>("match_reverse")),
          start_(in.list<std::int32_t>("match_start")),
          end_(in.list<std::int32_t>("match_end")),
          count_(in.list<std::uint32_t>("match_count")),
          places_(in.list<std::uint32_t>("match_places")),
          place_(in.list<std::uint32_t>("match_place")) {}
    ReadMatches operator[](std::int64_t row) const {
      return {read_id_[row], read_length_[static_cast<std::size_t>(row)], reverse_[row], start_[row], end_[row], count_[row], places_[row],
              place_[row]};
    }

   private:
    TextView read_id_;
    std::span<const std::int32_t> read_length_;
    ListView<std::uint8_t> reverse_;
    ListView<std::int32_t> start_, end_;
    ListView<std::uint32_t> count_, places_, place_;
  };

  FmIndexView index_;
  Format format_;
  Places places_;
  arrow::TableOutput file_;
  Workspaces<Lines> workspaces_;
};

}  // namespace
}  // namespace sluice::match_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::match_writer::MatchWriter>, "match_writer", "0.1.0", "MIT", sluice::match_writer::MatchWriter);
