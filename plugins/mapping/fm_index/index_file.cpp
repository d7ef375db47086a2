// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fm_index/index_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sluice/failure.hpp>
#include <vector>

namespace sluice::fm_index {
namespace {

static_assert(std::endian::native == std::endian::little, "index files are little-endian");

constexpr std::uint32_t format_version = 1;
constexpr std::uint64_t alignment = 64;
constexpr std::size_t piece_bytes = std::size_t{4} << 20;

struct ColumnPlace {
  std::uint64_t begin, bytes, checksum;
};
struct Header {
  char magic[8];
  std::uint32_t version, header_bytes, k, sample_interval;
  std::uint64_t text_length, first_suffix_row, file_bytes, source_bytes;
  std::int64_t source_modified_ns;
  std::uint64_t source_path_bytes;
  ColumnPlace columns[column_count];
  std::uint64_t checksum;  // of the header and the path behind it, with 0 here
};
static_assert(sizeof(Header) == 8 + 4 * 4 + 6 * 8 + column_count * 24 + 8);

constexpr std::array<std::size_t, column_count> element_bytes = {8, 1, 8, 8, 8, 4, 8, 8, 4, 8, 4, 4};
// The others say how much there is of these, or are small.
bool is_large(std::size_t column) { return column >= static_cast<std::size_t>(Column::packed_text); }

std::uint64_t round_up(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Four sums side by side, so that multiplications overlap; a change of one word always changes its sum, because each step can be undone.
std::uint64_t sum_of(const char* bytes, std::size_t count) {
  constexpr std::uint64_t odd = 0xD6E8FEB86659FD93U;
  std::uint64_t sums[4] = {1, 2, 3, 4};
  const auto add = [&](const char* from) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + 8 * lane, 8);
      sums[lane] = (std::rotl(sums[lane], 23) ^ word) * odd;
    }
  };
  std::size_t at = 0;
  for (; at + 32 <= count; at += 32) add(bytes + at);
  char rest[32] = {};
  if (at < count) std::memcpy(rest, bytes + at, count - at);
  add(rest);
  std::uint64_t sum = count;
  for (const std::uint64_t lane : sums) sum = (std::rotl(sum, 31) ^ lane) * odd;
  return sum ^ sum >> 32;
}

std::uint64_t checksum(const char* bytes, std::size_t count, const ParallelFor& parallel_for) {
  std::vector<std::uint64_t> sums((count + piece_bytes - 1) / piece_bytes);
  parallel_for(sums.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) sums[i] = sum_of(bytes + i * piece_bytes, std::min(piece_bytes, count - i * piece_bytes));
  });
  return sum_of(reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(std::uint64_t)) ^ count;
}

std::uint64_t header_checksum(std::string bytes) {
  std::memset(bytes.data() + offsetof(Header, checksum), 0, sizeof(std::uint64_t));
  return sum_of(bytes.data(), bytes.size());
}

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw Failure::input("cannot open index '" + path + "': " + std::strerror(errno), "check the path");
    struct stat status {};
    if (fstat(file, &status) == 0) bytes_ = static_cast<std::size_t>(status.st_size);
    if (bytes_ > 0) memory_ = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
    const int error = errno;
    close(file);
    if (memory_ == MAP_FAILED)
      throw Failure::input("cannot map index '" + path + "' into memory: " + std::strerror(error), "check that it is a file");
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (memory_ != nullptr && memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  const char* data() const { return static_cast<const char*>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

bool ascends(std::span<const std::int64_t> values) { return std::is_sorted(values.begin(), values.end()); }

bool small_columns_fit(const FmIndexView& v) {
  if (v.contig_name_begin.front() != 0 || !ascends(v.contig_name_begin)) return false;
  if (v.contig_name_begin.back() != static_cast<std::int64_t>(v.contig_name_bytes.size())) return false;
  if (v.contig_begin.front() != 0 || !ascends(v.contig_begin)) return false;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < v.ambiguous_begin.size(); ++i) {
    if (v.ambiguous_begin[i] <= last || v.ambiguous_end[i] <= v.ambiguous_begin[i] || v.ambiguous_end[i] > v.contig_begin.back()) return false;
    last = v.ambiguous_begin[i];
  }
  if (v.symbol_row[0] != 1) return false;
  return std::is_sorted(v.symbol_row.begin(), v.symbol_row.end());
}

// Whether all rows, places and ranks exist and counts are those of the bits, so that no search can leave the columns whatever wrote them.
bool large_columns_fit(const FmIndexView& v, const ParallelFor& parallel_for) {
  std::atomic<bool> fits = true;
  const auto check = [&](std::size_t count, const auto& is_fine) {
    parallel_for(count, std::size_t{1} << 18, [&](std::size_t begin, std::size_t end) {
      bool fine = true;
      for (std::size_t i = begin; i < end; ++i) fine &= is_fine(i);
      if (!fine) fits = false;
    });
  };
  const std::uint64_t rows = v.tables.text_length + 1;
  check(v.suffixes.size(), [&](std::size_t i) { return v.suffixes[i] < rows; });
  check(v.kmer_rows.size() - 1, [&](std::size_t i) { return v.kmer_rows[i] < v.kmer_rows[i + 1]; });
  constexpr std::size_t rank_words = FmIndexTables::kmers_per_rank / 64;
  check(v.kmer_ranks.size() - 1, [&](std::size_t i) {
    std::uint64_t set = v.kmer_ranks[i];
    for (std::size_t word = 0; word < rank_words; ++word) set += detail::set_bits(v.kmer_present[i * rank_words + word]);
    return set == v.kmer_ranks[i + 1];
  });
  constexpr std::size_t words = FmIndexTables::words_per_block;
  const auto counts = [&](std::size_t i) {
    const std::uint64_t* block = v.blocks.data() + i * words;
    return std::array<std::uint64_t, 4>{block[0] & 0xFFFFFFFFU, block[0] >> 32, block[1] & 0xFFFFFFFFU, block[1] >> 32};
  };
  check(v.blocks.size() / words - 1, [&](std::size_t i) {
    const std::uint64_t* block = v.blocks.data() + i * words;
    std::array<std::uint64_t, 4> next = counts(i);
    for (std::size_t word = 0; word < 3; ++word) {
      const std::uint64_t low = block[2 + word], high = block[5 + word];
      next[0] += detail::set_bits(~low & ~high), next[1] += detail::set_bits(low & ~high);
      next[2] += detail::set_bits(~low & high), next[3] += detail::set_bits(low & high);
    }
    return next == counts(i + 1);
  });
  if (v.kmer_ranks[0] != 0 || v.kmer_rows.front() < 1 || counts(0) != std::array<std::uint64_t, 4>{} || !fits) return false;
  // The sums of all symbols have to be what symbol_row says.
  for (std::uint32_t symbol = 0; symbol < 4; ++symbol)
    if (v.tables.occurrences_before(symbol, rows) != v.symbol_row[symbol + 1] - v.symbol_row[symbol]) return false;
  return true;
}

}  // namespace

IndexSource source_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {path, 0, 0};
  return {path, static_cast<std::uint64_t>(status.st_size), std::int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec};
}

void write_index(const FmIndex& index, const IndexSource& source, const ParallelFor& parallel_for,
                 const std::function<void(std::string_view)>& write) {
  Header header{};
  std::copy(index_magic.begin(), index_magic.end(), header.magic);
  header.version = format_version;
  header.header_bytes = static_cast<std::uint32_t>(round_up(sizeof header + source.path.size()));
  header.k = index.k;
  header.sample_interval = index.sample_interval;
  header.text_length = index.text_length;
  header.first_suffix_row = index.first_suffix_row;
  header.source_path_bytes = source.path.size();
  header.source_bytes = source.bytes;
  header.source_modified_ns = source.modified_ns;
  std::uint64_t at = header.header_bytes;
  for (std::size_t i = 0; i < column_count; ++i) {
    const Buffer& column = index.columns[i];
    header.columns[i] = {at, column.bytes(), checksum(static_cast<const char*>(column.data()), column.bytes(), parallel_for)};
    at = round_up(at + column.bytes());
  }
  header.file_bytes = at;
  std::string front(header.header_bytes, '\0');
  std::memcpy(front.data(), &header, sizeof header);
  std::copy(source.path.begin(), source.path.end(), front.begin() + sizeof header);
  header.checksum = header_checksum(front);
  std::memcpy(front.data(), &header, sizeof header);
  write(front);
  for (const Buffer& column : index.columns) {
    write({static_cast<const char*>(column.data()), column.bytes()});
    write(std::string(round_up(column.bytes()) - column.bytes(), '\0'));
  }
}

LoadedIndex map_index(const std::string& path, Verify verify, const ParallelFor& parallel_for) {
  const auto refuse = [&](const std::string& what) {
    throw Failure::input("index '" + path + "' " + what, "make the index again from the sequences");
  };
  const auto file = std::make_shared<MappedFile>(path);
  Header header;
  if (file->bytes() < sizeof header) refuse("is truncated: it has " + std::to_string(file->bytes()) + " bytes");
  std::memcpy(&header, file->data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != index_magic) refuse("is not an FM-index of sluice");
  if (header.version != format_version)
    refuse("is of version " + std::to_string(header.version) + ", and this program reads version " + std::to_string(format_version));
  if (header.source_path_bytes > file->bytes() || header.header_bytes != round_up(sizeof header + header.source_path_bytes) ||
      header.header_bytes > file->bytes())
    refuse("is truncated or damaged: its header does not fit");
  if (verify != Verify::structure && header_checksum(std::string(file->data(), header.header_bytes)) != header.checksum)
    refuse("is damaged: the checksum of its header is wrong");
  if (header.file_bytes != file->bytes())
    refuse("is truncated: it has " + std::to_string(file->bytes()) + " bytes of " + std::to_string(header.file_bytes));

  LoadedIndex loaded;
  loaded.index.text_length = header.text_length;
  loaded.index.first_suffix_row = header.first_suffix_row;
  loaded.index.k = header.k;
  loaded.index.sample_interval = header.sample_interval;
  const bool check_all = verify != Verify::large || header.file_bytes <= largest_checked_bytes;
  for (std::size_t i = 0; i < column_count; ++i) {
    const ColumnPlace& place = header.columns[i];
    if (place.begin % alignment != 0 || place.begin > file->bytes() || place.bytes > file->bytes() - place.begin ||
        place.bytes % element_bytes[i] != 0)
      refuse("is damaged: a column lies outside of it");
    if (verify != Verify::structure && (check_all || !is_large(i)) &&
        checksum(file->data() + place.begin, place.bytes, parallel_for) != place.checksum)
      refuse("is damaged: a checksum is wrong");
    loaded.index.columns[i] = Buffer::adopt(file, file->data() + place.begin, place.bytes);
  }
  FmIndexView view;
  const bool counts_fit = header.k >= 5 && header.k <= 16 && header.sample_interval >= 1 && header.text_length >= 1 &&
                          header.text_length <= max_fm_text && !loaded.index[Column::kmer_rank].as<std::uint32_t>().empty() &&
                          !loaded.index[Column::kmer_row].as<std::uint32_t>().empty() &&
                          !loaded.index[Column::contig_begin].as<std::int64_t>().empty();
  if (!counts_fit || !loaded.index.connect(view) || !small_columns_fit(view) || (check_all && !large_columns_fit(view, parallel_for)))
    refuse("is damaged: its parts do not fit together");
  loaded.source = {std::string(file->data() + sizeof header, header.source_path_bytes), header.source_bytes, header.source_modified_ns};
  const IndexSource now = source_of(loaded.source.path);
  if (now.bytes != 0 && loaded.source.bytes != 0 && (now.bytes != loaded.source.bytes || now.modified_ns != loaded.source.modified_ns))
    refuse("is stale: '" + loaded.source.path + "' has changed since it was made");
  return loaded;
}

}  // namespace sluice::fm_index
