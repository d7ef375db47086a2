// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "alignment_reader/followed_header.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

namespace sluice::alignment_reader {
namespace {

constexpr std::uint64_t least_bytes_to_tell = 18;  // that a file is BGZF

std::unique_ptr<AlignmentFile> open(OpenOptions& options, const FollowedFiles::File& file, bool grows) {
  options.path = file.path;
  options.grows = grows;
  return std::make_unique<AlignmentFile>(options);
}

// The file itself is named: what is wrong with it is said at once.
std::unique_ptr<AlignmentFile> open_named(OpenOptions& options, const FollowedFiles::File& file, bool ends) {
  try {
    return open(options, file, true);
  } catch (const Failure& failure) {
    const bool may_come = file.bytes < least_bytes_to_tell || file.mark == EndMark::missing;
    if (failure.status() != SLUICE_ERROR_INPUT || ends || !may_come) throw;
    return nullptr;
  }
}

// One of a folder: what can't be read is named when it has its turn.
std::unique_ptr<AlignmentFile> open_found(OpenOptions& options, const FollowedFiles::File& file, bool ends) {
  for (const bool grows : {true, false}) {
    if (!grows && !ends && file.whole == 0) break;
    try {
      return open(options, file, grows);
    } catch (const Failure& failure) {
      if (failure.status() != SLUICE_ERROR_INPUT) throw;
    }
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<AlignmentFile> first_to_come(const Setup& setup, const FollowRules& rules, OpenOptions options) {
  refuse_unfollowed(rules.inputs);
  FollowedFiles files(rules);
  const auto start = std::chrono::steady_clock::now();
  for (bool said = false;;) {
    files.look(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    const bool ends = setup.cancelled() || !files.end().empty();
    for (FollowedFiles::File& file : files.files()) {
      file.offered = file.bytes;  // looked at: else what can't be read would be news for ever
      if (std::unique_ptr<AlignmentFile> opened = (file.path == rules.inputs ? open_named : open_found)(options, file, ends)) return opened;
    }
    if (ends)
      throw Failure::input("no BAM, SAM or CRAM file that can be read has come in '" + rules.inputs + "'", "check the path of the alignments");
    if (!std::exchange(said, true)) setup.info("waits for the header of '" + rules.inputs + "'");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace sluice::alignment_reader
