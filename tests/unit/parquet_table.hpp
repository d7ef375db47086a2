// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reads a Parquet file back, strictly: whatever is not as the format says, or as sluice promises to write it, is an exception. Thrift is read without
// knowledge of the structs, and its numbers are those of parquet.thrift.

#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "unit/arrow_table.hpp"

namespace sluice::testing {
namespace parquet_table {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("Parquet file: ") + what);
}

// A value of Thrift's compact protocol.
struct Value {
  std::int64_t number = 0;  // also of booleans
  std::string text;
  std::vector<Value> items;
  std::map<int, Value> fields;

  const Value& operator[](int id) const {
    require(fields.contains(id), "a field is missing");
    return fields.at(id);
  }
  bool has(int id) const { return fields.contains(id); }
};

class Bytes {
 public:
  explicit Bytes(std::string_view rest) : rest_(rest) {}
  std::string_view take(std::size_t count) {
    require(count <= rest_.size(), "ends early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T fixed() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      require(shift < 64, "a number that is too long");
      const auto byte = fixed<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string_view rest() const { return rest_; }

  Value structure() {
    Value value;
    for (int id = 0;;) {
      const auto head = fixed<std::uint8_t>();
      if (head == 0) return value;
      require(head >> 4 != 0, "a field's id is written out");
      id += head >> 4;
      const int type = head & 15;
      value.fields[id] = type <= 2 ? Value{.number = type == 1 ? 1 : 0} : of_type(type);
    }
  }

 private:
  Value of_type(int type) {
    switch (type) {
      case 3:
        return {.number = fixed<std::int8_t>()};
      case 4:
      case 5:
      case 6: {
        const std::uint64_t bits = varint();
        return {.number = static_cast<std::int64_t>(bits >> 1 ^ (~(bits & 1) + 1))};
      }
      case 8:
        return {.text = std::string(take(varint()))};
      case 9: {
        const auto head = fixed<std::uint8_t>();
        Value value;
        for (std::uint64_t left = head >> 4 == 15 ? varint() : head >> 4; left > 0; --left) value.items.push_back(of_type(head & 15));
        return value;
      }
      case 12:
        return structure();
      default:
        throw std::runtime_error("Parquet file: a type of Thrift that its metadata does not have");
    }
  }
  std::string_view rest_;
};

// Levels in front of the values of a page.
inline std::vector<int> levels(Bytes& page, std::size_t count, unsigned bits) {
  Bytes encoded(page.take(page.fixed<std::uint32_t>()));
  std::vector<int> levels;
  while (levels.size() < count) {
    const std::uint64_t head = encoded.varint();
    if ((head & 1) == 0) {
      levels.insert(levels.end(), head >> 1, encoded.fixed<std::uint8_t>());
      continue;
    }
    const std::string_view packed = encoded.take((head >> 1) * bits);
    for (std::size_t i = 0; i < (head >> 1) * 8; ++i) {
      int level = 0;
      for (unsigned bit = 0; bit < bits; ++bit)
        level |= (static_cast<unsigned char>(packed[(i * bits + bit) / 8]) >> ((i * bits + bit) % 8) & 1) << bit;
      if (levels.size() < count) levels.push_back(level);
    }
  }
  require(levels.size() == count && encoded.rest().empty(), "another number of levels");
  return levels;
}

// The checksum of pages, as gzip has it (RFC 1952).
inline std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xEDB88320U & (~(crc & 1) + 1));
  }
  return ~crc;
}

struct Leaf {
  std::string type;  // as tables name them, without list<>
  bool is_list = false;
  std::vector<std::string> path;
};

inline Leaf leaf_of(const Value& element) {
  static constexpr const char* converted[] = {"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"};
  Leaf leaf;
  const std::int64_t physical = element[1].number;
  if (physical == 4 || physical == 5) {
    require(!element.has(6) && !element.has(10), "a float that says that it is something else");
    leaf.type = physical == 4 ? "f32" : "f64";
  } else if (physical == 6) {
    require(element[6].number == 0 && element[10].has(1), "bytes that are not UTF-8");
    leaf.type = "utf8";
  } else {
    leaf.type = converted[element[6].number - 11];
    const Value& integer = element[10][10];
    require(leaf.type == (integer[2].number == 1 ? "i" : "u") + std::to_string(integer[1].number), "two kinds of integer");
    require(physical == (integer[1].number == 64 ? 2 : 1), "an integer of another width");
  }
  leaf.path = {element[4].text};
  return leaf;
}

inline std::vector<Leaf> leaves_of(const std::vector<Value>& tree) {
  require(!tree.empty() && !tree[0].has(1), "no root");
  std::vector<Leaf> leaves;
  for (std::size_t at = 1; at < tree.size(); ++at) {
    require(tree[at][3].number == 1, "a column without nulls");
    if (tree[at].has(1)) {
      leaves.push_back(leaf_of(tree[at]));
      continue;
    }
    require(at + 2 < tree.size() && tree[at][5].number == 1 && tree[at][6].number == 3 && tree[at][10].has(3), "a group that is no list");
    require(tree[at + 1][3].number == 2 && tree[at + 1][4].text == "list" && tree[at + 1][5].number == 1, "a list of another shape");
    require(tree[at + 2][3].number == 0 && tree[at + 2][4].text == "element", "items of another shape");
    leaves.push_back(leaf_of(tree[at + 2]));
    leaves.back().is_list = true;
    leaves.back().path = {tree[at][4].text, "list", "element"};
    at += 2;
  }
  require(tree[0][5].number == static_cast<std::int64_t>(leaves.size()), "another number of columns");
  return leaves;
}

template <class Stored>
std::string number_text(Bytes& page, std::string* plain) {
  *plain = page.rest().substr(0, sizeof(Stored));
  char digits[400];
  return {digits, std::to_chars(digits, digits + sizeof digits, page.fixed<Stored>()).ptr};
}
inline std::string value_text(Bytes& page, const std::string& type, std::string* plain) {
  if (type == "utf8") return *plain = std::string(page.take(page.fixed<std::uint32_t>()));
  if (type == "f32") return number_text<float>(page, plain);
  if (type == "f64") return number_text<double>(page, plain);
  if (type == "i64") return number_text<std::int64_t>(page, plain);
  if (type == "u64") return number_text<std::uint64_t>(page, plain);
  return type[0] == 'u' ? number_text<std::uint32_t>(page, plain) : number_text<std::int32_t>(page, plain);
}
template <class Stored>
bool is_less(const std::string& a, const std::string& b) {
  Stored left, right;
  std::memcpy(&left, a.data(), sizeof left);
  std::memcpy(&right, b.data(), sizeof right);
  return left < right;
}
inline bool is_less(const std::string& type, const std::string& a, const std::string& b) {
  if (type == "utf8") return a < b;
  if (type == "f32") return is_less<float>(a, b);
  if (type == "f64") return is_less<double>(a, b);
  if (type == "i64") return is_less<std::int64_t>(a, b);
  if (type == "u64") return is_less<std::uint64_t>(a, b);
  return type[0] == 'u' ? is_less<std::uint32_t>(a, b) : is_less<std::int32_t>(a, b);
}

// One text a row of a column of a row group, whose bytes are `chunk`.
class Chunk {
 public:
  Chunk(std::string_view chunk, const Leaf& leaf, const Value& about) : leaf_(leaf), rest_(chunk) {
    while (!rest_.rest().empty()) add_page();
    require(values_ == about[5].number && uncompressed_ == about[6].number, "another number of values or bytes");
    require(nulls_ == about[12][3].number, "another number of nulls");
    if (about[12].has(5)) {
      const std::string &greatest = about[12][5].text, &least = about[12][6].text;
      const auto same = [&](const std::string& a, const std::string& b) { return !is_less(leaf.type, a, b) && !is_less(leaf.type, b, a); };
      require(!plain_.empty(), "bounds without values");
      const auto [low, high] =
          std::minmax_element(plain_.begin(), plain_.end(), [&](const auto& a, const auto& b) { return is_less(leaf.type, a, b); });
      require(same(least, *low) && same(greatest, *high), "other bounds");
    }
  }
  std::vector<std::string> rows;

 private:
  void add_page() {
    const std::size_t before = rest_.rest().size();
    const Value header = rest_.structure();
    uncompressed_ += static_cast<std::int64_t>(before - rest_.rest().size()) + header[2].number;
    require(header[1].number == 0 && header[5][2].number == 0 && header[5][3].number == 3 && header[5][4].number == 3, "a page of another kind");
    const std::string_view packed = rest_.take(static_cast<std::size_t>(header[3].number));
    require(static_cast<std::int32_t>(crc32_of(packed)) == header[4].number, "another checksum");
    std::string text(static_cast<std::size_t>(header[2].number), '\0');
    require(ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size()) == text.size(), "a page that zstd does not read");
    Bytes page(text);
    const auto count = static_cast<std::size_t>(header[5][1].number);
    const std::vector<int> repeated = leaf_.is_list ? levels(page, count, 1) : std::vector<int>(count, 0);
    const std::vector<int> defined = levels(page, count, leaf_.is_list ? 2 : 1);
    for (std::size_t i = 0; i < count; ++i) {
      const bool has_value = defined[i] == (leaf_.is_list ? 2 : 1);
      nulls_ += has_value ? 0 : 1;
      std::string plain;
      const std::string value = has_value ? value_text(page, leaf_.type, &plain) : defined[i] == 0 ? "(none)" : "";
      if (has_value) plain_.push_back(plain);
      if (repeated[i] == 0)
        rows.push_back(value);
      else
        rows.back() += "," + value;
    }
    require(page.rest().empty(), "bytes behind the last value");
    values_ += header[5][1].number;
  }

  const Leaf& leaf_;
  Bytes rest_;
  std::int64_t values_ = 0, nulls_ = 0, uncompressed_ = 0;
  std::vector<std::string> plain_;
};

inline Value footer_of(std::string_view file) {
  require(file.size() > 12 && file.starts_with("PAR1") && file.ends_with("PAR1"), "no magic");
  const auto length = Bytes(file.substr(file.size() - 8)).fixed<std::uint32_t>();
  require(length + 12 <= file.size(), "a footer that is longer than the file");
  Bytes bytes(file.substr(file.size() - 8 - length, length));
  Value footer = bytes.structure();
  require(bytes.rest().empty() && footer[1].number == 2, "a footer of another kind");
  footer.fields[0].number = static_cast<std::int64_t>(file.size() - 8 - length);  // its place
  return footer;
}

}  // namespace parquet_table

// With the rows of its row groups in place of those of record batches.
inline ArrowTable read_parquet(std::string_view file) {
  using namespace parquet_table;
  const Value about = footer_of(file);
  const std::vector<Leaf> leaves = leaves_of(about[2].items);
  ArrowTable table;
  for (const Leaf& leaf : leaves) {
    table.names.push_back(leaf.path[0]);
    table.types.push_back(leaf.is_list ? "list<" + leaf.type + ">" : leaf.type);
  }
  require(
      about[7].items.size() == leaves.size() && std::all_of(about[7].items.begin(), about[7].items.end(), [](const Value& o) { return o.has(1); }),
      "no order of columns");
  std::size_t place = 4;
  for (const Value& group : about[4].items) {
    require(group[1].items.size() == leaves.size(), "a row group with other columns");
    std::int64_t compressed = 0, uncompressed = 0;
    const std::size_t first = table.rows.size();
    table.rows.resize(first + static_cast<std::size_t>(group[3].number));
    table.batch_rows.push_back(group[3].number);
    for (std::size_t c = 0; c < leaves.size(); ++c) {
      const Value& column = group[1].items[c][3];
      require(column[9].number == static_cast<std::int64_t>(place) && column[4].number == 6, "a column that does not follow the one before");
      std::vector<std::string> path;
      for (const Value& name : column[3].items) path.push_back(name.text);
      require(path == leaves[c].path, "a column of another name");
      const Chunk chunk(file.substr(place, static_cast<std::size_t>(column[7].number)), leaves[c], column);
      place += static_cast<std::size_t>(column[7].number);
      compressed += column[7].number;
      uncompressed += column[6].number;
      require(chunk.rows.size() == table.rows.size() - first, "a column of another length");
      for (std::size_t row = 0; row < chunk.rows.size(); ++row) table.rows[first + row].push_back(chunk.rows[row]);
    }
    require(group[2].number == uncompressed && group[6].number == compressed, "a row group of another size");
  }
  require(static_cast<std::int64_t>(place) == about[0].number, "bytes in front of the footer");
  require(about[3].number == static_cast<std::int64_t>(table.rows.size()), "another number of rows");
  return table;
}

}  // namespace sluice::testing
