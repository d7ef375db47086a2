// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Models of pores that have none built in: files NAME.model in the user's data folder, as they were given. Throws sluice::Failure.

#include <filesystem>
#include <sluice/kmer_model.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::kmer_model {

// What a model is for. Its name is the pore's, with "-5mc" behind it for the methylation alphabet: r10, r10-5mc.
struct ModelUse {
  std::string pore;
  Alphabet alphabet = Alphabet::nucleotide;
  std::string name() const;
};
// Fails for what is no such name.
ModelUse parse_model_name(std::string_view name);

// $XDG_DATA_HOME/sluice/models, else ~/.local/share/sluice/models; "" where neither is known.
std::filesystem::path model_folder();

// The file of an added model, "" if there is none.
std::string find_added_model(const ModelUse& use);

struct KnownModel {
  ModelUse use;
  bool is_built_in = false;
  std::string path;
};
// The built-in models that are installed, and those that were added, by name.
std::vector<KnownModel> known_models();

// Checks the model in `path` for this use, and copies it as it is into the folder, in place of an earlier one; there completely or not at all.
void add_model(const ModelUse& use, const std::string& path);
void remove_model(const ModelUse& use);

}  // namespace sluice::kmer_model
