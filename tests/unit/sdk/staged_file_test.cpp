// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sluice/staged_file.hpp>
#include <string>
#include <vector>

using sluice::StagedFile;

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// A folder of the test's own, removed with everything in it.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "sluice_staged_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& content) const { std::ofstream(path(name), std::ios::binary) << content; }
  std::string read(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  Names names() const {
    Names result;
    for (const auto& entry : fs::directory_iterator(path_)) result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  fs::path path_;
};

// What a process left that was killed while it staged `name`.
void leave_behind(const Folder& folder, const std::string& name) {
  const pid_t child = ::fork();
  if (child == 0) {
    const StagedFile file(folder.path(name));
    file.write("half of");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

sluice_status failure_of(const std::string& path) {
  try {
    const StagedFile file(path);
  } catch (const sluice::Failure& failure) {
    CHECK(std::string(failure.what()).find("'" + path + "'") != std::string::npos);
    return failure.status();
  }
  return SLUICE_OK;
}

}  // namespace

TEST_CASE("a staged file has no name of its own until it is published") {
  const Folder folder;
  folder.write("index", "old");
  StagedFile file(folder.path("index"));
  file.write("new ");
  file.write("bytes");
  CHECK(folder.read("index") == "old");
  REQUIRE(folder.names().size() == 2);
  CHECK(folder.names()[0].starts_with(".index."));
  CHECK(folder.names()[0].ends_with(".partial"));
  CHECK(file.temporary() == folder.path(folder.names()[0]));
  file.publish();
  CHECK(folder.names() == Names{"index"});
  CHECK(folder.read("index") == "new bytes");
}

TEST_CASE("a staged file that is not published leaves nothing, and what was there stays") {
  const Folder folder;
  folder.write("index", "old");
  {
    const StagedFile file(folder.path("index"));
    file.write("half of");
  }
  {
    StagedFile file(folder.path("index"));
    file.discard();
    file.discard();
  }
  CHECK(folder.names() == Names{"index"});
  CHECK(folder.read("index") == "old");
}

TEST_CASE("a published file stays when its object goes, and a moved object is the only one") {
  const Folder folder;
  {
    StagedFile first(folder.path("index"));
    first.write("one ");
    StagedFile second(std::move(first));
    second.write("file");
    second.publish();
  }
  CHECK(folder.names() == Names{"index"});
  CHECK(folder.read("index") == "one file");
}

TEST_CASE("what a killed process left is removed by the next one that stages the name, and nothing else is") {
  const Folder folder;
  leave_behind(folder, "index");
  leave_behind(folder, "index");
  leave_behind(folder, "index.more");
  REQUIRE(folder.names().size() == 2);  // the second process removed what the first one had left
  const Names others = {".index.partial", ".index.abcdefg.partial", ".index.abcdef.partially", "index.abcdef.partial", ".index.abcdef.part"};
  for (const std::string& name : others) folder.write(name, "somebody's");
  fs::create_directory(folder.path(".index.folder.partial"));
  StagedFile(folder.path("index")).publish();
  for (const std::string& name : others) CHECK_MESSAGE(folder.read(name) == "somebody's", name);
  CHECK(fs::is_directory(folder.path(".index.folder.partial")));
  CHECK(folder.names().size() == others.size() + 3);  // with the folder, what is left of index.more, and the index
  StagedFile(folder.path("index.more")).publish();
  CHECK(folder.names().size() == others.size() + 3);
}

TEST_CASE("what a process left that was killed before its file had its name is removed, too") {
  const Folder folder;
  folder.write(".index.abc123.partial", "");
  CHECK(StagedFile::is_left_behind(folder.path(".index.abc123.partial"), folder.path("index")));
  StagedFile(folder.path("index")).publish();
  CHECK(folder.names() == Names{"index"});
}

TEST_CASE("a file that was named or copied by others is never taken for what a killed process left") {
  const Folder folder;
  folder.write(".index.abc123.partial", "the user's");
  leave_behind(folder, "index");
  std::string left;
  for (const std::string& name : folder.names())
    if (name != ".index.abc123.partial") left = name;
  REQUIRE(left.size() > 0);
  CHECK(StagedFile::is_left_behind(folder.path(left), folder.path("index")));
  CHECK_FALSE(StagedFile::is_left_behind(folder.path(".index.abc123.partial"), folder.path("index")));
  CHECK_FALSE(StagedFile::is_left_behind(folder.path(left), folder.path("other")));
  const Folder another;
  fs::copy_file(folder.path(left), another.path(left));
  fs::rename(folder.path(left), folder.path("moved"));
  fs::copy_file(another.path(left), folder.path(left));
  StagedFile(folder.path("index")).publish();
  Names expected = {".index.abc123.partial", left, "index", "moved"};
  std::sort(expected.begin(), expected.end());
  CHECK(folder.names() == expected);
}

TEST_CASE("two that stage one name at the same time do not disturb each other, and the last one stands") {
  const Folder folder;
  StagedFile first(folder.path("index"));
  first.write("first");
  // Another process, and later another object of this one.
  const pid_t child = ::fork();
  if (child == 0) {
    StagedFile file(folder.path("index"));
    file.write("child");
    file.publish();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(folder.read("index") == "child");
  StagedFile second(folder.path("index"));
  CHECK(second.temporary() != first.temporary());
  second.write("second");
  second.publish();
  CHECK(folder.read("index") == "second");
  first.publish();
  CHECK(folder.read("index") == "first");
  CHECK(folder.names() == Names{"index"});
}

TEST_CASE("a left-over that is a link is not followed") {
  const Folder folder;
  folder.write("precious", "bytes");
  fs::create_symlink("precious", folder.path(".index.abcdef.partial"));
  StagedFile(folder.path("index")).publish();
  CHECK(folder.read("precious") == "bytes");
}

TEST_CASE("a link stays a link: its target gets the bytes, beside which they grow") {
  const Folder folder;
  fs::create_directory(folder.path("elsewhere"));
  folder.write("elsewhere/index", "old");
  fs::create_symlink("elsewhere/index", folder.path("index"));
  fs::create_symlink("index", folder.path("link to it"));
  StagedFile file(folder.path("link to it"));
  CHECK(fs::path(file.temporary()).parent_path() == folder.path("elsewhere"));
  file.write("new");
  file.publish();
  CHECK(fs::is_symlink(folder.path("link to it")));
  CHECK(fs::is_symlink(folder.path("index")));
  CHECK_FALSE(fs::is_symlink(folder.path("elsewhere/index")));
  CHECK(folder.read("elsewhere/index") == "new");
}

TEST_CASE("a link to nothing gets its target, and links in a circle are an error") {
  const Folder folder;
  fs::create_symlink(folder.path("to come"), folder.path("index"));
  StagedFile file(folder.path("index"));
  file.write("here");
  file.publish();
  CHECK(fs::is_symlink(folder.path("index")));
  CHECK(folder.read("to come") == "here");
  fs::create_symlink("b", folder.path("a"));
  fs::create_symlink("a", folder.path("b"));
  CHECK(failure_of(folder.path("a")) == SLUICE_ERROR_OUTPUT);
  CHECK(fs::is_symlink(folder.path("a")));
  CHECK(fs::is_symlink(folder.path("b")));
}

TEST_CASE("a folder that is not there and a name that is a folder are errors that name the file") {
  const Folder folder;
  CHECK(failure_of(folder.path("no/such/index")) == SLUICE_ERROR_OUTPUT);
  fs::create_directory(folder.path("index"));
  StagedFile file(folder.path("index"));
  CHECK_THROWS_WITH_AS(file.publish(), doctest::Contains("index"), sluice::Failure);
  file.discard();
  CHECK(folder.names() == Names{"index"});
}

TEST_CASE("a name as long as the file system allows can be staged") {
  const Folder folder;
  const std::string longest(255, 'n');
  leave_behind(folder, longest);
  StagedFile(folder.path(longest)).publish();
  CHECK(folder.names() == Names{longest});
}

TEST_CASE("a name without a folder is one of the working directory") {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path(""));
  leave_behind(folder, "index");
  StagedFile file("index");
  file.write("here");
  file.publish();
  fs::current_path(before);
  CHECK(folder.names() == Names{"index"});
  CHECK(folder.read("index") == "here");
}

TEST_CASE("a published file has the permissions of any new file") {
  const Folder folder;
  const mode_t before = ::umask(027);
  StagedFile(folder.path("index")).publish();
  ::umask(before);
  CHECK((fs::status(folder.path("index")).permissions() & fs::perms::mask) == static_cast<fs::perms>(0640));
}

TEST_CASE("what is replaced keeps its permissions and owner, whatever the umask, and nobody may read more while it grows") {
  const Folder folder;
  const mode_t before = ::umask(027);
  for (const mode_t mode : {0600, 0444, 0664, 0755, 0666}) {
    CAPTURE(mode);
    folder.write("index", "old");
    REQUIRE(::chmod(folder.path("index").c_str(), mode) == 0);
    if (::geteuid() == 0) REQUIRE(::chown(folder.path("index").c_str(), 12345, 23456) == 0);
    StagedFile file(folder.path("index"));
    const auto permissions = [](const std::string& path) { return static_cast<mode_t>(fs::status(path).permissions() & fs::perms::mask); };
    CHECK((permissions(file.temporary()) & 077 & ~mode) == 0);
    file.write("new");
    file.publish();
    CHECK(permissions(folder.path("index")) == mode);
    struct stat info {};
    CHECK((::stat(folder.path("index").c_str(), &info) == 0 && (::geteuid() != 0 || (info.st_uid == 12345 && info.st_gid == 23456))));
    fs::remove(folder.path("index"));
  }
  ::umask(before);
}

TEST_CASE("names of files that are open already are known, also by a link") {
  const Folder folder;
  fs::create_symlink("/dev/stdout", folder.path("link"));
  fs::create_symlink("link", folder.path("link to it"));
  const std::vector<std::pair<std::string, int>> names = {{"/dev/stdin", 0},
                                                          {"/dev/stdout", 1},
                                                          {"/dev/stderr", 2},
                                                          {"/dev/fd/7", 7},
                                                          {"/proc/self/fd/12", 12},
                                                          {"/dev/../dev/fd/7", 7},
                                                          {folder.path("link"), 1},
                                                          {"/dev/null", -1},
                                                          {"-", -1},
                                                          {folder.path("link to it"), 1},
                                                          {"/dev/fd/", -1},
                                                          {"/dev/fd/7x", -1},
                                                          {"/dev/fd/-1", -1},
                                                          {"stdout", -1},
                                                          {"", -1},
                                                          {"/proc/thread-self/fd/3", 3},
                                                          {"/proc/" + std::to_string(::getpid()) + "/fd/4", 4},
                                                          {"/proc/1/fd/4", -1}};
  for (const auto& file : names) CHECK_MESSAGE(sluice::descriptor_named(file.first) == file.second, file.first);
}

TEST_CASE("a file that is open already is written on where it stands, and what follows comes behind") {
  const Folder folder;
  const sluice::FileDescriptor shared(::open(folder.path("file").c_str(), O_WRONLY | O_CREAT, 0600));
  const auto write = [](int number, std::string_view text) { REQUIRE(::write(number, text.data(), text.size()) == std::ssize(text)); };
  write(shared.number(), "before ");
  const std::string name = "/dev/fd/" + std::to_string(shared.number());
  CHECK(sluice::is_special_file(name));
  {
    const sluice::FileDescriptor file = sluice::open_special_file(name);
    REQUIRE(file.is_open());
    write(file.number(), "here ");
  }
  write(shared.number(), "behind");
  CHECK(folder.read("file") == "before here behind");
  CHECK_FALSE(sluice::open_special_file("/dev/fd/987").is_open());
}

TEST_CASE("devices and pipes are special files, what is not there is none") {
  const Folder folder;
  folder.write("plain", "");
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder.path("link"));
  CHECK(sluice::is_special_file("/dev/null"));
  CHECK(sluice::is_special_file(folder.path("pipe")));
  CHECK(sluice::is_special_file(folder.path("link")));
  CHECK_FALSE(sluice::is_special_file(folder.path("plain")));
  CHECK_FALSE(sluice::is_special_file(folder.path("")));
  CHECK_FALSE(sluice::is_special_file(folder.path("nothing")));
}

TEST_CASE("only hidden files beside a name, and NAME.partial, may be what is left of it") {
  for (const char* left : {"./.o.paf.abc123.partial", ".o.paf.abc123.partial", "o.paf.partial", "./o.paf.partial"})
    CHECK(StagedFile::may_be_left_of("o.paf", left));
  CHECK(StagedFile::may_be_left_of("out/o.paf", "out/.o.paf.abc123.partial"));
  CHECK(StagedFile::may_be_left_of("/out/o.paf", "/out/o.paf.partial"));
  for (const char* other : {"o.paf", ".o.paf.partial", ".o.paf.abc12.partial", ".o.paf.ABC123.partial", ".p.paf.abc123.partial",
                            "out/.o.paf.abc123.partial", "/.o.paf.abc123.partial", "../.o.paf.abc123.partial", "thesis.txt", "", ".", "/"})
    CHECK_FALSE(StagedFile::may_be_left_of("o.paf", other));
}
