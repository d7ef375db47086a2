// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/machine_profile.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>

#include "unit/core/toy_run.hpp"

using namespace sluice;

namespace {

class ProfileFolder {
 public:
  ProfileFolder() { std::filesystem::create_directories(folder_); }
  ~ProfileFolder() { std::filesystem::remove_all(folder_); }
  std::filesystem::path file(const std::string& name = "profile.json") const { return folder_ / name; }
  void write(const std::string& text) const { std::ofstream(file(), std::ios::binary) << text; }
  std::string read() const {
    std::ostringstream text;
    text << std::ifstream(file()).rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("sluice-profile-" + std::to_string(::getpid()));
};

MachineProfile example() {
  MachineProfile profile = profile_of_this_machine();
  profile.put({"abea", "cuda", "NVIDIA H200", 0.01, 2e-9, 3e-7, 40});
  profile.put({"abea", "cpu", "", 0, 5e-7, 0, 40});
  return profile;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("A profile that is saved is read back, number by number") {
  const ProfileFolder folder;
  const MachineProfile written = example();
  CHECK(save_profile(written, folder.file()).empty());
  const LoadedProfile loaded = load_profile(folder.file());
  CHECK(loaded.problem.empty());
  REQUIRE(loaded.profile.costs().size() == 2);
  CHECK(loaded.profile.date.size() == 10);
  const StageCost* cost = loaded.profile.find("abea", "cuda", "NVIDIA H200");
  REQUIRE(cost != nullptr);
  CHECK(cost->seconds_per_call == 0.01);
  CHECK(cost->seconds_per_work == 2e-9);
  CHECK(cost->seconds_per_largest_row == 3e-7);
  CHECK(cost->calls == 40);
  CHECK(cost->predict(1e6, 1e4) == doctest::Approx(0.01 + 0.002 + 0.003));
  CHECK(loaded.profile.find("abea", "cuda", "another card") == nullptr);
  CHECK(loaded.profile.find("events", "cpu", "") == nullptr);
}

TEST_CASE("A newer cost takes the place of the older one") {
  MachineProfile profile = example();
  profile.put({"abea", "cpu", "", 0, 1e-7, 0, 9});
  CHECK(profile.costs().size() == 2);
  CHECK(profile.find("abea", "cpu", "")->calls == 9);
}

TEST_CASE("A file that is not there is no problem") {
  const ProfileFolder folder;
  const LoadedProfile loaded = load_profile(folder.file("none.json"));
  CHECK(loaded.problem.empty());
  CHECK(loaded.profile.costs().empty());
  CHECK(load_profile("").problem.empty());
}

TEST_CASE("A profile that is foreign, older or damaged is ignored with one line that names it") {
  const ProfileFolder folder;
  REQUIRE(save_profile(example(), folder.file()).empty());
  const std::string good = folder.read();
  const MachineProfile here = profile_of_this_machine();
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), good.substr(0, good.size() / 2), std::string(5 << 20, ' '),
        replaced(good, "\"machine_profile\": 1", "\"machine_profile\": 2"), replaced(good, "\"machine_profile\": 1", "\"machine_profile\": \"1\""),
        replaced(good, here.version, "0.0.1"), replaced(good, here.processor, "Another Processor 9000"), replaced(good, "0.01", "-0.01"),
        replaced(good, "0.01", "1e300"), replaced(good, "0.01", "\"soon\""), replaced(good, "\"calls\": 40", "\"calls\": 0"),
        replaced(good, "\"costs\"", "\"cost\"")}) {
    CAPTURE(bad.substr(0, 200));
    folder.write(bad);
    const LoadedProfile loaded = load_profile(folder.file());
    CHECK(loaded.profile.costs().empty());
    CHECK(loaded.problem.find(folder.file().string()) != std::string::npos);
    CHECK(loaded.problem.find('\n') == std::string::npos);
  }
  CHECK_FALSE(load_profile(folder.file("")).problem.empty());  // the folder
}

TEST_CASE("Every cut of a profile is refused or whole") {
  const ProfileFolder folder;
  REQUIRE(save_profile(example(), folder.file()).empty());
  const std::string good = folder.read();
  for (std::size_t length = 0; length < good.size(); length += 7) {
    folder.write(good.substr(0, length));
    const std::size_t costs = load_profile(folder.file()).profile.costs().size();
    CHECK((costs == 0 || (costs == 2 && length + 1 == good.size())));
  }
}

TEST_CASE("A profile that can't be written says why") {
  CHECK(save_profile(example(), "/proc/none/profile.json").find("/proc/none") != std::string::npos);
}

TEST_CASE("The profile lies in the user's cache") {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  CHECK(default_profile_file() == "/somewhere/sluice/machine_profile.json");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(default_profile_file() != "relative/sluice/machine_profile.json");
  if (before == nullptr)
    ::unsetenv("XDG_CACHE_HOME");
  else
    ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}
