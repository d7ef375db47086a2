// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The files of the parts of an input, one behind the other.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct FilePart {
  std::string path;
  std::uint64_t header_bytes = 0;  // of the text
};

struct FilesToJoin {
  std::string parameter, output;  // what names the new file, and its name
  std::vector<FilePart> parts;    // in the order of the rows
};

namespace detail {

inline std::string first_difference(std::string_view a, std::string_view b) {
  const auto line_of = [](std::string_view text, std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) == std::string_view::npos ? 0 : text.rfind('\n', at - 1) + 1;
    std::string line(text.substr(begin, std::min<std::size_t>(text.find('\n', begin), begin + 120) - begin));
    for (char& c : line)
      if (c < ' ' && c >= 0) c = ' ';
    return "'" + line + "'";
  };
  const std::size_t at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin()).first - a.begin());
  return line_of(a, at) + " and " + line_of(b, at);
}

}  // namespace detail

// The header of several files, one after the other. What has no rows has no say in what it is: a source that gives a part nothing says nothing about
// its files.
class CommonHeader {
 public:
  // has_rows: is there anything behind it? True: this is the first one of a file that has. Throws Failure where two of such files differ.
  bool add(std::string own, const FilePart& part, bool has_rows) {
    if (!has_rows && path_.empty() && own.size() > text_.size()) text_ = own;
    if (!has_rows) return false;
    const bool is_first = path_.empty();
    if (is_first)
      text_ = std::move(own), path_ = part.path;
    else if (own != text_)
      throw Failure::input("the headers of '" + path_ + "' and '" + part.path + "' differ: " + detail::first_difference(text_, own),
                           "make shards of the same inputs with the same parameters");
    return is_first;
  }
  const std::string& text() const { return text_; }
  bool has_rows() const { return !path_.empty(); }

 private:
  std::string text_, path_;  // of whom it is; "": none with rows has come
};

// The first header_bytes of a part's text; `piece` is what the reader gave behind them, "" at its end. Reader: made of a FilePart, has next(), which
// gives the text in pieces, "" at its end.
template <class Reader>
std::string take_header(Reader& reader, const FilePart& part, std::string_view& piece) {
  std::string header;
  piece = reader.next();
  for (; header.size() < part.header_bytes && !piece.empty(); piece = piece.empty() ? reader.next() : piece) {
    const std::string_view taken = piece.substr(0, static_cast<std::size_t>(part.header_bytes - header.size()));
    header += taken;
    piece.remove_prefix(taken.size());
  }
  if (header.size() < part.header_bytes) throw Failure::input("'" + part.path + "' ends within its header", "make this shard again");
  if (piece.empty()) piece = reader.next();
  return header;
}

// The headers and the rest of several files, one behind the other: header(text) is called once, then body(text) with all that follows, in pieces.
// Throws Failure.
template <class Reader, class Header, class Body>
void join_parts(const FilesToJoin& files, Header&& header, Body&& body) {
  CommonHeader common;
  for (const FilePart& part : files.parts) {
    Reader reader(part);
    std::string_view piece;
    std::string own = take_header(reader, part, piece);
    if (common.add(std::move(own), part, !piece.empty())) header(std::string_view(common.text()));
    for (; !piece.empty(); piece = reader.next()) body(piece);
  }
  if (!common.has_rows()) header(std::string_view(common.text()));
}

}  // namespace sluice
