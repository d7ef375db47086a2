// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Finding and reading model files. Throws sluice::Failure (input) naming the file.

#include <string>
#include <vector>

namespace sluice::kmer_model {

// The text of a plain, gzip, bgzip or xz file.
std::vector<char> read_model_text(const std::string& path);

// The path of a built-in model, looked for around the folder that this library was loaded from: ../models in a build tree,
// share/sluice/models some levels up when installed. "" if it is not there.
std::string find_builtin_model(const std::string& file_name);

}  // namespace sluice::kmer_model
