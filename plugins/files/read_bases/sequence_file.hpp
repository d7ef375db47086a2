// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// FASTA and FASTQ files, plain, BGZF or gzip: streaming, and random access by read id. Everything here throws sluice::Failure (input) naming the
// file, and for broken records the record and the line. Not thread-safe.

#include <cstdint>
#include <memory>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "read_bases/sequence_index.hpp"
#include "read_bases/sequence_records.hpp"

struct libdeflate_decompressor;

namespace sluice::read_bases {

// Records one after the other. The whole record is in memory at a time, so a line may be as long as memory allows.
class SequenceStream {
 public:
  // `path` is for messages.
  SequenceStream(hts::Bgzf input, std::string path);
  // False at the end. Views in `record` are valid until the next call.
  bool next(SequenceRecord& record);
  SequenceFormat format() const { return format_; }
  std::uint64_t records() const { return records_; }
  // Offset in the uncompressed text of a view into the current record.
  std::uint64_t text_offset(std::string_view view) const { return buffer_begin_ + static_cast<std::uint64_t>(view.data() - buffer_.data()); }
  const BGZF& file() const { return input_.file(); }

 private:
  void fill();
  [[noreturn]] void fail(const std::string& what, std::uint64_t line) const;
  hts::TextFile input_;
  std::string path_;
  SequenceFormat format_ = SequenceFormat::fasta;
  std::vector<char> buffer_;
  std::size_t used_ = 0, filled_ = 0;
  std::uint64_t buffer_begin_ = 0;  // text offset of buffer_[0]
  bool at_end_ = false;
  bool format_known_ = false;
  std::uint64_t records_ = 0, lines_ = 0;
};

// What the caller should tell its user about how a file was opened.
struct OpenReport {
  std::vector<std::string> infos, warnings;
};

// Closes itself.
struct FileDescriptor {
  int number = -1;
  explicit FileDescriptor(int n) : number(n) {}
  FileDescriptor(const FileDescriptor&) = delete;
  ~FileDescriptor();
  void replace(FileDescriptor& other) { std::swap(number, other.number); }
};

// Random access. Uses FILE.fai and FILE.gzi of samtools faidx; makes those that are missing or older than the file, and keeps them if the folder may
// be written to. A gzip file that is not BGZF has no random access: it is decompressed to an unlinked file in the temporary folder.
class SequenceFile {
 public:
  SequenceFile(std::string path, OpenReport& report);
  SequenceFile(const SequenceFile&) = delete;

  const SequenceIndex& index() const { return index_; }
  // Writes place.bases bases, upper case with T for U, to `out`. Fails when read `id` is not there.
  void fetch(std::string_view id, const SequencePlace& place, char* out);

 private:
  struct Block {
    std::uint64_t file_offset;
    std::uint64_t text_offset;
  };
  struct CachedBlock {
    std::size_t block = SIZE_MAX;
    std::vector<char> text;
  };
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const;
  void open_blocks(bool index_is_older);
  bool load_blocks(const std::string& gzi_path);
  std::string gzi_of_blocks() const;
  void fetch_by_blocks(std::string_view id, const SequencePlace& place, char* out);
  bool belongs_to(std::string_view id, const SequencePlace& place, std::uint64_t bytes);
  void walk_blocks();
  void decompress_to_temporary_file(OpenReport& report);
  void load_or_build_index(OpenReport& report);
  void build_index(std::string& fai, std::uint64_t& duplicates);
  void read_text(std::uint64_t offset, char* to, std::size_t bytes);
  const std::vector<char>& block_text(std::size_t block);
  std::size_t read_file(std::uint64_t offset, char* to, std::size_t bytes) const;

  std::string path_;
  FileDescriptor file_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t text_bytes_ = 0;
  bool keep_index_ = true;         // false: of no use to another run, or unwritable
  std::vector<Block> blocks_;      // BGZF only; ends with one past the last
  bool blocks_are_given_ = false;  // by a .gzi, unseen
  std::vector<CachedBlock> cache_;
  std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> decompressor_;
  std::vector<char> compressed_, lines_, header_;
  SequenceIndex index_;
};

}  // namespace sluice::read_bases
