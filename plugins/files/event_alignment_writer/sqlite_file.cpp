// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/sqlite_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>

namespace sluice::event_alignment_writer {
namespace {

constexpr std::size_t page_bytes = SqlitePages::page_bytes, file_header_bytes = 100, leaf_header_bytes = 8, interior_header_bytes = 12,
                      overflow_bytes = page_bytes - 4;
enum PageType : char { interior_index = 2, interior_table = 5, leaf_index = 10, leaf_table = 13 };

// Big-endian, the last `bytes` of the value.
std::string number(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[bytes - 1 - i] = static_cast<char>(value >> 8 * i & 255U);
  return text;
}

// Seven bits a byte, the highest first; all but the last byte have their top bit set. Of values below 2^56.
std::string variable(std::uint64_t value) {
  std::string text(1, static_cast<char>(value & 127U));
  while ((value >>= 7) > 0) text.insert(text.begin(), static_cast<char>(128U | (value & 127U)));
  return text;
}

// A page of cells. right: the last child of an interior page.
std::string page_of(PageType type, const std::vector<std::string>& cells, std::size_t begin, std::size_t end, std::uint32_t right = 0,
                    std::string_view file_header = {}) {
  std::string page(page_bytes, '\0');
  page.replace(0, file_header.size(), file_header);
  const bool is_interior = type == interior_index || type == interior_table;
  std::size_t place = file_header.size() + (is_interior ? interior_header_bytes : leaf_header_bytes), content = page_bytes;
  for (std::size_t i = begin; i < end; ++i) {
    content -= cells[i].size();
    page.replace(content, cells[i].size(), cells[i]);
    page.replace(place, 2, number(content, 2));
    place += 2;
  }
  std::string header = std::string(1, type) + number(0, 2) + number(end - begin, 2) + number(content, 2) + '\0';
  if (is_interior) header += number(right, 4);
  page.replace(file_header.size(), header.size(), header);
  return page;
}

// The payload as it stands in a cell: so much of it, and the rest in a chain of pages.
std::string with_overflow(SqlitePages& pages, const std::string& payload, std::size_t most) {
  if (payload.size() <= most) return payload;
  const std::size_t least = (page_bytes - 12) * 32 / 255 - 23, fitting = least + (payload.size() - least) % overflow_bytes;
  const std::size_t here = fitting <= most ? fitting : least;
  // The last page of the chain first: each names the next one.
  std::uint32_t next = 0;
  const std::size_t beyond = payload.size() - here;
  for (std::size_t piece = (beyond + overflow_bytes - 1) / overflow_bytes; piece-- > 0;) {
    std::string page = number(next, 4) + payload.substr(here + piece * overflow_bytes, overflow_bytes);
    page.resize(page_bytes, '\0');
    next = pages.add(page);
  }
  return payload.substr(0, here) + number(next, 4);
}

std::string leaf_cell(SqlitePages& pages, const std::string& payload, std::int64_t row) {
  return variable(payload.size()) + variable(static_cast<std::uint64_t>(row)) + with_overflow(pages, payload, page_bytes - 35);
}

}  // namespace

SqliteRecord& SqliteRecord::integer(std::int64_t value) {
  constexpr std::pair<std::size_t, char> sizes[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {6, 5}, {8, 6}};
  for (const auto& [bytes, type] : sizes) {
    const std::int64_t high = bytes == 8 ? 0 : value >> (8 * bytes - 1);
    if (bytes < 8 && high != 0 && high != -1) continue;
    types_ += type;
    values_ += number(static_cast<std::uint64_t>(value), bytes);
    break;
  }
  return *this;
}
SqliteRecord& SqliteRecord::real(double value) {
  types_ += '\7';
  values_ += number(std::bit_cast<std::uint64_t>(value), 8);
  return *this;
}
SqliteRecord& SqliteRecord::text(std::string_view value) {
  types_ += variable(2 * value.size() + 13);
  values_ += value;
  return *this;
}
SqliteRecord& SqliteRecord::blob(std::string_view value) {
  types_ += variable(2 * value.size() + 12);
  values_ += value;
  return *this;
}
SqliteRecord& SqliteRecord::null() {
  types_ += '\0';
  return *this;
}
std::string SqliteRecord::bytes() const {
  std::size_t header = types_.size() + 1;
  if (header > 127) ++header;
  return variable(header) + types_ + values_;
}

std::uint32_t SqlitePages::add(std::string_view page) {
  write(page, std::uint64_t{count_} * page_bytes);
  return ++count_;
}
void SqlitePages::write(std::string_view page, std::uint64_t at) {
  while (!page.empty()) {
    const ssize_t written = ::pwrite(descriptor_, page.data(), page.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Failure::output("the database can't be written: " + std::string(std::strerror(errno)), "free space or write elsewhere");
    page.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
}

void SqliteTable::add(const SqliteRecord& row) {
  std::string cell = leaf_cell(*pages_, row.bytes(), ++rows_);
  if (leaf_header_bytes + used_ + cell.size() + 2 > page_bytes) {
    close_leaf();
    leaves_.back().second = rows_ - 1;
  }
  used_ += cell.size() + 2;
  cells_.push_back(std::move(cell));
}
void SqliteTable::close_leaf() {
  leaves_.emplace_back(pages_->add(page_of(leaf_table, cells_, 0, cells_.size())), rows_);
  cells_.clear();
  used_ = 0;
}
std::uint32_t SqliteTable::finish() {
  if (!cells_.empty() || leaves_.empty()) close_leaf();
  // A level of interior pages over the one below, until there is one page.
  constexpr std::size_t children = 4000;  // of at most 15 bytes each
  while (leaves_.size() > 1) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> above;
    for (std::size_t begin = 0; begin < leaves_.size(); begin += children) {
      const std::size_t end = std::min(begin + children, leaves_.size());
      std::vector<std::string> cells;
      for (std::size_t i = begin; i + 1 < end; ++i)
        cells.push_back(number(leaves_[i].first, 4) + variable(static_cast<std::uint64_t>(leaves_[i].second)));
      above.emplace_back(pages_->add(page_of(interior_table, cells, 0, cells.size(), leaves_[end - 1].first)), leaves_[end - 1].second);
    }
    leaves_ = std::move(above);
  }
  return leaves_.front().first;
}

std::uint32_t add_sqlite_index(SqlitePages& pages, const std::vector<std::string>& entries) {
  constexpr std::size_t most = (page_bytes - 12) * 64 / 255 - 23;
  // Entries stand between the leaves, too: one behind each but the last.
  std::vector<std::uint32_t> children;
  std::vector<std::string> between, cells;
  std::size_t used = 0;
  for (const std::string& entry : entries) {
    std::string cell = variable(entry.size()) + with_overflow(pages, entry, most);
    if (interior_header_bytes + used + cell.size() + 2 > page_bytes) {
      children.push_back(pages.add(page_of(leaf_index, cells, 0, cells.size())));
      between.push_back(std::move(cell));
      cells.clear();
      used = 0;
      continue;
    }
    used += cell.size() + 2;
    cells.push_back(std::move(cell));
  }
  // No leaf is empty but of an empty index: the last entry comes back.
  if (cells.empty() && !between.empty()) {
    cells.push_back(std::move(between.back()));
    between.pop_back();
    children.pop_back();
  }
  children.push_back(pages.add(page_of(leaf_index, cells, 0, cells.size())));
  while (children.size() > 1) {
    std::vector<std::uint32_t> above;
    std::vector<std::string> between_above, here;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool is_last = i + 1 == children.size();
      const std::size_t next = is_last ? 0 : between[i].size() + 6;
      // The page ends with this child: as its last one.
      if (is_last || (interior_header_bytes + bytes + next > page_bytes && i + 2 < children.size())) {
        above.push_back(pages.add(page_of(interior_index, here, 0, here.size(), children[i])));
        if (!is_last) between_above.push_back(between[i]);
        here.clear();
        bytes = 0;
        continue;
      }
      here.push_back(number(children[i], 4) + between[i]);
      bytes += next;
    }
    children = std::move(above);
    between = std::move(between_above);
  }
  return children.front();
}

void finish_sqlite_file(SqlitePages& pages, const std::vector<SqliteObject>& objects) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const SqliteObject& object = objects[i];
    SqliteRecord row;
    row.text(object.type).text(object.name).text(object.table).integer(object.root);
    if (object.sql.empty())
      row.null();
    else
      row.text(object.sql);
    cells.push_back(leaf_cell(pages, row.bytes(), static_cast<std::int64_t>(i) + 1));
  }
  constexpr std::uint32_t changes = 1, schema_format = 4, utf8 = 1, version = 3040001;
  std::string header("SQLite format 3\0", 16);
  header += number(1, 2);                        // 65,536 bytes a page
  header += std::string("\1\1\0\100\40\40", 6);  // no WAL; fractions that are always these
  header += number(changes, 4) + number(pages.count(), 4) + number(0, 8);
  header += number(1, 4) + number(schema_format, 4) + number(0, 8) + number(utf8, 4) + number(0, 12);
  header.resize(file_header_bytes - 8, '\0');
  header += number(changes, 4) + number(version, 4);
  pages.write_first(page_of(leaf_table, cells, 0, cells.size(), 0, header));
}

}  // namespace sluice::event_alignment_writer
