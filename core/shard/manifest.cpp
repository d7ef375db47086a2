// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/manifest.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sluice/failure.hpp>

namespace sluice {
namespace {

using Tree = nlohmann::ordered_json;

constexpr const char* manifest_format = "sluice shard";
constexpr int manifest_version = 1;
constexpr std::uintmax_t largest_manifest = std::uintmax_t{64} << 20;
constexpr int deepest_manifest = 32;
constexpr std::uint64_t most_parts = 1'000'000;

Tree file_tree(const ManifestFile& file) { return {{"name", file.name}, {"bytes", file.bytes}, {"xxh3", file.xxh3}}; }

// Reads keys of an object; whatever is missing or of another type is a problem.
class TreeReader {
 public:
  TreeReader(const Tree& tree, const std::filesystem::path& file) : tree_(tree), file_(file) {}

  std::string text(const char* key) const { return value(key, Tree::value_t::string).get<std::string>(); }
  std::uint64_t number(const char* key) const { return value(key, Tree::value_t::number_unsigned).get<std::uint64_t>(); }
  const Tree& object(const char* key) const { return value(key, Tree::value_t::object); }
  const Tree& array(const char* key) const { return value(key, Tree::value_t::array); }
  TreeReader below(const char* key) const { return {object(key), file_}; }
  ManifestFile file(const char* key) const {
    const TreeReader entry = below(key);
    ManifestFile result{entry.text("name"), entry.number("bytes"), entry.text("xxh3")};
    if (std::filesystem::path(result.name).filename() != result.name) fail("names a file that does not lie beside it");
    return result;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Failure::input("'" + file_.string() + "' is no manifest of a shard: it " + what, "make this shard again");
  }

 private:
  const Tree& value(const char* key, Tree::value_t type) const {
    const auto found = tree_.find(key);
    if (found == tree_.end() || found->type() != type) fail(std::string("has no '") + key + "'");
    return *found;
  }
  const Tree& tree_;
  const std::filesystem::path& file_;
};

Tree parsed_manifest(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream)
    throw Failure::input("cannot open '" + file.string() + "': " + (error ? error.message() : std::strerror(errno)), "check the path");
  if (bytes > largest_manifest) throw Failure::input("'" + file.string() + "' is too large for a manifest of a shard", "make this shard again");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  // What nests deeper is left out: everything that looks at a tree goes down in it.
  return Tree::parse(
      text, [](int depth, Tree::parse_event_t, Tree&) { return depth < deepest_manifest; }, false);
}

}  // namespace

std::string ShardManifest::text() const {
  return "'" + file().string() + "' (shard " + std::to_string(part + 1) + " of " + std::to_string(parts) + ")";
}

std::string manifest_text(const ShardManifest& m) {
  Tree tree = {{"format", manifest_format},    {"version", manifest_version}, {"shard", m.part + 1}, {"shards", m.parts}, {"rows", m.rows},
               {"output", file_tree(m.output)}};
  Tree& output = tree["output"];
  output["path"] = m.path;
  output["stage"] = m.stage;
  output["parameter"] = m.parameter;
  output["option"] = m.option;
  output["header_bytes"] = m.header_bytes;
  output["form"] = m.form;
  output["state_of"] = m.state_of;
  tree["account"] = file_tree(m.account);
  tree["sluice"] = m.version;
  tree["plugins"] = m.plugins;
  tree["inputs"] = m.inputs;
  tree["pipeline_hash"] = m.pipeline_hash;
  tree["pipeline"] = m.pipeline;
  tree["report"] = m.report;
  return tree.dump(1, ' ', false, Tree::error_handler_t::replace) + "\n";
}

ShardManifest read_manifest(const std::filesystem::path& file) {
  const Tree tree = parsed_manifest(file);
  const TreeReader root(tree, file);
  if (!tree.is_object() || !tree.contains("format") || tree["format"] != manifest_format) root.fail("does not say so");
  if (root.number("version") != manifest_version) root.fail("is of another version");
  ShardManifest m;
  m.place = file;
  m.part = root.number("shard") - 1;
  m.parts = root.number("shards");
  if (m.parts == 0 || m.parts > most_parts || m.part >= m.parts)
    root.fail("is shard " + std::to_string(m.part + 1) + " of " + std::to_string(m.parts));
  m.rows = root.number("rows");
  m.output = root.file("output");
  const TreeReader output = root.below("output");
  m.path = output.text("path");
  m.stage = output.text("stage");
  m.parameter = output.text("parameter");
  m.option = output.text("option");
  m.header_bytes = output.number("header_bytes");
  m.form = output.text("form");
  m.state_of = output.text("state_of");
  m.account = root.file("account");
  m.version = root.text("sluice");
  m.plugins = root.object("plugins");
  m.inputs = root.array("inputs");
  m.pipeline_hash = root.text("pipeline_hash");
  m.pipeline = root.object("pipeline");
  m.report = root.object("report");
  return m;
}

}  // namespace sluice
