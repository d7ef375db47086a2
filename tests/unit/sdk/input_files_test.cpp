// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sluice/folder.hpp>
#include <sluice/input_files.hpp>
#include <sluice/testing.hpp>

namespace sluice {
namespace {

using Names = std::vector<std::string>;

class Files {
 public:
  std::string make(const std::string& name, const std::string& text = "") const {
    const std::string path = folder_.path() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string path(const std::string& name = "") const { return folder_.path() + (name.empty() ? "" : "/" + name); }

 private:
  testing::TemporaryFolder folder_;
};

std::string refusal(const std::string& text) {
  try {
    input_files(text, ".fq .fq.gz");
  } catch (const Failure& failure) {
    CHECK(failure.status() == SLUICE_ERROR_INPUT);
    return failure.what();
  }
  return "";
}

TEST_CASE("one name is that file, whatever it is") {
  CHECK(input_files("reads.fq", ".fq") == Names{"reads.fq"});
  CHECK(input_files("-", ".fq") == Names{"-"});
  CHECK(input_files("https://example.org/reads.fq", ".fq") == Names{"https://example.org/reads.fq"});
  CHECK(input_files("", ".fq").empty());
  const Files files;
  const std::string odd = files.make("a[1]*.fq"), at = files.make("@b.fq");
  CHECK(input_files(odd, ".fq") == Names{odd});
  CHECK(input_files(at, ".fq") == Names{at});
}

TEST_CASE("files of a folder come by name, with its folders, without what is hidden or ends otherwise") {
  const Files files;
  const std::string b = files.make("b.fq"), a = files.make("a.fq.gz"), inner = files.make("inner/c.fq");
  files.make("notes.txt");
  files.make(".hidden.fq");
  files.make(".folder/d.fq");
  std::filesystem::create_directories(files.path("folder.fq"));
  CHECK(input_files(files.path(), ".fq .fq.gz") == Names{a, b, inner});
  std::filesystem::create_symlink(b, files.path("link.fq"));
  CHECK(refusal(files.path()).find("comes twice") != std::string::npos);
}

TEST_CASE("links between folders are followed, and one that leads back is gone through once") {
  const Files files;
  const std::string a = files.make("a.fq"), b = files.make("inner/b.fq");
  std::filesystem::create_directory_symlink(files.path(), files.path("inner/up"));
  std::filesystem::create_directory_symlink("nowhere", files.path("broken"));
  CHECK(input_files(files.path(), ".fq") == Names{a, b});
  const Files others;
  std::filesystem::create_directory_symlink(files.path("inner"), others.path("linked"));
  CHECK(input_files(others.path(), ".fq") == Names{others.path("linked/b.fq"), others.path("linked/up/a.fq")});
}

TEST_CASE("every entry of a folder is visited, and why it can't be read is said") {
  const Files files;
  files.make(".a");
  files.make("b/c");
  Names found;
  const auto visit = [&found](const std::filesystem::path& path) { found.push_back(path.string()); };
  CHECK(!for_each_entry(files.path(), visit));
  std::sort(found.begin(), found.end());
  CHECK(found == Names{files.path(".a"), files.path("b")});
  CHECK(for_each_entry(files.path("missing"), visit) == std::errc::no_such_file_or_directory);
  CHECK(for_each_entry(files.path("b/c"), visit) == std::errc::not_a_directory);
  CHECK(found.size() == 2);
}

TEST_CASE("several names keep their order; patterns and lists stand for files") {
  const Files files;
  const std::string one = files.make("1.fq"), two = files.make("2.fq"), ten = files.make("10.fq");
  CHECK(input_files(two + "\n" + one, ".fq") == Names{two, one});
  CHECK(input_files(files.path("*.fq"), ".fq") == Names{one, ten, two});
  CHECK(input_files(ten + "\n" + files.path("[12].fq"), ".fq") == Names{ten, one, two});
  const std::string list = files.make("list", "# a comment\n" + two + "\r\n\n" + ten);
  CHECK(input_files("@" + list, ".fq") == Names{two, ten});
  CHECK(input_files(one + "\n@" + list, ".fq") == Names{one, two, ten});
  CHECK(input_files("@" + files.make("from_windows", "\xef\xbb\xbf" + two + "\r\n" + ten + "\r\n"), ".fq") == Names{two, ten});
}

TEST_CASE("what can't be several inputs is refused") {
  const Files files;
  const std::string one = files.make("1.fq"), empty = files.make("empty");
  std::filesystem::create_directories(files.path("nothing"));
  CHECK(refusal(files.path("nothing")).find("there is no input in '" + files.path("nothing")) == 0);
  CHECK(refusal(files.path("*.bam")).find("there is no input in") == 0);
  CHECK(refusal("@" + empty).find("there is no input in") == 0);
  CHECK(refusal("@" + files.path("missing")).find("cannot read the list") == 0);
  CHECK(refusal("@" + files.make("packed", std::string("\x1f\x8b\x08\0\0", 5))).find("is no text") != std::string::npos);
  CHECK(refusal(one + "\n" + one).find("comes twice") != std::string::npos);
  CHECK(refusal(one + "\n" + files.path("missing")).find("cannot open '" + files.path("missing")) == 0);
  CHECK(refusal(one + "\n-").find("standard input (-) is one of several") == 0);
  const std::string itself = files.make("itself");
  std::ofstream(itself) << "@" << itself << "\n";
  CHECK(input_files("@" + itself, ".fq") == Names{"@" + itself});  // a list in a list is a file's name
}

}  // namespace
}  // namespace sluice
