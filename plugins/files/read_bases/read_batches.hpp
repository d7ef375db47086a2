// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Batches of a stream of reads: the columns of as many as a block of text gives are made at once, on all threads.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <sluice/column.hpp>
#include <string>
#include <utility>
#include <vector>

#include "read_bases/read_stream.hpp"

namespace sluice::read_bases {

// Reads that are no rows are remembered until the batch is given.
inline constexpr std::size_t most_without_bases = 4096;

struct ReadBatch {
  std::int64_t rows = 0;
  std::uint64_t bases_in_all = 0;
  Buffer name_ends, names, base_ends, bases;
  Buffer quality_ends, qualities;          // if they are wanted
  Buffer comment_ends, comments;           // likewise
  Buffer written_ends, written;            // likewise: the letters of reads that have some in lower case
  std::vector<std::string> without_bases;  // reads that are no rows, in front of or between those that are
  std::exception_ptr failure;              // a row is not what it should be: there are no rows then
  StreamPlace begin;                       // of the first read, be it a row or without bases
};

class ReadBatches {
 public:
  struct Wanted {
    bool qualities = true, comments = false, written_bases = false;
  };
  ReadBatches(std::unique_ptr<TextInput> input, std::string path, Wanted wanted)
      : ReadBatches(ReadStream(std::move(input), std::move(path)), wanted) {}
  ReadBatches(ReadStream stream, Wanted wanted) : stream_(std::move(stream)), wanted_(wanted) {}

  struct Sizes {
    double work = 0;  // a batch ends with the read that reaches this or `bytes`; a read of so many bases travels alone
    std::uint64_t bytes = 0;
    std::size_t text_bytes = 0;  // what is read at a time
  };
  // The next one; none: that was all, or `cancelled`.
  std::optional<ReadBatch> next(const Sizes& sizes, const MemorySource& memory, const ParallelFor& parallel_for,
                                const std::function<bool()>& cancelled);
  // Does the file grow? Then next() gives none, too, where there is nothing more so far.
  void set_growing(bool grows) {
    grows_ = grows;
    stream_.set_growing(grows);
  }
  // Will next() have to make batches?
  bool needs_text() const { return ready_.empty(); }
  // Has next() given everything?
  bool ended() const { return ready_.empty() && ended_ && stream_.records().empty(); }
  // Then: throws what is wrong behind the last read, if anything is.
  void check_end() { stream_.check_end(); }
  const ReadStream& stream() const { return stream_; }
  // Where the first read begins that next() has not given.
  StreamPlace place() const {
    if (!ready_.empty()) return ready_.front().begin;
    return stream_.records().empty() ? stream_.place_behind() : stream_.place_of(stream_.records().front());
  }

 private:
  // A batch that is about to be made.
  struct Rows {
    std::vector<const RecordPlace*> records;
    std::vector<std::string> without_bases;
    std::size_t first = 0;  // of the stream's records
  };
  // What one thread copies: some rows, or some letters of one.
  struct Part {
    std::size_t batch, first_row, last_row;
    std::uint64_t from, to;  // of the letters, where it is one row
    std::uint64_t end(const RecordPlace& record) const { return to > 0 ? to : record.bases.letters; }
  };
  enum class Rest : std::uint8_t { waits, goes };
  std::vector<Rows> cut(const Sizes& sizes, Rest rest, std::size_t& used) const;
  ReadBatch make_columns(const Rows& rows, const MemorySource& memory) const;
  void divide(std::size_t batch, const Rows& rows, std::vector<Part>& parts) const;
  bool copy(const Part& part, const Rows& rows, const ReadBatch& batch) const;
  void add_written_bases(const std::vector<Rows>& rows, const std::vector<Part>& parts, const MemorySource& memory, const ParallelFor& parallel_for);
  std::exception_ptr failure_of(const Part& part, const Rows& rows) const;

  ReadStream stream_;
  Wanted wanted_;
  bool grows_ = false, ended_ = false;
  Rest rest_ = Rest::waits;  // of records that don't fill a batch
  std::deque<ReadBatch> ready_;
};

}  // namespace sluice::read_bases
