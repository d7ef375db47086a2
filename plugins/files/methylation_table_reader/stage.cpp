// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>

#include <algorithm>
#include <sluice/hts/text_file.hpp>
#include <sluice/input_part.hpp>
#include <sluice/repeated_reads.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "methylation_table_reader/call_line.hpp"
#include "methylation_table_reader/frequency_table_stage.hpp"

namespace sluice::methylation_table_reader {
namespace {

// Source: the calls of an existing table, one row per read and alignment, to be counted or converted without calling again.
class MethylationTableReader {
 public:
  struct Parameters {
    Path path;
  };
  enum class Reason : std::uint32_t { repeated_read };
  static void describe(Describe<MethylationTableReader>& d) {
    d.id("methylation_table_reader").summary("reads the methylation table of f5c, nanopolish or methylation_tsv");
    d.doc(
        "Neighbouring lines of one read, contig and strand with ascending positions are one row. The table has its numbers with two decimals: the "
        "difference of the "
        "two log-likelihoods is the printed ratio, and log_lik_methylated may be 0.01 off what is printed. A table of version 1 has no strand: its "
        "reads count as forward. Tables one after the other, each with its first line, are read as one: `cat a.tsv.gz b.tsv.gz` into standard "
        "input.");
    d.source("read").rows_named_by("read_id").positions().work_unit("row");
    d.gives("read_id", "utf8", "name of the read").gives("contig", "utf8", "name of the reference sequence");
    d.gives("is_reverse", "u8", "1 if the read aligned to the reverse strand");
    d.gives("site_start", "list<i64>", "C of the first CpG of each group, 0-based").gives("site_end", "list<i64>", "C of the last CpG of each group");
    d.gives("site_motifs", "list<i32>", "CpGs of each group");
    d.gives("log_lik_methylated", "list<f32>", "log-likelihood of the events if the group is methylated, natural logarithm");
    d.gives("log_lik_unmethylated", "list<f32>", "log-likelihood of the events if it is not, natural logarithm");
    d.gives("site_sequences", "utf8", "the reference around each group as the table shows it, each followed by a newline", Needed::optional);
    d.reason("repeated_read", "an earlier row has the same read at the same place; both are given");
    d.option("path", &Parameters::path, "the table, plain or compressed with gzip; - is standard input").required().reads();
  }

  MethylationTableReader(const Setup& setup, const Parameters& parameters)
      : path_(parameters.path), lines_({path_}), wants_sequences_(setup.wanted("site_sequences")) {
    if (!lines_.next()) {
      setup.warn(hts::empty_text(lines_.label().text()));
      return;
    }
    const std::string missing = columns_.parse(lines_.line());
    if (!missing.empty()) throw lacks(missing);
    look_for_sequences();
    if (!setup.begin_at().empty()) begin_at(setup.begin_at());
  }
  // Lines before the next row, and which of them names the columns.
  std::string position() const { return is_regular_file(path_) ? position_text({lines_.number() - (pending_ ? 1 : 0), columns_line_}) : no_position; }
  bool process(const Call& call, Output& out) {
    Rows rows;
    bool more = true;
    while (more && !call.cancelled()) {
      if (!pending_) pending_ = more = lines_.next();
      if (!pending_) break;
      CallLine parsed;
      const std::string problem = parse_call(lines_.line(), columns_, parsed);
      if (!problem.empty() && begins_another_table()) {
        pending_ = false;
        continue;
      }
      if (!problem.empty()) throw Failure::input(path_ + ":" + std::to_string(lines_.number()) + ": " + problem);
      if (!rows.continues(parsed)) {
        // A row is complete only when the next one begins, so that batches never cut a read in two.
        if (!rows.read_id.empty() && is_full(rows, call)) break;
        look_for_repeat(call, parsed);
        rows.begin(parsed);
      }
      rows.add(parsed);
      pending_ = false;
    }
    rows.give(out, wants_sequences_);
    if (!more) hts::warn_of_open_end(call, lines_);
    if (!more && repeated_.count() > 0)
      call.warn("'" + path_ + "' has " + std::to_string(repeated_.count()) +
                " reads that it has before, at the same place, and all are given: is a table in it twice? They are " + repeated_.names());
    return more && !call.cancelled();
  }

 private:
  struct Rows {
    std::vector<std::string> read_id, contig;
    std::vector<std::uint8_t> is_reverse;
    std::vector<std::vector<std::int64_t>> start, end;
    std::vector<std::vector<std::int32_t>> motifs;
    std::vector<std::vector<float>> methylated, unmethylated;
    std::vector<std::string> sequences;
    std::uint64_t bytes = 0;

    bool continues(const CallLine& call) const {
      return !read_id.empty() && read_id.back() == call.read_id && contig.back() == call.contig &&
             (is_reverse.back() != 0) == (call.strand == Strand::reverse) && start.back().back() < call.start;
    }
    void begin(const CallLine& call) {
      read_id.emplace_back(call.read_id);
      contig.emplace_back(call.contig);
      is_reverse.push_back(call.strand == Strand::reverse ? 1 : 0);
      start.emplace_back(), end.emplace_back(), motifs.emplace_back(), methylated.emplace_back(), unmethylated.emplace_back();
      sequences.emplace_back();
      bytes += call.read_id.size() + call.contig.size();
    }
    void add(const CallLine& call) {
      start.back().push_back(call.start);
      end.back().push_back(call.end);
      motifs.back().push_back(call.motifs);
      methylated.back().push_back(call.log_lik_methylated);
      unmethylated.back().push_back(call.log_lik_unmethylated);
      sequences.back().append(call.sequence).push_back('\n');
      bytes += 2 * sizeof(std::int64_t) + sizeof(std::int32_t) + 2 * sizeof(float) + call.sequence.size() + 1;
    }
    void give(Output& out, bool with_sequences) const {
      out.set_rows(static_cast<std::int64_t>(read_id.size()));
      out.set_work(static_cast<double>(read_id.size()));
      out.text_rows("read_id", read_id);
      out.text_rows("contig", contig);
      const auto reverse = out.column<std::uint8_t>("is_reverse");
      std::copy(is_reverse.begin(), is_reverse.end(), reverse.begin());
      const Buffer offsets = out.offsets([this](std::int64_t row) { return start[static_cast<std::size_t>(row)].size(); });
      out.gather<std::int64_t>("site_start", offsets, start);
      out.gather<std::int64_t>("site_end", offsets, end);
      out.gather<std::int32_t>("site_motifs", offsets, motifs);
      out.gather<float>("log_lik_methylated", offsets, methylated);
      out.gather<float>("log_lik_unmethylated", offsets, unmethylated);
      if (with_sequences) out.text_rows("site_sequences", sequences);
    }
  };

  // By its first site: a read may have several alignments.
  void look_for_repeat(const Call& call, const CallLine& first) {
    if (seen_.add(fmt::format("{}\t{}\t{}\t{}", first.read_id, first.contig, first.strand == Strand::reverse, first.start))) return;
    repeated_.add(first.read_id);
    to_account(call, static_cast<std::uint32_t>(Reason::repeated_read))(first.read_id);
  }

  void begin_at(const std::string& position) {
    refuse_unless_file(path_);
    const std::vector<std::uint64_t> numbers = position_numbers(position, 2);
    while (lines_.number() < numbers[0] && lines_.next())
      if (lines_.number() == numbers[1]) begins_another_table();
  }
  Failure lacks(const std::string& column) const {
    return Failure::input("'" + path_ + "' has no column '" + column + "' in its first line", "give the table that call-methylation wrote");
  }
  void look_for_sequences() const {
    if (wants_sequences_ && columns_.position(TableColumns::sequence) == TableColumns::absent) throw lacks("sequence");
  }
  bool begins_another_table() {
    TableColumns columns;
    if (!columns.parse(lines_.line()).empty()) return false;
    columns_ = columns;
    columns_line_ = lines_.number();
    look_for_sequences();
    return true;
  }

  static bool is_full(const Rows& rows, const Call& call) {
    return static_cast<double>(rows.read_id.size()) >= call.target_work() || rows.bytes >= call.target_bytes();
  }
  std::string path_;
  SeenReads seen_;
  RepeatedReads repeated_;
  hts::TextLines lines_;
  TableColumns columns_;
  std::uint64_t columns_line_ = 1;
  bool wants_sequences_;
  bool pending_ = false;  // it is at a line that no row has yet
};

}  // namespace
}  // namespace sluice::methylation_table_reader

SLUICE_PLUGIN("methylation_table_reader", "0.1.0", "MIT", sluice::methylation_table_reader::MethylationTableReader,
              sluice::methylation_table_reader::FrequencyTableReader);
