// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The index beside a FASTA file (.fai of samtools faidx, of BGZF .gzi, too), which HTSlib takes as it is, even if the FASTA was changed since: the
// bases would be others. And it makes a missing one in its place, so that a full disk would leave half of one.

#include <htslib/faidx.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sluice/failure.hpp>
#include <sluice/staged_file.hpp>
#include <string>

namespace sluice::hts {

// Makes the index where it is missing or older than the file. Where it is older and none can be written, says so; "": there is nothing to say. A file
// that is not there is left to who opens it. Throws Failure (input) where there is none and none can be made.
inline std::string renew_fasta_index(const std::string& fasta) {
  struct stat file {
  }, index{};
  if (::stat(fasta.c_str(), &file) != 0) return "";
  const std::string name = fasta + ".fai";
  const bool is_there = ::stat(name.c_str(), &index) == 0;
  const auto is_before = [](const timespec& a, const timespec& b) { return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec); };
  if (is_there && !is_before(index.st_mtim, file.st_mtim)) return "";
  // A folder whose mode has no write bit at all is left alone even by root, who could.
  const std::filesystem::path parent = std::filesystem::path(fasta).parent_path();
  const char* const folder = parent.empty() ? "." : parent.c_str();
  struct stat place {};
  if (::access(folder, W_OK) != 0 || (::stat(folder, &place) == 0 && (place.st_mode & 0222U) == 0)) {
    const std::string reason = "its folder cannot be written to";
    if (is_there) return "the index '" + name + "' is older than the FASTA file, and cannot be made again (" + reason + "): does it still fit?";
    throw Failure::input("reference '" + fasta + "' has no index '" + name + "', and none can be made: " + reason,
                         "make it with `samtools faidx`, or copy the FASTA file to a folder of your own");
  }
  StagedFile fai(name), gzi(fasta + ".gzi");
  errno = 0;
  if (fai_build3(fasta.c_str(), fai.temporary().c_str(), gzi.temporary().c_str()) != 0)
    throw Failure::input("CRAM can't use the reference '" + fasta + "': no index of it can be made" +
                             (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()),
                         "give a FASTA file that `samtools faidx` can index (no index of minimizers) and room beside it, or write BAM");
  struct stat made {};
  if (::fstat(gzi.descriptor(), &made) == 0 && made.st_size > 0) gzi.publish();  // made of BGZF only
  fai.publish();
  return "";
}

}  // namespace sluice::hts
