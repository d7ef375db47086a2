// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/zstd_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <sluice/allocated.hpp>
#include <utility>

namespace sluice::read_bases {
namespace {

// Others wait for a piece, so it is no longer than need be.
constexpr std::size_t piece_bytes = std::size_t{1} << 20, compressed_bytes = std::size_t{1} << 18;

class ZstdInput : public TextInput {
 public:
  ZstdInput(const std::string& path, FileHandle opened) : text_(path, std::move(opened)) {}

  std::size_t read(std::size_t wanted, TextBuffer& text, const ParallelFor&, Taker& taker) override {
    const std::size_t before = text.size(), bytes = std::min(wanted, piece_bytes);
    char* const to = text.append(bytes);
    text.cut(before);
    const std::size_t got = text_.read(to, bytes);
    text.append(got);
    if (got > 0) taker.expect(1), taker.take(0, {to, got});
    return got > 0 ? 1 : 0;
  }
  // A file that grows is not begun (read_file.cpp).
  void set_growing(bool) override {}
  bool could_end() const override { return true; }
  std::uint64_t consumed() const override { return text_.consumed(); }
  Place place_of(std::uint64_t letter) const override { return {0, letter}; }
  std::optional<std::uint64_t> letter_from(std::uint64_t offset) const override {
    return offset == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
  }

 private:
  ZstdText text_;
};

}  // namespace

bool begins_as_zstd(std::string_view start_of_file) { return start_of_file.starts_with("\x28\xb5\x2f\xfd"); }

ZstdText::ZstdText(std::string path, FileHandle opened)
    : path_(std::move(path)), file_(std::move(opened)), decompressor_(allocated(ZSTD_createDCtx()), ZSTD_freeDCtx), compressed_(compressed_bytes) {}

bool ZstdText::read_more() {
  ssize_t got = 0;
  do got = hread(file_.get(), compressed_.data(), compressed_.size());
  while (got < 0 && errno == EINTR);
  if (got < 0) throw Failure::input("'" + path_ + "' cannot be read: " + std::strerror(errno), "check the disk or the connection that it is on");
  used_ = 0;
  filled_ = static_cast<std::size_t>(got);
  consumed_ += filled_;
  return got > 0;
}

void ZstdText::fail_damaged() const {
  throw Failure::input(
      "'" + path_ + "' is truncated or damaged: its compressed data ends or breaks after " + std::to_string(text_) + " bytes of text",
      "copy the file again and compare checksums");
}

std::size_t ZstdText::read(char* to, std::size_t bytes) {
  ZSTD_outBuffer out{to, bytes, 0};
  while (out.pos < out.size && !is_broken_) {
    const bool has_ended = used_ == filled_ && !read_more();
    if (has_ended && !in_frame_) break;
    const std::size_t text_before = out.pos;
    ZSTD_inBuffer in{compressed_.data(), filled_, used_};
    const std::size_t rest = ZSTD_decompressStream(decompressor_.get(), &out, &in);
    used_ = in.pos;
    in_frame_ = rest != 0;
    // Behind the last byte there may still be text that had no room; if there is none, the frame lacks its end.
    is_broken_ = ZSTD_isError(rest) != 0 || (has_ended && in_frame_ && out.pos == text_before);
  }
  text_ += out.pos;
  if (out.pos == 0 && is_broken_) fail_damaged();
  return out.pos;
}

std::unique_ptr<TextInput> open_zstd_input(const std::string& path, FileHandle opened) {
  return std::make_unique<ZstdInput>(path, std::move(opened));
}

}  // namespace sluice::read_bases
