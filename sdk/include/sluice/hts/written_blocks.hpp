// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The text of a BGZF file that is being written, for who makes its index anew: the blocks in the file, and what waits for the next one. The user
// links libdeflate.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <sluice/failure.hpp>
#include <sluice/hts/bgzf_block.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

class WrittenBlocks {
 public:
  // `blocks` has no finished ones that wait, and must stay.
  WrittenBlocks(const std::string& path, const BgzfWriter& blocks)
      : path_(path),
        blocks_(blocks),
        count_(blocks.place().block),
        file_(std::fopen(path.c_str(), "rb"), close),
        block_(BgzfBlock::most_bytes, '\0') {
    if (!file_) throw damaged();
  }
  struct Block {
    BgzfWriter::Place begin;
    std::uint64_t virtual_offset = 0;  // of its first byte
    std::string_view text;             // until the next one is read
  };
  // False: there are no more. Throws Failure::input where the file is not what was written.
  bool next(Block& block) {
    if (number_ > count_) return false;
    block.begin = {number_, 0};
    block.virtual_offset = address_ << 16;
    block.text = number_++ < count_ ? read() : blocks_.open_text();
    return true;
  }

 private:
  static void close(std::FILE* file) { std::fclose(file); }
  Failure damaged() const {
    return Failure::input("'" + path_ + "' is not what the interrupted run had written", "begin the run anew, without --resume");
  }
  std::string_view read() {
    char* const bytes = block_.data();
    if (std::fread(bytes, 1, BgzfBlock::header_bytes, file_.get()) != BgzfBlock::header_bytes) throw damaged();
    const std::size_t size = BgzfBlock::bytes(bytes);
    if (size == 0) throw damaged();
    const std::size_t rest = size - BgzfBlock::header_bytes;
    if (std::fread(bytes + BgzfBlock::header_bytes, 1, rest, file_.get()) != rest) throw damaged();
    const std::string_view block(bytes, size);
    const std::size_t text_bytes = BgzfBlock::text_bytes(block);
    if (text_bytes > BgzfBlock::most_bytes) throw damaged();
    text_.resize(text_bytes);
    if (!inflater_.inflate(block, text_.data(), text_bytes)) throw damaged();
    address_ += size;
    return text_;
  }

  std::string path_;
  const BgzfWriter& blocks_;
  std::uint64_t count_, number_ = 0, address_ = 0;
  std::unique_ptr<std::FILE, void (*)(std::FILE*)> file_;
  BgzfInflater inflater_;
  std::string block_, text_;
};

}  // namespace sluice::hts
