// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// HTSlib closes what it has opened, standard input ("-") too, which belongs to the program that runs the library. It gets a descriptor of its own.

#include <fcntl.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <unistd.h>

#include <sluice/file_descriptor.hpp>
#include <sluice/hts/handles.hpp>
#include <string>

namespace sluice::hts {

// Null: errno says why, as of hopen().
inline hFILE* open_input(const std::string& path) {
  if (path != "-") return hopen(path.c_str(), "r");
  FileDescriptor standard_input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  hFILE* const file = standard_input.is_open() ? hdopen(standard_input.number(), "r") : nullptr;
  if (file != nullptr) standard_input.release();
  return file;
}

// The same as hts_open().
inline File open_file(const std::string& path) {
  if (path != "-") return File(hts_open(path.c_str(), "r"));
  hFILE* const opened = open_input(path);
  File file(opened == nullptr ? nullptr : hts_hopen(opened, path.c_str(), "r"));
  if (!file && opened != nullptr) hclose_abruptly(opened);
  return file;
}

// The same as bgzf_open(): plain text, gzip or BGZF.
inline Bgzf open_bgzf(const std::string& path) {
  if (path != "-") return Bgzf(bgzf_open(path.c_str(), "r"));
  hFILE* const opened = open_input(path);
  Bgzf file(opened == nullptr ? nullptr : bgzf_hopen(opened, "r"));
  if (!file && opened != nullptr) hclose_abruptly(opened);
  return file;
}

}  // namespace sluice::hts
