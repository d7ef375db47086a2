// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_actions/conditions.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace sluice::read_until_actions {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool parse_number(std::string_view text, std::int32_t& value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size();
}

std::optional<Select> select_named(std::string_view name) {
  if (name == "enrich") return Select::enrich;
  if (name == "deplete") return Select::deplete;
  if (name == "control") return Select::control;
  return std::nullopt;
}

std::optional<ReadAction> action_named(std::string_view name) {
  if (name == "unblock") return ReadAction::unblock;
  if (name == "stop_receiving") return ReadAction::stop_receiving;
  if (name == "proceed") return ReadAction::proceed;
  return std::nullopt;
}

constexpr std::array<std::string_view, outcomes> outcome_names = {"on_target", "off_target", "undecided", "above_maximum"};

class ConditionTable {
 public:
  ConditionTable(const Condition& usual, ReadAction undecided, Conditions& result) : usual_(usual), undecided_(undecided), result_(result) {}

  // Each of the functions: "" or what is wrong.
  std::string take_names(std::string_view line) {
    constexpr std::array<std::string_view, 6> others = {"condition", "channels", "select", "targets", "minimum_chunks", "maximum_chunks"};
    for (const std::string_view name : split(line, '\t')) {
      const bool known = std::find(others.begin(), others.end(), name) != others.end() ||
                         std::find(outcome_names.begin(), outcome_names.end(), name) != outcome_names.end();
      if (!known) return "there is no column '" + std::string(name) + "' in a table of conditions";
      names_.emplace_back(name);
    }
    for (const char* needed : {"condition", "channels", "select"})
      if (std::find(names_.begin(), names_.end(), needed) == names_.end()) return std::string("there is no column '") + needed + "'";
    return "";
  }

  std::string take_line(std::string_view line) {
    const std::vector<std::string_view> fields = split(line, '\t');
    if (fields.size() != names_.size()) return std::to_string(fields.size()) + " columns instead of " + std::to_string(names_.size());
    std::map<std::string_view, std::string_view> cells;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (!fields[i].empty() && fields[i] != ".") cells[names_[i]] = fields[i];
    Condition condition = usual_;
    if (const std::string problem = read(cells, condition); !problem.empty()) return problem;
    if (cells["channels"] == "other") {
      if (other_) return "two conditions are for the other channels";
      other_ = std::move(condition);
      return "";
    }
    return assign(cells["channels"], std::move(condition));
  }

  void end() {
    const auto behind = static_cast<std::int32_t>(result_.conditions.size());
    Condition rest = other_.value_or(usual_);
    const auto is_named = [&](const Condition& condition) { return condition.name == rest.name; };
    // The table may have given its name to other channels.
    while (std::any_of(result_.conditions.begin(), result_.conditions.end(), is_named)) rest.name = "other " + rest.name;
    result_.conditions.push_back(std::move(rest));
    std::replace(result_.channel_condition.begin(), result_.channel_condition.end(), -1, behind);
  }
  bool has_names() const { return !names_.empty(); }

 private:
  std::string read(std::map<std::string_view, std::string_view>& cells, Condition& condition) const {
    if (cells["condition"].empty()) return "the condition has no name";
    condition.name = cells["condition"];
    const auto is_it = [&](const Condition& other) { return other.name == condition.name; };
    if (std::any_of(result_.conditions.begin(), result_.conditions.end(), is_it) || (other_ && is_it(*other_)))
      return "condition '" + condition.name + "' comes twice";
    const auto select = select_named(cells["select"]);
    if (!select) return "select is '" + std::string(cells["select"]) + "', not enrich, deplete or control";
    condition.select = *select;
    condition.actions = usual_actions(*select, undecided_);
    condition.targets = cells["targets"];
    for (const auto& [name, value] : {std::pair{"minimum_chunks", &condition.minimum_chunks}, {"maximum_chunks", &condition.maximum_chunks}})
      if (const std::string_view text = cells[name]; !text.empty() && (!parse_number(text, *value) || *value < 0))
        return std::string(name) + " is '" + std::string(text) + "', not a number of chunks";
    if (condition.maximum_chunks > 0 && condition.minimum_chunks > condition.maximum_chunks) return "minimum_chunks is greater than maximum_chunks";
    for (std::size_t i = 0; i < outcomes; ++i) {
      const std::string_view text = cells[outcome_names[i]];
      if (text.empty()) continue;
      const auto action = action_named(text);
      if (!action) return std::string(outcome_names[i]) + " is '" + std::string(text) + "', not unblock, stop_receiving or proceed";
      if (*action == ReadAction::unblock && condition.select == Select::control) return "a control condition unblocks nothing";
      condition.actions[i] = *action;
    }
    return "";
  }

  std::string assign(std::string_view channels_text, Condition condition) {
    std::vector<std::int32_t> channels;
    if (!parse_channels(channels_text, channels)) return "'" + std::string(channels_text) + "' are no channels: write 1-256,300, or other";
    std::vector<std::int32_t>& of = result_.channel_condition;
    for (const std::int32_t channel : channels) {
      const auto at = static_cast<std::size_t>(channel);
      if (at >= of.size()) of.resize(at + 1, -1);
      if (of[at] >= 0) return "channel " + std::to_string(channel + 1) + " is in two conditions";
      of[at] = static_cast<std::int32_t>(result_.conditions.size());
    }
    result_.conditions.push_back(std::move(condition));
    return "";
  }

  const Condition& usual_;
  const ReadAction undecided_;
  Conditions& result_;
  std::vector<std::string> names_;
  std::optional<Condition> other_;
};

}  // namespace

Actions usual_actions(Select select, ReadAction undecided) {
  constexpr ReadAction keep = ReadAction::stop_receiving, eject = ReadAction::unblock;
  if (select == Select::control) return {keep, keep, keep, keep};
  if (select == Select::enrich) return {keep, eject, undecided, undecided};
  return {eject, keep, undecided, undecided};
}

bool parse_channels(std::string_view text, std::vector<std::int32_t>& channels) {
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    std::int32_t first = 0, last = 0;
    if (!parse_number(part.substr(0, dash), first)) return false;
    last = first;
    if (dash != std::string_view::npos && !parse_number(part.substr(dash + 1), last)) return false;
    if (first < 1 || last < first || last > largest_channel) return false;
    if (last - first >= largest_channel - static_cast<std::int32_t>(channels.size())) return false;  // some channel would come twice
    for (std::int32_t channel = first; channel <= last; ++channel) channels.push_back(channel - 1);
  }
  return true;
}

bool parse_conditions(std::string_view table, const Condition& usual, ReadAction undecided, Conditions& conditions, std::string& problem) {
  ConditionTable reader(usual, undecided, conditions);
  for (std::size_t number = 1; !table.empty(); ++number) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    std::string_view line = table.substr(0, end);
    table.remove_prefix(std::min(end + 1, table.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const std::string what = reader.has_names() ? reader.take_line(line) : reader.take_names(line);
    if (!what.empty()) return problem = "line " + std::to_string(number) + ": " + what, false;
  }
  if (!reader.has_names()) return problem = "it is empty", false;
  reader.end();
  return true;
}

}  // namespace sluice::read_until_actions
