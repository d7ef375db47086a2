// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/held_rows.hpp"

#include <algorithm>

namespace sluice::base_alignment {

void HeldRows::add(std::string_view row) {
  const std::uint64_t size = row.size();
  pending_.append(reinterpret_cast<const char*>(&size), sizeof size);
  pending_.append(row);
  if (pending_.size() < bytes_at_once) return;
  if (!file_) file_.emplace("-", "map twice: give the second run --pass1 with the --junctions of the first");
  file_->append(pending_);
  pending_.clear();
}

// The next so many bytes are in pending_, behind used_.
bool HeldRows::fetch(std::size_t bytes) {
  if (pending_.size() - used_ >= bytes) return true;
  if (!file_ || read_ == file_->bytes()) return false;
  pending_.erase(0, used_);
  used_ = 0;
  const std::size_t have = pending_.size();
  const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(file_->bytes() - read_, std::max(bytes - have, bytes_at_once)));
  pending_.resize(have + more);
  file_->read(read_, pending_.data() + have, more);
  file_->release(read_, more);
  read_ += more;
  return pending_.size() >= bytes;
}

bool HeldRows::take(std::string& row) {
  if (!is_complete_) {
    is_complete_ = true;
    if (file_) {
      file_->append(pending_);
      pending_.clear();
    }
  }
  std::uint64_t size = 0;
  if (!fetch(sizeof size)) return false;
  std::memcpy(&size, pending_.data() + used_, sizeof size);
  used_ += sizeof size;
  if (!fetch(static_cast<std::size_t>(size))) throw Failure(SLUICE_ERROR_INTERNAL, "held rows end inside one");
  row.assign(pending_, used_, static_cast<std::size_t>(size));
  used_ += static_cast<std::size_t>(size);
  return true;
}

}  // namespace sluice::base_alignment
