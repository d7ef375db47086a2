// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Output files that appear under their final names only when the whole run has succeeded: a killed run leaves nothing that looks complete.

#include <sluice/abi.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <sluice/file_descriptor.hpp>
#include <sluice/staged_file.hpp>
#include <string>
#include <vector>

#include "machine/checksum.hpp"
#include "run/checkpoint.hpp"
#include "run/output_names.hpp"

struct sluice_file {
  std::string path;           // final, as the user gave it; "-": standard output
  std::string temporary;      // where the bytes go until the run has succeeded; `path` where they go there at once
  sluice::StagedFile staged;  // unless they do
  const void* owner = nullptr;
  sluice::FileDescriptor direct;  // or this is written: a device, a pipe, standard output
  std::string pending;            // bytes not yet handed to the kernel
  std::uint64_t written = 0, syncing = 0;
  std::uint64_t header_bytes = 0;  // see sluice_host_api.header_of_file
  bool closed = false;

  bool is_staged() const { return staged.descriptor() >= 0; }
};

namespace sluice {

// Of the first bytes of a file that grows.
class RunningChecksum {
 public:
  // Reads on to `end`. False: it can't, or `stopping` said so.
  bool read_to(std::uint64_t end, int descriptor, const std::function<bool()>& stopping);
  std::string text() const { return checksum_.text(); }

 private:
  Checksum checksum_;
  std::uint64_t bytes_ = 0;
};

class OutputFiles {
 public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  ~OutputFiles() { discard(); }

  // All of these throw Failure::output (or usage, for a path that can't be an output) naming the path.
  // `owner`: whoever asks, for flush().
  sluice_file* open(const std::string& path, const void* owner = nullptr);
  static void write(sluice_file& file, const char* data, std::size_t bytes);
  static void close(sluice_file& file);

  // Every file gets its final name, all bytes being on the disk, or none does; returns the names. `beside`: what may lie beside outputs (indexes):
  // those of an earlier run that this one has not written go with the files that they were of. goes_on: is asked before each file gets its name, and
  // when all have theirs; false: they are taken back, and no names are returned.
  enum class Step { next, last };
  using GoesOn = std::function<bool(Step)>;
  static bool always(Step) { return true; }
  std::vector<std::string> commit(const std::vector<std::string>& beside, const GoesOn& goes_on = always);
  // The same for what was written so far, as NAME.partial.
  std::vector<std::string> keep_partial(const GoesOn& goes_on = always);
  // Nothing is kept, unless what is there is for a later run that goes on (keep_for_later).
  void discard();
  // Of files that have one, by their names as given.
  std::map<std::string, std::uint64_t> header_bytes() const;
  // Files of these names go on where an earlier run has stopped, once their bytes have been read and are what they were. Before any is opened.
  // stopping: asked while they are read.
  void go_on_with(const std::vector<FilePoint>& files, std::function<bool()> stopping);
  // Hands the owner's bytes to the kernel: where its files stand.
  std::vector<FilePoint> flush(const void* owner);
  // What flush() has handed over is on the disk; adds its checksums to `points`, by reading what has come since the last time. One thread at a time.
  void sync(std::vector<FilePoint>& points);
  // From now on discard() leaves the hidden files where they are.
  void keep_for_later() { kept_ = true; }
  bool is_kept() const { return kept_; }
  // Has any stage opened "-"?
  bool uses_standard_output() const;
  // The hidden files that are there now, for a process that has to end at once; none while another thread gives them their names.
  std::vector<std::string> temporaries() const;

 private:
  void sync_all();
  std::vector<std::string> give_names(OutputNames& names, const std::string& suffix, const GoesOn& goes_on);

  mutable std::mutex mutex_;  // guards everything below
  std::deque<sluice_file> files_;
  std::map<std::string, FilePoint> earlier_;
  std::function<bool()> stopping_;
  std::atomic<bool> kept_{false};
  bool uses_standard_output_ = false;
  std::map<std::string, RunningChecksum> checksums_;  // by path; of who opens, then of who syncs
};

}  // namespace sluice
