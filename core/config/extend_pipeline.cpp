// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/extend_pipeline.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "config/pipeline.hpp"
#include "config/pipeline_file.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// A part of the file with entries of its own, and the key without which an entry only changes one of the base's.
struct Section {
  const char* key;
  const char* entry;
  const char* whole;  // null: an entry needs no key to be whole
};
constexpr Section sections[] = {
    {"parameters", "parameter", "type"}, {"presets", "preset", nullptr}, {"resources", "resource", "use"}, {"stages", "stage", "use"}};

TomlMember* member_of(TomlNode& table, const std::string& key) {
  const auto found = std::find_if(table.members.begin(), table.members.end(), [&](const TomlMember& m) { return m.key == key; });
  return found == table.members.end() ? nullptr : &*found;
}

class Extension {
 public:
  explicit Extension(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // `files`: the pipelines that are being extended, each by the one before.
  bool apply(TomlNode& document, std::vector<fs::path> files) {
    TomlMember* head = member_of(document, "pipeline");
    TomlMember* extends = head == nullptr || head->value.kind != TomlKind::table ? nullptr : member_of(head->value, "extends");
    if (extends == nullptr) return true;
    if (extends->value.kind != TomlKind::string) return error(extends->value.where, "'extends' must be the name of a pipeline, as a string", "");
    const std::string name = extends->value.text;
    const Location where = extends->value.where;
    const fs::path file = base_file(name, files.back(), where);
    if (file.empty()) return false;
    std::error_code ignored;  // a file that can't be compared is another one
    if (std::any_of(files.begin(), files.end(), [&](const fs::path& f) { return f == file || fs::equivalent(f, file, ignored); })) {
      std::string circle;
      for (const fs::path& f : files) circle += f.string() + " -> ";
      return error(where, "the pipelines extend each other in a circle: " + circle + file.string(), "one of them has to stand alone");
    }
    const std::optional<std::string> text = read_pipeline_text(file, diagnostics_);
    std::optional<TomlNode> base = text ? parse_toml(*text, file.string(), diagnostics_) : std::nullopt;
    files.push_back(file);
    if (!base || !apply(*base, files)) return false;
    base_name_ = name;
    document = merged(std::move(*base), document);
    return true;
  }

 private:
  bool error(const Location& where, const std::string& message, const std::string& remedy) {
    diagnostics_.error(where, "", message, remedy);
    return false;
  }

  // A path is seen from the file that says it.
  fs::path base_file(const std::string& name, const fs::path& from, const Location& where) {
    const bool is_relative_path = is_pipeline_path(name) && !fs::path(name).is_absolute();
    return find_pipeline(is_relative_path ? (from.parent_path() / name).string() : name, diagnostics_, where);
  }

  TomlNode merged(TomlNode base, const TomlNode& over) {
    for (const TomlMember& part : over.members) {
      const auto section = std::find_if(std::begin(sections), std::end(sections), [&](const Section& s) { return part.key == s.key; });
      TomlMember* below = member_of(base, part.key);
      const bool tables = below != nullptr && below->value.kind == TomlKind::table && part.value.kind == TomlKind::table;
      if (section != std::end(sections) && (tables || (below == nullptr && part.value.kind == TomlKind::table))) {
        if (below == nullptr) below = &base.members.emplace_back(TomlMember{part.key, part.where, {}});
        for (const TomlMember& entry : part.value.members) change_entry(below->value, entry, *section);
      } else if (part.key == "pipeline" && tables) {
        change_keys(below->value, part.value);
      } else if (below != nullptr) {
        *below = part;
      } else {
        base.members.push_back(part);
      }
    }
    // The name of the base is not the name of what was made of it.
    TomlMember* head = member_of(base, "pipeline");
    if (head != nullptr) std::erase_if(head->value.members, [](const TomlMember& m) { return m.key == "extends"; });
    return base;
  }

  void change_entry(TomlNode& base, const TomlMember& entry, const Section& section) {
    TomlMember* below = member_of(base, entry.key);
    const TomlMember* remove = nullptr;
    bool is_whole = section.whole == nullptr && below == nullptr;
    for (const TomlMember& member : entry.value.members) {
      if (member.key == "remove") remove = &member;
      if (section.whole != nullptr && member.key == section.whole) is_whole = true;
    }
    const std::string subject = std::string(section.entry) + " '" + entry.key + "': ";
    if (below == nullptr && (remove != nullptr || !is_whole) && entry.value.kind == TomlKind::table) {
      std::vector<std::string> names;
      for (const TomlMember& known : base.members) names.push_back(known.key);
      const std::string near = nearest_name(entry.key, names);
      error(entry.where, subject + "'" + base_name_ + "' has none of that name to " + (remove != nullptr ? "remove" : "change"),
            !near.empty()       ? "did you mean '" + near + "'?"
            : remove != nullptr ? "leave it out"
                                : std::string("add ") + section.whole + " = \"...\" to make a new one");
    } else if (remove != nullptr && (remove->value.kind != TomlKind::boolean || remove->value.text != "true" || entry.value.members.size() > 1)) {
      error(remove->value.where, subject + "'remove' goes with nothing else, and must be true", "leave out the rest, or 'remove'");
    } else if (remove != nullptr) {
      std::erase_if(base.members, [&](const TomlMember& m) { return m.key == entry.key; });
    } else if (below == nullptr) {
      base.members.push_back(entry);
    } else if (is_whole || entry.value.kind != TomlKind::table || below->value.kind != TomlKind::table) {
      *below = entry;
    } else {
      change_keys(below->value, entry.value);
    }
  }

  // Tables in them (params, resources) are changed entry by entry, everything else is replaced.
  static void change_keys(TomlNode& base, const TomlNode& over) {
    for (const TomlMember& member : over.members) {
      TomlMember* below = member_of(base, member.key);
      if (below == nullptr)
        base.members.push_back(member);
      else if (below->value.kind == TomlKind::table && member.value.kind == TomlKind::table)
        change_keys(below->value, member.value);
      else
        *below = member;
    }
  }

  Diagnostics& diagnostics_;
  std::string base_name_;
};

}  // namespace

bool extend_pipeline(TomlNode& document, const fs::path& file, Diagnostics& diagnostics) { return Extension(diagnostics).apply(document, {file}); }

}  // namespace sluice
