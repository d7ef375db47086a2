// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files of indexes: a header, the path of the file that the index was made from, then sections: arrays as they are in memory, each at a multiple of
// 64 bytes, so that a file is mapped and not read. Everything is little-endian.
//
// A format is a type with
//   struct Header           trivially copyable, without gaps; of the members that are named here, and the format's own parameters
//     char magic[8];
//     (any unsigned) version, header_bytes, source_path_bytes, file_bytes, source_bytes;   header_bytes: with the path, rounded up to 64
//     std::int64_t source_modified_ns;
//     Section sections[...];
//     std::uint64_t checksum;  of header and path, taken as 0 itself
//   static constexpr std::string_view magic, name;   "SLUICEFM", "an FM-index of sluice"
//   static constexpr std::uint32_t version;
// Checksums are XXH3 (64 bits) of the header, and of the XXH3 of a section's pieces, which are made on several threads.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <sluice/failure.hpp>
#include <sluice/index_file/mapped_file.hpp>
#include <sluice/index_file/source.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#ifndef XXH_INLINE_ALL  // a plugin may have said so for all of its sources
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace sluice::index_file {

static_assert(std::endian::native == std::endian::little, "index files are little-endian");

struct Section {
  std::uint64_t begin, bytes, checksum;
};

// large: of files above largest_checked_bytes only the sections are checked that say how much there is of others; full: everything; structure:
// everything but the checksums, to test that nothing behind them leads out of the index.
enum class Verify : std::uint8_t { large, full, structure };
inline constexpr std::uint64_t largest_checked_bytes = std::uint64_t{4} << 30;

// Calls the body once for each of 0 .. count - 1, on several threads or on one.
using ForEach = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;

constexpr std::uint64_t round_up(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

inline std::uint64_t section_checksum(const char* bytes, std::size_t count, const ForEach& for_each) {
  constexpr std::size_t piece = std::size_t{16} << 20;
  std::vector<XXH64_hash_t> sums((count + piece - 1) / piece);
  for_each(sums.size(), [&](std::size_t i) { sums[i] = XXH3_64bits(bytes + i * piece, std::min(piece, count - i * piece)); });
  return XXH3_64bits_withSeed(sums.data(), sums.size() * sizeof sums[0], count);
}

template <class Format>
std::uint64_t header_checksum(std::string bytes) {
  std::memset(bytes.data() + offsetof(typename Format::Header, checksum), 0, sizeof(std::uint64_t));
  return XXH3_64bits(bytes.data(), bytes.size());
}

// Calls `write` with the bytes of the file, in order. `header` has the format's own parameters; there are as many sections as it has room for.
// Give the bytes to an OutputFile or a StagedFile, so that the index appears whole or not at all.
template <class Format>
void write_index_file(typename Format::Header header, std::span<const std::string_view> sections, const Source& source, const ForEach& for_each,
                      const std::function<void(std::string_view)>& write) {
  std::copy(Format::magic.begin(), Format::magic.end(), header.magic);
  header.version = Format::version;
  header.header_bytes = static_cast<decltype(header.header_bytes)>(round_up(sizeof header + source.path.size()));
  header.source_path_bytes = static_cast<decltype(header.source_path_bytes)>(source.path.size());
  header.source_bytes = source.bytes;
  header.source_modified_ns = source.modified_ns;
  std::uint64_t at = header.header_bytes;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    header.sections[i] = {at, sections[i].size(), section_checksum(sections[i].data(), sections[i].size(), for_each)};
    at = round_up(at + sections[i].size());
  }
  header.file_bytes = at;
  header.checksum = 0;
  std::string front(header.header_bytes, '\0');
  std::memcpy(front.data(), &header, sizeof header);
  std::copy(source.path.begin(), source.path.end(), front.begin() + sizeof header);
  header.checksum = header_checksum<Format>(front);
  std::memcpy(front.data(), &header, sizeof header);
  write(front);
  for (const std::string_view section : sections) {
    write(section);
    write(std::string(round_up(section.size()) - section.size(), '\0'));
  }
}

// A file in memory, whose header has been checked.
template <class Format>
class IndexFile {
 public:
  using Header = typename Format::Header;

  // Throws Failure (input): no index, of another version, truncated or damaged.
  IndexFile(const std::string& path, Verify verify, ForEach for_each)
      : path_(path), memory_(std::make_shared<const MappedFile>(path)), verify_(verify), for_each_(std::move(for_each)) {
    const std::size_t bytes = memory_->bytes();
    if (bytes < sizeof header_) refuse("is truncated: it has " + std::to_string(bytes) + " bytes");
    std::memcpy(&header_, memory_->data(), sizeof header_);
    if (std::string_view(header_.magic, sizeof header_.magic) != Format::magic) refuse("is not " + std::string(Format::name));
    if (header_.version != Format::version)
      refuse("is of version " + std::to_string(header_.version) + ", and this program reads version " + std::to_string(Format::version));
    if (header_.source_path_bytes > bytes || header_.header_bytes != round_up(sizeof header_ + header_.source_path_bytes) ||
        header_.header_bytes > bytes)
      refuse("is truncated or damaged: its header does not fit");
    if (verify != Verify::structure && header_checksum<Format>(std::string(memory_->data(), header_.header_bytes)) != header_.checksum)
      refuse("is damaged: the checksum of its header is wrong");
    if (header_.file_bytes != bytes)
      refuse(std::string(bytes < header_.file_bytes ? "is truncated" : "has something behind its end") + ": it has " + std::to_string(bytes) +
             " bytes, not " + std::to_string(header_.file_bytes));
    source_ = {std::string(memory_->data() + sizeof header_, header_.source_path_bytes), header_.source_bytes, header_.source_modified_ns};
  }

  const Header& header() const { return header_; }
  const Source& source() const { return source_; }
  const std::shared_ptr<const MappedFile>& memory() const { return memory_; }  // the sections lie in it
  // Is everything to be checked, what sections hold included?
  bool is_checked_whole() const { return verify_ != Verify::large || header_.file_bytes <= largest_checked_bytes; }

  // The bytes of section i: a multiple of element_bytes. says_sizes: it tells how much there is of others, or is small, so it is always checked.
  std::span<const char> section(std::size_t i, std::size_t element_bytes, bool says_sizes) const {
    const Section& place = header_.sections[i];
    if (place.begin % 64 != 0 || place.begin > memory_->bytes() || place.bytes > memory_->bytes() - place.begin || place.bytes % element_bytes != 0)
      refuse("is damaged: a column lies outside of it");
    const char* bytes = memory_->data() + place.begin;
    if (verify_ != Verify::structure && (says_sizes || is_checked_whole()) && section_checksum(bytes, place.bytes, for_each_) != place.checksum)
      refuse("is damaged: a checksum is wrong");
    return {bytes, place.bytes};
  }
  // Throws Failure (input) if the source is another file now.
  void refuse_if_stale() const {
    if (has_changed(source_)) refuse("is stale: '" + source_.path + "' has changed since it was made");
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Failure::input("index '" + path_ + "' " + what, "make the index again from the sequences");
  }

 private:
  std::string path_;
  std::shared_ptr<const MappedFile> memory_;
  Verify verify_;
  ForEach for_each_;
  Header header_;
  Source source_;
};

}  // namespace sluice::index_file
