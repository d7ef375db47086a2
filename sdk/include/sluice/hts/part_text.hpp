// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The text of a shard's file, whatever it is compressed with: as it is, in BGZF, or in zstd. Needs libdeflate and libzstd, not HTSlib.

#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/failure.hpp>
#include <sluice/file_parts.hpp>
#include <sluice/hts/bgzf_block.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::hts {

class PartText {
 public:
  static constexpr std::size_t usual_bytes = std::size_t{1} << 20;
  // buffer_bytes: about what it takes of the file at once, and gives of its text.
  explicit PartText(const FilePart& part, std::size_t buffer_bytes = usual_bytes)
      : path_(part.path),
        file_(std::fopen(path_.c_str(), "rb"), std::fclose),
        most_text_(std::clamp(buffer_bytes, least_bytes, usual_bytes)),
        packed_(most_text_) {
    if (!file_)
      throw Failure::input("cannot open '" + path_ + "': " + std::strerror(errno),
                           errno == EMFILE ? "allow more open files: ulimit -n" : "check the path");
    fill();
    const std::string_view begin = rest();
    if (begin.starts_with("\x1f\x8b"))
      inflater_.emplace();
    else if (begin.starts_with("\x28\xb5\x2f\xfd"))
      zstd_.reset(allocated(ZSTD_createDCtx()));
  }

  // "": the end. Valid until the next call. Throws Failure::input where the file is damaged or cut.
  std::string_view next() { return inflater_ ? next_blocks() : zstd_ ? next_frames() : next_bytes(); }

 private:
  struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  // Of the file, not looked at yet.
  std::string_view rest() const { return {packed_.data() + at_, end_ - at_}; }
  void fill() {
    std::memmove(packed_.data(), packed_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
    end_ += std::fread(packed_.data() + end_, 1, packed_.size() - end_, file_.get());
    if (std::ferror(file_.get()) != 0) throw Failure::input("cannot read '" + path_ + "'");
  }
  Failure damaged() const { return Failure::input("'" + path_ + "' is damaged or cut", "make this shard again"); }

  std::string_view next_bytes() {
    if (at_ == end_) fill();
    const std::string_view text = rest();
    at_ = end_;
    return text;
  }
  std::string_view next_blocks() {
    text_.clear();
    while (text_.size() < most_text_) {
      if (end_ - at_ < BgzfBlock::most_bytes) fill();
      if (at_ == end_) {
        if (!has_ended_) throw damaged();
        break;
      }
      const std::size_t size = rest().size() < BgzfBlock::header_bytes ? 0 : BgzfBlock::bytes(rest().data());
      if (size == 0 || size > rest().size()) throw damaged();
      const std::string_view block = rest().substr(0, size);
      const std::size_t bytes = BgzfBlock::text_bytes(block), before = text_.size();
      if (bytes > BgzfBlock::most_bytes) throw damaged();
      text_.resize(before + bytes);
      if (!inflater_->inflate(block, text_.data() + before, bytes)) throw damaged();
      has_ended_ = bytes == 0;
      at_ += size;
    }
    return text_;
  }
  std::string_view next_frames() {
    if (!zstd_) throw std::bad_alloc();
    text_.resize(most_text_);
    while (true) {
      if (at_ == end_ && !has_more_) fill();
      if (at_ == end_ && !has_more_) break;
      ZSTD_inBuffer in{packed_.data(), end_, at_};
      ZSTD_outBuffer out{text_.data(), text_.size(), 0};
      left_ = ZSTD_decompressStream(zstd_.get(), &out, &in);
      if (ZSTD_isError(left_) != 0) throw damaged();
      at_ = in.pos;
      has_more_ = out.pos == out.size;
      if (out.pos > 0) return std::string_view(text_).substr(0, out.pos);
    }
    if (left_ != 0) throw damaged();
    return {};
  }

  static constexpr std::size_t least_bytes = 2 * BgzfBlock::most_bytes;
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::size_t most_text_;
  std::vector<char> packed_;
  std::size_t at_ = 0, end_ = 0;  // of what is there of the file
  std::string text_;
  std::optional<BgzfInflater> inflater_;
  bool has_ended_ = false;  // the last block was empty
  std::unique_ptr<ZSTD_DCtx, FreeContext> zstd_;
  bool has_more_ = false;  // zstd has more text than it had room for
  std::size_t left_ = 0;   // of a frame, as zstd says it
};

}  // namespace sluice::hts
