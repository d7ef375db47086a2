// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Inputs of text that nothing marks the end of: what can be read of it is taken, and that it ends inside a line is a warning. (Formats with a mark at
// their end are whole or refused: sluice/hts/input_end.hpp.)

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <string>

namespace sluice {

// `label` in messages: "'x.bam'", "reference 'x.fa'".
inline std::string open_end_text(const std::string& label) {
  return label + " ends inside a line: it may have been cut, and its last line is taken as it is";
}
inline std::string empty_text(const std::string& label) { return label + " is empty: it has no records"; }

// A byte of a regular file ("-": standard input): at `offset`, or so far before its end (< 0). A newline where there is none.
inline char byte_of(const std::string& path, std::int64_t offset) {
  char byte = '\n';
  const int file = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info {};
  if (file >= 0 && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
      ::pread(file, &byte, 1, offset < 0 ? info.st_size + offset : offset) != 1)
    byte = '\n';
  if (file >= 0) ::close(file);
  return byte;
}

// The text of a small plain file: a table, a list. Throws Failure (input), also where it has more bytes than `most`.
inline std::string whole_text(const Host& host, const std::string& path, const std::string& kind, std::size_t most = std::size_t{1} << 30) {
  const std::string label = kind + " '" + path + "'";
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (char block[1 << 16]; file.read(block, sizeof block), file.gcount() > 0;) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > most) throw Failure::input(label + " has more than " + std::to_string(most >> 20U) + " MiB", "is it the right file?");
  }
  if (!file.eof()) throw Failure::input("cannot read " + label + ": " + std::strerror(errno), "check the path");
  if (!text.empty() && text.back() != '\n') host.warn(open_end_text(label));
  return text;
}

}  // namespace sluice
