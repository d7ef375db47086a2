// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignments to the reverse strand, which the tools of direct RNA leave out: few on transcripts, half of them on a genome.

#include <cstdint>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>

namespace sluice::event_alignment_writer {

class AntisenseReads {
 public:
  void count(const Batch& in) {
    const auto is_reverse = in.column<std::uint8_t>("is_reverse");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      ++all_;
      antisense_ += is_reverse[static_cast<std::size_t>(row)] != 0 ? 1 : 0;
    }
  }
  // If they are a tenth and more. `tools`: "m6anet and xpore".
  void warn(const Call& call, const std::string& tools) const {
    if (antisense_ == 0 || antisense_ < all_ / 10) return;
    call.warn(std::to_string(antisense_) + " of " + std::to_string(all_) + " alignments are to the reverse strand, and " + tools +
              " leave them out: align the reads to transcripts, not to a genome");
  }
  void save(StateWriter& to) const {
    to.value(all_);
    to.value(antisense_);
  }
  void restore(StateReader& from) {
    all_ = from.value<std::uint64_t>();
    antisense_ = from.value<std::uint64_t>();
  }

 private:
  std::uint64_t all_ = 0, antisense_ = 0;
};

}  // namespace sluice::event_alignment_writer
