// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as a k-mer model, or as source of f5c: parsed wholly, or refused with a reason.
// Run: build/fuzz/bin/fuzz_kmer_model -max_len=2000 CORPUS tests/fuzz/kmer_model_seeds
#include <cmath>
#include <cstdlib>

#include "kmer_model/f5c_source.hpp"
#include "kmer_model/model_text.hpp"

using namespace sluice::kmer_model;

namespace {

void check(const KmerModel& model) {
  if (model.level_mean.size() != sluice::kmer_count(model.alphabet, model.k)) std::abort();
  for (std::size_t rank = 0; rank < model.level_mean.size(); ++rank)
    if (!std::isfinite(model.level_mean[rank]) || !(model.level_stdv[rank] > 0) || !std::isfinite(model.log_level_stdv[rank])) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const sluice::Alphabet alphabet : {sluice::Alphabet::nucleotide, sluice::Alphabet::methylation}) {
    KmerModel model;
    ModelProblem problem;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (parse_kmer_model(text, alphabet, model, problem))
      check(model);
    else if (problem.what.empty())
      std::abort();
    F5cSource source({"", alphabet});
    source.take(text);
    problem = {};
    if (source.finish(model, problem))
      check(model);
    else if (problem.what.empty())
      std::abort();
  }
  return 0;
}
