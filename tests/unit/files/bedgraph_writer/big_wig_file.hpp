// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reads a bigWig file back through its trees, as a browser does.

#include <libdeflate.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace big_wig_file {

struct Zoom {
  std::uint32_t contig, begin, end, values;
  float least, greatest, sum, sum_of_squares;
};
struct Contents {
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> contigs;  // number and length
  std::vector<std::tuple<std::string, std::uint32_t, float>> values;       // contig, position, value, in the order of the tree
  std::map<std::uint32_t, std::vector<Zoom>> zooms;                        // by bases of a window
  std::uint64_t covered = 0;
  double least = 0, greatest = 0, sum = 0, sum_of_squares = 0;
};

inline void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("bigWig file: ") + what);
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Contents contents() {
    Contents all;
    require(at<std::uint32_t>(0) == 0x888FFC26 && at<std::uint16_t>(4) == 4 && file_.ends_with("\x26\xFC\x8F\x88"), "no magic");
    const auto levels = at<std::uint16_t>(6);
    const auto names = at<std::uint64_t>(8), data = at<std::uint64_t>(16), index = at<std::uint64_t>(24), totals = at<std::uint64_t>(44);
    room_ = at<std::uint32_t>(52);
    require(at<std::uint32_t>(names) == 0x78CA8C91, "no tree of names");
    key_ = at<std::uint32_t>(names + 8);
    std::vector<std::string> by_number(at<std::uint64_t>(names + 16));
    std::string before;
    name_node(names + 32, [&](const std::string& name, std::uint32_t number, std::uint32_t length) {
      require(before.empty() || before < name, "names that are not sorted");
      by_number.at(number) = before = name;
      all.contigs[name] = {number, length};
    });
    require(all.contigs.size() == by_number.size(), "another number of contigs");

    std::uint64_t sections = 0;
    blocks(index, data + 8, [&](std::string_view bytes, const Place& place) {
      const auto number = [&](std::size_t i) { return of<std::uint32_t>(bytes, i); };
      require(number(0) == place.contig && number(4) == place.begin && number(8) == place.end && number(16) == 1 && bytes[20] == 2,
              "another section");
      const auto count = of<std::uint16_t>(bytes, 22);
      require(bytes.size() == 24 + 8 * std::size_t{count}, "a section of another size");
      for (std::size_t i = 0; i < count; ++i) all.values.emplace_back(by_number.at(place.contig), number(24 + 8 * i), of<float>(bytes, 28 + 8 * i));
      ++sections;
    });
    require(sections == at<std::uint64_t>(data), "another number of sections");
    for (std::size_t level = 0; level < levels; ++level) {
      const std::size_t head = 64 + 24 * level;
      const auto place = at<std::uint64_t>(head + 8);
      std::vector<Zoom>& zooms = all.zooms[at<std::uint32_t>(head)];
      blocks(at<std::uint64_t>(head + 16), place + 4, [&](std::string_view bytes, const Place&) {
        for (std::size_t i = 0; i < bytes.size(); i += sizeof(Zoom)) zooms.push_back(of<Zoom>(bytes, i));
      });
      require(zooms.size() == at<std::uint32_t>(place), "another number of summaries");
    }
    all.covered = at<std::uint64_t>(totals);
    all.least = at<double>(totals + 8), all.greatest = at<double>(totals + 16), all.sum = at<double>(totals + 24);
    all.sum_of_squares = at<double>(totals + 32);
    return all;
  }

 private:
  struct Place {
    std::uint32_t contig, begin, last_contig, end;
    bool holds(const Place& other) const {
      return std::tie(contig, begin) <= std::tie(other.contig, other.begin) && std::tie(other.last_contig, other.end) <= std::tie(last_contig, end);
    }
  };
  template <class T>
  static T of(std::string_view bytes, std::size_t place) {
    require(place + sizeof(T) <= bytes.size(), "ends early");
    T value;
    std::memcpy(&value, bytes.data() + place, sizeof value);
    return value;
  }
  template <class T>
  T at(std::size_t place) const {
    return of<T>(file_, place);
  }
  void name_node(std::size_t node, const std::function<void(const std::string&, std::uint32_t, std::uint32_t)>& use) const {
    for (std::size_t i = 0; i < at<std::uint16_t>(node + 2); ++i) {
      const std::size_t item = node + 4 + i * (key_ + 8);
      if (file_[node] == 0) {
        name_node(at<std::uint64_t>(item + key_), use);
        continue;
      }
      const std::string_view name = file_.substr(item, key_);
      use(std::string(name.substr(0, name.find('\0'))), at<std::uint32_t>(item + key_), at<std::uint32_t>(item + key_ + 4));
    }
  }
  // Blocks follow each other from `begin` on, up to the index.
  void blocks(std::size_t index, std::size_t begin, const std::function<void(std::string_view, const Place&)>& use) {
    require(at<std::uint32_t>(index) == 0x2468ACE0 && at<std::uint64_t>(index + 32) == index, "no tree of places");
    next_ = begin;
    const std::size_t before = blocks_ = 0;
    place_node(index + 48, at<Place>(index + 16), use);
    require(next_ == index && before + blocks_ == at<std::uint64_t>(index + 8), "another number of blocks");
  }
  void place_node(std::size_t node, const Place& bounds, const std::function<void(std::string_view, const Place&)>& use) {
    const bool is_leaf = file_[node] == 1;
    for (std::size_t i = 0; i < at<std::uint16_t>(node + 2); ++i) {
      const std::size_t item = node + 4 + i * (is_leaf ? 32 : 24);
      const Place place = at<Place>(item);
      require(bounds.holds(place), "a child outside of its node");
      if (!is_leaf) {
        place_node(at<std::uint64_t>(item + 16), place, use);
        continue;
      }
      const auto bytes = at<std::uint64_t>(item + 24);
      require(at<std::uint64_t>(item + 16) == next_, "a block that does not follow the one before");
      std::string text(room_, '\0');
      std::size_t size = 0;
      libdeflate_decompressor* const inflater = libdeflate_alloc_decompressor();
      const auto result = libdeflate_zlib_decompress(inflater, file_.data() + next_, bytes, text.data(), text.size(), &size);
      libdeflate_free_decompressor(inflater);
      require(result == LIBDEFLATE_SUCCESS, "a block that zlib does not read");
      next_ += bytes;
      ++blocks_;
      use(std::string_view(text).substr(0, size), place);
    }
  }

  std::string_view file_;
  std::size_t room_ = 0, key_ = 0, next_ = 0, blocks_ = 0;
};

}  // namespace big_wig_file
