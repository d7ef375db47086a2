// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Methylation calls counted position by position, against a count read by read and base by base with nothing but maps.
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "modification_pileup/site_states_stage.hpp"
#include "unit/methylation/modification_pileup/stage_fixture.hpp"

extern "C" const sluice_plugin_info* sluice_plugin_init(const sluice_init_args*, sluice_error*);

using namespace fixture;
using modbam::Record;

namespace {

struct CalledRead {
  Record record;
  std::vector<std::int64_t> start, end;
  std::vector<std::int32_t> motifs;
  std::vector<float> methylated, unmethylated;
};

// Letter by letter; the letters of the motifs below.
bool has_motif(const std::string& strand, std::size_t at, const std::string& letters) {
  if (at + letters.size() > strand.size()) return false;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const char base = strand[at + i], letter = letters[i];
    const bool fits = letter == 'W' ? base == 'A' || base == 'T' : letter == 'R' ? base == 'A' || base == 'G' : base == letter;
    if (!fits) return false;
  }
  return true;
}

struct Site {
  std::int64_t start, modified;  // first base, modified base, on the forward strand
};
// Where a strand has the motif, by ascending place on the forward strand.
std::vector<Site> sites_of(const std::string& contig, bool reverse, const sluice::Motif& motif) {
  const std::string strand = reverse ? modbam::reverse_complement(contig) : contig;
  const auto length = static_cast<std::int64_t>(motif.letters.size()), all = static_cast<std::int64_t>(contig.size());
  std::vector<Site> sites;
  for (std::int64_t at = 0; at < all; ++at) {
    if (!has_motif(strand, static_cast<std::size_t>(at), motif.letters)) continue;
    const std::int64_t modified = at + motif.forward.modified;
    sites.push_back(reverse ? Site{all - at - length, all - 1 - modified} : Site{at, modified});
  }
  if (reverse) std::reverse(sites.begin(), sites.end());
  return sites;
}

struct Sample {
  Contigs contigs;
  std::vector<CalledRead> reads;  // sorted
};
Sample sample(std::uint64_t seed, std::size_t reads, const sluice::Motif& motif) {
  modbam::Generator generator(seed);
  std::mt19937_64 random(seed);
  std::string site = motif.letters;
  for (char& letter : site) letter = letter == 'W' || letter == 'R' ? 'A' : letter;
  Sample made;
  for (const auto& [name, length] : {std::pair{"chr2", 700}, std::pair{"chr1", 3000}}) {
    std::string contig = generator.contig(static_cast<std::size_t>(length));
    for (std::size_t at = random() % 30; at + site.size() < contig.size(); at += site.size() + random() % 40)
      contig.replace(at, site.size(), random() % 2 == 0 ? site : modbam::reverse_complement(site));
    // Sites that lie across the border of two tiles of 1,024 positions.
    if (contig.size() > 1100) contig.replace(1024 - site.size() / 2, site.size(), site);
    made.contigs.emplace_back(name, contig);
  }
  for (std::size_t i = 0; i < reads; ++i) {
    const auto& [name, contig] = made.contigs[i * 3 < reads ? 0 : 1];
    CalledRead read{.record = generator.record("read" + std::to_string(i), name, contig)};
    const std::vector<Site> sites = sites_of(contig, read.record.is_reverse(), motif);
    for (std::size_t s = 0; s < sites.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 3, sites.size() - s);
      if (random() % 5 != 0) {
        read.start.push_back(sites[s].start);
        read.end.push_back(sites[s + count - 1].start);
        read.motifs.push_back(static_cast<std::int32_t>(count));
        // A ratio of 2.496 is printed as 2.50.
        constexpr float ratios[] = {-8, -2.6F, -2.496F, -2.49F, -1, 0, 1.5F, 2.496F, 3, 9, std::numeric_limits<float>::quiet_NaN()};
        read.unmethylated.push_back(0);
        read.methylated.push_back(ratios[random() % std::size(ratios)]);
      }
      s += count;
    }
    made.reads.push_back(std::move(read));
  }
  std::stable_sort(made.reads.begin(), made.reads.end(), [](const CalledRead& a, const CalledRead& b) {
    return a.record.contig != b.record.contig ? a.record.contig > b.record.contig : a.record.position < b.record.position;
  });
  return made;
}

std::vector<TestBatch> rows_of(const std::vector<CalledRead>& reads, std::size_t rows) {
  std::vector<TestBatch> made;
  for (std::size_t begin = 0; begin < reads.size(); begin += rows) {
    const std::span<const CalledRead> part(reads.data() + begin, std::min(rows, reads.size() - begin));
    std::vector<std::string> names, contigs, cells;
    std::vector<std::int64_t> starts;
    std::vector<std::uint8_t> reverse;
    std::vector<std::vector<std::int64_t>> start, end;
    std::vector<std::vector<std::int32_t>> motifs;
    std::vector<std::vector<float>> methylated, unmethylated;
    for (const CalledRead& read : part) {
      names.push_back(read.record.name);
      contigs.push_back(read.record.contig);
      cells.push_back(modbam::cell(read.record));
      starts.push_back(read.record.position);
      reverse.push_back(read.record.is_reverse() ? 1 : 0);
      start.push_back(read.start), end.push_back(read.end), motifs.push_back(read.motifs);
      methylated.push_back(read.methylated), unmethylated.push_back(read.unmethylated);
    }
    made.push_back(BatchBuilder("read", static_cast<std::int64_t>(part.size()))
                       .text("read_id", names)
                       .text("contig", contigs)
                       .column<std::int64_t>("ref_start", starts)
                       .column<std::uint8_t>("is_reverse", reverse)
                       .binary("bam_record", cells)
                       .list<std::int64_t>("site_start", start)
                       .list<std::int64_t>("site_end", end)
                       .list<std::int32_t>("site_motifs", motifs)
                       .list<float>("log_lik_methylated", methylated)
                       .list<float>("log_lik_unmethylated", unmethylated)
                       .sequence(made.size())
                       .build());
  }
  return made;
}

struct Counts {
  int modified = 0, canonical = 0, deleted = 0, failed = 0, different = 0, no_call = 0;
};

// Places of the reference under a read: where in SEQ it has a base there, or -1 for a deletion.
std::map<std::int64_t, std::int64_t> places_of(const Record& record) {
  std::map<std::int64_t, std::int64_t> places;
  std::int64_t position = record.position, stored = 0;
  for (const auto& [operation, length] : record.cigar)
    for (std::uint32_t i = 0; i < length; ++i) {
      const bool takes_base = std::string("MIS=X").find(operation) != std::string::npos;
      const bool takes_position = std::string("MDN=X").find(operation) != std::string::npos;
      if (takes_position && operation != 'N') places[position] = operation == 'D' ? -1 : stored;
      stored += takes_base ? 1 : 0;
      position += takes_position ? 1 : 0;
    }
  return places;
}

std::string expected_lines(const Sample& sample, const sluice::Motif& motif, bool combined, const std::string& partition_by) {
  std::string lines;
  for (const auto& [contig, letters] : sample.contigs) {
    std::map<std::tuple<std::int64_t, char, std::string>, Counts> counts;
    for (const CalledRead& read : sample.reads) {
      const Record& record = read.record;
      if (record.contig != contig) continue;
      const bool reverse = record.is_reverse();
      const std::vector<Site> sites = sites_of(letters, reverse, motif);
      const auto places = places_of(record);
      // Verdicts by place in SEQ.
      std::map<std::int64_t, double> ratio_at;
      for (std::size_t group = 0; group < read.start.size(); ++group)
        for (const Site& site : sites) {
          if (site.start < read.start[group] || site.start > read.end[group] || std::isnan(read.methylated[group])) continue;
          std::string shown;
          std::int64_t first = -1;
          for (std::size_t i = 0; i < motif.letters.size(); ++i) {
            const auto place = places.find(site.start + static_cast<std::int64_t>(i));
            if (place == places.end() || place->second < 0) break;
            if (i == 0) first = place->second;
            if (place->second != first + static_cast<std::int64_t>(i)) break;
            shown += record.bases[static_cast<std::size_t>(place->second)];
          }
          if (!has_motif(reverse ? modbam::reverse_complement(shown) : shown, 0, motif.letters)) continue;
          ratio_at[places.at(site.modified)] = static_cast<double>(read.methylated[group]);
        }
      std::string partition;
      if (partition_by == "hp") partition = record.haplotype ? std::to_string(*record.haplotype) : "ungrouped";
      if (partition_by == "rg") partition = record.read_group.value_or("ungrouped");
      for (const Site& site : sites) {
        const auto place = places.find(site.modified);
        if (place == places.end()) continue;
        // Of a motif that is its own reverse complement the other strand's modified base is at the mirrored place.
        const std::int64_t mirrored = site.start + (reverse ? motif.forward.modified : motif.reverse.modified);
        Counts& count = counts[{combined && reverse ? mirrored : site.modified, combined ? '.' : reverse ? '-' : '+', partition}];
        if (place->second < 0) {
          ++count.deleted;
          continue;
        }
        const char stored = record.bases[static_cast<std::size_t>(place->second)];
        const auto ratio = ratio_at.find(place->second);
        if (ratio != ratio_at.end())
          ++(std::round(std::abs(ratio->second) * 100) < 250 ? count.failed : ratio->second > 0 ? count.modified : count.canonical);
        else
          ++((reverse ? modbam::complement(stored) : stored) == motif.base ? count.no_call : count.different);
      }
    }
    for (const auto& [key, count] : counts) {
      const auto& [position, strand, partition] = key;
      const int valid = count.modified + count.canonical;
      if (valid == 0) continue;
      char line[300];
      std::snprintf(line, sizeof line, "%s\t%ld\t%ld\t%s\t%d\t%c\t%ld\t%ld\t255,0,0\t%d\t%.2f\t%d\t%d\t0\t%d\t%d\t%d\t%d", contig.c_str(),
                    static_cast<long>(position), static_cast<long>(position + 1), motif.code.c_str(), valid, strand, static_cast<long>(position),
                    static_cast<long>(position + 1), valid, 100.0 * count.modified / valid, count.modified, count.canonical, count.deleted,
                    count.failed, count.different, count.no_call);
      lines += line + (partition_by == "none" ? std::string() : "\t" + partition) + "\n";
    }
  }
  return lines;
}

Result states_of(const Sample& sample, const std::string& motif, const std::string& partition, std::size_t rows, int threads) {
  return run_stage<MethylationStates>(rows_of(sample.reads, rows))
      .resource("reference", reference(sample.contigs))
      .with({{"motif", motif}, {"partition", partition}})
      .threads(threads)
      .run();
}

}  // namespace

TEST_CASE("methylation calls are counted position by position as base by base, for any motif, strands apart or combined, by HP and RG") {
  for (const char* const name : {"cpg", "gpc", "dam", "dcm", "CAR:1:a", "GC:1:27551"}) {
    CAPTURE(name);
    const sluice::Motif motif = sluice::parse_motif(name);
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      const Sample reads = sample(seed, 60, motif);
      for (const std::string partition : {"none", "hp", "rg"})
        for (const bool combined : {false, true}) {
          if (combined && !motif.is_palindrome()) continue;
          const Result states = states_of(reads, name, partition, seed == 0 ? 1 : 7, seed == 0 ? 1 : 3);
          REQUIRE_MESSAGE(states.ok(), states.message);
          CHECK(states.failed.empty());
          const Result counted = pileup_of(states.batches, reads.contigs, {.pileup = {{"motif", name}, {"combine_strands", combined}}});
          REQUIRE_MESSAGE(counted.ok(), counted.message);
          const std::string expected = expected_lines(reads, motif, combined, partition);
          CHECK(expected.size() > 2'000);
          CHECK((lines_of(counted, partition != "none") == expected));
        }
    }
  }
}

TEST_CASE("calls of another reference or motif, and records that contradict themselves, fail their rows") {
  const Sample reads = sample(9, 30, sluice::parse_motif("dam"));
  const Result other = states_of(reads, "dcm", "none", 10, 1);
  REQUIRE(other.ok());
  CHECK_FALSE(other.failed.empty());
  for (const auto& failed : other.failed) CHECK(failed.reason == "sites_not_on_reference");
  Sample flagged = reads;
  flagged.reads[0].record.flag |= 1024U;
  flagged.reads[1].record.flag |= 512U;
  flagged.reads[2].record.bases.clear();
  CHECK(states_of(flagged, "dam", "none", 10, 1).ok());
  Sample without_contig = reads;
  without_contig.contigs.erase(without_contig.contigs.begin());
  CHECK(states_of(without_contig, "dam", "none", 10, 1).message.find("is not in the reference") != std::string::npos);
}

TEST_CASE("strands of a motif that is not its own reverse complement are not combined, and a motif is given once") {
  const Sample reads = sample(3, 10, sluice::parse_motif("cpg"));
  const Result states = states_of(reads, "cpg", "none", 10, 1);
  CHECK(pileup_of(states.batches, reads.contigs, {.pileup = {{"motif", "CAR:1:a"}, {"combine_strands", true}}}).message.find("reverse complement") !=
        std::string::npos);
  CHECK(pileup_of(states.batches, reads.contigs, {.pileup = {{"motif", "cpg"}, {"cpg", true}}}).remedy == "give each motif once");
  CHECK(pileup_of(states.batches, reads.contigs, {.pileup = {{"motif", "CCC:0:m"}}}).ok());
  CHECK(lines_of(pileup_of(states.batches, reads.contigs, {.pileup = {{"motif", "cpg"}}}), false) ==
        lines_of(pileup_of(states.batches, reads.contigs, {.pileup = {{"cpg", true}}}), false));
}

TEST_CASE("methylation_states keeps the contract of all stages") {
  const Sample reads = sample(2, 16, sluice::parse_motif("cpg"));
  const auto problems = sluice::testing::contract_problems(
      *sluice_plugin_init(nullptr, nullptr),
      {{"methylation_states", {.resources = {{"reference", reference(reads.contigs)}}, .batches = rows_of(reads.reads, 8)}}});
  CHECK(problems == std::vector<std::string>{});
}
