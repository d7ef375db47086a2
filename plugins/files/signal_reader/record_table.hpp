// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A file that says itself which reads it has and where the pieces of their signal lie, as a sequence of records like those of an uncompressed BLOW5
// file: a read's name and calibration, then its signal as the file holds it. A record has no bytes of its own in the file, but a place among the
// bytes of all records, one after the other, in the order of the table.

#include <cstddef>
#include <cstdint>
#include <string>

#include "signal_reader/signal_index.hpp"
#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

// The bytes of an uncompressed BLOW5 record in front of its signal.
inline std::string fields_text(const SignalRecord& record) {
  std::string bytes;
  const auto append = [&bytes](auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  append(static_cast<std::uint16_t>(record.read_id.size()));
  bytes += record.read_id;
  append(record.read_group);
  append(record.digitisation);
  append(record.offset);
  append(record.range);
  append(record.sampling_rate);
  append(record.sample_count);
  return bytes;
}

class RecordTable {
 public:
  virtual ~RecordTable() = default;
  // What a BLOW5 header would say; a read group is a run.
  virtual const Slow5Header& header() const = 0;
  virtual std::size_t size() const = 0;
  // Bytes of all records.
  virtual std::uint64_t bytes() const = 0;
  // The record at this place; of none: bytes = 0.
  virtual RecordPlace place_at(std::uint64_t offset) const = 0;
  // The place of the first record that begins at `offset` or behind it, or the end; `before`: how many there are in front of it.
  virtual std::uint64_t begin_from(std::uint64_t offset, std::uint64_t& before) const = 0;
  // The first bytes of the record at a place that place_at() gave. Thread-safe.
  virtual void copy(RecordPlace place, char* to, std::size_t bytes) const = 0;
  // The same where no disk has to be waited for; else false, with anything in `to`.
  virtual bool copy_if_at_hand(RecordPlace, char*, std::size_t) const { return false; }
  // The bytes of such a record that stand before its signal.
  virtual std::string fields(RecordPlace place) const = 0;
};

}  // namespace sluice::signal_reader
