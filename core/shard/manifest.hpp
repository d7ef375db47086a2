// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// OUTPUT.shard.json: what lies beside each output of a shard, and says of what it is which part.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice {

inline constexpr const char* manifest_ending = ".shard.json";

// A file that lies beside the manifest.
struct ManifestFile {
  std::string name;  // without its folder
  std::uint64_t bytes = 0;
  std::string xxh3;  // of all of it
};

struct ShardManifest {
  std::filesystem::path place;           // of the manifest itself
  std::uint64_t part = 0, parts = 1;     // from 0
  std::string version;                   // of sluice
  std::string pipeline_hash;             // of what decides what comes out
  nlohmann::ordered_json pipeline;       // see pipeline_tree.hpp
  nlohmann::ordered_json inputs;         // array of { name, bytes, xxh3 }
  nlohmann::ordered_json plugins;        // name -> "version, build id"
  std::string stage, parameter, option;  // what wrote the output, and "--output" where an option names it
  std::string path;                      // of the output, as the run was told it
  ManifestFile output;
  std::uint64_t header_bytes = 0;
  std::string form;               // "bytes", "BGZF text", "state"
  std::string state_of;           // the regroup whose state it is; "": it is rows
  std::uint64_t rows = 0;         // that the sources gave; of one that every shard reads to its end the first shard says so
  ManifestFile account;           // the table of lost rows; no name: there is none
  nlohmann::ordered_json report;  // of the run

  std::filesystem::path file() const { return place.parent_path() / output.name; }
  // "'calls.2.tsv' (shard 2 of 7)"
  std::string text() const;
  // How --of names the output: the option without dashes, else the stage.
  std::string output_name() const { return option.starts_with("--") ? option.substr(2) : stage; }
};

std::string manifest_text(const ShardManifest& manifest);

// Whatever the bytes are: a manifest, or Failure (input) that names the file. The output is the file beside it whose name is the manifest's without
// its ending, whatever it was called when it was written.
ShardManifest read_manifest(const std::filesystem::path& file);

}  // namespace sluice
