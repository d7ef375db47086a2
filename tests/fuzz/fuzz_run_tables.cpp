// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as what a run is given beside its pipeline: a sample table, a machine profile, a list of inputs with patterns.
// Run: build/fuzz/bin/fuzz_run_tables -max_len=2000 /PATH/TO/CORPUS $PWD/tests/fuzz/run_tables_seeds (it works in a folder of its own)
#include <algorithm>
#include <cmath>
#include <sluice/input_files.hpp>

#include "config/sample_table.hpp"
#include "fuzzed_file.hpp"
#include "machine/machine_profile.hpp"

using namespace fuzzing;

namespace {

void read_samples(std::string_view text) {
  sluice::Diagnostics diagnostics;
  const sluice::SampleTable table = sluice::parse_samples(text, "samples.tsv", diagnostics);
  if (diagnostics.has_errors()) return;
  for (const sluice::Sample& sample : table.samples) {
    require(!sample.name.empty() && sample.name.find('/') == std::string::npos && sample.parameters.size() <= table.columns.size());
    require(sluice::with_sample("{sample}", sample.name) == sample.name);
  }
}

void read_profile(std::string_view text) {
  const FileOf file(text);
  const sluice::LoadedProfile loaded = sluice::load_profile(file.path());
  require(loaded.problem.empty() || loaded.profile.costs().empty());
  for (const sluice::StageCost& cost : loaded.profile.costs()) {
    const double seconds = cost.predict(1e6, 1e3);
    require(std::isfinite(seconds) && seconds > 0 && cost.calls > 0);
  }
}

// Names without a folder, so that only the test's own is looked into.
void read_list(std::string_view text) {
  static const Folder folder;
  static const bool entered = [] {
    return folder.write("a.fq", ""), folder.write("b.fq", ""), std::filesystem::current_path(folder.path(".")), true;
  }();
  std::string names(text);
  std::replace(names.begin(), names.end(), '/', '_');
  std::replace(names.begin(), names.end(), '~', '_');
  if (!entered || std::count(names.begin(), names.end(), '*') > 4) return;  // glob() takes exponentially long
  folder.write("list", names);
  read_or_refuse([&] {
    for (const std::string& file : sluice::input_files("@list", ".fq .fastq")) require(!file.empty());
  });
  read_or_refuse([&] { sluice::input_files(names, ".fq .fastq"); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  read_samples(text);
  read_profile(text);
  read_list(text);
  return 0;
}
