// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Writing BGZF: what is written is cut into blocks in order, and many blocks are compressed at once. The user links libdeflate.

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/bgzf_block.hpp>
#include <sluice/hts/section_deflate.hpp>
#include <sluice/saved_state.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::hts {

// One for each thread.
class BgzfDeflater {
 public:
  // 0 to 9 as HTSlib's levels; -1 for its default, and for records of long reads something that is smaller and faster (SectionDeflater).
  explicit BgzfDeflater(int level)
      : compressor_(allocated(libdeflate_alloc_compressor(own_level(level))), libdeflate_free_compressor), takes_sections_(level < 0) {}
  // Makes a block of at most 0xFF00 bytes of text. sections: of the text, if they are known; the first begins at 0.
  void deflate(std::string_view text, std::span<const TextSection> sections, std::string& block) {
    block.resize(BgzfBlock::most_bytes);
    const std::size_t around = BgzfBlock::header_bytes + BgzfBlock::footer_bytes;
    char* const at = block.data() + BgzfBlock::header_bytes;
    const bool has_letters =
        std::any_of(sections.begin(), sections.end(), [](const TextSection& section) { return section.kind != TextSection::Kind::mixed; });
    std::size_t size = takes_sections_ && has_letters ? sections_.deflate(text, sections, at, block.size() - around) : 0;
    if (size == 0) size = libdeflate_deflate_compress(compressor_.get(), text.data(), text.size(), at, block.size() - around);
    if (size == 0) throw std::length_error("a BGZF block of more than 0xFF00 bytes of text");
    std::memcpy(block.data(), BgzfBlock::end.data(), BgzfBlock::header_bytes - 2);
    put(block.data() + BgzfBlock::header_bytes - 2, static_cast<std::uint16_t>(size + around - 1));
    put(at + size, libdeflate_crc32(0, text.data(), text.size()));
    put(at + size + 4, static_cast<std::uint32_t>(text.size()));
    block.resize(size + around);
  }

 private:
  // libdeflate's levels do in the same time what zlib's do.
  static int own_level(int level) {
    constexpr std::array<int, 10> levels = {0, 1, 2, 3, 5, 6, 7, 8, 10, 12};
    return levels[static_cast<std::size_t>(level < 0 ? 6 : std::min(level, 9))];
  }
  template <class T>
  static void put(char* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }
  std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor_;
  bool takes_sections_;
  SectionDeflater sections_;
};

// The blocks of one file. They depend on what is written, not on how it comes or when it is compressed.
//   stream.add(text);
//   if (stream.waiting() >= BgzfWriter::worth_compressing) stream.compress(file, run);
//   ... stream.finish(file, run);
class BgzfWriter {
 public:
  // Calls body(begin, end) for disjoint parts of [0, count), on as many threads as it likes.
  using Run = std::function<void(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body)>;
  static constexpr std::size_t block_text = 0xFF00;  // as HTSlib: fits a block even when it does not compress
  // Blocks for every thread of a large machine, 4 MiB of text.
  static constexpr std::size_t worth_compressing = 64;

  explicit BgzfWriter(int level = -1) : level_(level) {}

  void add(std::string_view text) {
    while (!text.empty()) {
      const std::string_view part = text.substr(0, block_text - open_bytes());
      text_ += part;
      text.remove_prefix(part.size());
      if (open_bytes() == block_text) end_block();
    }
  }
  // A record begins a block if it does not fit in this one, as HTSlib writes BAM. So its place is known when this has been said.
  void begin_record(std::size_t bytes) {
    if (open_bytes() + bytes > block_text) end_block();
  }
  // Of BAM.
  void add_record(std::string_view record) {
    begin_record(record.size());
    append_record_sections(record, text_.size(), sections_);
    add(record);
  }
  void end_block() {
    if (open_bytes() > 0) ends_.push_back(text_.size());
  }
  // Finished blocks that have not been compressed.
  std::size_t waiting() const { return ends_.size(); }

  // Where the next byte will stand: its block, counted from the beginning of the file, and its place in the block's text.
  struct Place {
    std::uint64_t block = 0;
    std::uint16_t in_block = 0;
  };
  Place place() const { return {compressed_ + ends_.size(), static_cast<std::uint16_t>(open_bytes())}; }
  // Is it known where in the file the block begins?
  bool is_known(Place place) const { return place.block <= compressed_; }
  // The virtual offset of indexes, of a place that is known, and was not in front of the blocks that were compressed last.
  std::uint64_t virtual_offset(Place place) const {
    return addresses_[static_cast<std::size_t>(place.block - first_address_)] << 16 | place.in_block;
  }

  // Appends the finished blocks to `file`.
  void compress(std::string& file, const Run& run) {
    blocks_.resize(ends_.size());
    run(ends_.size(), [this](std::size_t begin, std::size_t end) {
      const auto deflater = take_deflater();
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t from = i == 0 ? 0 : ends_[i - 1];
        deflater->deflate(std::string_view(text_).substr(from, ends_[i] - from), sections_between(from, ends_[i]), blocks_[i]);
      }
      give_back(deflater);
    });
    first_address_ = compressed_;
    addresses_.assign(1, addresses_.back());
    for (const std::string& block : blocks_) {
      file += block;
      addresses_.push_back(addresses_.back() + block.size());
    }
    compressed_ += ends_.size();
    if (!ends_.empty()) {
      sections_ = sections_between(ends_.back(), text_.size());
      text_.erase(0, ends_.back());
    }
    ends_.clear();
  }
  // When no finished blocks wait: what the next block begins with, and where in the file it will stand.
  std::string_view open_text() const { return text_; }
  std::uint64_t file_bytes() const { return addresses_.back(); }
  void save(StateWriter& to) const {
    to.value(compressed_);
    to.value(file_bytes());
    to.text(text_);
    to.values(sections_);
  }
  void restore(StateReader& from) {
    first_address_ = compressed_ = from.value<std::uint64_t>();
    addresses_.assign(1, from.value<std::uint64_t>());
    text_ = from.text();
    sections_ = from.values<TextSection>();
    ends_.clear();
    if (text_.size() >= block_text || !std::is_sorted(sections_.begin(), sections_.end(), begins_before) ||
        (!sections_.empty() && sections_.back().begin > text_.size()))
      throw Failure::input("the saved state of a BGZF file is damaged", "begin the run anew, without --resume");
  }
  // The rest, and the block that ends a file.
  void finish(std::string& file, const Run& run) {
    end_block();
    compress(file, run);
    file += BgzfBlock::end;
  }

 private:
  using Deflater = std::shared_ptr<BgzfDeflater>;
  static bool begins_before(const TextSection& a, const TextSection& b) { return a.begin < b.begin; }
  // Counted from `begin` on, the section that began before included; of text without sections: none, or one.
  std::vector<TextSection> sections_between(std::size_t begin, std::size_t end) const {
    auto next = std::upper_bound(sections_.begin(), sections_.end(), TextSection{begin}, begins_before);
    std::vector<TextSection> result(1);
    if (next != sections_.begin()) result[0].kind = std::prev(next)->kind;
    for (; next != sections_.end() && next->begin < end; ++next) result.push_back({next->begin - begin, next->kind});
    return result;
  }
  std::size_t open_bytes() const { return text_.size() - (ends_.empty() ? 0 : ends_.back()); }
  Deflater take_deflater() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_shared<BgzfDeflater>(level_);
    Deflater deflater = idle_.back();
    idle_.pop_back();
    return deflater;
  }
  void give_back(Deflater deflater) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(deflater));
  }

  int level_;
  std::string text_;                   // of the blocks that have not been compressed
  std::vector<std::size_t> ends_;      // of the finished ones, in text_
  std::vector<TextSection> sections_;  // in text_, as far as they are known
  std::vector<std::string> blocks_;
  std::uint64_t compressed_ = 0, first_address_ = 0;  // blocks
  std::vector<std::uint64_t> addresses_ = {0};        // in the file, from first_address_ on; the last is that of the next block
  std::mutex mutex_;                                  // guards idle_
  std::vector<Deflater> idle_;
};

}  // namespace sluice::hts
