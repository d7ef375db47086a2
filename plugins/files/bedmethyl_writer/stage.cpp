// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/arrow/known_tables.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_indexed_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bedmethyl_writer {
namespace {

// Appends fields, each with a tab behind it.
class Line {
 public:
  explicit Line(std::string& text) : text_(&text) {}
  Line& add(std::string_view field) {
    text_->append(field).push_back('\t');
    return *this;
  }
  Line& add(std::int64_t number) {
    char digits[20];
    return add({digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), number).ptr - digits)});
  }
  Line& add_percent(double percent) {
    if (percent == 0) return add("0.00");
    if (percent == 100) return add("100.00");
    char digits[32];
    return add({digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), percent, std::chars_format::fixed, 2).ptr - digits)});
  }

 private:
  std::string* text_;
};

// Sink: counts of base modifications as bedMethyl, in the order in which they come.
class BedMethylWriter : public hts::JoinsIndexedText<hts::bed_columns> {
 public:
  struct Parameters {
    Path output;
    bool partitions = false;
  };
  static void describe(Describe<BedMethylWriter>& d) {
    d.id("bedmethyl_writer").summary("writes counts of base modifications as bedMethyl");
    d.doc(
        "18 tab-separated columns without header, as modkit pileup has them: contig, position, position + 1, modification, valid coverage, strand, "
        "the positions again, 255,0,0, valid coverage, percent modified, then reads: modified, canonical, other modification, deletion, failed, "
        "different base, no call. A name that ends with .gz makes BGZF and, of sorted rows, the index of tabix, .zst zstd, .arrow an Arrow IPC "
        "file.");
    d.sink("pileup").work_unit("row").concatenates();
    d.needs("contig", "utf8", "name of the reference sequence").needs("position", "i64", "0-based, on the forward strand");
    d.needs("strand", "utf8", "+, - or .").needs("modification", "utf8", "its code");
    for (const char* name : counts) d.needs(name, "i64", "reads, see modification_pileup");
    d.needs("partition", "utf8", "which reads were counted", Needed::optional);
    d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; - is standard output")
        .required()
        .writes()
        .beside(".tbi")
        .beside(".csi");
    d.option("partitions", &Parameters::partitions, "a 19th column: which reads were counted");
  }

  BedMethylWriter(const Setup& setup, const Parameters& parameters)
      : partitions_(parameters.partitions), file_(setup, parameters.output, schema_of(parameters.partitions), hts::bed_columns) {
    if (partitions_ && !setup.available("partition")) throw Failure::usage("there are no partitions to write", "leave partitions out");
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) const {
    const Columns columns(in, partitions_);
    constexpr std::size_t rows_at_once = 1024;
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<std::string> texts((rows + rows_at_once - 1) / rows_at_once);
    std::vector<std::size_t> sizes(rows);
    call.parallel_for(texts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part)
        for (std::size_t row = part * rows_at_once; row < std::min(rows, (part + 1) * rows_at_once); ++row) {
          const std::size_t before = texts[part].size();
          if (in.ok(static_cast<std::int64_t>(row))) columns.append_line(static_cast<std::int64_t>(row), texts[part]);
          sizes[row] = texts[part].size() - before;
        }
    });
    const std::span<char> lines = out.text("_lines", out.offsets([&](std::int64_t row) { return sizes[static_cast<std::size_t>(row)]; }));
    auto at = lines.begin();
    for (const std::string& text : texts) at = std::copy(text.begin(), text.end(), at);
  }

  void commit(const Call& call, const Batch& in) {
    file_.write_rows(call, in.text("_lines"));
    std::uint64_t written = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) written += in.ok(row) ? 1 : 0;
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  static constexpr const char* counts[] = {"modified", "canonical", "other_modified", "deleted", "failed", "different", "no_call"};

  class Columns {
   public:
    Columns(const Batch& in, bool partitions)
        : contig_(in.text("contig")),
          strand_(in.text("strand")),
          modification_(in.text("modification")),
          partition_(in.text(partitions ? "partition" : "contig")),
          position_(in.column<std::int64_t>("position")),
          partitions_(partitions) {
      for (std::size_t i = 0; i < std::size(counts); ++i) counts_[i] = in.column<std::int64_t>(counts[i]);
    }
    // Throws Failure::input for counts that can't be.
    void append_line(std::int64_t row, std::string& text) const {
      const auto i = static_cast<std::size_t>(row);
      const auto count = [&](std::size_t which) { return counts_[which][i]; };
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
      const std::int64_t position = position_[i];
      bool possible = position >= 0 && position < most;
      for (std::size_t which = 0; which < std::size(counts); ++which) possible = possible && count(which) >= 0 && count(which) < most;
      if (!possible)
        throw Failure::input("site " + std::string(contig_[row]) + ":" + std::to_string(position) + ": a position or counts that can't be",
                             "use the rows of modification_pileup");
      const std::int64_t valid = count(0) + count(1) + count(2);
      const double percent = valid > 0 ? 100.0 * static_cast<double>(count(0)) / static_cast<double>(valid) : 0.0;
      Line line(text);
      line.add(contig_[row]).add(position).add(position + 1).add(modification_[row]).add(valid).add(strand_[row]).add(position).add(position + 1);
      line.add("255,0,0").add(valid).add_percent(percent);
      for (std::size_t which = 0; which < std::size(counts); ++which) line.add(count(which));
      if (partitions_) line.add(partition_[row]);
      text.back() = '\n';
    }

   private:
    TextView contig_, strand_, modification_, partition_;
    std::span<const std::int64_t> position_;
    std::span<const std::int64_t> counts_[std::size(counts)];
    bool partitions_;
  };

  static arrow::TableSchema schema_of(bool partitions) {
    arrow::TableSchema schema = arrow::bed_methyl_schema();
    if (partitions) schema.push_back({.name = "partition", .type = "utf8"});
    return schema;
  }

  bool partitions_;
  arrow::IndexedTable file_;
};

}  // namespace
}  // namespace sluice::bedmethyl_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::bedmethyl_writer::BedMethylWriter>, "bedmethyl_writer", "0.1.0", "MIT",
                   sluice::bedmethyl_writer::BedMethylWriter);
