// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What reading a file of reads takes of a processor: the part that is done in order, and the part that any number of threads share.
//   reading_bench READS [THREADS [MBASES]]
// THREADS, MBASES: what a run with so many threads and batches of so many bases would read at a time. All is done on one thread. Medians of 5.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>

#include "read_bases/read_batches.hpp"

using namespace sluice::read_bases;

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Measured {
  double ordered = 0, shared = 0;
  std::uint64_t text = 0, bases = 0, reads = 0;
};

Measured measure(const std::string& path, const ReadBatches::Sizes& sizes) {
  Measured m;
  hFILE* file = hopen(path.c_str(), "r");
  if (file == nullptr) throw std::runtime_error("cannot open '" + path + "'");
  const double begin = processor_seconds();
  ReadBatches batches(open_text_input(path, FileHandle(file)), path, {.qualities = false});
  const ParallelFor parallel_for = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
    const double start = processor_seconds();
    for (std::size_t i = 0; i < count; ++i) body(i);
    m.shared += processor_seconds() - start;
  };
  while (const auto batch = batches.next(sizes, {}, parallel_for, [] { return false; }))
    m.bases += batch->bases_in_all, m.reads += static_cast<std::uint64_t>(batch->rows);
  batches.check_end();
  m.ordered = processor_seconds() - begin - m.shared;
  m.text = batches.stream().text_read();
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "reading_bench READS [THREADS [MBASES]]\n"), 2;
  const double threads = argc > 2 ? std::stod(argv[2]) : 16, work = argc > 3 ? std::stod(argv[3]) * 1e6 : 262144;
  const ReadBatches::Sizes sizes{work, UINT64_MAX, static_cast<std::size_t>(std::min(2.1 * work * threads, 0x1p25))};
  std::array<Measured, 5> rounds;
  for (Measured& round : rounds) round = measure(argv[1], sizes);
  const auto median = [&](auto value) {
    std::array<double, 5> values{};
    std::transform(rounds.begin(), rounds.end(), values.begin(), value);
    std::sort(values.begin(), values.end());
    return values[2];
  };
  const double ordered = median([](const Measured&m) { return m.ordered; }), shared = median([](const Measured&m) { return m.shared; });
  const auto text = static_cast<double>(rounds[0].text) * 1e-9;
  fmt::print("{} reads, {} bases, {:.0f} MB of text\n", rounds[0].reads, rounds[0].bases, text * 1e3);
  fmt::print("in order {:7.4f} s {:6.2f} GB/s\nshared   {:7.4f} s {:6.2f} GB/s\nboth     {:7.4f} s {:6.2f} GB/s\n", ordered, text / ordered, shared,
             text / shared, ordered + shared, text / (ordered + shared));
  return 0;
}
