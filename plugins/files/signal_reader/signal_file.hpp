// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A SLOW5, BLOW5, POD5 or FAST5 file: its header, its records in file order, and records by place. Throws sluice::Failure (input) with the file's
// name.

#include <cstdint>
#include <functional>
#include <memory>
#include <sluice/failure.hpp>
#include <sluice/input_part.hpp>
#include <sluice/repeated_reads.hpp>
#include <string>
#include <utility>
#include <vector>

#include "signal_reader/cached_bytes.hpp"
#include "signal_reader/signal_index.hpp"
#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

// Closes itself.
struct FileDescriptor {
  int number = -1;
  explicit FileDescriptor(int n) : number(n) {}
  FileDescriptor(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }
  void close();
};

// The kernel takes so much at once of what it is asked to have at hand; its limit is this or more.
inline constexpr std::uint64_t read_ahead_piece = std::uint64_t{512} << 10;

class Pod5File;
class Fast5File;
class RecordTable;

class SignalFile {
 public:
  // Reads the header, and for BLOW5 checks the end-of-file mark: a file that lacks it is truncated, unless it may still grow.
  enum class Growth : std::uint8_t { none, possible };
  explicit SignalFile(std::string path, Growth growth = Growth::none);
  SignalFile(const SignalFile&) = delete;
  ~SignalFile();

  const std::string& path() const { return path_; }
  const Slow5Header& header() const;
  RecordExtent extent() const { return extent_; }

  // Of a file that grows: takes in the whole records that have come since.
  void extend();
  // Of a file that has grown: fails unless it ends behind the last record, with its mark.
  void check_end() const;

  // Bytes of the record itself: without the size before a BLOW5 record, without the newline of a SLOW5 line. bytes_around() are those.
  static std::size_t bytes_around(FileFormat format);
  static std::size_t stored_bytes(const Slow5Header& header, RecordPlace place);
  // Reads the record at `place` into `stored` (stored_bytes of it). Thread-safe. Fails when no record of that size lies there, so that a
  // wrong index is noticed.
  void read(RecordPlace place, char* stored) const;
  // The same where the system has the record in its memory. False: it has not, or can't tell, or no such record lies there. Thread-safe.
  bool read_if_at_hand(RecordPlace place, char* stored) const;
  // As read(), for a place that somebody else says: false when there is no such record.
  bool read_if_there(RecordPlace place, std::vector<char>& stored) const;
  // Reads the first `bytes` of the record at `place`, which is one of the file's. Thread-safe.
  void read_beginning(RecordPlace place, char* stored, std::size_t bytes) const;
  // The fixed fields of the record at `place`, which is one of the file's; reads as little of it as will do, into `stored`. Thread-safe.
  RecordStatus read_fields(RecordPlace place, RecordDecoder& decoder, std::vector<char>& stored, SignalRecord& record) const;
  // Asks the file system to have [offset, offset + bytes) at hand soon. Thread-safe.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const;
  // Reads [offset, offset + bytes), or less at the end of the file. Thread-safe.
  std::size_t read_bytes(std::uint64_t offset, char* to, std::size_t bytes) const;

  // Null unless it is POD5, or FAST5.
  const Pod5File* pod5() const { return pod5_.get(); }
  const Fast5File* fast5() const { return fast5_.get(); }
  // Of both; null where records lie in the file itself.
  const RecordTable* table() const { return table_; }
  // Bytes of memory that the object takes, about, where it is one of many; 0: others.
  std::uint64_t memory() const;
  std::uint64_t file_bytes() const;
  // The place of the record at `offset`; an empty one (bytes = 0) at the end. Not for SLOW5.
  RecordPlace place_at(std::uint64_t offset) const;

 private:
  [[noreturn]] void fail(const std::string& what, std::string remedy = {}) const;
  [[noreturn]] void fail_truncated(std::uint64_t records) const;
  bool has_mark_at(std::uint64_t offset) const;
  std::string path_;
  FileDescriptor file_;
  CachedBytes cached_;
  Slow5Header header_;
  RecordExtent extent_;
  std::unique_ptr<Pod5File> pod5_;
  std::unique_ptr<Fast5File> fast5_;
  const RecordTable* table_ = nullptr;  // of one of these: places are its own
  std::uint64_t records_ = 0;           // in the extent of a file that grows, where it is BLOW5
};

// Goes through the records of a file in file order.
class RecordCursor {
 public:
  explicit RecordCursor(const SignalFile& file) : file_(file), offset_(file.extent().begin) {}
  // The records that begin in a range of the file's bytes. Of BLOW5 the sizes before it are read, of tables the range is scaled to its records'
  // places.
  RecordCursor(const SignalFile& file, ByteRange range);
  // Goes to where a cursor stood that was at its `offset()` and had passed so many `records()`, which were counted from `counted_from()` on.
  void go_to(std::uint64_t offset, std::uint64_t records, std::uint64_t counted_from);
  // Where the next record is; false at the end. Of BLOW5 only the size of the record is read, text is looked through for the end of the line.
  bool next_place(RecordPlace& place);
  // The same with the record itself, valid until the next call.
  bool next(std::span<const char>& stored, RecordPlace& place);
  std::uint64_t records() const { return records_; }
  std::uint64_t counted_from() const { return counted_from_; }
  std::uint64_t offset() const { return offset_; }
  // "record 5", or "record 5 behind byte 1000".
  std::string record_text(std::uint64_t number) const;
  // Share of the records' bytes that has been read or skipped, 0 to 1.
  double share_read() const {
    const RecordExtent all = file_.extent();
    return all.end > all.begin ? static_cast<double>(offset_ - all.begin) / static_cast<double>(all.end - all.begin) : 1;
  }

 private:
  std::uint64_t line_bytes();
  Failure damaged(const char* what) const;
  const SignalFile& file_;
  std::uint64_t offset_;  // of the next record
  std::uint64_t end_ = ByteRange::no_end;
  std::uint64_t records_ = 0, counted_from_ = 0;
  std::vector<char> stored_;
  std::vector<char> text_;        // SLOW5: some of the file ...
  std::uint64_t text_begin_ = 0;  // ... from here on
};

// body(begin, end) over disjoint parts of [0, count), of at least `grain`, on as many threads as the caller has.
using ParallelLoop = std::function<void(std::size_t count, std::size_t grain, const std::function<void(std::size_t begin, std::size_t end)>& body)>;

struct BuiltIndex {
  SignalIndex index;
  RepeatedReads repeated;  // records left out because an earlier one has their id
};
// Makes the index from the records themselves. repeated: what has been found of them before, and who is told of each.
BuiltIndex build_index(const SignalFile& file, const ParallelLoop& parallel, RepeatedReads repeated = RepeatedReads());

// What became of the .idx file beside a signal file.
struct IndexSource {
  enum class Action : std::uint8_t { loaded, made, made_in_memory } action = Action::loaded;
  std::string reason;      // why it was made: "there is none", "it is older than the file" ...; and, in memory, why it could not be kept
  RepeatedReads repeated;  // records that it leaves out because an earlier one has their id
};
// Loads PATH.idx; when it is missing, stale or broken, makes it (and writes it beside the file, if that folder may be written to).
SignalIndex load_or_build_index(const SignalFile& file, const ParallelLoop& parallel, IndexSource& source);

}  // namespace sluice::signal_reader
