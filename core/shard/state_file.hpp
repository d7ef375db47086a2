// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a shard writes instead of an output behind a regroup that sums: the state of the regroup. Little endian:
//   "SLSTATE1"; three texts (u32 length, bytes): the regroup's name, its plugin's build id, the hash of the pipeline; the state;
//   u64 length of the state; u64 XXH3 of all before.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace sluice {

struct StateHead {
  std::string regroup, build_id, pipeline;  // name; of its plugin; hash
  bool operator==(const StateHead&) const = default;
};

// Gives the file in pieces, as `save` gives the state.
using WritePiece = std::function<void(std::string_view)>;
void write_state_file(const StateHead& head, const std::function<void(const WritePiece&)>& save, const WritePiece& write);

// A file of the above, mapped: whatever its bytes are, it is read or refused. Throws Failure.
class StateFile {
 public:
  explicit StateFile(const std::filesystem::path& path);
  StateFile(StateFile&& other) noexcept;
  StateFile(const StateFile&) = delete;
  ~StateFile();

  const StateHead& head() const { return head_; }
  std::string_view state() const { return state_; }

 private:
  const char* mapped_ = nullptr;
  std::size_t bytes_ = 0;
  StateHead head_;
  std::string_view state_;
};

}  // namespace sluice
