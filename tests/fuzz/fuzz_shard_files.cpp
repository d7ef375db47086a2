// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as what lies beside a shard: its manifest, with the pipeline in it, and its state. Refused, or whole.
// Run: build/fuzz/bin/fuzz_shard_files -max_len=4096 CORPUS tests/fuzz/shard_files_seeds
#include "fuzzed_file.hpp"
#include "machine/checksum.hpp"
#include "shard/pipeline_tree.hpp"
#include "shard/shard_set.hpp"
#include "shard/state_file.hpp"
#include "unit/config/example_stages.hpp"

using namespace fuzzing;

namespace {

// The state's checksum is put right, so that what it hides is seen.
std::string with_checksum(std::string bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return bytes;
  sluice::Checksum sum;
  sum.add(std::string_view(bytes).substr(0, bytes.size() - sizeof(std::uint64_t)));
  const std::uint64_t value = sum.value();
  bytes.replace(bytes.size() - sizeof value, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = text_of(data, size);
  if (bytes.starts_with("SLSTATE1")) {
    const FileOf file(with_checksum(std::string(bytes)));
    read_or_refuse([&] {
      const sluice::StateFile state(file.path());
      require(state.state().size() + state.head().regroup.size() + state.head().build_id.size() + state.head().pipeline.size() < size);
    });
    return 0;
  }
  const FileOf file(bytes);
  read_or_refuse([&] {
    std::vector<sluice::ShardManifest> shards = {sluice::read_manifest(file.path())};
    require(shards.front().part < shards.front().parts && shards.front().output.name.find('/') == std::string::npos);
    const auto tree = sluice::pipeline_tree(sluice::pipeline_from_tree(shards.front().pipeline, example::registry()));
    require(sluice::pipeline_tree(sluice::pipeline_from_tree(tree, example::registry())) == tree);
    sluice::check_shards(shards, example::registry(), shards.front().version);
  });
  return 0;
}
