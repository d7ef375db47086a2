// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/extend_pipeline.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "config/entry_merge.hpp"
#include "config/pipeline.hpp"
#include "config/pipeline_file.hpp"
#include "config/table_reader.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Of one pipeline, in all. Far more than anybody needs; keeps hostile files from costing seconds.
constexpr std::size_t most_files = 64;

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;  // a file that can't be compared is another one
  return a == b || fs::equivalent(a, b, ignored);
}

class Extension {
 public:
  Extension(std::vector<fs::path>& files, Diagnostics& diagnostics) : files_(files), diagnostics_(diagnostics) {}

  // `chain`: the files that are being taken over, each by the one before.
  bool apply(TomlNode& document, std::vector<fs::path> chain) {
    TomlMember* head = member_of(document, "pipeline");
    if (head == nullptr || head->value.kind != TomlKind::table) return true;
    TakenOver below;
    const TomlMember* extends = member_of(head->value, "extends");
    const TomlMember* include = member_of(head->value, "include");
    if (extends == nullptr && include == nullptr) return true;
    if (extends != nullptr && !take_base(extends->value, chain, below)) return false;
    if (include != nullptr && !take_fragments(include->value, chain, below)) return false;
    // The name of the base is not the name of what was made of it.
    std::erase_if(head->value.members, [](const TomlMember& m) { return m.key == "extends" || m.key == "include"; });
    document = merged(std::move(below), document, diagnostics_);
    return true;
  }

 private:
  bool error(const Location& where, const std::string& message, const std::string& remedy) {
    diagnostics_.error(where, "", message, remedy);
    return false;
  }

  bool take_base(const TomlNode& extends, std::vector<fs::path> chain, TakenOver& below) {
    if (extends.kind != TomlKind::string) return error(extends.where, "'extends' must be the name of a pipeline, as a string", "");
    // A path is seen from the file that says it.
    const bool is_relative_path = is_pipeline_path(extends.text) && !fs::path(extends.text).is_absolute();
    const std::string seen = is_relative_path ? (chain.back().parent_path() / extends.text).string() : extends.text;
    const fs::path file = find_pipeline(seen, diagnostics_, extends.where);
    if (file.empty() || is_circle(file, chain, extends.where, "the pipelines extend each other", "one of them has to stand alone")) return false;
    below.base_name = extends.text;
    return load(file, std::move(chain), extends.where, below.base);
  }

  bool take_fragments(const TomlNode& include, const std::vector<fs::path>& chain, TakenOver& below) {
    const bool is_one = include.kind == TomlKind::string;
    if (!is_one && include.kind != TomlKind::array) return error(include.where, "'include' must be a list of files", "write include = [\"FILE\"]");
    for (const TomlNode& item : is_one ? std::vector<TomlNode>{include} : include.items) {
      if (item.kind != TomlKind::string || item.text.empty())
        return error(item.where, "what is included must be the name of a file, as a string", "write include = [\"FILE\"]");
      const fs::path file = find_fragment(item.text, chain.back(), diagnostics_, item.where);
      if (file.empty() || is_circle(file, chain, item.where, "the files include each other", "take one of the includes out")) return false;
      // What two fragments both need is taken over once.
      if (std::any_of(files_.begin(), files_.end(), [&](const fs::path& f) { return is_same_file(f, file); })) continue;
      Fragment& fragment = below.fragments.emplace_back();
      fragment.name = item.text;
      if (!load(file, chain, item.where, fragment.document)) return false;
      check_form(fragment.document);
    }
    return true;
  }

  // What is not taken over must not be there. A fragment may say what it is, which nobody reads.
  void check_form(const TomlNode& fragment) {
    TableReader root(fragment, "", "", diagnostics_);
    for (const char* key : {"advice", "parameters", "presets", "resources", "stages"}) root.take(key, {TomlKind::table}, "a table");
    if (const TomlMember* head = root.take("pipeline", {TomlKind::table}, "a table")) {
      TableReader reader(head->value, "[pipeline]: ", "", diagnostics_);
      for (const char* key : {"name", "summary", "doc"}) reader.take_string(key);
      reader.finish();
    }
    root.finish();
  }

  bool is_circle(const fs::path& file, const std::vector<fs::path>& chain, const Location& where, const std::string& what,
                 const std::string& remedy) {
    if (std::none_of(chain.begin(), chain.end(), [&](const fs::path& f) { return is_same_file(f, file); })) return false;
    std::string circle;
    for (const fs::path& f : chain) circle += f.string() + " -> ";
    error(where, what + " in a circle: " + circle + file.string(), remedy);
    return true;
  }

  bool load(const fs::path& file, std::vector<fs::path> chain, const Location& where, TomlNode& document) {
    if (files_.size() == most_files)
      return error(where, "the pipeline is made of more than " + std::to_string(most_files) + " files", "include fewer");
    files_.push_back(file);
    const std::optional<std::string> text = read_pipeline_text(file, diagnostics_);
    std::optional<TomlNode> read = text ? parse_toml(*text, file.string(), diagnostics_) : std::nullopt;
    chain.push_back(file);
    if (!read || !apply(*read, std::move(chain))) return false;
    document = std::move(*read);
    return true;
  }

  std::vector<fs::path>& files_;  // all that were read
  Diagnostics& diagnostics_;
};

}  // namespace

bool extend_pipeline(TomlNode& document, const fs::path& file, std::vector<fs::path>& files, Diagnostics& diagnostics) {
  return Extension(files, diagnostics).apply(document, {file});
}

}  // namespace sluice
