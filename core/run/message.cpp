// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/message.hpp"

#include <algorithm>
#include <utility>

namespace sluice {

void Message::note_footprint(const BatchHandle& made, std::uint64_t bytes) const {
  if (permit) permit->used(footprint(made) + bytes);
}

std::uint64_t Message::footprint(const BatchHandle& made) const {
  std::vector<ColumnHandle> held = batch->columns;
  const auto add = [&](const std::vector<ColumnHandle>& columns) {
    for (const ColumnHandle& column : columns)
      if (std::find(held.begin(), held.end(), column) == held.end()) held.push_back(column);
  };
  if (made) add(made->columns);
  // What is kept in case a device is lost takes room too.
  for (std::size_t i = 0; i < held.size(); ++i) add(held[i]->kept_for_origin());
  std::uint64_t bytes = 0;
  for (const ColumnHandle& column : held) bytes += column->bytes();
  return bytes;
}

bool BranchJoin::arrive(Message& message) {
  if (branches_ <= 1) return true;
  const std::uint64_t sequence = message.batch->sequence;
  std::vector<Message> complete;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Message>& parts = waiting_[sequence];
    parts.push_back(std::move(message));
    if (parts.size() < branches_) return false;
    complete = std::move(parts);
    waiting_.erase(sequence);
  }
  std::vector<BatchHandle> batches;
  for (const Message& part : complete) batches.push_back(part.batch);
  message = {merge(batches), complete.front().permit};
  return true;
}

}  // namespace sluice
