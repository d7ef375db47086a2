// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A plugin file that is no plugin, and two plugins that define the same stage, are problems of those who need that stage, and of nobody else.
#include <doctest/doctest.h>

#include <vector>

#include "program.hpp"

using program::Folder;
using program::run;
using program::toy_pipeline;

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

const fs::path toy_stages = SLUICE_TEST_PLUGIN_DIR "/toy_stages.so";

// A run with table_writer, which is shipped.
const char* const table_pipeline = R"([pipeline]
name = "table"
[parameters.output]
type = "path"
default = "-"
[stages.numbers]
use = "toy_source"
params.batches = 1
[stages.table]
use = "table_writer"
params = { output = "${output}", columns = "value" }
)";

}  // namespace

TEST_CASE("every command works beside a plugin that was cut off, and lists it with the reason") {
  const auto whole = fs::file_size(toy_stages);
  for (const auto bytes : std::vector<std::uintmax_t>{0, 100, whole / 4, whole / 2, whole * 9 / 10, whole * 99 / 100}) {
    CAPTURE(bytes);
    const Folder folder;
    const std::string windows = folder.write("windows", ">w 1\nACGT\n");
    fs::create_directory(folder.path("plugins"));
    fs::copy_file(toy_stages, folder.path("plugins/cut_off.so"));
    fs::resize_file(folder.path("plugins/cut_off.so"), bytes);
    const auto with_it = [&](Names arguments) {
      arguments.insert(arguments.end(), {"--plugin-dir", folder.path("plugins")});
      return run(arguments);
    };
    const auto list = with_it({"plugins"});
    CHECK_MESSAGE(list.code == 0, list.err);
    CHECK_MESSAGE(list.prints("cut_off.so"), list.out);
    CHECK(list.prints("table_writer"));
    const auto doctor = with_it({"doctor"});
    CHECK_MESSAGE(doctor.code == 1, doctor.err);
    CHECK_MESSAGE(doctor.prints("cut_off.so"), doctor.out);
    for (const Names& arguments : std::vector<Names>{{"run", "consensus", "--help"},
                                                     {"check", "consensus"},
                                                     {"plan", "consensus"},
                                                     {"inspect", "table_writer"},
                                                     {"schema"},
                                                     {"run", "consensus", "--windows", windows, "--output", folder.path("out"), "--quiet"}}) {
      CAPTURE(arguments);
      const auto outcome =
          arguments[0] == "schema" ? run(arguments, {}, "/dev/null", {{"SLUICE_PLUGIN_PATH", folder.path("plugins")}}) : with_it(arguments);
      CHECK_MESSAGE(outcome.code == 0, outcome.err);
    }
    CHECK(folder.read("out").starts_with(">"));
  }
}

TEST_CASE("a folder that is named like a plugin, and one that cannot be read, do not end anything") {
  const Folder folder;
  fs::create_directories(folder.path("plugins/folder.so"));
  fs::create_symlink("nowhere", folder.path("plugins/link.so"));
  CHECK(run({"plugins", "--plugin-dir", folder.path("plugins")}).code == 0);
  CHECK(run({"check", "consensus", "--plugin-dir", folder.path("plugins")}).code == 0);
}

TEST_CASE("a pipeline is refused if two plugins define a stage that it uses; others are not") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  const std::string windows = folder.write("windows", ">w 1\nACGT\n");
  fs::create_directory(folder.path("plugins"));
  fs::copy_file(toy_stages, folder.path("plugins/other_toys.so"));
  const Names more = {"--plugin-dir", folder.path("plugins")};
  const auto with_both = [&](Names arguments) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  for (const char* command : {"run", "check", "plan"}) {
    CAPTURE(command);
    const auto outcome = with_both({command, toy, "--output", folder.path("out")});
    CHECK_MESSAGE(outcome.code == 2, outcome.err);
    CHECK_MESSAGE(outcome.says("toy_source"), outcome.err);
    CHECK_MESSAGE(outcome.says(folder.path("plugins/other_toys.so")), outcome.err);
    CHECK_MESSAGE(outcome.says(toy_stages.string()), outcome.err);
    CHECK_FALSE(fs::exists(folder.path("out")));
  }
  const auto other = with_both({"run", "consensus", "--windows", windows, "--output", folder.path("out"), "--quiet"});
  CHECK_MESSAGE(other.code == 0, other.err);
  for (const char* command : {"plugins", "doctor"}) {
    const auto list = with_both({command});
    CHECK(list.code == (std::string(command) == "doctor" ? 1 : 0));
    CHECK_MESSAGE(list.prints("other_toys.so"), list.out);
  }
}

TEST_CASE("the same file twice, in folders that are named twice or linked, is one plugin") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  fs::create_directory_symlink(SLUICE_TEST_PLUGIN_DIR, folder.path("linked"));
  const auto outcome = run({"run", toy, "--output", folder.path("out"), "--batches", "1", "--plugin-dir", SLUICE_TEST_PLUGIN_DIR, "--plugin-dir",
                            folder.path("linked"), "--quiet"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(folder.read("out") == "1\n2\n3\n4\n");
}

TEST_CASE("a user's plugin does not take a shipped stage's place in silence") {
  const Folder folder;
  const std::string table = folder.write("table.toml", table_pipeline);
  fs::create_directories(folder.path("data/sluice/plugins"));
  fs::copy_file(SLUICE_PLUGIN_DIR "/table_writer.so", folder.path("data/sluice/plugins/mine.so"));
  const std::map<std::string, std::string> environment = {{"XDG_DATA_HOME", folder.path("data")}};
  CHECK(run({"run", table}).out.starts_with("value\n0\n"));
  for (const char* command : {"run", "check"}) {
    const auto outcome = run({command, table}, {}, "/dev/null", environment);
    CHECK_MESSAGE(outcome.code == 2, outcome.err);
    CHECK(outcome.says("table_writer"));
    CHECK_MESSAGE(outcome.says(folder.path("data/sluice/plugins/mine.so")), outcome.err);
    CHECK_MESSAGE(outcome.says(SLUICE_PLUGIN_DIR "/table_writer.so"), outcome.err);
  }
  CHECK(run({"check", "consensus"}, {}, "/dev/null", environment).code == 0);
  CHECK(run({"doctor"}, {}, "/dev/null", environment).prints("mine.so"));
}
