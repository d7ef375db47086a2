// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <string_view>
#include <utility>

#include "methylation_hmm/methylation.hpp"

namespace sluice::methylation_hmm {
namespace {

constexpr std::uint32_t kK = 6;

std::vector<std::uint32_t> cigar(std::string_view text) {
  std::vector<std::uint32_t> words;
  std::uint32_t length = 0;
  for (const char letter : text) {
    if (letter >= '0' && letter <= '9') {
      length = length * 10 + static_cast<std::uint32_t>(letter - '0');
    } else {
      words.push_back(length << 4U | static_cast<std::uint32_t>(std::string_view("MIDNSHP=XB").find(letter)));
      length = 0;
    }
  }
  return words;
}

// A base-to-event map with `events_per_kmer` events for every k-mer.
std::vector<std::int32_t> even_map(std::size_t read_length, std::int32_t events_per_kmer) {
  std::vector<std::int32_t> map(read_length - kK + 1);
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<std::int32_t>(i) * events_per_kmer;
  return map;
}

struct Located {
  RecordStatus status;
  std::vector<GroupEvents> events;
};

Located locate(std::string_view cigar_text, std::size_t read_length, Strand strand, const std::vector<std::int32_t>& map,
               const std::vector<SiteGroup>& groups, HardClips hard_clips = HardClips::count) {
  const auto words = cigar(cigar_text);
  LocateWorkspace workspace;
  Located located{RecordStatus::ok, std::vector<GroupEvents>(groups.size())};
  located.status =
      locate_group_events({.cigar = words, .read_length = read_length, .strand = strand}, map, kK, hard_clips, groups, workspace, located.events);
  return located;
}

const std::vector<SiteGroup> kOneGroup = {{.first_site = 40, .last_site = 40, .site_count = 1}};

TEST_CASE("on a forward record without gaps a group's events are those of its bounds") {
  const auto located = locate("100M", 100, Strand::forward, even_map(100, 2), kOneGroup);
  CHECK(located.status == RecordStatus::ok);
  CHECK(located.events[0].status == GroupStatus::ok);
  CHECK(located.events[0].first_event == 60);
  CHECK(located.events[0].last_event == 100);
}

TEST_CASE("on a reverse record events descend") {
  const auto located = locate("100M", 100, Strand::reverse, even_map(100, 2), kOneGroup);
  CHECK(located.events[0].status == GroupStatus::ok);
  CHECK(located.events[0].first_event == 2 * (100 - 30 - 6));
  CHECK(located.events[0].last_event == 2 * (100 - 50 - 6));
}

TEST_CASE("soft clips and insertions advance the read, deletions the reference") {
  CHECK(locate("7S100M", 107, Strand::forward, even_map(107, 2), kOneGroup).events[0].first_event == 2 * 37);
  CHECK(locate("10M5I90M", 105, Strand::forward, even_map(105, 2), kOneGroup).events[0].first_event == 2 * 35);
  CHECK(locate("10M5D85M", 95, Strand::forward, even_map(95, 2), kOneGroup).events[0].first_event == 2 * 25);
}

TEST_CASE("a bound within a deletion takes the first base after it") {
  const auto located = locate("28M6D66M", 94, Strand::forward, even_map(94, 2), kOneGroup);
  CHECK(located.events[0].first_event == 2 * 28);
}

TEST_CASE("a leading hard clip counts, except in compat") {
  const auto map = even_map(120, 2);
  CHECK(locate("20H100M", 120, Strand::forward, map, kOneGroup).events[0].first_event == 2 * 50);
  CHECK(locate("20H100M", 120, Strand::forward, map, kOneGroup, HardClips::compat).events[0].first_event == 2 * 30);
}

TEST_CASE("groups beyond the alignment fail") {
  const std::vector<SiteGroup> groups = {{.first_site = 12, .last_site = 12, .site_count = 1}, {.first_site = 88, .last_site = 88, .site_count = 1}};
  const auto located = locate("100M", 100, Strand::forward, even_map(100, 2), groups);
  // The first k bases of the read have no list entry, so the list starts behind the first group; the second group ends behind the list.
  CHECK(located.events[0].status == GroupStatus::outside_alignment);
  CHECK(located.events[1].status == GroupStatus::outside_alignment);
}

TEST_CASE("ten events are too few, eleven are enough") {
  auto map = even_map(100, 0);
  for (std::size_t i = 50; i < map.size(); ++i) map[i] = 10;
  CHECK(locate("100M", 100, Strand::forward, map, kOneGroup).events[0].status == GroupStatus::too_few_events);
  for (std::size_t i = 50; i < map.size(); ++i) map[i] = 11;
  CHECK(locate("100M", 100, Strand::forward, map, kOneGroup).events[0].status == GroupStatus::ok);
}

TEST_CASE("events that run against the strand fail") {
  auto map = even_map(100, 2);
  for (auto& event : map) event = 500 - event;
  CHECK(locate("100M", 100, Strand::forward, map, kOneGroup).events[0].status == GroupStatus::wrong_direction);
}

TEST_CASE("k-mers without an event take the nearest one below, else above; the first and the last k-mer never answer") {
  auto map = even_map(100, 2);
  for (std::size_t i = 25; i <= 30; ++i) map[i] = -1;
  CHECK(locate("100M", 100, Strand::forward, map, kOneGroup).events[0].first_event == 2 * 24);
  for (std::size_t i = 1; i <= 30; ++i) map[i] = -1;
  CHECK(locate("100M", 100, Strand::forward, map, kOneGroup).events[0].first_event == 2 * 31);
  for (std::size_t i = 1; i + 1 < map.size(); ++i) map[i] = -1;
  CHECK(locate("100M", 100, Strand::forward, map, kOneGroup).status == RecordStatus::degenerate);
}

TEST_CASE("records that can't be used say why, and so do their groups") {
  const auto map = even_map(100, 2);
  CHECK(locate("50M10N50M", 100, Strand::forward, map, kOneGroup).status == RecordStatus::reference_skip);
  CHECK(locate("50M10B50M", 100, Strand::forward, map, kOneGroup).status == RecordStatus::bad_cigar);
  CHECK(locate("100M", 90, Strand::forward, map, kOneGroup).status == RecordStatus::bad_base_to_event_map);
  CHECK(locate("100M", 3, Strand::forward, {}, kOneGroup).status == RecordStatus::bad_base_to_event_map);
  CHECK(locate("", 100, Strand::forward, map, kOneGroup).status == RecordStatus::no_aligned_events);
  CHECK(locate("5M95S", 100, Strand::forward, map, kOneGroup).status == RecordStatus::no_aligned_events);
  CHECK(locate("", 100, Strand::forward, map, kOneGroup).events[0].status == GroupStatus::record_failed);
}

TEST_CASE("a CIGAR far longer than the read reads nothing outside the map") {
  const auto located =
      locate("268435455M268435455I268435455M268435455M", 100, Strand::reverse, even_map(100, 2),
             {{.first_site = 40, .last_site = 40, .site_count = 1}, {.first_site = 268435490, .last_site = 268435490, .site_count = 1}});
  CHECK(located.status == RecordStatus::ok);
  CHECK(located.events[0].status == GroupStatus::ok);
  CHECK(located.events[1].status == GroupStatus::outside_alignment);
}

// The list of all aligned bases as f5c builds it for every group, and its look-up.
struct ListedBase {
  std::int64_t reference;
  std::int32_t event;
};

std::int32_t nearest_by_steps(const std::vector<std::int32_t>& map, std::int64_t q) {
  const auto last = static_cast<std::int64_t>(map.size()) - 1;
  const auto search = [&](std::int64_t stop, std::int64_t step) {
    for (std::int64_t i = q; i != stop; i += step) {
      if (map[static_cast<std::size_t>(i)] != -1) return map[static_cast<std::size_t>(i)];
    }
    return std::int32_t{-1};
  };
  const std::int32_t below = search(std::max<std::int64_t>(0, q - 1000), -1);
  return below != -1 ? below : search(std::min(q + 1000, last), 1);
}

std::vector<ListedBase> list_aligned_bases(const std::vector<std::uint32_t>& words, std::int64_t read_length, Strand strand,
                                           const std::vector<std::int32_t>& map) {
  std::vector<ListedBase> list;
  std::int64_t reference = 0;
  std::int64_t read = 0;
  for (const std::uint32_t word : words) {
    const std::uint32_t operation = word & 15U;
    for (std::uint32_t i = 0; i < word >> 4U; ++i) {
      if (operation == 0 || operation >= 7) {
        if (read >= kK && read + kK < read_length) {
          list.push_back({reference, nearest_by_steps(map, strand == Strand::forward ? read : read_length - read - kK)});
        }
        ++reference;
        ++read;
      } else if (operation == 2) {
        ++reference;
      } else {
        ++read;
      }
    }
  }
  if (!list.empty() && list.front().event == list.back().event) list.clear();
  return list;
}

TEST_CASE("bounds of random records are those of f5c's list") {
  std::mt19937_64 random(7);
  int ok = 0;
  for (int round = 0; round < 400; ++round) {
    // Random operations over about 600 bases, with a clip in front, and a base-to-event map with gaps.
    std::vector<std::uint32_t> words;
    std::int64_t read_length = 0;
    std::int64_t reference_length = 0;
    const auto append = [&](std::uint32_t operation, std::uint32_t length) {
      words.push_back(length << 4U | operation);
      if (operation != 2) read_length += length;
      if (operation != 1 && operation != 4) reference_length += length;
    };
    append(random() % 2 == 0 ? 4 : 5, static_cast<std::uint32_t>(random() % 30));
    if ((words[0] & 15U) == 5) reference_length -= words[0] >> 4U;
    while (reference_length < 600) {
      constexpr std::uint32_t kOperations[] = {0, 1, 2, 7, 8};
      const std::uint32_t operation = kOperations[random() % 5];
      append(operation, 1 + static_cast<std::uint32_t>(random() % (operation == 1 || operation == 2 ? 8 : 40)));
    }
    append(4, static_cast<std::uint32_t>(random() % 30));
    const Strand strand = random() % 2 == 0 ? Strand::forward : Strand::reverse;
    std::vector<std::int32_t> map(static_cast<std::size_t>(read_length) - kK + 1, -1);
    std::int32_t event = 0;
    bool gap = false;
    for (auto& first : map) {
      if (random() % 12 == 0) gap = !gap;
      event += static_cast<std::int32_t>(random() % 4);
      if (!gap) first = event;
    }
    std::vector<SiteGroup> groups;
    for (std::int64_t site = 21; site < 620; site += 11 + static_cast<std::int64_t>(random() % 30)) {
      const std::int64_t last = site + static_cast<std::int64_t>(random() % 12);
      groups.push_back({.first_site = site, .last_site = last, .site_count = 1});
      site = last;
    }
    std::vector<GroupEvents> events(groups.size());
    LocateWorkspace workspace;
    const RecordStatus status = locate_group_events({.cigar = words, .read_length = static_cast<std::size_t>(read_length), .strand = strand}, map, kK,
                                                    HardClips::count, groups, workspace, events);
    const auto list = list_aligned_bases(words, read_length, strand, map);
    REQUIRE((status == RecordStatus::ok) == !list.empty());
    if (list.empty()) continue;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto at_or_after = [&](std::int64_t reference) {
        std::size_t at = 0;
        while (at < list.size() && list[at].reference < reference) ++at;
        return at;
      };
      const std::size_t start = at_or_after(calling_start(groups[i]));
      const std::size_t end = at_or_after(calling_end(groups[i]));
      if (start == list.size() || end == list.size() || (start == 0 && list[0].reference > calling_start(groups[i]))) {
        CHECK(events[i].status == GroupStatus::outside_alignment);
        continue;
      }
      CHECK(events[i].first_event == list[start].event);
      CHECK(events[i].last_event == list[end].event);
      const bool callable = list[start].event >= 0 && list[end].event >= 0 && std::abs(list[end].event - list[start].event) > kMinimumEventDistance;
      CHECK((events[i].status == GroupStatus::ok) == callable);
      ok += callable ? 1 : 0;
    }
  }
  CHECK(ok > 1000);
}

}  // namespace
}  // namespace sluice::methylation_hmm
