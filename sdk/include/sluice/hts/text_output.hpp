// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The text file of a sink by its name: BGZF if it ends with .gz, zstd if it ends with .zst, both compressed on the run's threads. Needs libdeflate
// and libzstd, not HTSlib.

#include <cstdint>
#include <optional>
#include <sluice/batch.hpp>
#include <sluice/call.hpp>
#include <sluice/file_ending.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/zstd_output.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::hts {

class TextOutput {
 public:
  // The level is BgzfDeflater's.
  TextOutput(const Host& host, const std::string& path, int level = -1) {
    OutputFile file(host, path);
    if (has_ending(path, ".gz"))
      bgzf_.emplace(std::move(file), level);
    else if (has_ending(path, ".zst"))
      zstd_.emplace(std::move(file), level);
    else
      plain_ = std::move(file);
  }

  // What the files of all parts of a run begin with: before all else, also from a constructor. Is written with the next text.
  void header(std::string_view text) {
    if (bgzf_) return bgzf_->header(text);
    if (zstd_) return zstd_->header(text);
    plain_.header(header_bytes_ = text.size());
    waiting_ = text;
  }
  void write(const Call& call, std::string_view text) {
    if (bgzf_) {
      bgzf_->blocks().add(text);
      bgzf_->write(call);
    } else if (zstd_) {
      zstd_->add(text);
      zstd_->write(call);
    } else {
      write_waiting();
      plain_.write(text);
    }
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
      write_waiting(), plain_.close();
  }
  // Writes all that can be compressed before.
  void save(const Call& call, StateWriter& to) {
    if (bgzf_) return bgzf_->save(call, to);
    if (zstd_) return zstd_->save(call, to);
    write_waiting();
    to.value(header_bytes_);
  }
  // For a file that has what was written before save(): the header that has been given since is dropped.
  void restore(StateReader& from) {
    if (bgzf_) return bgzf_->restore(from);
    if (zstd_) return zstd_->restore(from);
    plain_.header(header_bytes_ = from.value<std::uint64_t>());
    waiting_.clear();
  }
  // Of BGZF, for who makes an index; else null.
  const BgzfWriter* blocks() const { return bgzf_ ? &bgzf_->blocks() : nullptr; }
  // Of BGZF: where the bytes of the file are while it is written.
  std::string bgzf_path() const { return bgzf_->path(); }

 private:
  void write_waiting() {
    plain_.write(waiting_);
    waiting_.clear();
  }
  OutputFile plain_;
  std::string waiting_;             // the header of a plain file, until there is more
  std::uint64_t header_bytes_ = 0;  // of a plain file
  std::optional<BgzfOutput> bgzf_;
  std::optional<ZstdOutput> zstd_;
};

}  // namespace sluice::hts
