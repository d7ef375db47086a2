// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// FASTA and FASTQ files, plain, BGZF or gzip: streaming, and random access by read id. Everything here throws sluice::Failure (input) naming the
// file, and for broken records the record and the line.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/bgzf_block.hpp>
#include <sluice/hts/text_file.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "read_bases/sequence_index.hpp"
#include "read_bases/sequence_records.hpp"

namespace sluice::read_bases {

// Records one after the other, on one thread. The whole record is in memory at a time, so a line may be as long as memory allows.
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
  RepeatedReads repeated;  // reads whose name an earlier one of the file has
};

// Closes itself.
struct FileDescriptor {
  int number = -1;
  explicit FileDescriptor(int n) : number(n) {}
  FileDescriptor(const FileDescriptor&) = delete;
  ~FileDescriptor();
  void replace(FileDescriptor& other) { std::swap(number, other.number); }
};

// The blocks of a BGZF file, and the text of some of them, which all threads share. Each slot has a lock of its own, held while a pointer is copied.
class BlockCache {
 public:
  struct Block {
    std::uint64_t file_offset;
    std::uint64_t text_offset;
  };
  using Text = std::shared_ptr<const char[]>;
  enum class From : std::uint8_t { index, file };  // by a .gzi, unseen; or seen, one by one

  BlockCache(std::vector<Block> blocks, From from);
  const std::vector<Block>& blocks() const { return blocks_; }  // ends with one past the last
  From from() const { return from_; }
  // Null: it is not here.
  Text find(std::size_t block);
  void put(std::size_t block, const Text& text);

 private:
  struct Slot {
    std::mutex mutex;  // guards the others
    std::size_t block = SIZE_MAX;
    Text text;
  };
  std::vector<Block> blocks_;
  From from_;
  std::vector<Slot> slots_;
};

// Random access. Uses FILE.fai and FILE.gzi of samtools faidx; makes those that are missing or older than the file, and keeps them if the folder may
// be written to. A gzip file that is not BGZF has no random access: it is decompressed to an unlinked file in the temporary folder. Thread-safe once
// it has been made.
class SequenceFile {
 public:
  SequenceFile(std::string path, OpenReport& report);
  SequenceFile(const SequenceFile&) = delete;

  const SequenceIndex& index() const { return index_; }

  struct Wanted {
    std::string_view id;
    const SequencePlace* place;
    char* bases;                     // place->bases of them go here, upper case with T for U
    std::string* comment = nullptr;  // what follows the name goes here, if it is wanted
  };
  // body(begin, end) over parts of [0, count), each at least `grain` long but the last, on any thread and in any order; back when all are done.
  using ParallelFor = std::function<void(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body)>;
  // Fetches reads, several at once. `wanted` is in the order of the file, so that reads that share a block follow each other. Fails when a read is
  // not there: of several the first.
  void fetch(std::span<const Wanted> wanted, const ParallelFor& parallel_for);

 private:
  using Block = BlockCache::Block;
  struct Scratch {
    hts::BgzfInflater inflater;
    std::vector<char> compressed, text;
  };
  // What one fetch() knows: the kernel hears of all its places when the first is not in memory.
  struct Lookup {
    std::span<const Wanted> wanted;
    std::once_flag told;
  };
  class Reader;

  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const;
  void open_blocks(bool index_is_older);
  bool load_blocks(const std::string& gzi_path, std::vector<Block>& blocks) const;
  std::string gzi_of_blocks() const;
  std::vector<Block> walk_blocks() const;
  std::shared_ptr<BlockCache> cache() const;
  bool count_blocks_anew(const std::shared_ptr<BlockCache>& wrong);
  // The next bytes of text; 0: the end.
  using ReadText = std::function<std::size_t(char* to, std::size_t bytes)>;
  void decompress_to_temporary_file(OpenReport& report, const char* format, const ReadText& read_text);
  void load_or_build_index(OpenReport& report);
  void say_repeated(std::string_view fai, OpenReport& report) const;
  void build_index(std::string& fai, std::uint64_t& duplicates);
  std::size_t read_file(std::uint64_t offset, char* to, std::size_t bytes) const;
  std::size_t read_for(Lookup& lookup, std::uint64_t offset, char* to, std::size_t bytes) const;
  void tell_kernel(const Lookup& lookup) const;

  std::string path_;
  FileDescriptor file_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t text_bytes_ = 0;
  bool keep_index_ = true;             // false: of no use to another run, or unwritable
  mutable std::mutex mutex_;           // guards cache_, which changes when a .gzi has turned out to be wrong
  std::shared_ptr<BlockCache> cache_;  // BGZF only
  Workspaces<Scratch> workspaces_;
  SequenceIndex index_;
};

}  // namespace sluice::read_bases
