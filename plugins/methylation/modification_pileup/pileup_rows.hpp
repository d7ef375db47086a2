// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From counts of states to the rows of a table: one for each position, strand and modification.

#include <array>
#include <cstdint>
#include <limits>
#include <sluice/motif.hpp>
#include <sluice/region_table.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "modification_pileup/pileup_tiles.hpp"

namespace sluice::modification_pileup {

// Reads in each class, as modkit's documentation of its bedMethyl defines them.
struct PileupRow {
  std::int64_t position = 0;
  char strand = '+';  // '.': both
  std::uint8_t base = 0;
  ModificationCode code = 0;
  std::uint32_t partition = 0;
  std::uint8_t motif = 0;  // which of RowRules::motifs
  std::uint32_t modified = 0, canonical = 0, other_modified = 0, deleted = 0, failed = 0, different = 0, no_call = 0;
};

enum class Sites : std::uint8_t {
  all,              // wherever a read has a call that passes
  reference_bases,  // only where the reference has the canonical base
  motifs,           // only at the modified bases of motifs of the reference: at C of CpG, say
};
enum class Strands : std::uint8_t { apart, combined };

struct RowRules {
  Sites sites = Sites::all;
  Strands strands = Strands::apart;  // combined: both strands of a site together, at its modified base on the forward strand; with Sites::motifs only
  std::vector<Motif> motifs = {};    // of Sites::motifs; their own reverse complements if strands are combined
  bool combine_codes = false;        // all modifications of a base together, under the code for any of them: the base's letter

  // Of combined strands: how much further a motif's modified base is on the reverse strand.
  std::int64_t apart(std::size_t motif) const {
    return strands == Strands::combined ? std::int64_t{motifs[motif].reverse.modified} - motifs[motif].forward.modified : 0;
  }
  // The rows of a tile are at its positions moved by so many, so that what pairs with them is in the tile or behind it: ...
  std::int64_t offset() const;
  // ... not further than this.
  std::int64_t reach() const;
};

// What stands behind the code where rows of several motifs are told apart, as modkit has it: "GATC,1".
std::string motif_label(const Motif& motif);

// Where rows are made: a contig's letters (may be empty with Sites::all) and the positions that are wanted.
struct ContigRange {
  std::string_view name, bases;
  const RegionIndex* included = nullptr;  // only positions in these regions, on their strands; of combined strands on any. nullptr: all
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
};

// Which slots make up which numbers; to be made again when the table has grown.
class RowMaker {
 public:
  RowMaker(const SlotTable& table, RowRules rules);
  // Appends the rows of a tile, by position, strand, modification (as text), motif, canonical base and partition (as text). `next`: the tile behind
  // it, which combined strands need for their last positions; nullptr: there is none. Rows of combined strands may lie in the tile behind.
  void append_rows(std::int64_t number, const Tile& tile, const Tile* next, const ContigRange& range, std::vector<PileupRow>& rows) const;

 private:
  using Numbers = std::array<std::uint32_t, static_cast<std::size_t>(tile_positions)>;
  struct Code {
    ModificationCode code;
    std::vector<std::uint32_t> modified, looked_for;  // slots
  };
  struct Base {
    std::vector<std::uint32_t> canonical, modified, failed, no_call;
    std::vector<Code> codes;
  };
  // Rows of one strand and partition.
  struct Group {
    std::uint32_t partition;
    char strand;
    std::vector<std::uint32_t> deleted, other;
    std::array<Base, base_count> bases;
  };
  struct View;
  bool is_site(std::int64_t position, char strand, std::uint8_t base, std::size_t motif, std::string_view bases) const;
  void append_group(const Group& group, const View& view, const ContigRange& range, std::vector<PileupRow>& rows) const;

  const SlotTable* table_;
  RowRules rules_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> partition_rank_;
};

}  // namespace sluice::modification_pileup
