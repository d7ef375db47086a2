// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Seeding on a device: the seeds and anchors of every read that is not left to the host, equal ones in the same order, as the CPU's; and how long
// each step takes. AMOUNT: megabases of reads. kernel_check.hpp says how the program is called.

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "kernel_check.hpp"
#include "minimizer_index/index_builder.hpp"
#include "minimizer_seeding/cuda.hpp"
#include "minimizer_seeding/seeding.hpp"
#include "minimizer_seeding/sketch.hpp"
#include "simulated_bases.hpp"

using namespace sluice;
using namespace sluice::gpu_test;
using namespace sluice::minimizer_seeding;
using By = sluice::minimizer_seeding::cuda::RowSeeds::By;

namespace {

// Half or none of it copies of 300 to 6,000 bases, 2 to 20 % apart.
std::string text_with_repeats(std::size_t length, bool repeats, std::mt19937_64& random) {
  std::string text;
  std::vector<std::string> families;
  for (int i = 0; i < 40; ++i) families.push_back(random_bases(random, 300 + random() % 5700));
  while (text.size() < length) {
    text += random_bases(random, repeats ? 500 + random() % 6000 : 100000);
    if (repeats) text += with_errors(families[random() % families.size()], 0.02 + static_cast<double>(random() % 19) / 100, random);
    // Reads of tandem repeats have many equal anchors.
    if (repeats && random() % 10 == 0) {
      const std::string unit = random_bases(random, 171);
      std::string array;
      for (auto copies = 5 + random() % 60; copies > 0; --copies) array += with_errors(unit, 0.02, random);
      text += array;
    }
    // E. coli has its seven ribosomal operons.
    if (!repeats && random() % 6 == 0) text += families[0].substr(0, 5000);
  }
  text.resize(length);
  return text;
}

struct Contig {
  std::string name, bases;
};

// An index on both sides.
class Index {
 public:
  Index(const std::vector<Contig>& contigs, const SketchParameters& sketching)
      : index_(built(contigs, sketching)),
        order(index_.view),
        slots_(copy(index_.view.slots)),
        positions_(copy(index_.view.positions)),
        length_(copy(index_.view.contig_length)),
        rank_(ranks(contigs.size(), order)) {}
  const MinimizerIndexView& view() const { return index_.view; }
  cuda::DeviceTables tables() const {
    cuda::DeviceTables tables = cuda::table_sizes(index_.view);
    tables.slots = slots_.data();
    tables.positions = positions_.data();
    return tables;
  }
  cuda::DeviceAnchorFilter filter(const SeedingParameters& p) const {
    cuda::DeviceAnchorFilter filter{p.strands, p.diagonal, p.pairs};
    filter.contigs = static_cast<std::uint32_t>(rank_.size());
    filter.contig_rank = rank_.data();
    filter.contig_length = length_.data();
    return filter;
  }

 private:
  static minimizer_index::MinimizerIndex built(const std::vector<Contig>& contigs, const SketchParameters& sketching) {
    const SketchKernels kernels = sketch_kernels();
    minimizer_index::ReferenceBases reference;
    for (const Contig& contig : contigs) {
      reference.begin_contig(contig.name);
      reference.add_bases(contig.bases, kernels);
      reference.end_contig(kernels);
    }
    reference.finish();
    const minimizer_index::ForEach for_each = [](std::size_t count, const std::function<void(std::size_t)>& body) { in_parallel(count, body); };
    minimizer_index::MinimizerTable table = minimizer_index::build_table(minimizer_index::sketch_parts(reference, sketching, kernels), for_each);
    return minimizer_index::make_index(sketching, std::move(reference), std::move(table));
  }
  template <class T>
  static std::vector<T> copy(std::span<const T> values) {
    return {values.begin(), values.end()};
  }
  static std::vector<std::uint32_t> ranks(std::size_t contigs, const NameOrder& order) {
    std::vector<std::uint32_t> ranks;
    for (std::size_t i = 0; i < contigs; ++i) ranks.push_back(order.rank(i));
    return ranks;
  }
  minimizer_index::MinimizerIndex index_;

 public:
  const NameOrder order;

 private:
  DeviceArray<std::uint64_t> slots_, positions_;
  DeviceArray<std::int32_t> length_;
  DeviceArray<std::uint32_t> rank_;
};

// Memory for one batch, poisoned, so that nothing counts on zeros.
class Arena {
 public:
  explicit Arena(std::size_t bytes) : memory_(bytes, Contents::poison) {}
  void* allocate(std::size_t bytes) {
    const std::size_t at = used_;
    used_ += (bytes + 255) / 256 * 256;
    if (used_ > memory_.size()) require(cudaErrorMemoryAllocation, "the test's own memory");
    return memory_.data() + at;
  }
  void clear() { used_ = 0; }

 private:
  DeviceArray<std::byte> memory_;
  std::size_t used_ = 0;
};

// Times between steps, by name.
class Stopwatch {
 public:
  void start() {
    names_.clear();
    mark("start");
  }
  void mark(const char* name) {
    if (events_.size() == names_.size()) {
      cudaEvent_t event = nullptr;
      require(cudaEventCreate(&event), "cudaEventCreate");
      events_.push_back(event);
    }
    require(cudaEventRecord(events_[names_.size()]), "cudaEventRecord");
    names_.emplace_back(name);
  }
  std::vector<std::pair<std::string, float>> milliseconds() const {
    require(cudaDeviceSynchronize(), "the kernels");
    std::vector<std::pair<std::string, float>> times;
    for (std::size_t i = 1; i < names_.size(); ++i) {
      float time = 0;
      require(cudaEventElapsedTime(&time, events_[i - 1], events_[i]), "cudaEventElapsedTime");
      times.emplace_back(names_[i], time);
    }
    return times;
  }

 private:
  std::vector<cudaEvent_t> events_;
  std::vector<std::string> names_;
};

struct Reads {
  std::vector<std::string> names, bases;
  std::vector<std::uint16_t> status;            // empty: all fine
  std::vector<std::uint8_t> takes_absent = {};  // empty: none
};

// What the stage does with a batch, but for the rows that the device leaves to the host.
class Batch {
 public:
  Batch(const Index& index, const SeedingParameters& parameters, const Reads& reads, Arena& arena)
      : index_(index),
        parameters_(parameters),
        reads_(reads),
        arena_(arena),
        letters_(letters(reads)),
        offsets_(offsets(reads)),
        status_(reads.status),
        takes_absent_(reads.takes_absent),
        places_(places(index, reads)) {
    int shared = 0;
    require(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
    require(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "cudaDeviceGetAttribute");
    shared_ = static_cast<std::size_t>(shared);
  }

  void run(Stopwatch* watch = nullptr) {
    arena_.clear();
    const std::vector<std::int64_t> at = offsets(reads_);
    const cuda::DeviceReads reads{static_cast<std::int64_t>(reads_.bases.size()),
                                  offsets_.data(),
                                  letters_.data(),
                                  reads_.status.empty() ? nullptr : status_.data(),
                                  at.front(),
                                  static_cast<std::uint64_t>(at.back() - at.front()),
                                  reads_.takes_absent.empty() ? nullptr : takes_absent_.data()};
    cuda::Launch launch{.stream = nullptr, .multiprocessors = multiprocessors_, .block_shared_bytes = shared_};
    launch.allocate = [&](std::size_t bytes) { return arena_.allocate(bytes); };
    if (watch != nullptr) launch.queued = [watch](const char* step) { watch->mark(step); };
    cuda::DeviceSeeding seeding(reads, index_.tables(), parameters_, launch);
    rows_ = seeding.find_seeds();
    cuda::DeviceAnchorFilter filter = index_.filter(parameters_);
    filter.read_place = places_.data();
    if (!filter.keeps_all()) seeding.choose_anchors(filter, rows_);
    columns_ = {std::vector<std::int64_t>(rows_.size() + 1), std::vector<std::int64_t>(rows_.size() + 1)};
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      // A gap as the host would leave it.
      const bool gap = rows_[row].by == By::host && row % 2 == 0;
      columns_.seeds[row + 1] = columns_.seeds[row] + rows_[row].seeds + (gap ? 3 : 0);
      columns_.anchors[row + 1] = columns_.anchors[row] + static_cast<std::int64_t>(rows_[row].anchors) + (gap ? 5 : 0);
    }
    seeds_ = static_cast<std::uint64_t*>(arena_.allocate(static_cast<std::size_t>(columns_.seeds.back()) * 8));
    x_ = static_cast<std::uint64_t*>(arena_.allocate(static_cast<std::size_t>(columns_.anchors.back()) * 8));
    y_ = static_cast<std::uint64_t*>(arena_.allocate(static_cast<std::size_t>(columns_.anchors.back()) * 8));
    for (const std::int64_t row : seeding.write(rows_, columns_, seeds_, x_, y_)) rows_[static_cast<std::size_t>(row)].by = By::host;
    minimizers_ = seeding.minimizers();
    tied_ = seeding.tied_rows();
  }

  struct Outcome {
    std::size_t different = 0, host = 0, tied = 0, anchors = 0;
  };
  Outcome compare() const {
    Outcome outcome{.tied = tied_, .anchors = static_cast<std::size_t>(columns_.anchors.back())};
    const std::vector<std::uint64_t> seeds = column(seeds_, columns_.seeds.back()), x = column(x_, columns_.anchors.back()),
                                     y = column(y_, columns_.anchors.back());
    std::atomic<std::size_t> different = 0, host = 0;
    const std::size_t parts = std::min<std::size_t>(64, rows_.size());
    in_parallel(parts, [&](std::size_t part) {
      ReadSeeds read;
      for (std::size_t row = part; row < rows_.size(); row += parts) {
        const cuda::RowSeeds& found = rows_[row];
        const bool failed = !reads_.status.empty() && reads_.status[row] != 0;
        if (failed || found.by == By::nobody) {
          if (failed != (found.by == By::nobody) || found.seeds != 0 || found.anchors != 0) ++different;
          continue;
        }
        if (found.by == By::host) {
          ++host;
          continue;
        }
        const Absent absent = !reads_.takes_absent.empty() && reads_.takes_absent[row] != 0 ? Absent::seed : Absent::no_seed;
        find_anchors(index_.view(), parameters_, index_.order, reads_.names[row], reads_.bases[row], sketch_kernels(), read, absent);
        bool same = found.repeat_length == read.repeat_length && found.seeds == read.seed_positions.size() && found.anchors == read.anchors.size();
        const auto seed = static_cast<std::size_t>(columns_.seeds[row]), anchor = static_cast<std::size_t>(columns_.anchors[row]);
        for (std::size_t i = 0; same && i < found.seeds; ++i) same = seeds[seed + i] == read.seed_positions[i];
        for (std::size_t i = 0; same && i < found.anchors; ++i) same = x[anchor + i] == read.anchors[i].x && y[anchor + i] == read.anchors[i].y;
        if (!same) ++different;
      }
    });
    outcome.different = different;
    outcome.host = host;
    return outcome;
  }
  std::uint64_t minimizers() const { return minimizers_; }
  std::size_t anchors() const { return static_cast<std::size_t>(columns_.anchors.back()); }
  std::size_t bases() const { return letters_.size(); }

  double copy_out(int runs) const {
    const std::size_t bytes = anchors() * 8;
    void* to = nullptr;
    require(cudaMallocHost(&to, 2 * bytes + 1), "cudaMallocHost");
    const double time = median_milliseconds(runs, [&] {
      require(cudaMemcpyAsync(to, x_, bytes, cudaMemcpyDeviceToHost), "copy from the device");
      require(cudaMemcpyAsync(static_cast<char*>(to) + bytes, y_, bytes, cudaMemcpyDeviceToHost), "copy from the device");
    });
    cudaFreeHost(to);
    return time;
  }

 private:
  static std::vector<char> letters(const Reads& reads) {
    std::vector<char> all(5, 'N');  // columns may begin anywhere
    for (const std::string& read : reads.bases) all.insert(all.end(), read.begin(), read.end());
    return all;
  }
  static std::vector<std::int64_t> offsets(const Reads& reads) {
    std::vector<std::int64_t> at = {5};
    for (const std::string& read : reads.bases) at.push_back(at.back() + static_cast<std::int64_t>(read.size()));
    return at;
  }
  static std::vector<NameOrder::Place> places(const Index& index, const Reads& reads) {
    std::vector<NameOrder::Place> places;
    for (const std::string& name : reads.names) places.push_back(index.order.place(name));
    return places;
  }
  static std::vector<std::uint64_t> column(const std::uint64_t* from, std::int64_t count) {
    std::vector<std::uint64_t> values(static_cast<std::size_t>(count));
    if (count > 0) require(cudaMemcpy(values.data(), from, values.size() * 8, cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }

  const Index& index_;
  const SeedingParameters parameters_;
  const Reads& reads_;
  Arena& arena_;
  DeviceArray<char> letters_;
  DeviceArray<std::int64_t> offsets_;
  DeviceArray<std::uint16_t> status_;
  DeviceArray<std::uint8_t> takes_absent_;
  DeviceArray<NameOrder::Place> places_;
  int multiprocessors_ = 1;
  std::size_t shared_ = 0;
  std::vector<cuda::RowSeeds> rows_;
  cuda::ColumnOffsets columns_;
  std::uint64_t *seeds_ = nullptr, *x_ = nullptr, *y_ = nullptr;
  std::uint64_t minimizers_ = 0, tied_ = 0;
};

class Tally {
 public:
  void add(const Batch::Outcome& outcome, std::size_t reads) {
    sum_.different += outcome.different, sum_.host += outcome.host, sum_.tied += outcome.tied, sum_.anchors += outcome.anchors;
    reads_ += reads;
  }
  bool print(const std::string& name) const {
    std::printf("%s %s: %zu reads, %zu left to the host, %zu with equal anchors, %zu anchors", sum_.different == 0 ? "same" : "DIFFERENT",
                name.c_str(), reads_, sum_.host, sum_.tied, sum_.anchors);
    if (sum_.different != 0) std::printf(": %zu reads differ", sum_.different);
    std::printf("\n");
    std::fflush(stdout);
    return sum_.different == 0;
  }

 private:
  Batch::Outcome sum_;
  std::size_t reads_ = 0;
};

std::vector<Contig> made_up_reference(std::mt19937_64& random) {
  std::vector<std::string> repeats;
  for (int i = 0; i < 3; ++i) repeats.push_back(random_bases(random, 60 + random() % 400));
  std::vector<Contig> contigs;
  for (const char* name : {"one", "two", "three", "two"}) {
    std::string bases;
    for (int i = 0; i < 40; ++i) {
      std::string repeat = repeats[random() % 3];
      if (random() % 2 == 0) reverse_complement(repeat);
      bases += random() % 2 == 0 ? random_bases(random, random() % 300) : repeat;
      if (random() % 10 == 0) bases += "NN";
    }
    contigs.push_back({name, bases});
  }
  return contigs;
}

Reads made_up_reads(std::mt19937_64& random, const std::vector<Contig>& contigs) {
  Reads reads;
  reads.bases = {"", "A", "ACGTACGTACGTACG", contigs[0].bases, contigs[1].bases, "", "", std::string(3000, 'T')};
  for (int i = 0; i < 120; ++i) {
    const std::string& bases = contigs[random() % contigs.size()].bases;
    std::string read = bases.substr(random() % bases.size(), random() % 4000);
    if (random() % 2 == 0) reverse_complement(read);
    std::erase(read, 'N');
    for (char& base : read)
      if (random() % 40 == 0) base = i % 10 == 0 ? "ACGTNacgtuR"[random() % 11] : "ACGTacgtu"[random() % 9];
    // Parts of itself make equal anchors.
    for (int copies = static_cast<int>(random() % 4); copies > 0; --copies) read += read.substr(read.size() / 3, 300);
    reads.bases.push_back(read);
  }
  reads.bases.emplace_back("");
  for (std::size_t i = 0; i < reads.bases.size(); ++i) reads.names.push_back(i % 9 == 3 ? "one" : i % 9 == 4 ? "two" : "p" + std::to_string(i));
  if (random() % 3 == 0)
    for (std::size_t i = 0; i < reads.bases.size(); ++i) reads.status.push_back(i % 5 == 0 ? 2 : 0);
  return reads;
}

bool check_small(std::mt19937_64& random, int rounds) {
  Arena arena(std::size_t{1} << 29);
  Tally plain, filtered;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Contig> contigs = made_up_reference(random);
    SketchParameters sketching;
    sketching.k = 7 + 2 * static_cast<std::uint32_t>(random() % 11);
    sketching.w = round % 8 == 7 ? 100 + static_cast<std::uint32_t>(random() % 156) : 1 + static_cast<std::uint32_t>(random() % 20);
    const Index index(contigs, sketching);
    SeedingParameters p;
    p.mid_occ = round % 2 == 0 ? 1 + static_cast<std::int32_t>(random() % 20) : 200;
    p.max_max_occ = static_cast<std::int32_t>(random() % 100);
    p.occ_dist = std::array{0, 20, 100, 500}[random() % 4];
    p.q_occ_frac = std::array{0.01F, 0.2F, 0.0F}[random() % 3];
    const bool filters = round % 3 == 2;
    if (filters) {
      p.diagonal = random() % 2 == 0 ? Diagonal::skip : Diagonal::keep;
      p.pairs = random() % 3 == 0 ? Pairs::once : Pairs::both;
      p.strands = std::array{Strands::both, Strands::both, Strands::forward_only, Strands::reverse_only}[random() % 4];
    }
    Reads reads = made_up_reads(random, contigs);
    if (round % 4 == 3) {  // as with an index in parts
      p.ties = Ties::place;
      for (std::size_t i = 0; i < reads.bases.size(); ++i) reads.takes_absent.push_back(random() % 3 == 0 ? 0 : 1);
    }
    Batch batch(index, p, reads, arena);
    batch.run();
    const Batch::Outcome outcome = batch.compare();
    if (outcome.different != 0)
      std::printf("  round %d: k %u, w %u, mid_occ %d, max_max_occ %d, occ_dist %d, q_occ_frac %g: %zu reads\n", round, sketching.k, sketching.w,
                  p.mid_occ, p.max_max_occ, p.occ_dist, p.q_occ_frac, outcome.different);
    (filters ? filtered : plain).add(outcome, reads.bases.size());
  }
  bool same = plain.print("small references and reads");
  same &= filtered.print("the same with one strand, without diagonals, or pairs once");
  Tally empty;
  const Index index(made_up_reference(random), {});
  for (const Reads& reads : {Reads{}, Reads{{"a"}, {""}, {}}, Reads{{"a", "b", "c"}, {"", "", ""}, {}}, Reads{{"a"}, {"ACGT"}, {1}}}) {
    Batch batch(index, {}, reads, arena);
    batch.run();
    empty.add(batch.compare(), reads.bases.size());
  }
  return empty.print("no reads, empty reads, failed reads") && same;
}

Reads named(std::vector<std::string> bases) {
  Reads reads;
  reads.bases = std::move(bases);
  for (std::size_t i = 0; i < reads.bases.size(); ++i) reads.names.push_back("r" + std::to_string(i));
  return reads;
}

// The sort's passes over contigs have as many digits as there are contigs, which is what their order on the device is chosen by.
bool check_contigs(std::mt19937_64& random) {
  bool same = true;
  Arena arena(std::size_t{2} << 30);
  const std::string text = text_with_repeats(3000000, true, random);
  for (const std::size_t contigs : {1, 2, 3, 5, 8, 9, 16, 24, 32, 33, 60}) {
    std::vector<Contig> reference;
    const std::size_t length = text.size() / contigs;
    for (std::size_t i = 0; i < contigs; ++i) reference.push_back({"c" + std::to_string(i), text.substr(i * length, length)});
    const Index index(reference, {});
    SeedingParameters p;
    p.mid_occ = 1000;
    Tally tally;
    for (const std::size_t mean : {2000, 30000}) {
      const Reads reads = named(simulated_reads(text, 1000000, mean, random));
      Batch batch(index, p, reads, arena);
      batch.run();
      tally.add(batch.compare(), reads.bases.size());
    }
    same &= tally.print("3 Mbases with repeats in " + std::to_string(contigs) + " contigs");
  }
  return same;
}

bool check_large(std::mt19937_64& random) {
  bool same = true;
  Arena arena(std::size_t{6} << 30);
  for (const bool repeats : {false, true}) {
    const std::string text = text_with_repeats(repeats ? 12000000 : 4600000, repeats, random);
    for (const SketchParameters& sketching : {SketchParameters{15, 10}, SketchParameters{19, 19}, SketchParameters{15, 5}}) {
      const Index index({{"one", text.substr(0, text.size() / 3)}, {"two", text.substr(text.size() / 3)}}, sketching);
      SeedingParameters p;
      p.mid_occ = occurrence_threshold(index.view(), 2e-4F, 10, 1000000);
      for (const std::size_t length : {3000, 100000, 500000}) {
        std::vector<std::string> bases = simulated_reads(text, 6000000, length, random);
        if (length == 500000) bases.push_back(bases[0] + bases[1] + bases[2] + bases[0]);
        const Reads reads = named(std::move(bases));
        Batch batch(index, p, reads, arena);
        batch.run();
        Tally tally;
        tally.add(batch.compare(), reads.bases.size());
        same &= tally.print((repeats ? "12 Mbases with repeats" : "4.6 Mbases") + std::string(", k ") + std::to_string(sketching.k) + ", w " +
                            std::to_string(sketching.w) + ", reads of " + std::to_string(length / 1000) + " kb");
      }
    }
  }
  return same;
}

void time_text(const char* name, const std::string& text, std::size_t mean, double megabases, int runs, std::mt19937_64& random) {
  const Index index({{"one", text}}, {});
  SeedingParameters p;
  p.mid_occ = occurrence_threshold(index.view(), 2e-4F, 10, 1000000);
  const Reads reads = named(simulated_reads(text, static_cast<std::size_t>(megabases * 1e6), mean, random));
  Arena arena(std::size_t{24} << 30);
  Batch batch(index, p, reads, arena);
  batch.run();
  const Batch::Outcome outcome = batch.compare();
  std::vector<std::string> order;
  std::map<std::string, std::vector<float>> times;
  std::vector<float> all;
  for (int run = 0; run < runs; ++run) {
    Stopwatch watch;
    watch.start();
    batch.run(&watch);
    watch.mark("all");
    float sum = 0;
    std::map<std::string, float> of_run;
    for (const auto& [step, time] : watch.milliseconds()) {
      if (of_run.count(step) == 0 && run == 0) order.push_back(step);
      of_run[step] += time;
      sum += time;
    }
    for (const auto& [step, time] : of_run) times[step].push_back(time);
    all.push_back(sum);
  }
  const auto median = [](std::vector<float> values) {
    std::sort(values.begin(), values.end());
    return static_cast<double>(values[values.size() / 2]);
  };
  const double total = median(all);
  std::printf(
      "TIME %s, %zu reads of %zu kb: %.2f ms, %.1f Gbases/s, %.2f Ganchors/s; %.1f M minimizers, %.1f M anchors, %zu tied, %zu to the host%s\n", name,
      reads.bases.size(), mean / 1000, total, static_cast<double>(batch.bases()) / total / 1e6, static_cast<double>(batch.anchors()) / total / 1e6,
      static_cast<double>(batch.minimizers()) / 1e6, static_cast<double>(batch.anchors()) / 1e6, outcome.tied, outcome.host,
      outcome.different == 0 ? "" : "; DIFFERENT");
  std::printf("  ms:");
  for (const std::string& step : order) std::printf(" %s %.2f", step.c_str(), median(times[step]));
  std::printf("; copy of anchors to the host %.2f\n", batch.copy_out(3));
  std::fflush(stdout);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const CommandLine command = parse_command_line(argument_count, arguments, 100);
  std::mt19937_64 random(7);
  bool same = true;
  if (command.checks != Extent::none) same &= check_small(random, command.checks == Extent::small ? 12 : 60);
  if (command.checks != Extent::none) same &= check_contigs(random);
  if (command.checks == Extent::full) same &= check_large(random);
  if (command.amount > 0) {
    const std::string repeats = text_with_repeats(50000000, true, random);
    time_text("4.64 Mbases like E. coli", text_with_repeats(4640000, false, random), 8000, command.amount, command.runs, random);
    time_text("50 Mbases, half of them repeats", repeats, 8000, command.amount, command.runs, random);
    time_text("50 Mbases, half of them repeats", repeats, 100000, command.amount * 0.4, command.runs, random);
  }
  return same ? 0 : 1;
}
