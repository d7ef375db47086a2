// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "overlap_reader/overlap_line.hpp"
#include "overlap_reader/overlap_order.hpp"
#include "overlap_reader/overlap_selection.hpp"

using namespace sluice::overlap_reader;

TEST_CASE("a PAF line") {
  Overlap o;
  REQUIRE(parse_paf_line("r1\t900\t10\t800\t-\tt1\t5000\t100\t1000\t700\t850\t60\ttp:A:P", o) == nullptr);
  CHECK(o.query == "r1");
  CHECK(o.target == "t1");
  CHECK(o.is_reverse);
  CHECK(o.query_end == 800);
  CHECK(o.target_start == 100);
  CHECK(o.matches == 700);
  CHECK(overlap_length(o) == 900);
  CHECK(overlap_error(o) == doctest::Approx(1 - 790.0 / 900));
}

TEST_CASE("a MHAP line counts sequences from 1 and has two strands") {
  Overlap o;
  REQUIRE(parse_mhap_line("3 7 0.1 42 0 10 800 900 1 100 1000 5000", o) == nullptr);
  CHECK(o.query_number == 3);
  CHECK(o.target_number == 7);
  CHECK(o.is_reverse);
  CHECK(o.query_length == 900);
  CHECK(o.target_end == 1000);
  CHECK(guess_line_format("3 7 0.1 42 0 10 800 900 1 100 1000 5000") == LineFormat::mhap);
  CHECK(guess_line_format("r 1\t900\t10") == LineFormat::paf);
}

TEST_CASE("broken lines are refused") {
  Overlap o;
  CHECK(parse_paf_line("r1\t900\t10\t800\t-\tt1\t5000", o) != nullptr);
  CHECK(parse_paf_line("r1\t900\t10\t800\t*\tt1\t5000\t100\t1000\t700\t850\t60", o) != nullptr);
  CHECK(parse_paf_line("r1\t900\t-1\t800\t+\tt1\t5000\t100\t1000\t700\t850\t60", o) != nullptr);
  CHECK(parse_paf_line("r1\t900\t10\t8x0\t+\tt1\t5000\t100\t1000\t700\t850\t60", o) != nullptr);
  CHECK(parse_paf_line("r1\t900\t10\t99999999999\t+\tt1\t5000\t100\t1000\t700\t850\t60", o) != nullptr);
  CHECK(parse_paf_line("r1\t900\t810\t800\t+\tt1\t5000\t100\t1000\t700\t850\t60", o) != nullptr);
  CHECK(parse_mhap_line("0 7 0.1 42 0 10 800 900 1 100 1000 5000", o) != nullptr);
  CHECK(parse_mhap_line("3 7 0.1 42 0 10", o) != nullptr);
}

namespace {

// What racon 1.5 does with the overlaps of one query: each i is judged, then compared with all j behind it.
std::vector<std::size_t> by_definition(const std::vector<CandidateOverlap>& run, double max_error) {
  std::vector<bool> is_gone(run.size());
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (is_gone[i]) continue;
    if (run[i].error > max_error || run[i].is_itself) {
      is_gone[i] = true;
      continue;
    }
    for (std::size_t j = i + 1; j < run.size(); ++j) {
      if (is_gone[j]) continue;
      if (run[i].length >= run[j].length) {
        is_gone[j] = true;
      } else {
        is_gone[i] = true;
        break;
      }
    }
  }
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < run.size(); ++i)
    if (!is_gone[i]) left.push_back(i);
  return left;
}

}  // namespace

TEST_CASE("of a query's overlaps the same one is kept as by comparing all pairs") {
  std::mt19937 random(6);
  for (int n = 0; n < 2000; ++n) {
    std::vector<std::int64_t> kept, expected;
    std::vector<std::int64_t> dropped;
    OverlapSelection selection(
        Keep::longest, 0.3, [&](const CandidateOverlap& o) { kept.push_back(o.record.ordinal); },
        [&](const CandidateOverlap& o, Drop) { dropped.push_back(o.record.ordinal); });
    std::int64_t ordinal = 0;
    std::uint64_t total = 0;
    for (int query = 0; query < 3; ++query) {
      std::vector<CandidateOverlap> run(random() % 6);
      for (CandidateOverlap& o : run) {
        o.record.query = query;
        o.record.ordinal = ordinal++;
        o.length = static_cast<std::int64_t>(random() % 5);
        o.error = random() % 4 == 0 ? 0.5 : 0.1;
        o.is_itself = random() % 7 == 0;
      }
      for (const std::size_t i : by_definition(run, 0.3)) expected.push_back(run[i].record.ordinal);
      for (CandidateOverlap o : run) selection.add(o);
      total += run.size();
    }
    selection.finish();
    REQUIRE(kept == expected);
    // Each overlap is either kept or dropped, once.
    dropped.insert(dropped.end(), kept.begin(), kept.end());
    std::sort(dropped.begin(), dropped.end());
    REQUIRE(dropped.size() == total);
    for (std::size_t i = 0; i < dropped.size(); ++i) REQUIRE(dropped[i] == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("all overlaps are kept but those of a sequence with itself and the too different") {
  int kept = 0;
  std::map<Drop, int> dropped;
  OverlapSelection selection(
      Keep::all, 0.3, [&](const CandidateOverlap&) { ++kept; }, [&](const CandidateOverlap&, Drop drop) { ++dropped[drop]; });
  for (int i = 0; i < 10; ++i) {
    CandidateOverlap o{.length = i, .error = i == 3 ? 0.31 : 0.3, .is_itself = i == 5};
    selection.add(o);
  }
  selection.finish();
  CHECK(kept == 8);
  CHECK(dropped == std::map<Drop, int>{{Drop::itself, 1}, {Drop::too_different, 1}});
}

TEST_CASE("overlaps come in order, in memory or from a file, with their CIGARs") {
  std::mt19937 random(7);
  std::vector<OverlapRecord> records(20000);
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].ordinal = static_cast<std::int64_t>(i);
    records[i].target = static_cast<std::int32_t>(random() % 5);
    records[i].query = static_cast<std::int32_t>(random() % 50);
    records[i].target_start = static_cast<std::int32_t>(random() % 1000);
  }
  const auto cigar_of = [](const OverlapRecord& r) {
    return std::vector<std::uint32_t>(static_cast<std::size_t>(r.ordinal % 4), static_cast<std::uint32_t>(r.ordinal));
  };
  for (const OverlapOrder order : {OverlapOrder::target, OverlapOrder::query}) {
    std::vector<OverlapRecord> sorted = records;
    std::sort(sorted.begin(), sorted.end(), [&](const OverlapRecord& a, const OverlapRecord& b) {
      return order == OverlapOrder::target ? std::tie(a.target, a.target_start, a.ordinal) < std::tie(b.target, b.target_start, b.ordinal)
                                           : std::tie(a.query, a.ordinal) < std::tie(b.query, b.ordinal);
    });
    for (const std::size_t memory : {std::size_t{1} << 30, std::size_t{0}, sizeof(OverlapRecord) * 3001}) {
      OrderedOverlaps overlaps(order, memory);
      for (const OverlapRecord& record : records) overlaps.add(record, cigar_of(record));
      overlaps.sort();
      CHECK((overlaps.runs_in_file() > 0) == (memory < sizeof(OverlapRecord) * records.size()));
      OverlapRecord record;
      for (const OverlapRecord& expected : sorted) {
        REQUIRE(overlaps.next(record));
        REQUIRE(record.ordinal == expected.ordinal);
        std::vector<std::uint32_t> cigar(record.operations);
        overlaps.cigar(record, cigar);
        REQUIRE(cigar == cigar_of(expected));
      }
      CHECK(!overlaps.next(record));
    }
  }
}
