// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text in BGZF blocks (gzip members of at most 64 KiB, as bgzip and samtools write them), so that samtools faidx can look into its middle.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::read_writer {

// Cuts a stream of text into BGZF blocks. The blocks depend on the text alone, not on how it was cut into pieces.
// Throws std::runtime_error when HTSlib cannot compress (out of memory).
class BlockCompressor {
 public:
  // Takes more text; appends the finished blocks to `file`. `run(count, body)` calls body(begin, end) for disjoint parts of [0, count),
  // on as many threads as it likes.
  template <class Run>
  void add(std::string_view text, std::string& file, Run&& run) {
    pending_.append(text);
    const std::size_t whole = pending_.size() / block_text;
    if (whole == 0) return;
    blocks_.resize(whole);
    run(whole, [this](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) compress(std::string_view(pending_).substr(i * block_text, block_text), blocks_[i]);
    });
    for (const std::string& block : blocks_) file += block;
    pending_.erase(0, whole * block_text);
  }
  // The last block, and the empty one that marks the end of the file.
  void finish(std::string& file);

 private:
  static constexpr std::size_t block_text = 0xFF00;  // as HTSlib: fits a block even when it does not compress
  static void compress(std::string_view text, std::string& block);

  std::string pending_;
  std::vector<std::string> blocks_;
};

}  // namespace sluice::read_writer
