// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Votes and sites of windows on the device against ConsensusVote, every letter and place, then timings.
// Run: read_correction_gpu_test [small | check | bench | all = all] [thousands of windows of the timings = 20]

#include <chrono>
#include <memory>
#include <sluice/failure.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel_check.hpp"
#include "gpu/simulated_windows.hpp"
#include "read_correction/consensus_vote.hpp"
#include "read_correction/cuda.hpp"
#include "read_correction/window_vote.hpp"

namespace {

using namespace sluice::gpu_test;
using namespace sluice::read_correction;

int failures = 0;

struct Windows {
  WindowColumns columns;  // without layers
  std::string consensus;
  std::vector<std::int64_t> consensus_offsets{0};
  std::vector<std::uint8_t> is_polished;
  std::vector<std::uint16_t> row_status;

  std::size_t count() const { return is_polished.size(); }
  void end_window(std::string_view of_window, std::uint8_t polished = 1, std::uint16_t status = 0) {
    columns.end_window();
    consensus += of_window;
    consensus_offsets.push_back(static_cast<std::int64_t>(consensus.size()));
    is_polished.push_back(polished);
    row_status.push_back(status);
  }
  std::string_view letters(std::size_t i) const { return part(columns.letters, columns.text_offsets, i); }
  std::string_view qualities(std::size_t i) const { return part(columns.qualities, columns.quality_offsets, i); }
  std::string_view consensus_of(std::size_t i) const { return part(consensus, consensus_offsets, i); }
  std::span<const std::int32_t> lengths(std::size_t i) const {
    return std::span(columns.length)
        .subspan(static_cast<std::size_t>(columns.sequence_offsets[i]),
                 static_cast<std::size_t>(columns.sequence_offsets[i + 1] - columns.sequence_offsets[i]));
  }

 private:
  static std::string_view part(const std::string& all, const std::vector<std::int64_t>& offsets, std::size_t i) {
    return std::string_view(all).substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  }
};

struct Voted {
  cuda::Outcome outcome;
  std::string consensus;
  VariantSites sites;
};

// Of what the CPU makes of it `left` is never the outcome.
Voted of_cpu(const Windows& windows, std::size_t i, std::int32_t rounds, ConsensusVote& vote) {
  if (windows.row_status[i] != 0) return {cuda::Outcome::absent, {}, {}};
  const std::span<const std::int32_t> lengths = windows.lengths(i);
  std::int64_t letters = 0;
  for (const std::int32_t length : lengths) letters = length < 0 || letters < 0 ? -1 : letters + length;
  if (letters != static_cast<std::int64_t>(windows.letters(i).size())) return {cuda::Outcome::bad, {}, {}};
  if (!windows.qualities(i).empty() && windows.qualities(i).size() != windows.letters(i).size()) return {cuda::Outcome::bad, {}, {}};
  Voted voted{cuda::Outcome::kept, std::string(windows.consensus_of(i)), {}};
  if (windows.is_polished[i] == 0 || lengths.size() < 2 || rounds == 0 || voted.consensus.empty()) return voted;
  voted.outcome = cuda::Outcome::voted;
  vote.refine(windows.letters(i), lengths, windows.qualities(i), rounds, voted.consensus);
  vote.find_sites(lengths, voted.consensus, voted.sites);
  return voted;
}

std::vector<char> characters(const std::string& text) { return {text.begin(), text.end()}; }

enum class Sites { wanted, unwanted };

class Voter {
 public:
  Voter(const Windows& windows, std::int32_t rounds, Sites sites, std::size_t scratch_bytes)
      : rules_{rounds, sites == Sites::wanted},
        scratch_bytes_(scratch_bytes),
        text_offsets_(windows.columns.text_offsets),
        sequence_offsets_(windows.columns.sequence_offsets),
        quality_offsets_(windows.columns.quality_offsets),
        consensus_offsets_(windows.consensus_offsets),
        letters_(characters(windows.columns.letters)),
        qualities_(characters(windows.columns.qualities)),
        consensus_(characters(windows.consensus)),
        length_(windows.columns.length),
        is_polished_(windows.is_polished),
        row_status_(windows.row_status),
        outcome_(windows.count(), Contents::poison),
        text_(windows.count() + 1, Contents::poison),
        sites_(windows.count() + 1, Contents::poison),
        site_letters_(windows.count() + 1, Contents::poison) {
    windows_ = {.count = static_cast<std::int64_t>(windows.count()),
                .text_offsets = text_offsets_.data(),
                .letters = letters_.data(),
                .sequence_offsets = sequence_offsets_.data(),
                .length = length_.data(),
                .quality_offsets = windows.columns.qualities.empty() ? nullptr : quality_offsets_.data(),
                .qualities = qualities_.data(),
                .consensus_offsets = consensus_offsets_.data(),
                .consensus = consensus_.data(),
                .is_polished = is_polished_.data(),
                .row_status = row_status_.data()};
  }
  // All as a call of the stage does it, but for the copies to the host. Memory is kept from one run to the next.
  void run() {
    next_ = 0;
    const cuda::Allocate allocate = [this](std::size_t bytes) { return take(bytes); };
    votes_ = {.outcome = outcome_.data(), .text = text_.data()};
    if (rules_.wants_sites) votes_.sites = sites_.data(), votes_.site_letters = site_letters_.data();
    plan_ = cuda::plan_votes(windows_, rules_, votes_, nullptr, allocate);
    const auto count = static_cast<std::size_t>(windows_.count);
    votes_.room = static_cast<char*>(take(count * static_cast<std::size_t>(plan_.columns)));
    if (rules_.wants_sites) votes_.site_mask = static_cast<std::uint32_t*>(take(count * mask_words(plan_) * sizeof(std::uint32_t)));
    const cuda::VoteScratch scratch = cuda::make_scratch(windows_, plan_, 0, scratch_bytes_, allocate);
    blocks_ = scratch.blocks;
    cuda::cast_votes(windows_, rules_, plan_, scratch, votes_, nullptr);
    cuda::place_votes(windows_, votes_, nullptr, allocate);
    written_.text = static_cast<char*>(take(last(text_)));
    if (rules_.wants_sites) {
      written_.site_places = static_cast<std::int32_t*>(take(last(sites_) * sizeof(std::int32_t)));
      written_.site_letters = static_cast<char*>(take(last(site_letters_)));
    }
    cuda::write_votes(windows_, plan_, scratch, votes_, written_, nullptr);
    require(cudaDeviceSynchronize(), "the kernels");
  }
  std::vector<Voted> outcomes() const {
    const std::vector<cuda::Outcome> outcome = outcome_.download();
    const std::vector<std::int64_t> text = text_.download(), sites = sites_.download(), site_letters = site_letters_.download();
    const std::vector<char> letters = fetched(written_.text, text.back());
    std::vector<std::int32_t> places;
    std::vector<char> of_sites;
    if (rules_.wants_sites) {
      places = fetched(written_.site_places, sites.back());
      of_sites = fetched(written_.site_letters, site_letters.back());
    }
    std::vector<Voted> voted;
    for (std::size_t i = 0; i < outcome.size(); ++i) {
      voted.push_back({outcome[i], {letters.begin() + text[i], letters.begin() + text[i + 1]}, {}});
      if (!rules_.wants_sites) continue;
      voted.back().sites.places.assign(places.begin() + sites[i], places.begin() + sites[i + 1]);
      voted.back().sites.letters.assign(of_sites.begin() + site_letters[i], of_sites.begin() + site_letters[i + 1]);
    }
    return voted;
  }
  unsigned int blocks() const { return blocks_; }

 private:
  void* take(std::size_t bytes) {
    if (next_ == memory_.size()) memory_.push_back(std::make_unique<DeviceArray<std::byte>>(bytes, Contents::poison));
    if (memory_[next_]->size() < bytes) memory_[next_] = std::make_unique<DeviceArray<std::byte>>(bytes, Contents::poison);
    return memory_[next_++]->data();
  }
  std::size_t last(const DeviceArray<std::int64_t>& offsets) const {
    std::int64_t value = 0;
    require(cudaMemcpy(&value, offsets.data() + windows_.count, sizeof value, cudaMemcpyDeviceToHost), "copy from the device");
    return static_cast<std::size_t>(value);
  }
  template <class T>
  static std::vector<T> fetched(const T* from, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) require(cudaMemcpy(values.data(), from, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }

  cuda::VoteRules rules_;
  std::size_t scratch_bytes_;
  DeviceArray<std::int64_t> text_offsets_, sequence_offsets_, quality_offsets_, consensus_offsets_;
  DeviceArray<char> letters_, qualities_, consensus_;
  DeviceArray<std::int32_t> length_;
  DeviceArray<std::uint8_t> is_polished_;
  DeviceArray<std::uint16_t> row_status_;
  DeviceArray<cuda::Outcome> outcome_;
  DeviceArray<std::int64_t> text_, sites_, site_letters_;
  cuda::DeviceWindows windows_;
  cuda::VotePlan plan_;
  cuda::DeviceVotes votes_;
  cuda::WrittenVotes written_;
  unsigned int blocks_ = 0;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory_;
  std::size_t next_ = 0;
};

struct Kind {
  std::size_t least_length = 1, most_length = 150, most_sequences = 40;
  double errors = 12;  // percent, at the most
  bool is_odd = false;
  bool has_qualities = true;
};

std::string with_odd_letters(WindowRandom& random, std::string text, unsigned one_in) {
  for (char& letter : text)
    if (random() % one_in == 0) letter = "NRacgtuX"[random() % 8];
  return text;
}

// Of two haplotypes. Odd ones have empty, unrelated and too long sequences, other letters, and lengths that do not fit; some are not polished, or
// have failed.
Windows made_windows(WindowRandom& random, const Kind& kind, std::size_t count) {
  Windows windows;
  WindowColumns& columns = windows.columns;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string original = random_sequence(random, kind.least_length + random() % (kind.most_length - kind.least_length + 1));
    std::string other = original;
    if (random() % 2 == 0)
      for (char& letter : other)
        if (random() % 50 == 0) letter = "ACGT"[random() % 4];
    const double errors = kind.errors * static_cast<double>(1 + random() % 4) / 4;
    const std::size_t begin = columns.letters.size();
    for (std::size_t s = random() % (kind.most_sequences + 1); s > 0; --s) {
      std::string copy = noisy_copy(random, random() % 2 == 0 ? original : other, errors);
      if (kind.is_odd) {
        copy = with_odd_letters(random, copy, 60);
        if (random() % 20 == 0) copy.clear();
        if (random() % 200 == 0) copy = random_sequence(random, random() % 300);
        if (random() % 40 == 0) copy.insert(random() % (copy.size() + 1), random_sequence(random, 1 + random() % 20));
      }
      columns.add_sequence(copy);
    }
    if (kind.has_qualities && random() % 8 != 0)
      while (columns.qualities.size() < static_cast<std::size_t>(columns.quality_offsets.back()) + columns.letters.size() - begin)
        columns.qualities += static_cast<char>(random() % 50 == 0 ? random() % 256 : 33 + random() % 60);
    std::string consensus = noisy_copy(random, original, 4);
    if (kind.is_odd) {
      consensus = with_odd_letters(random, consensus, 100);
      if (random() % 30 == 0 && !columns.length.empty()) columns.length.back() -= static_cast<std::int32_t>(random() % 400);
      if (random() % 30 == 0) columns.qualities += '!';
    }
    windows.end_window(consensus, kind.is_odd && random() % 20 == 0 ? 0 : 1, kind.is_odd && random() % 20 == 0 ? 3 : 0);
  }
  return windows;
}

// With sums as large as they may be, and one sequence more than that.
Windows most_sequences() {
  Windows windows;
  for (const std::uint32_t sequences : {most_voters, most_voters + 1}) {
    for (std::uint32_t s = 0; s < sequences; ++s) windows.columns.add_sequence(s % 3 == 0 ? "ACGTA" : "ACTTGA");
    windows.columns.qualities.resize(windows.columns.letters.size(), '\x7F');
    windows.end_window("ACGTA");
  }
  return windows;
}

struct Check {
  std::int32_t rounds = 2;
  Sites sites = Sites::wanted;
  double most_left = 0.01;  // share of the windows
  std::size_t scratch_bytes = std::size_t{1} << 30;
};

void check(const char* name, const Windows& windows, const Check& how) {
  Voter voter(windows, how.rounds, how.sites, how.scratch_bytes);
  voter.run();
  const std::vector<Voted> actual = voter.outcomes();
  std::vector<std::uint8_t> is_different(windows.count()), is_changed(windows.count()), has_sites(windows.count());
  in_parallel((windows.count() + 63) / 64, [&](std::size_t group) {
    ConsensusVote vote;
    for (std::size_t i = group * 64; i < std::min(windows.count(), group * 64 + 64); ++i) {
      const Voted expected = of_cpu(windows, i, how.rounds, vote);
      if (actual[i].outcome == cuda::Outcome::left) {
        is_different[i] = expected.outcome != cuda::Outcome::voted || !actual[i].consensus.empty() || !actual[i].sites.places.empty();
        continue;
      }
      is_different[i] =
          actual[i].outcome != expected.outcome || actual[i].consensus != expected.consensus ||
          (how.sites == Sites::wanted && (actual[i].sites.places != expected.sites.places || actual[i].sites.letters != expected.sites.letters));
      is_changed[i] = expected.consensus != windows.consensus_of(i);
      has_sites[i] = !expected.sites.places.empty();
    }
  });
  std::size_t different = 0, left = 0, changed = 0, with_sites = 0;
  for (std::size_t i = 0; i < windows.count(); ++i) {
    if (is_different[i] != 0 && different++ == 0) std::printf("first different window: %zu\n", i);
    left += actual[i].outcome == cuda::Outcome::left ? 1 : 0;
    changed += is_changed[i];
    with_sites += has_sites[i];
  }
  const bool is_right = different == 0 && static_cast<double>(left) <= how.most_left * static_cast<double>(windows.count());
  if (!is_right) ++failures;
  std::printf("%s %-34s %zu windows, %zu different; %zu changed, %zu with sites, %zu left to the CPU\n", is_right ? "same" : "FAILED", name,
              windows.count(), different, changed, with_sites, left);
}

void check_all(std::size_t count) {
  WindowRandom random(29);
  check("as they are", made_windows(random, {.least_length = 50}, count), {});
  check("without sites", made_windows(random, {.least_length = 50}, count), {.sites = Sites::unwanted});
  check("without qualities", made_windows(random, {.has_qualities = false}, count), {.rounds = 1});
  check("short ones, 40 % errors", made_windows(random, {.most_length = 12, .most_sequences = 8, .errors = 40}, count), {.rounds = 5});
  check("long ones", made_windows(random, {.least_length = 200, .most_length = 480, .most_sequences = 30, .errors = 8}, count / 4 + 1),
        {.most_left = 0.1});
  check("too long ones", made_windows(random, {.least_length = 400, .most_length = 800, .most_sequences = 10, .errors = 4}, count / 10 + 1),
        {.most_left = 1});
  check("many sequences", made_windows(random, {.most_sequences = 200}, count / 8 + 1), {.most_left = 0.05});
  check("odd ones", made_windows(random, {.is_odd = true}, count), {.rounds = 3, .most_left = 0.3});
  check("odd ones, no votes", made_windows(random, {.is_odd = true}, count), {.rounds = 0});
  check("odd ones, little memory", made_windows(random, {.is_odd = true}, count), {.most_left = 0.3, .scratch_bytes = 1});
  check("most sequences", most_sequences(), {.most_left = 0.5});
  check("no windows", Windows(), {});
}

void measure(double thousands, int runs) {
  WindowRandom random(31);
  for (const double errors : {3.0, 8.0, 12.0}) {
    Windows windows;
    for (int i = 0; i < static_cast<int>(thousands * 1000); ++i) {
      const std::string original = random_sequence(random, 100);
      for (int s = 0; s < 30; ++s) windows.columns.add_sequence(noisy_copy(random, original, errors));
      while (windows.columns.qualities.size() < windows.columns.letters.size()) windows.columns.qualities += static_cast<char>(38 + random() % 20);
      windows.end_window(noisy_copy(random, original, 0.5));
    }
    for (const Sites sites : {Sites::wanted, Sites::unwanted}) {
      Voter voter(windows, 2, sites, std::size_t{512} << 20U);
      const double milliseconds = median_milliseconds(runs, [&] { voter.run(); });
      std::size_t left = 0;
      for (const Voted& voted : voter.outcomes()) left += voted.outcome == cuda::Outcome::left ? 1 : 0;
      const auto letters = static_cast<double>(windows.columns.letters.size());
      std::printf(
          "TIME votes, 100 bp x 30, %2.0f %% errors, %s: %zu windows %7.2f ms = %8.1f k windows/s, %6.1f Gbases/s of sequences, %u blocks, %zu "
          "left\n",
          errors, sites == Sites::wanted ? "sites   " : "no sites", windows.count(), milliseconds,
          static_cast<double>(windows.count()) / milliseconds, letters / milliseconds / 1e6, voter.blocks(), left);
    }
    ConsensusVote vote;
    const std::size_t some = std::min<std::size_t>(windows.count(), 2000);
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < some; ++i) of_cpu(windows, i, 2, vote);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::printf("TIME votes, 100 bp x 30, %2.0f %% errors, one core of the CPU, with sites: %8.1f k windows/s\n", errors,
                static_cast<double>(some) / took.count());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const CommandLine command = parse_command_line(count, arguments, 20);
  if (command.checks == Extent::small) check_all(40);
  if (command.checks == Extent::full) check_all(4000);
  if (command.amount > 0) measure(command.amount, command.runs);
  std::printf(failures == 0 ? "all the same\n" : "FAILED: %d sets differ\n", failures);
  return failures == 0 ? 0 : 1;
}
