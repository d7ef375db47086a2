// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where each read's record lies in a SLOW5 or BLOW5 file, in memory and in the .idx format of slow5lib.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::signal_reader {

// Bytes from the start of the record in the file. BLOW5: the 8-byte size before the record is part of it; SLOW5: its newline is.
struct RecordPlace {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The part of a signal file that holds records.
struct RecordExtent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // BLOW5: before the end-of-file mark
};

// Read id -> place. About 70 bytes a read on top of its name.
class SignalIndex {
 public:
  enum class Added : std::uint8_t { yes, duplicate };

  void reserve(std::size_t reads);
  // The first record of an id wins.
  Added add(std::string_view read_id, RecordPlace place);
  std::optional<RecordPlace> find(std::string_view read_id) const;
  std::size_t size() const { return entries_.size(); }
  std::string_view read_id(std::size_t entry) const;
  RecordPlace place(std::size_t entry) const { return entries_[entry].place; }

 private:
  struct Entry {
    std::uint64_t name_begin;
    std::uint32_t name_length;
    RecordPlace place;
  };
  std::size_t slot_of(std::string_view read_id) const;
  void grow(std::size_t slots);

  std::vector<Entry> entries_;
  std::string names_;
  std::vector<std::uint32_t> slots_;  // open addressing, linear probing; 0 = free, else entry + 1
};

enum class IndexStatus : std::uint8_t {
  ok,
  not_an_index,  // wrong magic or version
  truncated,
  malformed,
  other_file,  // its records do not lie in, or do not fill, the extent: made from another file or an earlier state of this one
};

// Parses a .idx file into an empty index.
IndexStatus parse_index(std::span<const char> bytes, RecordExtent extent, SignalIndex& index);
// The bytes of the .idx file, as slow5lib 0.7 writes it.
std::string serialise_index(const SignalIndex& index, const std::uint8_t (&version)[3]);

}  // namespace sluice::signal_reader
