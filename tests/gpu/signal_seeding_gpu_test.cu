// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Seeds of signal on a device: the same anchors in the same order, and the same lengths, as the CPU's, and how long each step takes. AMOUNT:
// thousands of reads. kernel_check.hpp says how the program is called.

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel_check.hpp"
#include "signal_seeding/cuda.hpp"
#include "signal_seeding/cuda_candidates.hpp"
#include "signal_seeding/seeding.hpp"
#include "simulated_signal.hpp"

using namespace sluice;
using namespace sluice::gpu_test;
using namespace sluice::signal_seeding;

namespace {

using Samples = std::vector<std::int16_t>;

struct Index {
  SquiggleIndex host;
  DeviceArray<std::uint32_t> bucket_begin, entry;
  DeviceArray<std::uint8_t> entry_high;
  DeviceArray<std::uint64_t> block_begin, seed_present;
  DeviceArray<std::int64_t> strand_begin;

  explicit Index(SquiggleIndex index)
      : host(std::move(index)),
        bucket_begin(copy(host.bucket_begin.span())),
        entry(copy(host.entry.span())),
        entry_high(copy(host.entry_high.span())),
        block_begin(host.block_begin),
        seed_present(copy(host.seed_present.span())),
        strand_begin(host.strand_begin) {}
  cuda::DeviceTables tables(const DeviceArray<Symbol>& symbols) const {
    cuda::DeviceTables tables;
    tables.form = host.form;
    tables.columns_per_event = host.columns_per_event[0];
    tables.strands = static_cast<std::int64_t>(host.strand_begin.size());
    tables.symbols = symbols.data();
    tables.block_begin = block_begin.data();
    tables.bucket_begin = bucket_begin.data();
    tables.entry = entry.data();
    tables.entry_high = host.entry_high.size() == 0 ? nullptr : entry_high.data();
    tables.seed_present = host.seed_present.size() == 0 ? nullptr : seed_present.data();
    tables.strand_begin = strand_begin.data();
    return tables;
  }

 private:
  template <class T>
  static std::vector<T> copy(std::span<T> values) {
    return {values.begin(), values.end()};
  }
};

struct Reads {
  std::vector<Samples> samples;
  std::vector<std::uint16_t> status;  // empty: all fine
};

// What the stage does with a batch.
class Batch {
 public:
  Batch(const Index& index, const SeedingParameters& parameters, const Reads& reads)
      : seeding_(parameters, index.host.view()),
        reads_(reads),
        symbols_(std::vector<Symbol>(seeding_.symbols.begin(), seeding_.symbols.end())),
        tables_(index.tables(symbols_)),
        status_(reads.status) {
    Samples all;
    std::vector<std::int64_t> offsets = {0};
    for (const Samples& read : reads.samples) {
      all.insert(all.end(), read.begin(), read.end());
      offsets.push_back(static_cast<std::int64_t>(all.size()));
      longest_ = std::max(longest_, static_cast<std::int64_t>(read.size()));
    }
    total_ = static_cast<std::int64_t>(all.size());
    samples_ = std::make_unique<DeviceArray<std::int16_t>>(all);
    offsets_ = std::make_unique<DeviceArray<std::int64_t>>(offsets);
    require(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  }

  // `queued` is called after each step that was put on the stream.
  void run(const std::function<void(const char*)>& queued = {}) {
    next_ = 0;
    const auto rows = reads_.samples.size();
    const cuda::DeviceReads reads{
        static_cast<std::int64_t>(rows), offsets_->data(), samples_->data(), reads_.status.empty() ? nullptr : status_.data(), 0, total_, longest_};
    cuda::Launch launch{.stream = nullptr, .multiprocessors = multiprocessors_, .allocate = {}, .queued = queued};
    launch.allocate = [&](std::size_t bytes) { return allocate(bytes); };
    cuda::DeviceSeeding seeding(reads, tables_, seeding_.parameters, launch);
    length_ = static_cast<std::int32_t*>(allocate(rows * sizeof(std::int32_t)));
    anchors_ = seeding.find(length_);
    column_offsets_ = static_cast<std::int64_t*>(allocate((rows + 1) * sizeof(std::int64_t)));
    x_ = static_cast<std::uint64_t*>(allocate(static_cast<std::size_t>(anchors_) * sizeof(std::uint64_t)));
    y_ = static_cast<std::uint64_t*>(allocate(static_cast<std::size_t>(anchors_) * sizeof(std::uint64_t)));
    seeding.write(column_offsets_, x_, y_);
    found_ = seeding.found();
  }

  // Rows that differ from the CPU's.
  std::size_t differences() const {
    require(cudaDeviceSynchronize(), "the kernels");
    const std::size_t rows = reads_.samples.size(), anchors = static_cast<std::size_t>(anchors_);
    const auto length = download(length_, rows);
    const auto offsets = download(column_offsets_, rows + 1);
    const auto x = download(x_, anchors), y = download(y_, anchors);
    if (offsets.front() != 0 || offsets.back() != anchors_) return rows + 1;
    std::atomic<std::size_t> different = 0;
    const std::size_t parts = std::min<std::size_t>(64, rows);
    in_parallel(parts, [&](std::size_t part) {
      ReadSeeds seeds(seeding_);
      std::vector<Anchor> expected;
      for (std::size_t row = part; row < rows; row += parts) {
        expected.clear();
        std::int32_t expected_length = 0;
        if (reads_.status.empty() || reads_.status[row] == 0) {
          seeds.restart();
          seeds.take(reads_.samples[row]);
          seeds.copy_chainable(expected);
          expected_length = seeds.length();
        }
        bool same = length[row] == expected_length && offsets[row + 1] - offsets[row] == static_cast<std::int64_t>(expected.size());
        for (std::size_t i = 0; same && i < expected.size(); ++i) {
          const std::size_t at = static_cast<std::size_t>(offsets[row]) + i;
          same = x[at] == expected[i].x && y[at] == expected[i].y;
        }
        if (!same) ++different;
      }
    });
    return different;
  }
  std::int64_t anchors() const { return anchors_; }
  std::uint64_t found() const { return found_; }
  std::int64_t samples() const { return total_; }

 private:
  // Memory of the run before is used again, poisoned when it is new.
  void* allocate(std::size_t bytes) {
    if (next_ == memory_.size()) memory_.push_back(nullptr);
    auto& memory = memory_[next_++];
    if (!memory || memory->size() < bytes) memory = std::make_unique<DeviceArray<std::byte>>(bytes, Contents::poison);
    return memory->data();
  }
  template <class T>
  static std::vector<T> download(const T* from, std::size_t count) {
    std::vector<T> values(count);
    if (count > 0) require(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }

  Seeding seeding_;
  const Reads& reads_;
  DeviceArray<Symbol> symbols_;
  cuda::DeviceTables tables_;
  DeviceArray<std::uint16_t> status_;
  std::unique_ptr<DeviceArray<std::int16_t>> samples_;
  std::unique_ptr<DeviceArray<std::int64_t>> offsets_;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory_;
  std::size_t next_ = 0;
  int multiprocessors_ = 1;
  std::int64_t total_ = 0, longest_ = 0, anchors_ = 0;
  std::uint64_t found_ = 0;
  std::int32_t* length_ = nullptr;
  std::int64_t* column_offsets_ = nullptr;
  std::uint64_t *x_ = nullptr, *y_ = nullptr;
};

bool check(const std::string& name, const Index& index, const SeedingParameters& parameters, const Reads& reads) {
  Batch batch(index, parameters, reads);
  batch.run();
  const std::size_t different = batch.differences();
  std::printf("%s %s: %zu reads, %llu anchors found, %lld kept", different == 0 ? "same" : "DIFFERENT", name.c_str(), reads.samples.size(),
              static_cast<unsigned long long>(batch.found()), static_cast<long long>(batch.anchors()));
  if (different > 0) std::printf(", %zu rows differ", different);
  std::printf("\n");
  std::fflush(stdout);
  return different == 0;
}

// Signal that no strand gives, and some that one does.
Reads unkind_reads(const SquiggleTargets& targets, std::size_t longest, std::mt19937_64& random) {
  Reads reads;
  reads.samples = targets.reads(30, 200, random);
  for (const std::size_t size : {0, 1, 2, 3, 7, 8, 9, 16, 17, 63, 64, 65, 1023, 1024, 1025, 1031, 1032, 1033, 2048, 4096})
    for (Samples& read : targets.reads(1, 1000, random)) {
      read.resize(size, 100);
      reads.samples.push_back(std::move(read));
    }
  const auto add = [&](std::size_t size, auto&& sample) {
    Samples read;
    for (std::size_t i = 0; i < size; ++i) read.push_back(static_cast<std::int16_t>(sample(i)));
    reads.samples.push_back(std::move(read));
  };
  add(5000, [](std::size_t) { return 0; });
  add(5000, [](std::size_t) { return 32767; });
  add(5000, [](std::size_t) { return -32768; });
  add(5000, [](std::size_t i) { return i < 3000 ? -32768 : 32767; });    // one border
  add(5000, [](std::size_t i) { return i / 4 % 2 == 0 ? -252 : 252; });  // as many borders as there can be
  add(5000, [](std::size_t i) { return i / 2 % 2 == 0 ? -252 : 252; });
  add(5000, [](std::size_t i) { return i % 2 == 0 ? -252 : 252; });
  add(5000, [](std::size_t i) { return static_cast<int>(i / 6 % 5) * 30 - 60; });
  add(5000, [&](std::size_t) { return static_cast<int>(random() % 65536) - 32768; });
  add(5000, [&](std::size_t) { return static_cast<int>(random() % 505) - 252; });
  add(5000, [&](std::size_t) { return static_cast<int>(random() % 40) - 20; });
  for (Samples& read : targets.reads(2, longest, random)) reads.samples.push_back(std::move(read));
  for (Samples& read : targets.reads(1, longest / 2, random)) {
    read.insert(read.begin(), longest, 17);  // tiles without a border
    read.insert(read.end(), read.begin() + static_cast<std::ptrdiff_t>(longest), read.end());
    reads.samples.push_back(std::move(read));
  }
  reads.samples.emplace_back();
  return reads;
}

bool check_small(std::mt19937_64& random, std::size_t longest) {
  bool same = true;
  struct Text {
    const char* name;
    std::vector<std::size_t> sizes;
    bool repeats;
    IndexParameters parameters;
  };
  const std::vector<Text> texts = {
      {"one target", {30000}, false, {}},
      {"repeats", {30000}, true, {}},
      {"many targets", {5, 400, 1, 9000, 50, 3000, 77, 1}, false, {}},
      {"entries of five bytes", {20000}, false, {.run = 13}},
      {"symbols of one bit, runs of 40 events", {20000}, false, {.symbol_bits = 1, .run = 40}},
      {"symbols of four bits", {20000}, false, {.symbol_bits = 4}},
      {"nothing merged", {20000}, false, {.least_difference = 0}},
      {"all merged", {3000}, false, {.least_difference = 252}},
  };
  const auto with = [](auto&& change) {
    SeedingParameters parameters;
    change(parameters);
    return parameters;
  };
  const std::vector<std::pair<const char*, SeedingParameters>> forms = {
      {"defaults", {}},
      {"window 2", with([](SeedingParameters& p) { p.segmentation.window = 2; })},
      {"window 16, every border", with([](SeedingParameters& p) { p.segmentation.window = 16, p.segmentation.least_statistic = 0; })},
      {"no second symbol", with([](SeedingParameters& p) { p.most_uncertain = 0; })},
      {"all second symbols", with([](SeedingParameters& p) { p.most_uncertain = most_tried_events, p.uncertainty = 252; })},
      {"rare seeds", with([](SeedingParameters& p) { p.most_occurrences = 1; })},
      {"frequent seeds, any neighbour",
       with([](SeedingParameters& p) { p.most_occurrences = 1000000, p.most_distance = 1000, p.most_shift = 1000000000; })},
      {"no shift", with([](SeedingParameters& p) { p.most_shift = 0; })},
      {"no distance", with([](SeedingParameters& p) { p.most_distance = 0; })},
  };
  for (const Text& text : texts) {
    const SquiggleTargets targets(text.sizes, random, text.repeats);
    const Index index(targets.index(text.parameters));
    Reads reads = unkind_reads(targets, longest, random);
    for (const auto& [name, form] : forms) {
      SeedingParameters parameters = form;
      parameters.segmentation.least_difference = text.parameters.least_difference;
      same &= check(std::string(text.name) + ", " + name, index, parameters, reads);
    }
    reads.status.assign(reads.samples.size(), 0);
    for (std::size_t i = 0; i < reads.status.size(); i += 4) reads.status[i] = 7;
    same &= check(std::string(text.name) + ", some rows failed before", index, {}, reads);
    same &= check(std::string(text.name) + ", no reads", index, {}, {});
    same &= check(std::string(text.name) + ", empty reads", index, {}, {{{}, {}, {}}, {}});
    same &= check(std::string(text.name) + ", one read", index, {}, {targets.reads(1, 300, random), {}});
  }
  return same;
}

bool check_large(std::mt19937_64& random) {
  bool same = true;
  const SquiggleTargets targets({3000000, 40000, 700}, random), repeats({400000}, random, true);
  const Index index(targets.index()), of_repeats(repeats.index());
  same &= check("3 Mbases, prefixes of 250 bases", index, {}, {targets.reads(20000, 250, random), {}});
  same &= check("3 Mbases, whole reads", index, {}, {targets.reads(60, 20000, random), {}});
  same &= check("400 kbases, half of them repeats", of_repeats, {}, {repeats.reads(3000, 400, random), {}});
  same &= check("one read of millions of samples", index, {}, {targets.reads(1, 400000, random), {}});
  return same;
}

// Chains of a batch of reads, some of them not valid.
struct MadeUpChains {
  std::vector<std::int32_t> read_length, score, anchor_count;
  std::vector<std::uint64_t> x, y;
  std::vector<std::int64_t> score_at = {0}, count_at = {0}, x_at = {0}, y_at = {0};
  std::vector<std::int64_t> strand_begin = {0, 0, 40000, 40000, 90000, 90001, 300000};
  std::vector<std::uint16_t> status;

  MadeUpChains(std::size_t rows, std::mt19937_64& random) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint64_t chains = row % 9 == 0 ? 0 : random() % (row % 50 == 1 ? 3000 : 60);
      for (std::uint64_t chain = 0; chain < chains; ++chain) {
        // Equal chains, too.
        score.push_back(static_cast<std::int32_t>(random() % (row % 3 == 0 ? 4 : 300)));
        anchor_count.push_back(static_cast<std::int32_t>(1 + random() % 4));
        const std::uint64_t strands[] = {1, 3, 4, 5}, strand = strands[random() % 4];
        const auto size = static_cast<std::uint64_t>(strand_begin[strand + 1] - strand_begin[strand]);
        std::uint64_t column = random() % (row % 5 == 0 ? std::min<std::uint64_t>(size, 20) : size), place = random() % 300;
        for (std::int32_t i = 0; i < anchor_count.back(); ++i) {
          x.push_back(strand << 32 | column);
          y.push_back(std::uint64_t{8} << 32 | place);
          column = std::min(size - 1, column + random() % 100);
          place += random() % 100;
        }
      }
      if (row % 31 == 7 && chains > 0) anchor_count.back() = static_cast<std::int32_t>(random() % 3) - 2;
      if (row % 37 == 8) x.push_back(0), y.push_back(0);
      if (row % 41 == 9 && chains > 0) x.back() = std::uint64_t{6} << 32;
      if (row % 43 == 10) x.push_back(0);
      if (row % 47 == 11) score.push_back(5);
      read_length.push_back(static_cast<std::int32_t>(random() % 800));
      status.push_back(row % 13 == 12 ? 3 : 0);
      score_at.push_back(static_cast<std::int64_t>(score.size()));
      count_at.push_back(static_cast<std::int64_t>(anchor_count.size()));
      x_at.push_back(static_cast<std::int64_t>(x.size()));
      y_at.push_back(static_cast<std::int64_t>(y.size()));
    }
  }
  template <class T>
  static std::span<const T> part(const std::vector<T>& values, const std::vector<std::int64_t>& at, std::size_t row) {
    return std::span(values).subspan(static_cast<std::size_t>(at[row]), static_cast<std::size_t>(at[row + 1] - at[row]));
  }
  ChainsOfRead of(std::size_t row) const {
    return {part(score, score_at, row), part(anchor_count, count_at, row), part(x, x_at, row), part(y, y_at, row)};
  }
};

bool check_candidates(std::size_t rows, const CandidateParameters& parameters, std::mt19937_64& random) {
  const MadeUpChains made(rows, random);
  const DeviceArray<std::int32_t> read_length(made.read_length), score(made.score), anchor_count(made.anchor_count);
  const DeviceArray<std::uint64_t> x(made.x), y(made.y);
  const DeviceArray<std::int64_t> score_at(made.score_at), count_at(made.count_at), x_at(made.x_at), y_at(made.y_at), strands(made.strand_begin);
  const DeviceArray<std::uint16_t> status(made.status);
  const cuda::DeviceChains chains{static_cast<std::int64_t>(rows),
                                  read_length.data(),
                                  {score_at.data(), score.data()},
                                  {count_at.data(), anchor_count.data()},
                                  {x_at.data(), x.data()},
                                  {y_at.data(), y.data()},
                                  status.data(),
                                  static_cast<std::int64_t>(made.strand_begin.size()),
                                  strands.data()};
  const DeviceArray<std::int64_t> first_anchor(made.anchor_count.size(), Contents::poison);
  const DeviceArray<Candidate> found(rows * static_cast<std::size_t>(parameters.most_chains), Contents::poison);
  const DeviceArray<std::int32_t> count(rows, Contents::poison);
  require(cuda::find_candidates(chains, parameters, first_anchor.data(), found.data(), count.data(), nullptr), "find_candidates");
  const std::vector<std::int32_t> counts = count.download();
  std::vector<std::int64_t> at = {0};
  for (const std::int32_t of_row : counts) at.push_back(at.back() + std::max(0, of_row));
  const DeviceArray<std::int64_t> offsets(at), begin(static_cast<std::size_t>(at.back()), Contents::poison),
      end(static_cast<std::size_t>(at.back()), Contents::poison);
  require(cuda::write_candidates(static_cast<std::int64_t>(rows), parameters.most_chains, found.data(), offsets.data(), begin.data(), end.data(),
                                 nullptr),
          "write_candidates");
  const std::vector<std::int64_t> begins = begin.download(), ends = end.download();
  std::size_t different = 0, bad = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<Candidate> expected;
    std::int32_t expected_count = 0;
    if (made.status[row] == 0 && !chains_are_valid(made.of(row), made.strand_begin)) {
      expected_count = cuda::bad_chains;
      ++bad;
    } else if (made.status[row] == 0) {
      signal_seeding::find_candidates(made.of(row), made.read_length[row], made.strand_begin, parameters, expected);
      expected_count = static_cast<std::int32_t>(expected.size());
    }
    bool same = counts[row] == expected_count;
    for (std::size_t i = 0; same && i < expected.size(); ++i) {
      const std::size_t place = static_cast<std::size_t>(at[row]) + i;
      same = begins[place] == expected[i].begin && ends[place] == expected[i].end;
    }
    if (!same) ++different;
  }
  std::printf("%s candidates of %d chains: %zu reads, %zu of bad chains, %zu candidates\n", different == 0 ? "same" : "DIFFERENT",
              parameters.most_chains, rows, bad, begins.size());
  return different == 0;
}

// As a batch of a run is, and as large as helps. The floor: what must be read of the index at random, 32 bytes a look, at the card's 4.8 TB/s (H200).
void time_batches(const char* name, const SquiggleTargets& targets, std::size_t count, int runs, std::mt19937_64& random) {
  const Index index(targets.index());
  for (const std::size_t rows : {std::size_t{51}, std::size_t{1000}, count}) {
    const Reads reads{targets.reads(rows, 250, random), {}};
    Batch batch(index, {}, reads);
    batch.run();
    const bool same = batch.differences() == 0;
    const auto begin = std::chrono::steady_clock::now();
    {
      const Seeding seeding({}, index.host.view());
      ReadSeeds seeds(seeding);
      std::vector<Anchor> anchors;
      for (std::size_t row = 0; row < std::min<std::size_t>(rows, 200); ++row) {
        seeds.restart();
        seeds.take(reads.samples[row]);
        seeds.copy_chainable(anchors);
      }
    }
    const double cpu =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() * 1e3 / static_cast<double>(std::min<std::size_t>(rows, 200));
    const double all = median_milliseconds(runs, [&] { batch.run(); });
    std::vector<std::string> order;
    std::map<std::string, std::vector<float>> times;
    for (int run = 0; run < runs; ++run) {
      std::vector<std::pair<std::string, cudaEvent_t>> marks;
      const auto mark = [&](const char* step) {
        cudaEvent_t event = nullptr;
        require(cudaEventCreate(&event), "cudaEventCreate");
        require(cudaEventRecord(event), "cudaEventRecord");
        marks.emplace_back(step, event);
      };
      mark("start");
      batch.run(mark);
      require(cudaDeviceSynchronize(), "the kernels");
      for (std::size_t i = 0; i < marks.size(); ++i) {
        if (i == 0) continue;
        float time = 0;
        require(cudaEventElapsedTime(&time, marks[i - 1].second, marks[i].second), "cudaEventElapsedTime");
        if (run == 0) order.push_back(marks[i].first);
        times[marks[i].first].push_back(time);
      }
      for (const auto& [step, event] : marks) cudaEventDestroy(event);
    }
    // Samples, one look at the bits for each anchor found and four for those of others, bucket and entries of an anchor; its word through the sort.
    const double found = static_cast<double>(batch.found());
    const double bytes = 2.0 * static_cast<double>(batch.samples()) + found * (5 * 32 + 3 * 32 + 8 * 2 * 6);
    std::printf(
        "TIME %s, %zu reads of 250 bases: %.3f ms, %.2f us a read (CPU, one core: %.0f us), %.1f Msamples, %.1f M anchors found, %.1f M kept; floor "
        "%.3f ms%s\n",
        name, rows, all, all * 1e3 / static_cast<double>(rows), cpu * 1e3, static_cast<double>(batch.samples()) / 1e6, found / 1e6,
        static_cast<double>(batch.anchors()) / 1e6, bytes / 4.8e12 * 1e3, same ? "" : "; DIFFERENT");
    std::printf("  ms:");
    for (const std::string& step : order) {
      std::vector<float>& of_step = times[step];
      std::sort(of_step.begin(), of_step.end());
      std::printf(" %s %.3f", step.c_str(), static_cast<double>(of_step[of_step.size() / 2]));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const CommandLine command = parse_command_line(argument_count, arguments, 20);
  std::mt19937_64 random(8);
  bool same = true;
  if (command.checks != Extent::none) same &= check_small(random, command.checks == Extent::small ? 2000 : 20000);
  if (command.checks != Extent::none)
    for (const CandidateParameters& parameters : {CandidateParameters{}, CandidateParameters{1, 0, 0}, CandidateParameters{32, 10, 5000}})
      for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{1000}})
        same &= check_candidates(rows, parameters, random);
  if (command.checks == Extent::full) same &= check_large(random);
  if (command.amount > 0) {
    const auto count = static_cast<std::size_t>(command.amount * 1000);
    time_batches("3 Mbases", SquiggleTargets({3000000}, random), count, command.runs, random);
    time_batches("50 Mbases", SquiggleTargets({50000000}, random), count, command.runs, random);
  }
  return same ? 0 : 1;
}
