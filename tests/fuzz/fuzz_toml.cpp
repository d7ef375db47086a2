// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as a pipeline file, as a file of parameters and as a table of samples: reading and resolving it must end, without a crash, and every
// diagnostic must be one line. Run: build/fuzz/bin/fuzz_toml -max_len=4096 -dict=tests/fuzz/toml.dict CORPUS tests/fuzz/toml_seeds
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../unit/config/example_stages.hpp"
#include "config/entry_merge.hpp"
#include "config/params_file.hpp"
#include "config/sample_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sluice::Diagnostics diagnostics;
  const sluice::WrittenPipeline written = sluice::parse_pipeline(text, "fuzz.toml", diagnostics);
  for (const sluice::Missing missing : {sluice::Missing::error, sluice::Missing::assume}) {
    sluice::Overrides overrides;
    overrides.missing = missing;
    if (missing == sluice::Missing::error) {
      overrides.parameters = {{"reads", std::string(text.substr(0, 40))}};
      overrides.set = {std::string(text.substr(0, 60))};
    }
    const sluice::ResolvedPipeline resolved = sluice::resolve_pipeline(written, overrides, example::registry(), diagnostics);
    for (const sluice::ResolvedStage& stage : resolved.stages)
      for (const std::size_t input : stage.inputs)
        if (input >= resolved.stages.size()) std::abort();
    if (resolved.connected)
      for (const sluice::ResolvedStage& stage : resolved.stages)
        if (stage.entry.descriptor == nullptr || stage.values.size() != stage.entry.descriptor->parameter_count) std::abort();
  }
  // The same bytes as files that are taken over, as values of parameters, and as a table of samples.
  if (const auto document = sluice::parse_toml(text, "fuzz.toml", diagnostics)) {
    const sluice::TomlNode put = sluice::merged({"base", *document, {{"part", *document}}}, *document, diagnostics);
    sluice::merged({"", {}, {{"one", put}, {"two", *document}}}, put, diagnostics);
  }
  sluice::parse_params(text, "fuzz.toml", diagnostics);
  for (const sluice::Sample& sample : sluice::parse_samples(text, "fuzz.tsv", diagnostics).samples)
    if (sample.name.empty() || sample.name.find('/') != std::string::npos) std::abort();
  for (const sluice::Diagnostic& diagnostic : diagnostics.list())
    if (diagnostic.text().find('\n') != std::string::npos) std::abort();
  return 0;
}
