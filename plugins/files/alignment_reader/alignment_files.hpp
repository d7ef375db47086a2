// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One or several alignment files of the same contigs as one sequence of records. Throws sluice::Failure (input) naming the file.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alignment_reader/alignment_file.hpp"

namespace sluice::alignment_reader {

enum class FileOrder : std::uint8_t {
  as_given,     // one after the other
  by_position,  // as one sorted file, records at the same position in the order of the files; as given if one of them is not sorted
};

// Records name their contig by its number, so the order counts, too. Throws Failure (input): they differ.
void check_same_contigs(const std::string& path, const std::vector<Contig>& contigs, const std::string& other_path,
                        const std::vector<Contig>& others);

// Which of the records: those of one of several parts, from a position on.
struct Beginning {
  std::uint64_t part = 0, parts = 1;
  AlignmentFile::Numbering numbering = AlignmentFile::Numbering::all;  // of_range: visited() counts from the part's beginning
  std::string position;
  hts::RecordSearchRules rules = {};
  bool is_elsewhere() const { return parts > 1 || !position.empty(); }
};

class AlignmentFiles {
 public:
  // position: of these files, where to begin; "": at the first record.
  explicit AlignmentFiles(std::unique_ptr<AlignmentFile> file, const std::string& position = {});
  // Looks at all headers, so that what can't be read together, or not at all, is said before the first record. `options.path` is none of them.
  AlignmentFiles(std::vector<std::string> paths, OpenOptions options, FileOrder order, Beginning beginning = {});
  // Where next() goes on, or where the last record that it gave begins.
  enum class Of : std::uint8_t { next, last };
  std::string position(Of of);

  // Of the file that the last record came from.
  const std::string& path() const { return current().path(); }
  const std::shared_ptr<const hts::BasecallerTags>& basecaller_tags() const { return current().basecaller_tags(); }
  const std::vector<Contig>& contigs() const { return contigs_; }
  const std::string& contig_name(int contig) const { return contigs_[static_cast<std::size_t>(contig)].name; }
  const std::optional<Regions>& regions() const { return current().regions(); }
  // What the user should be told and has not been yet.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

  // The next record, nullptr at the end. Valid until the next call.
  const AlignmentRecord* next(const ParallelFor& parallel_for, int threads);

  // As in AlignmentFile, over all files.
  void end_here() { current().end_here(); }
  bool waits() const { return current().waits(); }
  std::int64_t consumed() const { return current().consumed(); }
  std::uint64_t visited() const { return visited_; }
  std::uint64_t visited_bytes() const { return visited_bytes_; }
  double share_read() const;
  std::uint64_t memory() const;
  std::uint64_t outside_region() const;

 private:
  // A file of several that are merged, and the record that it goes on with.
  struct Head {
    const AlignmentRecord* record;
    std::size_t file;
  };
  static bool comes_later(const Head& a, const Head& b);
  void note_sizes();
  void begin(const std::string& position);
  void open_turn();
  AlignmentFile& current() const { return *files_[current_]; }
  std::unique_ptr<AlignmentFile> open(const std::string& path, bool with_regions) const;
  void look_at_headers(FileOrder order);
  void take_note(AlignmentFile& file);
  void look_at_end(const AlignmentFile& file);
  const AlignmentRecord* next_in_order(const ParallelFor& parallel_for, int threads);
  const AlignmentRecord* next_by_position(const ParallelFor& parallel_for, int threads);
  void push_head(std::size_t file, const ParallelFor& parallel_for, int threads);
  const AlignmentRecord* advance(AlignmentFile& file, const ParallelFor& parallel_for, int threads);

  OpenOptions options_;
  Beginning beginning_;
  InputPart part_;
  std::vector<std::string> paths_;
  std::vector<Contig> contigs_;
  bool merges_ = false, begun_ = false, warned_of_regions_ = false;
  std::vector<std::unique_ptr<AlignmentFile>> files_;  // those that are open: the one whose turn it is, or all
  std::size_t current_ = 0;                            // in files_
  std::size_t turn_ = 0, last_turn_ = 0;               // in paths_
  std::vector<Head> heads_;                            // a heap
  std::vector<std::string> notes_, warnings_;
  std::uint64_t visited_ = 0, visited_bytes_ = 0;
  std::uint64_t outside_before_ = 0;  // outside_region() of files that are closed
  std::vector<double> bytes_;         // of each path
  double bytes_before_ = 0, all_bytes_ = 0;
};

}  // namespace sluice::alignment_reader
