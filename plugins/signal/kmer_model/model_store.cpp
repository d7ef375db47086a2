// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/model_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sluice/failure.hpp>
#include <sluice/folder.hpp>
#include <sluice/staged_file.hpp>
#include <system_error>

#include "kmer_model/builtin_models.hpp"
#include "kmer_model/model_file.hpp"
#include "kmer_model/model_text.hpp"

namespace sluice::kmer_model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view methylation_suffix = "-5mc", file_suffix = ".model";

std::string text_of(Alphabet alphabet) { return alphabet == Alphabet::methylation ? "methylation" : "nucleotide"; }

fs::path file_of(const ModelUse& use) {
  const fs::path folder = model_folder();
  return folder.empty() ? folder : folder / (use.name() + std::string(file_suffix));
}

// Empty if there is no such name.
ModelUse use_of(std::string_view name) {
  const bool methylation = name.ends_with(methylation_suffix);
  const std::string_view pore = name.substr(0, name.size() - (methylation ? methylation_suffix.size() : 0));
  // Methylation is called on DNA only.
  if (kmer_size_of_pore(pore) == 0 || (methylation && pore.starts_with("rna"))) return {};
  return {std::string(pore), methylation ? Alphabet::methylation : Alphabet::nucleotide};
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw Failure::input("k-mer model '" + path + "' cannot be read: " + std::strerror(errno), "check the path of the model");
  return bytes;
}

}  // namespace

std::string ModelUse::name() const { return pore + (alphabet == Alphabet::methylation ? std::string(methylation_suffix) : ""); }

ModelUse parse_model_name(std::string_view name) {
  ModelUse use = use_of(name);
  if (!use.pore.empty()) return use;
  std::string names;
  for (const PoreKmers& pore : pores) {
    names += (names.empty() ? "" : ", ") + std::string(pore.pore);
    if (!pore.pore.starts_with("rna")) names += ", " + std::string(pore.pore) + std::string(methylation_suffix);
  }
  throw Failure::usage("'" + std::string(name) + "' is no name of a model",
                       "a name is a pore, with -5mc behind it for a methylation model: " + names);
}

fs::path model_folder() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/') return fs::path(data) / "sluice/models";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return fs::path(home) / ".local/share/sluice/models";
  return {};
}

std::string find_added_model(const ModelUse& use) {
  const fs::path file = file_of(use);
  std::error_code ignored;  // what cannot be asked about is not there
  return !file.empty() && fs::is_regular_file(file, ignored) ? file.string() : "";
}

std::vector<KnownModel> known_models() {
  std::vector<KnownModel> models;
  for (const BuiltinModel& model : builtin_models)
    if (std::string path = find_builtin_model(std::string(model.file)); !path.empty())
      models.push_back({{std::string(model.pore), model.alphabet}, true, std::move(path)});
  for_each_entry(model_folder(), [&models](const fs::path& file) {  // no folder, no models
    if (file.extension() != file_suffix) return;
    const ModelUse use = use_of(file.stem().string());
    std::error_code ignored;
    if (!use.pore.empty() && fs::is_regular_file(file, ignored)) models.push_back({use, false, file.string()});
  });
  std::sort(models.begin(), models.end(), [](const KnownModel& a, const KnownModel& b) { return a.use.name() < b.use.name(); });
  return models;
}

void add_model(const ModelUse& use, const std::string& path) {
  if (!builtin_model_file(use.pore, use.alphabet).empty())
    throw Failure::usage(
        "there is a built-in model '" + use.name() + "', which goes before an added one",
        std::string("give yours where it is wanted: ") + (use.alphabet == Alphabet::methylation ? "--methylation-model" : "--model") + " FILE");
  const std::vector<char> text = read_model_text(path);
  KmerModel model;
  ModelProblem problem;
  if (!parse_kmer_model({text.data(), text.size()}, use.alphabet, model, problem))
    throw Failure::input(
        "k-mer model '" + path + "'" + (problem.line == 0 ? std::string(": ") : ":" + std::to_string(problem.line) + ": ") + problem.what,
        "give a complete " + text_of(use.alphabet) + " model in the text format of nanopolish and f5c");
  if (const std::uint32_t k = kmer_size_of_pore(use.pore); model.k != k)
    throw Failure::input("k-mer model '" + path + "' has " + std::to_string(model.k) + "-mers, and models of the pore " + use.pore + " have " +
                             std::to_string(k) + "-mers",
                         "give the model of this pore, or another name");
  const fs::path file = file_of(use);
  if (file.empty()) throw Failure::output("there is no folder for models: neither XDG_DATA_HOME nor HOME is set", "set HOME");
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error)
    throw Failure::output("the folder '" + file.parent_path().string() + "' cannot be made: " + error.message(),
                          "may you write there? XDG_DATA_HOME sets another");
  StagedFile staged(file.string());
  staged.write(bytes_of(path));
  staged.publish();
}

void remove_model(const ModelUse& use) {
  const std::string path = find_added_model(use);
  if (path.empty())
    throw Failure::usage(builtin_model_file(use.pore, use.alphabet).empty() ? "there is no model '" + use.name() + "'"
                                                                            : "the model '" + use.name() + "' is built in, and none was added",
                         "'sluice model list' lists them");
  std::error_code error;
  if (!fs::remove(path, error) && error)
    throw Failure::output("'" + path + "' cannot be removed: " + error.message(), "may you write in its folder?");
}

}  // namespace sluice::kmer_model
