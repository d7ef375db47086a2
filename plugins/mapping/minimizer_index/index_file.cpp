// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_index/index_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>
#include <string>
#include <vector>

namespace sluice::minimizer_index {
namespace {

static_assert(std::endian::native == std::endian::little, "index files are little-endian");

constexpr std::size_t column_count = 11;
constexpr std::size_t alignment = 64;
constexpr std::size_t checksum_block = std::size_t{8} << 20;
constexpr std::size_t slots_checked_at_once = std::size_t{1} << 18;

struct ColumnPlace {
  std::uint64_t begin, bytes, checksum;
};
struct Header {
  std::array<char, 8> magic;
  std::uint32_t version, header_bytes;
  std::uint32_t k, w, homopolymer_compressed, source_path_bytes;
  std::uint64_t home_lines, file_bytes, source_bytes;
  std::int64_t source_modified_ns;
  std::array<ColumnPlace, column_count> columns;
  std::uint64_t checksum;
};
static_assert(sizeof(Header) == 8 + 6 * 4 + 4 * 8 + column_count * 24 + 8);

constexpr std::uint64_t round_up(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Eight sums side by side, so that it runs at the speed of memory; every step is invertible in the word, so no single changed word goes unseen.
std::uint64_t block_checksum(const char* bytes, std::size_t count) {
  constexpr std::uint64_t factor = 0x9FB21C651E98DF25ULL;
  std::array<std::uint64_t, 8> sums;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = factor * (i + 1) + count;
  std::size_t at = 0;
  for (; at + sizeof sums <= count; at += sizeof sums) {
    std::array<std::uint64_t, 8> words;
    std::memcpy(words.data(), bytes + at, sizeof words);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::rotl((sums[i] ^ words[i]) * factor, 29);
  }
  std::array<std::uint64_t, 8> rest{};
  if (at < count) std::memcpy(rest.data(), bytes + at, count - at);
  std::uint64_t sum = count;
  for (std::size_t i = 0; i < sums.size(); ++i) sum = std::rotl((sum ^ std::rotl((sums[i] ^ rest[i]) * factor, 29)) * factor, 31);
  return sum;
}

std::uint64_t checksum(const char* bytes, std::size_t count, const ForEach& for_each) {
  const std::size_t blocks = (count + checksum_block - 1) / checksum_block;
  std::vector<std::uint64_t> sums(blocks);
  for_each(blocks, [&](std::size_t i) {
    const std::size_t begin = i * checksum_block;
    sums[i] = block_checksum(bytes + begin, std::min(checksum_block, count - begin));
  });
  return block_checksum(reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(std::uint64_t));
}

template <class View, class Body>
void for_each_column(View& view, Body&& body) {
  body(view.contig_length);
  body(view.contig_name_begin);
  body(view.contig_name_bytes);
  body(view.contig_base_begin);
  body(view.packed_bases);
  body(view.ambiguous_begin);
  body(view.ambiguous_end);
  body(view.slots);
  body(view.positions);
  body(view.occurrence_count);
  body(view.occurrence_minimizers);
}
// Columns that say how much there is of others: checked even in the largest files.
constexpr std::array<bool, column_count> small_column = {true, true, true, true, false, true, true, false, false, true, true};

// A file in memory, as long as anybody looks at it.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw Failure::input("cannot open index '" + path + "': " + std::strerror(errno), "check the path");
    struct stat status {};
    fstat(file, &status);
    bytes_ = static_cast<std::size_t>(status.st_size);
    if (bytes_ > 0) memory_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    close(file);
    if (memory_ == MAP_FAILED)
      throw Failure::input("cannot map index '" + path + "' into memory: " + std::strerror(error), "check that it is a file");
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  const char* data() const { return static_cast<const char*>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

std::uint64_t header_checksum(const char* bytes, std::size_t count) {
  std::string copy(bytes, count);
  copy.replace(offsetof(Header, checksum), sizeof(std::uint64_t), sizeof(std::uint64_t), '\0');
  return block_checksum(copy.data(), count);
}

bool ascends(std::span<const std::int64_t> values) { return std::is_sorted(values.begin(), values.end()); }

// Whether places and contigs that the index names exist, so that nobody who uses it reads outside of it.
bool contigs_fit(const MinimizerIndexView& v) {
  const std::size_t contigs = v.contig_length.size();
  if (contigs == 0 || v.contig_name_begin.size() != contigs + 1 || v.contig_base_begin.size() != contigs + 1) return false;
  if (v.contig_name_begin.front() != 0 || !ascends(v.contig_name_begin) ||
      v.contig_name_begin.back() != static_cast<std::int64_t>(v.contig_name_bytes.size()))
    return false;
  if (v.contig_base_begin.front() != 0 || !ascends(v.contig_base_begin)) return false;
  if (v.ambiguous_begin.size() != v.ambiguous_end.size() || v.occurrence_count.size() != v.occurrence_minimizers.size()) return false;
  const bool has_bases = !v.packed_bases.empty();
  for (std::size_t i = 0; i < contigs; ++i) {
    if (v.contig_length[i] < 0) return false;
    if (has_bases && (v.contig_base_begin[i] % 32 != 0 || v.contig_base_begin[i + 1] - v.contig_base_begin[i] < v.contig_length[i])) return false;
  }
  const std::int64_t end = v.contig_base_begin.back();
  if (has_bases && static_cast<std::uint64_t>(end) / 32 + 4 != v.packed_bases.size()) return false;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < v.ambiguous_begin.size(); ++i) {
    if (v.ambiguous_begin[i] <= last || v.ambiguous_end[i] <= v.ambiguous_begin[i] || v.ambiguous_end[i] > end) return false;
    last = v.ambiguous_begin[i];
  }
  for (const std::uint32_t count : v.occurrence_count)
    if (count == 0 || count > max_minimizer_occurrences) return false;
  std::uint64_t minimizers_left = v.slots.size() / 2;
  for (const std::uint64_t minimizers : v.occurrence_minimizers) {
    if (minimizers > minimizers_left) return false;
    minimizers_left -= minimizers;
  }
  return std::is_sorted(v.occurrence_count.begin(), v.occurrence_count.end());
}

bool table_fits(const MinimizerIndexView& v, const ForEach& for_each) {
  const std::size_t slots = v.slots.size() / 2;
  const auto position_fits = [&](std::uint64_t position) {
    const std::uint64_t contig = position >> 32;
    return contig < v.contigs() && (position & 0xFFFFFFFFU) >> 1 < static_cast<std::uint64_t>(v.contig_length[contig]);
  };
  std::atomic<bool> fits{true};
  for_each((slots + slots_checked_at_once - 1) / slots_checked_at_once, [&](std::size_t block) {
    bool fine = true;
    for (std::size_t i = block * slots_checked_at_once; i < std::min(slots, (block + 1) * slots_checked_at_once); ++i) {
      if (v.slots[2 * i] == empty_slot) continue;
      const std::uint64_t value = v.slots[2 * i + 1];
      if ((value & many_positions) == 0) {
        fine = fine && position_fits(value);
      } else {
        const std::uint64_t begin = (value & ~many_positions) >> 27, count = value & max_minimizer_occurrences;
        fine = fine && count > 0 && begin + count <= v.positions.size();
      }
    }
    if (!fine) fits = false;
  });
  for_each((v.positions.size() + slots_checked_at_once - 1) / slots_checked_at_once, [&](std::size_t block) {
    bool fine = true;
    for (std::size_t i = block * slots_checked_at_once; i < std::min(v.positions.size(), (block + 1) * slots_checked_at_once); ++i)
      fine = fine && position_fits(v.positions[i]);
    if (!fine) fits = false;
  });
  return fits;
}

}  // namespace

IndexSource source_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {path, 0, 0};
  return {path, static_cast<std::uint64_t>(status.st_size), std::int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec};
}

void write_index(const MinimizerIndexView& index, const IndexSource& source, const ForEach& for_each, const WriteBytes& write) {
  Header header{};
  std::copy(index_magic.begin(), index_magic.end(), header.magic.begin());
  header.version = 1;
  header.source_path_bytes = static_cast<std::uint32_t>(source.path.size());
  header.header_bytes = static_cast<std::uint32_t>(round_up(sizeof header + source.path.size()));
  header.k = index.k;
  header.w = index.w;
  header.homopolymer_compressed = index.homopolymer_compressed ? 1 : 0;
  header.home_lines = index.home_lines;
  header.source_bytes = source.bytes;
  header.source_modified_ns = source.modified_ns;
  std::uint64_t at = header.header_bytes;
  std::size_t number = 0;
  for_each_column(index, [&](const auto& column) {
    const auto* bytes = reinterpret_cast<const char*>(column.data());
    header.columns[number++] = {at, column.size_bytes(), checksum(bytes, column.size_bytes(), for_each)};
    at = round_up(at + column.size_bytes());
  });
  header.file_bytes = at;
  std::string front(header.header_bytes, '\0');
  std::memcpy(front.data(), &header, sizeof header);
  std::copy(source.path.begin(), source.path.end(), front.begin() + sizeof header);
  header.checksum = header_checksum(front.data(), front.size());
  std::memcpy(front.data(), &header, sizeof header);
  write(front);
  for_each_column(index, [&](const auto& column) {
    write({reinterpret_cast<const char*>(column.data()), column.size_bytes()});
    write(std::string(round_up(column.size_bytes()) - column.size_bytes(), '\0'));
  });
}

LoadedIndex map_index(const std::string& path, Verify verify, const ForEach& for_each) {
  const auto refuse = [&](const std::string& what) {
    throw Failure::input("index '" + path + "' " + what, "make the index again from the sequences");
  };
  const auto file = std::make_shared<MappedFile>(path);
  Header header;
  if (file->bytes() < sizeof header) refuse("is truncated: it has " + std::to_string(file->bytes()) + " bytes");
  std::memcpy(&header, file->data(), sizeof header);
  if (std::string_view(header.magic.data(), header.magic.size()) != index_magic) refuse("is not an index of sluice");
  if (header.version != 1) refuse("is of version " + std::to_string(header.version) + ", and this program reads version 1");
  if (header.header_bytes != round_up(sizeof header + header.source_path_bytes) || header.header_bytes > file->bytes())
    refuse("is truncated or damaged: its header does not fit");
  if (verify != Verify::structure && header_checksum(file->data(), header.header_bytes) != header.checksum)
    refuse("is damaged: the checksum of its header is wrong");
  if (header.file_bytes != file->bytes())
    refuse(std::string(file->bytes() < header.file_bytes ? "is truncated" : "has something behind its end") + ": it has " +
           std::to_string(file->bytes()) + " bytes, not " + std::to_string(header.file_bytes));

  LoadedIndex loaded;
  MinimizerIndexView& view = loaded.index.view;
  view.k = header.k;
  view.w = header.w;
  view.homopolymer_compressed = header.homopolymer_compressed == 1;
  view.home_lines = header.home_lines;
  if (view.k < 1 || view.k > 28 || view.w < 1 || view.w > 255 || header.homopolymer_compressed > 1)
    refuse("is damaged: its parameters are impossible");
  const bool check_all = verify != Verify::large || header.file_bytes <= largest_checked_bytes;
  std::size_t number = 0;
  for_each_column(view, [&](auto& column) {
    using Span = std::remove_reference_t<decltype(column)>;
    const ColumnPlace& place = header.columns[number];
    constexpr std::size_t size = sizeof(typename Span::element_type);
    if (place.begin % alignment != 0 || place.begin > file->bytes() || place.bytes > file->bytes() - place.begin || place.bytes % size != 0)
      refuse("is damaged: a column lies outside of it");
    if (verify != Verify::structure && (check_all || small_column[number]) &&
        checksum(file->data() + place.begin, place.bytes, for_each) != place.checksum)
      refuse("is damaged: a checksum is wrong");
    column = Span(reinterpret_cast<typename Span::pointer>(file->data() + place.begin), place.bytes / size);
    ++number;
  });
  const std::size_t words = view.slots.size();
  const bool table_ends = words % (2 * slots_per_line) == 0 && view.home_lines >= 1 && view.home_lines <= 0xFFFFFFFFU &&
                          words / 2 > view.home_lines * slots_per_line && view.slots[words - 2] == empty_slot;
  if (!table_ends || !contigs_fit(view) || (check_all && !table_fits(view, for_each))) refuse("is damaged: its parts do not fit together");

  loaded.source = {std::string(file->data() + sizeof header, header.source_path_bytes), header.source_bytes, header.source_modified_ns};
  const IndexSource now = source_of(loaded.source.path);
  if (now.bytes != 0 && loaded.source.bytes != 0 && (now.bytes != loaded.source.bytes || now.modified_ns != loaded.source.modified_ns))
    refuse("is stale: '" + loaded.source.path + "' has changed since it was made");
  loaded.index.owner = file;
  return loaded;
}

}  // namespace sluice::minimizer_index
