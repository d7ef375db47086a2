// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_writer/block_compressor.hpp"

#include <htslib/bgzf.h>

#include <stdexcept>

namespace sluice::read_writer {

void BlockCompressor::compress(std::string_view text, std::string& block) {
  block.resize(BGZF_MAX_BLOCK_SIZE);
  std::size_t size = block.size();
  constexpr int default_level = -1;
  if (bgzf_compress(block.data(), &size, text.data(), text.size(), default_level) != 0) throw std::runtime_error("HTSlib cannot compress a block");
  block.resize(size);
}

void BlockCompressor::finish(std::string& file) {
  std::string block;
  if (!pending_.empty()) {
    compress(pending_, block);
    file += block;
    pending_.clear();
  }
  compress({}, block);
  file += block;
}

}  // namespace sluice::read_writer
