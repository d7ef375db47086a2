// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_index/minimap2_index.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sluice/failure.hpp>
#include <unordered_set>

namespace sluice::minimizer_index {
namespace {

constexpr std::uint32_t flag_homopolymers = 1, flag_no_bases = 2, flag_no_names = 4;
constexpr std::size_t minimizers_per_part = 65536;
constexpr std::size_t read_at_once = 4096;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class Reader {
 public:
  Reader(const std::string& path, const SketchKernels& kernels) : path_(path), kernels_(kernels), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) throw Failure::input("cannot open index '" + path + "': " + std::strerror(errno), "check the path");
  }

  Minimap2Index read() {
    std::array<char, 4> magic{};
    bool first = true;
    while (true) {
      const std::size_t got = std::fread(magic.data(), 1, magic.size(), file_.get());
      if (got == 0 && !first) break;
      if (got != magic.size() || std::string_view(magic.data(), 3) != "MMI")
        refuse("is not an index of minimap2, or holds something else behind a part");
      if (magic[3] != minimap2_magic[3]) refuse("is of version " + std::to_string(magic[3]) + ", and this program reads version 2");
      read_part(first);
      first = false;
    }
    index_.reference.finish();
    return std::move(index_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Failure::input("minimap2 index '" + path_ + "' " + what, "make it again with `minimap2 -d`, or give the sequences themselves");
  }
  template <class T>
  T take() {
    T value;
    if (std::fread(&value, sizeof value, 1, file_.get()) != 1) refuse("is truncated");
    return value;
  }
  // Grows as the file yields, so that a made-up count does not take memory.
  template <class T>
  void take(std::uint64_t count, std::vector<T>& values) {
    values.clear();
    while (values.size() < count) {
      const std::size_t at = values.size(), more = std::min<std::uint64_t>(read_at_once, count - at);
      values.resize(at + more);
      if (std::fread(values.data() + at, sizeof(T), more, file_.get()) != more) refuse("is truncated");
    }
  }

  void read_part(bool first) {
    const auto numbers = take<std::array<std::uint32_t, 5>>();
    const auto [w, k, bits, sequences, flags] = numbers;
    if (k < 1 || k > 28 || w < 1 || w > 255 || bits > 2 * k || bits > 30) refuse("has impossible parameters");
    if ((flags & flag_no_names) != 0) refuse("has no names of sequences");
    const SketchParameters parameters{k, w, (flags & flag_homopolymers) != 0 ? HomopolymerCompression::on : HomopolymerCompression::off};
    if (first)
      index_.parameters = parameters;
    else if (k != index_.parameters.k || w != index_.parameters.w || parameters.homopolymers != index_.parameters.homopolymers)
      refuse("has parts with different parameters");
    std::vector<std::pair<std::string, std::int32_t>> contigs;
    for (std::uint32_t i = 0; i < sequences; ++i) {
      std::vector<char> name;
      take(take<std::uint8_t>(), name);
      const auto length = take<std::uint32_t>();
      if (length > 0x7FFFFFFFU) refuse("has a sequence of 2^31 bases or more");
      contigs.emplace_back(std::string(name.begin(), name.end()), static_cast<std::int32_t>(length));
      if (!names_.insert(contigs.back().first).second) refuse("has two sequences named '" + contigs.back().first + "'");
    }
    read_buckets(bits, k, contigs);
    if ((flags & flag_no_bases) != 0) {
      for (const auto& [name, length] : contigs) index_.reference.add_contig_without_bases(name, length);
    } else {
      read_bases(contigs);
    }
    first_contig_ += sequences;
  }

  void read_buckets(std::uint32_t bits, std::uint32_t k, const std::vector<std::pair<std::string, std::int32_t>>& contigs) {
    std::vector<std::uint64_t> lists, pairs;
    const auto put = [&](std::uint64_t hash, std::uint64_t position) {
      const std::uint64_t contig = position >> 32;
      if (contig >= contigs.size() || (position & 0xFFFFFFFFU) >> 1 >= static_cast<std::uint64_t>(contigs[contig].second))
        refuse("has a minimizer outside of its sequences");
      if (index_.minimizers.empty() || index_.minimizers.back().size() >= minimizers_per_part) index_.minimizers.emplace_back();
      index_.minimizers.back().push_back({hash, position + (first_contig_ << 32)});
    };
    for (std::uint64_t bucket = 0; bucket < std::uint64_t{1} << bits; ++bucket) {
      const auto positions = take<std::int32_t>();
      if (positions < 0) refuse("is damaged: a list of minimizers has a negative length");
      take(static_cast<std::uint64_t>(positions), lists);
      take(std::uint64_t{2} * take<std::uint32_t>(), pairs);
      for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const std::uint64_t hash = pairs[i] >> 1 << bits | bucket;
        if (hash >> 2 * k != 0) refuse("is damaged: a minimizer has more than k bases");
        if ((pairs[i] & 1) != 0) {
          put(hash, pairs[i + 1]);
          continue;
        }
        const std::uint64_t begin = pairs[i + 1] >> 32, count = pairs[i + 1] & 0xFFFFFFFFU;
        if (begin + count > lists.size()) refuse("is damaged: a minimizer's list lies outside of its bucket");
        for (std::uint64_t n = 0; n < count; ++n) put(hash, lists[begin + n]);
      }
    }
  }

  // Bases of 4 bits, those of all contigs without gaps.
  void read_bases(const std::vector<std::pair<std::string, std::int32_t>>& contigs) {
    std::uint64_t total = 0;
    for (const auto& [name, length] : contigs) total += static_cast<std::uint64_t>(length);
    std::vector<std::uint32_t> words;
    std::uint64_t place = 0, words_read = 0;
    std::string letters;
    for (const auto& [name, length] : contigs) {
      index_.reference.begin_contig(name);
      for (std::int32_t i = 0; i < length; ++i, ++place) {
        if (place / 8 == words_read) {
          take(std::min<std::uint64_t>(read_at_once, (total + 7) / 8 - words_read), words);
          words_read += words.size();
        }
        letters += "ACGTN"[std::min(words[words.size() - (words_read - place / 8)] >> 4 * (place % 8) & 0xFU, 4U)];
        if (letters.size() == 8 * read_at_once || i + 1 == length) {
          index_.reference.add_bases(letters, kernels_);
          letters.clear();
        }
      }
      index_.reference.end_contig(kernels_);
    }
  }

  std::string path_;
  SketchKernels kernels_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  Minimap2Index index_;
  std::unordered_set<std::string> names_;
  std::uint64_t first_contig_ = 0;
};

}  // namespace

MinimizerParts Minimap2Index::parts() const {
  MinimizerParts parts;
  parts.count = minimizers.size();
  for (const auto& part : minimizers) parts.expected += static_cast<double>(part.size());
  parts.make = [this](std::size_t part, std::vector<PlacedMinimizer>& out) {
    out.insert(out.end(), minimizers[part].begin(), minimizers[part].end());
  };
  return parts;
}

Minimap2Index read_minimap2_index(const std::string& path, const SketchKernels& kernels) { return Reader(path, kernels).read(); }

}  // namespace sluice::minimizer_index
