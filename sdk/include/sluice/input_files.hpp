// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What an input that may be several files stands for (Describe::Option::several): names, each on a line, of files, folders, patterns or lists.

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sluice/byte_order_mark.hpp>
#include <sluice/failure.hpp>
#include <sluice/folder.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice {

namespace input_files_detail {

inline std::vector<std::string> words(std::string_view text, std::string_view separators) {
  std::vector<std::string> list;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end > begin) list.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

inline bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

// Files under the folder with one of the endings; hidden ones, which others may be writing, are left alone. `above`: the folders on the way here, as
// a link may lead back to one.
inline void find_in(const std::filesystem::path& folder, const std::vector<std::string>& endings, std::vector<std::pair<dev_t, ino_t>>& above,
                    std::vector<std::string>& found) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0)
    throw Failure::input("cannot read the folder '" + folder.string() + "': " + std::strerror(errno), "check the path");
  const std::pair own{info.st_dev, info.st_ino};
  if (std::find(above.begin(), above.end(), own) != above.end()) return;
  above.push_back(own);
  std::vector<std::filesystem::path> folders;  // read when this one is closed
  const std::error_code error = for_each_entry(folder, [&](const std::filesystem::path& path) {
    const std::string& name = path.native();
    if (path.filename().native().starts_with(".") || ::stat(name.c_str(), &info) != 0) return;
    if (S_ISDIR(info.st_mode))
      folders.push_back(path);
    else if (S_ISREG(info.st_mode) && std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) { return name.ends_with(ending); }))
      found.push_back(name);
  });
  if (error) throw Failure::input("cannot read the folder '" + folder.string() + "': " + error.message(), "check the path");
  for (const std::filesystem::path& below : folders) find_in(below, endings, above, found);
  above.pop_back();
}
inline std::vector<std::string> in_folder(const std::string& folder, const std::vector<std::string>& endings) {
  std::vector<std::string> found;
  std::vector<std::pair<dev_t, ino_t>> above;
  find_in(folder, endings, above, found);
  std::sort(found.begin(), found.end());
  return found;
}

inline std::vector<std::string> matching(const std::string& pattern) {
  glob_t matches{};
  std::vector<std::string> found;
  if (::glob(pattern.c_str(), 0, nullptr, &matches) == 0) found.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  ::globfree(&matches);
  return found;
}

inline std::vector<std::string> in_list(const std::string& file) {
  std::ifstream stream(file);
  std::vector<std::string> found;
  for (std::string line; std::getline(stream, line);) {
    if (found.empty() && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    if (line.find('\0') != std::string::npos)
      throw Failure::input("the list '" + file + "' is no text", "give a plain text file with the name of a file on each line");
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && line.front() != '#') found.push_back(line);
  }
  if (!stream.eof()) throw Failure::input("cannot read the list '" + file + "': " + std::strerror(errno), "check the path");
  return found;
}

}  // namespace input_files_detail

// The files in the order in which they are named; those of a folder (with its folders, without what is hidden) and of a pattern ("reads/*.fastq")
// by name; those of "@list" as they stand in that file, a name a line. `endings` are those of a folder's files, separated by blanks. A single name
// is given back as it is, so that who opens it says what is wrong with it. Throws Failure (input): a folder, pattern or list without such a
// file, or one of several that is not there or comes twice.
inline std::vector<std::string> input_files(std::string_view text, std::string_view endings) {
  namespace detail = input_files_detail;
  const std::vector<std::string> ending_list = detail::words(endings, " ");
  std::vector<std::string> files;
  const auto add = [&](const std::string& name, bool from_list, const auto& self) -> void {
    std::error_code ignored;
    std::vector<std::string> found;
    if (name.size() > 1 && name.front() == '@' && !from_list && !detail::exists(name)) {
      for (const std::string& line : found = detail::in_list(name.substr(1))) self(line, true, self);
    } else if (std::filesystem::is_directory(name, ignored)) {
      found = detail::in_folder(name, ending_list);
      files.insert(files.end(), found.begin(), found.end());
    } else if (name.find_first_of("*?[") != std::string::npos && !detail::exists(name)) {
      for (const std::string& match : found = detail::matching(name)) self(match, true, self);
    } else {
      found = {name};
      files.push_back(name);
    }
    if (found.empty())
      throw Failure::input("there is no input in '" + name + "'", "a folder's files are those that end with " + std::string(endings));
  };
  for (const std::string& name : detail::words(text, "\n")) add(name, false, add);
  if (files.size() < 2) return files;
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const std::string& file : files) {
    struct stat info {};
    if (file == "-") throw Failure::input("standard input (-) is one of several inputs", "give it alone");
    if (::stat(file.c_str(), &info) != 0) throw Failure::input("cannot open '" + file + "': " + std::strerror(errno), "check the path");
    if (!seen.emplace(info.st_dev, info.st_ino).second) throw Failure::input("the input '" + file + "' comes twice", "name it once");
  }
  return files;
}

}  // namespace sluice
