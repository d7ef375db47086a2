// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The files of the parts of an input, one behind the other.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// `text` with another name in the place of `old_name` wherever that stands as a word.
inline std::string with_new_name(std::string_view text, std::string_view old_name, std::string_view new_name) {
  constexpr std::string_view between_words(" \t\r\n\0=,;\"'", 10);
  const auto is_border = [&](std::size_t at) { return at >= text.size() || between_words.find(text[at]) != std::string_view::npos; };
  std::string result;
  std::size_t begin = 0;
  for (std::size_t at = old_name.empty() ? std::string_view::npos : text.find(old_name); at != std::string_view::npos;
       at = text.find(old_name, at + old_name.size())) {
    if ((at != 0 && !is_border(at - 1)) || !is_border(at + old_name.size())) continue;
    result.append(text.substr(begin, at - begin)).append(new_name);
    begin = at + old_name.size();
  }
  return result.append(text.substr(begin));
}

struct FilePart {
  std::string path;
  std::string written_as;
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

// The headers and the rest of several files, one behind the other. Reader: made of a FilePart, has next(), which gives the text in pieces, "" at its
// end. renamed(header, part) is the header of the part with the new file's name. header(text) is called once, then body(text) with all that follows,
// in pieces. What has no rows has no say in what the header is: a source that gives a part nothing says nothing about its files. Throws Failure.
template <class Reader, class Renamed, class Header, class Body>
void join_parts(const FilesToJoin& files, Renamed&& renamed, Header&& header, Body&& body) {
  std::optional<std::pair<std::string, std::string>> begun;  // the header, and the file that it is of
  std::string of_empty_ones;
  for (const FilePart& part : files.parts) {
    Reader reader(part);
    std::string own;
    std::string_view piece = reader.next();
    for (; own.size() < part.header_bytes && !piece.empty(); piece = piece.empty() ? reader.next() : piece) {
      const std::string_view taken = piece.substr(0, static_cast<std::size_t>(part.header_bytes - own.size()));
      own += taken;
      piece.remove_prefix(taken.size());
    }
    if (own.size() < part.header_bytes) throw Failure::input("'" + part.path + "' ends within its header", "make this shard again");
    if (piece.empty()) piece = reader.next();
    own = renamed(own, part);
    if (piece.empty()) {
      if (own.size() > of_empty_ones.size()) of_empty_ones = std::move(own);
      continue;
    }
    if (!begun) {
      header(std::string_view(own));
      begun.emplace(std::move(own), part.path);
    } else if (own != begun->first) {
      throw Failure::input("the headers of '" + begun->second + "' and '" + part.path + "' differ: " + detail::first_difference(begun->first, own),
                           "make shards of the same inputs with the same parameters");
    }
    for (; !piece.empty(); piece = reader.next()) body(piece);
  }
  if (!begun) header(std::string_view(of_empty_ones));
}

// The same for headers that are text.
template <class Reader, class Header, class Body>
void join_parts(const FilesToJoin& files, Header&& header, Body&& body) {
  const auto renamed = [&](const std::string& own, const FilePart& part) { return with_new_name(own, part.written_as, files.output); };
  join_parts<Reader>(files, renamed, std::forward<Header>(header), std::forward<Body>(body));
}

}  // namespace sluice
