// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Models of pores that have none built in: files NAME.model in the user's data folder. Throws sluice::Failure.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kmer_model/model_use.hpp"

namespace sluice::kmer_model {

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

// Checks the model in `path` for this use, and puts it into the folder, in place of an earlier one: a model's text as it is, one of f5c's source as
// text. It is there completely or not at all.
void add_model(const ModelUse& use, const std::string& path);
void remove_model(const ModelUse& use);

}  // namespace sluice::kmer_model
