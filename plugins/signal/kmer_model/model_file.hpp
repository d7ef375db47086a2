// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Finding and reading model files. Throws sluice::Failure (input) naming the file.

#include <string>

#include "kmer_model/model_text.hpp"
#include "kmer_model/model_use.hpp"

namespace sluice::kmer_model {

enum class ModelLayout : std::uint8_t { text, f5c_source };

struct LoadedModel {
  KmerModel model;
  std::string path;  // of the file: below `path` where that is a folder
  ModelLayout layout = ModelLayout::text;
};

// A model in a plain, gzip, bgzip or xz file: text of nanopolish and f5c, or C source of f5c, which is read in pieces; or in a folder with a checkout
// of f5c. `use` says which array of the source it is; of an empty pore every pore's.
LoadedModel load_model(const std::string& path, const ModelUse& use);

// The path of a built-in model, looked for around the folder that this library was loaded from: ../models in a build tree,
// share/sluice/models some levels up when installed. "" if it is not there.
std::string find_builtin_model(const std::string& file_name);

}  // namespace sluice::kmer_model
