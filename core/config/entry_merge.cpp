// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/entry_merge.hpp"

#include <algorithm>
#include <map>

namespace sluice {
namespace {

enum class Place { before, behind };

// A part of the file with entries of its own, the key without which an entry only changes another, and where included entries stand.
struct Section {
  const char* key;
  const char* entry;
  const char* whole;  // null: an entry needs no key to be whole
  Place included;
};
constexpr Section sections[] = {{"advice", "advice", nullptr, Place::behind},
                                {"parameters", "parameter", "type", Place::behind},
                                {"presets", "preset", nullptr, Place::behind},
                                {"resources", "resource", "use", Place::before},
                                {"stages", "stage", "use", Place::before}};

const Section* section_of(const std::string& key) {
  const auto found = std::find_if(std::begin(sections), std::end(sections), [&](const Section& s) { return s.key == key; });
  return found == std::end(sections) ? nullptr : found;
}

const TomlMember* find(const TomlNode& table, const std::string& key) {
  const auto found = std::find_if(table.members.begin(), table.members.end(), [&](const TomlMember& m) { return m.key == key; });
  return found == table.members.end() ? nullptr : &*found;
}

std::string line_of(const TomlMember& entry) { return entry.where.file + ":" + std::to_string(entry.where.line); }

// Tables in them (params, resources) are changed entry by entry, everything else is replaced.
void change_keys(TomlNode& base, const TomlNode& over) {
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

// The entries of one section.
class SectionMerge {
 public:
  SectionMerge(const Section& section, const TakenOver& below, Diagnostics& diagnostics)
      : section_(section), below_(below), diagnostics_(diagnostics), blocks_(below.fragments.size()) {
    if (const TomlMember* base = find(below.base, section.key)) entries_ = base->value;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (const TomlMember* block = find(below.fragments[i].document, section.key)) take_block(i, block->value);
  }

  TomlNode merged_with(const TomlNode& over) {
    if (section_.included == Place::before)
      for (std::size_t i = 0; i < blocks_.size(); ++i)
        if (std::none_of(over.members.begin(), over.members.end(), [&](const TomlMember& m) { return find(blocks_[i], m.key) != nullptr; })) place(i);
    for (const TomlMember& entry : over.members) {
      if (const auto home = included_.find(entry.key); home != included_.end()) place(home->second);
      change(entry);
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) place(i);
    return std::move(entries_);
  }

 private:
  void error(const Location& where, const std::string& name, const std::string& message, const std::string& remedy) {
    diagnostics_.error(where, "", std::string(section_.entry) + " '" + name + "': " + message, remedy);
  }

  // What two files say cannot both hold.
  void take_block(std::size_t i, const TomlNode& block) {
    for (const TomlMember& entry : block.members) {
      const TomlMember* other = find(entries_, entry.key);
      if (const auto home = included_.find(entry.key); home != included_.end()) other = find(blocks_[home->second], entry.key);
      if (other != nullptr) {
        error(entry.where, entry.key, "it is taken over from two files: it is in " + line_of(*other) + ", too", "give one of them another name");
        continue;
      }
      blocks_[i].members.push_back(entry);
      included_[entry.key] = i;
    }
  }

  void place(std::size_t i) {
    std::move(blocks_[i].members.begin(), blocks_[i].members.end(), std::back_inserter(entries_.members));
    blocks_[i].members.clear();
  }

  void change(const TomlMember& entry) {
    TomlMember* below = member_of(entries_, entry.key);
    if (entry.value.kind != TomlKind::table) return put(below, entry);
    TomlMember own = entry;
    const bool removes = take_mark(own, "remove"), replaces = take_mark(own, "replace");
    const bool is_whole = section_.whole == nullptr ? below == nullptr : find(own.value, section_.whole) != nullptr;
    if (below == nullptr && (removes || replaces || !is_whole)) {
      nothing_there(entry, removes ? "remove" : replaces ? "replace" : "change");
    } else if (removes && (replaces || !own.value.members.empty())) {
      error(find(entry.value, "remove")->value.where, entry.key, "'remove' goes with nothing else, and must be true",
            "leave out the rest, or 'remove'");
    } else if (removes) {
      std::erase_if(entries_.members, [&](const TomlMember& m) { return m.key == entry.key; });
    } else if (replaces && section_.whole != nullptr && !is_whole) {
      error(find(entry.value, "replace")->value.where, entry.key, "'replace' is for a whole entry",
            "leave it out to change the entry, or add " + std::string(section_.whole) + " = \"...\"");
    } else if (below != nullptr && is_whole && !replaces && included_.contains(entry.key)) {
      error(entry.where, entry.key,
            "the name is taken by " + line_of(*below) + ", which '" + below_.fragments[included_[entry.key]].name + "' brings",
            "leave out '" + std::string(section_.whole) + "' to change that one, add replace = true to replace it, or choose another name");
    } else if (below != nullptr && !is_whole && !replaces && below->value.kind == TomlKind::table) {
      change_keys(below->value, own.value);
    } else {
      put(below, own);
    }
  }

  // Takes `key = true` out of an entry. Another value is told, and counts as true.
  bool take_mark(TomlMember& entry, const char* key) {
    const TomlMember* mark = find(entry.value, key);
    if (mark == nullptr) return false;
    if (mark->value.kind != TomlKind::boolean || mark->value.text != "true")
      error(mark->value.where, entry.key,
            std::string("'") + key + "' " + (std::string(key) == "remove" ? "goes with nothing else, and must be true" : "must be true"),
            std::string("leave out the rest, or '") + key + "'");
    std::erase_if(entry.value.members, [&](const TomlMember& m) { return m.key == key; });
    return true;
  }

  void put(TomlMember* below, const TomlMember& entry) {
    if (below != nullptr)
      *below = entry;
    else
      entries_.members.push_back(entry);
  }

  void nothing_there(const TomlMember& entry, const char* verb) {
    std::vector<std::string> names;
    for (const TomlMember& known : entries_.members) names.push_back(known.key);
    for (const TomlNode& block : blocks_)
      for (const TomlMember& known : block.members) names.push_back(known.key);
    const std::string near = nearest_name(entry.key, names);
    std::string holders = below_.base_name.empty() ? "" : "'" + below_.base_name + "'";
    for (const Fragment& fragment : below_.fragments) holders += (holders.empty() ? "'" : ", '") + fragment.name + "'";
    const bool is_one = holders.find(", ") == std::string::npos;
    error(entry.where, entry.key,
          (is_one ? holders + " has" : "none of " + holders + " has") + (is_one ? " none" : " one") + " of that name to " + verb,
          !near.empty()                   ? "did you mean '" + near + "'?"
          : std::string(verb) != "change" ? "leave it out"
                                          : std::string("add ") + section_.whole + " = \"...\" to make a new one");
  }

  const Section& section_;
  const TakenOver& below_;
  Diagnostics& diagnostics_;
  TomlNode entries_;
  std::vector<TomlNode> blocks_;                 // of each fragment, until they are placed
  std::map<std::string, std::size_t> included_;  // entry -> its fragment
};

}  // namespace

TomlMember* member_of(TomlNode& table, const std::string& key) { return const_cast<TomlMember*>(find(table, key)); }

TomlNode merged(TakenOver below, const TomlNode& over, Diagnostics& diagnostics) {
  TomlNode result = below.base;
  // The commands of other programs stay with the pipeline that was made for them.
  if (TomlMember* head = member_of(result, "pipeline")) std::erase_if(head->value.members, [](const TomlMember& key) { return key.key == "peers"; });
  for (const Section& section : sections) {
    const TomlMember* own = find(over, section.key);
    TomlMember* there = member_of(result, section.key);
    if ((own != nullptr && own->value.kind != TomlKind::table) || (there != nullptr && there->value.kind != TomlKind::table)) continue;
    static const TomlNode nothing;
    TomlNode entries = SectionMerge(section, below, diagnostics).merged_with(own != nullptr ? own->value : nothing);
    if (entries.members.empty() && there == nullptr && own == nullptr) continue;
    if (there == nullptr) there = &result.members.emplace_back(TomlMember{section.key, own != nullptr ? own->where : Location{}, {}});
    there->value.members = std::move(entries.members);
  }
  for (const TomlMember& part : over.members) {
    TomlMember* there = member_of(result, part.key);
    if (section_of(part.key) != nullptr && part.value.kind == TomlKind::table && there != nullptr && there->value.kind == TomlKind::table) continue;
    if (there == nullptr)
      result.members.push_back(part);
    else if (part.key == "pipeline" && there->value.kind == TomlKind::table && part.value.kind == TomlKind::table)
      change_keys(there->value, part.value);
    else
      *there = part;
  }
  return result;
}

}  // namespace sluice
