// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Inputs of text that nothing marks the end of: what can be read of it is taken, and that it ends inside a line is a warning. (Formats with a mark at
// their end are whole or refused: sluice/hts/input_end.hpp.)

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sluice/byte_order_mark.hpp>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>

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

// Why a file that begins like this is not read as text, and the remedy; empty: nothing is known against it.
struct NoText {
  std::string_view reason, remedy;
};
inline NoText no_text(std::string_view begin) {
  if (begin.starts_with("\x28\xb5\x2f\xfd"))
    return {"is compressed with zstd, which is not read here", "decompress it (`zstd -d`), or compress it with gzip"};
  if (begin.starts_with("BZh") && begin.substr(std::min<std::size_t>(begin.size(), 4)).starts_with("1AY&SY"))
    return {"is compressed with bzip2, which is not read here", "decompress it (`bzip2 -d`), or compress it with gzip"};
  if (begin.starts_with("\xfd"
                        "7zXZ"))
    return {"is compressed with xz, which is not read here", "decompress it (`xz -d`), or compress it with gzip"};
  if (begin.starts_with("PK\x03\x04"))
    return {"is a ZIP archive, which is not read here", "take its files out (`unzip`), or compress them with gzip"};
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff")) return {"is UTF-16, which is not read here", "save it as UTF-8"};
  return {};
}

// The text of a small plain file: a table, a list; without a byte order mark, and with a newline behind its last line. Throws Failure (input), also
// where it is compressed, and where it has more bytes than `most`.
inline std::string whole_text(const Host& host, const std::string& path, const std::string& kind, std::size_t most = std::size_t{1} << 30) {
  const std::string label = kind + " '" + path + "'";
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (char block[1 << 16]; file.read(block, sizeof block), file.gcount() > 0;) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > most) throw Failure::input(label + " has more than " + std::to_string(most >> 20U) + " MiB", "is it the right file?");
  }
  if (!file.eof()) throw Failure::input("cannot read " + label + ": " + std::strerror(errno), "check the path");
  if (text.starts_with("\x1f\x8b")) throw Failure::input(label + " is compressed, and is read as plain text only", "decompress it (`gzip -d`)");
  if (const NoText other = no_text(text); !other.reason.empty())
    throw Failure::input(label + " " + std::string(other.reason), std::string(other.remedy));
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  if (!text.empty() && text.back() != '\n') {
    host.warn(open_end_text(label));
    text += '\n';
  }
  return text;
}

}  // namespace sluice
