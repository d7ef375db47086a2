// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A zstd file as the output of a sink: what its commit() adds is cut into frames, which are compressed on the run's threads. The user links libzstd.

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::hts {

class ZstdOutput {
 public:
  // Of text. Frames of 4 MiB would be 1 % smaller, and many threads would wait for the end of one.
  static constexpr std::size_t frame_text = std::size_t{1} << 19;

  // 1 to 9 as BgzfDeflater's levels, -1 for zstd's default.
  explicit ZstdOutput(OutputFile file, int level = -1) : file_(std::move(file)), level_(level < 0 ? ZSTD_CLEVEL_DEFAULT : std::max(level, 1)) {}

  void add(std::string_view text) { text_ += text; }
  // What the files of all parts of a run begin with: before all else.
  void header(std::string_view text) {
    file_.header(header_bytes_ = text.size());
    add(text);
  }
  // Writes the whole frames, when there are enough of them for all threads.
  void write(const Call& call) {
    if (text_.size() / frame_text >= worth_compressing) compress(call, text_.size() / frame_text * frame_text);
  }
  // Writes the whole frames before.
  void save(const Call& call, StateWriter& to) {
    if (text_.size() >= frame_text) compress(call, text_.size() / frame_text * frame_text);
    to.value(header_bytes_);
    to.value(std::uint8_t{is_begun_});
    to.text(text_);
  }
  // What has been added so far is dropped: it is in the file.
  void restore(StateReader& from) {
    file_.header(header_bytes_ = from.value<std::uint64_t>());
    is_begun_ = from.value<std::uint8_t>() != 0;
    text_ = from.text();
  }
  // Writes the rest and closes the file. Without any text it is one empty frame, which is what zstd makes of nothing.
  void finish(const Call& call) {
    if (!text_.empty() || !is_begun_) compress(call, text_.size());
    file_.close();
  }

 private:
  // Frames for every thread of a large machine, 8 MiB of text.
  static constexpr std::size_t worth_compressing = 16;

  // One for each thread.
  class Compressor {
   public:
    Compressor() : context_(allocated(ZSTD_createCCtx()), ZSTD_freeCCtx) {}
    void compress(std::string_view text, int level, std::string& frame) const {
      ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
      ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
      frame.resize(ZSTD_compressBound(text.size()));
      const std::size_t size = ZSTD_compress2(context_.get(), frame.data(), frame.size(), text.data(), text.size());
      if (ZSTD_isError(size) != 0) throw Failure::memory(std::string("text can't be compressed: ") + ZSTD_getErrorName(size));
      frame.resize(size);
    }

   private:
    std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context_;
  };

  // So many bytes of the text, and at least one frame.
  void compress(const Call& call, std::size_t bytes) {
    const std::string_view text = std::string_view(text_).substr(0, bytes);
    frames_.resize(std::max<std::size_t>((bytes + frame_text - 1) / frame_text, 1));
    call.parallel_for(frames_.size(), 1, [&](std::size_t begin, std::size_t end) {
      const auto compressor = compressors_.take();
      for (std::size_t i = begin; i < end; ++i) compressor->compress(text.substr(i * frame_text, frame_text), level_, frames_[i]);
    });
    for (const std::string& frame : frames_) file_.write(frame);
    text_.erase(0, bytes);
    is_begun_ = true;
  }

  OutputFile file_;
  int level_;
  std::string text_;  // not compressed yet
  std::vector<std::string> frames_;
  bool is_begun_ = false;
  std::uint64_t header_bytes_ = 0;
  Workspaces<Compressor> compressors_;
};

}  // namespace sluice::hts
