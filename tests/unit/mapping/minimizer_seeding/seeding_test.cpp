// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <string>
#include <vector>

#include "minimizer_seeding/sketch.hpp"
#include "minimizer_seeding/stage.cpp"  // the stage class has no header of its own
#include "unit/default_of.hpp"

using namespace sluice;
using namespace sluice::minimizer_seeding;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

struct Contig {
  std::string name, bases;
};

std::string random_bases(std::mt19937& random, std::size_t length) {
  std::string bases;
  while (bases.size() < length) bases += "ACGT"[random() % 4];
  return bases;
}

std::string opposite_strand(const std::string& bases) {
  std::string other;
  for (auto base = bases.rbegin(); base != bases.rend(); ++base) other += "TGCAN"[nucleotide_code(*base)];
  return other;
}

// Homopolymer-compressed k-mers lie in it again and again.
const std::string short_tandem_repeat = [] {
  std::string bases;
  for (int copy = 0; copy < 40; ++copy) bases += "ACTG";
  return bases;
}();

// The same with homopolymers of other lengths, as sequencers write them.
std::string with_longer_homopolymers(std::mt19937& random, const std::string& bases) {
  std::string longer;
  for (const char base : bases) longer.append(random() % 4 == 0 ? 2 : 1, base);
  return longer;
}

// A reference of unique parts and of copies of a few, in both directions.
std::vector<Contig> made_up_reference(std::mt19937& random) {
  std::vector<std::string> repeats;
  for (int i = 0; i < 3; ++i) repeats.push_back(random_bases(random, 60 + random() % 400));
  std::vector<Contig> contigs;
  for (const char* name : {"one", "two", "three"}) {
    std::string bases;
    for (int i = 0; i < 40; ++i) {
      const std::string& repeat = repeats[random() % 3];
      bases += random() % 2 == 0 ? random_bases(random, random() % 300) : random() % 2 == 0 ? repeat : opposite_strand(repeat);
      if (random() % 10 == 0) bases += "NN";
    }
    contigs.push_back({name, bases + short_tandem_repeat});
  }
  return contigs;
}

std::vector<Minimizer> minimizers_of(const std::string& bases, const SketchParameters& p) {
  SketchScratch scratch;
  std::vector<Minimizer> out;
  sketch_one_by_one(pack_bases(bases, sketch_kernels(), scratch), p, out);
  return out;
}

// Where each minimizer's hash lies, without any table.
using Positions = std::map<std::uint64_t, std::vector<std::uint64_t>>;
Positions positions_of(const std::vector<Contig>& contigs, const SketchParameters& p) {
  Positions positions;
  for (std::size_t i = 0; i < contigs.size(); ++i)
    for (const Minimizer& m : minimizers_of(contigs[i].bases, p)) positions[m.x >> 8].push_back(static_cast<std::uint64_t>(i) << 32 | m.y);
  for (auto& [hash, list] : positions) std::sort(list.begin(), list.end());
  return positions;
}

// An index batch, put together in the simplest way.
TestBatch index_batch(const std::vector<Contig>& contigs, const SketchParameters& p) {
  const Positions positions = positions_of(contigs, p);
  std::map<std::uint64_t, const std::vector<std::uint64_t>*> by_key;
  std::map<std::uint32_t, std::uint64_t> occurrences;
  for (const auto& [hash, list] : positions) {
    by_key[minimizer_key(hash)] = &list;
    ++occurrences[static_cast<std::uint32_t>(list.size())];
  }
  const std::uint64_t lines = by_key.size() / 3 + 1;
  std::vector<std::uint64_t> slots, lists;
  for (const auto& [key, list] : by_key) {
    while (slots.size() / 2 < home_slot(key, lines)) slots.insert(slots.end(), {empty_slot, empty_slot});
    slots.push_back(key);
    slots.push_back(list->size() == 1 ? list->front() : many_positions | lists.size() << 27 | list->size());
    if (list->size() > 1) lists.insert(lists.end(), list->begin(), list->end());
  }
  do slots.insert(slots.end(), {empty_slot, empty_slot});
  while (slots.size() / 2 <= lines * slots_per_line || slots.size() % 8 != 0);
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> name_begin{0};
  std::vector<std::uint8_t> names;
  for (const Contig& contig : contigs) {
    lengths.push_back(static_cast<std::int32_t>(contig.bases.size()));
    names.insert(names.end(), contig.name.begin(), contig.name.end());
    name_begin.push_back(static_cast<std::int64_t>(names.size()));
  }
  std::vector<std::uint32_t> counts;
  std::vector<std::uint64_t> having;
  for (const auto& [count, minimizers] : occurrences) counts.push_back(count), having.push_back(minimizers);
  return BatchBuilder("minimizer_index", 1)
      .list<std::int32_t>("contig_length", {lengths})
      .list<std::int64_t>("contig_name_begin", {name_begin})
      .list<std::uint8_t>("contig_name", {names})
      .list<std::int64_t>("contig_base_begin", {std::vector<std::int64_t>(contigs.size() + 1, 0)})
      .list<std::uint64_t>("packed_bases", {{}})
      .list<std::int64_t>("ambiguous_begin", {{}})
      .list<std::int64_t>("ambiguous_end", {{}})
      .list<std::uint64_t>("slot", {slots})
      .list<std::uint64_t>("position", {lists})
      .list<std::uint32_t>("occurrence_count", {counts})
      .list<std::uint64_t>("occurrence_minimizers", {having})
      .attribute("k", std::to_string(p.k))
      .attribute("w", std::to_string(p.w))
      .attribute("homopolymer_compressed", p.homopolymers == HomopolymerCompression::on ? "1" : "0")
      .attribute("home_lines", std::to_string(lines))
      .build();
}

// The order of anchors by its definition: buckets of whole copies instead of pointers.
void sort_by_definition(std::vector<Anchor>& a, std::size_t begin, std::size_t end, int shift) {
  if (end - begin <= 64) {
    std::stable_sort(a.begin() + static_cast<std::ptrdiff_t>(begin), a.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Anchor& l, const Anchor& r) { return l.x < r.x; });
    return;
  }
  const auto digit = [&](const Anchor& anchor) { return static_cast<std::size_t>(anchor.x >> shift & 0xFF); };
  std::vector<std::size_t> first(257, begin), cursor;
  for (std::size_t b = 0; b < 256; ++b)
    first[b + 1] = first[b] + static_cast<std::size_t>(std::count_if(a.begin() + static_cast<std::ptrdiff_t>(begin),
                                                                     a.begin() + static_cast<std::ptrdiff_t>(end),
                                                                     [&](const Anchor& anchor) { return digit(anchor) == b; }));
  cursor.assign(first.begin(), first.end() - 1);
  for (std::size_t b = 0; b < 256; ++b) {
    while (cursor[b] != first[b + 1]) {
      Anchor carried = a[cursor[b]];
      while (digit(carried) != b) std::swap(carried, a[cursor[digit(carried)]++]);
      a[cursor[b]++] = carried;
    }
  }
  if (shift == 0) return;
  for (std::size_t b = 0; b < 256; ++b) sort_by_definition(a, first[b], first[b + 1], shift - 8);
}

// Seeding step by step as minimap2's description says, with plain containers.
struct Expected {
  std::vector<Anchor> anchors;
  std::vector<std::uint64_t> seeds;
  std::int32_t repeat_length = 0;
};
struct PlainSeed {
  std::uint64_t x, y;
  std::vector<std::uint64_t> positions;
  bool filtered = false, tandem = false;
};
void filter_streaks(const SeedingParameters& p, std::size_t length, std::vector<PlainSeed>& seeds) {
  const auto n = [&](std::size_t i) { return static_cast<std::int32_t>(seeds[i].positions.size()); };
  if (p.occ_dist <= 0 || p.max_max_occ <= p.mid_occ) {
    for (PlainSeed& seed : seeds) seed.filtered = static_cast<std::int32_t>(seed.positions.size()) > p.mid_occ;
    return;
  }
  if (seeds.size() < 2) return;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (n(i) <= p.mid_occ) continue;
    std::size_t j = i;
    while (j < seeds.size() && n(j) > p.mid_occ) ++j;
    const double from = i == 0 ? 0 : static_cast<double>(seeds[i - 1].y >> 1), to = static_cast<double>(j == seeds.size() ? length : seeds[j].y >> 1);
    const auto keep = std::min(128, static_cast<int>((to - from) / p.occ_dist + .499));
    std::vector<std::pair<std::int32_t, std::size_t>> by_count;
    for (std::size_t s = i; s < j; ++s) by_count.emplace_back(n(s), s);
    std::sort(by_count.begin(), by_count.end());
    for (std::size_t s = 0; s < by_count.size(); ++s)
      seeds[by_count[s].second].filtered = static_cast<int>(s) >= keep || by_count[s].first > p.max_max_occ;
    i = j;
  }
}
Expected seed_by_definition(const std::vector<Contig>& contigs, const Positions& positions, const SketchParameters& sketching,
                            const SeedingParameters& p, const std::string& name, const std::string& bases) {
  std::vector<Minimizer> minimizers = minimizers_of(bases, sketching);
  if (minimizers.size() > static_cast<std::size_t>(p.mid_occ)) {
    std::map<std::uint64_t, int> counts;
    for (const Minimizer& m : minimizers) ++counts[m.x];
    const float share = static_cast<float>(minimizers.size()) * p.q_occ_frac;
    std::erase_if(minimizers, [&](const Minimizer& m) { return counts[m.x] > p.mid_occ && static_cast<float>(counts[m.x]) > share; });
  }
  std::vector<PlainSeed> seeds;
  for (std::size_t i = 0; i < minimizers.size(); ++i) {
    const auto found = positions.find(minimizers[i].x >> 8);
    if (found == positions.end()) continue;
    const auto same_hash = [&](std::size_t other) { return minimizers[other].x >> 8 == minimizers[i].x >> 8; };  // whatever the spans
    const bool tandem = (i > 0 && same_hash(i - 1)) || (i + 1 < minimizers.size() && same_hash(i + 1));
    seeds.push_back({minimizers[i].x, minimizers[i].y, found->second, false, tandem});
  }
  filter_streaks(p, bases.size(), seeds);
  Expected out;
  std::int32_t begin = 0, end = 0;
  for (const PlainSeed& seed : seeds) {
    const std::uint64_t span = seed.x & 0xFF, place = seed.y >> 1;
    if (seed.filtered) {
      const auto e = static_cast<std::int32_t>(place) + 1, b = e - static_cast<std::int32_t>(span);
      if (b > end) out.repeat_length += end - begin, begin = b;
      end = e;
      continue;
    }
    out.seeds.push_back(span << 32 | place);
    for (const std::uint64_t position : seed.positions) {
      const std::uint64_t contig = position >> 32, on_contig = (position & 0xFFFFFFFF) >> 1;
      const bool same = (position & 1) == (seed.y & 1);
      const bool self = contigs[contig].name == name && contigs[contig].bases.size() == bases.size();
      if (p.diagonal == Diagonal::skip && self && on_contig == place) continue;
      if (p.pairs == Pairs::once && name > contigs[contig].name) continue;
      if (p.strands != Strands::both && (p.strands == Strands::forward_only) != same) continue;
      std::uint64_t y = span << 32 | (same ? place : bases.size() - (place + 1 - span) - 1);
      if (seed.tandem) y |= std::uint64_t{1} << 42;
      if (p.diagonal == Diagonal::skip && self && same) y |= std::uint64_t{1} << 43;
      out.anchors.push_back({(same ? 0 : std::uint64_t{1} << 63) | contig << 32 | on_contig, y});
    }
  }
  out.repeat_length += end - begin;
  sort_by_definition(out.anchors, 0, out.anchors.size(), 56);
  return out;
}

std::vector<std::string> made_up_reads(std::mt19937& random, const std::vector<Contig>& contigs) {
  std::vector<std::string> reads{"", "A", "ACGTACGTACGTACG", contigs[0].bases, contigs[1].bases};
  for (int i = 0; i < 30; ++i) {
    const std::string& bases = contigs[random() % contigs.size()].bases;
    std::string read = bases.substr(random() % bases.size(), random() % 3000);
    if (random() % 2 == 0) read = opposite_strand(read);
    for (char& base : read)
      if (random() % 40 == 0) base = "ACGTN"[random() % 5];
    if (random() % 3 == 0) read += read.substr(0, 200) + read.substr(0, 200);
    if (random() % 3 == 0) read += with_longer_homopolymers(random, short_tandem_repeat);
    reads.push_back(read);
  }
  return reads;
}

}  // namespace

TEST_CASE("parameters that nobody gives are those of minimap2 2.24") {
  const SeedingParameters p;
  CHECK(p.max_max_occ == 4095);
  CHECK(p.occ_dist == 500);
  CHECK(p.q_occ_frac == 0.01F);
  const SketchParameters sketching;
  CHECK(sketching.k == 15);
  CHECK(sketching.w == 10);
}

TEST_CASE("neighbouring minimizers of one hash are tandem, also where homopolymers give them different spans") {
  std::mt19937 random(6);
  const SketchParameters p{.k = 7, .w = 4, .homopolymers = HomopolymerCompression::on};
  ReadSeeds read;
  read.minimizers = minimizers_of(with_longer_homopolymers(random, short_tandem_repeat), p);
  const TestBatch index = index_batch({{"one", short_tandem_repeat}}, p);
  look_up_minimizers(minimizer_index_view(index.view()), Absent::seed, read);
  REQUIRE(read.seeds.size() == read.minimizers.size());
  std::size_t of_other_span = 0;
  for (std::size_t i = 1; i < read.seeds.size(); ++i) {
    const std::uint64_t before = read.minimizers[i - 1].x, here = read.minimizers[i].x;
    if (before >> 8 != here >> 8) continue;
    CHECK(read.seeds[i - 1].tandem == Seed::Tandem::yes);
    CHECK(read.seeds[i].tandem == Seed::Tandem::yes);
    if (before != here) ++of_other_span;
  }
  CHECK(of_other_span > 5);
}

TEST_CASE("anchors come in the order of minimap2's sort, equal ones too") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<Anchor> anchors(random() % (round % 10 == 0 ? 20000 : 300));
    const std::uint64_t spread = std::uint64_t{1} << random() % 24, contigs = 1 + random() % 3;
    for (std::size_t i = 0; i < anchors.size(); ++i)
      anchors[i] = {static_cast<std::uint64_t>(random() % 2) << 63 | (random() % contigs) << 32 | random() % spread, i};
    if (round % 7 == 0) std::sort(anchors.begin(), anchors.end(), [](const Anchor& a, const Anchor& b) { return a.x / 64 < b.x / 64; });
    std::vector<Anchor> expected = anchors;
    sort_by_definition(expected, 0, expected.size(), 56);
    sort_anchors(anchors);
    REQUIRE(anchors == expected);
  }
}

TEST_CASE("the stage gives the seeds and anchors that the description of minimap2 gives") {
  std::mt19937 random(4);
  for (int round = 0; round < 24; ++round) {
    const std::vector<Contig> contigs = made_up_reference(random);
    SketchParameters sketching;
    sketching.k = 6 + random() % 14;
    sketching.w = 1 + random() % 12;
    if (round % 5 == 0) sketching.homopolymers = HomopolymerCompression::on;
    SeedingParameters p;
    p.mid_occ = 1 + static_cast<std::int32_t>(random() % 20);
    p.max_max_occ = static_cast<std::int32_t>(random() % 100);
    p.occ_dist = std::array{0, 20, 100, 500}[random() % 4];
    p.q_occ_frac = random() % 2 == 0 ? 0.01F : 0.001F;
    p.diagonal = random() % 2 == 0 ? Diagonal::skip : Diagonal::keep;
    p.pairs = random() % 3 == 0 ? Pairs::once : Pairs::both;
    p.strands = std::array{Strands::both, Strands::both, Strands::forward_only, Strands::reverse_only}[random() % 4];
    const std::vector<std::string> reads = made_up_reads(random, contigs);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < reads.size(); ++i) names.push_back(i == 3 ? "one" : i == 4 ? "two" : "p" + std::to_string(i));
    const auto batch = BatchBuilder("read", static_cast<std::int64_t>(reads.size())).text("read_id", names).text("bases", reads).build();
    const auto result = run_stage<MinimizerSeeding>(batch)
                            .resource("index", index_batch(contigs, sketching))
                            .with({{"f", std::to_string(p.mid_occ)},
                                   {"max_max_occ", std::to_string(p.max_max_occ)},
                                   {"occ_dist", std::to_string(p.occ_dist)},
                                   {"q_occ_frac", p.q_occ_frac == 0.01F ? "0.01" : "0.001"},
                                   {"no_diagonal", p.diagonal == Diagonal::skip ? "true" : "false"},
                                   {"dual", p.pairs == Pairs::both ? "true" : "false"},
                                   {"for_only", p.strands == Strands::forward_only ? "true" : "false"},
                                   {"rev_only", p.strands == Strands::reverse_only ? "true" : "false"}})
                            .expect_rows(static_cast<std::int64_t>(reads.size()));
    const Positions positions = positions_of(contigs, sketching);
    const auto view = result.batch().view();
    const auto x = view.list<std::uint64_t>("anchor_x"), y = view.list<std::uint64_t>("anchor_y"), seeds = view.list<std::uint64_t>("seed_position");
    for (std::size_t i = 0; i < reads.size(); ++i) {
      CAPTURE(i);
      const Expected expected = seed_by_definition(contigs, positions, sketching, p, names[i], reads[i]);
      const auto row = static_cast<std::int64_t>(i);
      std::vector<Anchor> anchors;
      for (std::size_t n = 0; n < x[row].size(); ++n) anchors.push_back({x[row][n], y[row][n]});
      CHECK(anchors == expected.anchors);
      CHECK(std::vector<std::uint64_t>(seeds[row].begin(), seeds[row].end()) == expected.seeds);
      CHECK(view.column<std::int32_t>("repeat_length")[i] == expected.repeat_length);
      CHECK(view.column<std::int32_t>("read_length")[i] == static_cast<std::int32_t>(reads[i].size()));
    }
  }
}

namespace {

// An index in parts that begin at these contigs: no table, but bases, and the counts of all.
TestBatch index_in_parts(const std::vector<Contig>& contigs, const SketchParameters& p, const std::vector<std::int64_t>& part_begin) {
  const TestBatch whole = index_batch(contigs, p);
  const MinimizerIndexView view = minimizer_index_view(whole.view());
  std::vector<std::uint64_t> words, frequent_hash;
  std::vector<std::int64_t> base_begin{0}, ambiguous_begin, ambiguous_end;
  std::vector<std::uint32_t> frequent_count;
  SketchScratch scratch;
  for (const Contig& contig : contigs) {
    const PackedSequence packed = pack_bases(contig.bases, sketch_kernels(), scratch);
    words.insert(words.end(), packed.words, packed.words + (packed.length + 31) / 32);
    for (const BaseInterval& gap : packed.ambiguous) {
      ambiguous_begin.push_back(base_begin.back() + gap.begin);
      ambiguous_end.push_back(base_begin.back() + gap.end);
    }
    base_begin.push_back(static_cast<std::int64_t>(words.size()) * 32);
  }
  words.insert(words.end(), 4, 0);
  for (const auto& [hash, list] : positions_of(contigs, p))
    if (list.size() > frequent_above) frequent_hash.push_back(hash), frequent_count.push_back(static_cast<std::uint32_t>(list.size()));
  std::reverse(frequent_hash.begin(), frequent_hash.end());  // their order says nothing
  std::reverse(frequent_count.begin(), frequent_count.end());
  const auto all = [](const auto& values) { return std::vector(1, std::vector(values.begin(), values.end())); };
  return BatchBuilder("minimizer_index", 1)
      .list<std::int32_t>("contig_length", all(view.contig_length))
      .list<std::int64_t>("contig_name_begin", all(view.contig_name_begin))
      .list<std::uint8_t>("contig_name", all(view.contig_name_bytes))
      .list<std::int64_t>("contig_base_begin", {base_begin})
      .list<std::uint64_t>("packed_bases", {words})
      .list<std::int64_t>("ambiguous_begin", {ambiguous_begin})
      .list<std::int64_t>("ambiguous_end", {ambiguous_end})
      .list<std::uint64_t>("slot", {std::vector<std::uint64_t>(4 * slots_per_line, empty_slot)})
      .list<std::uint64_t>("position", {{}})
      .list<std::uint32_t>("occurrence_count", all(view.occurrence_count))
      .list<std::uint64_t>("occurrence_minimizers", all(view.occurrence_minimizers))
      .list<std::int64_t>("part_begin", {part_begin})
      .list<std::uint64_t>("frequent_hash", {frequent_hash})
      .list<std::uint32_t>("frequent_count", {frequent_count})
      .attribute("k", std::to_string(p.k))
      .attribute("w", std::to_string(p.w))
      .attribute("homopolymer_compressed", p.homopolymers == HomopolymerCompression::on ? "1" : "0")
      .attribute("home_lines", "1")
      .build();
}

}  // namespace

TEST_CASE("the parts of an index give the anchors and seeds of the whole") {
  std::mt19937 random(14);
  for (int round = 0; round < 12; ++round) {
    const std::vector<Contig> contigs = made_up_reference(random);
    SketchParameters sketching;
    sketching.k = 8 + random() % 12;
    sketching.w = 1 + random() % 8;
    if (round % 4 == 0) sketching.homopolymers = HomopolymerCompression::on;
    std::vector<std::string> names, reads;
    for (const Contig& contig : contigs) names.push_back(contig.name), reads.push_back(contig.bases);
    const auto rows = static_cast<std::int64_t>(reads.size());
    const sluice::testing::ParameterTexts options{{"f", "0.05"}, {"occ_dist", "0"}, {"no_diagonal", "true"}};
    const auto given = [&](std::int32_t part) {
      return BatchBuilder("read", rows)
          .text("read_id", names)
          .text("bases", reads)
          .column("index_part", std::vector<std::int32_t>(reads.size(), part))
          .build();
    };
    const auto whole = run_stage<MinimizerSeeding>(given(0)).resource("index", index_batch(contigs, sketching)).with(options).expect_rows(rows);
    for (const std::vector<std::int64_t>& part_begin : {std::vector<std::int64_t>{0, 1, 3}, {0, 1, 2, 3}}) {
      std::vector<TestBatch> batches;
      for (std::size_t part = 0; part + 1 < part_begin.size(); ++part) batches.push_back(given(static_cast<std::int32_t>(part)));
      const auto parts = run_stage<MinimizerSeeding>(batches).resource("index", index_in_parts(contigs, sketching, part_begin)).with(options).run();
      REQUIRE(parts.ok());
      const auto view = whole.batch().view();
      for (std::int64_t row = 0; row < rows; ++row) {
        CAPTURE(row);
        const auto sorted = [](std::vector<Anchor> anchors) {
          std::sort(anchors.begin(), anchors.end(), [](const Anchor& a, const Anchor& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
          return anchors;
        };
        const auto anchors_of = [&](const Batch& batch) {
          std::vector<Anchor> anchors;
          const auto x = batch.list<std::uint64_t>("anchor_x")[row], y = batch.list<std::uint64_t>("anchor_y")[row];
          for (std::size_t n = 0; n < x.size(); ++n) anchors.push_back({x[n], y[n]});
          return anchors;
        };
        std::vector<Anchor> together;
        for (const TestBatch& batch : parts.batches) {
          const Batch part = batch.view();
          const std::vector<Anchor> found = anchors_of(part);
          CHECK(found == sorted(found));
          together.insert(together.end(), found.begin(), found.end());
          CHECK(std::ranges::equal(part.list<std::uint64_t>("seed_position")[row], view.list<std::uint64_t>("seed_position")[row]));
          CHECK(part.column<std::int32_t>("repeat_length")[static_cast<std::size_t>(row)] ==
                view.column<std::int32_t>("repeat_length")[static_cast<std::size_t>(row)]);
        }
        CHECK(sorted(together) == sorted(anchors_of(view)));
      }
    }
  }
}

TEST_CASE("what an index in parts cannot do is refused") {
  std::mt19937 random(15);
  const std::vector<Contig> contigs = made_up_reference(random);
  const auto says = [&](const sluice::testing::ParameterTexts& options, std::int32_t part, const std::string& words) {
    const auto batch =
        BatchBuilder("read", 1).text("read_id", {"r"}).text("bases", {contigs[0].bases}).column<std::int32_t>("index_part", {part}).build();
    const auto result = run_stage<MinimizerSeeding>(batch).resource("index", index_in_parts(contigs, {}, {0, 1, 3})).with(options).run();
    CAPTURE(result.message);
    CHECK(!result.ok());
    CHECK(result.message.find(words) != std::string::npos);
  };
  says({{"occ_dist", "500"}}, 0, "occ_dist");
  says({{"occ_dist", "0"}, {"f", "5"}}, 0, "which know those of more than 10");
  says({{"occ_dist", "0"}}, 2, "part 2");
  const auto batch = BatchBuilder("read", 1).text("read_id", {"r"}).text("bases", {contigs[0].bases}).build();
  const auto result = run_stage<MinimizerSeeding>(batch).resource("index", index_in_parts(contigs, {}, {0, 1, 3})).with({{"occ_dist", "0"}}).run();
  CHECK(result.message.find("the reads do not") != std::string::npos);
}

TEST_CASE("the threshold of f is minimap2's") {
  MinimizerIndexView index;
  const std::vector<std::uint32_t> counts{1, 2, 50, 3000};
  const std::vector<std::uint64_t> minimizers{9000, 990, 9, 1};
  index.occurrence_count = counts;
  index.occurrence_minimizers = minimizers;
  CHECK(occurrence_threshold(index, 2e-4F, 0, 0) == 51);     // rank 9998 of 10000
  CHECK(occurrence_threshold(index, 1e-4F, 0, 0) == 3001);   // rank 9999
  CHECK(occurrence_threshold(index, 0.5F, 10, 1000) == 10);  // 2, raised
  CHECK(occurrence_threshold(index, 1e-5F, 10, 1000) == 1000);
  CHECK(occurrence_threshold(index, 0, 10, 1000000) == 1000000);
}

TEST_CASE("a read whose anchors take more than is kept leaves nothing behind") {
  std::mt19937 random(8);
  std::vector<Contig> contigs = made_up_reference(random);
  std::string unit(100, 'A'), satellite;
  for (char& base : unit) base = "ACGT"[random() % 4];
  for (int copy = 0; copy < 1000; ++copy) satellite += unit;
  contigs.push_back({"satellite", satellite});
  std::vector<std::string> reads = made_up_reads(random, contigs);
  reads.resize(12);
  reads.push_back(satellite.substr(0, 40'000));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reads.size(); ++i) names.push_back("read" + std::to_string(i));
  const auto rows = static_cast<std::int64_t>(reads.size());
  const auto batch = BatchBuilder("read", rows).text("read_id", names).text("bases", reads).build();
  const auto stage =
      sluice::testing::stage_of(*sluice::testing::load_plugin(std::string(SLUICE_PLUGIN_DIR) + "/minimizer_seeding.so"), "minimizer_seeding");
  const sluice::testing::ContractSample sample{
      .parameters = {{"f", 5000}}, .resources = {{"index", index_batch(contigs, SketchParameters{})}}, .batches = {batch.rows(0, rows - 1)}};
  const auto seeded = sluice::testing::run_stage(stage, batch.rows(rows - 1, rows))
                          .with(sample.parameters)
                          .resource("index", sample.resources.at("index"))
                          .expect_rows(1);
  REQUIRE(seeded.batch().view().list<std::uint64_t>("anchor_x")[0].size_bytes() * 2 > std::size_t{64} << 20);
  CHECK(sluice::testing::kept_memory_problems(stage, sample, batch.rows(rows - 1, rows)) == std::vector<std::string>{});
}

TEST_CASE("the stage keeps the contract of all stages") {
  std::mt19937 random(5);
  const std::vector<Contig> contigs = made_up_reference(random);
  const std::vector<std::string> reads = made_up_reads(random, contigs);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reads.size(); ++i) names.push_back("read" + std::to_string(i));
  const auto batch = BatchBuilder("read", static_cast<std::int64_t>(reads.size())).text("read_id", names).text("bases", reads).build();
  const auto* plugin = sluice::testing::load_plugin(std::string(SLUICE_PLUGIN_DIR) + "/minimizer_seeding.so");
  for (const std::string& problem : sluice::testing::contract_problems(
           *plugin, {{"minimizer_seeding", {.resources = {{"index", index_batch(contigs, SketchParameters{})}}, .batches = {batch}}}}))
    FAIL_CHECK(problem);
}

TEST_CASE("the defaults are those of minimap2 -x map-ont") {
  const auto stage = sluice::testing::stage_of(*sluice::testing::load_plugin(SLUICE_PLUGIN_DIR "/minimizer_seeding.so"), "minimizer_seeding");
  CHECK(sluice::testing::other_defaults(stage, {{"f", "2e-04"},
                                                {"min_occ", "10"},
                                                {"max_occ", "1000000"},
                                                {"max_max_occ", "4095"},
                                                {"occ_dist", "500"},
                                                {"q_occ_frac", "0.01"},
                                                {"no_diagonal", "false"},
                                                {"dual", "true"},
                                                {"for_only", "false"},
                                                {"rev_only", "false"}}) == "");
}
