// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Batches of the records of a signal file, in file order. Where each record begins is found in order; names, sizes and bytes of many records are read
// at once, on all threads.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <sluice/call.hpp>
#include <sluice/column.hpp>
#include <string>
#include <vector>

#include "signal_reader/signal_beginning.hpp"
#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {

struct SignalBatch {
  std::int64_t rows = 0;
  double work = 0;  // samples
  Buffer name_ends, names, record_ends, records;
  std::vector<RecordPlace> places;
};

class SignalBatches {
 public:
  // What is given of a record: all, or what is likely to hold the beginning that is wanted.
  enum class Give : std::uint8_t { records, beginnings };
  SignalBatches(const SignalFile& file, const BeginningParameters& beginning, Give give, RecordCursor from);
  SignalBatches(const SignalFile& file, const BeginningParameters& beginning, Give give) : SignalBatches(file, beginning, give, RecordCursor(file)) {}

  struct Sizes {
    double work = 0;  // a batch ends with the record that reaches this or `bytes`; a record of so much work travels alone
    std::uint64_t bytes = 0;
    std::uint64_t bytes_at_a_time = 0;  // of batches that are made at once
  };
  // The next one; none: that was all, or `cancelled`. Throws what is wrong with the file behind the last whole record.
  std::optional<SignalBatch> next(const Sizes& sizes, const MemorySource& memory, const ParallelLoop& parallel,
                                  const std::function<bool()>& cancelled);
  // Does the file grow? Then next() gives none, too, where no further record is there yet.
  void set_growing(bool grows) { grows_ = grows; }
  // Has next() given everything?
  bool ended() const { return ready_.empty() && heads_.empty() && ended_ && !failure_; }
  double share_read() const { return cursor_.share_read(); }
  // The next record that next() has not given: where it is, and how many are before it, as the cursor counts them.
  std::uint64_t next_offset() const;
  std::uint64_t records_before() const;
  const RecordCursor& cursor() const { return cursor_; }

 private:
  // What has to be known of a record before it has a place in a batch.
  struct Head {
    RecordPlace place;
    std::string name;
    std::size_t bytes = 0;  // of the record as stored, that are given
    double work = 0;
    std::exception_ptr failure;
  };
  // Some rows of a batch: what one thread reads.
  struct Part {
    std::size_t batch, first_row, last_row;
  };
  struct Workspace {
    RecordDecoder decoder;
    std::vector<char> stored;
  };
  enum class Rest : std::uint8_t { waits, goes };  // of records that don't fill a batch
  void find_records(const Sizes& sizes);
  void read_heads(std::size_t first, const ParallelLoop& parallel);
  void read_head(Head& head, std::uint64_t number, Workspace& workspace) const;
  void make_batches(const Sizes& sizes, Rest rest, const MemorySource& memory, const ParallelLoop& parallel);
  std::vector<std::size_t> cut(const Sizes& sizes, Rest rest) const;
  SignalBatch make_columns(std::size_t first, std::size_t last, const MemorySource& memory) const;
  void fill(const Part& part) const;

  const SignalFile& file_;
  RecordCursor cursor_;
  BeginningWanted wanted_;
  bool gives_beginnings_;
  std::uint64_t asked_for_;  // by the file system: what lies before
  std::deque<Head> heads_;   // of records that are in no batch yet
  std::deque<SignalBatch> ready_;
  bool grows_ = false, ended_ = false;
  std::exception_ptr failure_;  // what comes behind heads_
  std::size_t records_at_a_time_ = 64;
  std::size_t usual_bytes_ = std::numeric_limits<std::size_t>::max();  // that were given of a record lately
  Workspaces<Workspace> workspaces_;
};

}  // namespace sluice::signal_reader
