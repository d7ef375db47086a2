// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What the kernels of CUDA devices do, by a thread of the host and by teams of them, against the CPU's functions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstring>
#include <numeric>
#include <thread>

#include "chaining/anchor_sort.hpp"
#include "chaining/device_row.hpp"
#include "made_up_anchors.hpp"

namespace sluice::chaining {
namespace {

// Threads of the host as a team. What they say to each other goes through memory between two barriers.
template <std::uint32_t threads>
class HostThreads {
 public:
  static constexpr std::uint32_t most_threads = threads;
  struct Shared {
    std::barrier<> barrier{threads};
    std::array<std::atomic<std::uint64_t>, threads> word;
  };
  HostThreads(Shared& shared, std::uint32_t rank) : shared_(&shared), rank_(rank) {}
  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return threads; }
  void sync() { shared_->barrier.arrive_and_wait(); }
  void lap(Phase) {}
  bool any(bool flag) { return union_of(flag ? 1 : 0) != 0; }
  std::uint64_t union_of(std::uint64_t bits) {
    const auto all = exchange(bits);
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0}, [](std::uint64_t a, std::uint64_t b) { return a | b; });
  }
  std::uint32_t sum_before(std::uint32_t value, std::uint32_t& total) {
    const auto values = exchange(value);
    total = static_cast<std::uint32_t>(std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
    return static_cast<std::uint32_t>(std::accumulate(values.begin(), values.begin() + rank_, std::uint64_t{0}));
  }
  std::uint32_t add(std::uint32_t* memory, std::uint32_t value) { return std::atomic_ref(*memory).fetch_add(value); }
  void lower(std::uint32_t* memory, std::uint32_t value) {
    std::atomic_ref word(*memory);
    for (std::uint32_t now = word; value < now && !word.compare_exchange_weak(now, value);) {
    }
  }
  template <class T>
  T from(T value, std::uint32_t rank) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = exchange(bits)[rank];
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::uint32_t first(bool flag) {
    const auto flags = exchange(flag ? 1 : 0);
    return static_cast<std::uint32_t>(std::find(flags.begin(), flags.end(), 1) - flags.begin());
  }
  template <class T>
  T lowest(T value) {
    for (std::uint32_t rank = 0; rank < threads; ++rank) value = std::min(value, from(value, rank));
    return value;
  }
  template <class T>
  T highest(T value) {
    for (std::uint32_t rank = 0; rank < threads; ++rank) value = std::max(value, from(value, rank));
    return value;
  }

 private:
  std::array<std::uint64_t, threads> exchange(std::uint64_t mine) {
    shared_->word[rank_] = mine;
    sync();
    std::array<std::uint64_t, threads> all;
    std::copy(shared_->word.begin(), shared_->word.end(), all.begin());
    sync();
    return all;
  }
  Shared* shared_;
  std::uint32_t rank_;
};

class HostWarp : public HostThreads<2> {
 public:
  HostWarp(Shared& shared, std::uint32_t rank, std::uint32_t part) : HostThreads(shared, rank), part_(part) {}
  std::uint32_t part() const { return part_; }

 private:
  std::uint32_t part_;
};

class HostBlock : public HostThreads<4> {
 public:
  using Warp = HostWarp;
  static constexpr std::uint32_t most_parts = most_threads / Warp::most_threads;
  struct Memory {
    Shared shared;
    std::array<Warp::Shared, most_parts> warps;
  };
  HostBlock(Memory& memory, std::uint32_t rank) : HostThreads(memory.shared, rank), memory_(memory) {}
  Warp warp() const { return {memory_.warps[rank() / Warp::most_threads], rank() % Warp::most_threads, rank() / Warp::most_threads}; }

 private:
  Memory& memory_;
};

template <class Body>
void by_team(LoneThread*, const Body& body) {
  LoneThread team;
  body(team);
}
template <class Body>
void by_team(HostBlock*, const Body& body) {
  HostBlock::Memory memory;
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < HostBlock::most_threads; ++rank) {
    threads.emplace_back([&, rank] {
      HostBlock team(memory, rank);
      body(team);
    });
  }
}

template <class Team, class Key>
std::vector<std::uint32_t> sorted_by_team(const std::vector<Key>& keys) {
  const std::size_t n = keys.size();
  std::vector<std::uint32_t> order(n, 77), spare(n), holes(n);
  std::vector<std::uint8_t> digit(n + 1);
  std::vector<SortPart> parts(most_sort_parts(n));
  SortMemory<Team> memory;
  const RecordsToSort<Key> records{keys.data(), static_cast<std::uint32_t>(n), order.data(), spare.data(), holes.data(), digit.data(), parts.data()};
  by_team(static_cast<Team*>(nullptr), [&](Team& team) { sort_by_team(team, records, memory); });
  return order;
}

template <class Key>
std::vector<std::uint32_t> sorted_by_cpu(const std::vector<Key>& keys) {
  struct Record {
    std::uint64_t key;
    std::uint32_t number;
  };
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < keys.size(); ++i) records.push_back({keys[i], i});
  sort_records(std::span(records), [](const Record& record) { return record.key; });
  std::vector<std::uint32_t> order;
  for (const Record& record : records) order.push_back(record.number);
  return order;
}

// Threads that wait for each other at every step take long on a busy machine: they sort less.
struct Sorts {
  std::vector<std::uint64_t> spreads;
  std::vector<std::size_t> sizes;
};
const Sorts of_threads{{3, 700, 1ULL << 40}, {2, 65, 130}};

template <class Team, class Key>
void check_sort(std::mt19937_64& random, const Sorts& sorts) {
  for (const std::uint64_t spread : sorts.spreads) {
    for (const std::size_t n : sorts.sizes) {
      // Random keys, keys of two strands, keys that ascend but for a few.
      for (int kind = 0; kind < 3; ++kind) {
        std::vector<Key> keys(n);
        for (Key& key : keys) {
          key = static_cast<Key>(random() % spread);
          if (kind == 1) key = static_cast<Key>(key | static_cast<Key>(random() % 2) << (sizeof(Key) * 8 - 1));
        }
        if (kind == 2) {
          std::sort(keys.begin(), keys.end());
          for (std::size_t i = 0; i + 1 < n; i += 1 + random() % 40) std::swap(keys[i], keys[random() % n]);
        }
        CHECK(sorted_by_team<Team>(keys) == sorted_by_cpu(keys));
      }
    }
  }
}

template <class Team, class Key>
void check_merge(std::mt19937_64& random, const Sorts& sorts) {
  for (const std::uint64_t spread : sorts.spreads) {
    for (const std::size_t n : sorts.sizes) {
      std::vector<Key> keys(n);
      for (Key& key : keys) key = static_cast<Key>(random() % spread);
      std::vector<std::uint32_t> order(n, 77), spare(n, 78), expected(n);
      std::iota(expected.begin(), expected.end(), 0U);
      std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
      const RecordsToSort<Key> records{keys.data(), static_cast<std::uint32_t>(n), order.data(), spare.data(), nullptr, nullptr, nullptr};
      by_team(static_cast<Team*>(nullptr), [&](Team& team) { merge_by_team(team, records); });
      CHECK(order == expected);
    }
  }
}

TEST_CASE("a team sorts stably") {
  std::mt19937_64 random(4);
  const Sorts all{{1, 2, 40, 70000, 1ULL << 31, 1ULL << 40}, {0, 1, 2, 31, 32, 33, 63, 64, 65, 130, 700, 1025, 20000}};
  check_merge<LoneThread, std::uint64_t>(random, all);
  check_merge<LoneThread, std::uint32_t>(random, all);
  check_merge<HostBlock, std::uint64_t>(random, of_threads);
}

TEST_CASE("a team puts records into the order of minimap2's sort") {
  std::mt19937_64 random(3);
  const Sorts all{{1, 2, 3, 40, 256, 700, 70000, 1ULL << 31, 1ULL << 40}, {0, 1, 2, 63, 64, 65, 130, 700, 20000}};
  check_sort<LoneThread, std::uint64_t>(random, all);
  check_sort<LoneThread, std::uint32_t>(random, all);
  check_sort<HostBlock, std::uint64_t>(random, of_threads);
}

// A row of a batch with room as cuda_chains.cu gives it, but filled with nonsense.
template <class Team>
class RowChainer {
 public:
  RowChainer(const MadeUpRead& read, const ChainingParameters& parameters, std::int32_t long_run_anchors)
      : read_(read), parameters_(parameters), n_(read.x.size()), long_run_anchors_(long_run_anchors) {
    for (auto* words : {&end_, &end_score_, &order_, &spare_, &claim_, &depth_, &claimed_, &first_anchor_}) words->assign(n_, 0xABABABAB);
    run_.assign(n_, 0);
    for (auto* numbers : {&claimed_score_, &joined_score_, &joined_predecessor_, &found.score, &found.anchor_count}) numbers->assign(n_, -7);
    for (auto* words : {&first_x_, &x_, &y_, &found.x, &found.y}) words->assign(n_, ~std::uint64_t{0});
    for (auto* numbers : {&cost_, &lowest_cost_}) numbers->assign(n_, -1e300);
    digit_.resize(n_ + 1);
    parts_.resize(most_sort_parts(n_));
  }

  // False: undecided.
  bool run(const FoundChains& scores) {
    for (std::size_t i = 1; i < n_; ++i) run_[i] = run_[i - 1] + (begins_run(read_.x.data(), static_cast<std::int32_t>(i), 5000) ? 1 : 0);
    const RowRules rules{
        parameters_,
        {join_limits(parameters_, parameters_.bw_long), parameters_.rmq_size_cap, step_costs(parameters_), UINT32_MAX, long_run_anchors_},
        true};
    const ScoredRow row{
        read_.x.data(), read_.y.data(), scores.anchor_score.data(), scores.predecessor.data(), run_.data(), static_cast<std::uint32_t>(n_),
        read_.length};
    const RowRoom room{{end_.data(), end_score_.data(), order_.data(), spare_.data(), claim_.data(), depth_.data(), claimed_.data(),
                        first_anchor_.data(), claimed_score_.data(), first_x_.data(), digit_.data(), parts_.data()},
                       x_.data(),
                       y_.data(),
                       joined_score_.data(),
                       joined_predecessor_.data(),
                       cost_.data(),
                       lowest_cost_.data()};
    ChainTotals totals{};
    bool decided = false;
    by_team(static_cast<Team*>(nullptr), [&](Team& team) {
      ChainTotals mine{};
      const bool is_decided =
          chain_row(team, row, rules, room, {found.score.data(), found.anchor_count.data(), found.x.data(), found.y.data()}, memory_, mine);
      if (team.rank() != 0) return;
      totals = mine;
      decided = is_decided;
    });
    found.score.resize(totals.chains);
    found.anchor_count.resize(totals.chains);
    found.x.resize(totals.anchors);
    found.y.resize(totals.anchors);
    return decided;
  }
  FoundChains found;

 private:
  const MadeUpRead& read_;
  const ChainingParameters& parameters_;
  std::size_t n_;
  std::int32_t long_run_anchors_;
  std::vector<std::uint32_t> end_, end_score_, order_, spare_, claim_, depth_, claimed_, first_anchor_, run_;
  std::vector<std::int32_t> claimed_score_, joined_score_, joined_predecessor_;
  std::vector<std::uint64_t> first_x_, x_, y_;
  std::vector<double> cost_, lowest_cost_;
  std::vector<std::uint8_t> digit_;
  std::vector<SortPart> parts_;
  RowMemory<Team> memory_{};
};

std::vector<ChainingParameters> parameter_sets() {
  std::vector<ChainingParameters> sets(9);
  sets[1].bw_long = sets[1].bw;
  sets[2].bw = 20;
  sets[2].max_gap = 300;
  sets[3].rmq_inner_dist = 0;
  sets[4].rmq_inner_dist = 60;
  sets[4].bw_long = 700;
  sets[4].max_gap = 400;
  sets[5].chain_skip_scale = 0.3F;
  sets[5].min_cnt = 1;
  sets[5].min_chain_score = 1;
  sets[6].rmq_size_cap = 40;
  sets[6].min_chain_score = 16;
  sets[7].ties = sets[8].ties = Ties::place;
  sets[7].bw_long = sets[8].bw_long = 0;
  sets[8].min_cnt = 1;
  sets[8].min_chain_score = 1;
  return sets;
}

template <class Team>
void check_rows(int repeats, int most_anchors, const std::vector<ChainingParameters>& sets) {
  std::mt19937 random(11);
  ChainingWorkspace workspace;
  int undecided = 0, all = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const ChainingParameters& parameters : sets) {
      for (AnchorKind kind : anchor_kinds()) {
        kind.count = std::min(kind.count, most_anchors);
        const MadeUpRead read = make_up_anchors(kind, random);
        const FoundChains want = find_chains(read, parameters, workspace);
        FoundChains chains = want;
        chains.anchor_score.clear();
        chains.predecessor.clear();
        for (const std::int32_t long_run_anchors : {30, 10000}) {
          RowChainer<Team> chainer(read, parameters, long_run_anchors);
          ++all;
          if (chainer.run(want)) {
            CHECK(chainer.found == chains);
          } else {
            ++undecided;
          }
        }
      }
    }
  }
  MESSAGE(undecided << " of " << all << " undecided");
  CHECK(undecided * 3 < all);
}

// Scores that rise and fall along a chain, so that walks go on in vain, over more anchors than a window has.
template <class Team>
void check_walks(int repeats, std::size_t most_anchors) {
  std::mt19937 random(5);
  ChainingWorkspace workspace;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    MadeUpRead read;
    FoundChains want;
    const std::size_t n = most_anchors / 2 + random() % (most_anchors / 2);
    read.length = static_cast<std::int32_t>(n);
    const std::uint32_t furthest = 1 + random() % 9;
    std::int32_t rise = 1;
    for (std::size_t i = 0; i < n; ++i) {
      read.x.push_back(i);
      read.y.push_back(std::uint64_t{15} << 32 | i);
      if (random() % 300 == 0) rise = static_cast<std::int32_t>(random() % 9) - 3;
      const bool begins = i == 0 || random() % 500 == 0;
      const std::int32_t before = begins ? -1 : static_cast<std::int32_t>(i - std::min<std::size_t>(i, 1 + random() % furthest));
      const std::int32_t score = begins ? 15 : want.anchor_score[static_cast<std::size_t>(before)] + rise + static_cast<std::int32_t>(random() % 3);
      want.predecessor.push_back(before);
      want.anchor_score.push_back(std::max(score, 1));
    }
    ChainingParameters parameters;
    parameters.bw = parameters.bw_long = std::array{0, 20, 300, 5000}[static_cast<std::size_t>(repeat % 4)];
    FoundChains chains;
    for (auto* numbers : {&chains.score, &chains.anchor_count}) numbers->resize(n);
    for (auto* words : {&chains.x, &chains.y}) words->resize(n);
    const Chains found = chains_from_scores(read.anchors(), read.length, parameters, workspace,
                                            {chains.score, chains.anchor_count, chains.x, chains.y}, {want.anchor_score, want.predecessor});
    for (auto* numbers : {&chains.score, &chains.anchor_count}) numbers->resize(found.score.size());
    for (auto* words : {&chains.x, &chains.y}) words->resize(found.anchor_x.size());
    RowChainer<Team> chainer(read, parameters, 10000);
    CHECK(chainer.run(want));
    CHECK(chainer.found == chains);
  }
}

TEST_CASE("a team walks as the CPU does over scores that rise and fall") {
  check_walks<LoneThread>(200, 4000);
  check_walks<HostBlock>(2, 600);
}
TEST_CASE("a thread finds the chains of a row as the CPU does, or says that it can't") { check_rows<LoneThread>(20, 10000, parameter_sets()); }
TEST_CASE("so do several threads at once") {
  const std::vector<ChainingParameters> sets = parameter_sets();
  check_rows<HostBlock>(1, 100, {sets[0], sets[4], sets[8]});
}

}  // namespace
}  // namespace sluice::chaining
