// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Exact matches on a device: the same matches and places, in the same order, as the CPU's search, and how long each step takes. AMOUNT: megabases of
// reads. kernel_check.hpp says how the program is called; a third argument is the size of one more text to be timed, in megabases.

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "fm_index/index_builder.hpp"
#include "kernel_check.hpp"
#include "mem_seeding/cuda.hpp"
#include "mem_seeding/match_search.hpp"
#include "simulated_bases.hpp"

using namespace sluice;
using namespace sluice::gpu_test;
using namespace sluice::mem_seeding;

namespace {

// Half or none of it copies of 300 to 6,000 bases, 2 to 20 % apart.
std::string text_with_repeats(std::size_t length, bool repeats, std::mt19937_64& random) {
  std::string text;
  std::vector<std::string> families;
  for (int i = 0; i < 40; ++i) families.push_back(random_bases(random, 300 + random() % 5700));
  while (text.size() < length) {
    text += random_bases(random, repeats ? 500 + random() % 6000 : 100000);
    if (repeats) text += with_errors(families[random() % families.size()], 0.02 + static_cast<double>(random() % 19) / 100, random);
    // E. coli has its seven ribosomal operons.
    if (!repeats && random() % 6 == 0) text += families[0].substr(0, 5000);
  }
  text.resize(length);
  return text;
}

void on_all_processors(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t parts = std::max<std::size_t>(1, std::min<std::size_t>(64, count / std::max<std::size_t>(1, grain)));
  in_parallel(parts, [&](std::size_t part) { body(count * part / parts, count * (part + 1) / parts); });
}

struct Index {
  fm_index::FmIndex index;
  FmIndexView view;
  DeviceArray<std::uint64_t> packed, blocks, present;
  DeviceArray<std::uint32_t> suffixes, ranks, rows;

  Index(const std::vector<std::string>& contigs, fm_index::Strands strands, std::uint32_t k = 0, std::uint32_t sample_interval = 0)
      : index(built(contigs, strands, k, sample_interval)),
        view(connected(index)),
        packed(copy(view.packed_text)),
        blocks(copy(view.blocks)),
        present(copy(view.kmer_present)),
        suffixes(copy(view.suffixes)),
        ranks(copy(view.kmer_ranks)),
        rows(copy(view.kmer_rows)) {}
  FmIndexTables on_device() const {
    FmIndexTables tables = view.tables;
    tables.packed_text = packed.data(), tables.blocks = blocks.data(), tables.kmer_present = present.data();
    tables.suffixes = suffixes.data(), tables.kmer_ranks = ranks.data(), tables.kmer_rows = rows.data();
    return tables;
  }

 private:
  static fm_index::FmIndex built(const std::vector<std::string>& contigs, fm_index::Strands strands, std::uint32_t k, std::uint32_t sample_interval) {
    fm_index::ReferenceTextBuilder builder(strands);
    for (std::size_t i = 0; i < contigs.size(); ++i) {
      builder.begin_contig("contig" + std::to_string(i));
      builder.append(contigs[i]);
      builder.end_contig();
    }
    return fm_index::build_index(builder.finish(), {.k = k, .sample_interval = sample_interval, .memory = {}}, on_all_processors);
  }
  static FmIndexView connected(const fm_index::FmIndex& index) {
    FmIndexView view;
    if (!index.connect(view)) require(cudaErrorInvalidValue, "the index does not fit together");
    return view;
  }
  template <class T>
  static std::vector<T> copy(std::span<const T> values) {
    return {values.begin(), values.end()};
  }
};

template <class T>
struct Pinned {
  T* data = nullptr;
  explicit Pinned(std::size_t count) { require(cudaMallocHost(&data, std::max<std::size_t>(1, count) * sizeof(T)), "cudaMallocHost"); }
  Pinned(const Pinned&) = delete;
  ~Pinned() { cudaFreeHost(data); }
};

// A batch on the device, and what the stage does with it.
class Batch {
 public:
  Batch(const Index& index, const std::vector<std::string>& reads, const SearchOptions& options, std::vector<std::uint16_t> status = {})
      : rows_(reads.size()),
        offsets_host_(offsets(reads)),
        letters_host_(letters(reads)),
        offsets_(offsets_host_),
        letters_(letters_host_.size()),
        status_(status) {
    require(cudaMemcpy(letters_.data(), letters_host_.data(), letters_host_.size(), cudaMemcpyHostToDevice), "copy to the device");
    reads_.rows = static_cast<std::int64_t>(rows_);
    reads_.offsets = offsets_.data();
    reads_.letters = letters_.data();
    reads_.row_status = status.empty() ? nullptr : status_.data();
    reads_.strands = index.view.both_strands() ? 1 : 2;
    reads_.length = letters_host_.size() * reads_.strands;
    packed_ = std::make_unique<DeviceArray<std::uint64_t>>(ReadStrands::packed_words(reads_.length), Contents::poison);
    edges_ = std::make_unique<DeviceArray<std::uint32_t>>(ReadStrands::edge_words(reads_.length), Contents::poison);
    search_.index = index.on_device();
    search_.reads = {packed_->data(), edges_->data(), reads_.length};
    search_.min_length = static_cast<std::uint64_t>(options.min_length);
    search_.max_occurrences = options.max_occurrences;
    search_.definition = options.definition;
    search_.occurrences = options.occurrences;
    search_.word = std::min<std::uint32_t>(index.view.tables.k, static_cast<std::uint32_t>(options.min_length));
    search_.step = search_.min_length - search_.word + 1;
    cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0);
  }

  void pack() { require(cuda::pack_reads(reads_, packed_->data(), edges_->data(), nullptr), "pack_reads"); }
  void find() { require(cuda::find_matches(search_, workspace_, multiprocessors_, nullptr), "find_matches"); }
  void write() { require(cuda::write_matches(search_, workspace_, totals_, reads_, matches_, multiprocessors_, nullptr), "write_matches"); }
  void write_rows() { require(cuda::write_rows(reads_, matches_, totals_, device_rows_, nullptr), "write_rows"); }
  void fetch_totals() { require(cudaMemcpy(&totals_, workspace_.totals, sizeof totals_, cudaMemcpyDeviceToHost), "copy from the device"); }

  // Finds out how much memory it takes, beginning with little on purpose.
  void search() {
    pack();
    cuda::Capacity capacity{64, 1, 1};
    while (true) {
      memory_ = std::make_unique<DeviceArray<std::byte>>(cuda::workspace_bytes(search_.words(), capacity), Contents::poison);
      workspace_ = cuda::workspace_in(memory_->data(), search_.words(), capacity);
      find();
      fetch_totals();
      ++attempts_;
      if (capacity.holds(totals_)) break;
      capacity = {std::max(capacity.maximal_matches, totals_.maximal_matches), std::max(capacity.many_words, totals_.many_words),
                  std::max(capacity.many_matches, totals_.many_matches)};
      if (attempts_ > 5) require(cudaErrorInvalidValue, "the capacity never suffices");
    }
    const std::size_t matches = totals_.matches;
    bytes_ = std::make_unique<DeviceArray<std::byte>>(output_bytes(), Contents::poison);
    std::byte* at = bytes_->data();
    const auto take = [&]<class T>(T*& part, std::size_t count) {
      part = reinterpret_cast<T*>(at);
      at += (count * sizeof(T) + 255) / 256 * 256;
    };
    take(matches_.reverse, matches), take(matches_.start, matches), take(matches_.end, matches), take(matches_.count, matches);
    take(matches_.listed, matches), take(matches_.places, totals_.places);
    take(device_rows_.match_offsets, rows_ + 1), take(device_rows_.place_offsets, rows_ + 1), take(device_rows_.read_length, rows_);
    first_place_ = std::make_unique<DeviceArray<std::uint64_t>>(matches + 1);
    sequence_start_ = std::make_unique<DeviceArray<std::uint32_t>>(matches);
    too_many_ = std::make_unique<DeviceArray<std::uint8_t>>(rows_, Contents::poison);
    matches_.first_place = first_place_->data(), matches_.sequence_start = sequence_start_->data();
    device_rows_.too_many = too_many_->data();
    write();
    write_rows();
  }

  // Of the columns that go to the host.
  std::size_t output_bytes() const {
    const auto padded = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
    return padded(totals_.matches) + 4 * padded(4 * totals_.matches) + padded(4 * totals_.places) + 2 * padded(8 * (rows_ + 1)) + padded(4 * rows_);
  }

  // Differences from the CPU's search: rows.
  std::size_t differences(const Index& index, const SearchOptions& options, const std::vector<std::string>& reads,
                          const std::vector<std::uint16_t>& status) {
    require(cudaDeviceSynchronize(), "the kernels");
    std::vector<std::byte> bytes = bytes_->download();
    const auto host = [&]<class T>(T* on_device) {
      return reinterpret_cast<const T*>(bytes.data() + (reinterpret_cast<std::byte*>(on_device) - bytes_->data()));
    };
    const std::uint8_t* reverse = host(matches_.reverse);
    const std::int32_t *start = host(matches_.start), *end = host(matches_.end), *length = host(device_rows_.read_length);
    const std::uint32_t *count = host(matches_.count), *listed = host(matches_.listed), *places = host(matches_.places);
    const std::int64_t *match_offsets = host(device_rows_.match_offsets), *place_offsets = host(device_rows_.place_offsets);
    const std::vector<std::uint8_t> too_many = too_many_->download();
    std::atomic<std::size_t> different = 0;
    if (match_offsets[rows_] != static_cast<std::int64_t>(totals_.matches) || place_offsets[rows_] != static_cast<std::int64_t>(totals_.places))
      ++different;
    in_parallel((rows_ + 63) / 64, [&](std::size_t part) {
      for (std::size_t row = part * 64; row < std::min(rows_, part * 64 + 64); ++row) {
        const std::size_t strands = index.view.both_strands() ? 1 : 2;
        std::vector<PackedRead> packed(2);
        std::vector<Matches> found(2);
        std::vector<SearchTask> tasks;
        pack_read(reads[row], packed[0]);
        mem_seeding::reverse_complement(packed[0], packed[1]);
        const bool searched = status.empty() || status[row] == 0;
        for (std::size_t strand = 0; searched && strand < strands; ++strand) tasks.push_back({&packed[strand], &found[strand]});
        find_longest_left(index.view.tables, options, tasks);
        std::int64_t match = match_offsets[row], place = place_offsets[row];
        bool same = match >= 0 && place >= 0 && match_offsets[row + 1] <= static_cast<std::int64_t>(totals_.matches) &&
                    match_offsets[row + 1] - match == static_cast<std::int64_t>(found[0].matches.size() + found[1].matches.size()) &&
                    place_offsets[row + 1] <= static_cast<std::int64_t>(totals_.places) &&
                    place_offsets[row + 1] - place == static_cast<std::int64_t>(found[0].places.size() + found[1].places.size());
        same = same && length[row] == (searched ? packed[0].length : 0) && too_many[row] == 0;
        for (std::size_t strand = 0; same && strand < strands; ++strand) {
          for (const Match& each : found[strand].matches) {
            same = same && reverse[match] == strand && start[match] == each.start && end[match] == each.end && count[match] == each.count &&
                   listed[match] == each.listed;
            ++match;
          }
          for (const std::uint32_t each : found[strand].places) same = same && places[place++] == each;
        }
        if (!same) ++different;
      }
    });
    return different;
  }

  const cuda::Totals& totals() const { return totals_; }
  std::uint64_t words() const { return search_.words(); }

  struct Times {
    double copy_in, pack, find, write, copy_out, all;
  };
  Times measure(int runs) {
    Pinned<char> letters(letters_host_.size());
    std::copy(letters_host_.begin(), letters_host_.end(), letters.data);
    Pinned<std::int64_t> offsets(offsets_host_.size());
    std::copy(offsets_host_.begin(), offsets_host_.end(), offsets.data);
    Pinned<std::byte> out(output_bytes());
    Pinned<cuda::Totals> totals(1);
    const auto copy_in = [&] {
      require(cudaMemcpyAsync(letters_.data(), letters.data, letters_host_.size(), cudaMemcpyHostToDevice), "copy to the device");
      require(cudaMemcpyAsync(offsets_.data(), offsets.data, offsets_host_.size() * 8, cudaMemcpyHostToDevice), "copy to the device");
    };
    const auto copy_out = [&] { require(cudaMemcpyAsync(out.data, bytes_->data(), output_bytes(), cudaMemcpyDeviceToHost), "copy from the device"); };
    Times times{};
    times.copy_in = median_milliseconds(runs, copy_in);
    times.pack = median_milliseconds(runs, [&] { pack(); });
    times.find = median_milliseconds(runs, [&] { find(); });
    times.write = median_milliseconds(runs, [&] {
      write();
      write_rows();
    });
    times.copy_out = median_milliseconds(runs, copy_out);
    times.all = median_milliseconds(runs, [&] {
      copy_in();
      pack();
      find();
      require(cudaMemcpyAsync(totals.data, workspace_.totals, sizeof totals_, cudaMemcpyDeviceToHost), "copy from the device");
      require(cudaStreamSynchronize(nullptr), "the kernels");
      write();
      write_rows();
      copy_out();
    });
    return times;
  }

 private:
  static std::vector<std::int64_t> offsets(const std::vector<std::string>& reads) {
    std::vector<std::int64_t> at = {0};
    for (const std::string& read : reads) at.push_back(at.back() + static_cast<std::int64_t>(read.size()));
    return at;
  }
  static std::string letters(const std::vector<std::string>& reads) {
    std::string all;
    for (const std::string& read : reads) all += read;
    return all;
  }

  std::size_t rows_;
  std::vector<std::int64_t> offsets_host_;
  std::string letters_host_;
  DeviceArray<std::int64_t> offsets_;
  DeviceArray<char> letters_;
  DeviceArray<std::uint16_t> status_;
  cuda::DeviceReads reads_;
  WordSearch search_;
  cuda::Workspace workspace_;
  cuda::Totals totals_{};
  cuda::DeviceMatches matches_;
  cuda::DeviceRows device_rows_;
  std::unique_ptr<DeviceArray<std::uint64_t>> packed_, first_place_;
  std::unique_ptr<DeviceArray<std::uint32_t>> edges_, sequence_start_;
  std::unique_ptr<DeviceArray<std::byte>> memory_, bytes_;
  std::unique_ptr<DeviceArray<std::uint8_t>> too_many_;
  int multiprocessors_ = 1;
  int attempts_ = 0;
};

struct Form {
  Definition definition;
  Occurrences occurrences;
  std::uint64_t max_occurrences;
};
constexpr Form forms[] = {{Definition::longest_left, Occurrences::all, 0},
                          {Definition::longest_left, Occurrences::longest, 0},
                          {Definition::supermaximal, Occurrences::all, 20},
                          {Definition::longest_left, Occurrences::all, 3}};

// All forms of the search at several lengths; one line.
bool check(const char* name, const Index& index, const std::vector<std::string>& reads, const std::vector<std::int32_t>& lengths,
           const std::vector<std::uint16_t>& status = {}) {
  std::size_t different = 0, matches = 0, places = 0, many = 0, searches = 0;
  for (const std::int32_t min_length : lengths)
    for (const Form& form : forms) {
      const SearchOptions options{form.definition, form.occurrences, min_length, form.max_occurrences};
      Batch batch(index, reads, options, status);
      batch.search();
      const std::size_t rows = batch.differences(index, options, reads, status);
      if (rows != 0)
        std::printf("  min_length %d, definition %d, occurrences %d, max_occurrences %d: %zu rows\n", min_length, static_cast<int>(form.definition),
                    static_cast<int>(form.occurrences), static_cast<int>(form.max_occurrences), rows);
      different += rows;
      matches += batch.totals().matches, places += batch.totals().places, many += batch.totals().many_words;
      ++searches;
    }
  std::printf("%s %s: %zu reads, %zu searches, %zu matches, %zu places, %zu words of many rows\n", different == 0 ? "same" : "DIFFERENT", name,
              reads.size(), searches, matches, places, many);
  std::fflush(stdout);
  return different == 0;
}

bool check_small(std::mt19937_64& random) {
  bool same = true;
  const std::string unit = random_bases(random, 41);
  std::string tandem;
  while (tandem.size() < 3000) tandem += unit;
  const std::vector<std::pair<const char*, std::vector<std::string>>> texts = {
      {"random bases", {random_bases(random, 20000)}},
      {"two letters", {random_bases(random, 3000, 2)}},
      {"tandem repeats", {random_bases(random, 700) + tandem + random_bases(random, 900)}},
      {"runs", {random_bases(random, 300) + std::string(700, 'A') + random_bases(random, 50) + std::string(300, 'T'), "AC"}},
      {"many contigs", {random_bases(random, 300), "N", random_bases(random, 5), "", random_bases(random, 900) + "NNNN" + random_bases(random, 40)}}};
  for (const auto& [name, contigs] : texts)
    for (const fm_index::Strands strands : {fm_index::Strands::forward, fm_index::Strands::both}) {
      const Index index(contigs, strands, 0, strands == fm_index::Strands::both ? 3 : 1);
      std::string text;
      for (const std::string& contig : contigs) text += contig;
      std::vector<std::string> reads = {"", "A", "ACGT", "N", "", std::string(500, 'A'), text, "NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN", text + text, ""};
      for (int i = 0; i < 100; ++i) reads.push_back(with_errors(text.substr(random() % text.size(), random() % 400), 0.05, random));
      for (std::size_t i = 10; i < reads.size(); i += 2) reverse_complement(reads[i]);
      for (std::size_t i = 11; i < reads.size(); i += 3)
        for (char& base : reads[i])
          if (random() % 30 == 0) base = "NRacgtuU-\0"[random() % 10];
      reads.emplace_back("");
      same &= check(name, index, reads, {5, 8, 12, 20, 100});
      std::vector<std::uint16_t> status(reads.size(), 0);
      for (std::size_t i = 0; i < status.size(); i += 4) status[i] = 7;
      same &= check("  some rows failed before", index, reads, {12}, status);
      same &= check("  no reads", index, {}, {12});
      same &= check("  empty reads", index, {"", "", ""}, {12});
    }
  return same;
}

bool check_large(std::mt19937_64& random) {
  bool same = true;
  for (const bool repeats : {false, true}) {
    const std::string text = text_with_repeats(repeats ? 8000000 : 4600000, repeats, random);
    std::vector<std::string> reads = simulated_reads(text, 2000000, 5000, random);
    reads[3].resize(reads[3].size() / 2, 'N');
    for (const fm_index::Strands strands : {fm_index::Strands::forward, fm_index::Strands::both}) {
      const Index index({text}, strands);
      same &= check(repeats ? "8 Mbases, half of them repeats" : "4.6 Mbases", index, reads, {12, 14, 20});
    }
  }
  return same;
}

void time_text(const char* name, const std::string& text, double megabases, int runs, std::mt19937_64& random) {
  const auto begin = std::chrono::steady_clock::now();
  const Index index({text}, fm_index::Strands::forward);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::vector<std::string> reads = simulated_reads(text, static_cast<std::size_t>(megabases * 1e6), 8000, random);
  std::printf("\n%s, k = %u, index built in %.1f s, %zu reads, %.1f Mbases\n\n", name, index.view.tables.k, seconds, reads.size(), megabases);
  std::printf(
      "| min_length | copy in | pack | find | write | copy out | all, ms | words, M | present, M | places looked at, M | many | matches, M | places, "
      "M | "
      "bytes out, MB | find: random reads, G/s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::int32_t min_length : {12, 14, 20}) {
    Batch batch(index, reads, {Definition::longest_left, Occurrences::all, min_length, 0});
    batch.search();
    const Batch::Times t = batch.measure(runs);
    const cuda::Totals& n = batch.totals();
    // A look at the bits; rank and rows of words that are there; suffix and text of each place.
    const double accesses = static_cast<double>(batch.words() + 2 * n.words_present + 2 * n.maximal_matches);
    std::printf("| %d | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %llu | %.2f | %.2f | %.1f | %.1f |\n", min_length, t.copy_in,
                t.pack, t.find, t.write, t.copy_out, t.all, batch.words() / 1e6, n.words_present / 1e6, n.maximal_matches / 1e6,
                static_cast<unsigned long long>(n.many_words), n.matches / 1e6, n.places / 1e6, batch.output_bytes() / 1e6, accesses / t.find / 1e6);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const CommandLine command = parse_command_line(argument_count, arguments, 31.6);
  std::mt19937_64 random(6);
  bool same = true;
  if (command.checks != Extent::none) same &= check_small(random);
  if (command.checks == Extent::full) same &= check_large(random);
  if (command.amount > 0) {
    time_text("4.64 Mbases like E. coli", text_with_repeats(4640000, false, random), command.amount, command.runs, random);
    time_text("50 Mbases, half of them repeats", text_with_repeats(50000000, true, random), command.amount, command.runs, random);
    if (argument_count > 3) {
      const auto megabases = static_cast<std::size_t>(std::atoi(arguments[3]));
      time_text("A text of the size asked for, half of it repeats", text_with_repeats(megabases * 1000000, true, random), command.amount,
                command.runs, random);
    }
  }
  return same ? 0 : 1;
}
