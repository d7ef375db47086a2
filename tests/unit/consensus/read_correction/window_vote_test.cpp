// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What the kernels of CUDA devices do with a window, by a thread of the host and by teams of them, against ConsensusVote.
#include "read_correction/window_vote.hpp"

#include <doctest/doctest.h>

#include <array>
#include <barrier>
#include <mutex>
#include <numeric>
#include <thread>

#include "read_correction/consensus_vote.hpp"
#include "unit/consensus/read_correction/simulated_reads.hpp"

using namespace sluice::read_correction;

namespace {

class LoneThread {
 public:
  static constexpr std::uint32_t threads = 1;
  std::uint32_t rank() const { return 0; }
  std::uint32_t size() const { return 1; }
  void sync() {}
  bool any(bool flag) { return flag; }
  std::uint32_t ballot(bool flag) { return flag ? 1 : 0; }
  std::uint32_t sum(std::uint32_t value) { return value; }
  std::uint32_t sum_before(std::uint32_t value, std::uint32_t& total) {
    total = value;
    return 0;
  }
  template <class T>
  T from(T value, std::uint32_t) {
    return value;
  }
  template <class Body>
  static void each(const Body& body) {
    LoneThread team;
    body(team);
  }
};

// What they say to each other goes through memory between two barriers.
template <std::uint32_t count>
class Threads {
 public:
  static constexpr std::uint32_t threads = count;
  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return threads; }
  void sync() { shared_.barrier.arrive_and_wait(); }
  bool any(bool flag) { return ballot(flag) != 0; }
  std::uint32_t ballot(bool flag) {
    const auto all = exchange(flag ? 1 : 0);
    std::uint32_t bits = 0;
    for (std::uint32_t rank = 0; rank < threads; ++rank) bits |= all[rank] << rank;
    return bits;
  }
  std::uint32_t sum(std::uint32_t value) {
    std::uint32_t total = 0;
    sum_before(value, total);
    return total;
  }
  std::uint32_t sum_before(std::uint32_t value, std::uint32_t& total) {
    const auto all = exchange(value);
    total = std::accumulate(all.begin(), all.end(), 0U);
    return std::accumulate(all.begin(), all.begin() + rank_, 0U);
  }
  template <class T>
  T from(T value, std::uint32_t rank) {
    return static_cast<T>(exchange(static_cast<std::uint32_t>(value))[rank]);
  }
  template <class Body>
  static void each(const Body& body) {
    Shared shared;
    std::vector<std::jthread> running;
    for (std::uint32_t rank = 0; rank < threads; ++rank)
      running.emplace_back([&, rank] {
        Threads team(shared, rank);
        body(team);
      });
  }

 private:
  struct Shared {
    std::barrier<> barrier{threads};
    std::array<std::uint32_t, threads> word{};
  };
  Threads(Shared& shared, std::uint32_t rank) : shared_(shared), rank_(rank) {}
  std::array<std::uint32_t, threads> exchange(std::uint32_t mine) {
    shared_.word[rank_] = mine;
    sync();
    const auto all = shared_.word;
    sync();
    return all;
  }
  Shared& shared_;
  std::uint32_t rank_;
};

struct Window {
  std::string letters, qualities, consensus;
  std::vector<std::int32_t> lengths;
  void add(const std::string& sequence) {
    letters += sequence;
    lengths.push_back(static_cast<std::int32_t>(sequence.size()));
  }
};

struct Outcome {
  bool is_there = false;
  std::string consensus;
  VariantSites sites;
};

Outcome of_cpu(const Window& window, std::int32_t rounds) {
  Outcome outcome{true, window.consensus, {}};
  ConsensusVote vote;
  vote.refine(window.letters, window.lengths, window.qualities, rounds, outcome.consensus);
  vote.find_sites(window.lengths, outcome.consensus, outcome.sites);
  return outcome;
}

template <class Team>
Outcome of_team(const Window& window, std::int32_t rounds, std::int32_t columns) {
  const auto room = static_cast<std::size_t>(columns);
  constexpr std::uint32_t threads = Team::threads;
  // What nobody has written shows.
  std::vector<std::uint32_t> planes(LetterPlanes::all_words(columns) * threads, 0xABABABAB), ballots(VoteMemory::ballot_words(room), 0xABABABAB),
      mask((room + 31) / 32, 0xABABABAB);
  std::vector<std::uint64_t> cells(VoteMemory::cell_bytes(room, threads) / 8, 0xABABABABABABABAB);
  std::vector<char> texts(2 * room, '#');
  const VoteMemory memory{columns, planes.data(), reinterpret_cast<std::byte*>(cells.data()), ballots.data(), texts.data()};
  const WindowSequences sequences{window.letters.data(), window.qualities.empty() ? nullptr : window.qualities.data(), window.lengths.data(),
                                  static_cast<std::uint32_t>(window.lengths.size())};
  Outcome outcome;
  std::mutex mutex;  // guards outcome
  std::vector<std::int32_t> places;
  std::string letters;
  Team::each([&](Team& team) {
    WindowVote<Team> vote(team, sequences, memory, window.consensus.data(), static_cast<std::int32_t>(window.consensus.size()));
    const bool fits = vote.refine(rounds);
    const std::int32_t sites = fits ? vote.find_sites(mask.data()) : -1;
    {
      const std::lock_guard lock(mutex);
      outcome.is_there = sites >= 0;
      outcome.consensus.assign(vote.consensus(), static_cast<std::size_t>(vote.columns()));
      places.assign(static_cast<std::size_t>(std::max(sites, 0)), -1);
      letters.assign(places.size() * window.lengths.size(), '#');
    }
    team.sync();
    if (sites <= 0) return;
    // By others, of the consensus alone.
    WindowVote<Team> writer(team, sequences, memory, outcome.consensus.data(), static_cast<std::int32_t>(outcome.consensus.size()));
    const bool written = writer.write_sites(mask.data(), sites, places.data(), letters.data());
    const std::lock_guard lock(mutex);
    outcome.is_there = outcome.is_there && written;
  });
  outcome.sites = {places, letters};
  return outcome;
}

// Two haplotypes, sequences with errors, some of them unrelated or empty, letters that are none of A, C, G and T.
struct Kind {
  std::size_t most_length = 150, most_sequences = 41;
  double most_errors = 0.15;
  bool is_odd = false;
};

Window random_window(const Kind& kind, std::mt19937& random) {
  const auto chance = [&](unsigned in) { return random() % in == 0; };
  Window window;
  const std::string truth = simulated_reads::random_bases(1 + random() % kind.most_length, random);
  std::string other = truth;
  if (chance(2))
    for (char& base : other)
      if (chance(30)) base = "ACGT"[random() % 4];
  const double errors = kind.most_errors * static_cast<double>(1 + random() % 4) / 4;
  const std::size_t sequences = random() % kind.most_sequences;
  for (std::size_t i = 0; i < sequences; ++i) {
    std::string copy = simulated_reads::noisy_copy(chance(2) ? truth : other, errors, random);
    if (kind.is_odd) {
      for (char& base : copy)
        if (chance(40)) base = "NRacgtuX"[random() % 8];
      if (chance(12)) copy.clear();
      if (chance(15)) copy = simulated_reads::random_bases(random() % 170, random);
      if (chance(15)) copy.insert(random() % (copy.size() + 1), simulated_reads::random_bases(1 + random() % 12, random));
    }
    window.add(copy);
  }
  window.consensus = simulated_reads::noisy_copy(truth, 0.04, random);
  if (kind.is_odd)
    for (char& base : window.consensus)
      if (chance(60)) base = "NRacgtuX"[random() % 8];
  if (!chance(4))
    for (std::size_t i = 0; i < window.letters.size(); ++i)
      window.qualities.push_back(static_cast<char>(chance(50) ? random() % 256 : '!' + random() % 60));
  return window;
}

struct Compared {
  int windows = 0, left = 0, changed = 0, sites = 0;
};

template <class Team>
Compared compare(const Kind& kind, int windows, std::mt19937& random) {
  Compared compared{.windows = windows};
  for (int i = 0; i < windows; ++i) {
    const Window window = random_window(kind, random);
    const auto rounds = static_cast<std::int32_t>(1 + random() % 3);
    const auto room = static_cast<std::int32_t>(window.consensus.size() + window.consensus.size() / 4 + 32);
    const Outcome expected = of_cpu(window, rounds), actual = of_team<Team>(window, rounds, room);
    if (!actual.is_there) {
      ++compared.left;
      continue;
    }
    CHECK(actual.consensus == expected.consensus);
    CHECK(actual.sites.places == expected.sites.places);
    CHECK(actual.sites.letters == expected.sites.letters);
    compared.changed += expected.consensus != window.consensus ? 1 : 0;
    compared.sites += expected.sites.places.empty() ? 0 : 1;
  }
  return compared;
}

}  // namespace

TEST_CASE("a device's votes and sites are the CPU's") {
  std::mt19937 random(51);
  const Compared usual = compare<LoneThread>({}, 1500, random);
  CHECK(usual.left == 0);
  CHECK(usual.changed > 700);
  CHECK(usual.sites > 100);
  const Compared odd = compare<LoneThread>({.is_odd = true}, 1500, random);
  CHECK(odd.left < odd.windows / 2);
  CHECK(odd.changed > 300);
  CHECK(odd.sites > 30);
  const Compared long_ones = compare<LoneThread>({.most_length = 320, .most_sequences = 30}, 200, random);
  CHECK(long_ones.left < 20);
  CHECK(compare<LoneThread>({.most_length = 12, .most_sequences = 8, .most_errors = 0.4, .is_odd = true}, 1500, random).changed > 200);
}

TEST_CASE("so are those of several threads, which have as many of the sequences at a time") {
  std::mt19937 random(52);
  CHECK(compare<Threads<4>>({.most_length = 80, .most_sequences = 13, .is_odd = true}, 60, random).sites > 0);
  CHECK(compare<Threads<4>>({.most_length = 40, .most_sequences = 4}, 30, random).changed > 5);
  CHECK(compare<Threads<32>>({.most_length = 30, .most_sequences = 42, .is_odd = true}, 5, random).left < 5);
  // Eight of a warp's are in the wider band at a time.
  Window window;
  window.consensus = simulated_reads::random_bases(20, random);
  for (int i = 0; i < 36; ++i) window.add(window.consensus + (i % 3 == 0 ? "" : simulated_reads::random_bases(33 + random() % 10, random)));
  const Outcome expected = of_cpu(window, 1), actual = of_team<Threads<32>>(window, 1, 60);
  CHECK(actual.is_there);
  CHECK(actual.consensus == expected.consensus);
  CHECK(actual.sites.letters == expected.sites.letters);
}

TEST_CASE("sums of as many voters as there may be are right, and a consensus that becomes too long is left to the CPU") {
  Window window;
  for (std::uint32_t i = 0; i < most_voters; ++i) window.add(i % 3 == 0 ? "ACGTA" : "ACTTGA");
  window.qualities.assign(window.letters.size(), '\x7F');
  window.consensus = "ACGTA";
  const Outcome outcome = of_team<LoneThread>(window, 2, 6);
  CHECK(outcome.is_there);
  CHECK(outcome.consensus == of_cpu(window, 2).consensus);
  CHECK(outcome.sites.letters == of_cpu(window, 2).sites.letters);
  CHECK_FALSE(of_team<LoneThread>(window, 2, 5).is_there);
}

TEST_CASE("long insertions and deletions are voted on in the wider band") {
  // The vote of one sequence is its path.
  std::mt19937 random(53);
  int known = 0;
  for (int round = 0; round < 400; ++round) {
    Window window;
    const std::string truth = simulated_reads::random_bases(40 + random() % 120, random);
    std::string copy = simulated_reads::noisy_copy(truth, 0.1, random);
    const std::size_t size = 1 + random() % 60;
    if (round % 2 == 0)
      copy.insert(random() % copy.size(), simulated_reads::random_bases(size, random));
    else
      copy.erase(random() % copy.size(), size);
    window.add(copy);
    window.consensus = truth;
    const Outcome outcome = of_team<LoneThread>(window, 1, 400);
    known += outcome.is_there ? 1 : 0;
    if (outcome.is_there) CHECK(outcome.consensus == of_cpu(window, 1).consensus);
  }
  CHECK(known > 390);
}
