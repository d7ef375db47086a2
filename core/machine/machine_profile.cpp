// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/machine_profile.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "machine/atomic_file.hpp"
#include "machine/machine.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;
// A machine has some ten stages and a few kinds of devices; a file beyond this is something else.
constexpr std::uintmax_t most_bytes = 4 << 20;

auto key(const StageCost& cost) { return std::tie(cost.stage, cost.implementation, cost.device); }

// Below 0, infinite or absurd: no call takes a day, no unit of work either.
double checked_seconds(const Json& entry, const char* name) {
  constexpr double day = 86400;
  const double seconds = entry.at(name).get<double>();
  if (!(seconds >= 0 && seconds < day)) throw std::runtime_error(std::string(name) + " is not a time");
  return seconds;
}

StageCost read_cost(const Json& entry) {
  StageCost cost;
  cost.stage = entry.at("stage").get<std::string>();
  cost.implementation = entry.at("implementation").get<std::string>();
  cost.device = entry.at("device").get<std::string>();
  cost.seconds_per_call = checked_seconds(entry, "seconds_per_call");
  cost.seconds_per_work = checked_seconds(entry, "seconds_per_work");
  cost.seconds_per_largest_row = checked_seconds(entry, "seconds_per_largest_row");
  cost.calls = entry.at("calls").get<std::uint64_t>();
  if (cost.calls == 0 || cost.seconds_per_call + cost.seconds_per_work + cost.seconds_per_largest_row <= 0)
    throw std::runtime_error("a cost of stage '" + cost.stage + "' was never measured");
  return cost;
}

MachineProfile parse(const std::string& text) {
  const Json json = Json::parse(text);
  if (json.at("machine_profile").get<int>() != format_version) throw std::runtime_error("it is of another format version");
  MachineProfile profile;
  profile.version = json.at("sluice").get<std::string>();
  profile.machine = json.at("machine").get<std::string>();
  profile.processor = json.at("processor").get<std::string>();
  profile.date = json.at("date").get<std::string>();
  for (const Json& entry : json.at("costs")) profile.put(read_cost(entry));
  return profile;
}

}  // namespace

const StageCost* MachineProfile::find(std::string_view stage, std::string_view implementation, std::string_view device) const {
  const auto found = std::find_if(costs_.begin(), costs_.end(), [&](const StageCost& cost) {
    return cost.stage == stage && cost.implementation == implementation && cost.device == device;
  });
  return found == costs_.end() ? nullptr : &*found;
}

void MachineProfile::put(StageCost cost) {
  const auto place = std::lower_bound(costs_.begin(), costs_.end(), cost, [](const StageCost& a, const StageCost& b) { return key(a) < key(b); });
  if (place != costs_.end() && key(*place) == key(cost))
    *place = std::move(cost);
  else
    costs_.insert(place, std::move(cost));
}

MachineProfile profile_of_this_machine() {
  MachineProfile profile;
  utsname names{};
  if (::uname(&names) == 0) profile.machine = names.nodename;
  profile.processor = describe_machine().processor;
  profile.version = SLUICE_VERSION;
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  char text[16] = "";
  if (::gmtime_r(&now, &day) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d", &day);
  profile.date = text;
  return profile;
}

LoadedProfile load_profile(const std::filesystem::path& file) {
  LoadedProfile result;
  std::error_code error;
  if (file.empty() || !std::filesystem::exists(file, error)) return result;
  const auto refuse = [&](const std::string& why) {
    result.problem = "the machine profile " + file.string() + " is ignored: " + why + " (sluice bench --calibrate makes a new one)";
  };
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  if (error || bytes > most_bytes) return refuse("it is no small file"), result;
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream && !stream.eof()) return refuse("it can't be read"), result;
  try {
    MachineProfile profile = parse(text);
    const MachineProfile here = profile_of_this_machine();
    if (profile.version != here.version)
      refuse("it was made by sluice " + profile.version + ", this is " + here.version);
    else if (profile.processor != here.processor)
      refuse("it is of a machine with another processor (" + profile.processor + ")");
    else
      result.profile = std::move(profile);
  } catch (const nlohmann::json::exception&) {
    refuse("it is cut off, or no machine profile");
  } catch (const std::runtime_error& problem) {
    refuse(problem.what());
  }
  return result;
}

std::string save_profile(const MachineProfile& profile, const std::filesystem::path& file) {
  Json costs = Json::array();
  for (const StageCost& cost : profile.costs())
    costs.push_back({{"stage", cost.stage},
                     {"implementation", cost.implementation},
                     {"device", cost.device},
                     {"seconds_per_call", cost.seconds_per_call},
                     {"seconds_per_work", cost.seconds_per_work},
                     {"seconds_per_largest_row", cost.seconds_per_largest_row},
                     {"calls", cost.calls}});
  const Json json = {{"machine_profile", format_version}, {"sluice", profile.version}, {"machine", profile.machine},
                     {"processor", profile.processor},    {"date", profile.date},      {"costs", costs}};
  std::error_code error;
  if (!file.parent_path().empty()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) return file.string() + ": its folder can't be made: " + error.message();
  return write_atomically(file, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::filesystem::path default_profile_file() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  // The standard says that a relative path in XDG_CACHE_HOME is to be ignored.
  if (const auto cache = folder("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "sluice" / "machine_profile.json";
  if (const auto home = folder("HOME"); home.is_absolute()) return home / ".cache" / "sluice" / "machine_profile.json";
  return {};
}

}  // namespace sluice
