// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reads batches, one at a time.

#include "run/stage_runner.hpp"

namespace sluice {

class SourceRunner : public StageRunner {
 public:
  using StageRunner::StageRunner;

  // The next batch, of about that much work and that many bytes. Null: no more rows, or the run is stopping or has failed.
  BatchHandle read(double target_work, std::uint64_t target_bytes, std::uint64_t sequence);
  // The last rows have been read, or nobody needs more.
  bool ended() const { return ended_ || run_.is_enough(index_); }
  // The sequence number of the first batch.
  std::uint64_t first() const { return from_ != nullptr ? from_->next : 0; }
  // Of a source that has positions: where the next row begins.
  std::string position() const;

 private:
  bool ended_ = from_ != nullptr && from_->ended;
};

}  // namespace sluice
