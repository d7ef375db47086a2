// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// How fast reads are simulated, with and without their signal. Run: simulate_signal_bench [reads]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "simulate_signal/simulate_read.hpp"

int main(int argc, char** argv) {
  using namespace sluice;
  using namespace sluice::simulate_signal;
  const std::int64_t reads = argc > 1 ? std::atoll(argv[1]) : 500;

  const auto levels = [](Alphabet alphabet) {
    std::vector<float> mean;
    for (std::size_t rank = 0; rank < kmer_count(alphabet, 6); ++rank) mean.push_back(60.0F + static_cast<float>(mix(rank) % 6000) / 100.0F);
    return mean;
  };
  const std::vector<float> mean = levels(Alphabet::nucleotide), methylated_mean = levels(Alphabet::methylation);
  const std::vector<float> stdv(mean.size(), 2.0F), methylated_stdv(methylated_mean.size(), 2.0F);
  const KmerModelView nucleotide{6, Alphabet::nucleotide, mean, stdv, stdv};
  const KmerModelView methylation{6, Alphabet::methylation, methylated_mean, methylated_stdv, methylated_stdv};
  const std::string bases = synthesize_contig(1, 0, 5'000'000, 0.5, 1);
  const Contig contig{"synthetic", bases};
  const Simulator simulator({}, {&contig, 1}, nucleotide, &methylation);
  const std::vector<Placement> places = simulator.place_reads(reads);

  for (const Simulator::Signal signal : {Simulator::Signal::make, Simulator::Signal::leave_out}) {
    std::vector<double> rates;
    Simulator::Read read;
    for (int run = 0; run < 5; ++run) {
      double made = 0;
      const auto start = std::chrono::steady_clock::now();
      for (const Placement& place : places) {
        simulator.simulate(place, signal, read);
        made += static_cast<double>(read.molecule.size());
      }
      rates.push_back(made / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 1e6);
    }
    std::sort(rates.begin(), rates.end());
    std::printf("%-15s %6.1f Mbases/s (median of 5; best %.1f)\n", signal == Simulator::Signal::make ? "with signal" : "without signal", rates[2],
                rates[4]);
  }
}
