// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The text of a zstd file or pipe, in order.

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "read_bases/text_input.hpp"

namespace sluice::read_bases {

// Does a file that begins so claim to be zstd?
bool begins_as_zstd(std::string_view start_of_file);

class ZstdText {
 public:
  // `opened` is `path`, from which nothing has been taken yet.
  ZstdText(std::string path, FileHandle opened);
  // The next bytes of text, up to so many; 0: the end. Throws Failure (input) behind the last that can be decompressed.
  std::size_t read(char* to, std::size_t bytes);
  // Of the file.
  std::uint64_t consumed() const { return consumed_; }

 private:
  bool read_more();
  [[noreturn]] void fail_damaged() const;
  std::string path_;
  FileHandle file_;
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> decompressor_;
  std::vector<char> compressed_;
  std::size_t used_ = 0, filled_ = 0;  // of compressed_
  std::uint64_t consumed_ = 0, text_ = 0;
  bool in_frame_ = false, is_broken_ = false;
};

// One thread decompresses; who looks at the text may be many.
std::unique_ptr<TextInput> open_zstd_input(const std::string& path, FileHandle opened);

}  // namespace sluice::read_bases
