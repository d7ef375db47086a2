// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/shard_set.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sluice/failure.hpp>
#include <sluice/folder.hpp>

#include "config/diagnostic.hpp"
#include "machine/checksum.hpp"
#include "run/run_identity.hpp"
#include "shard/pipeline_tree.hpp"
#include "shard/shard_run.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Tree = nlohmann::ordered_json;

constexpr const char* same_run_remedy = "make all shards with the same command but for --shard and the outputs, then merge them";

std::string with_ending(const std::string& name) { return name.ends_with(manifest_ending) ? name : name + manifest_ending; }

std::vector<fs::path> manifests_of(const std::string& name) {
  std::error_code error;
  if (!fs::is_directory(name, error)) {
    const std::string file = with_ending(name);
    if (!fs::exists(file, error))
      throw Failure::usage("'" + name + "' is no shard: there is no '" + file + "'",
                           "name outputs of `sluice run ... --shard I/N`, whose manifests lie beside them and are renamed with them, or a folder");
    return {file};
  }
  std::vector<fs::path> files;
  error = for_each_entry(name, [&files](const fs::path& file) {
    if (file.filename().string().ends_with(manifest_ending)) files.push_back(file);
  });
  if (error) throw Failure::input("cannot read the folder '" + name + "': " + error.message());
  if (files.empty()) throw Failure::usage("there are no shards in '" + name + "'", "name a folder with outputs of `sluice run ... --shard I/N`");
  std::sort(files.begin(), files.end());
  return files;
}

void keep_output(std::vector<ShardManifest>& shards, const std::string& of) {
  std::set<std::string> names;
  std::string list;
  for (const ShardManifest& shard : shards)
    if (names.insert(shard.output_name()).second) list += (list.empty() ? "" : ", ") + shard.output_name();
  if (of.empty() && names.size() > 1) throw Failure::usage("these are shards of several outputs: " + list, "say which one: --of " + *names.begin());
  if (of.empty()) return;
  std::erase_if(shards, [&](const ShardManifest& shard) { return shard.output_name() != of && shard.stage != of; });
  if (!shards.empty()) return;
  const std::string near = nearest_name(of, {names.begin(), names.end()});
  throw Failure::usage("--of: there are no shards of an output '" + of + "'",
                       near.empty() ? "there are those of " + list : "did you mean '" + near + "'?");
}

// Refuses two shards, with what is different.
[[noreturn]] void refuse_pair(const ShardManifest& a, const ShardManifest& b, const std::string& what, const std::string& remedy = same_run_remedy) {
  throw Failure::input(a.text() + " and " + b.text() + " don't belong together: " + what, remedy);
}

// Of an object of texts.
RunIdentity texts_of(const Tree& tree) {
  RunIdentity texts;
  for (const auto& [key, value] : tree.items()) texts[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return texts;
}

void check_pair(const ShardManifest& a, const ShardManifest& b, const RunIdentity& pipeline_a, const RunIdentity& pipeline_b) {
  if (a.parts != b.parts) refuse_pair(a, b, "they are of other numbers of shards");
  if (a.stage != b.stage || a.parameter != b.parameter) refuse_pair(a, b, "they are of the outputs of '" + a.stage + "' and of '" + b.stage + "'");
  if (a.version != b.version) refuse_pair(a, b, "they were made by sluice " + a.version + " and " + b.version);
  if (const std::string difference = difference_of_two(texts_of(a.plugins), texts_of(b.plugins)); !difference.empty())
    refuse_pair(a, b, "the plugin " + difference);
  if (const std::string difference = difference_of_two(pipeline_a, pipeline_b); !difference.empty()) refuse_pair(a, b, difference);
  for (std::size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i)
    if (const std::string difference = difference_of_two(texts_of(a.inputs[i]), texts_of(b.inputs[i])); !difference.empty())
      refuse_pair(a, b, "the input " + a.inputs[i].value("name", "") + ": " + difference);
  if (a.inputs.size() != b.inputs.size())
    refuse_pair(a, b, "they read " + std::to_string(a.inputs.size()) + " and " + std::to_string(b.inputs.size()) + " files");
  if (a.form != b.form || a.state_of != b.state_of) refuse_pair(a, b, "their files are " + a.form + " and " + b.form);
}

void check_number(const std::vector<ShardManifest>& shards) {
  const std::uint64_t parts = shards.front().parts;
  for (std::size_t i = 1; i < shards.size(); ++i)
    if (shards[i].part == shards[i - 1].part)
      throw Failure::input("shard " + std::to_string(shards[i].part + 1) + " of " + std::to_string(parts) + " is there twice: '" +
                               shards[i - 1].file().string() + "' and '" + shards[i].file().string() + "'",
                           "name each shard once");
  std::string missing;
  std::uint64_t count = 0;
  constexpr std::uint64_t most_shown = 20;
  for (std::uint64_t part = 0, i = 0; part < parts; ++part) {
    if (i < shards.size() && shards[i].part == part) {
      ++i;
      continue;
    }
    if (++count <= most_shown) missing += (missing.empty() ? "" : ", ") + std::to_string(part + 1);
  }
  if (count > 0)
    throw Failure::input(std::to_string(count) + " of " + std::to_string(parts) + " shards " + (count == 1 ? "is" : "are") + " missing: " + missing +
                             (count > most_shown ? ", ..." : ""),
                         "name them, too, or run them again: --shard " + missing.substr(0, missing.find(',')) + "/" + std::to_string(parts));
}

}  // namespace

std::vector<ShardManifest> find_shards(const std::vector<std::string>& names, const std::string& of) {
  std::vector<ShardManifest> shards;
  for (const std::string& name : names)
    for (const fs::path& file : manifests_of(name)) shards.push_back(read_manifest(file));
  if (shards.empty()) throw Failure::usage("no shards are named", "name outputs of `sluice run ... --shard I/N`, or a folder of them");
  keep_output(shards, of);
  return shards;
}

void check_shards(std::vector<ShardManifest>& shards, const Registry& registry, const std::string& version) {
  std::sort(shards.begin(), shards.end(), [](const ShardManifest& a, const ShardManifest& b) { return a.part < b.part; });
  const ShardManifest& first = shards.front();
  if (first.version != version)
    throw Failure::input(first.text() + " was made by sluice " + first.version + ", this is " + version,
                         "merge with the sluice that made the shards");
  RunIdentity expected;
  for (const ShardManifest& shard : shards) {
    const ResolvedPipeline pipeline = pipeline_from_tree(shard.pipeline, registry);
    RunIdentity own = identity_of_parts(pipeline);
    if (checksum_of(own) != shard.pipeline_hash)
      throw Failure::input("the manifest of " + shard.text() + " is damaged: its pipeline is not the one that was run", "make this shard again");
    if (&shard == &first) {
      expected = std::move(own);
      if (const std::string difference = difference_of_two(texts_of(first.plugins), texts_of(used_plugins(pipeline))); !difference.empty())
        throw Failure::input(first.text() + " was made by other plugins than those here: " + difference,
                             "merge with the plugins that made the shards");
    } else {
      check_pair(first, shard, expected, own);
    }
  }
  check_number(shards);
}

bool check_content(const ShardManifest& shard, const ManifestFile& file, const std::function<bool()>& cancelled) {
  const fs::path path = shard.place.parent_path() / file.name;
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  std::ifstream stream;
  if (is_file) stream.open(path, std::ios::binary);
  if (!stream.is_open())
    throw Failure::input("cannot open '" + path.string() + "': " +
                             (error     ? error.message()
                              : is_file ? std::strerror(errno)
                                        : "it is no regular file"),
                         "it has to lie beside its manifest, and to be renamed with it");
  std::vector<char> piece(std::size_t{1} << 20);
  Checksum sum;
  std::uint64_t bytes = 0;
  do {
    if (cancelled()) return false;
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    sum.add({piece.data(), static_cast<std::size_t>(stream.gcount())});
    bytes += static_cast<std::uint64_t>(stream.gcount());
  } while (stream);
  const std::string remedy = "copy it again, or run it again: --shard " + std::to_string(shard.part + 1) + "/" + std::to_string(shard.parts);
  if (bytes != file.bytes)
    throw Failure::input("'" + path.string() + "' has " + std::to_string(bytes) + " bytes, but its manifest says " + std::to_string(file.bytes),
                         remedy);
  if (sum.text() != file.xxh3) throw Failure::input("'" + path.string() + "' is not what its manifest says: its checksum is another", remedy);
  return true;
}

}  // namespace sluice
