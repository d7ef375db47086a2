// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Where a pipeline that is named by a word is looked for, and where it is not.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sluice/testing/temporary_folder.hpp>

#include "config/pipeline.hpp"
#include "config/pipeline_file.hpp"

using namespace sluice;

namespace {

// An environment variable, as it was before when the object goes.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name), before_(std::getenv(name) == nullptr ? "" : std::getenv(name)) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

}  // namespace

TEST_CASE("A pipeline that hides another of its name is said to, and relative folders of the XDG variables are not looked into") {
  const testing::TemporaryFolder made;
  const std::string folder = std::string(made.path()) + "/";
  for (const char* file : {"config/sluice/pipelines/own.toml", "path/own.toml", "path/only.toml"}) {
    std::filesystem::create_directories(std::filesystem::path(folder + file).parent_path());
    std::ofstream(folder + file) << "[pipeline]\nname = \"own\"\n";
  }
  const Variable path("SLUICE_PIPELINE_PATH", folder + "path");
  {
    const Variable config("XDG_CONFIG_HOME", folder + "config");
    Diagnostics diagnostics;
    CHECK(find_pipeline("own", diagnostics) == folder + "config/sluice/pipelines/own.toml");
    REQUIRE(diagnostics.list().size() == 1);
    CHECK(diagnostics.list().front().severity == Severity::warning);
    CHECK(diagnostics.list().front().message.find("hides '" + folder + "path/own.toml'") != std::string::npos);
    CHECK(find_pipeline("only", diagnostics) == folder + "path/only.toml");
    CHECK(diagnostics.list().size() == 1);
  }
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  {
    const Variable config("XDG_CONFIG_HOME", "config");
    Diagnostics diagnostics;
    CHECK(find_pipeline("own", diagnostics) == folder + "path/own.toml");
    CHECK(diagnostics.list().empty());
  }
  std::filesystem::current_path(before);
}

TEST_CASE("What is no file in a folder of pipelines is no pipeline, and nothing waits for it") {
  const testing::TemporaryFolder made;
  const std::string folder = std::string(made.path()) + "/";
  std::filesystem::create_directories(folder + "parts");
  for (const char* name : {"pipe.toml", "parts/pipe.toml"}) REQUIRE(::mkfifo((folder + name).c_str(), 0600) == 0);
  const Variable path("SLUICE_PIPELINE_PATH", made.path());
  for (const std::filesystem::path& file : shipped_pipelines()) CHECK(file != folder + "pipe.toml");
  Diagnostics diagnostics;
  CHECK(find_pipeline("pipe", diagnostics).empty());
  CHECK(find_fragment("pipe", folder + "from.toml", diagnostics, {}).empty());
  CHECK(diagnostics.list().size() == 2);
}
