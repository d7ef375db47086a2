// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The pages of a Parquet file's columns: data pages of version 1, PLAIN values, Zstandard, a checksum each. The user links libzstd and libdeflate.
// https://github.com/apache/parquet-format: README.md, Encodings.md, and the names and numbers of src/main/thrift/parquet.thrift (2.10).

#include <libdeflate.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <sluice/arrow/cells.hpp>
#include <sluice/arrow/thrift_struct.hpp>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::arrow::parquet {

enum Physical : std::int32_t { INT32 = 1, INT64 = 2, FLOAT = 4, DOUBLE = 5, BYTE_ARRAY = 6 };
enum Converted : std::int32_t { UTF8 = 0, LIST = 3, UINT_8 = 11, INT_8 = 15 };  // behind UINT_8 and INT_8 those of 16, 32 and 64 bits
enum Repetition : std::int32_t { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };
enum Encoding : std::int32_t { PLAIN = 0, RLE = 3 };
enum Codec : std::int32_t { ZSTD = 6 };

inline int bits_of(std::string_view element) {
  return element == "utf8" ? 0 : element.ends_with("64") ? 64 : element.ends_with("32") ? 32 : element.ends_with("16") ? 16 : 8;
}
inline Physical physical_of(std::string_view element) {
  if (element == "utf8") return BYTE_ARRAY;
  if (element.front() == 'f') return element == "f32" ? FLOAT : DOUBLE;
  return bits_of(element) == 64 ? INT64 : INT32;
}

// Levels of up to `bits` bits, runs of eight and more as such, the others packed; their length is in front of them.
inline void append_levels(std::string& to, const std::vector<std::uint8_t>& levels, unsigned bits) {
  constexpr std::size_t group = 8;
  const auto run_at = [&](std::size_t begin) {
    std::size_t end = begin;
    while (end < levels.size() && levels[end] == levels[begin]) ++end;
    return end - begin;
  };
  std::string encoded;
  for (std::size_t at = 0; at < levels.size();) {
    if (const std::size_t run = run_at(at); run >= group) {
      ThriftStruct::append_varint(encoded, run << 1);
      encoded += static_cast<char>(levels[at]);
      at += run;
      continue;
    }
    const std::size_t begin = at;
    while (at < levels.size() && run_at(at) < group) at += group;
    ThriftStruct::append_varint(encoded, (at - begin) / group << 1 | 1);
    for (std::size_t first = begin; first < at; first += group) {
      std::uint32_t packed = 0;
      for (std::size_t i = first; i < std::min(first + group, levels.size()); ++i) packed |= std::uint32_t{levels[i]} << (i - first) * bits;
      encoded.append(reinterpret_cast<const char*>(&packed), bits);
    }
  }
  const auto length = static_cast<std::uint32_t>(encoded.size());
  to.append(reinterpret_cast<const char*>(&length), sizeof length);
  to += encoded;
}

// The least and the greatest of a column's values, each as PLAIN has it.
struct Bounds {
  std::string least, greatest;
  enum class Known : std::uint8_t { none, both, unusable } known = Known::none;  // unusable: there is a NaN, or a long text
};

template <class Number>
void widen(Bounds& bounds, Number least, Number greatest) {
  const auto plain = [](Number value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto number = [](const std::string& bytes) {
    Number value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  };
  if (bounds.known == Bounds::Known::none || least < number(bounds.least)) bounds.least = plain(least);
  if (bounds.known == Bounds::Known::none || number(bounds.greatest) < greatest) bounds.greatest = plain(greatest);
  bounds.known = Bounds::Known::both;
}

inline void widen(Bounds& bounds, std::string_view least, std::string_view greatest) {
  constexpr std::size_t longest = 64;
  if (least.size() > longest || greatest.size() > longest) {
    bounds.known = Bounds::Known::unusable;
    return;
  }
  if (bounds.known == Bounds::Known::none || least < bounds.least) bounds.least = least;
  if (bounds.known == Bounds::Known::none || bounds.greatest < greatest) bounds.greatest = greatest;
  bounds.known = Bounds::Known::both;
}

// Calls use(Number{}) with the type that a value of the element has in the file: no number is narrower than 32 bits.
template <class Use>
void with_stored_number(std::string_view element, Use use) {
  if (element == "f32") return use(float{});
  if (element == "f64") return use(double{});
  if (element == "u64") return use(std::uint64_t{});
  if (element == "i64") return use(std::int64_t{});
  element.front() == 'u' ? use(std::uint32_t{}) : use(std::int32_t{});
}

inline void merge(Bounds& to, const Bounds& from, std::string_view element) {
  if (from.known == Bounds::Known::none || to.known == Bounds::Known::unusable) return;
  if (from.known == Bounds::Known::unusable) {
    to.known = from.known;
    return;
  }
  if (element == "utf8") return widen(to, std::string_view(from.least), std::string_view(from.greatest));
  with_stored_number(element, [&](auto least) {
    auto greatest = least;
    std::memcpy(&least, from.least.data(), sizeof least);
    std::memcpy(&greatest, from.greatest.data(), sizeof greatest);
    widen(to, least, greatest);
  });
}

// A page of one column, or several behind each other.
struct Pages {
  std::string bytes;                   // each with its header
  std::int64_t uncompressed = 0;       // what they would be, with the headers
  std::int64_t values = 0, nulls = 0;  // of a list each item counts, and each list without one
  Bounds bounds;
};

// The values of a piece of a column, and the levels in front of them.
class PageText {
 public:
  explicit PageText(const ColumnCells& cells) : cells_(cells), element_(cells.column().element()) {
    cells.column().is_list() ? add_lists() : add_cells();
  }
  Pages compressed(ZSTD_CCtx* compressor) const {
    constexpr int fast = 1;
    const std::size_t room = ZSTD_compressBound(text_.size());
    std::string packed(room, '\0');
    const std::size_t size = ZSTD_compressCCtx(compressor, packed.data(), room, text_.data(), text_.size(), fast);
    if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // there is room for all that may come out
    packed.resize(size);
    if (text_.size() > std::numeric_limits<std::int32_t>::max() || size > std::numeric_limits<std::int32_t>::max())
      throw Failure::output("the column " + cells_.column().name + " has a cell that is too large for Parquet",
                            "write text: a name that ends with .tsv");
    const std::string header = ThriftStruct()
                                   .i32(1, 0)  // a data page
                                   .i32(2, static_cast<std::int32_t>(text_.size()))
                                   .i32(3, static_cast<std::int32_t>(size))
                                   .i32(4, static_cast<std::int32_t>(libdeflate_crc32(0, packed.data(), size)))
                                   .structure(5, ThriftStruct().i32(1, static_cast<std::int32_t>(values_)).i32(2, PLAIN).i32(3, RLE).i32(4, RLE))
                                   .bytes();
    return {header + packed, static_cast<std::int64_t>(header.size() + text_.size()), values_, nulls_, bounds_};
  }

 private:
  std::int32_t end_of(std::int64_t row) const {
    std::int32_t end;
    std::memcpy(&end, cells_.offsets().data() + static_cast<std::size_t>(row) * sizeof end, sizeof end);
    return end;
  }
  bool is_valid(std::int64_t row) const {
    return cells_.missing() == 0 || (static_cast<unsigned char>(cells_.validity()[static_cast<std::size_t>(row / 8)]) >> row % 8 & 1) != 0;
  }

  void add_cells() {
    std::vector<std::uint8_t> present(static_cast<std::size_t>(cells_.rows()));
    for (std::int64_t row = 0; row < cells_.rows(); ++row) present[static_cast<std::size_t>(row)] = is_valid(row) ? 1 : 0;
    append_levels(text_, present, 1);
    values_ = cells_.rows();
    nulls_ = cells_.missing();
    if (element_ == "utf8") return add_texts();
    add_numbers(cells_.rows(), [&](std::int64_t row) { return is_valid(row); });
  }
  void add_lists() {
    std::vector<std::uint8_t> repeated, defined;
    for (std::int64_t row = 0; row < cells_.rows(); ++row) {
      const std::int32_t items = end_of(row + 1) - end_of(row);
      repeated.push_back(0);
      defined.push_back(items > 0 ? 2 : is_valid(row) ? 1 : 0);
      repeated.insert(repeated.end(), static_cast<std::size_t>(std::max(items - 1, 0)), 1);
      defined.insert(defined.end(), static_cast<std::size_t>(std::max(items - 1, 0)), 2);
    }
    append_levels(text_, repeated, 1);
    append_levels(text_, defined, 2);
    values_ = static_cast<std::int64_t>(defined.size());
    nulls_ = values_ - cells_.items();
    add_numbers(cells_.items(), [](std::int64_t) { return true; });
  }
  void add_texts() {
    std::string_view least, greatest;
    bool any = false;
    for (std::int64_t row = 0; row < cells_.rows(); ++row) {
      if (!is_valid(row)) continue;
      const auto begin = static_cast<std::size_t>(end_of(row));
      const std::string_view text = cells_.values().substr(begin, static_cast<std::size_t>(end_of(row + 1)) - begin);
      const auto length = static_cast<std::uint32_t>(text.size());
      text_.append(reinterpret_cast<const char*>(&length), sizeof length);
      text_ += text;
      if (!any || text < least) least = text;
      if (!any || greatest < text) greatest = text;
      any = true;
    }
    if (any) widen(bounds_, least, greatest);
  }
  void add_numbers(std::int64_t count, auto is_there) {
    if (bits_of(element_) == 8) return element_ == "u8" ? widened<std::uint8_t>(count, is_there) : widened<std::int8_t>(count, is_there);
    if (bits_of(element_) == 16) return element_ == "u16" ? widened<std::uint16_t>(count, is_there) : widened<std::int16_t>(count, is_there);
    with_stored_number(element_, [&](auto number) { widened<decltype(number)>(count, is_there); });
  }
  template <class Number>
  void widened(std::int64_t count, auto is_there) {
    with_stored_number(element_, [&](auto stored) {
      auto least = stored, greatest = stored;
      bool any = false;
      for (std::int64_t i = 0; i < count; ++i) {
        if (!is_there(i)) continue;
        Number number;
        std::memcpy(&number, cells_.values().data() + static_cast<std::size_t>(i) * sizeof number, sizeof number);
        stored = static_cast<decltype(stored)>(number);
        text_.append(reinterpret_cast<const char*>(&stored), sizeof stored);
        if (!(stored == stored)) bounds_.known = Bounds::Known::unusable;
        if (!any || stored < least) least = stored;
        if (!any || greatest < stored) greatest = stored;
        any = true;
      }
      if constexpr (std::is_floating_point_v<decltype(stored)>) {  // zeros of both signs are equal, but not to every reader
        if (least == 0) least = -0.0F;
        if (greatest == 0) greatest = 0;
      }
      if (any && bounds_.known == Bounds::Known::none) widen(bounds_, least, greatest);
    });
  }

  const ColumnCells& cells_;
  std::string_view element_;
  std::string text_;
  std::int64_t values_ = 0, nulls_ = 0;
  Bounds bounds_;
};

}  // namespace sluice::arrow::parquet
