// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_frequency/frequency.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace sluice::methylation_frequency {
namespace {

Call call_at(std::int64_t start, double ratio, std::uint64_t order = 0) {
  return {.contig = "chr1",
          .start = start,
          .end = start,
          .motifs = 1,
          .log_lik_ratio = ratio,
          .strand = Strand::forward,
          .sequence = "AAAAACGTTTT",
          .order = order};
}

std::vector<Site> sites_of(const FrequencyAccumulator& frequencies) {
  std::vector<std::uint32_t> order;
  frequencies.sort(order);
  std::vector<Site> sites;
  for (const std::uint32_t index : order) sites.push_back(frequencies.site(index));
  return sites;
}

std::string text_of(const FrequencyAccumulator& frequencies) {
  std::string text;
  for (const Site& site : sites_of(frequencies)) {
    char line[512];
    std::snprintf(line, sizeof(line), "%s\t%lld\t%lld\t%d\t%llu\t%llu\t%.3f\t%s\n", std::string(site.contig).c_str(),
                  static_cast<long long>(site.start), static_cast<long long>(site.end), site.motifs,
                  static_cast<unsigned long long>(site.called_sites), static_cast<unsigned long long>(site.called_sites_methylated),
                  static_cast<double>(site.called_sites_methylated) / static_cast<double>(site.called_sites), std::string(site.sequence).c_str());
    text += line;
  }
  return text;
}

std::string state_of(const FrequencyAccumulator& frequencies) {
  std::string state;
  sluice::StateWriter to(
      [](void* text, const void* data, std::size_t bytes) -> sluice_status {
        static_cast<std::string*>(text)->append(static_cast<const char*>(data), bytes);
        return SLUICE_OK;
      },
      &state);
  frequencies.save(to);
  return state;
}

TEST_CASE("calls beyond the threshold count, by their sign") {
  FrequencyAccumulator frequencies;
  CHECK(frequencies.add(call_at(7, 3.0)) == AddStatus::counted);
  CHECK(frequencies.add(call_at(7, -3.0)) == AddStatus::counted);
  CHECK(frequencies.add(call_at(7, 2.5)) == AddStatus::counted);
  CHECK(frequencies.add(call_at(7, 2.49)) == AddStatus::below_threshold);
  CHECK(frequencies.add(call_at(7, -0.1)) == AddStatus::below_threshold);
  const auto sites = sites_of(frequencies);
  REQUIRE(sites.size() == 1);
  CHECK(sites[0].called_sites == 3);
  CHECK(sites[0].called_sites_methylated == 2);
}

TEST_CASE("a ratio counts as the two decimals of its row do") {
  CHECK(judge(2.4951, 2.5) == Verdict::methylated);       // printed 2.50
  CHECK(judge(2.4949, 2.5) == Verdict::below_threshold);  // printed 2.49
  CHECK(judge(-2.4951, 2.5) == Verdict::unmethylated);
  CHECK(judge(0.004, 0.0) == Verdict::unmethylated);  // printed 0.00, not above 0
  CHECK(judge(0.006, 0.0) == Verdict::methylated);
  CHECK(judge(-0.0, 0.0) == Verdict::unmethylated);
  CHECK(judge(std::numeric_limits<double>::infinity(), 2.5) == Verdict::methylated);
  CHECK(judge(-1e300, 2.5) == Verdict::unmethylated);
  CHECK(judge(std::nan(""), 2.5) == Verdict::not_a_number);
}

TEST_CASE("the shortcut far from the threshold agrees with printing and reading every ratio") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> near(-0.05, 0.05);
  for (const double threshold : {0.0, 0.005, 1.0, 2.0, 2.5}) {
    for (int round = 0; round < 20000; ++round) {
      const double ratio = (round % 2 == 0 ? threshold : -threshold) + near(random);
      char text[64];
      std::snprintf(text, sizeof(text), "%.2f", ratio);
      const double printed = std::strtod(text, nullptr);
      const Verdict expected = std::fabs(printed) < threshold ? Verdict::below_threshold : printed > 0 ? Verdict::methylated : Verdict::unmethylated;
      CHECK_MESSAGE(judge(ratio, threshold) == expected, ratio);
    }
  }
}

TEST_CASE("a group counts once per CpG") {
  FrequencyAccumulator frequencies;
  Call call = call_at(100, 5.0);
  call.end = 105;
  call.motifs = 2;
  call.sequence = "AAAAACGTTTCGTTTTT";
  frequencies.add(call);
  call.strand = Strand::reverse;
  call.log_lik_ratio = -5.0;
  frequencies.add(call);
  const auto sites = sites_of(frequencies);
  REQUIRE(sites.size() == 1);
  CHECK(sites[0].end == 105);
  CHECK(sites[0].motifs == 2);
  CHECK(sites[0].called_sites == 4);
  CHECK(sites[0].called_sites_methylated == 2);
  CHECK(sites[0].called_forward == 2);
  CHECK(sites[0].methylated_forward == 2);
}

TEST_CASE("a group that is split gives each of its CpGs the call of the group") {
  FrequencyAccumulator frequencies(2.5, Groups::split);
  Call call = call_at(100, 5.0);
  call.end = 105;
  call.motifs = 2;
  call.sequence = "AAAAACGTTTCGTTTTT";
  CHECK(frequencies.add(call) == AddStatus::counted);
  CHECK(frequencies.add(call_at(300, -5.0)) == AddStatus::counted);
  const auto sites = sites_of(frequencies);
  REQUIRE(sites.size() == 3);
  CHECK(sites[0].start == 100);
  CHECK(sites[0].end == 100);
  CHECK(sites[1].start == 105);
  CHECK(sites[1].motifs == 1);
  CHECK(sites[1].sequence == "split-group");
  CHECK(sites[2].sequence == "AAAAACGTTTT");
  call.sequence = "AAAA";
  CHECK(frequencies.add(call) == AddStatus::invalid);
}

TEST_CASE("sites come sorted by contig in byte order, then start, then end") {
  FrequencyAccumulator frequencies;
  for (const char* contig : {"chr2", "chr10", "Chr3"}) {
    for (const std::int64_t start : {50, 9, 1000}) {
      for (const std::int64_t length : {20, 0}) {
        Call call = call_at(start, 3.0);
        call.contig = contig;
        call.end = start + length;
        frequencies.add(call);
      }
    }
  }
  const auto sites = sites_of(frequencies);
  REQUIRE(sites.size() == 18);
  CHECK(sites[0].contig == "Chr3");
  CHECK(sites[6].contig == "chr10");
  CHECK(sites[17].contig == "chr2");
  for (std::size_t i = 1; i < sites.size(); ++i) {
    CHECK(std::tuple(sites[i - 1].contig, sites[i - 1].start, sites[i - 1].end) < std::tuple(sites[i].contig, sites[i].start, sites[i].end));
  }
}

TEST_CASE("size and sequence are those of the lowest row, whichever came first") {
  FrequencyAccumulator frequencies;
  Call late = call_at(7, 3.0, 9);
  late.sequence = "LATE";
  Call early = call_at(7, 3.0, 4);
  early.sequence = "EARLY";
  early.motifs = 2;
  frequencies.add(late);
  frequencies.add(early);
  frequencies.add(late);
  CHECK(sites_of(frequencies)[0].sequence == "EARLY");
  CHECK(sites_of(frequencies)[0].motifs == 2);
}

TEST_CASE("sums of another table are taken up to what a count holds, and refused where they contradict each other") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  const Site all_forward{.contig = "chr1",
                         .start = 0,
                         .end = most,
                         .motifs = 1,
                         .called_sites = most,
                         .called_sites_methylated = most,
                         .called_forward = most,
                         .methylated_forward = most,
                         .sequence = "CG"};
  FrequencyAccumulator frequencies;
  CHECK(frequencies.add(all_forward, 0));
  CHECK(sites_of(frequencies)[0].called_forward == most);
  CHECK(frequencies.add(all_forward, 1));  // a full count stays full
  CHECK(sites_of(frequencies)[0].called_forward == most);
  const auto refused = [&](const auto& change) {
    Site site = all_forward;
    change(site);
    return !frequencies.add(site, 2);
  };
  CHECK(refused([](Site& s) { s.end += 1; }));
  CHECK(refused([](Site& s) { s.start = s.end + 1; }));
  CHECK(refused([](Site& s) { s.start = -1; }));
  CHECK(refused([](Site& s) { s.motifs = 0; }));
  CHECK(refused([](Site& s) { s.called_sites += 1; }));
  CHECK(refused([](Site& s) { s.called_sites = s.called_sites_methylated = 10, s.called_forward = 11, s.methylated_forward = 10; }));
  CHECK(refused([](Site& s) { s.called_forward = 1, s.methylated_forward = 2; }));
  CHECK(refused([](Site& s) { s.called_sites_methylated = 1, s.methylated_forward = 2; }));
  CHECK(refused([](Site& s) { s.called_sites = s.called_forward = 5, s.methylated_forward = 3, s.called_sites_methylated = 4; }));
  CHECK(sites_of(frequencies).size() == 1);
}

TEST_CASE("rows of a saved state come behind those that are there") {
  const auto with_row = [](std::uint64_t row, std::string_view sequence) {
    FrequencyAccumulator frequencies;
    Call call = call_at(7, 3.0, row);
    call.sequence = sequence;
    frequencies.add(call);
    return frequencies;
  };
  // Row 4 of the first part, and row 2 of the second, which is the seventh of all where the first has five.
  const std::string first = state_of(with_row(4, "FIRST")), second = state_of(with_row(2, "SECOND"));
  FrequencyAccumulator both;
  sluice::StateReader of_first(first), of_second(second);
  both.restore(of_first, 0);
  both.restore(of_second, 5);
  CHECK(sites_of(both)[0].sequence == "FIRST");
  CHECK(sites_of(both)[0].called_sites == 2);
  // Where the first has none before it, the lower number is the earlier row.
  FrequencyAccumulator beside;
  sluice::StateReader again(first), beside_it(second);
  beside.restore(again, 0);
  beside.restore(beside_it, 0);
  CHECK(sites_of(beside)[0].sequence == "SECOND");
}

TEST_CASE("a site without a sequence is saved and restored; one of a contig that the state lacks is refused") {
  FrequencyAccumulator one;
  Call call = call_at(7, 3.0);
  call.sequence = "";
  one.add(call);
  const std::string state = state_of(one);
  FrequencyAccumulator again;
  sluice::StateReader from(state);
  again.restore(from, 0);
  REQUIRE(again.size() == 1);
  CHECK(sites_of(again)[0].sequence.empty());
  CHECK(sites_of(again)[0].called_sites == 1);
  // Sites are at the end of a state, 56 bytes each; the number of the contig follows the start. There is contig 0.
  std::string damaged = state;
  damaged[damaged.size() - 56 + 8] = 1;
  sluice::StateReader from_damaged(damaged);
  CHECK_THROWS_WITH(again.restore(from_damaged, 0), doctest::Contains("damaged"));
}

TEST_CASE("the order of sites replaces what was in it") {
  FrequencyAccumulator frequencies;
  frequencies.add(call_at(20, 3.0));
  frequencies.add(call_at(10, 3.0));
  std::vector<std::uint32_t> order = {7, 8, 9};
  frequencies.sort(order);
  CHECK(order == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("the index is three quarters full at most: 5 to 11 bytes a site") {
  FrequencyAccumulator frequencies;
  const auto add_site = [&](std::int64_t start) {
    Call call = call_at(start, 3.0);
    call.sequence = "";
    frequencies.add(call);
  };
  for (std::int64_t start = 0; start < 768; ++start) add_site(start);  // three quarters of 1,024
  const std::size_t before = frequencies.memory_bytes();
  add_site(768);
  CHECK(frequencies.memory_bytes() == before + 1024 * 4);
}

TEST_CASE("of a contig's name the memory account has both copies") {
  const auto bytes_with = [](const std::string& contig) {
    FrequencyAccumulator frequencies;
    Call call = call_at(7, 3.0);
    call.contig = contig;
    frequencies.add(call);
    return frequencies.memory_bytes();
  };
  const std::size_t more = bytes_with(std::string(1001, 'x')) - bytes_with(std::string(101, 'x'));
  CHECK(more >= 1800);
  CHECK(more < 2000);
}

TEST_CASE("accumulators merged in any order give what one would") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> ratio(0.0, 5.0);
  for (const Groups groups : {Groups::keep, Groups::split}) {
    FrequencyAccumulator single(2.5, groups);
    std::vector<FrequencyAccumulator> parts(4, FrequencyAccumulator(2.5, groups));
    for (std::uint64_t row = 0; row < 20000; ++row) {
      Call call = call_at(static_cast<std::int64_t>(random() % 3000), ratio(random), row);
      call.contig = random() % 2 == 0 ? "a" : "b";
      call.strand = random() % 2 == 0 ? Strand::forward : Strand::reverse;
      if (random() % 3 == 0) {
        call.motifs = 2;
        call.end = call.start + 4;
        call.sequence = "AAAAACGTTCGTTTT";
      } else if (random() % 3 == 0) {
        call.sequence = "CCCCCCGTTTT";
      }
      single.add(call);
      parts[random() % parts.size()].add(call);
    }
    const std::string expected = text_of(single);
    for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2, 3}, {3, 1, 0, 2}}) {
      FrequencyAccumulator merged(2.5, groups);
      for (const std::size_t part : order) merged.merge(parts[part]);
      CHECK(text_of(merged) == expected);
    }
  }
}

TEST_CASE("rows that can't be are refused and count nowhere") {
  FrequencyAccumulator frequencies;
  CHECK(frequencies.add(call_at(-1, 3.0)) == AddStatus::invalid);
  Call call = call_at(10, 3.0);
  call.end = 9;
  CHECK(frequencies.add(call) == AddStatus::invalid);
  call.end = std::numeric_limits<std::int64_t>::max();
  CHECK(frequencies.add(call) == AddStatus::invalid);
  call = call_at(10, 3.0);
  call.motifs = 0;
  CHECK(frequencies.add(call) == AddStatus::invalid);
  CHECK(frequencies.add(call_at(10, std::nan(""))) == AddStatus::not_a_number);
  CHECK(frequencies.size() == 0);
  CHECK(sites_of(frequencies).empty());
}

TEST_CASE("counts that no longer fit stay at their limit") {
  FrequencyAccumulator frequencies;
  Call call = call_at(10, 3.0);
  call.motifs = std::numeric_limits<std::int32_t>::max();
  for (int i = 0; i < 5; ++i) CHECK(frequencies.add(call) == AddStatus::counted);
  CHECK(sites_of(frequencies)[0].called_sites == std::numeric_limits<std::uint32_t>::max());
}

std::string unpack(const std::string& path) {
  struct ClosePipe {
    void operator()(std::FILE* pipe) const { pclose(pipe); }
  };
  const std::string program = path.ends_with(".xz") ? "xz" : "gzip";
  const std::unique_ptr<std::FILE, ClosePipe> pipe(popen((program + " -dc '" + path + "'").c_str(), "r"));
  REQUIRE(pipe);
  std::string text;
  char buffer[1 << 16];
  for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof(buffer), pipe.get())) > 0;) text.append(buffer, size);
  return text;
}

TEST_CASE("f5c's methylation tables give f5c's frequency tables, byte for byte") {
  const std::string folder = std::string(SLUICE_SHARED_DIR) + "/data/";
  if (!std::filesystem::exists(folder + "lambda_r9")) {
    MESSAGE("skipped: no shared data at '" << folder << "'");
    return;
  }
  struct Expected {
    std::string calls;
    std::string table;
    Groups groups;
  };
  const std::vector<Expected> all = {{"lambda_r9/expected/f5c_meth.tsv.xz", "lambda_r9/expected/f5c_freq.tsv.gz", Groups::keep},
                                     {"lambda_r9/expected/f5c_meth.tsv.xz", "lambda_r9/expected/f5c_freq_split.tsv.gz", Groups::split},
                                     {"ecoli_r9_real/expected/f5c_meth.tsv.gz", "ecoli_r9_real/expected/f5c_freq.tsv.gz", Groups::keep},
                                     {"ecoli_r9_real/expected/f5c_meth.tsv.gz", "ecoli_r9_real/expected/f5c_freq_split.tsv.gz", Groups::split},
                                     {"ecoli_r10/expected/f5c_meth.tsv.gz", "ecoli_r10/expected/f5c_freq_split.tsv.gz", Groups::split}};
  for (const Expected& expected : all) {
    const std::string calls = unpack(folder + expected.calls);
    FrequencyAccumulator frequencies(kDefaultCallThreshold, expected.groups);
    std::uint64_t row = 0;
    std::size_t at = calls.find('\n') + 1;
    while (at < calls.size()) {
      std::vector<std::string_view> fields;
      const std::size_t end = calls.find('\n', at);
      for (std::size_t field = at; field <= end;) {
        const std::size_t field_end = std::min(calls.find('\t', field), end);
        fields.push_back(std::string_view(calls).substr(field, field_end - field));
        field = field_end + 1;
      }
      at = end + 1;
      REQUIRE(fields.size() == 11);
      const auto number = [](std::string_view text, auto value) {
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
      };
      frequencies.add({.contig = fields[0],
                       .start = number(fields[2], std::int64_t{}),
                       .end = number(fields[3], std::int64_t{}),
                       .motifs = number(fields[9], std::int32_t{}),
                       .log_lik_ratio = number(fields[5], double{}),
                       .strand = fields[1] == "-" ? Strand::reverse : Strand::forward,
                       .sequence = fields[10],
                       .order = row++});
    }
    const std::string table = unpack(folder + expected.table);
    CHECK_MESSAGE(text_of(frequencies) == table.substr(table.find('\n') + 1), expected.table);
  }
}

}  // namespace
}  // namespace sluice::methylation_frequency
