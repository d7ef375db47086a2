// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/own_words.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

using Arguments = std::vector<std::string>;

Arguments words_of(const std::string& text) {
  std::istringstream stream(text);
  Arguments words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Behind an option: without a part of the value it has that of the option before.
constexpr char shares_value = '+';
constexpr std::string_view nothing = "nothing: ", nothing_with_value = "nothing VALUE: ";

bool is_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

class OwnWords {
 public:
  OwnWords(const WrittenPipeline& pipeline, const TakesValue& takes_value) : pipeline_(pipeline), takes_value_(takes_value) {}

  Arguments take(const Arguments& arguments) {
    for (std::size_t i = 0; i < arguments.size();) {
      const std::string& argument = arguments[i++];
      const auto value = [&]() -> std::optional<std::string> { return i < arguments.size() ? std::optional(arguments[i++]) : std::nullopt; };
      if (argument == "-" || !is_option(argument)) {
        if (repeated_.empty())
          loose_.push_back(argument);
        else
          put(repeated_, argument);
        continue;
      }
      repeated_.clear();
      if (i < arguments.size() && take_with_value(argument, arguments[i])) {
        ++i;
        continue;
      }
      if (argument.starts_with("--"))
        take_long(argument, value);
      else
        take_letters(argument, value);
    }
    give_positionals();
    return std::move(result_);
  }

 private:
  void put(const std::string& option, const std::string& value) {
    result_.push_back(option);
    result_.push_back(value);
  }
  const PipelineParameter* parameter_of(const std::string& option) const {
    const auto it = std::find_if(pipeline_.parameters.begin(), pipeline_.parameters.end(),
                                 [&](const PipelineParameter& p) { return "--" + kebab_case(p.name) == option; });
    return it == pipeline_.parameters.end() ? nullptr : &*it;
  }
  // What stands for another program's option, or a former name of ours; nullopt: nothing does.
  std::optional<std::string> meant_by(const std::string& option) const {
    for (const PipelineParameter& p : pipeline_.parameters)
      if (!p.formerly.empty() && "--" + kebab_case(p.formerly) == option) return "--" + kebab_case(p.name);
    if (const auto habit = pipeline_.habits.find(option); habit != pipeline_.habits.end())
      return kind_of_habit(habit->second) == HabitKind::answered ? std::nullopt : std::optional(habit->second);
    if (option == "-o" && parameter_of("--output") != nullptr) return "--output";
    if (option == "-t") return "--threads";
    if (option.size() == 2 && parameter_of("-" + option) != nullptr) return "-" + option;
    return std::nullopt;
  }

  // "-x VALUE" as a habit of its own.
  bool take_with_value(const std::string& option, const std::string& value) {
    const auto own = pipeline_.habits.find(option + " " + value);
    if (own == pipeline_.habits.end()) return false;
    if (kind_of_habit(own->second) == HabitKind::answered)
      result_.push_back(own->first);
    else
      replace("", own->second, [] { return std::optional<std::string>(); });
    return true;
  }

  template <class Next>
  void take_long(const std::string& argument, const Next& next) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto value = [&] { return equals == std::string::npos ? next() : std::optional(argument.substr(equals + 1)); };
    if (const auto meant = meant_by(argument)) return replace(argument, *meant, value);
    if (const auto meant = meant_by(name)) return replace(name, *meant, value);
    result_.push_back(argument);
    const PipelineParameter* const parameter = parameter_of(name);
    if (equals == std::string::npos && takes_value_(name))
      if (const auto own = next()) result_.push_back(*own);
    if (parameter != nullptr && parameter->several) repeated_ = name;
  }
  // "-ax" is -a and -x; what is left behind one that takes a value is its value.
  template <class Next>
  void take_letters(const std::string& argument, const Next& next) {
    if (pipeline_.habits.contains(argument) && argument.size() > 2) return result_.push_back(argument);  // "-uf"
    for (std::size_t at = 1; at < argument.size(); ++at) {
      const std::string option = std::string("-") + argument[at];
      const auto meant = meant_by(option);
      if (!meant || option == "-h") return result_.push_back("-" + argument.substr(at));
      bool took_rest = false;
      replace(option, *meant, [&] {
        took_rest = true;
        const std::string rest = argument.substr(at + 1);
        return rest.empty() ? next() : std::optional(rest);
      });
      if (took_rest) return;
    }
  }
  // `next` gives the value, if the options take one.
  template <class Next>
  void replace(const std::string& option, const std::string& text, const Next& next) {
    if (kind_of_habit(text) == HabitKind::dropped) {
      if (text.starts_with(nothing_with_value)) next();
      return;
    }
    const Arguments words = words_of(text);
    if (words.empty()) return;
    const bool has_own_value = words.size() > 1 && !words.back().starts_with("--");
    if (has_own_value || !takes_value_(words.front())) {
      result_.insert(result_.end(), words.begin(), words.end());
      return;
    }
    const std::optional<std::string> value = next();
    if (!value) return result_.push_back(words.front());  // which the parser misses a value of
    if (take_with_value(option, *value)) return;
    if (words.size() == 1) return put(words.front(), *value);
    std::istringstream parts(*value);
    std::string part;
    for (const std::string& word : words) {
      const bool may_share = word.ends_with(shares_value);
      if (std::string own; std::getline(parts, own, ','))
        part = own;
      else if (!may_share)
        break;
      put(may_share ? word.substr(0, word.size() - 1) : word, part);
    }
  }

  void give_positionals() {
    std::vector<const PipelineParameter*> wanted;
    for (const std::string& name : pipeline_.positionals)
      if (const PipelineParameter* p = parameter_of("--" + kebab_case(name))) {
        const std::string option = "--" + kebab_case(name);
        const bool is_given =
            std::any_of(result_.begin(), result_.end(), [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
        if (!is_given) wanted.push_back(p);
      }
    // Those that may be left out are, from the last one on.
    for (std::size_t i = wanted.size(); i-- > 0 && wanted.size() > loose_.size();)
      if (!wanted[i]->required) wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(i));
    std::size_t over = loose_.size() > wanted.size() ? loose_.size() - wanted.size() : 0, at = 0;
    for (const PipelineParameter* p : wanted) {
      std::size_t count = 1;
      if (p->several) count += std::exchange(over, 0);
      for (; count > 0 && at < loose_.size(); --count) put("--" + kebab_case(p->name), loose_[at++]);
    }
    result_.insert(result_.end(), loose_.begin() + static_cast<std::ptrdiff_t>(at), loose_.end());
  }

  const WrittenPipeline& pipeline_;
  const TakesValue& takes_value_;
  Arguments result_, loose_;
  std::string repeated_;  // the option whose further values may come
};

}  // namespace

HabitKind kind_of_habit(const std::string& text) {
  if (text.starts_with(nothing) || text.starts_with(nothing_with_value)) return HabitKind::dropped;
  const Arguments words = words_of(text);
  const auto is_ours = [](const std::string& word) { return word.starts_with("--") && word.find_first_of(",:'") == std::string::npos; };
  const auto others = std::find_if_not(words.begin(), words.end(), is_ours);
  // Options, or one with its value.
  return !words.empty() && (others == words.end() || (words.size() == 2 && others == words.begin() + 1)) ? HabitKind::replaced : HabitKind::answered;
}

std::vector<std::string> in_own_words(const std::vector<std::string>& arguments, const WrittenPipeline& pipeline, const TakesValue& takes_value) {
  return OwnWords(pipeline, takes_value).take(arguments);
}

}  // namespace sluice
