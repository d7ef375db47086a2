// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What each implementation of each stage costs on this machine, measured by `sluice bench --calibrate` and kept in a small JSON file, so
// that the first batches of a run already go to the right device. It is a prior and nothing more: a run without it learns the same
// within a few batches, and a run with a wrong one corrects it.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// One call takes seconds_per_call + seconds_per_work * work + seconds_per_largest_row * largest row, both in the stage's work unit;
// copies to the device are not in it. None is negative, and they are not all zero.
struct StageCost {
  std::string stage;           // type id: "abea"
  std::string implementation;  // "cpu", "cuda", ...
  std::string device;          // sluice_device_info::name ("NVIDIA H200"); "" for the CPU, which the whole file belongs to
  double seconds_per_call = 0, seconds_per_work = 0, seconds_per_largest_row = 0;
  std::uint64_t calls = 0;  // measured calls behind it, at least 1

  double predict(double work, double largest_row) const { return seconds_per_call + seconds_per_work * work + seconds_per_largest_row * largest_row; }
};

class MachineProfile {
 public:
  // Null when nobody has measured it.
  const StageCost* find(std::string_view stage, std::string_view implementation, std::string_view device) const;
  // Takes the place of an older cost of the same stage, implementation and device.
  void put(StageCost cost);
  const std::vector<StageCost>& costs() const { return costs_; }  // sorted by stage, implementation, device

  std::string machine;    // host name, for the reader of the file only
  std::string processor;  // model name of the CPU that the costs of "cpu" hold for
  std::string date;       // of the last calibration, as 2026-11-21
  std::string version;    // of the sluice that measured

 private:
  std::vector<StageCost> costs_;
};

// A profile, or why there is none. A file that does not exist is no problem: then both are empty.
struct LoadedProfile {
  MachineProfile profile;
  std::string problem;  // names the file
};

// An empty profile of this machine, this day and this sluice.
MachineProfile profile_of_this_machine();

// A file that is cut off, of another format or sluice version, of another processor, or with a cost that can't be true is refused as a
// whole: `problem` says why, and the run goes on without it. Never throws.
LoadedProfile load_profile(const std::filesystem::path& file);

// Makes the folder and writes the file completely or not at all. Returns "" or what went wrong, naming the file.
std::string save_profile(const MachineProfile& profile, const std::filesystem::path& file);

// $XDG_CACHE_HOME/sluice/machine_profile.json, or that below ~/.cache. "": there is neither.
std::filesystem::path default_profile_file();

}  // namespace sluice
