// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The text file of a sink: BGZF, compressed on the run's threads, if its name ends with .gz. Needs libdeflate, not HTSlib.

#include <optional>
#include <sluice/batch.hpp>
#include <sluice/call.hpp>
#include <sluice/hts/bgzf_output.hpp>
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
      compressed_.emplace(std::move(file), level);
    else
      plain_ = std::move(file);
  }

  // Without a call, as from a constructor: kept for the next write() where blocks have to be compressed.
  void begin(std::string_view text) {
    if (compressed_)
      compressed_->blocks().add(text);
    else
      plain_.write(text);
  }
  void write(const Call& call, std::string_view text) {
    begin(text);
    if (compressed_) compressed_->write(call);
  }
  // A column of text whose failed rows are empty is one piece.
  void write_rows(const Call& call, const TextView& text) {
    if (text.rows() > 0) write(call, {text[0].data(), static_cast<std::size_t>(text.offsets().back() - text.offsets().front())});
  }
  void finish(const Call& call) {
    if (compressed_)
      compressed_->finish(call);
    else
      plain_.close();
  }

 private:
  OutputFile plain_;
  std::optional<BgzfOutput> compressed_;
};

}  // namespace sluice::hts
