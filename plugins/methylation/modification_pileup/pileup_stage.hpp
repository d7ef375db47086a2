// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Regroup: counts what all reads say at each position, and gives a row for each position, strand and modification.

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <sluice/hts/region_file.hpp>
#include <sluice/motif.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/region.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <sluice/work_sharing.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "modification_pileup/pileup_rows.hpp"
#include "modification_pileup/pileup_tiles.hpp"

namespace sluice::modification_pileup {

class ModificationPileup {
 public:
  struct Parameters {
    std::string region;
    bool cpg = false;
    std::string motif;
    std::optional<Path> include_bed;
    bool combine_mods = false;
    bool combine_strands = false;
    bool reference_bases = false;
    bool any_order = false;
  };
  static void describe(Describe<ModificationPileup>& d) {
    d.id("modification_pileup").summary("counts of base modifications at each position of the reference, over all reads");
    d.doc(
        "A row for each position, strand and modification where at least one call passes, with the classes of modkit's bedMethyl: modified, "
        "canonical, other modification, deletion, failed, different base, no call. Reads come sorted by position, and positions that no later read "
        "can reach are given at once: memory is what the reads cover that overlap one place. With any_order they may come in any order, and all "
        "positions are kept to the end.");
    d.regroup("read", "pileup").rows_are("site").work_unit("base").sums();
    d.needs("read_id", "utf8", "name of the read").needs("contig", "utf8", "reference sequence it aligns to");
    d.needs("ref_start", "i64", "first aligned position on the contig, 0-based").needs("is_reverse", "u8", "1: aligned to the reverse strand");
    d.needs("block_start", "list<i64>", "see modification_calls").needs("block_length", "list<i64>", "see modification_calls");
    d.needs("base_state", "list<u8>", "see modification_calls").needs("opposite_state", "list<u8>", "see modification_calls");
    d.needs("call_kinds", "list<i32>", "see modification_calls").needs("partition", "utf8", "what reads are told apart by", Needed::optional);
    d.gives("contig", "utf8", "name of the reference sequence").gives("position", "i64", "0-based, on the forward strand");
    d.gives("strand", "utf8", "+ or -; . for both together").gives("modification", "utf8", "its code: a letter or a ChEBI number");
    d.gives("modified", "i64", "reads with a call of this modification").gives("canonical", "i64", "reads with a call of the canonical base");
    d.gives("other_modified", "i64", "reads with a call of another modification of the same base");
    d.gives("deleted", "i64", "reads that lack the position").gives("failed", "i64", "reads whose call is less probable than the threshold");
    d.gives("different", "i64", "reads with another base").gives("no_call", "i64", "reads with the canonical base, but no call");
    d.gives("partition", "utf8", "which reads were counted; empty for all");
    d.uses("reference", "contig", "the sequences that the reads are aligned to; for cpg, motif and reference_bases", Needed::optional);
    d.option("region", &Parameters::region, "only positions in contig or contig:first-last (from 1, both inclusive)");
    d.option("cpg", &Parameters::cpg, "only modifications of C at CpGs of the reference");
    d.option("motif", &Parameters::motif,
             "only modifications of this motif's base, where the reference has the motif: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE; several with "
             "commas between them: a row for each, named behind the code as in m,CG,0");
    d.option("include_bed", &Parameters::include_bed, "only positions in regions of this BED file, on their strands; .gz allowed").reads();
    d.option("combine_mods", &Parameters::combine_mods, "count all modifications of a base together, under the code for any of them: C, A, ...");
    d.option("combine_strands", &Parameters::combine_strands,
             "with cpg or motif: one row for both strands of a site, at the modified base of the forward strand");
    d.option("reference_bases", &Parameters::reference_bases, "only where the reference has the base that is modified");
    d.option("any_order", &Parameters::any_order, "the reads are not sorted by position: keep everything to the end");
  }
  static void check_parameters(const Parameters& p) {
    RegionText{p.region};
    const std::vector<Motif> motifs = motifs_of(p);
    const bool is_paired = !motifs.empty() && std::all_of(motifs.begin(), motifs.end(), [](const Motif& motif) { return motif.is_palindrome(); });
    if (p.combine_strands && !is_paired)
      throw Failure::usage("combine_strands is for CpGs, or for a motif that is its own reverse complement, whose strands pair",
                           "give cpg or motif, too");
  }

  ModificationPileup(const Setup& setup, const Parameters& p)
      : region_(p.region),
        rules_{.sites = p.cpg || !p.motif.empty() ? Sites::motifs
                        : p.reference_bases       ? Sites::reference_bases
                                                  : Sites::all,
               .strands = p.combine_strands ? Strands::combined : Strands::apart,
               .motifs = motifs_of(p),
               .combine_codes = p.combine_mods},
        any_order_(p.any_order),
        has_partition_(setup.available("partition")) {
    if (rules_.sites != Sites::all && !setup.has_resource("reference"))
      throw Failure::usage(std::string(p.cpg              ? "cpg"
                                       : !p.motif.empty() ? "motif"
                                                          : "reference_bases") +
                               " needs to know the reference",
                           "give the reference");
    if (p.include_bed && !p.include_bed->empty()) included_.emplace(merged_regions(hts::read_region_table(setup, *p.include_bed)));
    // Positions are given when no later read of this run reaches them, but one of another part may.
    if (setup.parts() > 1 && !any_order_) throw parts_need_any_order();
    if (setup.has_resource("reference")) {
      const ReferenceText& text = reference_text_.emplace(setup.resource("reference"));
      for (std::int64_t row = 0; row < text.contigs(); ++row)
        reference_.emplace(text.name(row), text.bases(row)), reference_places_.emplace(text.name(row), row);
    }
    if (setup.saved().size() > 1 && !any_order_) throw parts_need_any_order();
    resume(setup, [this](StateReader& from) { restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const Columns columns(in, has_partition_);
    std::vector<ReadStates> reads;
    for (std::int64_t row = 0; row < in.rows();) {
      if (!in.ok(row)) {
        ++row;
        continue;
      }
      Contig& contig = enter(columns, row, call, out);
      reads.clear();
      for (; row < in.rows(); ++row) {
        if (!in.ok(row)) continue;
        if (columns.contig[row] != contig.name) break;
        check_order(columns, row, contig);
        reads.push_back(columns.states(row));
      }
      count(call, reads, contig);
      if (!any_order_) give(call, contig, contig.latest_start, out);
    }
    if (!any_order_ || ++batches_ % 64 == 0) call.keeps(memory_bytes());
  }

  void finish(const Call& call, Output& out) {
    // Of reads in any order the contigs come in that of the reference, where there is one.
    std::vector<std::size_t> order(contigs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto place = [&](std::size_t contig) {
      const auto known = reference_places_.find(contigs_[contig].name);
      return known == reference_places_.end() ? std::numeric_limits<std::int64_t>::max() : known->second;
    };
    if (any_order_) std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    for (const std::size_t contig : order) give(call, contigs_[contig], std::numeric_limits<std::int64_t>::max(), out);
    call.count("rows", static_cast<double>(rows_given_));
  }

  void save(const Call&, StateWriter& to) const {
    table_.save(to);
    to.value(rows_given_);
    to.value(std::uint64_t{contigs_.size()});
    for (const Contig& contig : contigs_) {
      to.text(contig.name);
      to.value(contig.latest_start);
      to.value(contig.first_left);
      to.value(std::uint64_t{contig.tiles.size()});
      for (const auto& [number, tile] : contig.tiles) {
        to.value(number);
        tile.save(to);
      }
    }
  }

 private:
  static constexpr std::size_t most_motifs = 200;
  struct Contig {
    std::string name;
    std::string_view bases;
    Tiles tiles;
    std::int64_t latest_start = 0, first_left = 0;  // reads begin there or later; tiles before have been given
  };
  struct Columns {
    Columns(const Batch& in, bool has_partition)
        : read_id(in.text("read_id")),
          contig(in.text("contig")),
          partition(in.text(has_partition ? "partition" : "contig")),
          ref_start(in.column<std::int64_t>("ref_start")),
          is_reverse(in.column<std::uint8_t>("is_reverse")),
          block_start(in.list<std::int64_t>("block_start")),
          block_length(in.list<std::int64_t>("block_length")),
          base(in.list<std::uint8_t>("base_state")),
          opposite(in.list<std::uint8_t>("opposite_state")),
          kinds(in.list<std::int32_t>("call_kinds")),
          has_partition(has_partition) {}
    ReadStates states(std::int64_t row) const {
      return {.strand = is_reverse[static_cast<std::size_t>(row)] != 0 ? Strand::reverse : Strand::forward,
              .partition = has_partition ? partition[row] : std::string_view(),
              .block_start = block_start[row],
              .block_length = block_length[row],
              .base = base[row],
              .opposite = opposite[row],
              .kinds = kinds[row]};
    }
    TextView read_id, contig, partition;
    std::span<const std::int64_t> ref_start;
    std::span<const std::uint8_t> is_reverse;
    ListView<std::int64_t> block_start, block_length;
    ListView<std::uint8_t> base, opposite;
    ListView<std::int32_t> kinds;
    bool has_partition;
  };

  // By letters and place, as rows are sorted.
  static std::vector<Motif> motifs_of(const Parameters& p) {
    std::vector<Motif> motifs;
    if (p.cpg) motifs.push_back(parse_motif("cpg"));
    for (std::size_t begin = 0; !p.motif.empty() && begin <= p.motif.size();) {
      const std::size_t end = std::min(p.motif.find(',', begin), p.motif.size());
      motifs.push_back(parse_motif(p.motif.substr(begin, end - begin), MotifOverlap::allowed));
      begin = end + 1;
    }
    std::sort(motifs.begin(), motifs.end(), [](const Motif& a, const Motif& b) { return motif_label(a) < motif_label(b); });
    const auto same = [](const Motif& a, const Motif& b) { return motif_label(a) == motif_label(b); };
    if (const auto twice = std::adjacent_find(motifs.begin(), motifs.end(), same); twice != motifs.end())
      throw Failure::usage("motif " + motif_label(*twice) + " is given twice", "give each motif once");
    if (motifs.size() > most_motifs)
      throw Failure::usage("there are " + std::to_string(motifs.size()) + " motifs, and " + std::to_string(most_motifs) + " are the most", "");
    return motifs;
  }

  // The contig of a row. What is left of the one before is given.
  Contig& enter(const Columns& columns, std::int64_t row, const Call& call, Output& out) {
    const std::string_view name = columns.contig[row];
    if (!contigs_.empty() && contigs_.back().name == name) return contigs_.back();
    if (const auto known = contig_indices_.find(std::string(name)); known != contig_indices_.end()) {
      if (!any_order_) throw unsorted(columns, row);
      return contigs_[known->second];
    }
    if (!any_order_ && !contigs_.empty()) give(call, contigs_.back(), std::numeric_limits<std::int64_t>::max(), out);
    return add_contig(name);
  }
  Contig& add_contig(std::string_view name) {
    contig_indices_.emplace(name, contigs_.size());
    const auto bases = reference_.find(name);
    if (bases == reference_.end() && rules_.sites != Sites::all)
      throw Failure::input("contig '" + std::string(name) + "' is not in the reference", "give the reference that the reads were aligned to");
    contigs_.push_back({std::string(name), bases == reference_.end() ? std::string_view() : bases->second, {}});
    // Rows that are moved begin in front of the first tile.
    contigs_.back().first_left = rules_.offset() > 0 ? -1 : 0;
    return contigs_.back();
  }
  static Failure parts_need_any_order() {
    return Failure::usage("positions at the borders of parts of the reads are only complete when all parts are together",
                          "set any_order, which keeps all positions in memory to the end");
  }
  // Several states are summed.
  void restore(StateReader& from) {
    const std::vector<std::uint32_t> slots = table_.restore(from);
    rows_given_ += from.value<std::uint64_t>();
    for (auto contigs = from.value<std::uint64_t>(); contigs > 0; --contigs) {
      const std::string_view name = from.text();
      const auto known = contig_indices_.find(std::string(name));
      Contig& contig = known != contig_indices_.end() ? contigs_[known->second] : add_contig(name);
      contig.latest_start = std::max(contig.latest_start, from.value<std::int64_t>());
      contig.first_left = std::max(contig.first_left, from.value<std::int64_t>());
      for (auto tiles = from.value<std::uint64_t>(); tiles > 0; --tiles) {
        const auto number = from.value<std::int64_t>();
        if (number < -1 || number > std::numeric_limits<std::int64_t>::max() / tile_positions - 1) throw damaged_state();
        contig.tiles[number].restore(from, slots);
      }
    }
  }
  void check_order(const Columns& columns, std::int64_t row, Contig& contig) const {
    const std::int64_t start = columns.ref_start[static_cast<std::size_t>(row)];
    if (start < contig.latest_start && !any_order_) throw unsorted(columns, row);
    contig.latest_start = std::max(contig.latest_start, start);
  }
  static Failure unsorted(const Columns& columns, std::int64_t row) {
    return Failure::input("the alignments are not sorted by position: read '" + std::string(columns.read_id[row]) + "' comes behind one further on",
                          "sort them with `samtools sort`, or set any_order, which keeps all positions in memory");
  }

  void count(const Call& call, std::span<const ReadStates> reads, Contig& contig) {
    try {
      for (const ReadStates& read : reads)
        if (!read.block_start.empty() && read.block_start.front() < contig.first_left * tile_positions)
          throw std::runtime_error("a block before the read's first position");
      count_reads(reads, table_, contig.tiles, on_threads_of(call));
    } catch (const std::runtime_error& problem) {
      throw Failure::input(std::string("reads on '") + contig.name + "': " + problem.what(),
                           "use the rows of modification_calls or methylation_states");
    }
  }
  // The first positions of a tile may be those of the other strand of sites that begin in the tile before.
  void add_tiles_before(Contig& contig) const {
    if (rules_.strands == Strands::apart) return;
    std::vector<std::int64_t> before;
    for (const auto& [number, tile] : contig.tiles)
      if (number > contig.first_left && !contig.tiles.contains(number - 1)) before.push_back(number - 1);
    for (const std::int64_t number : before) contig.tiles.try_emplace(number);
  }

  // Rows of the tiles that end at or before a position, which no later read reaches back from.
  void give(const Call& call, Contig& contig, std::int64_t position, Output& out) {
    constexpr std::size_t tiles_at_once = 64;
    const std::int64_t beyond = rules_.reach();
    const auto is_done = [&](std::int64_t number) {
      return number < position / tile_positions && (number + 1) * tile_positions + beyond <= position;
    };
    const Interval interval = region_.of(contig.name);
    add_tiles_before(contig);
    while (!contig.tiles.empty() && is_done(contig.tiles.begin()->first)) {
      const RowMaker& maker = row_maker();
      std::vector<Tiles::const_iterator> tiles;
      auto end = contig.tiles.cbegin();
      for (; end != contig.tiles.cend() && tiles.size() < tiles_at_once && is_done(end->first); ++end) tiles.push_back(end);
      std::vector<std::vector<PileupRow>> rows(tiles.size());
      on_threads_of(call)(tiles.size(), [&](std::size_t i) {
        const auto next = std::next(tiles[i]);
        // A row looks at sites that reach into the tiles beside its own.
        const std::int64_t begin = tiles[i]->first * tile_positions;
        if (reference_text_) reference_text_->read_near(contig.bases, begin - tile_positions, begin + 2 * tile_positions + beyond, call);
        const bool follows = next != contig.tiles.cend() && next->first == tiles[i]->first + 1;
        maker.append_rows(tiles[i]->first, tiles[i]->second, follows ? &next->second : nullptr,
                          {contig.name, contig.bases, included_ ? &*included_ : nullptr, interval.begin, interval.end}, rows[i]);
      });
      emit(call, contig, rows, out);
      contig.first_left = tiles.back()->first + 1;
      contig.tiles.erase(contig.tiles.cbegin(), end);
      if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "cancelled");
    }
  }

  const RowMaker& row_maker() {
    if (!row_maker_ || slots_known_ != table_.slots().size()) row_maker_.emplace(table_, rules_);
    slots_known_ = table_.slots().size();
    return *row_maker_;
  }

  void emit(const Call& call, const Contig& contig, const std::vector<std::vector<PileupRow>>& tiles, Output& out) {
    std::vector<std::size_t> begins = {0};
    for (const std::vector<PileupRow>& rows : tiles) begins.push_back(begins.back() + rows.size());
    if (begins.back() == 0) return;
    rows_given_ += begins.back();
    out.set_rows(static_cast<std::int64_t>(begins.back()));
    static constexpr std::pair<const char*, std::uint32_t PileupRow::*> counts[] = {
        {"modified", &PileupRow::modified}, {"canonical", &PileupRow::canonical}, {"other_modified", &PileupRow::other_modified},
        {"deleted", &PileupRow::deleted},   {"failed", &PileupRow::failed},       {"different", &PileupRow::different},
        {"no_call", &PileupRow::no_call}};
    const std::span<std::int64_t> position = out.column<std::int64_t>("position");
    std::array<std::span<std::int64_t>, std::size(counts)> columns;
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = out.column<std::int64_t>(counts[i].first);
    std::vector<std::string_view> strand(begins.back()), modification(begins.back()), partition(begins.back());
    for (const std::vector<PileupRow>& rows : tiles)
      for (const PileupRow& row : rows)
        if (const auto name = name_of(row); name != latest_name_ && !name_texts_.contains(latest_name_ = name))
          name_texts_.emplace(name, code_text(row.code) + (rules_.motifs.size() > 1 ? "," + motif_label(rules_.motifs[row.motif]) : ""));
    on_threads_of(call)(tiles.size(), [&](std::size_t tile) {
      for (std::size_t i = 0; i < tiles[tile].size(); ++i) {
        const PileupRow& row = tiles[tile][i];
        const std::size_t at = begins[tile] + i;
        position[at] = row.position;
        for (std::size_t count = 0; count < columns.size(); ++count) columns[count][at] = row.*counts[count].second;
        strand[at] = {&row.strand, 1};
        modification[at] = name_texts_.find(name_of(row))->second;
        partition[at] = table_.partitions()[row.partition];
      }
    });
    out.text_rows("contig", std::vector<std::string_view>(begins.back(), contig.name));
    out.text_rows("strand", strand);
    out.text_rows("modification", modification);
    out.text_rows("partition", partition);
    out.emit();
  }

  // A number for the code and the motif.
  static std::int64_t name_of(const PileupRow& row) { return std::int64_t{row.code} * 256 + row.motif; }

  Parallel on_threads_of(const Call& call) {
    return [this, &call](std::size_t count, const auto& body) {
      sharing_.begin();
      const auto each = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) body(i);
      };
      sharing_.share(count, each, [&](const auto& some) { call.parallel_for(count, 1, some); });
    };
  }
  std::uint64_t memory_bytes() const {
    std::uint64_t bytes = 0;
    for (const Contig& contig : contigs_)
      for (const auto& [number, tile] : contig.tiles) bytes += tile.memory_bytes();
    return bytes;
  }

  RegionText region_;
  std::optional<RegionIndex> included_;  // none: all positions
  RowRules rules_;
  bool any_order_, has_partition_;
  std::optional<ReferenceText> reference_text_;
  std::unordered_map<std::string_view, std::string_view> reference_;  // owned by the resource
  std::unordered_map<std::string_view, std::int64_t> reference_places_;
  std::vector<Contig> contigs_;  // in the order in which they came
  std::unordered_map<std::string, std::size_t> contig_indices_;
  SlotTable table_;
  std::optional<RowMaker> row_maker_;
  std::size_t slots_known_ = 0;
  std::unordered_map<std::int64_t, std::string> name_texts_;
  std::int64_t latest_name_ = -1;
  std::uint64_t rows_given_ = 0, batches_ = 0;
  WorkSharing sharing_;
};

}  // namespace sluice::modification_pileup
