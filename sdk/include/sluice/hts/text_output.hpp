// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The text file of a sink by its name: BGZF if it ends with .gz, zstd if it ends with .zst, both compressed on the run's threads. Needs libdeflate
// and libzstd, not HTSlib.

#include <optional>
#include <sluice/batch.hpp>
#include <sluice/call.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/zstd_output.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::hts {

class TextOutput {
 public:
  // The level is BgzfDeflater's.
  TextOutput(const Host& host, const std::string& path, int level = -1) {
    OutputFile file(host, path);
    if (path.ends_with(".gz"))
      bgzf_.emplace(std::move(file), level);
    else if (path.ends_with(".zst"))
      zstd_.emplace(std::move(file), level);
    else
      plain_ = std::move(file);
  }

  // Without a call, as from a constructor: kept for the next write() where text has to be compressed.
  void begin(std::string_view text) {
    if (bgzf_)
      bgzf_->blocks().add(text);
    else if (zstd_)
      zstd_->add(text);
    else
      plain_.write(text);
  }
  void write(const Call& call, std::string_view text) {
    begin(text);
    if (bgzf_) bgzf_->write(call);
    if (zstd_) zstd_->write(call);
  }
  // A column of text whose failed rows are empty is one piece.
  void write_rows(const Call& call, const TextView& text) {
    if (text.rows() > 0) write(call, {text[0].data(), static_cast<std::size_t>(text.offsets().back() - text.offsets().front())});
  }
  void finish(const Call& call) {
    if (bgzf_)
      bgzf_->finish(call);
    else if (zstd_)
      zstd_->finish(call);
    else
      plain_.close();
  }
  // Of BGZF, for who makes an index; else null.
  const BgzfWriter* blocks() const { return bgzf_ ? &bgzf_->blocks() : nullptr; }

 private:
  OutputFile plain_;
  std::optional<BgzfOutput> bgzf_;
  std::optional<ZstdOutput> zstd_;
};

}  // namespace sluice::hts
