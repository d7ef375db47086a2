// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the program `fast5_reader` finds in a FAST5 file: which reads it has, what is said of them, and where the chunks of their signal lie in it.
// The program has HDF5 and a process of its own; `signal_reader`, which asks it, has neither, and reads the chunks itself. Both are of one build: a
// table travels between them as it lies in memory.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

struct Fast5Table {
  // What a chunk went through when it was written, as steps to undo it. `vbz` is 4 to 7: + 1 with zigzag deltas, + 2 with zstd.
  enum Step : std::uint8_t { nothing = 0, deflate = 1, shuffle = 2, vbz = 4, vbz_zigzag = 1, vbz_zstd = 2 };
  struct Chunk {
    std::uint64_t begin = 0;      // in the file, or in `stored`
    std::uint32_t bytes = 0;      // as stored
    std::uint32_t samples = 0;    // of the read
    std::uint32_t values = 0;     // that are packed: the last chunk of a read is filled up
    std::uint32_t steps = 0;      // a byte each, the first to be undone lowest
    std::uint32_t is_stored = 0;  // `begin` is a place in `stored`
    std::uint32_t unused = 0;
  };
  struct Read {
    std::uint64_t samples = 0;
    double digitisation = 0, offset = 0, range = 0, sampling_rate = 0;  // levels, levels, pA, Hz; NaN: the file does not say
    double median_before = std::numeric_limits<double>::quiet_NaN();    // pA
    std::int64_t start_sample = -1, read_number = -1;                   // -1: unknown
    std::uint64_t name_begin = 0, first_chunk = 0;                      // in `names`, in `chunks`
    std::int32_t channel = -1, mux = -1;
    std::uint32_t name_bytes = 0, chunks = 0;
    std::uint32_t run = 0;
    std::int32_t end_reason = -1;  // in `end_reasons`
    std::int32_t problem = -1;     // in `problems`: why the read has no signal that can be read
    std::int32_t unused = 0;
  };
  using Attributes = std::vector<std::pair<std::string, std::string>>;

  std::string problem;           // why the file can't be read; the rest is then empty
  std::vector<Attributes> runs;  // names and values of tracking_id and context_tags
  std::vector<std::string> end_reasons, problems;
  std::string names;   // of the reads, one behind the other
  std::string stored;  // signal that does not lie in the file as such
  std::vector<Chunk> chunks;
  std::vector<Read> reads;  // in the order of the names of their groups

  std::string_view read_id(const Read& read) const { return std::string_view(names).substr(read.name_begin, read.name_bytes); }
};

namespace fast5_table_detail {

template <class T>
void put(std::string& to, const T& value) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  } else if constexpr (requires { value.first; }) {
    put(to, value.first);
    put(to, value.second);
  } else {
    put(to, static_cast<std::uint64_t>(value.size()));
    if constexpr (std::is_trivially_copyable_v<typename T::value_type>)
      to.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof(typename T::value_type));
    else
      for (const auto& one : value) put(to, one);
  }
}

// Throws std::runtime_error where there are too few bytes.
template <class T>
void take(std::string_view& from, T& value) {
  const auto bytes = [&](std::size_t count) {
    if (count > from.size()) throw std::runtime_error("a table of FAST5 reads is cut");
    const char* const at = from.data();
    from.remove_prefix(count);
    return at;
  };
  if constexpr (std::is_trivially_copyable_v<T>) {
    std::memcpy(&value, bytes(sizeof value), sizeof value);
  } else if constexpr (requires { value.first; }) {
    take(from, value.first);
    take(from, value.second);
  } else {
    std::uint64_t size = 0;
    take(from, size);
    if (size > from.size()) throw std::runtime_error("a table of FAST5 reads is cut");
    constexpr std::size_t item = std::is_trivially_copyable_v<typename T::value_type> ? sizeof(typename T::value_type) : 1;
    if (size > from.size() / item) throw std::runtime_error("a table of FAST5 reads is cut");
    value.resize(static_cast<std::size_t>(size));
    if constexpr (std::is_trivially_copyable_v<typename T::value_type>) {
      const std::size_t count = value.size() * item;
      if (count > 0) std::memcpy(value.data(), bytes(count), count);
    } else {
      for (auto& one : value) take(from, one);
    }
  }
}

}  // namespace fast5_table_detail

// Calls use(part) with each part of a table, in the order in which they travel.
template <class Table, class Use>
void for_each_part(Table& table, Use&& use) {
  use(table.problem);
  use(table.runs);
  use(table.end_reasons);
  use(table.problems);
  use(table.names);
  use(table.stored);
  use(table.chunks);
  use(table.reads);
}

inline std::string packed(const Fast5Table& table) {
  std::string bytes;
  for_each_part(table, [&](const auto& part) { fast5_table_detail::put(bytes, part); });
  return bytes;
}

// Throws std::runtime_error where `bytes` are no table. What it says is not checked.
inline Fast5Table unpacked_fast5_table(std::string_view bytes) {
  Fast5Table table;
  for_each_part(table, [&](auto& part) { fast5_table_detail::take(bytes, part); });
  return table;
}

}  // namespace sluice
