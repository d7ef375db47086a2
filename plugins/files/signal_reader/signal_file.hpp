// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// An open SLOW5 or BLOW5 file: its header, its records in file order, and records by place. Throws sluice::Failure (input) with the file's name.

#include <cstdint>
#include <functional>
#include <sluice/failure.hpp>
#include <string>
#include <utility>
#include <vector>

#include "signal_reader/signal_index.hpp"
#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

// Closes itself.
struct FileDescriptor {
  int number = -1;
  explicit FileDescriptor(int n) : number(n) {}
  FileDescriptor(const FileDescriptor&) = delete;
  ~FileDescriptor();
};

class SignalFile {
 public:
  // Reads the header, and for BLOW5 checks the end-of-file mark: a file that lacks it is truncated.
  explicit SignalFile(std::string path);
  SignalFile(const SignalFile&) = delete;

  const std::string& path() const { return path_; }
  const Slow5Header& header() const { return header_; }
  RecordExtent extent() const { return extent_; }

  // Bytes of the record itself: without the size before a BLOW5 record, without the newline of a SLOW5 line.
  static std::size_t stored_bytes(const Slow5Header& header, RecordPlace place);
  // Reads the record at `place` into `stored` (stored_bytes of it). Thread-safe. Fails when no record of that size lies there, so that a
  // wrong index is noticed.
  void read(RecordPlace place, char* stored) const;
  // The same for a place that somebody else says: false when there is no such record.
  bool read_if_there(RecordPlace place, std::vector<char>& stored) const;
  // Asks the file system to have [offset, offset + bytes) at hand soon. Thread-safe.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const;
  // Reads [offset, offset + bytes), or less at the end of the file. Thread-safe.
  std::size_t read_bytes(std::uint64_t offset, char* to, std::size_t bytes) const;

  // The place of the record at `offset`; an empty one (bytes = 0) at the end. BLOW5 only.
  RecordPlace place_at(std::uint64_t offset) const;

 private:
  [[noreturn]] void fail(const std::string& what, std::string remedy = {}) const;
  std::string path_;
  FileDescriptor file_;
  Slow5Header header_;
  RecordExtent extent_;
};

// Goes through the records of a file in file order, with buffered reads.
class RecordCursor {
 public:
  // Names are in the first bytes of a record.
  static constexpr std::size_t name_bytes = 4096;

  explicit RecordCursor(const SignalFile& file) : file_(file), offset_(file.extent().begin) {}
  // The next record and its place; false at the end. `stored` is valid until the next call.
  bool next(std::span<const char>& stored, RecordPlace& place);
  // The same with the first `bytes` bytes of the record, where it has more. What lies between beginnings is not copied from the file. Text is given
  // whole: it has to be looked through for its end.
  bool next_beginning(std::size_t bytes, std::span<const char>& stored, RecordPlace& place);
  // The first `bytes` bytes of the record that was given last.
  std::span<const char> beginning(std::size_t bytes);
  std::uint64_t records() const { return records_; }
  // Share of the records' bytes that has been read or skipped, 0 to 1.
  double share_read() const {
    const RecordExtent all = file_.extent();
    return all.end > all.begin ? static_cast<double>(offset_ + last_.bytes - all.begin) / static_cast<double>(all.end - all.begin) : 1;
  }

 private:
  bool fill(std::size_t bytes);
  void skip_last();
  Failure damaged(const char* what) const;
  const SignalFile& file_;
  std::uint64_t offset_;  // of buffer_[used_] in the file
  std::vector<char> buffer_;
  std::size_t used_ = 0, filled_ = 0;
  std::uint64_t records_ = 0;
  RecordPlace last_;              // given last, and still at buffer_[used_]; bytes = 0: none
  std::size_t last_asked_ = 0;    // of its bytes
  std::size_t usual_bytes_ = 0;   // that are asked for of a record
  bool beginnings_ = false;       // most of the last record was skipped: no more is read than is asked for
  std::uint64_t read_ahead_ = 0;  // the file system has been asked for what lies before
};

// body(begin, end) over disjoint parts of [0, count), on as many threads as the caller has.
using ParallelLoop = std::function<void(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body)>;

struct BuiltIndex {
  SignalIndex index;
  std::uint64_t duplicates = 0;  // records left out because an earlier one has their id
};
// Makes the index from the records themselves.
BuiltIndex build_index(const SignalFile& file, const ParallelLoop& parallel);

// What became of the .idx file beside a signal file.
struct IndexSource {
  enum class Action : std::uint8_t { loaded, made, made_in_memory } action = Action::loaded;
  std::string reason;  // why it was made: "there is none", "it is older than the file" ...; and, in memory, why it could not be kept
  std::uint64_t duplicates = 0;
};
// Loads PATH.idx; when it is missing, stale or broken, makes it (and writes it beside the file, if that folder may be written to).
SignalIndex load_or_build_index(const SignalFile& file, const ParallelLoop& parallel, IndexSource& source);

}  // namespace sluice::signal_reader
