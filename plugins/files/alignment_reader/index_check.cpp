// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "alignment_reader/index_check.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <sluice/hts/handles.hpp>
#include <unordered_set>

namespace sluice::alignment_reader {
namespace {

constexpr const char* too_short = "ends too early";

// Little-endian numbers, one after the other.
class Numbers {
 public:
  explicit Numbers(std::span<const char> bytes) : rest_(bytes) {}
  template <class T>
  bool take(T& value) {
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return true;
  }
  bool skip(std::size_t bytes) {
    if (rest_.size() < bytes) return false;
    rest_ = rest_.subspan(bytes);
    return true;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<const char> rest_;
};

// Virtual file offsets: the place of a BGZF block << 16 | the place in its text.
struct Chunk {
  std::uint64_t begin = 0, end = 0;
};

// Bins of a level are eight to one of the level above; level 0 is the whole contig.
struct Binning {
  std::int32_t min_shift = 14, depth = 5;  // those of .bai
  std::uint64_t bins() const { return ((std::uint64_t{1} << (3 * (depth + 1))) - 1) / 7; }
  // Not a bin: where the contig's records begin and end, and how many there are.
  std::uint64_t metadata_bin() const { return bins() + 1; }
};

// The windows of the lowest level that a bin stands for, and from where to where its records lie in the file.
struct Bin {
  std::uint64_t first_window = 0, last_window = 0;
  Chunk records;
};

Bin place_of(std::uint64_t bin, const Binning& binning) {
  int level = 0;
  std::uint64_t first = 0;
  while (bin >= first + (std::uint64_t{1} << (3 * level))) first += std::uint64_t{1} << (3 * level++);
  const int below = 3 * (binning.depth - level);
  return {(bin - first) << below, ((bin - first + 1) << below) - 1, {}};
}

class ContigCheck {
 public:
  ContigCheck(const Binning& binning, const IndexedFile& file) : binning_(binning), file_(&file) {}

  // "" or what is wrong. `is_csi`: each bin has a file offset of its own, and no linear index follows.
  const char* read(Numbers& numbers, bool is_csi) {
    std::int32_t count = 0;
    if (!numbers.take(count)) return too_short;
    if (count < 0 || static_cast<std::uint64_t>(count) > binning_.bins() + 1) return "has a contig with an impossible number of bins";
    for (std::int32_t i = 0; i < count; ++i)
      if (const char* problem = read_bin(numbers, is_csi)) return problem;
    if (const char* problem = is_csi ? nullptr : read_linear_index(numbers)) return problem;
    return order_problem();
  }
  // From where to where its records lie.
  const std::optional<Chunk>& extent() const { return extent_; }

 private:
  bool inside(std::uint64_t offset) const { return (offset >> 16U) <= file_->bytes; }

  const char* read_bin(Numbers& numbers, bool is_csi) {
    std::uint32_t number = 0;
    std::uint64_t first_offset = 0;
    std::int32_t count = 0;
    if (!numbers.take(number) || (is_csi && !numbers.take(first_offset)) || !numbers.take(count)) return too_short;
    if (!seen_.insert(number).second) return "has a bin twice";
    if (!inside(first_offset)) return "points behind the end of the file";
    if (count < 0 || static_cast<std::size_t>(count) > numbers.left() / sizeof(Chunk)) return too_short;
    if (number == binning_.metadata_bin()) return read_metadata(numbers, count);
    if (number >= binning_.bins()) return "has a bin that there is none of";
    Bin bin = place_of(number, binning_);
    std::uint64_t last_end = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      Chunk chunk;
      numbers.take(chunk.begin), numbers.take(chunk.end);
      if (chunk.begin > chunk.end || chunk.begin < last_end) return "has chunks that are out of order";
      if (!inside(chunk.end)) return "points behind the end of the file";
      last_end = chunk.end;
      if (i == 0) bin.records.begin = chunk.begin;
      chunks_.push_back(chunk);
    }
    bin.records.end = last_end;
    if (count > 0) bins_.push_back(bin);
    return nullptr;
  }

  const char* read_metadata(Numbers& numbers, std::int32_t chunks) {
    if (chunks != 2) return "has metadata of another size than 2 chunks";
    Chunk extent, counts;
    numbers.take(extent.begin), numbers.take(extent.end), numbers.take(counts.begin), numbers.take(counts.end);
    if (extent.begin > extent.end || !inside(extent.end)) return "has a contig whose records lie outside the file";
    extent_ = extent;
    return nullptr;
  }

  const char* read_linear_index(Numbers& numbers) {
    std::int32_t count = 0;
    if (!numbers.take(count)) return too_short;
    if (count < 0 || static_cast<std::uint64_t>(count) > (std::uint64_t{1} << (3 * binning_.depth)) + 1)
      return "has a linear index of impossible size";
    if (static_cast<std::size_t>(count) > numbers.left() / sizeof(std::uint64_t)) return too_short;
    linear_.resize(static_cast<std::size_t>(count));
    std::uint64_t last = 0;
    for (std::uint64_t& offset : linear_) {
      numbers.take(offset);
      if (offset == 0) continue;  // some programs leave windows without records so
      if (offset < last || !inside(offset)) return "has a linear index that is out of order";
      last = offset;
    }
    return nullptr;
  }

  const char* order_problem() {
    if (extent_ && !bins_.empty()) {
      std::sort(chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) { return a.begin < b.begin; });
      std::uint64_t covered = extent_->begin;
      for (const Chunk& chunk : chunks_) {
        if (chunk.begin > covered) return "leaves records out";
        covered = std::max(covered, chunk.end);
      }
      if (chunks_.front().begin != extent_->begin || covered != extent_->end) return "has chunks that do not cover its contig's records";
      for (const std::uint64_t offset : linear_)
        if (offset != 0 && (offset < extent_->begin || offset > extent_->end)) return "has a linear index that leaves its contig's records";
    }
    for (const Bin& bin : bins_) {
      if (bin.first_window != bin.last_window || linear_.empty()) continue;
      // Its records overlap this window, so the first that does cannot come behind them.
      if (bin.first_window >= linear_.size() || linear_[bin.first_window] > bin.records.begin) return "has a linear index that contradicts its bins";
    }
    // Records are sorted by where they begin, which lies in their bin: so all of a bin come before all of one further right.
    std::sort(bins_.begin(), bins_.end(), [](const Bin& a, const Bin& b) { return a.last_window < b.last_window; });
    std::vector<Bin> by_begin = bins_;
    std::sort(by_begin.begin(), by_begin.end(), [](const Bin& a, const Bin& b) { return a.first_window < b.first_window; });
    std::uint64_t latest_end = 0;
    auto left = bins_.begin();
    for (const Bin& bin : by_begin) {
      for (; left != bins_.end() && left->last_window < bin.first_window; ++left) latest_end = std::max(latest_end, left->records.end);
      if (bin.records.begin < latest_end) return "has bins that are out of order";
    }
    return nullptr;
  }

  Binning binning_;
  const IndexedFile* file_;
  std::unordered_set<std::uint32_t> seen_;
  std::vector<Bin> bins_;
  std::vector<Chunk> chunks_;
  std::vector<std::uint64_t> linear_;
  std::optional<Chunk> extent_;
};

}  // namespace

std::string binning_index_problem(std::span<const char> bytes, const IndexedFile& file) {
  const bool is_csi = bytes.size() >= 4 && std::memcmp(bytes.data(), "CSI\1", 4) == 0;
  if (!is_csi && (bytes.size() < 4 || std::memcmp(bytes.data(), "BAI\1", 4) != 0)) return "is neither a .bai nor a .csi index";
  Numbers numbers(bytes.subspan(4));
  Binning binning;
  if (is_csi) {
    std::int32_t auxiliary = 0;
    if (!numbers.take(binning.min_shift) || !numbers.take(binning.depth) || !numbers.take(auxiliary)) return too_short;
    // Bins are numbered with 32 bits.
    if (binning.min_shift < 1 || binning.min_shift > 30 || binning.depth < 0 || binning.depth > 9) return "has bins of an impossible size";
    if (auxiliary < 0 || !numbers.skip(static_cast<std::size_t>(auxiliary))) return too_short;
  }
  std::int32_t contigs = 0;
  if (!numbers.take(contigs)) return too_short;
  if (contigs < 0 || static_cast<std::size_t>(contigs) != file.contig_lengths.size())
    return "is of " + std::to_string(contigs) + " contigs, and the file has " + std::to_string(file.contig_lengths.size());
  std::uint64_t last_end = 0;
  for (const std::int64_t length : file.contig_lengths) {
    if (is_csi && length > std::int64_t{1} << (binning.min_shift + 3 * binning.depth)) return "does not reach to the end of a contig";
    ContigCheck contig(binning, file);
    if (const char* problem = contig.read(numbers, is_csi)) return problem;
    if (!contig.extent()) continue;
    if (contig.extent()->begin < last_end) return "has contigs that are out of order";
    last_end = contig.extent()->end;
  }
  // The number of records without a contig may follow.
  return numbers.left() == 0 || numbers.left() == sizeof(std::uint64_t) ? "" : "has something behind its end";
}

std::string crai_problem(std::string_view text, const IndexedFile& file) {
  if (text.empty()) return "is empty";
  if (text.back() != '\n') return too_short;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    // Contig (-1: none, -2: several), first base, bases, place of the container in the file, of the slice in it, its bytes.
    std::int64_t fields[6] = {};
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t field_end = std::min(line.find('\t'), line.size());
      const auto parsed = std::from_chars(line.data(), line.data() + field_end, fields[i]);
      if (parsed.ec != std::errc() || parsed.ptr != line.data() + field_end || (i < 5) != (field_end < line.size())) return "has a line that is none";
      line.remove_prefix(std::min(field_end + 1, line.size()));
    }
    if (fields[0] < -2 || fields[0] >= static_cast<std::int64_t>(file.contig_lengths.size())) return "is of other contigs than the file";
    const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(file.bytes, std::numeric_limits<std::int64_t>::max()));
    const auto within = [bytes](std::int64_t value) { return value >= 0 && value <= bytes; };
    if (!within(fields[3]) || !within(fields[4]) || !within(fields[5]) || fields[4] > bytes - fields[3] || fields[5] > bytes - fields[3] - fields[4])
      return "points behind the end of the file";
  }
  return {};
}

std::string index_problem(const std::string& path, const IndexedFile& file) {
  const hts::Bgzf input(bgzf_open(path.c_str(), "r"));
  if (!input) return "cannot be read";
  std::vector<char> bytes;
  std::size_t used = 0;
  while (true) {
    if (bytes.size() - used < (std::size_t{1} << 16)) bytes.resize(bytes.size() * 2 + (std::size_t{1} << 18));
    const ssize_t got = bgzf_read(input.get(), bytes.data() + used, bytes.size() - used);
    if (got < 0) return "cannot be decompressed";
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  if (hts::lacks_end(*input)) return too_short;
  bytes.resize(used);
  if (path.ends_with(".crai")) return crai_problem({bytes.data(), bytes.size()}, file);
  return binning_index_problem(bytes, file);
}

}  // namespace sluice::alignment_reader
