// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A bigWig file of values at single positions. The format: Kent et al. 2010, "BigWig and BigBed", supplementary tables 5 to 21; version 4, with
// sections of variable step, zlib, and zoom levels.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <sluice/saved_state.hpp>
#include <sluice/spill_file.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace sluice::bedgraph_writer {

struct ContigLength {
  std::string name;
  std::uint32_t bases = 0;
};

// A piece of the file that its index finds: a section of values, or a block of a zoom level.
struct IndexedBlock {
  std::uint32_t contig = 0, begin = 0, end = 0;  // positions from 0, the end is exclusive
  std::uint32_t bytes = 0;
  std::uint64_t place = 0;
};

class BigWig {
 public:
  // `contigs`: all that a value may lie on. Sections wait in a file without a name beside `path`, as the lengths of all indexes stand in front of
  // them.
  BigWig(const std::string& path, std::vector<ContigLength> contigs);

  // Positions ascend within a contig, and a contig's values come one behind the other. Throws Failure (input) else, and for a place that is on no
  // contig.
  void add(std::string_view contig, std::int64_t position, float value);
  // All of the file, in pieces.
  void write(const std::function<void(std::string_view)>& put);

  void save(StateWriter& to) const;
  void restore(StateReader& from);

 private:
  struct Value {
    std::uint32_t position = 0;
    float value = 0;
  };
  // What is known of some positions, as the file has it.
  struct Summary {
    std::uint32_t contig = 0, begin = 0, end = 0, values = 0;
    float least = 0, greatest = 0, sum = 0, sum_of_squares = 0;
  };
  // Summaries of windows of so many bases, those that are full compressed.
  struct ZoomLevel {
    std::uint32_t bases = 0;
    std::vector<Summary> last;  // of the block that is not yet full; the last one may still grow
    std::uint32_t summaries = 0;
    std::string blocks;
    std::vector<IndexedBlock> index;  // places in `blocks`
  };
  struct Totals {
    std::uint64_t values = 0;
    double least = 0, greatest = 0, sum = 0, sum_of_squares = 0;
  };

  void begin_contig(std::string_view name);
  std::uint32_t contig() const { return static_cast<std::uint32_t>(seen_.size()) - 1; }
  std::vector<ContigLength> numbered() const;  // those without values behind the others
  void end_section();
  static void end_block(ZoomLevel& level);
  void add_to(ZoomLevel& level, std::uint32_t position, float value) const;

  // In the file contigs have the numbers in whose order their values came, as its trees are sorted by them.
  std::vector<ContigLength> contigs_;
  std::map<std::string, std::uint32_t, std::less<>> places_;  // in contigs_
  std::unordered_set<std::uint32_t> seen_once_;               // the same as seen_, to be looked up
  std::vector<std::uint32_t> seen_;                           // of these numbers: places in contigs_; the last one is that whose values come
  std::vector<Value> section_;
  SpillFile sections_;
  std::vector<IndexedBlock> index_;  // places in `sections_`
  std::array<ZoomLevel, 10> levels_;
  Totals totals_;
};

}  // namespace sluice::bedgraph_writer
