// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <sluice/hts/text_file.hpp>
#include <sluice/input_files.hpp>
#include <sluice/input_part.hpp>
#include <sluice/region_table.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bedmethyl_reader/bedmethyl_line.hpp"

namespace sluice::bedmethyl_reader {
namespace {

constexpr const char* endings = ".bed .bed.gz .bedmethyl .bedmethyl.gz";

std::string sample_of(const std::string& path) {
  std::string name = std::filesystem::path(path).filename();
  for (const std::string_view ending : {".gz", ".bed", ".bedmethyl"})
    if (name.size() > ending.size() && name.ends_with(ending)) name.erase(name.size() - ending.size());
  return name;
}

// Rows of bedMethyl, file by file.
class BedMethylReader {
 public:
  struct Parameters {
    Path path;
  };
  static void describe(Describe<BedMethylReader>& d) {
    d.id("bedmethyl_reader").summary("reads counts of base modifications from bedMethyl").source("pileup").rows_are("site").positions();
    d.doc(
        "Rows of the files one after the other, with the 18 columns of modkit, or a 19th: the partition. The column sample is the file's name "
        "without "
        "folder and endings.");
    d.gives("contig", "utf8", "name of the reference sequence").gives("position", "i64", "0-based, on the forward strand");
    d.gives("strand", "utf8", "+ or -; . for both together").gives("modification", "utf8", "its code: a letter or a ChEBI number");
    for (std::size_t i = 0; i < std::size(counts); ++i) d.gives(counts[i], "i64", "reads, see modification_pileup");
    d.gives("partition", "utf8", "which reads were counted; empty for all");
    d.gives("sample", "utf8", "the file's name without folder and endings");
    d.option("path", &Parameters::path, "bedMethyl files or folders, plain or gzip; - is standard input").required().reads().several(endings);
    d.work_unit("row");
  }

  BedMethylReader(const Setup& setup, const Parameters& p) : paths_(input_files(p.path, endings)) {
    std::set<std::string> samples;
    for (const std::string& path : paths_)
      if (!samples.insert(sample_of(path)).second)
        throw Failure::input("two files are called '" + sample_of(path) + "', and so their rows cannot be told apart",
                             "give one of them another name");
    if (setup.begin_at().empty()) return;
    const auto numbers = position_numbers(setup.begin_at(), 2);
    file_ = static_cast<std::size_t>(numbers[0]);
    if (file_ < paths_.size()) {
      refuse_unless_file(paths_[file_]);
      lines_.emplace(hts::FileLabel{paths_[file_]});
      while (lines_->number() < numbers[1] && lines_->next()) {
      }
      has_rows_ = numbers[1] > 0;
    }
  }
  // The file, and its lines before the next row.
  std::string position() const {
    for (const std::string& path : paths_)
      if (!is_regular_file(path)) return no_position;
    return position_text({std::uint64_t{file_}, lines_ ? lines_->number() : 0});
  }

  bool process(const Call& call, Output& out) {
    std::vector<std::string> texts[5];  // contig, strand, modification, partition, sample
    std::vector<std::int64_t> positions;
    std::vector<std::array<std::int64_t, 7>> rows;
    bool more = true;
    while (!call.cancelled() && static_cast<double>(rows.size()) < std::max(call.target_work(), 1.0) && (more = next(call))) {
      BedMethylLine line;
      if (const std::string problem = parse_bedmethyl(lines_->line(), line); !problem.empty())
        throw Failure::input(paths_[file_] + ":" + std::to_string(lines_->number()) + ": " + problem,
                             "give what 'sluice pileup' or modkit pileup wrote");
      look_at_order(call, line);
      texts[0].emplace_back(line.contig), texts[1].emplace_back(line.strand), texts[2].emplace_back(line.modification);
      texts[3].emplace_back(line.partition), texts[4].push_back(sample_of(paths_[file_]));
      positions.push_back(line.position);
      rows.push_back(line.counts);
    }
    out.set_rows(static_cast<std::int64_t>(rows.size()));
    out.set_work(static_cast<double>(rows.size()));
    static constexpr const char* names[] = {"contig", "strand", "modification", "partition", "sample"};
    for (std::size_t i = 0; i < std::size(names); ++i) out.text_rows(names[i], texts[i]);
    std::copy(positions.begin(), positions.end(), out.column<std::int64_t>("position").begin());
    for (std::size_t i = 0; i < std::size(counts); ++i) {
      const auto column = out.column<std::int64_t>(counts[i]);
      for (std::size_t row = 0; row < rows.size(); ++row) column[row] = rows[row][i];
    }
    call.progress(static_cast<double>(file_) / static_cast<double>(paths_.size()));
    return more && !call.cancelled();
  }

 private:
  static constexpr const char* counts[] = {"modified", "canonical", "other_modified", "deleted", "failed", "different", "no_call"};

  // Where a file goes back, a table may be in it twice, and each of its sites counts as often as it comes.
  void look_at_order(const Call& call, const BedMethylLine& line) {
    bool goes_back = line.position < position_;
    if (line.contig != contig_) {
      if (!contig_.empty()) contigs_before_.insert(std::exchange(contig_, ""));
      goes_back = contigs_before_.contains(contig_ = line.contig);
    }
    position_ = line.position;
    if (goes_back && !std::exchange(has_gone_back_, true))
      call.warn(lines_->label().text() + ", line " + std::to_string(lines_->number()) +
                ": the sites are not in order any more: is a table in it twice? Each counts as often as it comes");
  }

  // Goes to the next line that is a row. False: there is none.
  bool next(const Call& call) {
    for (; file_ < paths_.size(); ++file_, lines_.reset()) {
      if (!lines_) {
        lines_.emplace(hts::FileLabel{paths_[file_]});
        contig_.clear(), contigs_before_.clear();
        position_ = 0;
        has_gone_back_ = false;
      }
      while (lines_->next()) {
        // The names of the columns are those of modkit pileup --header.
        const std::string_view line = lines_->line();
        if (!region_table::is_left_out(line) && !line.starts_with("chrom\tchromStart\t")) return has_rows_ = true;
      }
      if (lines_->number() == 0)
        call.warn(hts::empty_text(lines_->label().text()));
      else if (!std::exchange(has_rows_, false))
        call.warn(lines_->label().text() + " has no site");
      hts::warn_of_open_end(call, *lines_);
    }
    return false;
  }

  std::vector<std::string> paths_;
  std::size_t file_ = 0;
  // Of the file that is open.
  bool has_rows_ = false, has_gone_back_ = false;
  std::string contig_;
  std::int64_t position_ = 0;
  std::set<std::string, std::less<>> contigs_before_;
  std::optional<hts::TextLines> lines_;
};

}  // namespace
}  // namespace sluice::bedmethyl_reader

SLUICE_PLUGIN("bedmethyl_reader", "0.1.0", "MIT", sluice::bedmethyl_reader::BedMethylReader);
