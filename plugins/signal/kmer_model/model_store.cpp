// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/model_store.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
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

// The shortest figures that are read back as the same float.
void append(std::string& text, float value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void write_as_text(const KmerModel& model, StagedFile& to) {
  std::string text = "#ont_model_name\t" + model.name + "\n";
  if (!model.alphabet_name.empty()) text += "#alphabet\t" + model.alphabet_name + "\n";
  text += "#k\t" + std::to_string(model.k) + "\nkmer\tlevel_mean\tlevel_stdv\n";
  for (std::size_t rank = 0; rank < model.level_mean.size(); ++rank) {
    text += spell(rank, model.alphabet, model.k) + '\t';
    append(text, model.level_mean[rank]);
    text += '\t';
    append(text, model.level_stdv[rank]);
    text += '\n';
    if (text.size() < (1U << 20)) continue;
    to.write(text);
    text.clear();
  }
  to.write(text);
}

}  // namespace

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
        "there is a built-in model '" + use.name() + "', which takes precedence over an added one",
        std::string("give yours where it is wanted: ") + (use.alphabet == Alphabet::methylation ? "--methylation-model" : "--model") + " FILE");
  const auto [model, found, layout] = load_model(path, use);
  if (const std::uint32_t k = kmer_size_of_pore(use.pore); model.k != k)
    throw Failure::input("k-mer model '" + found + "' has " + std::to_string(model.k) + "-mers, and models of the pore " + use.pore + " have " +
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
  if (layout == ModelLayout::text) staged.write(bytes_of(found));
  if (layout == ModelLayout::f5c_source) write_as_text(model, staged);
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
