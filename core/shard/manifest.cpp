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

// What a manifest has, each by its key: members_of() with a TreeWriter writes it, with a TreeReader reads it.
template <class File, class At>
void members_of_file(File& file, At& at) {
  at("name", file.name);
  at("bytes", file.bytes);
  at("xxh3", file.xxh3);
}
template <class Manifest, class At>
void members_of(Manifest& m, At& at) {
  at.from_one("shard", m.part);
  at("shards", m.parts);
  at("rows", m.rows);
  at.below("output", [&](auto& output) {
    members_of_file(m.output, output);
    output("path", m.path);
    output("stage", m.stage);
    output("parameter", m.parameter);
    output("option", m.option);
    output("header_bytes", m.header_bytes);
    output("form", m.form);
    output("state_of", m.state_of);
  });
  at.below("account", [&](auto& account) { members_of_file(m.account, account); });
  at("sluice", m.version);
  at("plugins", m.plugins, Tree::value_t::object);
  at("inputs", m.inputs, Tree::value_t::array);
  at("pipeline_hash", m.pipeline_hash);
  at("pipeline", m.pipeline, Tree::value_t::object);
  at("report", m.report, Tree::value_t::object);
}

class TreeWriter {
 public:
  explicit TreeWriter(Tree& tree) : tree_(tree) {}
  void operator()(const char* key, const std::string& text) { tree_[key] = text; }
  void operator()(const char* key, std::uint64_t number) { tree_[key] = number; }
  void operator()(const char* key, const Tree& tree, Tree::value_t) { tree_[key] = tree; }
  void from_one(const char* key, std::uint64_t number) { tree_[key] = number + 1; }
  template <class Members>
  void below(const char* key, Members&& members) {
    Tree& entry = tree_[key] = Tree::object();
    TreeWriter writer(entry);
    members(writer);
  }

 private:
  Tree& tree_;
};

// Whatever is missing or of another type is a problem.
class TreeReader {
 public:
  TreeReader(const Tree& tree, const std::filesystem::path& file) : tree_(tree), file_(file) {}
  void operator()(const char* key, std::string& text) { text = value(key, Tree::value_t::string).get<std::string>(); }
  void operator()(const char* key, std::uint64_t& number) { number = value(key, Tree::value_t::number_unsigned).get<std::uint64_t>(); }
  void operator()(const char* key, Tree& tree, Tree::value_t type) { tree = value(key, type); }
  void from_one(const char* key, std::uint64_t& number) { (*this)(key, number), --number; }
  template <class Members>
  void below(const char* key, Members&& members) {
    TreeReader reader(value(key, Tree::value_t::object), file_);
    members(reader);
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
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);  // of what is no regular file there is none, and nobody waits for a pipe
  const std::ifstream stream = error ? std::ifstream() : std::ifstream(file, std::ios::binary);
  if (error || !stream)
    throw Failure::input("cannot open '" + file.string() + "': " + (error ? error.message() : std::strerror(errno)), "check the path");
  if (bytes > largest_manifest) throw Failure::input("'" + file.string() + "' is too large for a manifest of a shard", "make this shard again");
  const std::string text{std::istreambuf_iterator<char>(stream.rdbuf()), {}};
  // What nests deeper is left out: everything that looks at a tree goes down in it.
  return Tree::parse(
      text, [](int depth, Tree::parse_event_t, Tree&) { return depth < deepest_manifest; }, false);
}

}  // namespace

std::string ShardManifest::text() const {
  return "'" + file().string() + "' (shard " + std::to_string(part + 1) + " of " + std::to_string(parts) + ")";
}

std::string manifest_text(const ShardManifest& m) {
  Tree tree = {{"format", manifest_format}, {"version", manifest_version}};
  TreeWriter writer(tree);
  members_of(m, writer);
  return tree.dump(1, ' ', false, Tree::error_handler_t::replace) + "\n";
}

ShardManifest read_manifest(const std::filesystem::path& file) {
  const Tree tree = parsed_manifest(file);
  TreeReader reader(tree, file);
  if (!tree.is_object() || !tree.contains("format") || tree["format"] != manifest_format) reader.fail("does not say so");
  std::uint64_t version = 0;
  reader("version", version);
  if (version != manifest_version) reader.fail("is of another version");
  ShardManifest m;
  m.place = file;
  members_of(m, reader);
  if (m.parts == 0 || m.parts > most_parts || m.part >= m.parts)
    reader.fail("is shard " + std::to_string(m.part + 1) + " of " + std::to_string(m.parts));
  for (const ManifestFile* beside : {&m.output, &m.account})
    if (std::filesystem::path(beside->name).filename() != beside->name) reader.fail("names a file that does not lie beside it");
  // Renamed together they belong together: what is read is what was named.
  if (const std::string own = file.filename().string(); own.ends_with(manifest_ending))
    m.output.name = own.substr(0, own.size() - std::string_view(manifest_ending).size());
  return m;
}

}  // namespace sluice
