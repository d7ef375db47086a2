// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Outputs close what they have opened, once, and nothing else: the numbers of files are shared with the program that the library runs in.
#include "run/output_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

// Takes every free number up to this one, as a host program may between any two calls.
class HostFiles {
 public:
  static constexpr int behind = 64;
  HostFiles() {
    for (int number = ::open("/dev/null", O_RDONLY); number >= 0 && number < behind; number = ::open("/dev/null", O_RDONLY))
      numbers_.push_back(number);
  }
  HostFiles(const HostFiles&) = delete;
  ~HostFiles() {
    for (const int number : numbers_) ::close(number);
  }
  std::size_t count() const { return numbers_.size(); }
  std::size_t open_count() const {
    std::size_t open = 0;
    for (const int number : numbers_) open += ::fcntl(number, F_GETFD) >= 0 ? 1 : 0;
    return open;
  }

 private:
  std::vector<int> numbers_;
};

enum class Ending { commit, keep_partial, discard, close };

}  // namespace

TEST_CASE("however a run ends, files that the host has opened meanwhile stay open") {
  for (const Ending ending : {Ending::commit, Ending::keep_partial, Ending::discard, Ending::close})
    for (const char* name : {"staged", "/dev/null", "-"}) {
      CAPTURE(name);
      const ToyRun folder;
      const std::string path = std::string_view(name) == "staged" ? folder.path(name).string() : name;
      OutputFiles files;
      sluice_file* const file = files.open(path);
      switch (ending) {
        case Ending::commit:
          files.commit({});
          break;
        case Ending::keep_partial:
          files.keep_partial();
          break;
        case Ending::discard:
          files.discard();
          break;
        case Ending::close:
          OutputFiles::close(*file);
          break;
      }
      const HostFiles host;
      REQUIRE(host.count() > 0);
      files.discard();
      CHECK(host.open_count() == host.count());
    }
}
